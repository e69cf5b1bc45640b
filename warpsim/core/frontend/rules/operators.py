"""Operators: arithmetic, comparison, `and`, `or`, the conditional expression.

What is known at compile time stays a Python object and is computed at once, by the rules of kernels
(`%` has the sign of the dividend); the rest becomes calls of op rows. `and`, `or`, chained comparison
and the conditional expression evaluate only what they need.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....errors import KernelTypeError, KernelValueError
from ...ir.nodes import Constant, Value
from ...ops.registry import TABLE, evaluate
from ...types import compounds, scalars, structs
from ...types.arrays import ValueType, type_name
from ..translate.branches import choose
from ..translate.callee import Callee
from ..translate.chains import LONGEST, alternatives, first_of, shortcut, test_of
from ..translate.conversions import converted_scalar, is_none, negate, truth
from ..translate.scope import describe, is_number, typed_value
from ..translate.translator import Translator, translates
from .local_addresses import LocalAddress, moved
from .tile_elements import combined, is_tile

MAX_POWER = 64  # integer powers up to this are products
_PLAIN = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Attribute, ast.operator, ast.unaryop, ast.expr_context)


def _remainder(x: Any, y: Any) -> Any:
    """Python's numbers by the rule of kernels: the sign of the dividend."""
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    return math.fmod(x, y)


def _quotient(x: Any, y: Any) -> Any:
    if not (isinstance(x, int) and isinstance(y, int)):
        return x / y
    return (x - _remainder(x, y)) // y


_BINARY: dict[type[ast.AST], tuple[str, Any]] = {ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub)}
_BINARY |= {ast.Mult: ("mul", operator.mul), ast.MatMult: ("mul", operator.matmul), ast.Div: ("div", _quotient)}
_BINARY |= {ast.FloorDiv: ("floordiv", operator.floordiv), ast.Mod: ("mod", _remainder), ast.Pow: ("pow", operator.pow)}
_BINARY |= {ast.BitAnd: ("bit_and", operator.and_), ast.BitOr: ("bit_or", operator.or_)}
_BINARY |= {ast.BitXor: ("bit_xor", operator.xor), ast.LShift: ("lshift", operator.lshift)}
_BINARY |= {ast.RShift: ("rshift", operator.rshift)}
_UNARY: dict[type[ast.AST], tuple[str, Any]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    ast.Invert: ("invert", operator.invert),
}
_COMPARE: dict[type[ast.AST], tuple[str, Any]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}

_COMPARED = dict(_COMPARE.values())

OPERATOR_FUNCTIONS = sorted({name for name, _ in (*_BINARY.values(), *_UNARY.values(), *_COMPARE.values())})
"""Names by which functions of the user's stand for operators of structs and vectors."""


@translates(ast.BinOp)
def binary_operation(tr: Translator, node: ast.BinOp) -> Any:
    """A chain `a + b + c + ...` of any length is walked, not descended into."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    result = tr.translate(chain[-1].left)
    for link in reversed(chain):
        with tr.at(link):
            result = binary(tr, type(link.op), result, tr.translate(link.right))
    return result


def binary(tr: Translator, kind: type[ast.AST], left: object, right: object) -> Any:
    name, python = _BINARY[kind]
    if isinstance(left, LocalAddress) or isinstance(right, LocalAddress):
        return moved(kind, left, right)
    if is_tile(left) or is_tile(right):
        return combined(tr, partial(binary, tr, kind), left, right)
    if not isinstance(left, Value) and not isinstance(right, Value):
        return constant_result(name, python, left, right)
    own = user_operator(tr, name, left, right)
    if own is not None:
        return own.call(tr, [left, right], {})
    if kind is ast.Pow and isinstance(left, Value) and scalars.is_integer(left.type):
        return integer_power(tr, left, right)
    return tr.emit(TABLE[name], left, right)


def user_operator(tr: Translator, name: str, *operands: object) -> Any:
    """The user's function of an operator's name (`add` for `+`), where one takes structs or vectors as these are."""
    types = [a.type if isinstance(a, Value) else type(a) for a in operands]
    if not any(structs.is_struct(t) or compounds.is_compound(t) for t in types):
        return None
    function = tr.source.captured.present(name)
    return function if isinstance(function, Callee) and function.takes(list(operands)) else None


def integer_power(tr: Translator, base: Value, exponent: object) -> Any:
    """A product; the exponent is a constant, because integers have no negative powers."""
    if isinstance(exponent, Constant) and scalars.is_integer(exponent.type):
        exponent = exponent.value
    if not isinstance(exponent, (int, np.integer)) or not 0 <= exponent <= MAX_POWER:
        raise KernelTypeError(
            f"{type_name(base.type)} ** {describe(exponent)}",
            expected=f"a constant from 0 to {MAX_POWER}",
            help="for other powers convert to float: float(i) ** x",
        )
    result = base if exponent else typed_value(1, base.type)
    for bit in f"{int(exponent):b}"[1:]:
        result = tr.emit(TABLE["mul"], result, result)
        if bit == "1":
            result = tr.emit(TABLE["mul"], result, base)
    return result


def constant_result(name: str, python: Callable[..., Any], left: object, right: object) -> Any:
    """An operator on compile-time operands: typed ones by the op's row, Python's by Python."""
    for operand in (left, right):
        if not (is_number(operand) or isinstance(operand, (compounds.Compound, tuple, str))):
            raise KernelTypeError(f"{name}: {describe(operand)} is not a number")
    if is_typed(left) or is_typed(right):
        return evaluate(TABLE[name], left, right)
    try:
        return python(left, right)
    except ZeroDivisionError:
        return divided_by_zero(name, left, right)
    except (OverflowError, MemoryError) as error:
        raise KernelValueError(f"{describe(left)} {name} {describe(right)} is too large") from error
    except (KernelTypeError, KernelValueError):
        raise
    except TypeError as error:
        raise KernelTypeError(f"{name}: {error}") from error
    except ValueError as error:
        raise KernelValueError(f"{name}: {error}") from error


def divided_by_zero(name: str, left: object, right: object) -> Any:
    """Literals divided by zero, as numbers of a kernel are: infinity or NaN of floats, a defined number of integers."""
    if name == "pow":
        raise KernelValueError(f"{left} ** {right} divides by zero")
    t = scalars.int64 if isinstance(left, int) and isinstance(right, int) else scalars.float64
    return evaluate(TABLE[name], t(left), t(right)).item()


@translates(ast.UnaryOp)
def unary_operation(tr: Translator, node: ast.UnaryOp) -> Any:
    operand = tr.translate(node.operand)
    if isinstance(node.op, ast.Not):
        return negate(tr, truth(tr, operand))
    name, python = _UNARY[type(node.op)]
    if is_tile(operand):
        return combined(tr, partial(tr.emit, TABLE[name]), operand)
    if isinstance(operand, Value):
        own = user_operator(tr, name, operand)
        return tr.emit(TABLE[name], operand) if own is None else own.call(tr, [operand], {})
    if is_typed(operand):
        return evaluate(TABLE[name], operand)
    if not is_number(operand) or (name == "invert" and isinstance(operand, float)):
        operand_kind = "an integer" if name == "invert" else "a number"
        raise KernelTypeError(f"{name}: {describe(operand)} is not {operand_kind}")
    return python(operand)


@translates(ast.Compare)
def comparison(tr: Translator, node: ast.Compare) -> Any:
    return chain_of(tr, tr.translate(node.left), list(zip(node.ops, node.comparators, strict=True)))


def chain_of(tr: Translator, left: object, links: list[tuple[ast.cmpop, ast.expr]]) -> Any:
    """`a < b < c` means `a < b and b < c`, each operand evaluated once and only when it is needed."""
    if all(_is_plain(n) for _, n in links[1:]):  # nothing is lost by evaluating all
        return all_of(tr, left, links)
    (op, node), *rest = links
    right = tr.translate(node)
    holds = compare(tr, type(op), left, right)
    if not rest or (not isinstance(holds, Value) and not holds):
        return holds
    if not isinstance(holds, Value):
        return chain_of(tr, right, rest)
    return choose(tr, holds, lambda: typed_value(chain_of(tr, right, rest)), lambda: typed_value(False))


def all_of(tr: Translator, left: object, links: list[tuple[ast.cmpop, ast.expr]]) -> Any:
    """A chain of comparisons whose operands are all evaluated, until one is known to fail."""
    holds: Any = True
    for op, node in links:
        right = tr.translate(node)
        holds = both(tr, holds, compare(tr, type(op), left, right))
        if holds is False:
            break
        left = right
    return holds


def both(tr: Translator, a: object, b: object) -> Any:
    """Whether two conditions hold, each known or not."""
    for one, other in ((a, b), (b, a)):
        if not isinstance(one, Value):
            return other if one else False
    return tr.emit(TABLE["bit_and"], a, b)


def compare(tr: Translator, kind: type[ast.AST], left: object, right: object) -> Any:
    if kind in (ast.Is, ast.IsNot):
        is_missing = is_none(tr, left)
        return is_missing if kind is ast.Is else negate(tr, is_missing)
    name, python = _COMPARE[kind]
    if isinstance(left, tuple) and isinstance(right, tuple) and kind in (ast.Eq, ast.NotEq):
        return tuples_compared(tr, kind, left, right)
    left, right = without_bools(tr, name, left, right)
    for operand, other in ((left, right), (right, left)):
        if isinstance(operand, Value) and not (isinstance(other, Value) or has_value(other)):
            raise KernelTypeError(f"{describe(operand)} is compared with {describe(other)}", expected="a value")
    if isinstance(left, Value) or isinstance(right, Value):
        return numbers_compared(tr, name, left, right)
    if is_typed(left) or is_typed(right):
        return bool(evaluate(TABLE[name], left, right))
    try:
        return bool(python(scalars.canonical(left), scalars.canonical(right)))
    except TypeError as error:
        raise KernelTypeError(f"{describe(left)} is compared with {describe(right)}", help=str(error)) from error


def without_bools(tr: Translator, name: str, left: object, right: object) -> tuple[Any, Any]:
    """Operands of a comparison, truth values as 0 and 1 where they meet numbers or are put in order."""
    types = [scalars.canonical(a.type if isinstance(a, Value) else type(a)) for a in (left, right)]
    equality = types == [scalars.bool_] * 2 and name in ("eq", "ne")
    if scalars.bool_ not in types or equality or not all(map(scalars.is_scalar, types)):
        return left, right

    def number(operand: Any, t: ValueType) -> Any:
        if t is not scalars.bool_:
            return operand
        return converted_scalar(tr, operand, scalars.int32) if isinstance(operand, Value) else int(operand)

    return number(left, types[0]), number(right, types[1])


def numbers_compared(tr: Translator, name: str, left: object, right: object) -> Any:
    """A comparison by value: numbers of different types meet in one that holds both, floats and integers in float64."""
    types = [a.type if isinstance(a, Value) else type(a) for a in (left, right)]
    if float in types and any(map(scalars.is_integer, types)):
        types = [scalars.float64 if t is float else t for t in types]  # 0.5 is between integers
    if types[0] is types[1] or any(t not in scalars.NUMBERS for t in types):
        return tr.emit(TABLE[name], left, right)
    floats = [t for t in types if scalars.is_float(t)]
    if scalars.uint64 in types and not floats:
        return with_large_numbers(tr, name, left, right, types[0] is scalars.uint64)
    wider = max(floats, key=scalars.bits) if len(floats) == 2 else scalars.float64 if floats else scalars.int64
    return tr.emit(TABLE[name], converted_scalar(tr, left, wider), converted_scalar(tr, right, wider))


def with_large_numbers(tr: Translator, name: str, left: object, right: object, large_left: bool) -> Any:
    """A comparison of uint64 with another integer: a negative one is below all of them."""
    other = right if large_left else left
    below = tr.emit(TABLE["lt"], typed_value(other), 0)
    same = tr.emit(TABLE[name], *(converted_scalar(tr, a, scalars.uint64) for a in (left, right)))
    return tr.emit(TABLE["where"], below, bool(_COMPARED[name](*((1, 0) if large_left else (0, 1)))), same)


def tuples_compared(tr: Translator, kind: type[ast.AST], left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    """`a.shape == b.shape`: part by part."""
    equal: Any = len(left) == len(right)
    for a, b in zip(left, right, strict=False):
        equal = both(tr, equal, compare(tr, ast.Eq, a, b))
    if kind is ast.Eq:
        return equal
    return tr.emit(TABLE["unot"], equal) if isinstance(equal, Value) else not equal


@translates(ast.BoolOp)
def boolean_operation(tr: Translator, node: ast.BoolOp) -> Any:
    return shortcut(tr, [test_of(tr, v) for v in node.values], isinstance(node.op, ast.And))


@translates(ast.IfExp)
def conditional_expression(tr: Translator, node: ast.IfExp) -> Any:
    tests, sides = alternatives(node)
    if len(tests) > LONGEST:
        return first_of(tr, [test_of(tr, t) for t in tests], sides, tr.translate, values=True)
    condition = truth(tr, tr.translate(node.test))
    if isinstance(condition, bool):
        return tr.translate(node.body if condition else node.orelse)
    return choose(tr, condition, lambda: tr.translate(node.body), lambda: tr.translate(node.orelse))


def is_typed(operand: object) -> bool:
    """Whether a compile-time operand has a type of its own: NumPy's numbers, vectors, matrices."""
    return isinstance(operand, (np.generic, compounds.Compound))


def has_value(operand: object) -> bool:
    """Whether a compile-time operand can meet run-time values."""
    return is_number(operand) or isinstance(operand, compounds.Compound)


def _is_plain(node: ast.expr) -> bool:
    """Whether evaluating an expression reads no memory and calls nothing."""
    return all(isinstance(n, _PLAIN) for n in ast.walk(node))

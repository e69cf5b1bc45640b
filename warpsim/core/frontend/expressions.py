"""Expressions: syntax to operands.

What is known at compile time stays a Python object and is computed at once, by the rules of kernels
(`%` has the sign of the dividend); the rest becomes calls of op rows. `and`, `or`, chained comparison
and the conditional expression evaluate only what they need.
"""

from __future__ import annotations

import ast
import enum
import math
import operator
import types
from typing import Any

import numpy as np

from ...errors import KernelNameError, KernelTypeError, KernelValueError, UnsupportedSyntaxError
from ..ir.nodes import Constant, Value
from ..ops import construct, memory
from ..ops.registry import TABLE
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from .captured import MISSING
from .chains import LONGEST, Chains, alternatives
from .names import steps
from .scope import describe, host_array_error, is_host_array, is_number, typed

MAX_POWER = 64  # integer powers up to this are products


def _remainder(x: Any, y: Any) -> Any:
    """Python's numbers by the rule of kernels: the sign of the dividend."""
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    return math.fmod(x, y)


def _quotient(x: Any, y: Any) -> Any:
    if not (isinstance(x, int) and isinstance(y, int)):
        return x / y
    if x % y:
        raise KernelValueError(
            f"{x} / {y} divides integers and would give {(x - _remainder(x, y)) // y}",
            help=f"write {x}.0 / {y}.0, or {x} // {y} if the whole number is meant",
        )
    return x // y


_BINARY: dict[type[ast.AST], tuple[str, Any]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.MatMult: ("mul", operator.matmul), ast.Div: ("div", _quotient),
    ast.FloorDiv: ("floordiv", operator.floordiv), ast.Mod: ("mod", _remainder), ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("bit_and", operator.and_), ast.BitOr: ("bit_or", operator.or_), ast.BitXor: ("bit_xor", operator.xor),
    ast.LShift: ("lshift", operator.lshift), ast.RShift: ("rshift", operator.rshift),
}  # fmt: skip
_UNARY: dict[type[ast.AST], tuple[str, Any]] = {
    ast.USub: ("neg", operator.neg), ast.UAdd: ("pos", operator.pos), ast.Invert: ("invert", operator.invert),
}  # fmt: skip
_COMPARE: dict[type[ast.AST], tuple[str, Any]] = {
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne), ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
}  # fmt: skip
_SWIZZLE = {"x": 0, "y": 1, "z": 2, "w": 3}
_PLAIN = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Attribute, ast.operator, ast.unaryop, ast.expr_context)


class Expressions(Chains):
    """Translates `ast.expr` nodes; `expr` is the entry."""

    def expr(self, node: ast.expr) -> Any:
        handler = getattr(self, f"expr_{type(node).__name__}", None)
        with self.at(node):
            if handler is None:
                raise UnsupportedSyntaxError(f"{type(node).__name__} is not part of the kernel language")
            return handler(node)

    def expr_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def expr_Name(self, node: ast.Name) -> Any:
        return plain_enum(self.lookup(node.id))

    def expr_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.expr(e) for e in node.elts)

    def expr_Lambda(self, node: ast.Lambda) -> Any:
        return self.local_function(node, "<lambda>")

    # ----- operators ------------------------------------------------------------------------

    def expr_BinOp(self, node: ast.BinOp) -> Any:
        """A chain `a + b + c + ...` of any length is walked, not descended into."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        result = self.expr(chain[-1].left)
        for link in reversed(chain):
            with self.at(link):
                result = self.binary(type(link.op), result, self.expr(link.right))
        return result

    def binary(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        name, python = _BINARY[kind]
        if not isinstance(left, Value) and not isinstance(right, Value):
            return self.known(name, python, left, right)
        if kind is ast.Pow and isinstance(left, Value) and scalars.is_integer(left.type):
            return self.integer_power(left, right)
        return self.emit(TABLE[name], left, right)

    def integer_power(self, base: Value, exponent: Any) -> Any:
        """A product; the exponent is a constant, because integers have no negative powers."""
        if isinstance(exponent, Constant) and scalars.is_integer(exponent.type):
            exponent = exponent.value
        if not isinstance(exponent, (int, np.integer)) or not 0 <= exponent <= MAX_POWER:
            raise KernelTypeError(
                f"{type_name(base.type)} ** {describe(exponent)}", expected=f"a constant from 0 to {MAX_POWER}",
                help="for other powers convert to float: float(i) ** x",
            )  # fmt: skip
        result = base if exponent else typed(1, base.type)
        for bit in f"{int(exponent):b}"[1:]:
            result = self.emit(TABLE["mul"], result, result)
            if bit == "1":
                result = self.emit(TABLE["mul"], result, base)
        return result

    def known(self, name: str, python: Any, left: Any, right: Any) -> Any:
        """An operator on compile-time operands: typed ones by the op's row, Python's by Python."""
        for operand in (left, right):
            if not (is_number(operand) or isinstance(operand, (compounds.Compound, tuple, str))):
                raise KernelTypeError(f"{name}: {describe(operand)} is not a number")
        if is_typed(left) or is_typed(right):
            return TABLE[name](left, right)
        try:
            return python(left, right)
        except ZeroDivisionError as error:
            raise KernelValueError("division by zero in a constant expression") from error
        except (OverflowError, MemoryError) as error:
            raise KernelValueError(f"{describe(left)} {name} {describe(right)} is too large") from error
        except (KernelTypeError, KernelValueError):
            raise
        except TypeError as error:
            raise KernelTypeError(f"{name}: {error}") from error
        except ValueError as error:
            raise KernelValueError(f"{name}: {error}") from error

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(self.truth(operand))
        name, python = _UNARY[type(node.op)]
        if isinstance(operand, Value):
            return self.emit(TABLE[name], operand)
        if is_typed(operand):
            return TABLE[name](operand)
        if not is_number(operand) or (name == "invert" and isinstance(operand, float)):
            wanted = "an integer" if name == "invert" else "a number"
            raise KernelTypeError(f"{name}: {describe(operand)} is not {wanted}")
        return python(operand)

    # ----- comparison -----------------------------------------------------------------------

    def expr_Compare(self, node: ast.Compare) -> Any:
        return self.chain_of(self.expr(node.left), list(zip(node.ops, node.comparators, strict=True)))

    def chain_of(self, left: Any, links: list[tuple[ast.cmpop, ast.expr]]) -> Any:
        """`a < b < c` means `a < b and b < c`, each operand evaluated once and only when it is needed."""
        if all(_is_plain(n) for _, n in links[1:]):  # nothing is lost by evaluating all
            return self.all_of(left, links)
        (op, node), *rest = links
        right = self.expr(node)
        found = self.compared(type(op), left, right)
        if not rest or (not isinstance(found, Value) and not found):
            return found
        if not isinstance(found, Value):
            return self.chain_of(right, rest)
        return self.choose(found, lambda: typed(self.chain_of(right, rest)), lambda: typed(False))

    def all_of(self, left: Any, links: list[tuple[ast.cmpop, ast.expr]]) -> Any:
        """A chain of comparisons whose operands are all evaluated, until one is known to fail."""
        found: Any = True
        for op, node in links:
            right = self.expr(node)
            found = self.both(found, self.compared(type(op), left, right))
            if found is False:
                break
            left = right
        return found

    def both(self, a: Any, b: Any) -> Any:
        """Whether two conditions hold, each known or not."""
        for one, other in ((a, b), (b, a)):
            if not isinstance(one, Value):
                return other if one else False
        return self.emit(TABLE["bit_and"], a, b)

    def compared(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        if kind in (ast.Is, ast.IsNot):
            found = self.is_none(left)
            return found if kind is ast.Is else self.negated(found)
        name, python = _COMPARE[kind]
        if isinstance(left, tuple) and isinstance(right, tuple) and kind in (ast.Eq, ast.NotEq):
            return self.tuples_compared(kind, left, right)
        for operand, other in ((left, right), (right, left)):
            if isinstance(operand, Value) and not (isinstance(other, Value) or has_value(other)):
                raise KernelTypeError(f"{describe(operand)} is compared with {describe(other)}", expected="a value")
        if isinstance(left, Value) or isinstance(right, Value):
            return self.emit(TABLE[name], left, right)
        if is_typed(left) or is_typed(right):
            return bool(TABLE[name](left, right))
        try:
            return bool(python(scalars.canonical(left), scalars.canonical(right)))
        except TypeError as error:
            raise KernelTypeError(f"{describe(left)} is compared with {describe(right)}", help=str(error)) from error

    def tuples_compared(self, kind: type[ast.AST], left: tuple, right: tuple) -> Any:
        """`a.shape == b.shape`: part by part."""
        equal: Any = len(left) == len(right)
        for a, b in zip(left, right, strict=False):
            equal = self.both(equal, self.compared(ast.Eq, a, b))
        if kind is ast.Eq:
            return equal
        return self.emit(TABLE["unot"], equal) if isinstance(equal, Value) else not equal

    # ----- conditions -----------------------------------------------------------------------

    def expr_BoolOp(self, node: ast.BoolOp) -> Any:
        return self.shortcut([self.test_of(v) for v in node.values], isinstance(node.op, ast.And))

    def expr_IfExp(self, node: ast.IfExp) -> Any:
        tests, sides = alternatives(node)
        if len(tests) > LONGEST:
            return self.first_of([self.test_of(t) for t in tests], sides, self.expr, values=True)
        condition = self.truth(self.expr(node.test))
        if isinstance(condition, bool):
            return self.expr(node.body if condition else node.orelse)
        return self.choose(condition, lambda: self.expr(node.body), lambda: self.expr(node.orelse))

    # ----- attributes -----------------------------------------------------------------------

    def expr_Attribute(self, node: ast.Attribute) -> Any:
        found = self.from_outside(node)
        return self.attribute(self.expr(node.value), node.attr) if found is MISSING else plain_enum(found)

    def from_outside(self, node: ast.Attribute) -> Any:
        """What `module.name` meant when the function was defined, or `MISSING`."""
        root, _ = steps(node)
        is_own = root in self.scope or root in self.locals
        return MISSING if is_own else self.source.captured.of_path(node)

    def attribute(self, base: Any, name: str) -> Any:
        if isinstance(base, Value):
            return self.value_attribute(base, name)
        try:
            found = plain_enum(getattr(base, name))
        except AttributeError as error:
            what = f"module {base.__name__!r}" if isinstance(base, types.ModuleType) else describe(base)
            cure = self.suggestion(name, dir(base))
            raise KernelNameError(f"{what} has no attribute {name!r}", help=cure if "?" in cure else "") from error
        return component_of(base, found) if name in _SWIZZLE else found

    def value_attribute(self, base: Value, name: str) -> Any:
        t = base.type
        if isinstance(t, ArrayType):
            return self.array_attribute(base, name)
        if structs.is_struct(t):
            if name not in t.fields:
                raise KernelNameError(f"struct {t.__name__} has no field {name!r}", expected=", ".join(t.fields))
            return self.emit(construct.field, base, name=name)
        if name == "dtype" and compounds.kind_of(t):
            return compounds.scalar_of(t)
        if compounds.is_compound(t):
            return self.component_attribute(base, name)
        raise KernelNameError(f"{type_name(t)} has no attribute {name!r}")

    def array_attribute(self, base: Value, name: str) -> Any:
        if name == "shape":
            return tuple(self.emit(memory.shape, base, axis=k) for k in range(base.type.ndim))
        if name in ("ndim", "dtype"):
            return getattr(base.type, name)
        if name == "size":
            total = self.emit(memory.shape, base, axis=0)
            for k in range(1, base.type.ndim):
                total = self.emit(TABLE["mul"], total, self.emit(memory.shape, base, axis=k))
            return total
        raise KernelNameError(f"{type_name(base.type)} has no attribute {name!r}", expected="shape, size, ndim, dtype")

    def component_attribute(self, base: Value, name: str) -> Any:
        positions = swizzle(base.type, name)
        if positions is None:
            found = f"{type_name(base.type)} has no attribute {name!r}"
            raise KernelNameError(found, expected=_components_of(base.type))
        if len(positions) == 1:
            return self.emit(construct.extract, base, positions[0])
        return self.selected(base, positions)

    # ----- subscripts -----------------------------------------------------------------------

    def expr_Subscript(self, node: ast.Subscript) -> Any:
        base = self.expr(node.value)
        if isinstance(base, Value):
            return self.element(base, self.indices(node.slice))
        if isinstance(base, compounds.Compound):
            return self.constant_element(base, self.indices(node.slice))
        if is_host_array(base):
            raise host_array_error(ast.unparse(node.value))
        is_slice = isinstance(node.slice, ast.Slice)
        index = self.constant_slice(node.slice) if is_slice else self.expr(node.slice)
        if isinstance(index, Value):
            cure = "pass it as an array argument" if isinstance(base, (list, np.ndarray)) else "index it by a constant"
            raise KernelTypeError(f"{describe(base)} is indexed by a value known only at run time", help=cure)
        try:
            return base[index]
        except (TypeError, IndexError, KeyError) as error:
            raise KernelValueError(f"{describe(base)} cannot be indexed by {index!r}: {error}") from error

    def constant_element(self, base: compounds.Compound, indices: list[Any]) -> Any:
        """A part of a vector or matrix known at compile time."""
        if any(isinstance(i, (Value, ast.Slice)) for i in indices):
            return self.element(typed(base), indices)
        self.check_component(type(base), indices)
        return component_of(base, base[tuple(indices) if len(indices) > 1 else indices[0]])

    def indices(self, node: ast.expr) -> list[Any]:
        """Index operands; slices stay syntax."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return [p if isinstance(p, ast.Slice) else self.expr(p) for p in parts]

    def element(self, base: Value, indices: list[Any]) -> Any:
        """base[indices]: an array element or view, a component, a row, or a slice of a vector."""
        t = base.type
        if any(isinstance(i, ast.Slice) for i in indices):
            if len(indices) != 1 or not compounds.is_compound(t) or len(t.shape) != 1:
                raise UnsupportedSyntaxError(
                    f"a slice of {type_name(t)} in a kernel",
                    help="slice arrays before the launch, or loop over indices",
                )
            return self.selected(base, self.slice_positions(t, indices[0]))
        if isinstance(t, ArrayType):
            return self.array_element(base, indices)
        if compounds.is_compound(t):
            self.check_component(t, indices)
            return self.emit(construct.extract, base, *indices)
        raise KernelTypeError(f"{type_name(t)} cannot be indexed", expected="an array, vector or matrix")

    def array_element(self, base: Value, indices: list[Any]) -> Any:
        t = base.type
        at = [self.array_index(i) for i in indices[: t.ndim]]
        if len(at) < t.ndim:
            return self.emit(memory.view, base, *at)
        rest = indices[t.ndim :]
        if rest and not compounds.is_compound(t.dtype):
            raise KernelTypeError(f"{type_name(t)} takes {t.ndim} indices, got {len(indices)}")
        element = self.emit(memory.load, base, *at)
        return self.element(element, rest) if rest else element

    def array_index(self, index: Any) -> Any:
        """An index operand."""
        if isinstance(index, Constant) and scalars.is_integer(index.type):
            index = int(index.value)
        if isinstance(index, Value):
            if not scalars.is_integer(index.type):
                raise KernelTypeError(f"array index is {type_name(index.type)}", expected="an integer", help="int(...)")
            return index
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise KernelTypeError(f"array index is {describe(index)}", expected="an integer")
        return typed(int(index))

    def check_component(self, t: Any, indices: list[Any]) -> None:
        """Refuse too many indices, indices that are no integers, and constants out of range."""
        if len(indices) > len(t.shape):
            raise KernelTypeError(f"{type_name(t)} takes {len(t.shape)} indices, got {len(indices)}")
        for axis, index in enumerate(indices):
            kind = index.type if isinstance(index, Value) else type(index)
            if not scalars.is_integer(kind) and kind is not int:
                raise KernelTypeError(f"index of a {type_name(t)} is {describe(index)}", expected="an integer")
            index = index.value if isinstance(index, Constant) else index
            if is_number(index) and not -t.shape[axis] <= index < t.shape[axis]:
                raise KernelValueError(f"component {index} of {type_name(t)}", expected=f"0 to {t.shape[axis] - 1}")

    def constant_slice(self, node: ast.Slice) -> slice:
        parts = [None if p is None else self.expr(p) for p in (node.lower, node.upper, node.step)]
        if not all(p is None or isinstance(p, (int, np.integer)) for p in parts):
            cure = "the length of a vector is part of its type"
            raise KernelTypeError("slice bounds must be integer constants", help=cure)
        if parts[2] == 0:
            raise KernelValueError("the step of a slice is zero")
        return slice(*parts)

    def slice_positions(self, t: Any, node: ast.Slice) -> list[int]:
        """The components that a slice of a vector selects."""
        found = list(range(t.shape[0])[self.constant_slice(node)])
        if not found:
            raise KernelValueError(f"the slice of {type_name(t)} is empty")
        return found

    def selected(self, base: Value, positions: list[int]) -> Value:
        """Several components as a vector (or the rotation of a transform)."""
        parts = [self.emit(construct.extract, base, k) for k in positions]
        return self.emit(construct.construct, *parts, to=selection_type(base.type, positions))


def is_typed(operand: Any) -> bool:
    """Whether a compile-time operand has a type of its own: NumPy's numbers, vectors, matrices."""
    return isinstance(operand, (np.generic, compounds.Compound))


def has_value(operand: Any) -> bool:
    """Whether a compile-time operand can meet run-time values."""
    return is_number(operand) or isinstance(operand, compounds.Compound)


def component_of(base: Any, part: Any) -> Any:
    """A component of a constant vector keeps the type that the vector has."""
    return base.dtype(part) if isinstance(base, compounds.Compound) and isinstance(part, (int, float)) else part


def plain_enum(found: Any) -> Any:
    """Members of IntEnum and IntFlag are integers to a kernel."""
    return int(found) if isinstance(found, enum.IntEnum | enum.IntFlag) else found


def swizzle(t: Any, name: str) -> list[int] | None:
    """Component positions of `v.x`, `v.xy`, and of the parts `p` and `q` of a transform."""
    if t.kind == "transform":
        return {"p": [0, 1, 2], "q": [3, 4, 5, 6]}.get(name)
    if len(t.shape) != 1 or not 1 <= len(name) <= 4 or any(c not in _SWIZZLE for c in name):
        return None
    positions = [_SWIZZLE[c] for c in name]
    return positions if max(positions) < t.size else None


def selection_type(t: Any, positions: list[int] | tuple[int, ...]) -> Any:
    """The type of several components of a vector."""
    kind = "quaternion" if t.kind == "transform" and list(positions) == [3, 4, 5, 6] else "vector"
    return compounds.Compound.make(kind, (len(positions),), t.dtype)


def _components_of(t: Any) -> str:
    if t.kind == "transform":
        return "p, q, or an index"
    return ", ".join("xyzw"[: t.size]) if len(t.shape) == 1 and t.size <= 4 else "an index"


def _is_plain(node: ast.expr) -> bool:
    """Whether evaluating an expression reads no memory and calls nothing."""
    return all(isinstance(n, _PLAIN) for n in ast.walk(node))

"""Expressions: syntax to operands.

What is known at compile time stays a Python object and is computed by Python (`2.0 * PI`); the rest
becomes calls of op rows. `and`, `or` and the conditional expression evaluate only what they need.
"""

from __future__ import annotations

import ast
import enum
import operator
import types
from typing import Any

from ...errors import KernelNameError, KernelTypeError, KernelValueError, UnsupportedSyntaxError
from ..ir.nodes import Value
from ..ops import construct, memory
from ..ops.registry import TABLE
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from .branches import Branches
from .scope import describe, is_number, typed

_BINARY: dict[type[ast.AST], tuple[str, Any]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.MatMult: ("mul", operator.matmul), ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv), ast.Mod: ("mod", operator.mod), ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("bit_and", operator.and_), ast.BitOr: ("bit_or", operator.or_), ast.BitXor: ("bit_xor", operator.xor),
    ast.LShift: ("lshift", operator.lshift), ast.RShift: ("rshift", operator.rshift),
}  # fmt: skip
_COMPARE: dict[type[ast.AST], tuple[str, Any]] = {
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne), ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
}  # fmt: skip
_SWIZZLE = {"x": 0, "y": 1, "z": 2, "w": 3}


class Expressions(Branches):
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
        left, right = self.expr(node.left), self.expr(node.right)
        with self.at(node):
            return self.binary(type(node.op), left, right)

    def binary(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        name, python = _BINARY[kind]
        if not isinstance(left, Value) and not isinstance(right, Value):
            return self.known(name, python, left, right)
        return self.emit(TABLE[name], left, right)

    def known(self, name: str, python: Any, left: Any, right: Any) -> Any:
        """An operator on compile-time operands, computed by Python."""
        for operand in (left, right):
            if not (is_number(operand) or isinstance(operand, (compounds.Compound, tuple, str))):
                raise KernelTypeError(f"{name}: {describe(operand)} is not a number")
        try:
            if name == "div" and isinstance(left, int) and isinstance(right, int) and left % right:
                raise KernelValueError(
                    f"{left} / {right} divides integers and would give {abs(left) // abs(right)}",
                    help=f"write {left}.0 / {right}.0, or {left} // {right} if the whole number is meant",
                )
            exact = name == "div" and isinstance(left, int) and isinstance(right, int)
            return left // right if exact else python(left, right)
        except ZeroDivisionError as error:
            raise KernelValueError("division by zero in a constant expression") from error
        except TypeError as error:
            raise KernelTypeError(f"{name}: {error}") from error

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            condition = self.truth(operand)
            return (not condition) if isinstance(condition, bool) else self.emit(TABLE["unot"], condition)
        if not isinstance(operand, Value):
            python = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
            return python[type(node.op)](operand)
        name = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(node.op)]
        return self.emit(TABLE[name], operand)

    def expr_Compare(self, node: ast.Compare) -> Any:
        """Chains mean `a < b and b < c`, each operand evaluated once."""
        left = self.expr(node.left)
        result: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.expr(right_node)
            found = self.compared(type(op), left, right)
            if result is True:
                result = found
            elif result is not False and found is not True:
                result = self.emit(TABLE["bit_and"], typed(result), typed(found))
            left = right
        return result

    def compared(self, kind: type[ast.AST], left: Any, right: Any) -> Any:
        name, python = _COMPARE[kind]
        if isinstance(left, Value) or isinstance(right, Value):
            return self.emit(TABLE[name], left, right)
        return python(left, right)

    def expr_BoolOp(self, node: ast.BoolOp) -> Any:
        return self.shortcut(node.values, isinstance(node.op, ast.And))

    def shortcut(self, nodes: list[ast.expr], conjunction: bool) -> Any:
        """`and` / `or`: the rest is evaluated only when the first operand leaves the answer open."""
        first = self.truth(self.expr(nodes[0]))
        if len(nodes) == 1:
            return first
        if isinstance(first, bool):
            return self.shortcut(nodes[1:], conjunction) if first is conjunction else first
        rest = lambda: typed(self.shortcut(nodes[1:], conjunction))  # noqa: E731
        stop = lambda: typed(not conjunction)  # noqa: E731
        return self.choose(first, rest, stop) if conjunction else self.choose(first, stop, rest)

    def expr_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.truth(self.expr(node.test))
        if isinstance(condition, bool):
            return self.expr(node.body if condition else node.orelse)
        return self.choose(condition, lambda: self.expr(node.body), lambda: self.expr(node.orelse))

    # ----- attributes -----------------------------------------------------------------------

    def expr_Attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(self.expr(node.value), node.attr)

    def attribute(self, base: Any, name: str) -> Any:
        if isinstance(base, Value):
            return self.value_attribute(base, name)
        try:
            return plain_enum(getattr(base, name))
        except AttributeError as error:
            what = base.__name__ if isinstance(base, types.ModuleType) else describe(base)
            raise KernelNameError(f"{what} has no attribute {name!r}", help="check the spelling") from error

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
        if isinstance(positions, slice):
            return self.sliced(base, positions)
        parts = [self.emit(construct.extract, base, k) for k in positions]
        if len(parts) == 1:
            return parts[0]
        to = compounds.vector(len(parts), base.type.dtype)
        return self.emit(construct.construct, *parts, to=to)

    # ----- subscripts -----------------------------------------------------------------------

    def expr_Subscript(self, node: ast.Subscript) -> Any:
        base = self.expr(node.value)
        if isinstance(base, Value):
            return self.element(base, self.indices(node.slice))
        is_slice = isinstance(node.slice, ast.Slice)
        index = self.constant_slice(node.slice, None) if is_slice else self.expr(node.slice)
        if isinstance(index, Value):
            if isinstance(base, compounds.Compound):
                return self.emit(construct.extract, typed(base), index)
            raise KernelTypeError(f"{describe(base)} is indexed by a value known only at run time")
        try:
            return base[index]
        except (TypeError, IndexError, KeyError) as error:
            raise KernelValueError(f"{describe(base)} cannot be indexed by {index!r}: {error}") from error

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
            return self.sliced(base, self.constant_slice(indices[0], t.shape[0]))
        if isinstance(t, ArrayType):
            return self.array_element(base, indices)
        if compounds.is_compound(t):
            self.check_component(t, indices)
            return self.emit(construct.extract, base, *indices)
        raise KernelTypeError(f"{type_name(t)} cannot be indexed", expected="an array, vector or matrix")

    def array_element(self, base: Value, indices: list[Any]) -> Any:
        t = base.type
        if len(indices) > t.ndim:
            element = self.array_element(base, indices[: t.ndim])
            return self.element(element, indices[t.ndim :])
        at = [self.array_index(base, k, i) for k, i in enumerate(indices)]
        return self.emit(memory.load if len(at) == t.ndim else memory.view, base, *at)

    def array_index(self, base: Value, axis: int, index: Any) -> Any:
        """An index operand; a negative constant counts from the end."""
        if isinstance(index, Value):
            if not scalars.is_integer(index.type):
                raise KernelTypeError(f"array index is {type_name(index.type)}", expected="an integer", help="int(...)")
            return index
        if isinstance(index, bool) or not is_number(index) or int(index) != index:
            raise KernelTypeError(f"array index is {describe(index)}", expected="an integer")
        if index < 0:
            return self.emit(TABLE["add"], self.emit(memory.shape, base, axis=axis), int(index))
        return int(index)

    def check_component(self, t: Any, indices: list[Any]) -> None:
        if len(indices) > len(t.shape):
            raise KernelTypeError(f"{type_name(t)} takes {len(t.shape)} indices, got {len(indices)}")
        for axis, index in enumerate(indices):
            if is_number(index) and not -t.shape[axis] <= index < t.shape[axis]:
                raise KernelValueError(f"component {index} of {type_name(t)}", expected=f"0 to {t.shape[axis] - 1}")

    def constant_slice(self, node: ast.Slice, extent: int | None) -> slice:
        parts = [None if p is None else self.expr(p) for p in (node.lower, node.upper, node.step)]
        if any(isinstance(p, Value) for p in parts):
            raise KernelTypeError("slice bounds must be constants", help="the length of a vector is part of its type")
        return slice(*parts) if extent is None else slice(*slice(*parts).indices(extent))

    def sliced(self, base: Value, part: slice) -> Value:
        positions = range(base.type.size)[part]
        if not positions:
            raise KernelValueError(f"the slice of {type_name(base.type)} is empty")
        parts = [self.emit(construct.extract, base, k) for k in positions]
        kind = "quaternion" if base.type.kind == "transform" and part == slice(3, 7) else "vector"
        to = compounds.Compound.make(kind, (len(parts),), base.type.dtype)
        return self.emit(construct.construct, *parts, to=to)


def plain_enum(found: Any) -> Any:
    """Members of IntEnum and IntFlag are integers to a kernel."""
    return int(found) if isinstance(found, enum.IntEnum | enum.IntFlag) else found


def swizzle(t: Any, name: str) -> list[int] | slice | None:
    """Component positions of `v.x`, `v.xy`; the slices `p` and `q` of a transform."""
    if t.kind == "transform":
        return {"p": slice(0, 3), "q": slice(3, 7)}.get(name)
    if len(t.shape) != 1 or not 1 <= len(name) <= 4 or any(c not in _SWIZZLE for c in name):
        return None
    positions = [_SWIZZLE[c] for c in name]
    return positions if max(positions) < t.size else None


def _components_of(t: Any) -> str:
    if t.kind == "transform":
        return "p, q, or an index"
    return ", ".join("xyzw"[: t.size]) if len(t.shape) == 1 and t.size <= 4 else "an index"

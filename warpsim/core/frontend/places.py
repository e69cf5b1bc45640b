"""Targets of assignment: a local with a path of parts, or memory.

`v[0] = x` on a local rebinds the whole of `v` to a value with one component replaced, so locals stay
in single assignment. `a[i].pos = x` writes memory: fields and components of array elements are
views. `+=` and `-=` on memory are atomic, as in Warp; `*=` and the others read, compute and write.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from ...errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from ..ir.nodes import Value
from ..ops import construct, memory
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from .expressions import Expressions, swizzle
from .scope import describe, typed


@dataclass
class Local:
    """A name and the parts selected from it: ("field", name) or ("part", indices)."""

    name: str
    steps: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Memory:
    """One element of an array (or of a view of its fields)."""

    array: Value
    indices: list[Any]


class Places(Expressions):
    """Adds assignment to any target."""

    def assign(self, target: ast.expr, operand: Any) -> None:
        with self.at(target):
            if isinstance(target, ast.Tuple):
                self.unpack(target, operand)
            elif isinstance(target, ast.Name):
                self.scope[target.id] = self.named(operand, target.id)
            else:
                self.write(self.place(target), operand)

    def unpack(self, target: ast.Tuple, operand: Any) -> None:
        parts = self.parts_of(operand)
        if len(parts) != len(target.elts):
            raise KernelTypeError(
                f"{len(target.elts)} names for {len(parts)} values", found=describe(operand),
                expected=f"{len(parts)} names",
            )  # fmt: skip
        for element, part in zip(target.elts, parts, strict=True):
            self.assign(element, part)

    def parts_of(self, operand: Any) -> tuple[Any, ...]:
        """What `a, b = operand` unpacks: a tuple, or the components of a vector."""
        if isinstance(operand, tuple):
            return operand
        if isinstance(operand, Value) and compounds.is_compound(operand.type):
            return tuple(self.emit(construct.extract, operand, k) for k in range(operand.type.shape[0]))
        if isinstance(operand, compounds.Compound):
            return tuple(operand)
        raise KernelTypeError(f"{describe(operand)} cannot be unpacked", expected="a tuple or a vector")

    def named(self, operand: Any, name: str) -> Any:
        if operand is None:
            raise KernelTypeError("the call returns nothing", help="it cannot be assigned")
        if isinstance(operand, Value) and not operand.hint:
            operand.hint = name
        return operand

    # ----- finding the place ----------------------------------------------------------------

    def place(self, node: ast.expr) -> Local | Memory:
        if isinstance(node, ast.Name):
            self.lookup(node.id)
            if node.id not in self.scope:
                raise KernelTypeError(f"{node.id!r} is not a local", help="constants from outside cannot be changed")
            return Local(node.id)
        if isinstance(node, ast.Subscript):
            return self.subscript_place(node)
        if isinstance(node, ast.Attribute):
            return self.attribute_place(node)
        wanted = "a name, an element, a component or a field"
        raise UnsupportedSyntaxError("this cannot be assigned to", expected=wanted)

    def subscript_place(self, node: ast.Subscript) -> Local | Memory:
        base = self.base_place(node.value)
        t = self.place_type(base)
        indices = self.indices(node.slice)
        if isinstance(t, ArrayType):
            array = self.read(base)
            if any(isinstance(i, ast.Slice) for i in indices):
                raise UnsupportedSyntaxError("a slice of an array cannot be assigned", help="write a loop")
            at = [self.array_index(array, k, i) for k, i in enumerate(indices[: t.ndim])]
            if len(at) < t.ndim:
                raise KernelTypeError(f"{type_name(t)} needs {t.ndim} indices to be written, got {len(at)}")
            rest = indices[t.ndim :]
            return self.narrowed(Memory(array, at), rest) if rest else Memory(array, at)
        if any(isinstance(i, ast.Slice) for i in indices):
            return self.slice_place(base, t, indices)
        if not compounds.is_compound(t):
            raise KernelTypeError(f"{type_name(t)} has no elements to assign")
        self.check_component(t, indices)
        return self.narrowed(base, indices)

    def slice_place(self, base: Local | Memory, t: Any, indices: list[Any]) -> Local:
        if not isinstance(base, Local) or not compounds.is_compound(t) or len(t.shape) != 1 or len(indices) != 1:
            raise UnsupportedSyntaxError("this slice cannot be assigned", help="assign the components one by one")
        positions = range(t.size)[self.constant_slice(indices[0], t.shape[0])]
        return Local(base.name, [*base.steps, ("several", tuple(positions))])

    def base_place(self, node: ast.expr) -> Local | Memory:
        """The place that a chain starts from; an expression that is an array is a place by itself."""
        if isinstance(node, ast.Name) and node.id not in self.scope:
            raise KernelTypeError(f"{node.id!r} is not a local or a parameter")
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Subscript):
                array = self.partial_view(node)
                if array is not None:
                    return Memory(array, [])
            return self.place(node)
        operand = self.expr(node)
        if isinstance(operand, Value) and isinstance(operand.type, ArrayType):
            return Memory(operand, [])
        raise UnsupportedSyntaxError("this cannot be assigned to", help="assign it to a local first")

    def partial_view(self, node: ast.Subscript) -> Value | None:
        """`a[i]` of an array with more dimensions: a view, which is not a place of its own."""
        base = self.base_place(node.value)
        t = self.place_type(base)
        if not isinstance(t, ArrayType):
            return None
        indices = self.indices(node.slice)
        if len(indices) >= t.ndim:
            return None
        array = self.read(base)
        return self.emit(memory.view, array, *[self.array_index(array, k, i) for k, i in enumerate(indices)])

    def attribute_place(self, node: ast.Attribute) -> Local | Memory:
        base = self.base_place(node.value)
        t = self.place_type(base)
        if structs.is_struct(t):
            if node.attr not in t.fields:
                raise KernelNameError(f"struct {t.__name__} has no field {node.attr!r}", expected=", ".join(t.fields))
            if isinstance(base, Local):
                return Local(base.name, [*base.steps, ("field", node.attr)])
            return Memory(self.emit(memory.field_view, base.array, name=node.attr), base.indices)
        positions = swizzle(t, node.attr) if compounds.is_compound(t) else None
        if positions is None:
            raise KernelNameError(f"{type_name(t)} has no attribute {node.attr!r} that can be assigned")
        spread = tuple(range(t.size)[positions]) if isinstance(positions, slice) else tuple(positions)
        if len(spread) == 1:
            return self.narrowed(base, list(spread))
        if isinstance(base, Memory):
            raise UnsupportedSyntaxError("several components of an array element", help="assign them one by one")
        return Local(base.name, [*base.steps, ("several", spread)])

    def narrowed(self, base: Local | Memory, indices: list[Any]) -> Local | Memory:
        if isinstance(base, Local):
            return Local(base.name, [*base.steps, ("part", tuple(indices))])
        return Memory(self.emit(memory.component_view, base.array, *indices), base.indices)

    def place_type(self, place: Local | Memory) -> Any:
        if isinstance(place, Memory):
            whole = len(place.indices) == place.array.type.ndim
            return place.array.type.dtype if whole else place.array.type
        operand = self.lookup(place.name)
        t = typed(operand).type
        for kind, what in place.steps:
            t = t.fields[what] if kind == "field" else part_type(t, what, kind)
        return t

    # ----- reading and writing --------------------------------------------------------------

    def read(self, place: Local | Memory) -> Any:
        if isinstance(place, Memory):
            if len(place.indices) < place.array.type.ndim:
                return place.array
            return self.emit(memory.load, place.array, *place.indices)
        value: Any = self.lookup(place.name)
        for step in place.steps:
            value = self.step_into(typed(value), step)
        return value

    def step_into(self, value: Value, step: tuple[str, Any]) -> Value:
        kind, what = step
        if kind == "field":
            return self.emit(construct.field, value, name=what)
        if kind == "part":
            return self.emit(construct.extract, value, *what)
        parts = [self.emit(construct.extract, value, k) for k in what]
        return self.emit(construct.construct, *parts, to=compounds.vector(len(parts), value.type.dtype))

    def write(self, place: Local | Memory, operand: Any) -> None:
        if isinstance(place, Memory):
            value = self.convert(operand, place.array.type.dtype, "the value stored")
            self.emit(memory.store, place.array, *place.indices, value)
            return
        if not place.steps:
            self.scope[place.name] = self.named(operand, place.name)
            return
        whole = typed(self.lookup(place.name))
        self.scope[place.name] = self.replaced(whole, place.steps, operand)
        self.scope[place.name].hint = self.scope[place.name].hint or place.name

    def replaced(self, whole: Value, steps: list[tuple[str, Any]], operand: Any) -> Value:
        """`whole` with the part at the end of `steps` replaced."""
        kind, what = steps[0]
        if kind == "several":
            return self.replace_several(whole, what, operand)
        if len(steps) > 1:
            operand = self.replaced(self.step_into(whole, steps[0]), steps[1:], operand)
        if kind == "field":
            value = self.convert(operand, whole.type.fields[what], f"the value of field {what!r}")
            return self.emit(construct.with_field, whole, value, name=what)
        value = self.convert(operand, part_type(whole.type, what, kind), "the value of the component")
        return self.emit(construct.insert, whole, *what, value)

    def replace_several(self, whole: Value, positions: tuple[int, ...], operand: Any) -> Value:
        wanted = compounds.vector(len(positions), whole.type.dtype)
        parts = self.parts_of(operand)
        if len(parts) != len(positions):
            raise KernelTypeError(f"{len(parts)} values for {len(positions)} components", expected=type_name(wanted))
        for position, part in zip(positions, parts, strict=True):
            value = self.convert(part, whole.type.dtype, "the value of the component")
            whole = self.emit(construct.insert, whole, position, value)
        return whole

    def update(self, place: Local | Memory, kind: type[ast.AST], operand: Any) -> None:
        """`place op= operand`."""
        if isinstance(place, Memory) and kind in (ast.Add, ast.Sub) and self.is_atomic(place):
            op = memory.atomic_add if kind is ast.Add else memory.atomic_sub
            value = self.convert(operand, place.array.type.dtype, "the value added")
            self.emit(op, place.array, *place.indices, value)
            return
        self.write(place, self.binary(kind, self.read(place), operand))

    def is_atomic(self, place: Memory) -> bool:
        local = place.array.type.local_shape is not None
        return not local and compounds.scalar_of(place.array.type.dtype) in scalars.NUMBERS


def part_type(t: Any, indices: Any, kind: str) -> Any:
    """The type of the part of a compound that a step selects."""
    if kind == "several":
        return compounds.vector(len(indices), t.dtype)
    return t.dtype if len(indices) == len(t.shape) else compounds.vector(t.shape[1], t.dtype)

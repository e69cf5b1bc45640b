"""Targets of assignment: a local with a path of parts, or memory.

`v[0] = x` on a local rebinds the whole of `v` to a value with one component replaced, so locals stay
in single assignment. `a[i].pos = x` writes memory: fields and components of array elements are
views. `+=` and `-=` on memory are atomic, as in Warp; `*=` and the others read, compute and write.
A target is evaluated once, before the value of an augmented assignment, as Python does.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from ..ir.nodes import Value
from ..ops import construct, memory
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, array_type, type_name
from .expressions import Expressions, selection_type, swizzle
from .scope import describe, host_array_error, is_host_array, is_number, typed

_COPY_FIRST = "copy the element to a local, change it, and store it back"


@dataclass
class Local:
    """A name and the parts selected from it: ("field", name), ("part", indices) or ("several", positions)."""

    name: str
    steps: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Memory:
    """An element of an array (of a view of its fields or components), or several components of one.

    With fewer indices than the array has dimensions it is a view, which can be selected from only.
    """

    array: Value
    indices: list[Any]
    several: tuple[int, ...] = ()

    @property
    def is_element(self) -> bool:
        return len(self.indices) == self.array.type.ndim


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
        """What `a, b = operand` unpacks: a tuple, the components of a vector, the rows of a matrix."""
        if isinstance(operand, tuple):
            return operand
        if isinstance(operand, compounds.Compound):
            operand = typed(operand)
        if isinstance(operand, Value) and compounds.is_compound(operand.type):
            return tuple(self.emit(construct.extract, operand, k) for k in range(operand.type.shape[0]))
        raise KernelTypeError(f"{describe(operand)} cannot be unpacked", expected="a tuple or a vector")

    def named(self, operand: Any, name: str) -> Any:
        if operand is None:
            cure = "assign a number, vector or struct"
            raise KernelTypeError("None is not a value of the kernel language", help=cure)
        if isinstance(operand, Value) and not operand.hint:
            operand.hint = name
        return operand

    # ----- finding the place ----------------------------------------------------------------

    def place(self, node: ast.expr) -> Local | Memory:
        """The place that a target names; an expression whose value is an array is one by itself."""
        if isinstance(node, ast.Name):
            return self.name_place(node)
        with self.at(node):
            if isinstance(node, ast.Subscript):
                return self.subscript_place(self.place(node.value), node)
            if isinstance(node, ast.Attribute):
                return self.attribute_place(self.place(node.value), node)
            operand = self.expr(node)
            if isinstance(operand, Value) and isinstance(operand.type, ArrayType):
                return Memory(operand, [])
            wanted = "a name, an element, a component or a field"
            cure = "give the value a name first"
            raise UnsupportedSyntaxError("this cannot be assigned to", expected=wanted, help=cure)

    def name_place(self, node: ast.Name) -> Local:
        operand = self.lookup(node.id)
        if is_host_array(operand):
            raise host_array_error(node.id)
        if node.id not in self.scope:
            cure = "constants from outside cannot be changed: copy it to a local, or pass an array"
            raise KernelTypeError(f"{node.id!r} ({describe(operand)}) is not a local or a parameter", help=cure)
        return Local(node.id)

    def subscript_place(self, base: Local | Memory, node: ast.Subscript) -> Local | Memory:
        t = self.place_type(base)
        indices = self.indices(node.slice)
        sliced = any(isinstance(i, ast.Slice) for i in indices)
        if isinstance(t, ArrayType):
            if sliced:
                raise UnsupportedSyntaxError("a slice of an array cannot be assigned", help="write a loop")
            return self.array_place(base, indices)
        if not compounds.is_compound(t):
            raise KernelTypeError(f"{type_name(t)} has no elements to assign")
        if sliced:
            if len(indices) != 1 or len(t.shape) != 1:
                raise UnsupportedSyntaxError("this slice cannot be assigned", help="assign the components one by one")
            return self.spread(base, self.slice_positions(t, indices[0]))
        self.check_component(t, indices)
        return self.narrowed(base, indices)

    def array_place(self, base: Local | Memory, indices: list[Any]) -> Memory:
        """base[indices] of an array; indices of views add up, what is left over selects components."""
        array, given = (base.array, base.indices) if isinstance(base, Memory) and not base.is_element else (None, [])
        array = self.read(base) if array is None else array
        rank = array.type.ndim
        wanted = indices[: rank - len(given)]
        at = [*given, *map(self.array_index, wanted)]
        found = Memory(array, at)
        rest = indices[len(wanted) :]
        if not rest:
            return found
        self.check_component(self.component_owner(found, rest), rest)
        return self.narrowed(found, rest)  # type: ignore[return-value]

    def component_owner(self, place: Memory, rest: list[Any]) -> Any:
        t = place.array.type
        if not compounds.is_compound(t.dtype):
            given = t.ndim + len(rest)
            raise KernelTypeError(f"{type_name(t)} takes {t.ndim} indices, got {given}")
        return t.dtype

    def attribute_place(self, base: Local | Memory, node: ast.Attribute) -> Local | Memory:
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
        return self.narrowed(base, positions) if len(positions) == 1 else self.spread(base, positions)

    def spread(self, base: Local | Memory, positions: list[int]) -> Local | Memory:
        """Several components of a vector, each named once."""
        if len(set(positions)) != len(positions):
            raise KernelTypeError("a component is assigned twice", help="name each component once")
        if isinstance(base, Local):
            return Local(base.name, [*base.steps, ("several", tuple(positions))])
        return replace(base, several=tuple(base.several[k] for k in positions) if base.several else tuple(positions))

    def narrowed(self, base: Local | Memory, indices: list[Any]) -> Local | Memory:
        """One component, or a row of a matrix."""
        if isinstance(base, Local):
            return Local(base.name, [*base.steps, ("part", tuple(indices))])
        if base.several:
            if not is_number(indices[0]):
                raise UnsupportedSyntaxError("a computed component of a part of an array element", help=_COPY_FIRST)
            indices = [base.several[indices[0]]]
        return Memory(self.emit(memory.component_view, base.array, *indices), base.indices)

    def place_type(self, place: Local | Memory) -> Any:
        if isinstance(place, Memory):
            t = place.array.type
            if not place.is_element:
                return array_type(t.dtype, t.ndim - len(place.indices), t.indexed)
            return selection_type(t.dtype, place.several) if place.several else t.dtype
        t = typed(self.lookup(place.name)).type
        for kind, what in place.steps:
            t = t.fields[what] if kind == "field" else part_type(t, what, kind)
        return t

    # ----- reading and writing --------------------------------------------------------------

    def read(self, place: Local | Memory) -> Any:
        if isinstance(place, Memory):
            if not place.is_element:
                return self.emit(memory.view, place.array, *place.indices) if place.indices else place.array
            element = self.emit(memory.load, place.array, *place.indices)
            return self.selected(element, list(place.several)) if place.several else element
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
        return self.selected(value, list(what))

    def write(self, place: Local | Memory, operand: Any) -> None:
        if isinstance(place, Memory):
            for element, value in self.elements(place, operand, "the value stored"):
                self.emit(memory.store, element.array, *element.indices, value)
        elif not place.steps:
            self.scope[place.name] = self.named(operand, place.name)
        else:
            whole = typed(self.lookup(place.name))
            self.scope[place.name] = self.named(self.replaced(whole, place.steps, operand), place.name)

    def elements(self, place: Memory, operand: Any, what: str) -> list[tuple[Memory, Value]]:
        """What to write where: the element, or each of several components of it."""
        t = place.array.type
        if not place.is_element:
            raise KernelTypeError(f"{type_name(t)} needs {t.ndim} indices to be written, got {len(place.indices)}")
        if not place.several:
            return [(place, self.convert(operand, t.dtype, what))]
        parts = self.matching_parts(operand, t.dtype, place.several)
        views = [self.emit(memory.component_view, place.array, k) for k in place.several]
        return [(Memory(view, place.indices), part) for view, part in zip(views, parts, strict=True)]

    def matching_parts(self, operand: Any, t: Any, positions: tuple[int, ...]) -> list[Value]:
        """The components of `operand` for as many components of a `t`."""
        parts = self.parts_of(operand)
        if len(parts) != len(positions):
            wanted = type_name(selection_type(t, positions))
            raise KernelTypeError(f"{len(parts)} values for {len(positions)} components", expected=wanted)
        return [self.convert(part, t.dtype, "the value of the component") for part in parts]

    def replaced(self, whole: Value, steps: list[tuple[str, Any]], operand: Any) -> Value:
        """`whole` with the part at the end of `steps` replaced."""
        kind, what = steps[0]
        if len(steps) > 1:
            operand = self.replaced(self.step_into(whole, steps[0]), steps[1:], operand)
        if kind == "field":
            value = self.convert(operand, whole.type.fields[what], f"the value of field {what!r}")
            return self.emit(construct.with_field, whole, value, name=what)
        if kind == "part":
            value = self.convert(operand, part_type(whole.type, what, kind), "the value of the component")
            return self.emit(construct.insert, whole, *what, value)
        for position, part in zip(what, self.matching_parts(operand, whole.type, what), strict=True):
            whole = self.emit(construct.insert, whole, position, part)
        return whole

    def update(self, target: ast.expr, kind: type[ast.AST], value: ast.expr) -> None:
        """`target op= value`."""
        with self.at(target):
            place = self.place(target)
        if isinstance(place, Memory) and kind in (ast.Add, ast.Sub) and self.is_atomic(place):
            op = memory.atomic_add if kind is ast.Add else memory.atomic_sub
            for element, part in self.elements(place, self.expr(value), "the value added"):
                self.emit(op, element.array, *element.indices, part)
            return
        before = self.read(place)
        self.write(place, self.binary(kind, before, self.expr(value)))

    def is_atomic(self, place: Memory) -> bool:
        local = place.array.type.local_shape is not None
        return not local and compounds.scalar_of(place.array.type.dtype) in scalars.NUMBERS


def part_type(t: Any, indices: Any, kind: str) -> Any:
    """The type of the part of a compound that a step selects."""
    if kind == "several":
        return selection_type(t, indices)
    return t.dtype if len(indices) == len(t.shape) else compounds.vector(t.shape[1], t.dtype)

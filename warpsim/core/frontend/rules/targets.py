"""Assignment targets (lvalues): a local with a path of parts, or an element of an array.

`v[0] = x` on a local rebinds the whole of `v` to a value with one component replaced, so locals stay
in single assignment. `a[i].pos = x` writes memory: fields and components of array elements are
views. `+=` and `-=` on memory are atomic; `*=` and the others read, compute and write.
A target is evaluated once, before the value of an augmented assignment, as Python does.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ....errors import KernelAttributeError, KernelTypeError, KernelValueError, UnsupportedSyntaxError, counted
from ...ir.nodes import Value
from ...ops import construct, memory
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, array_type, type_name
from ...types.values import Compound
from ..translate.conversions import convert
from ..translate.scope import describe, host_array_error, is_host_array, is_number, typed_value
from ..translate.translator import Translator
from .array_slices import ArraySlice, element_indices, sliced_array, whole
from .operators import binary, user_operator
from .parts import (
    Cells,
    array_index,
    check_component,
    check_extents,
    index_operands,
    parts_of,
    select_components,
    select_slices,
    selection_type,
    swizzle,
)
from .pieces import place_in_pieces
from .tile_elements import assign_tile, is_tile, update_tile

_COPY_FIRST = "copy the element to a local, change it, and store it back"


@dataclass
class Local:
    """A name and the parts selected from it: ("field", name), ("part", indices) or ("several", positions)."""

    name: str
    steps: list[tuple[str, Any]] = field(default_factory=list)


@dataclass
class Element:
    """An element of an array (of a view of its fields or components), or several components of one.

    With fewer indices than the array has dimensions it is a view, which can be selected from only.
    """

    array: Value
    indices: list[Any]
    several: tuple[int, ...] = ()

    @property
    def is_element(self) -> bool:
        return len(self.indices) == self.array.type.ndim


def assign(tr: Translator, target: ast.expr, operand: object) -> None:
    """Write an operand to a target of whatever kind."""

    def write_part() -> None:
        with tr.at(target):
            write(tr, target_of(tr, target), operand)

    if not isinstance(target, (ast.Tuple, ast.Name)):
        tr.writing(target, write_part)
        return
    with tr.at(target):
        if isinstance(target, ast.Tuple):
            unpack(tr, target, operand)
        else:
            tr.bind(target.id, operand)


def unpack(tr: Translator, target: ast.Tuple, operand: object) -> None:
    parts = parts_of(tr, operand)
    if len(parts) != len(target.elts):
        raise KernelTypeError(
            f"{counted(len(target.elts), 'name')} for {counted(len(parts), 'value')}",
            found=describe(operand),
            expected=f"{counted(len(parts), 'name')}",
        )
    for element, part in zip(target.elts, parts, strict=True):
        assign(tr, element, part)


def target_of(tr: Translator, node: ast.expr) -> Any:
    """What a target names; an expression whose value is an array is one by itself."""
    array = tr.gradient_array(node)
    if array is not None:
        return Element(tr.emit(memory.gradient, array), [])
    if isinstance(node, ast.Name):
        return name_target(tr, node)
    with tr.at(node):
        if isinstance(node, ast.Subscript):
            return subscript_target(tr, target_of(tr, node.value), node)
        if isinstance(node, ast.Attribute):
            return attribute_target(tr, target_of(tr, node.value), node)
        operand = tr.translate(node)
        if isinstance(operand, Value) and isinstance(operand.type, ArrayType):
            return Element(operand, [])
        if isinstance(operand, ArraySlice):
            return operand
        targets = "a name, an element, a component or a field"
        cure = "give the value a name first"
        raise UnsupportedSyntaxError("this cannot be assigned to", expected=targets, help=cure)


def name_target(tr: Translator, node: ast.Name) -> Local:
    operand = tr.lookup(node.id)
    if is_host_array(operand):
        raise host_array_error(node.id)
    if node.id not in tr.scope:
        cure = "constants from outside cannot be changed: copy it to a local, or pass an array"
        raise KernelTypeError(f"{node.id!r} ({describe(operand)}) is not a local or a parameter", help=cure)
    return Local(node.id)


def subscript_target(tr: Translator, base: Local | Element, node: ast.Subscript) -> Any:
    """base[indices] as a target; of a slice of an array a smaller one, or an element of the array."""
    indices = index_operands(tr, node.slice)
    if any(map(is_tile, indices)):
        cure = "write them in a loop over the numbers, or to an array with wp.tile_store_indexed"
        raise KernelTypeError("elements of a tile at the numbers of another are a copy", help=cure)
    view = base if isinstance(base, ArraySlice) else held_slice(tr, base)
    if view is not None:
        return slice_target(tr, view, indices)
    t = target_type(tr, base)
    with_slices = any(isinstance(i, ast.Slice) for i in indices)
    if isinstance(t, ArrayType):
        if with_slices:
            array = read(tr, base)
            return slice_target(tr, ArraySlice(array, tuple(whole(tr, array))), indices)
        return array_target(tr, base, indices)
    if structs.is_in_pieces(t) and not with_slices:
        piece, place = place_in_pieces(tr, typed_value(read(tr, base)), array_index(indices[0]))
        rest = [*place, *indices[1:]]
        return array_target(tr, Element(piece, []), rest) if rest else Element(piece, [])
    if not compounds.is_compound(t):
        raise KernelTypeError(f"{type_name(t)} has no elements to assign")
    if with_slices:
        return spread(base, select_slices(tr, t, indices))
    check_component(t, indices)
    return narrow(tr, base, indices)


def held_slice(tr: Translator, target: Local | Element) -> ArraySlice | None:
    """The slice of an array that a local holds, if it does."""
    held = tr.scope.get(target.name) if isinstance(target, Local) and not target.steps else None
    return held if isinstance(held, ArraySlice) else None


def slice_target(tr: Translator, view: ArraySlice, indices: list[Any]) -> Any:
    rank = len(view.axes)
    if len(indices) < rank or any(isinstance(i, ast.Slice) for i in indices[:rank]):
        smaller = sliced_array(tr, view, indices[:rank])
        return slice_target(tr, smaller, indices[rank:]) if indices[rank:] else smaller
    element = Element(view.array, element_indices(tr, view, indices[:rank]))
    rest = indices[rank:]
    if not rest:
        return element
    if any(isinstance(i, ast.Slice) for i in rest):
        return spread(element, select_slices(tr, component_owner(element, rest), rest))
    check_component(component_owner(element, rest), rest)
    return narrow(tr, element, rest)


def array_target(tr: Translator, base: Local | Element, indices: list[Any]) -> Element:
    """base[indices] of an array; indices of views add up, what is left over selects components."""
    array, before = (base.array, base.indices) if isinstance(base, Element) and not base.is_element else (None, [])
    array = read(tr, base) if array is None else array
    rank = array.type.ndim
    own = indices[: rank - len(before)]
    at = [*before, *map(array_index, own)]
    check_extents(array.type, at)
    element = Element(array, at)
    rest = indices[len(own) :]
    if not rest:
        return element
    check_component(component_owner(element, rest), rest)
    return narrow(tr, element, rest)  # type: ignore[return-value]


def component_owner(target: Element, rest: list[Any]) -> Any:
    t = target.array.type
    if not compounds.is_compound(t.dtype):
        count = t.ndim + len(rest)
        raise KernelTypeError(f"{type_name(t)} takes {counted(t.ndim, 'index')}, got {count}")
    return t.dtype


def attribute_target(tr: Translator, base: Local | Element, node: ast.Attribute) -> Local | Element:
    t = target_type(tr, base)
    if structs.is_struct(t):
        if node.attr not in t.fields:
            raise KernelAttributeError(f"struct {t.__name__} has no field {node.attr!r}", expected=", ".join(t.fields))
        if isinstance(base, Local):
            return Local(base.name, [*base.steps, ("field", node.attr)])
        return Element(tr.emit(memory.field_view, base.array, name=node.attr), base.indices)
    positions = swizzle(t, node.attr) if compounds.is_compound(t) else None
    if positions is None:
        raise KernelAttributeError(f"{type_name(t)!r} object has no attribute {node.attr!r} that can be assigned")
    return narrow(tr, base, positions) if len(positions) == 1 else spread(base, positions)


def spread(base: Local | Element, positions: list[int] | Cells) -> Local | Element:
    """Several components of a vector or a matrix, each named once."""
    if len(set(positions)) != len(positions):
        raise KernelTypeError("a component is assigned twice", help="name each component once")
    own = positions if isinstance(positions, Cells) else tuple(positions)
    if isinstance(base, Local):
        return Local(base.name, [*base.steps, ("several", own)])
    if base.several and (isinstance(base.several, Cells) or isinstance(positions, Cells)):
        raise UnsupportedSyntaxError("a part of a part of an array element", help=_COPY_FIRST)
    return replace(base, several=tuple(base.several[k] for k in positions) if base.several else own)


def narrow(tr: Translator, base: Local | Element, indices: list[Any]) -> Local | Element:
    """One component, or a row of a matrix."""
    if isinstance(base, Local):
        return Local(base.name, [*base.steps, ("part", tuple(indices))])
    if base.several:
        if not is_number(indices[0]):
            raise UnsupportedSyntaxError("a computed component of a part of an array element", help=_COPY_FIRST)
        indices = [base.several[indices[0]]]
    return Element(tr.emit(memory.component_view, base.array, *indices), base.indices)


def target_type(tr: Translator, target: Local | Element) -> Any:
    if isinstance(target, Element):
        t = target.array.type
        if not target.is_element:
            return array_type(t.dtype, t.ndim - len(target.indices), t.indexed)
        return selection_type(t.dtype, target.several) if target.several else t.dtype
    t = typed_value(tr.lookup(target.name)).type
    for kind, what in target.steps:
        t = t.fields[what] if kind == "field" else part_type(t, what, kind)
    return t


def read(tr: Translator, target: Local | Element) -> Any:
    if isinstance(target, ArraySlice):
        return target
    if isinstance(target, Element):
        if not target.is_element:
            return tr.emit(memory.view, target.array, *target.indices) if target.indices else target.array
        element = tr.emit(memory.load, target.array, *target.indices)
        return select_components(tr, element, target.several) if target.several else element
    value: Any = tr.lookup(target.name)
    for step in target.steps:
        value = step_into(tr, typed_value(value), step)
    return value


def step_into(tr: Translator, value: Value, step: tuple[str, Any]) -> Value:
    kind, what = step
    if kind == "field":
        return tr.emit(construct.field, value, name=what)
    if kind == "part":
        return tr.emit(construct.extract, value, *what)
    return select_components(tr, value, what)


def write(tr: Translator, target: Local | Element, operand: object) -> None:
    part: Any = read(tr, target) if isinstance(target, ArraySlice) or is_row(target) else None
    if is_tile(part):
        assign_tile(tr, part, operand)
    elif isinstance(target, ArraySlice):
        raise UnsupportedSyntaxError("a slice of an array cannot be assigned", help="write a loop")
    elif isinstance(target, Element):
        for element, value in written_elements(tr, target, operand, "the value stored"):
            tr.emit(memory.store, element.array, *element.indices, value)
    elif not target.steps:
        tr.bind(target.name, operand)
    else:
        whole = typed_value(tr.lookup(target.name))
        tr.bind(target.name, replace_part(tr, whole, target.steps, operand))


def is_row(target: Local | Element) -> bool:
    """Whether a target is a part of a local array with dimensions of its own."""
    return isinstance(target, Element) and not target.is_element and target.array.type.local_shape is not None


def written_elements(tr: Translator, target: Element, operand: object, what: str) -> list[tuple[Element, Value]]:
    """What to write where: the element, or each of several components of it."""
    t = target.array.type
    if not target.is_element:
        needed = counted(t.ndim, "index")
        raise KernelTypeError(f"{type_name(t)} needs {needed} to be written, got {len(target.indices)}")
    if not target.several:
        return [(target, convert(operand, t.dtype, what))]
    parts = matching_parts(tr, operand, t.dtype, target.several)
    places = [k if isinstance(k, tuple) else (k,) for k in target.several]
    views = [tr.emit(memory.component_view, target.array, *place) for place in places]
    return [(Element(view, target.indices), part) for view, part in zip(views, parts, strict=True)]


def matching_parts(tr: Translator, operand: object, t: type[Compound], positions: tuple[int, ...]) -> list[Value]:
    """The components of `operand` for as many components of a `t`."""
    parts = parts_of(tr, operand)
    if isinstance(positions, Cells) and len(positions.shape) == 2 and len(parts) == positions.shape[0]:
        parts = tuple(part for row in parts for part in parts_of(tr, row))
    if len(parts) != len(positions):
        selection = type_name(selection_type(t, positions))
        raise KernelValueError(
            f"{counted(len(parts), 'value')} for {counted(len(positions), 'component')}",
            expected=selection,
        )
    return [convert(part, t.dtype, "the value of the component") for part in parts]


def replace_part(tr: Translator, whole: Value, steps: list[tuple[str, Any]], operand: object) -> Value:
    """`whole` with the part at the end of `steps` replaced."""
    kind, what = steps[0]
    if len(steps) > 1:
        operand = replace_part(tr, step_into(tr, whole, steps[0]), steps[1:], operand)
    if kind == "field":
        value = convert(operand, whole.type.fields[what], f"the value of field {what!r}")
        return tr.emit(construct.with_field, whole, value, name=what)
    if kind == "part":
        value = convert(operand, part_type(whole.type, what, kind), "the value of the component")
        return tr.emit(construct.insert, whole, *what, value)
    for position, part in zip(what, matching_parts(tr, operand, whole.type, what), strict=True):
        place = position if isinstance(position, tuple) else (position,)
        whole = tr.emit(construct.insert, whole, *place, part)
    return whole


def update(tr: Translator, target: ast.expr, kind: type[ast.AST], value: ast.expr) -> None:
    """`target op= value`, where the target is a part of something."""
    tr.writing(target, lambda: update_part(tr, target, kind, value))


def update_part(tr: Translator, target: ast.expr, kind: type[ast.AST], value: ast.expr) -> None:
    """Update a target in target: atomically where it is memory that other threads can see."""
    with tr.at(target):
        place = target_of(tr, target)
    if not isinstance(place, Element) or kind not in (ast.Add, ast.Sub) or not is_number_in_memory(place):
        before = read(tr, place)
        operand = tr.translate(value)
        if is_tile(before):
            update_tile(tr, partial(binary, tr, kind), before, operand)
        else:
            write(tr, place, binary(tr, kind, before, operand))
        return
    added = tr.translate(value)
    if user_operator(tr, "add" if kind is ast.Add else "sub", Value(target_type(tr, place)), added) is not None:
        write(tr, place, binary(tr, kind, read(tr, place), added))
        return
    op = memory.atomic_add if kind is ast.Add else memory.atomic_sub
    for element, part in written_elements(tr, place, added, "the value added"):
        tr.emit(op, element.array, *element.indices, part)


def is_number_in_memory(target: Element) -> bool:
    """Whether an element is one that atomic instructions can update, in memory that other threads can see."""
    local = target.array.type.local_shape is not None
    return not local and scalars.is_number(compounds.scalar_of(target.array.type.dtype))


def part_type(t: type[Compound], indices: Sequence[Any], kind: str) -> Any:
    """The type of the part of a compound that a step selects."""
    if kind == "several":
        return selection_type(t, indices)
    return t.dtype if len(indices) == len(t.shape) else compounds.vector(t.shape[1], t.dtype)

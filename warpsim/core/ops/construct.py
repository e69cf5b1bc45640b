"""Making compounds and structs of parts, and taking them apart again.

`construct` builds a value of the type in its attribute `to`; `extract` and `insert` read and replace
one component (or one row of a matrix) at an index that may be computed; `field` and `with_field` do
the same for structs. All are functional: `v[0] = x` in a kernel rebinds `v` to a new value, which is
why re-assigned components differentiate exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ...errors import OutOfBoundsError
from ..ir.builder import OPERATORS
from ..ir.nodes import Call, Constant, Value
from ..types import compounds, scalars, structs
from ..types.answers import per_type
from ..types.array_ref import Fields
from ..types.arrays import ArrayType, ValueType
from ..types.compounds import is_compound, scalar_of, size_of
from ..types.signatures import Element, Int
from ..types.structs import Struct
from .lanes import for_lanes
from .registry import op
from .target import Target
from .values import llvm_type


def components(x: Value) -> list[Value]:
    """The components of a traced compound, in memory order."""
    if x.type.kind == "matrix":
        return [extract(x, i, j) for i in range(x.type.shape[0]) for j in range(x.type.shape[1])]
    return [extract(x, i) for i in range(x.type.size)]


def rebuild(x: Value, parts: list[Any]) -> Value:
    """A compound of the type of `x` over other components."""
    return construct(*parts, to=x.type)


def zero(x: Value) -> Constant:
    """Zero of the type of `x`; array fields of a struct, which have no cotangent, stay empty."""
    return Constant(x.type, _zero_of(x.type))


def _zero_of(t: ValueType) -> Any:
    # Not `t()`: that is the identity for a transform, and the defaults for a struct.
    if structs.is_struct(t):
        zeros = {name: _zero_of(f) for name, f in t.fields.items() if not isinstance(f, ArrayType)}
        return structs.of_fields(t, zeros)
    return t.wrap(np.zeros(t.shape, t.dtype)) if is_compound(t) else t(0)


# ----- construct ----------------------------------------------------------------------------


def _construct_rule(types: list[Any], attributes: dict) -> Any:
    to = attributes["to"]
    if structs.is_struct(to):
        return list(to.fields.values()), [to]
    concrete = [to.dtype if hasattr(t, "default") else t for t in types]
    sizes = [size_of(t) for t in concrete]
    same = all(scalar_of(t) is to.dtype for t in concrete)
    broadcast = len(types) == 1 and sizes == [1]
    return (concrete, [to]) if same and (sum(sizes) == to.size or broadcast) else None


@for_lanes
def _construct_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    flat = [x for part in args for x in part]
    to = call.results[0].type
    return flat * to.size if is_compound(to) and len(flat) == 1 else flat


def _construct_oracle(*parts: Any, to: Any) -> Any:
    if structs.is_struct(to):
        return dict(zip(to.fields, parts, strict=True))
    flat = np.concatenate([np.ravel(p) for p in parts] or [np.empty(0)]).astype(to.dtype)
    return np.broadcast_to(flat, (to.size,)).reshape(to.shape) if flat.size == 1 else flat.reshape(to.shape)


@op(_construct_value, numpy=_construct_oracle, rule=_construct_rule)
def construct(*parts: Element) -> Element:
    """A compound of its components, of smaller compounds in order, or of one number for all; or a struct."""


@construct.adjoint
def _(*args):
    *parts, out, dout = args
    if structs.is_struct(out.type):
        return tuple(field(dout, name=name) for name in out.type.fields)
    flat = components(dout)
    if len(parts) == 1 and size_of(parts[0].type) == 1:
        total = flat[0]
        for part in flat[1:]:
            total = total + part
        return (total,)
    contributions, at = [], 0
    for part in parts:
        size = size_of(part.type)
        contributions.append(rebuild(part, flat[at : at + size]) if is_compound(part.type) else flat[at])
        at += size
    return tuple(contributions)


# ----- components ---------------------------------------------------------------------------


def _part_type(t: ValueType, indices: int) -> Any:
    """What `indices` indices select from a compound: a component, or the row of a matrix."""
    if not is_compound(t) or not 1 <= indices <= len(t.shape):
        return None
    return t.dtype if indices == len(t.shape) else compounds.vector(t.shape[1], t.dtype)


def _index_types(types: list[Any]) -> list[Any] | None:
    indices = [getattr(t, "default", t) for t in types]
    return indices if all(scalars.is_integer(t) for t in indices) else None


def _extract_rule(types: list[Any], attributes: dict) -> Any:
    part = _part_type(types[0], len(types) - 1)
    indices = _index_types(types[1:])
    return None if part is None or indices is None else ([types[0], *indices], [part])


def _static(indices: tuple[Value, ...], shape: tuple[int, ...]) -> list[int] | None:
    """Constant indices as positions, or None when any is computed, or outside."""
    constants = [int(i.value) for i in indices if isinstance(i, Constant)]
    pairs = list(zip(constants, shape, strict=False))
    if len(constants) != len(indices) or not all(-n <= i < n for i, n in pairs):
        return None
    return [i % n for i, n in pairs]


def _flat_position(shape: tuple[int, ...], whole: list[int]) -> tuple[int, int]:
    """Where a part starts in the flat list, and how long it is."""
    if len(shape) == 1:
        return whole[0], 1
    if len(whole) == 1:
        return whole[0] * shape[1], shape[1]
    return whole[0] * shape[1] + whole[1], 1


def component_indices(indices: Iterable[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Positions of components as the oracles take them: negative indices count from the end, others are errors."""
    positions = []
    for i, n in zip(map(int, indices), shape, strict=False):
        if not -n <= i < n:
            raise OutOfBoundsError(f"component index {i} is outside 0 to {n - 1}")
        positions.append(i % n)
    return tuple(positions)


Spilled = tuple[Any, Any, Any]
"""Memory of a compound on the stack, the position of a part, and whether there is such a part (None: surely)."""


def _spill(target: Target, call: Call, flat: list[Any], indices: list[Any]) -> Spilled:
    """Spill a compound to the stack and point at the part."""
    b, t = target.builder, call.args[0].type
    slot = target.stack(llvm_type(t.dtype), len(flat))
    for k, x in enumerate(flat):
        b.store(x, b.gep(slot, [ll.Constant(ll.IntType(64), k)]))
    strides = [t.shape[1], 1] if len(t.shape) == 2 else [1]
    return slot, *target.component_offset(call, indices, t.shape, strides)


def _extract_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    t, indices = call.args[0].type, call.args[1:]
    static = _static(indices, t.shape)
    if static is not None:
        start, length = _flat_position(t.shape, static)
        return args[0][start : start + length]
    slot, position, inside = _spill(target, call, args[0], [a[0] for a in args[1:]])
    length = t.shape[1] if len(t.shape) == 2 and len(indices) == 1 else 1
    b = target.builder
    parts = [b.load(b.gep(slot, [b.add(position, ll.Constant(ll.IntType(64), k))])) for k in range(length)]
    if inside is None:
        return parts
    return [b.select(inside, x, no_part(t.dtype)) for x in parts]


def no_part(t: type) -> ll.Constant:
    """What is read where a compound has no part: NaN, or 0 of integers."""
    return ll.Constant(llvm_type(t), math.nan if scalars.is_float(t) else 0)


for_lanes(_extract_value, lambda call: _static(call.args[1:], call.args[0].type.shape) is not None)


@op(_extract_value, numpy=lambda x, *i: x[component_indices(i, x.shape)], rule=_extract_rule)
def extract(x: Element, *indices: Int) -> Element:
    """A component, or a row of a matrix. Negative indices count from the end; others outside give NaN, or 0."""


@extract.adjoint
def _(x, *rest):
    *indices, out, dout = rest
    return (insert(zero(x), *indices, dout), *(None for _ in indices))


def _insert_rule(types: list[Any], attributes: dict) -> Any:
    part = _part_type(types[0], len(types) - 2)
    indices = _index_types(types[1:-1])
    if part is None or indices is None:
        return None
    value = getattr(types[-1], "default", types[-1])
    literal = value is not types[-1] and (scalars.is_float(part) or scalars.is_integer(value))
    return ([types[0], *indices, part], [types[0]]) if value is part or literal else None


def _insert_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    t, indices = call.args[0].type, call.args[1:-1]
    static, flat, part = _static(indices, t.shape), list(args[0]), args[-1]
    if static is not None:
        start, length = _flat_position(t.shape, static)
        flat[start : start + length] = part
        return flat
    slot, position, inside = _spill(target, call, flat, [a[0] for a in args[1:-1]])
    b = target.builder
    for k, x in enumerate(part):
        place = b.gep(slot, [b.add(position, ll.Constant(ll.IntType(64), k))])
        b.store(x if inside is None else b.select(inside, x, b.load(place)), place)
    return [b.load(b.gep(slot, [ll.Constant(ll.IntType(64), k)])) for k in range(len(flat))]


def _insert_oracle(x: np.ndarray, *rest: Any) -> Any:
    *indices, part = rest
    changed = np.array(x)
    changed[component_indices(indices, x.shape)] = part
    return changed


for_lanes(_insert_value, lambda call: _static(call.args[1:-1], call.args[0].type.shape) is not None)


@op(_insert_value, numpy=_insert_oracle, rule=_insert_rule)
def insert(x: Element, *rest: Any) -> Element:
    """`x` with the part at the given indices replaced by the last argument; unchanged where there is no such part."""


@insert.adjoint
def _(x, *rest):
    *indices, part, out, dout = rest
    contribution = extract(dout, *indices)  # first, so that what follows may change `dout` in place
    return (insert(dout, *indices, zero(part)), *(None for _ in indices), contribution)


# ----- structs ------------------------------------------------------------------------------


@per_type
def flat_size(t: ValueType) -> int:
    """How many LLVM scalars a type flattens to."""
    return sum(1 for _ in structs.leaves(t))


def field_range(t: type[Struct], name: str) -> tuple[int, int]:
    """Where the scalars of a field are among those of its struct."""
    start = 0
    for each, field_type in t.fields.items():
        size = flat_size(field_type)
        if each == name:
            return start, start + size
        start += size
    raise KeyError(name)


def _field_rule(types: list[Any], attributes: dict) -> Any:
    t, name = types[0], attributes["name"]
    return ([t], [t.fields[name]]) if structs.is_struct(t) and name in t.fields else None


@for_lanes
def _field_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    start, stop = field_range(call.args[0].type, call.attributes["name"])
    return args[0][start:stop]


@op(_field_value, numpy=lambda s, name: s[name], rule=_field_rule)
def field(s: Any) -> Any:
    """The field `name` of a struct."""


@field.adjoint
def _(s, out, dout, *, name):
    return (with_field(zero(s), dout, name=name),)


def _with_field_rule(types: list[Any], attributes: dict) -> Any:
    t, name = types[0], attributes["name"]
    if not structs.is_struct(t) or name not in t.fields:
        return None
    expected, value = t.fields[name], types[1]
    literal = hasattr(value, "default") and (scalars.is_float(expected) or scalars.is_integer(value.default))
    return ([t, expected], [t]) if value is expected or literal else None


@for_lanes
def _with_field_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    start, stop = field_range(call.args[0].type, call.attributes["name"])
    return [*args[0][:start], *args[1], *args[0][stop:]]


@op(_with_field_value, numpy=lambda s, value, name: {**s, name: value}, rule=_with_field_rule)
def with_field(s: Any, value: Any) -> Any:
    """The struct with its field `name` replaced."""


@with_field.adjoint
def _(s, value, out, dout, *, name):
    if isinstance(value.type, ArrayType):
        return dout, None
    return with_field(dout, zero(value), name=name), field(dout, name=name)


def member(s: Value, path: Fields) -> Value:
    """The part of a struct at the end of a path of fields."""
    for name in path:
        s = field(s, name=name)
    return s


def _index(x: Value, index: object) -> Any:
    return extract(x, *index) if isinstance(index, tuple) else extract(x, index)


OPERATORS["[]"] = _index

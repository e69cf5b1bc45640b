"""Rows that touch arrays: loads, stores, views and atomics, with the duals that reverse them.

Indices are integers of any width. A view costs nothing: it is the same memory with another start,
shape and strides. In reverse a load adds to the gradient, a store takes from it, and an atomic add
reads it; `gradient` turns an array into its gradient array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS, active_builder
from ..ir.host_arrays import HostArray, write_value
from ..ir.host_arrays import local_array as host_local_array
from ..ir.nodes import Call, Region, Value
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, ValueType, array_type
from ..types.compounds import is_compound
from ..types.scalars import int32
from .construct import component_indices, extract, field, rebuild, zero
from .registry import ATOMIC, READ, WRITE, Numeric, Op, as_computed, op
from .target import Target


def _indices(types: list[Any]) -> list[Any] | None:
    concrete = [getattr(t, "default", t) for t in types]
    return concrete if all(scalars.is_integer(t) for t in concrete) else None


def _element_literal(value: object, element: ValueType) -> bool:
    return hasattr(value, "default") and (scalars.is_float(element) or scalars.is_integer(value.default))


def _access_rule(values: int, returns: bool) -> Callable[..., Any]:
    """array, one index per dimension, then `values` elements; gives an element or nothing."""

    def rule(types: list[Any], attributes: dict) -> Any:
        array = types[0]
        if not isinstance(array, ArrayType) or len(types) != 1 + array.ndim + values:
            return None
        indices = _indices(types[1 : 1 + array.ndim])
        operands = types[1 + array.ndim :]
        fits = all(t is array.dtype or _element_literal(t, array.dtype) for t in operands)
        if indices is None or not fits:
            return None
        return [array, *indices, *[array.dtype] * values], [array.dtype] if returns else []

    return rule


def element_address(target: Target, call: Call, args: list[list[Any]]) -> Any:
    """Where the element lies that a call accesses."""
    indices = call.args[0].type.ndim
    types = [v.type for v in call.args[1 : 1 + indices]]
    return target.address(call.args[0].type, args[0], [a[0] for a in args[1 : 1 + indices] if a], types, call)


# ----- load and store -----------------------------------------------------------------------


def _load_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    return target.load(element_address(target, call, args), call.args[0].type.dtype)


@op(_load_value, numpy=HostArray.load, rule=_access_rule(0, True), effect=READ)
def load(array: Any, *indices: Any) -> Any:
    """The element at the indices."""


@load.adjoint
def _(array, *rest):
    *indices, out, dout = rest
    add_into(gradient(array), indices, dout)
    return (None,) * (1 + len(indices))


def add_into(grads: Value, indices: list[Any], contribution: Value) -> None:
    """Add a cotangent to an element of a gradient array; to a struct field by field."""
    if structs.is_struct(contribution.type):
        for name, t in contribution.type.fields.items():
            if structs.is_struct(t) or scalars.is_float(compounds.scalar_of(t)):
                add_into(field_view(grads, name=name), indices, field(contribution, name=name))
    else:
        atomic_add(grads, *indices, contribution)


def _store_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    address = element_address(target, call, args)
    target.store(address, call.args[0].type.dtype, args[-1])
    return []


@op(_store_value, numpy=HostArray.store, rule=_access_rule(1, False), effect=WRITE)
def store(array: Any, *rest: Any) -> None:
    """Write the last argument to the element at the indices."""


@store.adjoint
def _(array, *rest):
    *indices, value = rest
    contribution = load(gradient(array), *indices)
    store(gradient(array), *indices, zero(value))
    return (None,) * (1 + len(indices)) + (contribution,)


# ----- views --------------------------------------------------------------------------------


def _view_rule(types: list[Any], attributes: dict) -> Any:
    array = types[0]
    if not isinstance(array, ArrayType) or not 1 <= len(types) - 1 < array.ndim:
        return None
    indices = _indices(types[1:])
    if indices is None:
        return None
    return [array, *indices], [_part(array, array.dtype, len(indices))]


def _part(array: ArrayType, dtype: ValueType, axes: int = 0) -> ArrayType:
    """The type of a view: other elements, or fewer dimensions. A part of a local array is one."""
    local = array.local_shape
    return array_type(dtype, array.ndim - axes, array.indexed, local if local is None else local[axes:])


def _view_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    types = [v.type for v in call.args[1:]]
    return target.view(call.args[0].type, args[0], [a[0] for a in args[1:]], types, call)


@op(_view_value, numpy=HostArray.view, rule=_view_rule, nondiff="a view shares memory: gradients flow through loads")
def view(array: Any, *indices: Any) -> Any:
    """The sub-array at leading indices: `a[i]` of a 2-D array is a 1-D array."""


def _field_view_rule(types: list[Any], attributes: dict) -> Any:
    array, name = types[0], attributes["name"]
    if not isinstance(array, ArrayType) or not structs.is_struct(array.dtype) or name not in array.dtype.fields:
        return None
    return types, [_part(array, array.dtype.fields[name])]


def _field_view_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    offset = structs.offsets(call.args[0].type.dtype)[call.attributes["name"]]
    return target.shift(args[0], ll.Constant(ll.IntType(64), offset))


def _field_view_oracle(array: HostArray, name: str) -> HostArray:
    return array.part(name, array.type.dtype.fields[name])


@op(_field_view_value, numpy=_field_view_oracle, rule=_field_view_rule, nondiff="a view shares memory")
def field_view(array: Any) -> Any:
    """One field of every struct in an array, as an array."""


def _component_view_rule(types: list[Any], attributes: dict) -> Any:
    array = types[0]
    if not isinstance(array, ArrayType) or not is_compound(array.dtype):
        return None
    count, shape = len(types) - 1, array.dtype.shape
    indices = _indices(types[1:])
    if indices is None or not 1 <= count <= len(shape):
        return None
    part = array.dtype.dtype if count == len(shape) else compounds.vector(shape[1], array.dtype.dtype)
    return [array, *indices], [_part(array, part)]


def _component_view_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    element = call.args[0].type.dtype
    size = np.dtype(element.dtype).itemsize
    strides = [size * int(np.prod(element.shape[k + 1 :])) for k in range(len(element.shape))]
    offset, inside = target.component_offset(call, [a[0] for a in args[1:]], element.shape, strides)
    component: list[Any] = target.shift(args[0], offset)
    return component if inside is None else target.only_where(inside, call.results[0].type, component)


def _component_view_oracle(array: HostArray, *indices: object) -> HostArray:
    element = array.type.dtype
    part = element.dtype if len(indices) == len(element.shape) else compounds.vector(element.shape[1], element.dtype)
    axes = component_indices(indices, element.shape) + (slice(None),) * (len(element.shape) - len(indices))
    return array.part(axes, part)


@op(_component_view_value, numpy=_component_view_oracle, rule=_component_view_rule, nondiff="a view shares memory")
def component_view(array: Any, *indices: Any) -> Any:
    """One component (or matrix row) of every element of an array, as an array; indices as in `extract`."""


def _gradient_rule(types: list[Any], attributes: dict) -> Any:
    return (types, types) if len(types) == 1 and isinstance(types[0], ArrayType) else None


def _gradient_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    data, grad, *rest = args[0]
    return [grad, grad, *rest]


@op(_gradient_value, numpy=HostArray.gradient, rule=_gradient_rule, nondiff="a view shares memory")
def gradient(array: Any) -> Any:
    """The array of gradients that belongs to an array."""


def _one_array(types: list[Any], attributes: dict) -> Any:
    """The rule of a question about an array."""
    return (types, [scalars.bool_]) if len(types) == 1 and isinstance(types[0], ArrayType) else None


def _compares_address(relation: str, part: int) -> Any:
    """The value of a question about an address, of the memory (0) or of the gradient (1): is it zero?"""

    def value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
        b, word = target.builder, ll.IntType(64)
        return [b.icmp_unsigned(relation, b.ptrtoint(args[0][part], word), ll.Constant(word, 0))]

    return value


@op(
    _compares_address("!=", 1),
    numpy=lambda a: scalars.bool_(a.grad is not None),
    rule=_one_array,
    nondiff="a boolean has no derivative",
)
def has_gradient(array: Any) -> scalars.bool_:
    """Whether an array has a gradient array, where only the run can tell."""


@op(
    _compares_address("==", 0),
    numpy=lambda a: scalars.bool_(a.missing),
    rule=_one_array,
    nondiff="a boolean has no derivative",
)
def is_none(array: Any) -> scalars.bool_:
    """Whether None was given for an array: it lies at no address."""


# ----- shape --------------------------------------------------------------------------------


def _shape_rule(types: list[Any], attributes: dict) -> Any:
    array = types[0]
    inside = isinstance(array, ArrayType) and 0 <= attributes["axis"] < array.ndim
    return (types, [int32]) if inside else None


def _shape_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    return [target.builder.trunc(args[0][2 + call.attributes["axis"]], ll.IntType(32))]


@op(_shape_value, numpy=lambda a, axis: int32(a.shape[axis]), rule=_shape_rule, nondiff="an integer")
def shape(array: Any) -> int32:
    """The extent of the array along `axis`."""


# ----- local arrays -------------------------------------------------------------------------


def _local_rule(types: list[Any], attributes: dict) -> Any:
    extents, dtype = attributes["shape"], attributes["dtype"]
    return [], [array_type(dtype, len(extents), False, extents)]


def _local_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    return target.local_array(call.results[0].type, call.attributes.get("cleared", True))


@op(
    _local_value,
    numpy=host_local_array,
    rule=_local_rule,
    effect=WRITE,
    nondiff="gradients flow through the loads and stores of the array",
)
def local_array() -> Any:
    """An array of constant `shape` on the thread's stack: zeroed, unless its attribute "cleared" is False."""


# ----- atomics ------------------------------------------------------------------------------


def _atomic_value(kind: str) -> Callable[..., Any]:
    def value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
        rank, element = call.args[0].type.ndim, call.args[0].type.dtype
        address = element_address(target, call, args)
        return target.atomic(kind, address, element, args[1 + rank :], call)

    return value


def _atomic_oracle(combine: Callable[..., Any]) -> Callable[..., Any]:
    def oracle(array: HostArray, *rest: Any) -> Any:
        indices, operands = rest[: array.type.ndim], rest[array.type.ndim :]
        old = array.load(*indices)
        write_value(array.data, array.position(indices), combine(as_computed(old), *operands), array.type.dtype)
        return old

    return oracle


def _atomic_rule(values: int, accepts: Callable[[Any], bool]) -> Callable[..., Any]:
    plain = _access_rule(values, True)

    def rule(types: list[Any], attributes: dict) -> Any:
        fitting = plain(types, attributes)
        element = types[0].dtype if fitting else None
        return fitting if fitting and accepts(compounds.scalar_of(element)) and not structs.is_struct(element) else None

    return rule


def _atomic(
    name: str, combine: Callable[..., Any], values: int, accepts: Callable[[Any], bool], nondiff: str, doc: str
) -> Op:
    def signature(array: Any, *rest: Any) -> Any: ...

    signature.__doc__ = doc + " Returns the value before."
    kind = name.removeprefix("atomic_")
    rule = _atomic_rule(values, accepts)
    return op(_atomic_value(kind), numpy=_atomic_oracle(combine), name=name, rule=rule, effect=ATOMIC, nondiff=nondiff)(
        signature
    )


def _number(t: ValueType) -> bool:
    return scalars.is_number(t)


_INTEGER = "an exchange or a bit operation has no derivative"
atomic_add = _atomic("atomic_add", lambda a, b: a + b, 1, _number, "", "Add to an element.")


def _sum_adjoint(scale: int) -> Callable[..., tuple]:
    def rule(array: Value, *rest: Any) -> tuple:
        *indices, value, out, dout = rest
        contribution = load(gradient(array), *indices)
        _return_old(array, indices, dout)
        return (None,) * (1 + len(indices)) + (contribution if scale > 0 else -contribution,)

    return rule


def _return_old(array: Value, indices: list[Any], dout: Value | None) -> None:
    """The value before an atomic was read from memory: its cotangent goes there, as that of a load."""
    if dout is not None:
        add_into(gradient(array), indices, dout)


atomic_add.adjoint(_sum_adjoint(1))


atomic_sub = _atomic("atomic_sub", lambda a, b: a - b, 1, _number, "", "Subtract from an element.")


atomic_sub.adjoint(_sum_adjoint(-1))


def _extreme_adjoint(array: Value, *rest: Any) -> tuple:
    """The winner takes the gradient: the thread whose value equals the final one."""
    *indices, value, out, dout = rest
    final, grads = load(array, *indices), gradient(array)
    if is_compound(value.type):
        contributions = []
        for at in np.ndindex(value.type.shape):
            part = extract(value, *at)
            contributions.append(_take_gradient(component_view(grads, *at), indices, part, extract(final, *at)))
        contribution = rebuild(value, contributions)
    else:
        contribution = _take_gradient(grads, indices, value, final)
    _return_old(array, indices, dout)
    return (None,) * (1 + len(indices)) + (contribution,)


def _take_gradient(grads: Value, indices: list[Any], value: Value, final: Value) -> Any:
    """The gradient of a scalar element if `value` won; it is cleared, so that of equal values one takes it."""
    builder, nothing, then = active_builder(), zero(value), Region()
    assert builder is not None, "rules are traced"
    won = OPERATORS["=="](value, final)
    with builder.inside(then):
        then.yields = (atomic_exch(grads, *indices, nothing),)
    return builder.branch(won, then, Region(yields=(nothing,)))[0]


def _lower(a: Numeric, b: Numeric) -> Any:
    """The smaller of two in any order of arrival: NaN loses, -0 is below +0."""
    if not scalars.holds_floats(np.asarray(a).dtype):
        return np.minimum(a, b)
    return np.where((b < a) | np.isnan(a) | ((a == b) & np.signbit(b)), b, a)


def _higher(a: Numeric, b: Numeric) -> Any:
    """The larger of two, likewise."""
    if not scalars.holds_floats(np.asarray(a).dtype):
        return np.maximum(a, b)
    return np.where((b > a) | np.isnan(a) | ((a == b) & np.signbit(a)), b, a)


def _compare_and_swap(a: Numeric, expected: Numeric, new: Numeric) -> Any:
    """Floats are compared by their bits, as processors do."""
    word = f"u{np.asarray(a).dtype.itemsize}"
    return np.where(np.asarray(a).view(word) == np.asarray(expected).view(word), new, a)


atomic_min = _atomic("atomic_min", _lower, 1, _number, "", "Lower an element to a value.")
atomic_min.adjoint(_extreme_adjoint)
atomic_max = _atomic("atomic_max", _higher, 1, _number, "", "Raise an element to a value.")
atomic_max.adjoint(_extreme_adjoint)
atomic_exch = _atomic("atomic_exch", lambda a, b: b, 1, _number, _INTEGER, "Replace an element.")
atomic_cas = _atomic(
    "atomic_cas", _compare_and_swap, 2, _number, _INTEGER, "Replace an element if it equals the first value."
)
atomic_and = _atomic("atomic_and", np.bitwise_and, 1, scalars.is_integer, _INTEGER, "Bitwise and with an element.")
atomic_or = _atomic("atomic_or", np.bitwise_or, 1, scalars.is_integer, _INTEGER, "Bitwise or with an element.")
atomic_xor = _atomic("atomic_xor", np.bitwise_xor, 1, scalars.is_integer, _INTEGER, "Bitwise xor with an element.")

PRIVATE_ATOMICS = ("atomic_add", "atomic_sub")
"""Atomics whose order does not matter up to rounding, so a launch may sum them in private copies."""

COMMUTING_ATOMICS = (PRIVATE_ATOMICS, ("atomic_min",), ("atomic_max",))
"""Families of atomics that may be combined before they update memory."""

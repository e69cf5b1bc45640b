"""Slices of arrays in kernels: `a[1:n]`, `a[i, ::2]` are views that a function or an index can be applied to.

A slice is no value of the program: it keeps the array and, for each axis, an index or where its elements start, how far
apart they are and how many there are. An element of it is an element of the array, so whatever is known of elements of
arrays holds for it: checks, atomics, gradients. As in Python, bounds outside the array are moved to its ends and
negative ones count from there.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import KernelLookupError, KernelTypeError, KernelValueError, counted
from ...ir.nodes import Constant, Value
from ...ops import memory
from ...ops.debug import assert_
from ...ops.registry import TABLE
from ...types import scalars
from ...types.arrays import MAX_NDIM, ArrayType, array_type
from ..translate.conversions import converted_scalar
from ..translate.scope import Parted, typed_value
from ..translate.translator import Translator


@dataclass(frozen=True)
class Axis:
    """Which positions of an axis a slice takes: `start + k * step` for k below `length`."""

    start: Value
    step: Value
    length: Value


@dataclass(frozen=True, eq=False)
class ArraySlice(Parted):
    """A view of an array; `places` holds for each axis an index, or the positions that are left to choose from."""

    array: Value
    places: tuple[Value | Axis, ...]

    @property
    def parts(self) -> tuple[Value, ...]:  # type: ignore[override]
        return tuple(v for p in self.places for v in ((p.start, p.step, p.length) if isinstance(p, Axis) else (p,)))

    def like(self, other: object) -> bool:
        kinds = [type(p) for p in self.places]
        return isinstance(other, ArraySlice) and other.array is self.array and [*map(type, other.places)] == kinds

    def of_parts(self, parts: Sequence[Value]) -> ArraySlice:
        rest = iter(parts)
        places = (Axis(next(rest), next(rest), next(rest)) if isinstance(p, Axis) else next(rest) for p in self.places)
        return ArraySlice(self.array, tuple(places))

    def whole_of(self, operand: object) -> ArraySlice | None:
        known = self.array.type.local_shape if operand is self.array else None
        return ArraySlice(self.array, constant_axes(known)) if known else None

    @property
    def axes(self) -> list[Axis]:
        return [p for p in self.places if isinstance(p, Axis)]

    @property
    def view_type(self) -> ArrayType:
        """The type of an array with its elements and rank; of a part of known extents of a local array a local one."""
        t, lengths = self.array.type, [axis.length for axis in self.axes]
        if t.local_shape is None or not all(isinstance(n, Constant) and int(n.value) > 0 for n in lengths):
            return array_type(t.dtype, len(lengths), t.indexed)
        return array_type(t.dtype, len(lengths), False, tuple(int(n.value) for n in lengths if isinstance(n, Constant)))

    @property
    def __name__(self) -> str:
        return f"a slice of {self.array.type}"

    def element(self, tr: Translator, indices: list[Any]) -> list[Value]:
        """The indices in the array of an element, from those along all axes of the slice."""
        return self.located(tr, [from_start(tr, axis, i) for axis, i in zip(self.axes, indices, strict=True)])

    def located(self, tr: Translator, indices: list[Value]) -> list[Value]:
        """The same, of indices none of which is negative."""
        rest = iter(indices)
        return [along(tr, p, next(rest)) if isinstance(p, Axis) else p for p in self.places]

    def part(self, tr: Translator, indices: list[Any]) -> ArraySlice:
        """The slice of the slice at indices and slices along its leading axes."""
        places: list[Value | Axis] = list(self.places)
        free = [k for k, p in enumerate(places) if isinstance(p, Axis)]
        for k, index in zip(free, indices, strict=False):
            axis = places[k]
            assert isinstance(axis, Axis)
            places[k] = part_of(tr, axis, index) if isinstance(index, ast.Slice) else position(tr, axis, index)
        return ArraySlice(self.array, tuple(places))


def sliced_array(tr: Translator, base: Value | ArraySlice, indices: list[Any]) -> ArraySlice:
    """The slice at indices and slices along the leading axes of an array, or of a slice."""
    view = base if isinstance(base, ArraySlice) else ArraySlice(base, tuple(whole(tr, base)))
    if len(indices) > len(view.axes):
        raise KernelTypeError(f"{counted(len(indices), 'index')} and slices for {counted(len(view.axes), 'dimension')}")
    return view.part(tr, indices)


def whole(tr: Translator, array: Value) -> list[Axis]:
    """All positions of every axis of an array."""
    if array.type.local_shape:
        return list(constant_axes(array.type.local_shape))
    extents = (tr.emit(memory.shape, array, axis=k) for k in range(array.type.ndim))
    return [Axis(typed_value(0), typed_value(1), extent) for extent in extents]


def constant_axes(extents: tuple[int, ...]) -> tuple[Axis, ...]:
    """All positions of axes of known extents."""
    return tuple(Axis(typed_value(0), typed_value(1), typed_value(extent)) for extent in extents)


def element_indices(tr: Translator, view: ArraySlice, indices: list[Any]) -> list[Value]:
    """The indices of an element of the array, from those of the slice along all of its axes."""
    return view.element(tr, indices)


def position(tr: Translator, axis: Axis, index: object) -> Value:
    """Where element `index` of an axis lies in the array; negative ones count from the end of the slice."""
    return along(tr, axis, from_start(tr, axis, index))


def from_start(tr: Translator, axis: Axis, index: object) -> Value:
    """An index along an axis, counted from its start."""
    at = _int32(tr, index)
    if isinstance(at, Constant) and isinstance(axis.length, Constant):
        extent = int(axis.length.value)
        if not -extent <= int(at.value) < extent:
            raise KernelLookupError(f"index {at.value} of an axis of {extent}", expected=f"{-extent} to {extent - 1}")
    if isinstance(at, Constant):
        return tr.emit(TABLE["add"], axis.length, at) if int(at.value) < 0 else at
    below = tr.emit(TABLE["lt"], at, 0)
    counted: Value = tr.emit(TABLE["where"], below, tr.emit(TABLE["add"], at, axis.length), at)
    return counted


def along(tr: Translator, axis: Axis, at: Value) -> Value:
    """Where the element at an index of an axis lies in the array."""
    index_in_array: Value = tr.emit(TABLE["add"], axis.start, tr.emit(TABLE["mul"], at, axis.step))
    return index_in_array


def part_of(tr: Translator, axis: Axis, node: ast.Slice) -> Axis:
    """The positions that a slice leaves of an axis."""
    bounds = (node.lower, node.upper, node.step)
    lower, upper, step = (None if p is None else _int32(tr, tr.translate(p)) for p in bounds)
    step = typed_value(1) if step is None else step
    if isinstance(step, Constant) and int(step.value) == 0:
        raise KernelValueError("slice step cannot be zero")
    if not isinstance(step, Constant):
        tr.emit(assert_, tr.emit(TABLE["ne"], step, 0), message="slice step cannot be zero")
    n = axis.length
    if all(p is None or isinstance(p, Constant) for p in (n, lower, upper, step)):
        return constant_part(tr, axis, lower, upper, step)
    forwards = int(step.value) > 0 if isinstance(step, Constant) else tr.emit(TABLE["gt"], step, 0)
    least = _either(tr, forwards, typed_value(0), typed_value(-1))
    most = _either(tr, forwards, n, tr.emit(TABLE["sub"], n, 1))
    start = _either(tr, forwards, least, most) if lower is None else _limit(tr, lower, n, least, most)
    stop = _either(tr, forwards, most, least) if upper is None else _limit(tr, upper, n, least, most)
    # The distance over the step, rounded up.
    size = tr.emit(TABLE["neg"], tr.emit(TABLE["floordiv"], tr.emit(TABLE["sub"], start, stop), step))
    first = tr.emit(TABLE["add"], axis.start, tr.emit(TABLE["mul"], start, axis.step))
    return Axis(first, tr.emit(TABLE["mul"], axis.step, step), tr.emit(TABLE["max"], size, 0))


def constant_part(tr: Translator, axis: Axis, *bounds: Value | None) -> Axis:
    """The same, of constants."""
    parts = slice(*(int(p.value) if isinstance(p, Constant) else None for p in bounds))
    assert isinstance(axis.length, Constant)
    taken = range(int(axis.length.value))[parts]
    first = along(tr, axis, typed_value(taken.start))
    return Axis(first, tr.emit(TABLE["mul"], axis.step, typed_value(taken.step)), typed_value(len(taken)))


class Shape(tuple[Any, ...]):
    """The extents of an array or a slice, of local arrays numbers; up to the fourth, dimensions that it lacks are 0."""

    def __getitem__(self, index: Any) -> Any:
        return 0 if isinstance(index, int) and len(self) <= index < MAX_NDIM else super().__getitem__(index)


def extents(view: ArraySlice) -> Shape:
    """The shape of a slice: of a view of a tile numbers."""
    return Shape(view.view_type.local_shape or (axis.length for axis in view.axes))


def slice_attribute(tr: Translator, view: ArraySlice, name: str) -> Any:
    """`shape`, `size`, `ndim` and `dtype` of a slice."""
    if name == "shape":
        return extents(view)
    if name == "size":
        if view.view_type.local_shape:
            return math.prod(view.view_type.local_shape)
        total = typed_value(1)
        for extent in extents(view):
            total = tr.emit(TABLE["mul"], total, extent)
        return total
    if name in ("ndim", "dtype"):
        return getattr(view.view_type, name)
    raise KernelTypeError(f"{view.__name__} has no attribute {name!r}", expected="shape, size, ndim, dtype")


def _limit(tr: Translator, bound: Value, n: Value, least: Value, most: Value) -> Value:
    """A bound of a slice within the axis: negative ones count from its end."""
    from_end = tr.emit(TABLE["max"], tr.emit(TABLE["add"], bound, n), least)
    if isinstance(bound, Constant):
        limit: Value = from_end if int(bound.value) < 0 else tr.emit(TABLE["min"], bound, most)
        return limit
    below = tr.emit(TABLE["lt"], bound, 0)
    chosen: Value = tr.emit(TABLE["where"], below, from_end, tr.emit(TABLE["min"], bound, most))
    return chosen


def _either(tr: Translator, condition: object, yes: Value, no: Value) -> Value:
    if isinstance(condition, bool):
        return yes if condition else no
    chosen: Value = tr.emit(TABLE["where"], condition, yes, no)
    return chosen


def _int32(tr: Translator, index: object) -> Value:
    t = index.type if isinstance(index, Value) else type(index)
    if t is not int and not scalars.is_integer(t):
        raise KernelTypeError(f"an index or bound of a slice of an array is {t.__name__}", expected="an integer")
    return typed_value(converted_scalar(tr, index, scalars.int32))

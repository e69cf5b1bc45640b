"""Scans, sums, sorts, run lengths and casts over whole arrays: `wp.utils`.

NumPy does the work on the CPU: it sees the memory without a copy. Arrays of a CUDA device stay there
(see `cuda.primitives`). Results never depend on the number of threads: sums of floats are accumulated
in float64 in one order (another one on a GPU), sorts are stable. While a graph is captured everything is
recorded; what is checked then is what can be known then, and a result that would be returned as a
number needs an output array instead.

Integers wrap around where they overflow. Every function raises `ArgumentTypeError` for something
that is no array or has the wrong dtype or rank, `ArrayError` for sizes that do not fit,
`DeviceError` for arrays on several devices, `ReadOnlyError` for an output in read-only memory.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....errors import ArgumentTypeError, ArrayError, LaunchError, counted
from ...types import compounds, scalars, structs
from ...types.arrays import type_name
from ..arrays.array import array
from ..arrays.creation import zeros
from ..devices.capture import current_graph
from ..devices.device_memory import on_host
from ..tape.array_step import run_step
from .casts import Cast
from .cuda import primitives as on_device
from .operands import check, check_output, checked_axis, checked_count, inner, remote_device
from .radix import KEYS
from .reductions import Inner, Reduction, Scan, Sum
from .sorting import RadixSort, RunLengths, SegmentedSort

__all__ = [
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]


# ----- scans and sums ---------------------------------------------------------------------------


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """Running sums over all elements in order, component by component.

    Element i of `out_array` is the sum of elements 0 to i (`inclusive`) or 0 to i - 1. Both arrays
    have one dtype of numbers and one size, and may be the same array. Sums of floats are rounded to their
    dtype at every element on the CPU, and accumulated in float64 on CUDA.
    """
    check(in_array, "in_array", number=True)
    check_output(out_array, "out_array", in_array.dtype)
    if out_array.size != in_array.size:
        raise ArrayError(
            f"out_array has {counted(out_array.size, 'element')}\nexpected: {in_array.size}, as many as in_array"
        )
    device = remote_device(in_array=in_array, out_array=out_array)
    run_step((on_device.DeviceScan if device else Scan)([out_array], [in_array], inclusive, device))


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of all elements, of the first `value_count` in order, or along one `axis`.

    Returns a NumPy number (an array of components for vectors and matrices) when both `out` and
    `axis` are None, else `out`: shape (1,) without axis, the shape of `values` with extent 1 along
    `axis` otherwise. With an axis, `value_count` counts along it. Raises `OutOfBoundsError` for a
    bad axis.
    """
    check(values, "values", number=True)
    return _reduce((Sum, on_device.DeviceSum), {"values": values}, values.dtype, out, value_count, axis, "value_count")


def array_inner(a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The inner product of all elements, of the first `count`, or along one `axis`.

    Products of components are summed too, so the result is a scalar for every dtype; `out`, `count`
    and `axis` as in `array_sum`. Both arrays have one shape and one dtype.
    """
    check(a, "a", number=True)
    check(b, "b", a.dtype)
    if a.shape != b.shape:
        raise ArrayError(f"b has shape {b.shape}\nexpected: {a.shape}, that of a")
    scalar = compounds.scalar_of(a.dtype)
    return _reduce((Inner, on_device.DeviceInner), {"a": a, "b": b}, scalar, out, count, axis, "count")


def _reduce(
    kinds: tuple[type[Reduction], type[Reduction]],
    sources: dict[str, array],
    dtype: Any,
    out: array | None,
    count: int | None,
    axis: int | None,
    name: str,
) -> Any:
    """Reduce the first `count` elements of `sources` along `axis` (None: all, in order).

    kinds: on the host, and on other devices. name: of the count in messages.
    """
    first = next(iter(sources.values()))
    along = None if axis is None else checked_axis(axis, first)
    shape = (1,) if along is None else tuple(1 if k == along else n for k, n in enumerate(first.shape))
    number = checked_count(count, first.size if along is None else first.shape[along], name)
    if out is None and axis is None and current_graph() is not None:
        raise LaunchError("the sum is not known while a graph is captured\nhelp: give it an array: out=")
    target = zeros(shape, dtype, first.device) if out is None else out
    check_output(target, "out", dtype)
    if target.shape != shape:
        raise ArrayError(f"out has shape {target.shape}\nexpected: {shape}")
    device = remote_device(**sources, out=target)
    run_step(kinds[device is not None]([target], list(sources.values()), along, number, device))
    if out is None and axis is None:
        return on_host(target._data[0])
    return target


# ----- sorting ----------------------------------------------------------------------------------


def radix_sort_pairs(keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sort the first `count` keys in ascending order, and their values along with them. Stable.

    keys: int32, uint32, int64, uint64, float32 or float64; values: any dtype. Both arrays must hold
    2 * count elements, of several dimensions in the order of memory; the second half is room for
    devices that need it. Only bits `begin_bit` to `end_bit` - 1 of the keys are compared, counted in
    the order-preserving form in which negative numbers come first; -0.0 sorts before 0.0, and NaN
    last (first when its sign is set).
    """
    keys, values, number = _pairs(keys, values, count)
    width = 8 * np.dtype(keys.dtype).itemsize
    begin, end = operator.index(begin_bit), width if end_bit is None else operator.index(end_bit)
    if not 0 <= begin <= end <= width:
        raise ArrayError(f"bits {begin} to {end} of {width}-bit keys\nexpected: 0 <= begin_bit <= end_bit <= {width}")
    device = remote_device(keys=keys, values=values)
    run_step((on_device.DeviceRadixSort if device else RadixSort)(keys, values, number, begin, end, device))


def segmented_sort_pairs(
    keys: array, values: array, count: int, segment_start_indices: array, segment_end_indices: array | None = None
) -> None:
    """Sort keys and their values within each segment; elements outside of segments stay. Stable.

    Segment i is the range from `segment_start_indices[i]` up to `segment_end_indices[i]`, or up to
    the next start where no ends are given (n starts then make n - 1 segments). Segments lie within
    `count` and do not overlap, else `ArrayError`. keys, values and count as in `radix_sort_pairs`.
    """
    keys, values, number = _pairs(keys, values, count)
    starts, ends = segment_start_indices, segment_end_indices
    check(starts, "segment_start_indices", scalars.int32, ndim=1)
    if ends is not None:
        check(ends, "segment_end_indices", scalars.int32, ndim=1)
        if ends.size != starts.size:
            raise ArrayError(
                f"segment_end_indices has {counted(ends.size, 'element')}\nexpected: {starts.size}, one per start"
            )

    bounds = {"segment_start_indices": starts} | ({} if ends is None else {"segment_end_indices": ends})
    device = remote_device(keys=keys, values=values, **bounds)
    sort = on_device.DeviceSegmentedSort if device else SegmentedSort
    run_step(sort(keys, values, number, list(bounds.values()), device))


def _pairs(keys: array, values: array, count: int) -> tuple[array, array, int]:
    """Keys and values as one dimension each, and how many of them are sorted."""
    number = checked_count(count, None, "count")
    check_output(keys, "keys")
    check_output(values, "values")
    if keys.dtype not in KEYS:
        known = ", ".join(map(type_name, KEYS))
        raise ArgumentTypeError(f"keys have dtype {type_name(keys.dtype)}\nexpected: {known}")
    for name, a in (("keys", keys), ("values", values)):
        if a.size < 2 * number:
            raise ArrayError(
                f"{name} has room for {counted(a.size, 'element')}\nexpected: 2 * count = {2 * number}, room to sort in"
            )
    flat_keys, flat_values = (a if a.ndim == 1 else a.flatten() for a in (keys, values))
    return flat_keys, flat_values, number


# ----- run lengths ------------------------------------------------------------------------------


def runlength_encode(
    values: array, run_values: array, run_lengths: array, run_count: array | None = None, value_count: int | None = None
) -> Any:
    """Replace every run of equal elements by one of them and its length: 1 1 1 2 -> (1, 3), (2, 1).

    Reads the first `value_count` elements (default: all); `run_values` and `run_lengths` (int32)
    must have room for as many. The number of runs goes to `run_count` (int32, shape (1,)), which is
    returned; without it the number is returned.
    """
    check(values, "values")
    number = checked_count(value_count, values.size, "value_count")
    check_output(run_values, "run_values", values.dtype)
    check_output(run_lengths, "run_lengths", scalars.int32)
    for name, a in (("run_values", run_values), ("run_lengths", run_lengths)):
        if a.size < number or a.ndim != 1:
            raise ArrayError(
                f"{name} has shape {a.shape}\nexpected: one dimension of at least {counted(number, 'element')}"
            )
    if run_count is None and current_graph() is not None:
        raise LaunchError("the number of runs is not known during a capture\nhelp: give it an array: run_count=")
    total = zeros(1, scalars.int32, values.device) if run_count is None else run_count
    check_output(total, "run_count", scalars.int32)
    if total.size < 1:
        raise ArrayError("run_count is empty\nexpected: room for one element")
    device = remote_device(values=values, run_values=run_values, run_lengths=run_lengths, run_count=total)

    if structs.is_struct(values.dtype):
        device = None  # structs are compared by the host
    runs = on_device.DeviceRunLengths if device else RunLengths
    run_step(runs([run_values, run_lengths, total], values, number, device))
    return int(total._data[0]) if run_count is None else run_count


# ----- casts ------------------------------------------------------------------------------------


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Convert elements to the dtype of `out_array`, as a cast in a kernel does.

    Floats truncate and saturate to integers, NaN becomes 0, integers wrap around. Arrays of equal
    rank whose elements have equal shape are converted element by element: the first `count` of one
    dimension, or all of arrays of one shape. Others are read as flat lists of components, of the first `count`
    elements of `in_array`.
    """
    check(in_array, "in_array")
    check_output(out_array, "out_array")
    for name, a in (("in_array", in_array), ("out_array", out_array)):
        if structs.is_struct(a.dtype):
            raise ArgumentTypeError(f"{name} has dtype {type_name(a.dtype)}\nexpected: scalars, vectors or matrices")
    same = in_array.ndim == out_array.ndim and inner(in_array) == inner(out_array)
    if same and in_array.ndim > 1:
        if count is not None:
            raise ArrayError("count= with arrays of more than one dimension\nhelp: leave it out, or flatten the arrays")
        if in_array.shape != out_array.shape:
            raise ArrayError(f"out_array has shape {out_array.shape}\nexpected: {in_array.shape}, that of in_array")
    units, room = [1 if same else compounds.size_of(a.dtype) for a in (in_array, out_array)]
    number = checked_count(count, in_array.size, "count") * units
    room *= out_array.size
    if number > room:
        raise ArrayError(f"out_array has room for {counted(room, 'element')}\nexpected: {number}")

    device = remote_device(in_array=in_array, out_array=out_array)
    run_step((on_device.DeviceCast if device else Cast)(in_array, out_array, number, same, device))

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

import math
import operator
from typing import Any

import numpy as np

from ....errors import ArgumentTypeError, ArrayError, LaunchError
from ...types import compounds, scalars, structs
from ...types.arrays import type_name
from ..arrays.array import array
from ..arrays.creation import zeros
from ..devices.capture import current_graph
from ..devices.cuda.memory import on_host
from ..tape.array_step import host_step
from ..tape.host_gradients import add_gradient, spent
from .cuda import primitives as on_device
from .operands import check, check_output, checked_axis, checked_count, cuda_of, flat, inner
from .radix import KEYS, sort_order

__all__ = [
    "array_cast", "array_inner", "array_scan", "array_sum", "radix_sort_pairs", "runlength_encode",
    "segmented_sort_pairs",
]  # fmt: skip


_FEW = 16  # components that are worth a pass over memory each


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
        raise ArrayError(f"out_array has {out_array.size} elements\nexpected: {in_array.size}, as many as in_array")
    if device := cuda_of(in_array=in_array, out_array=out_array):
        made = on_device.array_scan(in_array, out_array, inclusive)
        host_step("array_scan", made[0], [out_array], [in_array], made[1], device=device)
        return

    def step() -> None:
        source = flat(in_array)
        sums = np.cumsum(source, axis=0, dtype=source.dtype)
        if not inclusive:
            sums[1:] = sums[:-1]
            sums[:1] = 0
        out_array._data[...] = sums.reshape(out_array._data.shape)

    def pull(_: list[np.ndarray]) -> None:
        slopes = spent(out_array)
        later = np.cumsum(slopes.reshape((out_array.size, *inner(out_array)))[::-1], axis=0)[::-1]
        if not inclusive:
            later = np.concatenate([later[1:], np.zeros_like(later[:1])])
        add_gradient(in_array, later.reshape((*in_array.shape, *inner(in_array))))

    host_step("array_scan", step, [out_array], [in_array], pull)


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of all elements, of the first `value_count` in order, or along one `axis`.

    Returns a NumPy number (an array of components for vectors and matrices) when both `out` and
    `axis` are None, else `out`: shape (1,) without axis, the shape of `values` with extent 1 along
    `axis` otherwise. With an axis, `value_count` counts along it. Raises `OutOfBoundsError` for a
    bad axis.
    """
    check(values, "values", number=True)
    return _reduced("array_sum", _total, (values,), values.dtype, out, value_count, axis, "value_count")


def array_inner(
    a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None
) -> Any:
    """The inner product of all elements, of the first `count`, or along one `axis`.

    Products of components are summed too, so the result is a scalar for every dtype; `out`, `count`
    and `axis` as in `array_sum`. Both arrays have one shape and one dtype.
    """
    check(a, "a", number=True)
    check(b, "b", a.dtype)
    if a.shape != b.shape:
        raise ArrayError(f"b has shape {b.shape}\nexpected: {a.shape}, that of a")
    return _reduced("array_inner", _product, (a, b), compounds.scalar_of(a.dtype), out, count, axis, "count")


def _reduced(
    what: str, reduce: Any, sources: tuple[array, ...], dtype: Any, out: array | None, count: int | None,
    axis: int | None, name: str,
) -> Any:  # fmt: skip
    """Reduce the first `count` elements of `sources` along `axis` (None: all, in order)."""
    first = sources[0]
    shape, place = (1,), 0
    if axis is not None:
        place = checked_axis(axis, first)
        shape = tuple(1 if k == place else n for k, n in enumerate(first.shape))
    number = checked_count(count, first.size if axis is None else first.shape[place], name)
    if out is None and axis is None and current_graph() is not None:
        raise LaunchError("the sum is not known while a graph is captured\nhelp: give it an array: out=")
    target = zeros(shape, dtype, first.device) if out is None else out
    check_output(target, "out", dtype)
    if target.shape != shape:
        raise ArrayError(f"out has shape {target.shape}\nexpected: {shape}")
    device = cuda_of(**dict(zip("ab" if len(sources) == 2 else ["values"], sources, strict=True)), out=target)

    def step() -> None:
        parts = [flat(s) if axis is None else s._contents() for s in sources]
        kept = [p[(*[slice(None)] * place, slice(number))] for p in parts]
        target._data[...] = reduce(place, first.ndim if axis is not None else 1, *kept).reshape(target._data.shape)

    def pull(contents: list[np.ndarray]) -> None:
        slopes = spent(target)
        if what == "array_inner":  # of each product, every component of the one times that of the other
            slopes = slopes.reshape(slopes.shape + (1,) * len(inner(first)))
        if axis is None:
            contents = [c.reshape((first.size, *inner(first))) for c in contents]
        kept = (*[slice(None)] * place, slice(number))
        factors = contents[::-1] if what == "array_inner" else [np.ones((), slopes.dtype)]
        for source, factor in zip(sources, factors, strict=True):
            share = np.zeros_like(contents[0])
            share[kept] = slopes * (factor[kept] if factor.ndim else factor)
            add_gradient(source, share.reshape((*source.shape, *inner(source))))

    made = (step, pull)
    if device:
        build: Any = on_device.array_inner if what == "array_inner" else on_device.array_sum
        made = build(*sources, target, None if axis is None else place, number)
    host_step(what, made[0], [target], list(sources), made[1], what == "array_inner", device)
    if out is None and axis is None:
        return on_host(target._data[0])
    return target


def _total(axis: int, ndim: int, values: np.ndarray) -> np.ndarray:
    kind = _accumulator(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if 1 < math.prod(values.shape[ndim:]) <= _FEW:
            # Component by component: ten times as fast as NumPy's sum over the first of two axes.
            parts = values.reshape((*values.shape[:ndim], -1))
            sums = np.stack([parts[..., k].sum(axis, kind) for k in range(parts.shape[-1])], axis=-1)
        else:
            sums = values.sum(axis, kind)
        return sums.astype(values.dtype)


def _product(axis: int, ndim: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # einsum, not dot: BLAS may split the sum by the number of threads.
    free = [k for k in range(ndim) if k != axis]
    every = list(range(a.ndim))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.einsum(a, every, b, every, free, dtype=_accumulator(a), casting="same_kind")
        return np.asarray(found).astype(a.dtype)


def _accumulator(values: np.ndarray) -> Any:
    return np.float64 if values.dtype.kind == "f" else values.dtype


# ----- sorting ----------------------------------------------------------------------------------


def radix_sort_pairs(keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sort the first `count` keys in ascending order, and their values along with them. Stable.

    keys: int32, uint32, int64, uint64, float32 or float64; values: any dtype. As in Warp, both
    arrays must hold 2 * count elements; the second half is room for devices that need it. Only bits
    `begin_bit` to `end_bit` - 1 of the keys are compared, counted in the order-preserving form in
    which negative numbers come first; -0.0 sorts before 0.0, and NaN last (first when its sign is
    set).
    """
    number = _check_pairs(keys, values, count)
    width = 8 * np.dtype(keys.dtype).itemsize
    begin, end = operator.index(begin_bit), width if end_bit is None else operator.index(end_bit)
    if not 0 <= begin <= end <= width:
        raise ArrayError(f"bits {begin} to {end} of {width}-bit keys\nexpected: 0 <= begin_bit <= end_bit <= {width}")
    if device := cuda_of(keys=keys, values=values):
        sorting = on_device.radix_sort_pairs(keys, values, number, begin, end)
        host_step("radix_sort_pairs", sorting, [keys, values], [keys, values], device=device)
        return

    def step() -> None:
        order = sort_order(keys._data[:number], begin, end)
        keys._data[:number] = keys._data[:number][order]
        values._data[:number] = values._data[:number][order]

    host_step("radix_sort_pairs", step, [keys, values], [keys, values])


def segmented_sort_pairs(
    keys: array, values: array, count: int, segment_start_indices: array, segment_end_indices: array | None = None
) -> None:
    """Sort keys and their values within each segment; elements outside of segments stay. Stable.

    Segment i is the range from `segment_start_indices[i]` up to `segment_end_indices[i]`, or up to
    the next start where no ends are given (n starts then make n - 1 segments). Segments lie within
    `count` and do not overlap, else `ArrayError`. keys, values and count as in `radix_sort_pairs`.
    """
    number = _check_pairs(keys, values, count)
    starts, ends = segment_start_indices, segment_end_indices
    check(starts, "segment_start_indices", scalars.int32, ndim=1)
    if ends is not None:
        check(ends, "segment_end_indices", scalars.int32, ndim=1)
        if ends.size != starts.size:
            raise ArrayError(f"segment_end_indices has {ends.size} elements\nexpected: {starts.size}, one per start")

    def bounds() -> tuple[np.ndarray, np.ndarray]:
        found = starts._contents().astype(np.int64)
        return (found[:-1], found[1:]) if ends is None else (found, ends._contents().astype(np.int64))

    named = {"segment_start_indices": starts} | ({} if ends is None else {"segment_end_indices": ends})
    if device := cuda_of(keys=keys, values=values, **named):
        segments = max(0, starts.size - (ends is None))
        sorting = on_device.segmented_sort_pairs(
            keys, values, number, segments, lambda: _in_order(*bounds(), number)
        )
        host_step("segmented_sort_pairs", sorting, [keys, values], [keys, values], device=device)
        return

    def step() -> None:
        at, segment = _segment_members(*bounds(), number)
        width = 8 * np.dtype(keys.dtype).itemsize
        order = sort_order(keys._data[at], 0, width)
        order = order[sort_order(segment[order], 0, 32)]
        keys._data[at] = keys._data[at[order]]
        values._data[at] = values._data[at[order]]

    host_step("segmented_sort_pairs", step, [keys, values], [keys, values])


def _segment_members(starts: np.ndarray, ends: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The indices of all elements in segments, ordered by segment, and the segment of each."""
    _in_order(starts, ends, count)
    lengths = ends - starts
    first = np.cumsum(lengths) - lengths
    segment = np.repeat(np.arange(lengths.size, dtype=np.uint32), lengths)
    return np.arange(lengths.sum()) + np.repeat(starts - first, lengths), segment


def _in_order(starts: np.ndarray, ends: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the segments that hold something, ordered by start; raises for segments that do not fit."""
    bad = np.flatnonzero((starts < 0) | (ends < starts) | (ends > count))
    if bad.size:
        i = int(bad[0])
        raise ArrayError(f"segment {i} is [{starts[i]}, {ends[i]})\nexpected: 0 <= start <= end <= count = {count}")
    full = np.flatnonzero(ends - starts)
    by_start = full[np.argsort(starts[full], kind="stable")]
    overlapping = np.flatnonzero(ends[by_start[:-1]] > starts[by_start[1:]])
    if overlapping.size:
        i, j = (int(by_start[overlapping[0] + k]) for k in (0, 1))
        raise ArrayError(f"segments {i} and {j} overlap\nexpected: segments that share no element")
    return starts[by_start], ends[by_start]


def _check_pairs(keys: array, values: array, count: int) -> int:
    number = checked_count(count, None, "count")
    check_output(keys, "keys")
    check_output(values, "values")
    if keys.dtype not in KEYS:
        known = ", ".join(map(type_name, KEYS))
        raise ArgumentTypeError(f"keys have dtype {type_name(keys.dtype)}\nexpected: {known}")
    for name, a in (("keys", keys), ("values", values)):
        if a.ndim != 1:
            raise ArgumentTypeError(f"{name} has rank {a.ndim}\nexpected: one dimension")
        if a.size < 2 * number:
            raise ArrayError(f"{name} has room for {a.size} elements\nexpected: 2 * count = {2 * number}, as in Warp")
    return number


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
            raise ArrayError(f"{name} has shape {a.shape}\nexpected: one dimension of at least {number} elements")
    if run_count is None and current_graph() is not None:
        raise LaunchError("the number of runs is not known during a capture\nhelp: give it an array: run_count=")
    total = zeros(1, scalars.int32, values.device) if run_count is None else run_count
    check_output(total, "run_count", scalars.int32)
    if total.size < 1:
        raise ArrayError("run_count is empty\nexpected: room for one element")
    device = cuda_of(values=values, run_values=run_values, run_lengths=run_lengths, run_count=total)

    def step() -> None:
        source = flat(values)[:number]
        starts = _run_starts(source)
        run_values._data[: starts.size] = source[starts]
        run_lengths._data[: starts.size] = np.diff(starts, append=number)
        total._data[(0,) * total._data.ndim] = starts.size

    if device and not structs.is_struct(values.dtype):
        step = on_device.runlength_encode(values, run_values, run_lengths, total, number)
    else:
        device = None  # structs are compared by the host
    host_step("runlength_encode", step, [run_values, run_lengths, total], [values], device=device)
    return int(total._data[0]) if run_count is None else run_count


def _run_starts(values: np.ndarray) -> np.ndarray:
    """Where an element differs from the one before it; the first one does."""
    differs = values[1:] != values[:-1]
    new = differs.any(axis=tuple(range(1, values.ndim)))
    return np.flatnonzero(np.concatenate([[True], new])[: len(values)])


# ----- casts ------------------------------------------------------------------------------------


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Convert elements to the dtype of `out_array`, as a cast in a kernel does.

    Floats truncate and saturate to integers, NaN becomes 0, integers wrap around. Arrays of equal
    rank whose elements have equal shape are converted element by element: the first `count` of one
    dimension, or all of arrays of one shape. Others are read as flat lists of components.
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
    sizes = [a.size if same else a.size * compounds.size_of(a.dtype) for a in (in_array, out_array)]
    number = checked_count(count, sizes[0], "count")
    if number > sizes[1]:
        raise ArrayError(f"out_array has room for {sizes[1]} elements\nexpected: {number}")

    def spend() -> np.ndarray:
        return spent(out_array, None if same and in_array.ndim > 1 else number, flat=not same)

    if device := cuda_of(in_array=in_array, out_array=out_array):
        components = number * math.prod(inner(in_array)) if same else number
        made = on_device.array_cast(in_array, out_array, components, spend)
        host_step("array_cast", made[0], [out_array], [in_array], made[1], device=device)
        return

    def step() -> None:
        base = out_array._data.dtype
        if same and in_array.ndim > 1:
            out_array._data[...] = converted(in_array._contents(), base)
        elif same:
            out_array._data[:number] = converted(in_array._contents()[:number], base)
        else:
            out_array._data.flat[:number] = converted(in_array._contents().reshape(-1)[:number], base)

    def pull(contents: list[np.ndarray]) -> None:
        slopes = spend()
        share = np.zeros(contents[0].shape, contents[0].dtype)
        if same and in_array.ndim > 1:
            share[...] = slopes
        elif same:
            share[:number] = slopes
        else:
            share.reshape(-1)[:number] = slopes
        add_gradient(in_array, share)

    host_step("array_cast", step, [out_array], [in_array], pull)


def converted(x: np.ndarray, base: np.dtype) -> np.ndarray:
    """Numbers converted as kernels convert them."""
    with np.errstate(over="ignore", invalid="ignore"):
        if base.kind == "b":
            return x != 0
        if x.dtype.kind != "f" or base.kind == "f":
            return x.astype(base)
        limits = np.iinfo(base)
        wide = np.trunc(x.astype(np.float64))
        above, below = wide >= 2.0 ** (limits.bits - (base.kind == "i")), wide < float(limits.min)
        whole = np.where(above | below | np.isnan(wide), 0.0, wide).astype(base)
        return np.where(above, limits.max, np.where(below, limits.min, whole)).astype(base)

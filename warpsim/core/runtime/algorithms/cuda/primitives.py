"""`wp.utils` on arrays of a CUDA device: the steps that compute, and the pulls that move gradients.

Arguments were checked. Contents stay on the device, but for segments of a sort (their bounds are checked on the
host), arrays behind index tables, and runs of structs. A function returns what `host_step` is given: a step that
is work for the device's stream alone wherever `cuda.compute` has no part in it, and a pull.

What several threads may do in any order has one result: see `sums`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import compounds
from ....types.scalars import float64, int32, uint32
from ...arrays.array import array
from ...arrays.indexed import indexedarray
from ...devices.cuda import memory
from ...devices.cuda.memory import DeviceMemory
from ...tape.host_gradients import add_gradient, spent
from . import kernels as kernels
from . import sums
from .work import Now, Step, stepped

Pull = Callable[[list[np.ndarray]], None]
_KINDS = {"u": 0, "i": 1, "f": 2}


# ----- flat views of operands and results -----------------------------------------------------------


def flat(work: Now, a: Any, apart: bool = False) -> array:
    """All components in order: the memory itself if it is packed, else (or if `apart`) a copy."""
    scalar = compounds.scalar_of(a.dtype)
    if isinstance(a, indexedarray):
        packed = memory.empty((*a.shape, *_inner(a.dtype)), scalar, work.device)
        work.on_host(lambda: packed.put(a._contents()))
        return work.wrapped(packed.reshape(-1), scalar)
    return work.wrapped(_packed(work, a._data, apart), scalar)


def _packed(work: Now, contents: Any, apart: bool = False) -> DeviceMemory:
    """Memory in one line: the memory itself, or a copy."""
    if isinstance(contents, DeviceMemory) and contents.flags.c_contiguous and not apart:
        return contents.reshape(-1)
    made = memory.empty(contents.shape, contents.dtype, work.device)
    work.copy(made, contents)
    return made.reshape(-1)


def _tangled(a: Any, target: array, in_place: bool = False) -> bool:
    """Whether writing to the target could change what is still to be read. in_place: not where both lie alike."""
    if isinstance(a, indexedarray):
        return False
    alike = a._data.ctypes.data == target._data.ctypes.data and a._data.strides == target._data.strides
    return not (in_place and alike) and np.may_share_memory(a._data, target._data)


class Result:
    """A flat view of an array that is about to be written; `done` brings what was written home."""

    def __init__(self, work: Now, a: array, kept: bool = False):
        """kept: whether some components stay as they are."""
        self.work, self.target = work, a._data
        self.direct = a._data.flags.c_contiguous
        fresh = None if self.direct else memory.empty(a._data.shape, a._data.dtype, work.device)
        self.memory = self.target if fresh is None else fresh
        if fresh is not None and kept:
            work.copy(fresh, self.target)
        self.flat = work.wrapped(self.memory.reshape(-1), compounds.scalar_of(a.dtype))

    def done(self) -> None:
        if not self.direct:
            self.work.copy(self.target, self.memory)


def _inner(dtype: Any) -> tuple[int, ...]:
    return dtype.shape if compounds.is_compound(dtype) else ()


def _give(work: Now, a: Any, share: array) -> None:
    """Add to the gradient of the first components of an array."""
    if a._array.grad is None:
        return
    if isinstance(a, indexedarray):
        whole = np.zeros(a.size * compounds.size_of(a.dtype), share.dtype)
        whole[: share.size] = share._contents()
        add_gradient(a, whole.reshape(a._contents().shape))
        return
    slopes = Result(work, a.grad, kept=True)
    work.launch(kernels.add, share.size, share, slopes.flat)
    slopes.done()


# ----- scans and sums -------------------------------------------------------------------------------


def array_scan(source: Any, target: array, inclusive: bool) -> tuple[Step, Pull]:
    """Running sums. Those of floats are rounded from sums in float64."""
    device, width = target.device, compounds.size_of(target.dtype)

    def build(work: Now) -> None:
        out = Result(work, target)
        apart = _tangled(source, target, in_place=True)
        sums.scan(work, flat(work, source, apart), out.flat, source.size, width, inclusive)
        out.done()

    def pull(_: list[np.ndarray]) -> None:
        work = Now(device)
        slopes = work.wrapped(_packed(work, spent(target)), compounds.scalar_of(target.dtype))
        sums.scan(work, slopes, slopes, target.size, width, inclusive, backward=True)
        _give(work, source, slopes)

    return stepped(device, build), pull


def array_sum(values: Any, target: array, axis: int | None, number: int) -> tuple[Step, Pull]:
    """Sums along an axis, or of all elements in order."""
    device, width = target.device, compounds.size_of(target.dtype)
    outer, extent, columns = _layout(values, axis)
    shape = (outer, extent, columns * width)

    def build(work: Now) -> None:
        out = Result(work, target)
        sums.total(work, flat(work, values, _tangled(values, target)), shape, number, out.flat)
        out.done()

    def pull(_: list[np.ndarray]) -> None:
        work = Now(device)
        scalar = compounds.scalar_of(target.dtype)
        slopes = work.wrapped(_packed(work, spent(target)), scalar)
        share = work.new(math.prod(shape), scalar)
        work.launch(kernels.spread, share.size, slopes, extent, number, shape[2], share)
        _give(work, values, share)

    return stepped(device, build), pull


def array_inner(a: Any, b: Any, target: array, axis: int | None, number: int) -> tuple[Step, Pull]:
    """Inner products along an axis, or of all elements in order."""
    device, scalar = target.device, target.dtype
    shape = (*_layout(a, axis), compounds.size_of(a.dtype))

    def build(work: Now) -> None:
        out = Result(work, target)
        factors = [flat(work, x, _tangled(x, target)) for x in (a, b)]
        sums.product(work, *factors, shape, number, out.flat)
        out.done()

    def pull(contents: list[np.ndarray]) -> None:
        work = Now(device)
        slopes = work.wrapped(_packed(work, spent(target)), scalar)
        for source, factor in zip((a, b), contents[::-1], strict=True):
            share = work.new(math.prod(shape), scalar)
            factors = work.wrapped(_packed(work, factor), scalar)
            work.launch(kernels.spread_product, share.size, slopes, factors, shape[1], number, *shape[2:], share)
            _give(work, source, share)

    return stepped(device, build), pull


def _layout(a: Any, axis: int | None) -> tuple[int, int, int]:
    """How many elements lie outside, along and inside of an axis; None: one line."""
    if axis is None:
        return 1, a.size, 1
    return math.prod(a.shape[:axis]), a.shape[axis], math.prod(a.shape[axis + 1 :])


def inner_product(x: array, y: array) -> float:
    """The inner product of two flat packed arrays, summed in float64."""
    work = Now(x.device)
    out = work.new(1, float64)
    sums.product(work, x, y, (1, x.size, 1, 1), x.size, out)
    return float(out._data[0])


def largest(x: array) -> float:
    """The largest magnitude in a flat packed array, NaN if it has one."""
    work = Now(x.device)
    out = work.new(1, float64)
    sums.largest(work, x, out)
    return float(out._data[0])


def middle_sums(x: array) -> np.ndarray:
    """The sums of a packed array of float64, of rank 3, along its second axis, on the host."""
    work, (outer, extent, columns) = Now(x.device), x.shape
    out = work.new(outer * columns, float64)
    sums.total(work, flat(work, x), (outer, extent, columns), extent, out)
    return out.numpy().reshape(outer, columns)


# ----- sorts ----------------------------------------------------------------------------------------


class _Keys:
    """The keys of a sort as unsigned integers in the order of the keys."""

    def __init__(self, work: Now, keys: array, number: int):
        self.work, self.memory = work, keys._data[:number]
        self.kind = _KINDS[self.memory.dtype.kind]
        self.unsigned = np.dtype(f"u{self.memory.dtype.itemsize}").type
        self.sign = self.unsigned(1 << (8 * self.memory.dtype.itemsize - 1))
        bits = work.wrapped(_packed(work, self.memory).view(self.unsigned), self.unsigned)
        self.ordered = bits
        if self.kind:
            self.ordered = work.new(number, self.unsigned)
            work.launch(kernels.order_bits, number, bits, self.kind, self.sign, self.ordered)

    def write(self, ordered: array) -> None:
        """Keys from their integers, which share no memory with the keys."""
        work, bits = self.work, ordered
        packed = self.memory.flags.c_contiguous
        if self.kind:
            bits = work.wrapped(self.memory.view(self.unsigned), self.unsigned) if packed else work.new(
                ordered.size, self.unsigned
            )
            work.launch(kernels.key_bits, bits.size, ordered, self.kind, self.sign, bits)
        if not (self.kind and packed):
            work.copy(self.memory, bits._data.view(self.memory.dtype))


def _reorder(work: Now, values: array, order: array) -> None:
    """values[k] = values[order[k]], for elements of any dtype."""
    old = values._data
    moved = array._wrap(memory.empty((order.size, *old.shape[1:]), old.dtype, work.device), values.dtype, work.device)
    work.launch(kernels.gather, order.size, values, order, moved)
    work.copy(old[: order.size], moved._data)


def radix_sort_pairs(keys: array, values: array, number: int, begin: int, end: int) -> Step:
    """Keys become integers in their order, which are sorted with the values or, if those are wide, with ranks."""

    def build(work: Now) -> None:
        found, words = _Keys(work, keys, number), values._data[:number]
        direct = words.ndim == 1 and words.dtype.names is None and words.itemsize == 4
        moving = work.wrapped(_packed(work, words).view(uint32), uint32) if direct else sums.ranks(work, number)
        ordered, moved = sums.sort(work, found.ordered, moving, number, begin, end)
        found.write(ordered)
        if direct:
            work.copy(words, moved._data.view(words.dtype))
        else:
            _reorder(work, values, moved)

    return (lambda: None) if number < 2 or begin == end else stepped(keys.device, build)


def segmented_sort_pairs(
    keys: array, values: array, number: int, segments: int, bounds: Callable[[], tuple[np.ndarray, np.ndarray]]
) -> Step:
    """Sorted by key, then by segment. bounds: reads and checks starts and ends, in the order of the starts."""

    def build(work: Now) -> None:
        limits = [work.new(segments, int32) for _ in range(2)]
        work.on_host(lambda: _upload(limits, bounds(), number))
        found = _Keys(work, keys, number)
        ordered, groups = work.new(number, found.unsigned), work.new(number, uint32)
        work.launch(kernels.segment_groups, number, *limits, found.ordered, ordered, groups)
        _, order = sums.sort(work, ordered, sums.ranks(work, number), number, 0, 8 * found.memory.itemsize)
        sorted_groups = work.new(number, uint32)
        work.launch(kernels.gather, number, groups, order, sorted_groups)
        _, order = sums.sort(work, sorted_groups, order, number, 0, (2 * segments).bit_length())
        _reorder(work, keys, order)
        _reorder(work, values, order)

    def check() -> None:
        bounds()

    return stepped(keys.device, build) if segments and number else check


def _upload(limits: list[array], bounds: tuple[np.ndarray, np.ndarray], number: int) -> None:
    """Starts and ends of the segments that hold something; of the rest, none that an element is in."""
    for target, given in zip(limits, bounds, strict=True):
        padded = np.full(target.size, number, np.int32)
        padded[: given.size] = given
        target._data.put(padded)


# ----- run lengths ----------------------------------------------------------------------------------


def runlength_encode(values: Any, run_values: array, run_lengths: array, total: array, number: int) -> Step:
    """The index of the run of each element, by a running sum, tells where runs start."""
    shared = any(_tangled(values, a) for a in (run_values, run_lengths, total))

    def build(work: Now) -> None:
        count = Result(work, total, kept=True)
        if not number:
            work.copy(count.flat._data[:1], np.zeros((), np.int32))
            count.done()
            return
        source = flat(work, values, apart=shared)
        index, starts = work.new(number, int32), work.new(number, int32)
        work.launch(kernels.run_starts, number, source, compounds.size_of(values.dtype), index)
        sums.scan(work, index, index, number)
        work.launch(kernels.place_runs, number, index, starts)
        elements = array._wrap(source._data.reshape((-1, *_inner(values.dtype))), values.dtype, work.device)
        given = (elements, index, starts, number, run_values, run_lengths, count.flat)
        work.launch(kernels.write_runs, number, *given)
        count.done()

    return stepped(total.device, build)


# ----- casts ----------------------------------------------------------------------------------------


def array_cast(source: Any, target: array, number: int, spend: Callable[[], np.ndarray]) -> tuple[Step, Pull]:
    """Convert the first `number` components. spend: takes the gradient of what was written away."""
    device = target.device

    def build(work: Now) -> None:
        out = Result(work, target, kept=True)
        work.launch(kernels.cast, number, flat(work, source, _tangled(source, target)), out.flat)
        out.done()

    def pull(_: list[np.ndarray]) -> None:
        work = Now(device)
        slopes = work.wrapped(_packed(work, spend()), compounds.scalar_of(target.dtype))
        _give(work, source, slopes)

    return stepped(device, build), pull

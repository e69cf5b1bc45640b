"""`wp.utils` on arrays of a CUDA device: the operations of `wp.utils` as steps there, with their transposes.

Arguments were checked. Contents stay on the device, but for segments of a sort (their bounds are checked on the
host), derivatives of sorts and run lengths, arrays behind index tables, and runs of structs. Where `cuda.compute` has
no part in it, an operation is work for the device's stream alone.

What several threads may do in any order has one result: see `sums`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ....types import compounds
from ....types.scalars import float64, int32, uint32
from ...arrays.array import array
from ...arrays.indexed import indexedarray
from ...devices.device_memory import DeviceMemory, on_host
from ...devices.memory_range import overlap
from ...steps.move import NOTHING, checking
from ...steps.operation import ArrayOperation, Contents, Operation
from ...tape.host_gradients import add_gradient, take_gradient
from ..casts import Cast
from ..reductions import Inner, Scan, Sum
from ..sorting import RadixSort, RunLengths, SegmentedSort
from . import kernels as kernels
from . import sums
from .work import Now, make_step

_KINDS = {"u": 0, "i": 1, "f": 2}


# ----- flat views of operands and results -----------------------------------------------------------


def flat(work: Now, a: array | indexedarray, apart: bool = False) -> array:
    """All components in order: the memory itself if it is packed, else (or if `apart`) a copy."""
    scalar = compounds.scalar_of(a.dtype)
    if isinstance(a, indexedarray):
        packed = work.device.empty((*a.shape, *_inner(a.dtype)), scalar)
        work.on_host(lambda: packed.put(a._contents()))
        return work.wrap(packed.reshape(-1), scalar)
    return work.wrap(_pack(work, a._data, apart), scalar)


def _pack(work: Now, contents: np.ndarray, apart: bool = False) -> DeviceMemory:
    """Memory in one line: the memory itself, or a copy."""
    if isinstance(contents, DeviceMemory) and contents.flags.c_contiguous and not apart:
        return contents.reshape(-1)
    packed = work.device.empty(contents.shape, contents.dtype)
    work.copy(packed, contents)
    return packed.reshape(-1)


def overlaps(a: array | indexedarray, target: array, in_place: bool = False) -> bool:
    """Whether writing to the target could change what is still to be read. in_place: not where both lie alike."""
    if isinstance(a, indexedarray):
        return False
    alike = a._data.ctypes.data == target._data.ctypes.data and a._data.strides == target._data.strides
    return not (in_place and alike) and overlap(a, target)


class FlatResult:
    """A flat view of an array that is about to be written; `finish` brings what was written home."""

    def __init__(self, work: Now, a: array, keep_rest: bool = False):
        """kept: whether some components stay as they are."""
        self.work, self.target = work, a._data
        self.direct = a._data.flags.c_contiguous
        fresh = None if self.direct else work.device.empty(a._data.shape, a._data.dtype)
        self.memory = self.target if fresh is None else fresh
        if fresh is not None and keep_rest:
            work.copy(fresh, self.target)
        self.flat = work.wrap(self.memory.reshape(-1), compounds.scalar_of(a.dtype))

    def finish(self) -> None:
        if not self.direct:
            self.work.copy(self.target, self.memory)


def _inner(dtype: Any) -> tuple[int, ...]:
    return dtype.shape if compounds.is_compound(dtype) else ()


def _give(work: Now, grad: array | indexedarray | None, contribution: array) -> None:
    """Add to the first components of a gradient, or of the elements of one that an indexedarray selects."""
    if isinstance(grad, indexedarray):
        whole = np.zeros(grad.size * compounds.size_of(grad.dtype), contribution.dtype)
        whole[: contribution.size] = contribution._contents()
        add_gradient(grad, whole.reshape(grad._contents().shape))
    elif grad is not None:
        target = FlatResult(work, grad, keep_rest=True)
        work.launch(kernels.add, contribution.size, contribution, target.flat)
        target.finish()


class OnDevice(ArrayOperation):
    """An operation that is done where the memory is, with the work that `build` describes."""

    def ready(self) -> Operation:
        return Operation(self, make_step(self.device, self.build))

    def build(self, work: Now) -> None:
        """Do it, or prepare it for the graph that is captured."""
        raise NotImplementedError


# ----- scans and sums -------------------------------------------------------------------------------


class DeviceScan(OnDevice, Scan):
    """Running sums. Those of floats are rounded from sums in float64."""

    def build(self, work: Now) -> None:
        (source,), (target,) = self.operands, self.results
        out = FlatResult(work, target)
        terms = flat(work, source, apart=overlaps(source, target, in_place=True))
        sums.scan(work, terms, out.flat, source.size, compounds.size_of(target.dtype), self.inclusive)
        out.finish()

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work, (target,) = Now(self.device), self.results
        grad = work.wrap(_pack(work, take_gradient(results[0])), compounds.scalar_of(target.dtype))
        sums.scan(work, grad, grad, target.size, compounds.size_of(target.dtype), self.inclusive, backward=True)
        _give(work, operands[0], grad)


class DeviceSum(OnDevice, Sum):
    """Sums along an axis, or of all elements in order."""

    def shape(self) -> tuple[int, int, int]:
        """Numbers outside, along and inside of the axis."""
        (values,) = self.operands
        outer, extent, columns = _layout(values, self.axis)
        return outer, extent, columns * compounds.size_of(values.dtype)

    def build(self, work: Now) -> None:
        (values,), (target,) = self.operands, self.results
        out = FlatResult(work, target)
        sums.total(work, flat(work, values, overlaps(values, target)), self.shape(), self.count, out.flat)
        out.finish()

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work, (outer, extent, inside) = Now(self.device), self.shape()
        scalar = compounds.scalar_of(self.results[0].dtype)
        grad = work.wrap(_pack(work, take_gradient(results[0])), scalar)
        contribution = work.new(outer * extent * inside, scalar)
        work.launch(kernels.spread, contribution.size, grad, extent, self.count, inside, contribution)
        _give(work, operands[0], contribution)


class DeviceInner(OnDevice, Inner):
    """Inner products along an axis, or of all elements in order."""

    def shape(self) -> tuple[int, int, int, int]:
        """Elements outside, along and inside of the axis, and components of an element."""
        a = self.operands[0]
        return (*_layout(a, self.axis), compounds.size_of(a.dtype))

    def build(self, work: Now) -> None:
        (target,) = self.results
        out = FlatResult(work, target)
        factors = [flat(work, a, overlaps(a, target)) for a in self.operands]
        sums.product(work, *factors, self.shape(), self.count, out.flat)
        out.finish()

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work, shape, scalar = Now(self.device), self.shape(), self.results[0].dtype
        grad = work.wrap(_pack(work, take_gradient(results[0])), scalar)
        for target, factor in zip(operands, contents[::-1], strict=True):
            contribution = work.new(math.prod(shape), scalar)
            factors = work.wrap(_pack(work, factor), scalar)
            work.launch(
                kernels.spread_product, contribution.size, grad, factors, shape[1], self.count, *shape[2:], contribution
            )
            _give(work, target, contribution)


def _layout(a: array | indexedarray, axis: int | None) -> tuple[int, int, int]:
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
        bits = work.wrap(_pack(work, self.memory).view(self.unsigned), self.unsigned)
        self.ordered = bits
        if self.kind:
            self.ordered = work.new(number, self.unsigned)
            work.launch(kernels.order_bits, number, bits, self.kind, self.sign, self.ordered)

    def write(self, ordered: array) -> None:
        """Keys from their integers, which share no memory with the keys."""
        work, bits = self.work, ordered
        packed = self.memory.flags.c_contiguous
        if self.kind:
            bits = (
                work.wrap(self.memory.view(self.unsigned), self.unsigned)
                if packed
                else work.new(ordered.size, self.unsigned)
            )
            work.launch(kernels.key_bits, bits.size, ordered, self.kind, self.sign, bits)
        if not (self.kind and packed):
            work.copy(self.memory, bits._data.view(self.memory.dtype))


def _reorder(work: Now, values: array, order: array) -> None:
    """values[k] = values[order[k]], for elements of any dtype."""
    old = values._data
    fresh = work.device.empty((order.size, *old.shape[1:]), old.dtype)
    moved = array._wrap(fresh, values.dtype, work.device)
    work.launch(kernels.gather, order.size, values, order, moved)
    work.copy(old[: order.size], moved._data)


class DeviceRadixSort(RadixSort):
    """Keys become integers in their order, which are sorted with the values or, if those are wide, with ranks."""

    def ready(self) -> Operation:
        trivial = self.count < 2 or self.begin == self.end
        return Operation(self, NOTHING if trivial else make_step(self.device, self.build))

    def build(self, work: Now) -> None:
        keys, values = self.results
        sort_keys, words = _Keys(work, keys, self.count), values._data[: self.count]
        direct = words.ndim == 1 and words.dtype.names is None and words.itemsize == 4
        moving = work.wrap(_pack(work, words).view(uint32), uint32) if direct else sums.ranks(work, self.count)
        ordered, moved = sums.sort(work, sort_keys.ordered, moving, self.count, self.begin, self.end)
        sort_keys.write(ordered)
        if direct:
            work.copy(words, moved._data.view(words.dtype))
        else:
            _reorder(work, values, moved)


class DeviceSegmentedSort(SegmentedSort):
    """Sorted by key, then by segment."""

    def ready(self) -> Operation:
        segments = max(0, self.operands[2].size - (len(self.operands) == 3))
        if not (segments and self.count):
            return Operation(self, checking(self.check))
        return Operation(self, make_step(self.device, partial(self.build, segments)))

    def check(self) -> None:
        """Raise `ArrayError` for segments that do not fit."""
        self.segments([a._source() for a in self.operands])

    def build(self, segments: int, work: Now) -> None:
        (keys, values), number = self.results, self.count
        limits = [work.new(segments, int32) for _ in range(2)]
        work.on_host(lambda: _upload(limits, self.segments([a._source() for a in self.operands]), number))
        sort_keys = _Keys(work, keys, number)
        ordered, groups = work.new(number, sort_keys.unsigned), work.new(number, uint32)
        work.launch(kernels.segment_groups, number, *limits, sort_keys.ordered, ordered, groups)
        _, order = sums.sort(work, ordered, sums.ranks(work, number), number, 0, 8 * sort_keys.memory.itemsize)
        sorted_groups = work.new(number, uint32)
        work.launch(kernels.gather, number, groups, order, sorted_groups)
        _, order = sums.sort(work, sorted_groups, order, number, 0, (2 * segments).bit_length())
        _reorder(work, keys, order)
        _reorder(work, values, order)


def _upload(limits: list[array], bounds: tuple[np.ndarray, np.ndarray], number: int) -> None:
    """Starts and ends of the segments that hold something; of the rest, none that an element is in."""
    for target, values in zip(limits, bounds, strict=True):
        padded = np.full(target.size, number, np.int32)
        padded[: values.size] = values
        target._data.put(padded)


# ----- run lengths ----------------------------------------------------------------------------------


class DeviceRunLengths(OnDevice, RunLengths):
    """The index of the run of each element, by a running sum, tells where runs start."""

    def build(self, work: Now) -> None:
        (values,), (run_values, run_lengths, total), number = self.operands, self.results, self.count
        count = FlatResult(work, total, keep_rest=True)
        if not number:
            work.copy(count.flat._data[:1], np.zeros((), np.int32))
            count.finish()
            return
        source = flat(work, values, apart=any(overlaps(values, a) for a in self.results))
        index, starts = work.new(number, int32), work.new(number, int32)
        work.launch(kernels.run_starts, number, source, compounds.size_of(values.dtype), index)
        sums.scan(work, index, index, number)
        work.launch(kernels.place_runs, number, index, starts)
        elements = array._wrap(source._data.reshape((-1, *_inner(values.dtype))), values.dtype, work.device)
        operands = (elements, index, starts, number, run_values, run_lengths, count.flat)
        work.launch(kernels.write_runs, number, *operands)
        count.finish()


# ----- casts ----------------------------------------------------------------------------------------


class DeviceCast(OnDevice, Cast):
    """A cast of the first components."""

    def build(self, work: Now) -> None:
        (source,), (target,) = self.operands, self.results
        components = self.count * (math.prod(_inner(source.dtype)) if self.same else 1)
        out = FlatResult(work, target, keep_rest=True)
        work.launch(kernels.cast, components, flat(work, source, overlaps(source, target)), out.flat)
        out.finish()

    def set(self, target: array, values: Any) -> None:
        if not target.size:
            return
        contents = on_host(target._data)
        contents.reshape((target.size, -1) if self.same else -1)[: self.count] = values
        target._data[...] = contents

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work = Now(self.device)
        grad = work.wrap(_pack(work, self.spend(results[0])), compounds.scalar_of(self.results[0].dtype))
        _give(work, operands[0], grad)

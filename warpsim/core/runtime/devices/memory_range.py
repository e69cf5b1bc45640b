"""`MemoryRange`: the addresses of memory, and whether memories meet. Whoever wants to know whether two arrays share
memory asks here.

Guarantees: memories whose ranges are apart share no byte. Strided ones whose ranges meet may still lie between each
other's elements: `share_elements` looks exactly, and says yes only where that would take long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

_EXACT_WORK = 1000  # how hard to look whether interleaved views share elements before assuming that they do


class MemoryRange(NamedTuple):
    """Addresses from `low` on, up to `high`: none where they are equal."""

    low: int
    high: int

    def meets(self, other: MemoryRange) -> bool:
        """Whether some address is in both."""
        low, high = self
        first, last = other
        return low < last and first < high and low < high and first < last

    def covers(self, other: MemoryRange) -> bool:
        """Whether this has all that the other one has."""
        return self.low <= other.low and other.high <= self.high

    def common(self, other: MemoryRange) -> MemoryRange:
        """What both have, of ranges that meet."""
        return MemoryRange(max(self.low, other.low), min(self.high, other.high))

    @property
    def size(self) -> int:
        """[bytes]"""
        return self.high - self.low


EVERYWHERE = MemoryRange(0, 1 << 64)


class Addressed(Protocol):
    """An array, as far as its addresses are concerned."""

    _range: MemoryRange | None

    @property
    def _data(self) -> np.ndarray: ...

    @property
    def _address(self) -> int: ...

    @property
    def _memory(self) -> object: ...

    @property
    def is_contiguous(self) -> bool: ...


class OverArray(Protocol):
    """An array, or what picks elements of one."""

    @property
    def _array(self) -> Addressed: ...


def range_of(a: Addressed) -> MemoryRange:
    """The range of an array."""
    known = a._range
    if known is None:
        packed = a.is_contiguous
        known = a._range = MemoryRange(a._address, a._address + a._data.nbytes) if packed else bounds(a._data)
    return known


def bounds(view: np.ndarray) -> MemoryRange:
    """The range of a view without negative strides."""
    low = view.ctypes.data
    return MemoryRange(low, low + span_of(view.shape, view.strides, view.itemsize))


def span_of(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> int:
    """Bytes from the first element to the end of the last, of memory with strides from 0 on; packed without strides."""
    if strides is None:
        return math.prod(shape) * itemsize
    return itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if all(shape) else 0


def overlap(a: OverArray, b: OverArray) -> bool:
    """Whether two arrays, or the arrays behind indexedarrays, may share memory."""
    return range_of(a._array).meets(range_of(b._array))


def any_meet(ranges: Iterable[MemoryRange]) -> bool:
    """Whether two of some ranges meet."""
    return any(a.meets(b) for a, b in pairwise(sorted(r for r in ranges if r.size)))


def covers(a: Addressed | None, b: Addressed) -> bool:
    """Whether all of an array lies in packed memory of another one, which may be None."""
    return a is not None and a._memory is b._memory and a.is_contiguous and range_of(a).covers(range_of(b))


def share_elements(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two views share an element; yes where it would take long to find out."""
    try:
        return bool(np.shares_memory(a, b, max_work=_EXACT_WORK))  # type: ignore[arg-type]  # NumPy declares no numbers of steps
    except np.exceptions.TooHardError:
        return True


def merge_ranges(ranges: Iterable[MemoryRange]) -> list[MemoryRange]:
    """Ranges that do not meet, of the same addresses."""
    joined: list[MemoryRange] = []
    for r in sorted(ranges):
        if joined and r.low < joined[-1].high:
            joined[-1] = MemoryRange(joined[-1].low, max(joined[-1].high, r.high))
        else:
            joined.append(r)
    return joined

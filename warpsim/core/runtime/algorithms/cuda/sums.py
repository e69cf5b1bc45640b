"""Sums, running sums and stable sorts of flat arrays on a device.

Results do not depend on scheduling: floats are added in float64 in an order that follows from sizes, integers wrap
around. Arrays are flat and packed. Large ones go to `cuda.compute` where that is installed, if it keeps the
promise: its running sums of floats would not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....types.scalars import float64, int32, is_float, uint32
from ...arrays.array import array
from . import compute
from . import kernels as kernels
from .work import Now

LARGE, LARGE_SORT = 1 << 16, 1 << 14
"""Elements from which `cuda.compute` is worth the ten seconds that it compiles once; a sort is many launches."""
_DIGIT_BITS = 4


def accumulator(dtype: type) -> Any:
    """What numbers of a dtype are summed in."""
    return float64 if is_float(dtype) else dtype


def total(work: Now, x: array, shape: tuple[int, int, int], number: int, out: array) -> None:
    """out: (outer, inner) sums of x: (outer, extent, inner) along the middle, of the first `number`."""
    outer, extent, inner = shape
    sums = _room(work, out)
    large = outer * inner == 1 and number >= LARGE and x._data.dtype != np.float16
    if not (large and compute.total(work, x, sums, number)):
        parts = _parts(number)
        first = sums if parts == 1 else work.new(outer * parts * inner, sums.dtype)
        work.launch(kernels.partial_sums, first.size, x, extent, number, inner, parts, first)
        _finish(work, first, parts, shape, sums)
    if sums is not out:
        work.launch(kernels.cast, out.size, sums, out)


def product(work: Now, x: array, y: array, shape: tuple[int, int, int, int], number: int, out: array) -> None:
    """out: (outer, inner) sums of x y, both (outer, extent, inner, width), along the second and the last."""
    outer, extent, inner, width = shape
    if inner == 1:  # neighbours are neighbours: threads side by side read side by side
        extent, number, width = extent * width, number * width, 1
    sums = _room(work, out)
    parts = _parts(number)
    first = sums if parts == 1 else work.new(outer * parts * inner, sums.dtype)
    work.launch(kernels.partial_products, first.size, x, y, extent, number, inner, width, parts, first)
    _finish(work, first, parts, (outer, extent, inner), sums)
    if sums is not out:
        work.launch(kernels.cast, out.size, sums, out)


def _room(work: Now, out: array) -> array:
    """Where sums for `out` are kept until they are rounded."""
    kind = accumulator(out.dtype)
    return out if kind is out.dtype else work.new(out.size, kind)


def _parts(number: int) -> int:
    return max(1, -(-number // kernels.CHUNK))


def _finish(work: Now, first: array, parts: int, shape: tuple[int, int, int], sums: array) -> None:
    """Sum (outer, parts, inner) partial sums, level by level."""
    outer, _, inner = shape
    while parts > 1:
        extent, parts = parts, _parts(parts)
        out = sums if parts == 1 else work.new(outer * parts * inner, sums.dtype)
        work.launch(kernels.partial_sums, out.size, first, extent, extent, inner, parts, out)
        first = out


def largest(work: Now, x: array, out: array) -> None:
    """out[0] = the largest magnitude of flat x, in float64; NaN if it has one, 0 if it has none."""
    number, parts = x.size, _parts(x.size)
    while True:
        target = out if parts == 1 else work.new(parts, float64)
        work.launch(kernels.largest_parts, parts, x, number, parts, target)
        if parts == 1:
            return
        x, number, parts = target, parts, _parts(parts)


def scan(
    work: Now,
    x: array,
    out: array,
    count: int,
    inner: int = 1,
    inclusive: bool = True,
    backward: bool = False,
    rooms: list[array] | None = None,
) -> None:
    """Running sums along the first of (count, inner), from the end where `backward`; `out` may be `x`.

    rooms: what `scan_rooms` returned for as many numbers.
    """
    whole = inner == 1 and not backward and not is_float(x.dtype) and x.dtype is out.dtype and count >= LARGE
    if whole and compute.scan(work, x, out, count, inclusive):
        return
    before, *others = rooms or scan_rooms(work, count, inner, accumulator(x.dtype))
    if others:
        work.launch(kernels.chunk_sums, before.size, x, count, inner, int(backward), before)
        scan(work, before, before, before.size // inner, inner, inclusive=False, rooms=others)
    if count:
        work.launch(kernels.chunk_scan, before.size, x, before, count, inner, int(backward), int(inclusive), out)


def scan_rooms(work: Now, count: int, inner: int, dtype: type) -> list[array]:
    """Room for what comes before each chunk, level by level; before the one chunk of the last, nothing."""
    rooms = []
    while not rooms or count > 1:
        count = _parts(count)
        rooms.append(work.new(count * inner, dtype))
    work.zero(rooms[-1])
    return rooms


def sort(work: Now, keys: array, values: array, count: int, begin: int, end: int) -> tuple[array, array]:
    """Sorted copies of unsigned keys, by bits `begin` to `end` - 1, and of values of four bytes; stable."""
    if count < 2 or begin >= end:
        return keys, values
    spare = [compute.Pairs(work.new(count, keys.dtype), work.new(count, values.dtype))]
    if count >= LARGE_SORT and compute.sort(work, compute.Pairs(keys, values), spare[0], count, begin, end):
        return spare[0]
    spare.append(compute.Pairs(work.new(count, keys.dtype), work.new(count, values.dtype)))
    chunks = -(-count // kernels.RADIX_CHUNK)
    counts = work.new(kernels.DIGITS * chunks, int32)
    rooms = scan_rooms(work, counts.size, 1, int32)
    for k, low in enumerate(range(begin, end, _DIGIT_BITS)):
        mask = (1 << min(_DIGIT_BITS, end - low)) - 1
        digit = (count, keys.dtype(low), keys.dtype(mask), chunks)
        work.launch(kernels.count_digits, chunks, keys, *digit, counts)
        scan(work, counts, counts, counts.size, inclusive=False, rooms=rooms)
        moved = spare[k % 2]
        work.launch(kernels.place_digits, chunks, keys, values, *digit, counts, *moved)
        keys, values = moved
    return keys, values


def ranks(work: Now, count: int) -> array:
    """0, 1, 2, ..."""
    numbers = work.new(count, uint32)
    work.launch(kernels.count_up, count, numbers)
    return numbers

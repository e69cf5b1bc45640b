"""Kernels of device-wide operations on flat arrays: sums, running sums, sorts, runs, casts.

Every kernel has one possible result: what a thread adds, and in which order, follows from sizes alone, and no
element has two writers. Sums of floats are kept in float64, of integers in their own type, which wraps around.
Sizes count elements of arrays; `inner` is how many neighbours (components, or columns) go side by side.
"""

from __future__ import annotations

from typing import Any

from ....ops import tid
from ....types.arrays import array_type
from ....types.scalars import float64, int32
from ...launches.kernel import kernel

CHUNK = 32  # elements that a thread sums: few levels of launches, and threads enough for a million elements
RADIX_CHUNK = 64  # keys that a thread sorts into digits
DIGITS = 16  # values of the four bits that a pass sorts by
_Any = array_type(Any, 1)
_Ints = array_type(int32, 1)
_Doubles = array_type(float64, 1)


# ----- sums -------------------------------------------------------------------------------------


@kernel
def partial_sums(x: _Any, extent: int, number: int, inner: int, parts: int, out: _Any):
    """x: (outer, extent, inner), out: (outer, parts, inner): part p sums elements p, p + parts, ... below `number`."""
    k = tid()
    rest = k // inner
    part = rest % parts
    at = (rest // parts * extent + part) * inner + k % inner
    total = out.dtype(0)
    if part < number:
        for j in range((number - 1 - part) // parts + 1):
            total = total + out.dtype(x[at + j * parts * inner])
    out[k] = total


@kernel
def partial_products(x: _Any, y: _Any, extent: int, number: int, inner: int, width: int, parts: int, out: _Any):
    """The same for products x y of arrays of shape (outer, extent, inner, width), summed over `width` too."""
    k = tid()
    rest = k // inner
    part = rest % parts
    at = ((rest // parts * extent + part) * inner + k % inner) * width
    total = out.dtype(0)
    if part < number:
        for j in range((number - 1 - part) // parts + 1):
            for c in range(width):
                i = at + j * parts * inner * width + c
                total = total + out.dtype(x[i]) * out.dtype(y[i])
    out[k] = total


@kernel
def largest_parts(x: _Any, number: int, parts: int, out: _Doubles):
    """out: (parts,), the largest magnitudes of elements p, p + parts, ...; NaN where there is one."""
    k = tid()
    largest = float64(0.0)
    for j in range((number - 1 - k) // parts + 1):
        here = abs(float64(x[k + j * parts]))
        if not here <= largest:  # no comparison with NaN holds: it replaces a number, and the next number does not
            if largest == largest:
                largest = here
    out[k] = largest


# ----- running sums -----------------------------------------------------------------------------


@kernel
def chunk_sums(x: _Any, count: int, inner: int, backward: int, out: _Any):
    """x: (count, inner), out: (chunks, inner): the sums of chunks, counted from the end where `backward`."""
    k = tid()
    first = k // inner * CHUNK
    total = out.dtype(0)
    for j in range(min(count - first, CHUNK)):
        i = first + j
        if backward == 1:
            i = count - 1 - i
        total = total + out.dtype(x[i * inner + k % inner])
    out[k] = total


@kernel
def chunk_scan(x: _Any, before: _Any, count: int, inner: int, backward: int, inclusive: int, out: _Any):
    """Running sums of (count, inner) elements, where `before` holds the sum of all chunks before each."""
    k = tid()
    first = k // inner * CHUNK
    total = before[k]
    for j in range(min(count - first, CHUNK)):
        i = first + j
        if backward == 1:
            i = count - 1 - i
        at = i * inner + k % inner
        here = before.dtype(x[at])
        if inclusive == 1:
            total = total + here
            out[at] = out.dtype(total)
        else:
            out[at] = out.dtype(total)
            total = total + here


# ----- sorting ----------------------------------------------------------------------------------


@kernel
def order_bits(keys: _Any, kind: int, sign: Any, out: _Any):
    """Unsigned integers in the order of the keys. kind: 0 unsigned, 1 signed, 2 float."""
    i = tid()
    bits = keys[i]
    if kind == 1:
        bits = bits ^ sign
    if kind == 2:
        if bits & sign != sign ^ sign:
            bits = ~bits
        else:
            bits = bits | sign
    out[i] = bits


@kernel
def key_bits(ordered: _Any, kind: int, sign: Any, out: _Any):
    """The keys again, from integers that `order_bits` made."""
    i = tid()
    bits = ordered[i]
    if kind == 1:
        bits = bits ^ sign
    if kind == 2:
        if bits & sign != sign ^ sign:
            bits = bits ^ sign
        else:
            bits = ~bits
    out[i] = bits


@kernel
def count_digits(keys: _Any, count: int, shift: Any, mask: Any, chunks: int, counts: _Ints):
    """How often each digit occurs in each chunk of keys; counts: (digits, chunks)."""
    k = tid()
    for d in range(DIGITS):
        counts[d * chunks + k] = 0
    first = k * RADIX_CHUNK
    for j in range(min(count - first, RADIX_CHUNK)):
        at = int((keys[first + j] >> shift) & mask) * chunks + k
        counts[at] = counts[at] + 1


@kernel
def place_digits(
    keys: _Any,
    values: _Any,
    count: int,
    shift: Any,
    mask: Any,
    chunks: int,
    places: _Ints,
    keys_out: _Any,
    values_out: _Any,
):
    """Move keys and values to their places, which start at `places` for each digit of a chunk."""
    k = tid()
    first = k * RADIX_CHUNK
    for j in range(min(count - first, RADIX_CHUNK)):
        key = keys[first + j]
        at = int((key >> shift) & mask) * chunks + k
        place = places[at]
        places[at] = place + 1
        keys_out[place] = key
        values_out[place] = values[first + j]


@kernel
def count_up(out: _Any):
    i = tid()
    out[i] = out.dtype(i)


@kernel
def gather(values: _Any, order: _Any, out: _Any):
    i = tid()
    out[i] = values[int(order[i])]


@kernel
def segment_groups(starts: _Ints, ends: _Ints, bits: _Any, ordered: _Any, groups: _Any):
    """The group of each element, never falling: 2 s + 1 in segment s, an even number between segments.

    starts, ends: of segments in order of their starts. Elements between segments get their place as a key, so that
    they stay.
    """
    i = tid()
    low = int(0)
    high = starts.shape[0]
    while low < high:  # how many segments start at i or before
        middle = (low + high) // 2
        if starts[middle] <= i:
            low = middle + 1
        else:
            high = middle
    ordered[i] = ordered.dtype(i)
    groups[i] = groups.dtype(2 * low)
    if low > 0:
        if i < ends[low - 1]:
            ordered[i] = bits[i]
            groups[i] = groups.dtype(2 * low - 1)


# ----- runs -------------------------------------------------------------------------------------


@kernel
def run_starts(x: _Any, inner: int, out: _Ints):
    """1 where an element differs from the one before it, and at the first; 0 elsewhere."""
    i = tid()
    out[i] = 0
    if i == 0:
        out[i] = 1
    else:
        for c in range(inner):
            if x[i * inner + c] != x[(i - 1) * inner + c]:
                out[i] = 1


@kernel
def place_runs(number: _Ints, starts: _Ints):
    """Where each run starts; number: 1 + the index of the run of each element."""
    i = tid()
    before = int(0)
    if i > 0:
        before = number[i - 1]
    if number[i] != before:
        starts[before] = i


@kernel
def write_runs(values: _Any, number: _Ints, starts: _Ints, count: int, run_values: _Any, lengths: _Ints, total: _Ints):
    k = tid()
    runs = number[count - 1]
    if k == 0:
        total[0] = runs
    if k < runs:
        end = count
        if k + 1 < runs:
            end = starts[k + 1]
        lengths[k] = end - starts[k]
        run_values[k] = values[starts[k]]


# ----- casts and gradients ------------------------------------------------------------------------


@kernel
def cast(x: _Any, out: _Any):
    i = tid()
    out[i] = out.dtype(x[i])


@kernel
def add(x: _Any, out: _Any):
    i = tid()
    out[i] = out[i] + out.dtype(x[i])


@kernel
def spread(grad: _Any, extent: int, number: int, inner: int, out: _Any):
    """out: (outer, extent, inner): cotangents of sums along the middle, (outer, 1, inner), below `number`; else 0."""
    k = tid()
    rest = k // inner
    out[k] = out.dtype(0)
    if rest % extent < number:
        out[k] = grad[rest // extent * inner + k % inner]


@kernel
def spread_product(grad: _Any, y: _Any, extent: int, number: int, inner: int, width: int, out: _Any):
    """The same, times y, of shape (outer, extent, inner, width)."""
    k = tid()
    column = k // width
    rest = column // inner
    out[k] = out.dtype(0)
    if rest % extent < number:
        out[k] = grad[rest // extent * inner + column % inner] * y[k]

"""From a coordinate to texels of one axis, by address mode and filter mode.

Along an axis of n texels, texel i reaches from i to i + 1 and has its centre at i + 1/2, where normalized coordinates
count the whole axis as 1. Coordinates go to the texture's own interval before they become indices, so those far away
are as exact as their float32.

NaN lies beyond the last texel for CLAMP and BORDER. WRAP and MIRROR have no place for NaN and the infinities: LINEAR
gives NaN for them, CLOSEST the first texel.
"""

from __future__ import annotations

from ...core.language import Float, bool_, float32, float64, floor, func, int32, mod, struct, where
from .modes import BORDER, CLAMP, MIRROR, WRAP

OUTSIDE = -1
"""The index of texels that are zero."""


@struct
class Neighbours:
    """The texels on both sides of a point, and how near the point is to the second: from 0 to 1."""

    first: int32
    second: int32
    nearness: float32


@func
def place(u: Float, size: int32, full: int32, normalized: bool_, mode: int32) -> Float:
    """A coordinate in texels of an axis of a level with `size` of them, which has `full` in level 0."""
    period = where(normalized, type(u)(1.0), type(u)(full))
    if mode == WRAP:
        u = mod(u, period)
    if mode == MIRROR:
        u = mod(u, period + period)
    return u * (type(u)(size) / period)


@func
def between_limits(x: Float, low: Float, high: Float) -> Float:
    """A number kept from `low` to `high`, which NaN is; at `low` it still has its derivative."""
    if x < high:
        return where(x >= low, x, low)
    return high


@func
def whole(x: Float) -> int32:
    """A floored coordinate as an index, 0 for NaN."""
    return int32(x) if x == x else 0


@func
def index_of(i: int32, size: int32, mode: int32) -> int32:
    """The texel that stands at an index that may lie beside the axis, or OUTSIDE."""
    if mode == WRAP:
        i = i % size
        return where(i < 0, i + size, i)
    if mode == MIRROR:
        i = i % (2 * size)
        i = where(i < 0, i + 2 * size, i)
        return where(i < size, i, 2 * size - 1 - i)
    if mode == BORDER:
        return where((i >= 0) & (i < size), i, OUTSIDE)
    return where(i < 0, 0, where(i < size, i, size - 1))


@func
def closest(u: float32, size: int32, full: int32, normalized: bool_, mode: int32) -> int32:
    """The texel around a coordinate; float64 knows on which side of a border it is."""
    x = place(float64(u), size, full, normalized, mode)
    if (mode == CLAMP) | (mode == BORDER):
        x = between_limits(x, float64(-1.0), float64(size))
    return index_of(whole(floor(x)), size, mode)


@func
def neighbours(u: float32, size: int32, full: int32, normalized: bool_, mode: int32) -> Neighbours:
    """The texels with the centres around a coordinate."""
    x = place(u, size, full, normalized, mode) - 0.5
    if mode == CLAMP:
        x = between_limits(x, 0.0, float32(size - 1))
    if mode == BORDER:
        x = between_limits(x, -1.0, float32(size))
    low = floor(x)
    i, around = whole(low), Neighbours()
    around.first, around.second = index_of(i, size, mode), index_of(i + 1, size, mode)
    around.nearness = x - low
    return around

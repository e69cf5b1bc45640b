"""Places in sorted arrays, found by halving."""

from __future__ import annotations

from ..core.language import Array, Scalar, func, int32


@func
def first_not_below(values: Array[Scalar, 1], count: int32, x: Scalar) -> int32:
    """The place of the first of `count` ascending values that is not below x; `count` if all are."""
    low, high = int32(0), count
    while low < high:
        at = (low + high) >> 1
        if values[at] < x:
            low = at + 1
        else:
            high = at
    return low

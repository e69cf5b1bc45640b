"""Scans of tiles along their one dimension, and what a lane holds of a tile.

A tile of rank two has a row for each component of what a lane holds, see `wp.tile`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..language import array_type, func, max, min, vector, zeros

Row = array_type(Any, 1, False, ())
Table = array_type(Any, 2, False, ())


# ----- elements -------------------------------------------------------------------------------


@func
def untile(a: Row) -> Any:
    """What this lane holds: the inverse of `tile`, of a tile with an element for each lane."""
    return a[0]


@func(name="untile", overload_of=untile)
def _untile_components(a: Table) -> Any:
    """The vector of a tile with a row for each component."""
    x = vector(length=a.shape[0], dtype=a.dtype)
    for k in range(a.shape[0]):
        x[k] = a[k, 0]
    return x


# ----- scans ----------------------------------------------------------------------------------


@func
def sum_of_two(x: Any, y: Any) -> Any:
    """x + y, of all that can be added."""
    return x + y


@func
def scan(op: Callable, a: Row) -> Any:
    """For each element of a tile those up to it, itself among them, combined by `op`."""
    out = zeros(shape=a.shape[0], dtype=a.dtype)
    total = a[0]
    out[0] = total
    for k in range(1, a.shape[0]):
        total = op(total, a[k])
        out[k] = total
    return out


@func
def tile_scan_inclusive(a: Row) -> Any:
    """Sums of the elements up to each of a tile, itself among them."""
    return scan(sum_of_two, a)


@func
def tile_scan_exclusive(a: Row) -> Any:
    """Sums of the elements before each of a tile."""
    out = zeros(shape=a.shape[0], dtype=a.dtype)
    for k in range(1, a.shape[0]):
        out[k] = out[k - 1] + a[k - 1]
    return out


@func
def tile_scan_min_inclusive(a: Row) -> Any:
    """The smallest of the elements up to each of a tile, itself among them."""
    return scan(min, a)


@func
def tile_scan_max_inclusive(a: Row) -> Any:
    """The largest of the elements up to each of a tile, itself among them."""
    return scan(max, a)

"""Boxes in the order of a curve that fills space: keys of bits of their middles, sorted.

The bits of three coordinates take turns (Morton 1966, A computer oriented geodetic data base), so boxes with a common
prefix lie in one cell of an octree. Cells are cubes: a flat scene is cut along its long sides first. Boxes in groups
are sorted by group, then by place within the box around their own group. Boxes that are not finite come last.

The order has one result: minima and maxima depend on no order, and the sort is stable.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...core.language import array, float32, int32, int64, struct, vec3
from ...core.language import atomic_max, atomic_min, empty, full, func, kernel, launch, max, min, radix_sort_pairs, tid
from ...core.lib.sampling import lower_bound
from .boxes import is_finite
from .extent import Extent, extent_of, middle

BITS = 60
"""Of keys and positions in the order together, so that paths in trees over them have bounds; see `lbvh`."""

_MOST_PER_AXIS = 16  # bits: more would cost rounds of the sort, and scenes seldom have anything smaller
_INFINITE = math.inf


class Order(NamedTuple):
    """Boxes in order. The first `extent.count` of the arrays are finite boxes; both have room for twice as many."""

    keys: array  # int64: rank of the group, then `bits` of the place in it
    items: array  # int32: the boxes
    bits: int
    position_bits: int  # that the position of a box takes; with those of its key at most BITS
    extent: array  # one `Extent`


@struct
class GroupedBoxes:
    """Boxes, the group of each, and the names of all groups, ascending; without groups these two are empty."""

    lowers: array(dtype=vec3)
    uppers: array(dtype=vec3)
    groups: array(dtype=int32)
    names: array(dtype=int32)


@func
def spread(x: int64) -> int64:
    """Bit k, of 21, moves to bit 3 k."""
    x = (x | x << int64(32)) & int64(0x1F00000000FFFF)
    x = (x | x << int64(16)) & int64(0x1F0000FF0000FF)
    x = (x | x << int64(8)) & int64(0x100F00F00F00F00F)
    x = (x | x << int64(4)) & int64(0x10C30C30C30C30C3)
    return (x | x << int64(2)) & int64(0x1249249249249249)


@func
def cell_along(x: float32, scale: float32, bits: int32) -> int64:
    """The cell of a coordinate that is measured from the lower end."""
    return int64(min(int32(x * scale), (1 << bits) - 1))


@func
def code_of(m: vec3, low: vec3, high: vec3, bits: int32) -> int64:
    """The number of a middle's cell among (2^bits)^3 in the cube at `low` that reaches to `high`."""
    size = max(high[0] - low[0], max(high[1] - low[1], high[2] - low[2]))
    scale = float32(1 << bits) * 0.99999 / size
    if not (scale > 0.0 and scale < _INFINITE):  # all in one place, or as good as
        scale = 0.0
    x = spread(cell_along(m[0] - low[0], scale, bits))
    y = spread(cell_along(m[1] - low[1], scale, bits))
    z = spread(cell_along(m[2] - low[2], scale, bits))
    return x << int64(2) | y << int64(1) | z


@func
def rank_of(boxes: GroupedBoxes, i: int32) -> int32:
    """The place of a box's group among all groups; 0 without groups."""
    names = boxes.names
    return lower_bound(names, 0, names.shape[0] + 1, boxes.groups[i]) if names.shape[0] > 0 else 0


@kernel
def _bounds_of_all(extent: array(dtype=Extent), low: array(dtype=vec3), high: array(dtype=vec3)):
    tid()
    low[0], high[0] = extent[0].middle_lower, extent[0].middle_upper


@kernel
def _bounds_of_groups(boxes: GroupedBoxes, low: array(dtype=vec3), high: array(dtype=vec3)):
    i = tid()
    lower, upper = boxes.lowers[i], boxes.uppers[i]
    if is_finite(lower) and is_finite(upper):
        rank, m = rank_of(boxes, i), middle(lower, upper)
        atomic_min(low, rank, m)
        atomic_max(high, rank, m)


@kernel
def _encode(
    boxes: GroupedBoxes,
    low: array(dtype=vec3),
    high: array(dtype=vec3),
    bits: int32,
    last: int64,
    keys: array(dtype=int64),
    items: array(dtype=int32),
):
    """The key of every box; `last`, which is above all others, for one that is not finite."""
    i = tid()
    lower, upper = boxes.lowers[i], boxes.uppers[i]
    key = last
    if is_finite(lower) and is_finite(upper):
        rank = rank_of(boxes, i)
        code = code_of(middle(lower, upper), low[rank], high[rank], bits)
        key = int64(rank) << int64(3 * bits) | code
    keys[i] = key
    items[i] = i


def morton_order(boxes: GroupedBoxes) -> Order:
    """Boxes along the curve, of each group for itself."""
    n, device = boxes.lowers.size, boxes.lowers.device
    extent = extent_of(boxes.lowers, boxes.uppers)
    ranks = boxes.names.size or 1
    low, high = full(ranks, _INFINITE, vec3, device), full(ranks, -_INFINITE, vec3, device)
    if boxes.names.size:
        launch(_bounds_of_groups, n, [boxes, low, high], device=device, record_tape=False)
    else:
        launch(_bounds_of_all, 1, [extent, low, high], device=device, record_tape=False)
    above, below = (ranks - 1).bit_length(), (n - 1).bit_length()
    bits = int(min(_MOST_PER_AXIS, (BITS - above - below) // 3))
    end = above + 3 * bits
    keys, items = empty(2 * n, int64, device), empty(2 * n, int32, device)
    launch(_encode, n, [boxes, low, high, bits, 1 << end], [keys, items], device=device, record_tape=False)
    radix_sort_pairs(keys, items, n, 0, end + 1)
    return Order(keys, items, 3 * bits, below, extent)

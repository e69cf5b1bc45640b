"""The way of a query through a hash grid: cells along each axis, rows of them, ranges of sorted points.

Rows of cells along x are contiguous in the grid. So a query visits a few ranges of sorted points, each once: row of
cells by row of cells, and within a cell by index. That order is fixed by the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.language import float32, float64, int32, uint32, vec3d, vec3f, vec3i
from ...core.language import clamp, floor, func, isfinite, max, min, struct
from ...core.lib.bits import lowest_bit
from .build import layer_of
from .data import LANES, HashGridData, HashGridPlan, cell_number, place_of, remainder

_IMAGE_ROUNDING = 2.0**-19  # of a period, twice that of a wrapped float32 coordinate and its difference


@struct
class Walk:
    """Where a query stands, by value. A new one has come to its end."""

    grid: HashGridData
    cells: vec3i
    first: vec3i  # first place along x, y and z
    span: vec3i  # number of places
    group: int32
    one_group: int32  # 1 if only points of `group` are wanted
    # what changes on the way
    layer: int32
    y: int32
    z: int32
    y_left: int32
    z_left: int32
    rows_left: int32
    line: int32  # first cell of the present row
    rest: int32  # cells of the present row that are left at its other end, where it wraps
    cursor: int32  # next sorted point of the present range
    end: int32
    base: int32  # bit b of `hits` is sorted point base + b
    hits: int32


# ----- begin ------------------------------------------------------------------------------------


@func
def places(plan: HashGridPlan, axis: int, first: float64, count: float64):
    """Places that hold `count` cells from `first` on, of those that have points: the first one, and how many."""
    if plan.mixed != 0:
        first = remainder(first, plan.around[axis], plan.per_around[axis])
        if first + count > plan.extent[axis]:
            count = count + plan.padding[axis]
    cells = plan.cells[axis]
    return place_of(first, cells, plan.per_cells[axis]), int32(clamp(count, 0.0, float64(cells)))


@func
def arc(plan: HashGridPlan, axis: int, first: float64, count: float64):
    """Places that hold `count` cells from `first` on, round the circle of an axis: the first one, and how many."""
    around, extent = plan.around[axis], plan.extent[axis]
    first = remainder(first, around, 1.0 / around)
    end = first + count
    if first >= extent:  # in the gap
        first, end = 0.0, min(end - around, extent)
    elif end > around:
        end = end - (around - extent)
    else:
        end = min(end, extent)
    if end > extent:
        end = end + plan.padding[axis]
    cells = plan.cells[axis]
    return place_of(first, cells, plan.per_cells[axis]), int32(clamp(end - first, 0.0, float64(cells)))


@func
def within(plan: HashGridPlan, axis: int, low: float64, high: float64):
    """Places along an axis that hold all points with coordinates from `low` to `high`: the first, and how many."""
    margin = plan.period[axis] * _IMAGE_ROUNDING
    a = max(cell_number((low - margin) * plan.scale[axis]) - plan.origin[axis], plan.lowest[axis])
    b = min(cell_number((high + margin) * plan.scale[axis]) - plan.origin[axis], plan.highest[axis])
    if plan.per_cells[axis] == 0.0:
        return int32(a), int32(max(b - a + 1.0, 0.0))
    return places(plan, axis, a, b - a + 1.0)


@func
def cell_span(plan: HashGridPlan, axis: int, low: float64, high: float64):
    """The cells of the user's width from that of `low` to that of `high`: the first cell of the table, and how many."""
    finer = float64(plan.finer if axis == 0 else 1)
    a = floor(cell_number(low * plan.scale[axis]) / finer) * finer
    b = floor(cell_number(high * plan.scale[axis]) / finer) * finer + finer
    return a - plan.origin[axis], min(b - a, plan.around[axis])


@func
def is_position(point: Any) -> bool:
    """Whether all coordinates are finite."""
    return isfinite(point[0]) and isfinite(point[1]) and isfinite(point[2])


@func
def meets_any(grid: HashGridData, point: vec3f, max_dist: float32) -> bool:
    """Whether a query may find anything: there are points of its precision, and it asks for a region of space."""
    return len(grid.x) > 0 and len(grid.plan) > 0 and max_dist >= 0.0 and is_position(point)


@func(overload_of=meets_any)
def meets_any(grid: HashGridData, point: vec3d, max_dist: float64) -> bool:
    return len(grid.xd) > 0 and len(grid.plan) > 0 and max_dist >= float64(0.0) and is_position(point)


@func
def at_first_row(walk: Walk, plan: HashGridPlan, group: int32, one_group: bool) -> Walk:
    """The walk at its beginning, once `first` and `span` are known."""
    walk.cells = plan.cells
    layers = plan.layers
    if one_group and plan.grouped != 0:
        walk.layer = layer_of(plan, group)
        layers = 1
        walk.group = group
        walk.one_group = 1
    walk.y = walk.first[1]
    walk.z = walk.first[2]
    walk.y_left = walk.span[1]
    walk.z_left = walk.span[2]
    walk.line = ((walk.layer * walk.cells[2] + walk.z) * walk.cells[1] + walk.y) * walk.cells[0]
    walk.rows_left = walk.span[1] * walk.span[2] * layers if walk.span[0] > 0 else 0
    return walk


# ----- next -------------------------------------------------------------------------------------


@func
def next_range(walk: Walk) -> Walk:
    """Turn to the next range of sorted points: the other end of a row that wraps, or the next row."""
    if walk.rest > 0:
        walk.cursor = walk.grid.starts[uint32(walk.line)]
        walk.end = walk.grid.starts[uint32(walk.line + walk.rest)]
        walk.rest = 0
    else:
        straight = min(walk.span[0], walk.cells[0] - walk.first[0])
        walk.cursor = walk.grid.starts[uint32(walk.line + walk.first[0])]
        walk.end = walk.grid.starts[uint32(walk.line + walk.first[0] + straight)]
        walk.rest = walk.span[0] - straight
    if walk.rest == 0:
        walk = next_row(walk)
    return walk


@func
def next_row(walk: Walk) -> Walk:
    """Turn to the next row of cells: along y, then z, then the layer of the next group."""
    walk.rows_left = walk.rows_left - 1
    walk.y = walk.y + 1
    walk.y_left = walk.y_left - 1
    walk.line = walk.line + walk.cells[0]
    if walk.y_left == 0 or walk.y == walk.cells[1]:
        if walk.y_left > 0:
            walk.y = 0
        else:
            walk.y = walk.first[1]
            walk.y_left = walk.span[1]
            walk.z = walk.z + 1
            walk.z_left = walk.z_left - 1
            if walk.z_left == 0:
                walk.z = walk.first[2]
                walk.z_left = walk.span[2]
                walk.layer = walk.layer + 1
            elif walk.z == walk.cells[2]:
                walk.z = 0
        walk.line = ((walk.layer * walk.cells[2] + walk.z) * walk.cells[1] + walk.y) * walk.cells[0]
    return walk


@func
def of_group(walk: Walk, hits: int32) -> int32:
    """The hits that belong to the group of the query."""
    left = int32(hits)
    while hits != 0:
        lowest = hits & -hits
        hits = hits - lowest
        if walk.grid.group[uint32(walk.base + lowest_bit(lowest))] != walk.group:
            left = left - lowest
    return left


@func
def next_point(q: Any, index: int32, tested: Callable):
    """Advance a query: it, the index of its next hit (else `index`), and whether there was one.

    `tested(q, k)`: bit b says whether sorted point k + b is a hit, for b below LANES.
    """
    has_next = True
    while q.walk.hits == 0:
        if q.walk.cursor >= q.walk.end:
            if q.walk.rows_left == 0:
                has_next = False
                break
            q.walk = next_range(q.walk)
        left = max(q.walk.end - q.walk.cursor, 0)
        q.walk.base = q.walk.cursor
        q.walk.hits = tested(q, q.walk.base) & ((1 << min(left, LANES)) - 1)
        if q.walk.one_group != 0:
            q.walk.hits = of_group(q.walk, q.walk.hits)
        q.walk.cursor = q.walk.cursor + LANES
    if has_next:
        index = q.walk.grid.point[uint32(q.walk.base + lowest_bit(q.walk.hits))]
        q.walk.hits = q.walk.hits & (q.walk.hits - 1)
    return q, index, has_next

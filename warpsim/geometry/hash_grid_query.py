"""Neighbours of a position in a hash grid, one after the other.

A query yields every point p_i with |p_i - p| <= max_dist exactly once, and nothing else: distances are tested here, in
the precision of the points, as `dot(d, d) <= max_dist * max_dist` for d = p_i - p, free of overflow and underflow. In a
periodic grid d is the shortest difference between p, p_i and its images; each point comes once, however large
`max_dist` is. The order is fixed by the grid: row of cells by row of cells, and by index within a cell. A point that
is a neighbour of itself is found too. There is nothing near a NaN or an infinity, nor within a negative or NaN
`max_dist`; an infinite one reaches everything. (Kernels compiled with `fast_math` leave that open.) A position of
the other precision than the grid's finds nothing.

Rows of cells along x are contiguous in the grid. So a query visits a few ranges of sorted points and tests
`LANES` of them at once; what remains is a word with a bit for each hit.

Queries have no derivative: they are integers, and gradients flow through what the kernel computes from
`points[index]`. The adjoint of a loop over a query runs the same query again.
"""

from __future__ import annotations

from typing import Any

from ..core.frontend.functions import func
from ..core.ops import bit_count, cw_mul, isfinite, mask_at_most, max, min, rint, stop_gradient
from ..core.ops.handles import resolve
from ..core.types.scalars import float32, float64, int32, uint64
from ..core.types.structs import struct
from .hash_grid_build import layer_of
from .hash_grid_data import (
    LANES,
    HashGridData,
    HashGridPlan,
    cell_number,
    image_in_period,
    place_of,
    vec3d,
    vec3f,
    vec3i,
)

_ROUNDING = 1.0 + 2.0**-20  # a test passes points that are a few units of rounding farther than max_dist
_INFINITE = float("inf")
_IMAGE_ROUNDING = 2.0**-19  # of a period, twice that of a wrapped float32 coordinate and its difference


@struct
class HashGridQuery:
    """A query of a grid of float32 points, by value."""

    grid: HashGridData
    point: vec3f
    unit: float32  # lengths are multiplied by this power of two before they are squared
    limit: float32  # max_dist * max_dist, so multiplied
    period: vec3f  # infinite along an axis that has none
    periodic: int32
    group: int32
    one_group: int32  # 1 if only points of `group` are wanted
    cells: vec3i
    first: vec3i  # first place along x, y and z
    span: vec3i  # number of places
    # what changes from neighbour to neighbour
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


@struct
class HashGridQueryD:
    """A query of a grid of float64 points, see `HashGridQuery`."""

    grid: HashGridData
    point: vec3d
    unit: float64
    limit: float64
    period: vec3d
    periodic: int32
    group: int32
    one_group: int32
    cells: vec3i
    first: vec3i
    span: vec3i
    layer: int32
    y: int32
    z: int32
    y_left: int32
    z_left: int32
    rows_left: int32
    line: int32
    rest: int32
    cursor: int32
    end: int32
    base: int32
    hits: int32


# ----- begin ------------------------------------------------------------------------------------


@func
def unit_for(max_dist: float32) -> float32:
    """A power of two that makes the square of a length a number with full precision."""
    if max_dist > 2.0**60:
        return float32(2.0**-70)
    if max_dist < 2.0**-40:
        return float32(2.0**100)
    return float32(1.0)


@func(overload_of=unit_for)
def unit_for(max_dist: float64) -> float64:
    if max_dist > 2.0**400:
        return float64(2.0**-600)
    if max_dist < 2.0**-400:
        return float64(2.0**600)
    return float64(1.0)


@func
def covered(plan: HashGridPlan, axis: int, low: float64, high: float64):
    """Places along an axis that hold all coordinates from `low` to `high`: the first, and how many."""
    margin = plan.period[axis] * _IMAGE_ROUNDING
    a = cell_number((low - margin) * plan.scale[axis])
    b = cell_number((high + margin) * plan.scale[axis])
    cells = plan.cells[axis]
    if plan.per_cells[axis] != 0.0:
        return place_of(a, cells, plan.per_cells[axis]), int32(min(b - a + 1.0, float64(cells)))
    a = max(a - plan.origin[axis], 0.0)
    b = min(b - plan.origin[axis], float64(cells - 1))
    return int32(a), int32(max(b - a + 1.0, 0.0))


@func
def has_points(q: HashGridQuery) -> bool:
    """Whether there are points of the precision of the query."""
    return len(q.grid.x) > 0 and len(q.grid.plan) > 0


@func(overload_of=has_points)
def has_points(q: HashGridQueryD) -> bool:
    return len(q.grid.xd) > 0 and len(q.grid.plan) > 0


@func
def begun(q: Any, grid: Any, point: Any, max_dist: Any, group: int32, one_group: bool) -> Any:
    """The query before its first neighbour. `q` is a fresh one."""
    q.grid = grid
    if not has_points(q) or not max_dist >= max_dist.dtype(0.0):
        return q
    if not (isfinite(point[0]) and isfinite(point[1]) and isfinite(point[2])):
        return q
    plan = grid.plan[0]
    reach = float64(max_dist) * _ROUNDING
    for axis in range(3):
        x = float64(point[axis])
        first, span = covered(plan, axis, x - reach, x + reach)
        q.first[axis] = first
        q.span[axis] = span
        q.point[axis] = point.dtype(image_in_period(x, plan.period[axis]))
        q.period[axis] = point.dtype(_INFINITE)
        if plan.period[axis] > 0.0:
            q.period[axis] = point.dtype(plan.period[axis])
            q.periodic = 1
    q.unit = unit_for(max_dist)
    q.limit = (max_dist * q.unit) * (max_dist * q.unit)
    q.cells = plan.cells
    layers = plan.layers
    if one_group and plan.grouped != 0:
        q.layer = layer_of(plan, group)
        layers = 1
        q.group = group
        q.one_group = 1
    q.y = q.first[1]
    q.z = q.first[2]
    q.y_left = q.span[1]
    q.z_left = q.span[2]
    q.line = ((q.layer * q.cells[2] + q.z) * q.cells[1] + q.y) * q.cells[0]
    q.rows_left = q.span[1] * q.span[2] * layers if q.span[0] > 0 else 0
    return q


# ----- next -------------------------------------------------------------------------------------


@func
def next_range(q: Any) -> Any:
    """Turn to the next range of sorted points: the other end of a row that wraps, or the next row."""
    if q.rest > 0:
        q.cursor = q.grid.starts[q.line]
        q.end = q.grid.starts[q.line + q.rest]
        q.rest = 0
    else:
        straight = min(q.span[0], q.cells[0] - q.first[0])
        q.cursor = q.grid.starts[q.line + q.first[0]]
        q.end = q.grid.starts[q.line + q.first[0] + straight]
        q.rest = q.span[0] - straight
    if q.rest == 0:
        q = next_row(q)
    return q


@func
def next_row(q: Any) -> Any:
    q.rows_left = q.rows_left - 1
    q.y = q.y + 1
    q.y_left = q.y_left - 1
    q.line = q.line + q.cells[0]
    if q.y_left == 0 or q.y == q.cells[1]:
        if q.y_left > 0:
            q.y = 0
        else:
            q.y = q.first[1]
            q.y_left = q.span[1]
            q.z = q.z + 1
            q.z_left = q.z_left - 1
            if q.z_left == 0:
                q.z = q.first[2]
                q.z_left = q.span[2]
                q.layer = q.layer + 1
            elif q.z == q.cells[2]:
                q.z = 0
        q.line = ((q.layer * q.cells[2] + q.z) * q.cells[1] + q.y) * q.cells[0]
    return q


@func
def window(q: HashGridQuery, k: int32):
    """Coordinates of sorted points k to k + LANES - 1."""
    return q.grid.x[k], q.grid.y[k], q.grid.z[k]


@func(overload_of=window)
def window(q: HashGridQueryD, k: int32):
    return q.grid.xd[k], q.grid.yd[k], q.grid.zd[k]


@func
def shortest(d: Any, period: Any) -> Any:
    """How long the differences d are the shorter way round."""
    long = max(d, -d)
    return min(long, period - long)


@func
def near(q: Any, k: int32) -> int32:
    """Bit b says whether sorted point k + b is a neighbour, for b below LANES."""
    x, y, z = window(q, k)
    lane = type(x)
    dx = x - lane(q.point[0])
    dy = y - lane(q.point[1])
    dz = z - lane(q.point[2])
    if q.periodic != 0:
        dx = shortest(dx, lane(q.period[0]))
        dy = shortest(dy, lane(q.period[1]))
        dz = shortest(dz, lane(q.period[2]))
    dx = dx * q.unit
    dy = dy * q.unit
    dz = dz * q.unit
    return mask_at_most(cw_mul(dx, dx) + cw_mul(dy, dy) + cw_mul(dz, dz), q.limit)


@func
def lowest_bit(hits: int32) -> int32:
    """The number of the lowest bit that is set."""
    return bit_count(~hits & (hits - 1))


@func
def of_group(q: Any, hits: int32) -> int32:
    """The hits that belong to the group of the query."""
    kept = int32(hits)
    while hits != 0:
        lowest = hits & -hits
        hits = hits - lowest
        if q.grid.group[q.base + lowest_bit(lowest)] != q.group:
            kept = kept - lowest
    return kept


@func
def advanced(q: Any, index: int32):
    """The query after its next neighbour, the index of that, and whether there was one."""
    found = True
    while q.hits == 0:
        if q.cursor >= q.end:
            if q.rows_left == 0:
                found = False
                break
            q = next_range(q)
        left = max(q.end - q.cursor, 0)
        q.base = q.cursor
        q.hits = near(q, q.cursor) & ((1 << min(left, LANES)) - 1)
        if q.one_group != 0:
            q.hits = of_group(q, q.hits)
        q.cursor = q.cursor + LANES
    if found:
        index = q.grid.point[q.base + lowest_bit(q.hits)]
        q.hits = q.hits & (q.hits - 1)
    return q, index, found


# ----- public -----------------------------------------------------------------------------------


@func
def hash_grid_query(id: uint64, point: vec3f, max_dist: float32) -> HashGridQuery:
    """A query of all points within `max_dist` of `point`. See `hash_grid_query_next`."""
    grid = resolve(id, HashGridData)
    return begun(HashGridQuery(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3f, max_dist: float32, group: int32) -> HashGridQuery:
    """A query of the points of one group. Groups that the grid was built without play no part."""
    grid = resolve(id, HashGridData)
    return begun(HashGridQuery(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3d, max_dist: float64) -> HashGridQueryD:
    """A query of a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return begun(HashGridQueryD(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3d, max_dist: float64, group: int32) -> HashGridQueryD:
    """A query of the points of one group in a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return begun(HashGridQueryD(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(inout=("query", "index"))
def hash_grid_query_next(query: HashGridQuery, index: int32) -> tuple[HashGridQuery, int32, bool]:
    """Whether there is another neighbour; its index in the user's array goes to `index`.

    At the end `index` keeps its value.
    """
    return advanced(query, index)


@func(overload_of=hash_grid_query_next, inout=("query", "index"))
def hash_grid_query_next(query: HashGridQueryD, index: int32) -> tuple[HashGridQueryD, int32, bool]:
    return advanced(query, index)


HashGridQuery.next_in_kernel = hash_grid_query_next
HashGridQueryD.next_in_kernel = hash_grid_query_next


@func
def hash_grid_point_id(id: uint64, index: int32) -> int32:
    """The user's index of a sorted point; -1 for an `index` out of range.

    Threads that take points in this order work on neighbours in space, so that they share the cache. All points
    occur once; those with a NaN or an infinity come last.
    """
    grid = resolve(id, HashGridData)
    if index < 0 or index >= len(grid.point):
        return -1
    return grid.point[index]


@func
def nearest_image(offset: Any, period: Any) -> Any:
    """The shortest of a difference of positions and its images, all `vec3`; a period of 0 stands for none.

    What kernels need beside queries of periodic grids. The derivative is that of `offset`.
    """
    for axis in range(3):
        length = stop_gradient(period[axis])
        if length > type(length)(0.0):
            offset[axis] = offset[axis] - length * rint(offset[axis] / length)
    return offset

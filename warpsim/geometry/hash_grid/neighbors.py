"""Neighbours of a position in a hash grid, one after the other: `hash_grid_neighbors`.

A query yields every point p_i with |p_i - p| <= max_dist exactly once, and nothing else: distances are tested here,
with positions as the grid was built from, in the precision of the points, as `dot(d, d) <= max_dist * max_dist` for
d = p_i - p, free of overflow and underflow. In a periodic grid d is the shortest difference between p, p_i and its
images; each point comes once, however large `max_dist` is. The order is fixed by the grid: row of cells by row of
cells, and by index within a cell. A point that is a neighbour of itself is found too. There is nothing near a NaN or
an infinity, nor within a negative or NaN `max_dist`; an infinite one reaches everything. (Kernels compiled with
`fast_math` leave that open.) A position of the other precision than the grid's finds nothing.

A query tests `LANES` sorted points at once; what remains is a word with a bit for each hit.

Queries have no derivative: they are integers, and gradients flow through what the kernel computes from
`points[index]`. The adjoint of a loop over a query runs the same query again.
"""

from __future__ import annotations

from typing import Any

from ...core.language import float32, float64, int32, uint32, uint64, vec3d, vec3f
from ...core.language import cw_mul, func, mask_at_most, max, min, resolve, rint, stop_gradient, struct
from ...core.lib.bits import unit_for
from .data import HashGridData, image_in_period
from .walk import Walk, at_first_row, meets_any, next_point, within

_ROUNDING = 1.0 + 2.0**-20  # a test passes points that are a few units of rounding farther than max_dist
_INFINITE = float("inf")


@struct
class HashGridNeighbors:
    """A query of the true neighbours in a grid of float32 points, by value."""

    walk: Walk
    point: vec3f
    unit: float32  # lengths are multiplied by this power of two before they are squared
    limit: float32  # max_dist * max_dist, so multiplied
    period: vec3f  # infinite along an axis that has none
    periodic: int32


@struct
class HashGridNeighborsD:
    """A query of the true neighbours in a grid of float64 points, see `HashGridNeighbors`."""

    walk: Walk
    point: vec3d
    unit: float64
    limit: float64
    period: vec3d
    periodic: int32


# ----- begin ------------------------------------------------------------------------------------


@func
def start_query(q: Any, grid: Any, point: Any, max_dist: Any, group: int32, one_group: bool) -> Any:
    """Set a fresh query to its start, before the first neighbour."""
    q.walk.grid = grid
    if not meets_any(grid, point, max_dist):
        return q
    plan = grid.plan[0]
    reach = float64(max_dist) * _ROUNDING
    for axis in range(3):
        x = float64(point[axis])
        first, span = within(plan, axis, x - reach, x + reach)
        q.walk.first[axis] = first
        q.walk.span[axis] = span
        q.point[axis] = point.dtype(image_in_period(x, plan.period[axis]))
        q.period[axis] = point.dtype(_INFINITE)
        if plan.period[axis] > 0.0:
            q.period[axis] = point.dtype(plan.period[axis])
            q.periodic = 1
    q.unit = unit_for(max_dist)
    q.limit = (max_dist * q.unit) * (max_dist * q.unit)
    q.walk = at_first_row(q.walk, plan, group, one_group)
    return q


# ----- next -------------------------------------------------------------------------------------


@func
def window(q: HashGridNeighbors, k: int32):
    """Coordinates of sorted points k to k + LANES - 1."""
    at = uint32(k)  # not negative, so that it never counts from the end
    return q.walk.grid.x[at], q.walk.grid.y[at], q.walk.grid.z[at]


@func(overload_of=window)
def window(q: HashGridNeighborsD, k: int32):
    at = uint32(k)
    return q.walk.grid.xd[at], q.walk.grid.yd[at], q.walk.grid.zd[at]


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


# ----- public -----------------------------------------------------------------------------------


@func
def hash_grid_neighbors(id: uint64, point: vec3f, max_dist: float32) -> HashGridNeighbors:
    """A query of all points within `max_dist` of `point`, each once. See `hash_grid_neighbors_next`.

    Distances are those to positions as the grid was built from, round its `period` the shorter way.
    """
    grid = resolve(id, HashGridData)
    return start_query(HashGridNeighbors(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_neighbors)
def hash_grid_neighbors(id: uint64, point: vec3f, max_dist: float32, group: int32) -> HashGridNeighbors:
    """A query of the points of one group. Groups that the grid was built without play no part."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridNeighbors(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(overload_of=hash_grid_neighbors)
def hash_grid_neighbors(id: uint64, point: vec3d, max_dist: float64) -> HashGridNeighborsD:
    """A query of a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridNeighborsD(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_neighbors)
def hash_grid_neighbors(id: uint64, point: vec3d, max_dist: float64, group: int32) -> HashGridNeighborsD:
    """A query of the points of one group in a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridNeighborsD(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(inout=("query", "index"))
def hash_grid_neighbors_next(query: HashGridNeighbors, index: int32) -> tuple[HashGridNeighbors, int32, bool]:
    """Whether there is another neighbour; its index in the user's array goes to `index`.

    At the end `index` keeps its value.
    """
    return next_point(query, index, near)


@func(overload_of=hash_grid_neighbors_next, inout=("query", "index"))
def hash_grid_neighbors_next(query: HashGridNeighborsD, index: int32) -> tuple[HashGridNeighborsD, int32, bool]:
    return next_point(query, index, near)


HashGridNeighbors.next_in_kernel = hash_grid_neighbors_next
HashGridNeighborsD.next_in_kernel = hash_grid_neighbors_next


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

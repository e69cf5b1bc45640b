"""Candidates for neighbours of a position in a hash grid, one after the other: `hash_grid_query`.

A query yields every point that the build found in one of the cells that `point - max_dist` to `point + max_dist`
covers, each once. A cell is a cube of the width that the grid was built with, and cells repeat at the dimensions of
the grid, or, along an axis with a period, at that. So some candidates are farther away than `max_dist`, and points
that moved a little since the build are still among them: kernels compute the distance themselves, from positions of
now and with an image of their own choice. Which points are candidates follows from their cells alone, not from how
many points there are. The order is fixed by the grid: row of cells by row of cells, and by index within a cell.
There are no candidates near a NaN or an infinity, nor for a negative or NaN `max_dist`; an infinite one covers all
cells. A position of float32 in a grid of float64 points, or the other way round, finds nothing; those of
float16 are float32 ones to both.

Queries have no derivative, as those of `hash_grid_neighbors`.
"""

from __future__ import annotations

from typing import Any

from ...core.language import float16, float32, float64, int32, uint32, uint64, vec3d, vec3f, vec3h
from ...core.language import func, min, resolve, stop_gradient, struct
from ...core.types.scalars import canonical
from ...errors import ArgumentTypeError
from .data import LANES, HashGridData, cell_number, remainder
from .walk import Walk, arc, at_first_row, cell_span, meets_any, next_point


@struct
class HashGridQuery:
    """A query of candidates in a grid of float32 points, by value."""

    walk: Walk
    folded: int32  # 1 if places are shared by several cells: those of points are looked at, then
    low: vec3d  # the first cell that is covered along each axis
    count: vec3d  # how many cells are
    per_around: vec3d  # 1 / number of cells after which an axis repeats


@struct
class HashGridQueryD:
    """A query of candidates in a grid of float64 points, see `HashGridQuery`."""

    walk: Walk
    folded: int32
    low: vec3d
    count: vec3d
    per_around: vec3d


_KINDS = {float16: HashGridQuery, float32: HashGridQuery, float64: HashGridQueryD}


def _of_precision(dtype: type) -> Any:
    """`HashGridQuery[wp.float64]`: the type of queries with positions of a precision."""
    kind = _KINDS.get(canonical(dtype))
    if kind is None:
        raise ArgumentTypeError(f"HashGridQuery[{dtype!r}]\nexpected: float16, float32 or float64")
    return kind


HashGridQuery.__class_getitem__ = staticmethod(_of_precision)


# ----- begin ------------------------------------------------------------------------------------


@func
def start_query(q: Any, grid: Any, point: Any, max_dist: Any, group: int32, one_group: bool) -> Any:
    """Set a fresh query to its start, before the first candidate."""
    q.walk.grid = grid
    if not meets_any(grid, point, max_dist):
        return q
    plan = grid.plan[0]
    reach = float64(max_dist)
    for axis in range(3):
        x = float64(point[axis])
        low, count = cell_span(plan, axis, x - reach, x + reach)
        first, span = arc(plan, axis, low, count)
        q.walk.first[axis] = first
        q.walk.span[axis] = span
        q.low[axis] = low
        q.count[axis] = count
        q.per_around[axis] = 1.0 / plan.around[axis]
        if float64(plan.cells[axis]) < plan.extent[axis]:
            q.folded = 1
    q.walk = at_first_row(q.walk, plan, group, one_group)
    return q


# ----- next -------------------------------------------------------------------------------------


@func
def coordinate(q: HashGridQuery, k: int32, axis: int32) -> float64:
    """Of sorted point k, as the grid was built from it; in a period, that of its first image."""
    if axis == 0:
        return float64(q.walk.grid.x[uint32(k)][0])
    return float64(q.walk.grid.y[uint32(k)][0]) if axis == 1 else float64(q.walk.grid.z[uint32(k)][0])


@func(overload_of=coordinate)
def coordinate(q: HashGridQueryD, k: int32, axis: int32) -> float64:
    if axis == 0:
        return q.walk.grid.xd[uint32(k)][0]
    return q.walk.grid.yd[uint32(k)][0] if axis == 1 else q.walk.grid.zd[uint32(k)][0]


@func
def in_covered_cell(q: Any, k: int32) -> bool:
    """Whether sorted point k lies in a cell that is covered, not only in the same place as one."""
    plan = q.walk.grid.plan[0]
    inside = True
    for axis in range(3):
        if inside and float64(plan.cells[axis]) < plan.extent[axis]:
            cell = cell_number(coordinate(q, k, axis) * plan.scale[axis]) - plan.origin[axis] - q.low[axis]
            inside = remainder(cell, plan.around[axis], q.per_around[axis]) < q.count[axis]
    return inside


@func
def covered_lanes(q: Any, k: int32) -> int32:
    """Bit b says whether sorted point k + b lies in a covered cell, for b below LANES."""
    hits = int32((1 << LANES) - 1)
    if q.folded != 0:
        for b in range(min(q.walk.end - k, LANES)):
            if not in_covered_cell(q, k + b):
                hits = hits - (1 << b)
    return hits


# ----- public -----------------------------------------------------------------------------------


@func
def hash_grid_query(id: uint64, point: vec3f, max_dist: float32) -> HashGridQuery:
    """A query of all points in the cells that `point - max_dist` to `point + max_dist` covers: candidates.

    Some are farther away than `max_dist`: the kernel tests distances. See `hash_grid_query_next`, and
    `hash_grid_neighbors` for the points within `max_dist` and no others.
    """
    grid = resolve(id, HashGridData)
    return start_query(HashGridQuery(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3f, max_dist: float32, group: int32) -> HashGridQuery:
    """A query of the points of one group. Groups that the grid was built without play no part."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridQuery(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3d, max_dist: float64) -> HashGridQueryD:
    """A query of a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridQueryD(), grid, stop_gradient(point), stop_gradient(max_dist), 0, False)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3d, max_dist: float64, group: int32) -> HashGridQueryD:
    """A query of the points of one group in a grid of float64 points."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridQueryD(), grid, stop_gradient(point), stop_gradient(max_dist), group, True)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3h, max_dist: float16) -> HashGridQuery:
    """A query of a grid of float16 points."""
    grid = resolve(id, HashGridData)
    return start_query(HashGridQuery(), grid, vec3f(stop_gradient(point)), float32(stop_gradient(max_dist)), 0, False)


@func(overload_of=hash_grid_query)
def hash_grid_query(id: uint64, point: vec3h, max_dist: float16, group: int32) -> HashGridQuery:
    """A query of the points of one group in a grid of float16 points."""
    grid = resolve(id, HashGridData)
    place, reach = vec3f(stop_gradient(point)), float32(stop_gradient(max_dist))
    return start_query(HashGridQuery(), grid, place, reach, group, True)


@func(inout=("query", "index"))
def hash_grid_query_next(query: HashGridQuery, index: int32) -> tuple[HashGridQuery, int32, bool]:
    """Whether there is another candidate; its index in the user's array goes to `index`.

    At the end `index` keeps its value.
    """
    return next_point(query, index, covered_lanes)


@func(overload_of=hash_grid_query_next, inout=("query", "index"))
def hash_grid_query_next(query: HashGridQueryD, index: int32) -> tuple[HashGridQueryD, int32, bool]:
    return next_point(query, index, covered_lanes)


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

"""Queries of boxes by the lanes of a block, of which there is one: each call gives a tile of one number."""

from __future__ import annotations

from typing import Any

from ...core.language import TypeVariable, bool_, func, int32, struct, uint64, vec3, zeros
from .query import BvhQueryAabb, BvhQueryRay, bvh_query_aabb, bvh_query_next, bvh_query_ray


@struct
class BvhQueryAabbTiled:
    """A query of boxes that meet a box, and whether it has ended."""

    query: BvhQueryAabb
    ended: bool_


@struct
class BvhQueryRayTiled:
    """A query of boxes that a ray meets, and whether it has ended."""

    query: BvhQueryRay
    ended: bool_


BvhQueryTiled = TypeVariable("BvhQueryTiled", lambda t: t in (BvhQueryAabbTiled, BvhQueryRayTiled))
"""Any such query, as an annotation of functions that take one."""


@func
def tile_bvh_query_aabb(id: uint64, low: vec3, high: vec3) -> BvhQueryAabbTiled:
    """A query of all boxes that meet the box from `low` to `high`, for `tile_bvh_query_next`."""
    tiled = BvhQueryAabbTiled()
    tiled.query = bvh_query_aabb(id, low, high)
    return tiled


@func
def tile_bvh_query_ray(id: uint64, start: vec3, dir: vec3) -> BvhQueryRayTiled:
    """A query of all boxes that a ray meets, for `tile_bvh_query_next`; `dir` need not be a unit vector."""
    tiled = BvhQueryRayTiled()
    tiled.query = bvh_query_ray(id, start, dir)
    return tiled


@func
def next_number(tiled: Any) -> Any:
    """The query after its next box, and the number of that as a tile; -1 at the end."""
    query, index = tiled.query, int32(-1)
    has_next = bvh_query_next(query, index)
    numbers = zeros(shape=1, dtype=int32)
    numbers[0] = index
    tiled.query, tiled.ended = query, not has_next
    return tiled, numbers


@func(inout=("query",))
def tile_bvh_query_next(query: BvhQueryAabbTiled) -> tuple[BvhQueryAabbTiled, Any]:
    """The numbers of the next boxes, one for each lane, as a tile of one int32: -1 at the end of the query."""
    return next_number(query)


@func(inout=("query",), overload_of=tile_bvh_query_next)
def tile_bvh_query_next(query: BvhQueryRayTiled) -> tuple[BvhQueryRayTiled, Any]:
    return next_number(query)


@func
def tile_query_valid(query: BvhQueryAabbTiled) -> bool_:
    """Whether a query goes on: until a call of its `next` found nothing."""
    return not query.ended


@func(overload_of=tile_query_valid)
def tile_query_valid(query: BvhQueryRayTiled) -> bool_:
    return not query.ended


bvh_query_aabb_tiled, bvh_query_ray_tiled, bvh_query_next_tiled = (
    tile_bvh_query_aabb, tile_bvh_query_ray, tile_bvh_query_next,
)  # fmt: skip
"""The older names."""

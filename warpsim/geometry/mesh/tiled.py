"""Queries of faces by the lanes of a block, of which there is one: each call gives a tile of one number."""

from __future__ import annotations

from typing import Any

from ...core.language import bool_, func, int32, struct, uint64, vec3, zeros
from ..bvh.tiled import tile_query_valid
from .overlap import MeshQueryAABB, mesh_query_aabb, mesh_query_next


@struct
class MeshQueryAABBTiled:
    """A query of faces whose boxes meet a box, and whether it has ended."""

    query: MeshQueryAABB
    ended: bool_


@func
def tile_mesh_query_aabb(id: uint64, low: vec3, high: vec3) -> MeshQueryAABBTiled:
    """A query of the faces whose bounding boxes meet the box from `low` to `high`, as `mesh_query_aabb`."""
    tiled = MeshQueryAABBTiled()
    tiled.query = mesh_query_aabb(id, low, high)
    return tiled


@func(inout=("query",))
def tile_mesh_query_aabb_next(query: MeshQueryAABBTiled) -> tuple[MeshQueryAABBTiled, Any]:
    """The next faces, one for each lane, as a tile of one int32: -1 at the end of the query."""
    inner, index = query.query, int32(-1)
    has_next = mesh_query_next(inner, index)
    faces = zeros(shape=1, dtype=int32)
    faces[0] = index
    query.query, query.ended = inner, not has_next
    return query, faces


@func(overload_of=tile_query_valid)
def _tile_mesh_query_valid(query: MeshQueryAABBTiled) -> bool_:
    return not query.ended


mesh_query_aabb_tiled, mesh_query_aabb_next_tiled = tile_mesh_query_aabb, tile_mesh_query_aabb_next
"""The older names."""

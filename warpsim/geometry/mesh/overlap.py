"""Faces of a mesh near a box or a sphere, one after the other.

    query = wp.mesh_query_sphere(mesh, center, radius)
    for face in query:
        ...

A query is a value: it knows its place in the tree, and the faces of the present leaf that are still to come as
bits. It needs no stack, because nodes know their parents. Every face comes once, in the order of the tree.
"""

from __future__ import annotations

from typing import Any

from ...core.language import TypeVariable, float32, int32, uint64, vec3, vec4
from ...core.language import func, greater, lesser, mask_at_most, max, resolve, struct, where
from ..bvh.boxes import box_distances_sq, is_finite
from ..bvh.nodes import EMPTY, BvhNode, leaf_count, leaf_first
from ...core.lib.bits import lowest_bit
from .closest import ROUNDING, pack_distances
from .data import LANES, MeshData, TrianglePack, vec8


@struct
class MeshQueryAABB:
    """Faces whose boxes meet a box: what is left of them."""

    id: uint64
    lower: vec3
    upper: vec3
    slot: int32  # the next to look at: 4 * node + slot; -1 at the end
    first: int32  # position of the leaf whose faces `lanes` names
    lanes: int32


@struct
class MeshQuerySphere:
    """Faces with a point in a ball: what is left of them."""

    id: uint64
    center: vec3
    squared: float32  # radius
    slot: int32
    first: int32
    lanes: int32


@func
def mesh_query_aabb(id: uint64, low: vec3, high: vec3) -> MeshQueryAABB:
    """The faces whose bounding boxes meet the box from `low` to `high`, touching included.

    That is what the name says: the face itself may pass by the box; `intersect_tri_aabb` tells. A box that
    is empty along an axis, or not a number, meets nothing.
    """
    query = MeshQueryAABB()
    query.id, query.lower, query.upper = id, low, high
    known = low[0] <= high[0] and low[1] <= high[1] and low[2] <= high[2]
    query.slot = where(known and resolve(id, MeshData).tree.nodes.shape[0] > 0, 0, -1)
    return query


@func
def mesh_query_sphere(id: uint64, center: vec3, radius: float32) -> MeshQuerySphere:
    """The faces that have a point within `radius` of `center`, touching included.

    A negative radius counts as 0; one that is not a number finds nothing. Squares of areas must be numbers of float32:
    inside of triangles larger than about 1e9, or smaller than about 1e-8, points may be missed, their edges are not.
    """
    query = MeshQuerySphere()
    query.id, query.center, query.squared = id, center, max(radius, 0.0) * max(radius, 0.0)
    known = is_finite(center) and radius == radius
    query.slot = where(known and resolve(id, MeshData).tree.nodes.shape[0] > 0, 0, -1)
    return query


@func
def _beside(lower: vec4, upper: vec4, low: float32, high: float32) -> vec4:
    """How far four intervals are from another; at most 0 where they meet."""
    return greater(lower - vec4(high), vec4(low) - upper)


@func
def boxes_meeting(node: BvhNode, low: vec3, high: vec3) -> int32:
    """A bit for each of the boxes of a node that meets a box."""
    x = _beside(node.lower_x, node.upper_x, low[0], high[0])
    y = _beside(node.lower_y, node.upper_y, low[1], high[1])
    z = _beside(node.lower_z, node.upper_z, low[2], high[2])
    return mask_at_most(x, 0.0) & mask_at_most(y, 0.0) & mask_at_most(z, 0.0)


@func
def _between(a: vec8, b: vec8, c: vec8, low: float32, high: float32) -> int32:
    """A bit for each of eight intervals, spanned by three numbers, that meets another."""
    lower, upper = lesser(a, lesser(b, c)), greater(a, greater(b, c))
    return mask_at_most(lower, high) & mask_at_most(-upper, -low)


@func
def faces_meeting(pack: TrianglePack, low: vec3, high: vec3) -> int32:
    """A bit for each triangle whose box meets a box."""
    x = _between(pack.ax, pack.bx, pack.cx, low[0], high[0])
    y = _between(pack.ay, pack.by, pack.cy, low[1], high[1])
    return x & y & _between(pack.az, pack.bz, pack.cz, low[2], high[2])


@func
def _after(data: MeshData, slot: int32) -> int32:
    """The slot to look at after one with all that is below it: the next of its node, or of the nodes above; else -1."""
    while slot >= 0 and slot % 4 == 3:
        slot = data.tree.nodes[slot // 4].parent
    return where(slot >= 0, slot + 1, -1)


@func
def boxes_met(query: MeshQueryAABB, node: BvhNode) -> int32:
    """A bit for each of the boxes of a node that the query meets."""
    return boxes_meeting(node, query.lower, query.upper)


@func(overload_of=boxes_met)
def boxes_met(query: MeshQuerySphere, node: BvhNode) -> int32:
    return mask_at_most(box_distances_sq(node, query.center) * ROUNDING, query.squared)


@func
def faces_met(query: MeshQueryAABB, pack: TrianglePack) -> int32:
    """A bit for each of the triangles that the query meets."""
    return faces_meeting(pack, query.lower, query.upper)


@func(overload_of=faces_met)
def faces_met(query: MeshQuerySphere, pack: TrianglePack) -> int32:
    return mask_at_most(pack_distances(pack, query.center), query.squared)


@func
def next_face(query: Any, index: int32) -> tuple[Any, int32, bool]:
    """The query after its next face, that face (else `index`), and whether there was one."""
    data = resolve(query.id, MeshData)
    while query.lanes == 0 and query.slot >= 0:
        slot = query.slot
        node = data.tree.nodes[slot // 4]
        child = node.child[slot % 4]
        if (boxes_met(query, node) >> (slot % 4)) & 1 == 0 or child == EMPTY:
            query.slot = _after(data, slot)
        elif child >= 0:
            query.slot = 4 * child
        else:
            query.first, query.slot = leaf_first(child), _after(data, slot)
            query.lanes = faces_met(query, data.packs[query.first // LANES]) & ((1 << leaf_count(child)) - 1)
    has_next = query.lanes != 0
    if has_next:
        index = data.tree.items[query.first + lowest_bit(query.lanes)]
        query.lanes = query.lanes & (query.lanes - 1)
    return query, index, has_next


@func(inout=("query", "index"))
def mesh_query_next(query: MeshQueryAABB, index: int32) -> tuple[MeshQueryAABB, int32, bool]:
    """Write the next face of a query to `index`; returns whether there is one. At the end `index` stays as it is."""
    return next_face(query, index)


@func(overload_of=mesh_query_next, inout=("query", "index"))
def mesh_query_next(query: MeshQuerySphere, index: int32) -> tuple[MeshQuerySphere, int32, bool]:
    """The same for a sphere."""
    return next_face(query, index)


mesh_query_aabb_next = mesh_query_next
"""The older name."""

MeshQueryAABB.next_in_kernel = MeshQuerySphere.next_in_kernel = mesh_query_next

MeshQuery = TypeVariable("MeshQuery", lambda t: t in (MeshQueryAABB, MeshQuerySphere))
"""Any query of faces near something, as an annotation of functions that take one."""

"""Rays against meshes: the first hit, any hit, how many crossings.

Boxes and a test in float32 that errs on the side of hits choose candidates; `ray_triangle` decides, watertight, and
its results are differentiable with respect to origin, direction and vertices: the derivative is that of the
hit face's plane, also for hits on a border. Of faces hit at the same computed time the smallest number wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.language import bool_, float32, int32, mat33, uint64, vec3, vec4
from ...core.language import cw_mul, func, greater, lesser, mask_at_most, max, min, resolve, struct, where
from ...core.lib.intersect import ray_crosses, ray_frame, ray_triangle
from ..bvh.boxes import LARGEST, box_spans, clamped_reciprocal, is_finite
from ..bvh.nodes import BvhNode, leaf_count, leaf_first
from ..bvh.traverse import nearest_first, visit_all
from ...core.lib.bits import lowest_bit
from .data import LANES, MeshData, TrianglePack, corners_of, face_normal, vec8
from .rim import rim_count


@struct
class MeshQueryRay:
    """A hit: at start + t dir, on `face` with weights u and v of its first two corners, 1 - u - v of the third."""

    result: bool_  # whether there is a hit
    sign: float32  # 1 where the front of the face is hit, -1 for its back
    face: int32
    t: float32
    u: float32
    v: float32
    normal: vec3  # of the face, unit length


# ----- search ---------------------------------------------------------------------------------


@func
def _shear(frame: mat33, x: vec8, y: vec8, z: vec8) -> tuple[vec8, vec8]:
    """Where eight points lie beside the ray."""
    first = x * frame[0, 0] + y * frame[0, 1] + z * frame[0, 2]
    return first, x * frame[1, 0] + y * frame[1, 1] + z * frame[1, 2]


@func
def pack_misses(pack: TrianglePack, frame: mat33, start: vec3) -> vec8:
    """Positive for triangles that the line certainly misses.

    A triangle is hit where its three edge functions have one sign; products rounded to float32 turn a small one
    into zero, but never into one of the other sign.
    """
    x, y, z = vec8(start[0]), vec8(start[1]), vec8(start[2])
    px, py = _shear(frame, pack.ax - x, pack.ay - y, pack.az - z)
    qx, qy = _shear(frame, pack.bx - x, pack.by - y, pack.bz - z)
    rx, ry = _shear(frame, pack.cx - x, pack.cy - y, pack.cz - z)
    u, v, w = cw_mul(qx, ry) - cw_mul(qy, rx), cw_mul(rx, py) - cw_mul(ry, px), cw_mul(px, qy) - cw_mul(py, qx)
    return lesser(-lesser(u, lesser(v, w)), greater(u, greater(v, w)))


@func
def entry_distances(enter: vec4, leave: vec4) -> vec4:
    """Where boxes are entered; infinity for those that are missed."""
    a, b = where(enter[0] <= leave[0], enter[0], math.inf), where(enter[1] <= leave[1], enter[1], math.inf)
    c, d = where(enter[2] <= leave[2], enter[2], math.inf), where(enter[3] <= leave[3], enter[3], math.inf)
    return vec4(a, b, c, d)


@struct
class Ray:
    """A ray as searches use it."""

    start: vec3
    inverse: vec3  # 1 / direction, by `clamped_reciprocal`
    frame: mat33  # see `ray_frame`


@func
def ray_of(start: vec3, dir: vec3) -> Ray:
    """The ray start + t dir."""
    return Ray(
        start=start,
        inverse=vec3(clamped_reciprocal(dir[0]), clamped_reciprocal(dir[1]), clamped_reciprocal(dir[2])),
        frame=ray_frame(dir),
    )


@func
def entry_times(search: Any, node: BvhNode) -> vec4:
    """When the ray of a search enters the boxes of a node; infinity for those that it misses before `search.limit`."""
    enter, leave = box_spans(node, search.ray.start, search.ray.inverse, search.limit)
    return entry_distances(enter, leave)


@func
def look_along(data: MeshData, search: Any, leaf: int32, meet: Callable) -> Any:
    """The search after `meet(data, search, face)` for the faces of a leaf that its ray may hit."""
    first = leaf_first(leaf)
    misses = pack_misses(data.packs[first // LANES], search.ray.frame, search.ray.start)
    lanes = mask_at_most(misses, 0.0) & ((1 << leaf_count(leaf)) - 1)
    while lanes != 0:
        search = meet(data, search, data.tree.items[first + lowest_bit(lanes)])
        lanes = lanes & (lanes - 1)
    return search


@struct
class FirstHit:
    """The face that is hit first, so far."""

    ray: Ray
    limit: float32  # the time of the hit; below zero when no other is wanted
    face: int32
    any_will_do: bool_


@func
def meet_first(data: MeshData, search: FirstHit, face: int32) -> FirstHit:
    """Keep a face that is hit before all others; of those hit at the same time the smallest number."""
    a, b, c = corners_of(data, face)
    hit, t, _, _, _ = ray_triangle(search.ray.frame, search.ray.start, a, b, c)
    if hit and t >= 0.0 and (t < search.limit or (t == search.limit and face < search.face)):
        search.limit, search.face = where(search.any_will_do, -1.0, t), face
    return search


@func
def look_first(data: MeshData, search: FirstHit, leaf: int32) -> FirstHit:
    """Look for an earlier hit in a leaf."""
    return look_along(data, search, leaf, meet_first)


@func(nondiff="a face is a number")
def first_hit(data: MeshData, start: vec3, dir: vec3, max_t: float32, any_will_do: bool, root: int32) -> int32:
    """The face below a node that is hit first at a time in [0, max_t), or -1. root: -1 for all faces."""
    search = FirstHit(ray=ray_of(start, dir), limit=min(max_t, LARGEST), face=-1, any_will_do=any_will_do)
    if max_t > 0.0 and is_finite(start) and is_finite(dir):
        search = nearest_first(data, search, entry_times, look_first, max(root, 0))
    return search.face


@struct
class CrossingCount:
    """Faces crossed so far."""

    ray: Ray
    root: int32  # the node below which faces count
    count: int32


@func
def enter_crossed(data: MeshData, search: CrossingCount, n: int32) -> tuple[CrossingCount, int32]:
    """Go on with the boxes that the ray meets."""
    enter, leave = box_spans(data.tree.nodes[n], search.ray.start, search.ray.inverse, LARGEST)
    return search, mask_at_most(enter - leave, 0.0)


@func
def count_crossing(data: MeshData, search: CrossingCount, face: int32) -> CrossingCount:
    """Count a face that is crossed; a border shared by two faces belongs to one of them."""
    a, b, c = corners_of(data, face)
    hit, t, _, _, _ = ray_triangle(search.ray.frame, search.ray.start, a, b, c)
    if hit and t >= 0.0 and ray_crosses(search.ray.frame, search.ray.start, a, b, c):
        search.count += 1
    return search


@func
def count_with_rim(data: MeshData, search: CrossingCount, face: int32) -> CrossingCount:
    """Count a face that is crossed; where the ray meets the rim of the mesh, one face."""
    a, b, c = corners_of(data, face)
    hit, t, _, _, _ = ray_triangle(search.ray.frame, search.ray.start, a, b, c)
    if hit and t >= 0.0:
        on_rim = rim_count(data, search.root, search.ray, face, a, b, c)
        if on_rim == 1 or (on_rim < 0 and ray_crosses(search.ray.frame, search.ray.start, a, b, c)):
            search.count += 1
    return search


@func
def look_with_rim(data: MeshData, search: CrossingCount, leaf: int32) -> CrossingCount:
    """Count the faces of a leaf that are crossed, the rim too."""
    return look_along(data, search, leaf, count_with_rim)


@func
def look_crossed(data: MeshData, search: CrossingCount, leaf: int32) -> CrossingCount:
    """Count the faces of a leaf that are crossed."""
    return look_along(data, search, leaf, count_crossing)


@func(nondiff="a count is a number")
def crossings(data: MeshData, start: vec3, dir: vec3, root: int32 = -1) -> int32:
    """How many faces below a node (-1: all) the ray crosses at times >= 0; a border shared by two faces belongs to one
    of them."""
    search = CrossingCount(ray=ray_of(start, dir), root=max(root, 0), count=0)
    if is_finite(start) and is_finite(dir):
        search = visit_all(data, search, enter_crossed, look_crossed, search.root)
    return search.count


@func(nondiff="a count is a number")
def crossings_with_rim(data: MeshData, start: vec3, dir: vec3, root: int32) -> int32:
    """The same, where an edge or a corner that faces do not close up around counts once."""
    search = CrossingCount(ray=ray_of(start, dir), root=max(root, 0), count=0)
    if is_finite(start) and is_finite(dir):
        search = visit_all(data, search, enter_crossed, look_with_rim, search.root)
    return search.count


# ----- queries --------------------------------------------------------------------------------


@func
def hit_of(data: MeshData, face: int32, start: vec3, dir: vec3) -> MeshQueryRay:
    """The hit of a face that is known to be hit, or of none (-1)."""
    query = MeshQueryRay()
    query.face = face
    if face >= 0:
        a, b, c = corners_of(data, face)
        _, t, u, v, sign = ray_triangle(ray_frame(dir), start, a, b, c)
        query.result, query.t, query.u, query.v, query.sign = True, t, u, v, sign
        query.normal = face_normal(a, b, c)
    return query


@func
def mesh_query_ray(id: uint64, start: vec3, dir: vec3, max_t: float32, root: int32 = -1) -> MeshQueryRay:
    """The first hit of the ray start + t dir with 0 <= t < max_t; `dir` need not have unit length.

    root: where to look, see `mesh_get_group_root`; -1 for all faces.

    Without a hit, `result` is False, `face` -1 and the rest 0. Faces seen edge-on are not hit.
    """
    data = resolve(id, MeshData)
    return hit_of(data, first_hit(data, start, dir, max_t, False, root), start, dir)


@func(overload_of=mesh_query_ray, inout=("t", "bary_u", "bary_v", "sign", "normal", "face"))
def mesh_query_ray(
    id: uint64, start: vec3, dir: vec3, max_t: float32, t: float32, bary_u: float32, bary_v: float32, sign: float32,
    normal: vec3, face: int32, root: int32 = -1,
) -> tuple[float32, float32, float32, float32, vec3, int32, bool]:  # fmt: skip
    """The same with a hit written to arguments, which stay as they are without one; returns whether there is one."""
    query = mesh_query_ray(id, start, dir, max_t, root)
    if query.result:
        t, bary_u, bary_v, sign, normal, face = query.t, query.u, query.v, query.sign, query.normal, query.face
    return t, bary_u, bary_v, sign, normal, face, query.result


@func
def mesh_query_ray_anyhit(id: uint64, start: vec3, dir: vec3, max_t: float32, root: int32 = -1) -> bool:
    """Whether the ray start + t dir hits anything with 0 <= t < max_t; root: as of `mesh_query_ray`."""
    return first_hit(resolve(id, MeshData), start, dir, max_t, True, root) >= 0


@func
def mesh_query_ray_count_intersections(id: uint64, start: vec3, dir: vec3, root: int32 = -1) -> int32:
    """How many faces the ray start + t dir crosses at t >= 0; root: as of `mesh_query_ray`.

    A ray through an edge or a corner crosses as many of the faces there as a ray beside it, up to an even
    number: so the count is odd exactly for a start inside a closed mesh. At the rim of an open mesh it crosses one.
    """
    return crossings_with_rim(resolve(id, MeshData), start, dir, root)

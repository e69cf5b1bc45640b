"""Rays against meshes: the first hit, any hit, how many crossings.

Boxes and a test in float32 that errs on the side of hits choose candidates; `ray_triangle` decides, watertight, and
its results are differentiable with respect to origin, direction and vertices: the derivative is that of the
hit face's plane, also for hits on a border. Of faces hit at the same computed time the smallest number wins.
"""

from __future__ import annotations

import math

from ...core.language import (
    bool_, cw_mul, float32, func, greater, int32, lesser, mask_at_most, mat33, min, resolve,
    struct, uint64, vec3, vec4, where, zeros,
)  # fmt: skip
from ...core.lib.intersect import ray_crosses, ray_frame, ray_triangle
from ..bvh.nodes import STACK_SIZE, leaf_count, leaf_first
from ..bvh.walk import LARGEST, box_spans, inverted, is_finite, sorted_down
from .data import LANES, MeshData, TrianglePack, corners_of, face_normal, lowest_bit, vec8


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
def _sheared(frame: mat33, x: vec8, y: vec8, z: vec8) -> tuple[vec8, vec8]:
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
    px, py = _sheared(frame, pack.ax - x, pack.ay - y, pack.az - z)
    qx, qy = _sheared(frame, pack.bx - x, pack.by - y, pack.bz - z)
    rx, ry = _sheared(frame, pack.cx - x, pack.cy - y, pack.cz - z)
    u, v, w = cw_mul(qx, ry) - cw_mul(qy, rx), cw_mul(rx, py) - cw_mul(ry, px), cw_mul(px, qy) - cw_mul(py, qx)
    return lesser(-lesser(u, lesser(v, w)), greater(u, greater(v, w)))


@func
def entered(enter: vec4, leave: vec4) -> vec4:
    """Where boxes are entered; infinity for those that are missed."""
    a, b = where(enter[0] <= leave[0], enter[0], math.inf), where(enter[1] <= leave[1], enter[1], math.inf)
    c, d = where(enter[2] <= leave[2], enter[2], math.inf), where(enter[3] <= leave[3], enter[3], math.inf)
    return vec4(a, b, c, d)


@func
def candidates(misses: vec8, count: int32) -> int32:
    """A bit for each of the first `count` triangles that may be hit."""
    return mask_at_most(misses, 0.0) & ((1 << count) - 1)


@func(nondiff="a face is a number")
def first_hit(data: MeshData, start: vec3, dir: vec3, max_t: float32, any_will_do: bool) -> int32:
    """The face that is hit first at a time in [0, max_t), or -1."""
    stack, bounds = zeros(shape=STACK_SIZE, dtype=int32), zeros(shape=STACK_SIZE, dtype=float32)
    frame = ray_frame(dir)
    inverse = vec3(inverted(dir[0]), inverted(dir[1]), inverted(dir[2]))
    best, face = min(max_t, LARGEST), int32(-1)
    top = where(data.tree.nodes.shape[0] > 0 and max_t > 0.0 and is_finite(start) and is_finite(dir), 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if bounds[top] <= best:
            if child >= 0:
                node = data.tree.nodes[child]
                enter, leave = box_spans(node, start, inverse, best)
                keys, children = sorted_down(entered(enter, leave), node.child)
                for k in range(4):
                    if keys[k] <= best:
                        stack[top] = children[k]
                        bounds[top] = keys[k]
                        top += 1
            else:
                first = leaf_first(child)
                lanes = candidates(pack_misses(data.packs[first // LANES], frame, start), leaf_count(child))
                while lanes != 0:
                    other = data.tree.items[first + lowest_bit(lanes)]
                    lanes = lanes & (lanes - 1)
                    a, b, c = corners_of(data, other)
                    hit, t, _, _, _ = ray_triangle(frame, start, a, b, c)
                    if hit and t >= 0.0 and (t < best or (t == best and other < face)):
                        best, face = t, other
                        if any_will_do:
                            lanes, top = 0, 0
    return face


@func(nondiff="a count is a number")
def crossings(data: MeshData, start: vec3, dir: vec3) -> int32:
    """How many faces the ray crosses at times >= 0; a border shared by two faces belongs to one of them."""
    stack = zeros(shape=STACK_SIZE, dtype=int32)
    frame = ray_frame(dir)
    inverse = vec3(inverted(dir[0]), inverted(dir[1]), inverted(dir[2]))
    found = int32(0)
    top = where(data.tree.nodes.shape[0] > 0 and is_finite(start) and is_finite(dir), 1, 0)
    while top > 0:
        top -= 1
        child = stack[top]
        if child >= 0:
            node = data.tree.nodes[child]
            enter, leave = box_spans(node, start, inverse, LARGEST)
            for k in range(4):
                if enter[k] <= leave[k]:
                    stack[top] = node.child[k]
                    top += 1
        else:
            first = leaf_first(child)
            lanes = candidates(pack_misses(data.packs[first // LANES], frame, start), leaf_count(child))
            while lanes != 0:
                a, b, c = corners_of(data, data.tree.items[first + lowest_bit(lanes)])
                lanes = lanes & (lanes - 1)
                hit, t, _, _, _ = ray_triangle(frame, start, a, b, c)
                if hit and t >= 0.0 and ray_crosses(frame, start, a, b, c):
                    found += 1
    return found


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
def mesh_query_ray(id: uint64, start: vec3, dir: vec3, max_t: float32) -> MeshQueryRay:
    """The first hit of the ray start + t dir with 0 <= t < max_t; `dir` need not have unit length.

    Without a hit, `result` is False, `face` -1 and the rest 0. Faces seen edge-on are not hit.
    """
    data = resolve(id, MeshData)
    return hit_of(data, first_hit(data, start, dir, max_t, False), start, dir)


@func(overload_of=mesh_query_ray, inout=("t", "bary_u", "bary_v", "sign", "normal", "face"))
def mesh_query_ray(
    id: uint64, start: vec3, dir: vec3, max_t: float32, t: float32, bary_u: float32, bary_v: float32, sign: float32,
    normal: vec3, face: int32,
) -> tuple[float32, float32, float32, float32, vec3, int32, bool]:  # fmt: skip
    """The same with a hit written to arguments, which stay as they are without one; returns whether there is one."""
    query = mesh_query_ray(id, start, dir, max_t)
    if query.result:
        t, bary_u, bary_v, sign, normal, face = query.t, query.u, query.v, query.sign, query.normal, query.face
    return t, bary_u, bary_v, sign, normal, face, query.result


@func
def mesh_query_ray_anyhit(id: uint64, start: vec3, dir: vec3, max_t: float32) -> bool:
    """Whether the ray start + t dir hits anything with 0 <= t < max_t."""
    return first_hit(resolve(id, MeshData), start, dir, max_t, True) >= 0


@func
def mesh_query_ray_count_intersections(id: uint64, start: vec3, dir: vec3) -> int32:
    """How many faces the ray start + t dir crosses at t >= 0.

    A ray through an edge or a corner crosses as many of the faces there as a ray beside it, up to an even
    number: so the count is odd exactly for a start inside a closed mesh.
    """
    return crossings(resolve(id, MeshData), start, dir)

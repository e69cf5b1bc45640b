"""Closest and furthest points of meshes, without a sign and with one of four kinds of sign.

Each query has two forms: one returns a `MeshQueryPoint`, the older one writes to its arguments and returns whether
a face was found. The face comes from a search without derivatives; its weights u and v are computed from it,
the point and the vertices, with the derivatives of the closest feature: see `closest_point_triangle`, also for points
that are equally close to two. At points equally close to two faces the derivative is that of the face found.
"""

from __future__ import annotations

from ...core.language import bool_, dot, float32, func, int32, resolve, struct, uint64, vec3, where
from ...core.lib.closest import closest_point_triangle
from .closest import closest_face, furthest_face
from .data import MeshData, corners_of
from .pseudonormal import sign_by_normal
from .sign import sign_by_parity, sign_by_rays
from .winding import winding_number


@struct
class MeshQueryPoint:
    """A point of `face`: with weights u and v of its first two corners, and 1 - u - v of the third."""

    result: bool_  # whether there is one
    sign: float32  # -1 where the query point is inside, 1 outside; 0 for queries without sign
    face: int32
    u: float32
    v: float32


@func
def closest_of(data: MeshData, face: int32, point: vec3, sign: float32) -> MeshQueryPoint:
    """The point of a face closest to `point`, or nothing for the face -1."""
    query = MeshQueryPoint()
    query.face = face
    if face >= 0:
        a, b, c = corners_of(data, face)
        query.u, query.v = closest_point_triangle(point, a, b, c)
        query.result, query.sign = True, sign
    return query


@func
def mesh_query_point_no_sign(id: uint64, point: vec3, max_dist: float32) -> MeshQueryPoint:
    """The point of the mesh closest to `point`, if it is strictly closer than `max_dist`.

    Of equally close faces that with the smallest number. Squares of areas must be numbers of float32: distances may
    be up to 1e9, and triangles smaller than about 1e-8 count as their edges. That holds for all queries for points.
    """
    data = resolve(id, MeshData)
    return closest_of(data, closest_face(data, point, max_dist), point, 0.0)


@func(overload_of=mesh_query_point_no_sign, inout=("face", "bary_u", "bary_v"))
def mesh_query_point_no_sign(
    id: uint64, point: vec3, max_dist: float32, face: int32, bary_u: float32, bary_v: float32
) -> tuple[int32, float32, float32, bool]:
    """The same, written to arguments."""
    query = mesh_query_point_no_sign(id, point, max_dist)
    if query.result:
        face, bary_u, bary_v = query.face, query.u, query.v
    return face, bary_u, bary_v, query.result


@func
def mesh_query_furthest_point_no_sign(id: uint64, point: vec3, min_dist: float32) -> MeshQueryPoint:
    """The point of the mesh furthest from `point`, if it is strictly further than `min_dist`: always a vertex."""
    data = resolve(id, MeshData)
    query = MeshQueryPoint()
    query.face = furthest_face(data, point, min_dist)
    if query.face >= 0:
        a, b, c = corners_of(data, query.face)
        first, second, third = dot(a - point, a - point), dot(b - point, b - point), dot(c - point, c - point)
        query.result = True
        if first >= second and first >= third:
            query.u = 1.0
        elif second >= third:
            query.v = 1.0
    return query


@func(overload_of=mesh_query_furthest_point_no_sign, inout=("face", "bary_u", "bary_v"))
def mesh_query_furthest_point_no_sign(
    id: uint64, point: vec3, min_dist: float32, face: int32, bary_u: float32, bary_v: float32
) -> tuple[int32, float32, float32, bool]:
    """The same, written to arguments."""
    query = mesh_query_furthest_point_no_sign(id, point, min_dist)
    if query.result:
        face, bary_u, bary_v = query.face, query.u, query.v
    return face, bary_u, bary_v, query.result


@func
def mesh_query_point(id: uint64, point: vec3, max_dist: float32) -> MeshQueryPoint:
    """The point of the mesh closest to `point`, if it is strictly closer than `max_dist`, and a sign.

    `sign` is -1 where at least two of the three rays from `point` along the positive axes first hit the back of a
    face, else 1. A front and a back that are hit at once, where a ray grazes an edge, do not count. Rays look at the
    whole mesh, whatever `max_dist` is. Right for closed meshes; in a mesh with holes, a vote of what is seen.
    """
    data = resolve(id, MeshData)
    face = closest_face(data, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = sign_by_rays(data, point)
    return closest_of(data, face, point, sign)


@func(overload_of=mesh_query_point, inout=("inside", "face", "bary_u", "bary_v"))
def mesh_query_point(
    id: uint64, point: vec3, max_dist: float32, inside: float32, face: int32, bary_u: float32, bary_v: float32
) -> tuple[float32, int32, float32, float32, bool]:
    """The same, written to arguments: `inside` is -1 inside, 1 outside."""
    query = mesh_query_point(id, point, max_dist)
    if query.result:
        inside, face, bary_u, bary_v = query.sign, query.face, query.u, query.v
    return inside, face, bary_u, bary_v, query.result


@func
def mesh_query_point_sign_normal(
    id: uint64, point: vec3, max_dist: float32, epsilon: float32 = 1.0e-3
) -> MeshQueryPoint:
    """As `mesh_query_point`, with the sign by the angle-weighted normals at the closest point.

    Exact for closed meshes without self-intersections, also thin ones, and faster than rays: faces meet at an edge or a
    corner where they have the same coordinates, whatever their indices. Triangles with an angle below 3.5e-4 count as
    their edges, so beside them the sign may be wrong.

    epsilon: only where the faces around the closest edge or corner do not close up (holes, corners in the middle of
    edges, coordinates that differ by rounding), those within `epsilon` times the average edge count as meeting.
    Signs around what is thinner than that may then be wrong.
    """
    data = resolve(id, MeshData)
    face = closest_face(data, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = sign_by_normal(data, point, face, epsilon)
    return closest_of(data, face, point, sign)


@func(overload_of=mesh_query_point_sign_normal, inout=("inside", "face", "bary_u", "bary_v"))
def mesh_query_point_sign_normal(
    id: uint64,
    point: vec3,
    max_dist: float32,
    inside: float32,
    face: int32,
    bary_u: float32,
    bary_v: float32,
    epsilon: float32 = 1.0e-3,
) -> tuple[float32, int32, float32, float32, bool]:
    """The same, written to arguments."""
    query = mesh_query_point_sign_normal(id, point, max_dist, epsilon)
    if query.result:
        inside, face, bary_u, bary_v = query.sign, query.face, query.u, query.v
    return inside, face, bary_u, bary_v, query.result


@func
def mesh_query_point_sign_winding_number(
    id: uint64, point: vec3, max_dist: float32, accuracy: float32 = 2.0, threshold: float32 = 0.5
) -> MeshQueryPoint:
    """As `mesh_query_point`, with -1 where the winding number is above `threshold`.

    Right for meshes with holes and self-intersections too. accuracy: see `winding_number`. A mesh made without
    `support_winding_number` has the sign of `mesh_query_point`.
    """
    data = resolve(id, MeshData)
    face = closest_face(data, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        if data.moments.shape[0] > 0:
            sign = where(winding_number(data, point, accuracy) > threshold, -1.0, 1.0)
        else:
            sign = sign_by_rays(data, point)
    return closest_of(data, face, point, sign)


@func(overload_of=mesh_query_point_sign_winding_number, inout=("inside", "face", "bary_u", "bary_v"))
def mesh_query_point_sign_winding_number(
    id: uint64,
    point: vec3,
    max_dist: float32,
    inside: float32,
    face: int32,
    bary_u: float32,
    bary_v: float32,
    accuracy: float32 = 2.0,
    threshold: float32 = 0.5,
) -> tuple[float32, int32, float32, float32, bool]:
    """The same, written to arguments."""
    query = mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold)
    if query.result:
        inside, face, bary_u, bary_v = query.sign, query.face, query.u, query.v
    return inside, face, bary_u, bary_v, query.result


@func
def mesh_query_point_sign_parity(
    id: uint64, point: vec3, max_dist: float32, n_sample: int32 = 1, perturbation_scale: float32 = 0.1
) -> MeshQueryPoint:
    """As `mesh_query_point`, with -1 where at least half of `n_sample` rays cross the mesh an odd number of times.

    The orientation of faces does not matter. No ray slips between two faces, so one is enough for closed meshes.
    `n_sample` below 1 counts as 1.
    """
    data = resolve(id, MeshData)
    face = closest_face(data, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = sign_by_parity(data, point, n_sample, perturbation_scale)
    return closest_of(data, face, point, sign)


@func(overload_of=mesh_query_point_sign_parity, inout=("inside", "face", "bary_u", "bary_v"))
def mesh_query_point_sign_parity(
    id: uint64,
    point: vec3,
    max_dist: float32,
    inside: float32,
    face: int32,
    bary_u: float32,
    bary_v: float32,
    n_sample: int32 = 1,
    perturbation_scale: float32 = 0.1,
) -> tuple[float32, int32, float32, float32, bool]:
    """The same, written to arguments."""
    query = mesh_query_point_sign_parity(id, point, max_dist, n_sample, perturbation_scale)
    if query.result:
        inside, face, bary_u, bary_v = query.sign, query.face, query.u, query.v
    return inside, face, bary_u, bary_v, query.result

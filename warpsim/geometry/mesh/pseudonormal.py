"""On which side of a mesh a point is, by the angle-weighted pseudonormal at the closest point.

The sign of the distance to a closed surface is that of the product of this normal with the way from the closest point
(Baerentzen & Aanaes 2005, Signed Distance Computation Using the Angle Weighted Pseudonormal).
"""

from __future__ import annotations

from ...core.language import bool_, float32, float64, int32, vec3, vec3d
from ...core.language import abs, acos, clamp, dot, func, length, mask_at_most, max, min, normalize, struct, where
from ...core.lib.closest import closest_point_segment, closest_point_triangle
from ..bvh.boxes import box_distances_sq
from ..bvh.nodes import leaf_count, leaf_first
from ..bvh.traverse import visit_all
from ...core.lib.bits import lowest_bit
from .closest import pack_distances
from .data import LANES, MeshData, corners_of, face_normal, size_of

_PI = 3.14159265358979
_ROUNDING = 4.0e-7  # of a closest point, relative to coordinates
_WEIGHT_ROUNDING = 1.2e-7
_RIM_ROUNDING = 1.0e-12


# ----- faces within a tolerance -----------------------------------------------------------------


@func
def to_line(p: vec3, a: vec3, b: vec3) -> float32:
    """Distance of a point and a segment."""
    return length(a + closest_point_segment(p, a, b) * (b - a) - p)


@func
def angle_at(x: vec3, a: vec3, b: vec3, c: vec3, tolerance: float32) -> float32:
    """The angle that a triangle takes up around one of its points: at a corner, on an edge, inside."""
    angle = 2.0 * _PI
    if length(a - x) <= tolerance:
        angle = corner_angle(a, b, c)
    elif length(b - x) <= tolerance:
        angle = corner_angle(b, c, a)
    elif length(c - x) <= tolerance:
        angle = corner_angle(c, a, b)
    elif min(to_line(x, a, b), min(to_line(x, b, c), to_line(x, c, a))) <= tolerance:
        angle = float32(_PI)
    return angle


@func
def corner_angle(a: vec3, b: vec3, c: vec3) -> float32:
    """The angle of a triangle at its corner `a`."""
    return acos(clamp(dot(normalize(b - a), normalize(c - a)), -1.0, 1.0))


@struct
class NormalSum:
    """The normals of the faces within a tolerance of a point of the mesh, weighted by their angles there."""

    point: vec3
    tolerance: float32
    normal: vec3


@func
def enter_around(data: MeshData, search: NormalSum, n: int32) -> tuple[NormalSum, int32]:
    """Go on with boxes within the tolerance."""
    squared = search.tolerance * search.tolerance
    return search, mask_at_most(box_distances_sq(data.tree.nodes[n], search.point), squared)


@func
def add_normals(data: MeshData, search: NormalSum, leaf: int32) -> NormalSum:
    """Add the normals of the faces of a leaf within the tolerance."""
    first = leaf_first(leaf)
    distances = pack_distances(data.packs[first // LANES], search.point)
    lanes = mask_at_most(distances, search.tolerance * search.tolerance) & ((1 << leaf_count(leaf)) - 1)
    while lanes != 0:
        a, b, c = corners_of(data, data.tree.items[first + lowest_bit(lanes)])
        lanes = lanes & (lanes - 1)
        search.normal += angle_at(search.point, a, b, c, search.tolerance) * face_normal(a, b, c)
    return search


@func
def normal_at(data: MeshData, x: vec3, tolerance: float32) -> vec3:
    """The angle-weighted pseudonormal at a point of the mesh, of the faces within `tolerance` of it."""
    return visit_all(data, NormalSum(point=x, tolerance=tolerance), enter_around, add_normals).normal


# ----- faces with the same coordinates ----------------------------------------------------------


@struct
class Fan:
    """The faces that share the edge from p to q, or the corner p = q."""

    p: vec3
    q: vec3
    normal: vec3  # sum of unit normals, for a corner weighted by angles
    rim: vec3d  # sum of the vectors across from a corner, or of the directions of the edge: 0 if the faces close up
    size: float64  # what is added up there, without signs
    flat: bool_  # whether a face has no area, so that what lies across it matters


@func
def same(a: vec3, b: vec3) -> bool:
    """Whether two points have the same coordinates."""
    return a[0] == b[0] and a[1] == b[1] and a[2] == b[2]


@func
def closest_feature(u: float32, v: float32) -> tuple[int32, int32]:
    """The ends of the edge, or twice the corner, that weights from `closest_point_triangle` lie on; (-1, -1) inside."""
    i, j = int32(-1), int32(-1)
    if u == 0.0:
        i, j = where(v == 0.0, 2, 1), where(v == 1.0, 1, 2)
    elif v == 0.0:
        i, j = int32(0), where(u == 1.0, 0, 2)
    elif abs(1.0 - u - v) <= _WEIGHT_ROUNDING:
        i, j = int32(0), int32(1)
    return i, j


@func
def add_face(fan: Fan, a: vec3, b: vec3, c: vec3) -> Fan:
    """A fan with a face, if that has the corner p = q, or the edge from p to q, in any direction."""
    p, q = fan.p, fan.q
    i = where(same(a, p), 0, where(same(b, p), 1, where(same(c, p), 2, -1)))
    j = where(same(a, q), 0, where(same(b, q), 1, where(same(c, q), 2, -1)))
    if i >= 0 and j >= 0 and not (same(a, b) or same(b, c) or same(c, a)):  # a face that is a segment closes nothing
        normal = face_normal(a, b, c)
        after, before = where(i == 0, b, where(i == 1, c, a)), where(i == 0, c, where(i == 1, a, b))
        if i == j:
            fan.normal += corner_angle(p, after, before) * normal
            fan.rim += vec3d(after) - vec3d(before)
            fan.size += float64(length(after - p) + length(before - p))
        else:
            fan.normal += normal
            fan.rim[0] += where(same(after, q), float64(1.0), float64(-1.0))
            fan.size += float64(1.0)
        fan.flat = fan.flat or same(normal, vec3())
    return fan


@func
def enter_shared(data: MeshData, fan: Fan, n: int32) -> tuple[Fan, int32]:
    """Go on with boxes that hold both ends."""
    node = data.tree.nodes[n]
    return fan, mask_at_most(box_distances_sq(node, fan.p) + box_distances_sq(node, fan.q), 0.0)


@func
def add_faces(data: MeshData, fan: Fan, leaf: int32) -> Fan:
    """The fan with the faces of a leaf that belong to it."""
    for k in range(leaf_count(leaf)):
        a, b, c = corners_of(data, data.tree.items[leaf_first(leaf) + k])
        fan = add_face(fan, a, b, c)
    return fan


@func
def fan_around(data: MeshData, p: vec3, q: vec3) -> Fan:
    """The faces around the edge from p to q, or around the corner p = q."""
    return visit_all(data, Fan(p=p, q=q), enter_shared, add_faces)


@func
def is_closed(fan: Fan) -> bool:
    """Whether each face has a neighbour on both sides, so that no other face can meet there."""
    rim = abs(fan.rim[0]) + abs(fan.rim[1]) + abs(fan.rim[2])
    return rim <= _RIM_ROUNDING * fan.size and not fan.flat


@func(nondiff="a sign is piecewise constant")
def sign_by_normal(data: MeshData, point: vec3, face: int32, epsilon: float32) -> float32:
    """-1 behind the normal at the closest point, which is on `face`; else 1.

    Where the faces that share an edge or a corner do not close up around it, those within `epsilon` of the average
    edge count as meeting there.
    """
    a, b, c = corners_of(data, face)
    u, v = closest_point_triangle(point, a, b, c)
    x = u * a + v * b + (1.0 - u - v) * c
    normal = face_normal(a, b, c)
    i, j = closest_feature(u, v)
    if i >= 0:
        p = where(i == 0, a, where(i == 1, b, c))
        q = where(j == 0, a, where(j == 1, b, c))
        if i == j:
            x = p
        fan = fan_around(data, p, q)
        normal = fan.normal
        if not is_closed(fan):
            rounding = _ROUNDING * max(size_of(a), max(size_of(b), size_of(c)))
            normal = normal_at(data, x, max(epsilon * data.average_edge[0], rounding))
    else:
        x = a
    return where(dot(normal, point - x) < 0.0, -1.0, 1.0)


# ----- no derivatives -------------------------------------------------------------------------

"""Tests of intersection between rays, triangles and boxes, in the kernel language.

Rays are watertight: whoever shares an edge or a corner agrees on which side of it the ray passes (Woop, Benthin
& Wald 2013, Watertight Ray/Triangle Intersection). Triangles and boxes are compared by separating axes in
float64, so for float32 coordinates touching counts and a gap of a few roundings does not.
"""

from __future__ import annotations

from ..language import abs, cross, dot, float32, float64, func, int32, mat33, matrix_type, max, min, vec3, vec3d, where

triangle = matrix_type((3, 3), float64)  # corners as rows


# ----- rays -----------------------------------------------------------------------------------


@func
def ray_frame(direction: vec3) -> mat33:
    """The shear that turns a ray from the origin into the z axis, as a matrix: z is t, x and y are beside the ray.

    Rows contain the components of the ray's largest axis and one or two others with factors 0 and 1, so
    rounding is the same for a point whichever triangle it belongs to. A zero direction gives a zero matrix.
    """
    size = vec3(abs(direction[0]), abs(direction[1]), abs(direction[2]))
    along_x = (size[0] >= size[1]) & (size[0] >= size[2])
    along_y = (size[1] >= size[2]) & (not along_x)
    k = where(along_x, direction[0], where(along_y, direction[1], direction[2]))
    if k == 0.0:
        return mat33()
    x, y, z = -direction[0] / k, -direction[1] / k, -direction[2] / k
    first, second = vec3(1.0, 0.0, x), vec3(0.0, 1.0, y)  # largest along z
    axis = vec3(0.0, 0.0, 1.0 / k)
    if along_x:
        first, second, axis = vec3(y, 1.0, 0.0), vec3(z, 0.0, 1.0), vec3(1.0 / k, 0.0, 0.0)
    elif along_y:
        first, second, axis = vec3(0.0, z, 1.0), vec3(1.0, x, 0.0), vec3(0.0, 1.0 / k, 0.0)
    return mat33(first[0], first[1], first[2], second[0], second[1], second[2], axis[0], axis[1], axis[2])


@func
def edge_side(px: float32, py: float32, qx: float32, qy: float32) -> float64:
    """Twice the area of (0, p, q): its sign is exact, as products of two float32 are in float64."""
    return float64(px) * float64(qy) - float64(py) * float64(qx)


@func
def ray_triangle(
    frame: mat33, origin: vec3, a: vec3, b: vec3, c: vec3
) -> tuple[bool, float32, float32, float32, float32]:
    """(hit, t, u, v, side) of the line origin + t direction and a triangle; `frame` is `ray_frame(direction)`.

    u and v are the weights of `a` and `b`; side is 1 where the ray runs against the normal (b - a) x (c - a), -1
    where it runs along it. Border and corners belong to the triangle; a triangle seen edge-on is not hit.
    """
    p, q, r = frame * (a - origin), frame * (b - origin), frame * (c - origin)
    u, v, w = edge_side(q[0], q[1], r[0], r[1]), edge_side(r[0], r[1], p[0], p[1]), edge_side(p[0], p[1], q[0], q[1])
    area = u + v + w
    outside = min(u, min(v, w)) < 0.0 and max(u, max(v, w)) > 0.0
    if outside or not abs(area) > 0.0:
        return False, 0.0, 0.0, 0.0, 0.0
    s, t = float32(u / area), float32(v / area)
    forward = frame[2, 0] + frame[2, 1] + frame[2, 2] > 0.0
    side = where((area > 0.0) == forward, -1.0, 1.0)
    return True, p[2] * s + q[2] * t + r[2] * float32(w / area), s, t, side


@func
def crosses_axis(px: float32, py: float32, qx: float32, qy: float32) -> bool:
    """Whether the segment from p to q crosses the positive x axis; both ends above, or both not, is no crossing."""
    side = edge_side(px, py, qx, qy)
    return ((py > 0.0) != (qy > 0.0)) & where(qy > py, side > 0.0, side < 0.0)


@func
def ray_crosses(frame: mat33, origin: vec3, a: vec3, b: vec3, c: vec3) -> bool:
    """Whether the line crosses a triangle, so that of triangles around an edge or a corner an even or odd number counts
    as the surface is left or crossed there: a border shared by two belongs to exactly one of them."""
    p, q, r = frame * (a - origin), frame * (b - origin), frame * (c - origin)
    first, second = crosses_axis(p[0], p[1], q[0], q[1]), crosses_axis(q[0], q[1], r[0], r[1])
    return (first != second) != crosses_axis(r[0], r[1], p[0], p[1])


# ----- triangles and boxes --------------------------------------------------------------------


@func
def apart(axis: vec3d, s: triangle, t: triangle) -> bool:
    """Whether a plane normal to `axis` separates two triangles."""
    p, q = s * axis, t * axis
    return min(p) > max(q) or max(p) < min(q)


@func
def intersect_tri_tri(v0: vec3, v1: vec3, v2: vec3, u0: vec3, u1: vec3, u2: vec3) -> int32:
    """1 where two triangles have a point in common, else 0. They may lie in one plane, or have no area."""
    return intersect_tri_tri(vec3d(v0), vec3d(v1), vec3d(v2), vec3d(u0), vec3d(u1), vec3d(u2))


@func(overload_of=intersect_tri_tri)
def intersect_tri_tri(v0: vec3d, v1: vec3d, v2: vec3d, u0: vec3d, u1: vec3d, u2: vec3d) -> int32:
    """The same in float64: an axis separates two convex sets if one joins their closest features."""
    s, t = triangle(v0, v1, v2), triangle(u0, u1, u2)
    n, m = cross(v1 - v0, v2 - v0), cross(u1 - u0, u2 - u0)
    if apart(n, s, t) or apart(m, s, t):
        return 0
    for i in range(3):
        for j in range(3):
            if apart(cross(s[(i + 1) % 3] - s[i], t[(j + 1) % 3] - t[j]), s, t):
                return 0
    along = cross(n, m)
    if dot(along, along) > 1.0e-20 * dot(n, n) * dot(m, m):
        return 1
    return where(_apart_in_plane(s, t), 0, 1)


@func
def _apart_in_plane(s: triangle, t: triangle) -> bool:
    """Axes from corners to edges and to corners: all that triangles in one plane, segments and points still need."""
    for i in range(3):
        for j in range(3):
            if apart(t[j] - s[i], s, t):
                return True
            if apart(_across(s[i], t[j], t[(j + 1) % 3]), s, t) or apart(_across(t[j], s[i], s[(i + 1) % 3]), s, t):
                return True
    return False


@func
def _across(p: vec3d, a: vec3d, b: vec3d) -> vec3d:
    """Normal to the line through a and b, towards `p`."""
    ab = b - a
    return cross(cross(ab, p - a), ab)


@func
def intersect_tri_aabb(v0: vec3, v1: vec3, v2: vec3, lower: vec3, upper: vec3) -> bool:
    """Whether a triangle and a box have a point in common (Akenine-Moller 2001, by 13 axes)."""
    center, half = 0.5 * (vec3d(lower) + vec3d(upper)), 0.5 * (vec3d(upper) - vec3d(lower))
    t = triangle(vec3d(v0) - center, vec3d(v1) - center, vec3d(v2) - center)
    if not _meets_slab(cross(t[1] - t[0], t[2] - t[0]), t, half):
        return False
    for i in range(3):
        e = t[(i + 1) % 3] - t[i]
        axes = vec3d(0.0, -e[2], e[1]), vec3d(e[2], 0.0, -e[0]), vec3d(-e[1], e[0], 0.0)
        unit = vec3d()
        unit[i] = float64(1.0)
        if not (_meets_slab(axes[0], t, half) and _meets_slab(axes[1], t, half)):
            return False
        if not (_meets_slab(axes[2], t, half) and _meets_slab(unit, t, half)):
            return False
    return True


@func
def _meets_slab(axis: vec3d, t: triangle, half: vec3d) -> bool:
    """Whether a triangle and a box around the origin overlap along an axis."""
    p = t * axis
    reach = abs(axis[0]) * half[0] + abs(axis[1]) * half[1] + abs(axis[2]) * half[2]
    return min(p) <= reach and max(p) >= -reach

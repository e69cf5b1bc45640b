"""Convex shapes as the narrow phase sees them: support points, faces, and features whose normals are lines or areas.

A shape is a core and a radius around it: of a sphere its centre, of a capsule its axis, of all others themselves. What
touches is one of three: a face, which has one normal; a line (an edge, the axis of a capsule, the side of a cylinder or
cone), whose normals are n d = s with its direction d; a place (a vertex, an end, a rim), which may have any normal and
is a point that depends on it.

Numbers: of faces of a box 0 to 2 for the positive sides, 3 to 5 for the negative ones; of a cylinder 0 above, 1 below;
of a cone 0, its base. Of polygons that lie on something: those of faces; 2 is the ruling of a side. The rim of a face
is a polygon of eight corners, which begins where the rim is lowest if 4 is added, else on the x axis.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Vec, abs, cos, cross, dot, func, int32, length, min, normalize, sin, sqrt, vector
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.lib.transforms import transform_get_rotation
from ..scene.shapes import ShapeType, to_world

RIM = 8
"""Corners of the polygon of a rim."""
RULING, ALIGNED = 2, 4
_EIGHTH = 0.7853981633974483
_TILTED = 1.0e-3
"""Sine of the least tilt of a face that has a lowest point of its rim."""
_UPRIGHT = 0.7
"""Cosine of the largest tilt of a cylinder or cone that lies on a face, not on its side."""


# ----- tables of hulls -----------------------------------------------------------------------------
#
# Of each: number of the middle among points, corners (which follow the middle), faces, edges; where each face begins
# in the list of corners that comes next, and where the last ends; that list; ends of edges.


@func
def hull_point(forms: Any, s: int32, k: int32) -> Any:
    """Corner k of a hull in its frame; -1 is its middle."""
    p, scale = forms.point[forms.table[forms.hull[s]] + 1 + k], forms.scale[s]
    return vector(p[0] * scale[0], p[1] * scale[1], p[2] * scale[2])


@func
def loop_point(forms: Any, s: int32, face: int32, k: int32) -> Any:
    """Corner k of a face of a hull."""
    t = forms.hull[s]
    return hull_point(forms, s, forms.table[t + 5 + forms.table[t + 2] + forms.table[t + 4 + face] + k])


@func
def edges_at(forms: Any, s: int32) -> int32:
    """Where the ends of edges begin in the table."""
    t = forms.hull[s]
    faces = forms.table[t + 2]
    return t + 5 + faces + forms.table[t + 4 + faces]


@func
def middle_of(forms: Any, s: int32) -> Any:
    """The middle of a shape in space."""
    local = forms.scale[s] * 0.0
    if forms.kind[s] == ShapeType.MESH:
        local = hull_point(forms, s, -1)
    return to_world(forms.pose[s], local)


# ----- places --------------------------------------------------------------------------------------


@func
def flat_unit(m: Vec[3, Float]) -> Vec[3, Float]:
    """The unit vector across z along a direction; x for one along z."""
    square = m[0] * m[0] + m[1] * m[1]
    if square > 0.0:
        size = sqrt(square)
        return vector(m[0] / size, m[1] / size, m[2] * 0.0)
    return vector(m[0] * 0.0 + 1.0, m[1] * 0.0, m[2] * 0.0)


@func
def place_towards(forms: Any, s: int32, m: Any) -> int32:
    """Number of the place that is farthest along a direction of the frame."""
    kind, scale, place = forms.kind[s], forms.scale[s], int32(0)
    if kind == ShapeType.BOX:
        for i in range(3):
            if m[i] < 0.0:
                place = place | (1 << i)
    elif kind == ShapeType.CAPSULE or kind == ShapeType.CYLINDER:
        if m[2] < 0.0:
            place = 1
    elif kind == ShapeType.CONE:
        if 2.0 * scale[1] * m[2] > scale[0] * sqrt(m[0] * m[0] + m[1] * m[1]):
            place = 1
    elif kind == ShapeType.MESH:
        best = dot(m, hull_point(forms, s, 0))
        for k in range(1, forms.table[forms.hull[s] + 1]):
            here = dot(m, hull_point(forms, s, k))
            if here > best:
                place, best = k, here
    return place


@func
def rim_of(forms: Any, s: int32, place: int32) -> Any:
    """The radius of the rim that a place is [m], 0 for a point."""
    kind, rim = forms.kind[s], forms.scale[s][0] * 0.0
    if kind == ShapeType.CYLINDER or (kind == ShapeType.CONE and place == 0):
        rim = forms.scale[s][0]
    return rim


@func
def radius_of(forms: Any, s: int32) -> Any:
    """The radius around a core [m]."""
    radius = forms.scale[s][0] * 0.0
    if forms.kind[s] == ShapeType.SPHERE or forms.kind[s] == ShapeType.CAPSULE:
        radius = forms.scale[s][0]
    return radius


@func
def place_point(forms: Any, s: int32, place: int32, m: Any) -> Any:
    """A place in the frame, of rims where they are farthest along a direction of the frame."""
    kind, scale = forms.kind[s], forms.scale[s]
    p = scale * 0.0
    if kind == ShapeType.BOX:
        p = scale
        for i in range(3):
            if (place >> i) & 1 == 1:
                p[i] = -scale[i]
    elif kind == ShapeType.MESH:
        p = hull_point(forms, s, place)
    elif kind != ShapeType.SPHERE:
        z = scale[1]
        if (kind == ShapeType.CONE) == (place == 0):
            z = -scale[1]
        rim = rim_of(forms, s, place)
        if rim > 0.0:
            p = rim * flat_unit(m)
        p = vector(p[0], p[1], z)
    return p


@func
def place_in_space(forms: Any, s: int32, place: int32, n: Any) -> Any:
    """A place in space, of rims where they are farthest along n."""
    pose = forms.pose[s]
    return to_world(pose, place_point(forms, s, place, quat_rotate_inv(transform_get_rotation(pose), n)))


@func
def support(forms: Any, s: int32, n: Any) -> tuple[Any, int32]:
    """The point of a core that is farthest along n, in space, and the number of its place."""
    pose = forms.pose[s]
    m = quat_rotate_inv(transform_get_rotation(pose), n)
    place = place_towards(forms, s, m)
    return to_world(pose, place_point(forms, s, place, m)), place


@func
def bends_of(forms: Any, s: int32, place: int32, n: Any, u: Any, v: Any) -> Any:
    """u H u, v H v and u H v with the second derivative H of how far a place reaches along n; 0 of a point [m]."""
    rim, q = rim_of(forms, s, place), transform_get_rotation(forms.pose[s])
    result = n * 0.0
    if rim > 0.0:
        m, a, b = quat_rotate_inv(q, n), quat_rotate_inv(q, u), quat_rotate_inv(q, v)
        square = m[0] * m[0] + m[1] * m[1]
        if square > 0.0:
            across, back = m[0] * a[1] - m[1] * a[0], m[0] * b[1] - m[1] * b[0]
            result = vector(across * across, back * back, across * back) * (rim / (square * sqrt(square)))
    return result


# ----- lines ---------------------------------------------------------------------------------------


@func
def line_between(forms: Any, s: int32, place: int32, other: int32) -> int32:
    """The number of the line from one place to another, -1 for none."""
    kind, number = forms.kind[s], int32(-1)
    if kind == ShapeType.BOX:
        for axis in range(3):
            if place ^ other == 1 << axis:
                number = 4 * axis + ((place >> (axis + 1) % 3) & 1) + 2 * ((place >> (axis + 2) % 3) & 1)
    elif kind == ShapeType.MESH:
        at = edges_at(forms, s)
        for k in range(forms.table[forms.hull[s] + 3]):
            start, end = forms.table[at + 2 * k], forms.table[at + 2 * k + 1]
            if (start == place and end == other) or (start == other and end == place):
                number = k
    elif kind != ShapeType.SPHERE and place != other:
        number = 0
    return number


@func
def line_of(forms: Any, s: int32, number: int32) -> tuple[Any, Any, Any, Any, Any]:
    """Of a line in space: a point, the unit direction, the sine of its normals along that, the radius around it [m],
    and how far it goes from the point on both sides [m]. The point of a cone's side is its tip."""
    kind, scale = forms.kind[s], forms.scale[s]
    p, d = scale * 0.0, scale * 0.0
    sine, radius, half = scale[0] * 0.0, scale[0] * 0.0, scale[0] * 0.0
    if kind == ShapeType.BOX:
        axis = number // 4
        u, v = (axis + 1) % 3, (axis + 2) % 3
        half, d[axis] = scale[axis], d[axis] + 1.0
        p[u], p[v] = scale[u], scale[v]
        if number & 1 == 1:
            p[u] = -scale[u]
        if number & 2 == 2:
            p[v] = -scale[v]
    elif kind == ShapeType.MESH:
        at = edges_at(forms, s) + 2 * number
        one, two = hull_point(forms, s, forms.table[at]), hull_point(forms, s, forms.table[at + 1])
        p, half = 0.5 * (one + two), 0.5 * length(two - one)
        d = normalize(two - one)
    else:
        half, d = scale[1], vector(scale[0] * 0.0, scale[0] * 0.0, scale[0] * 0.0 + 1.0)
        radius = scale[0]
        if kind == ShapeType.CONE:
            sine = scale[0] / sqrt(scale[0] * scale[0] + 4.0 * scale[1] * scale[1])
            radius, p = scale[0] * 0.0, vector(scale[0] * 0.0, scale[0] * 0.0, scale[1])
    pose = forms.pose[s]
    return to_world(pose, p), quat_rotate(transform_get_rotation(pose), d), sine, radius, half


# ----- faces ---------------------------------------------------------------------------------------


@func
def face_count(forms: Any, s: int32) -> int32:
    """How many faces a shape has."""
    kind, count = forms.kind[s], int32(0)
    if kind == ShapeType.BOX:
        count = 6
    elif kind == ShapeType.CYLINDER:
        count = 2
    elif kind == ShapeType.CONE or kind == ShapeType.PLANE:
        count = 1
    elif kind == ShapeType.MESH:
        count = forms.table[forms.hull[s] + 2]
    return count


@func
def face_of(forms: Any, s: int32, face: int32) -> tuple[Any, Any]:
    """A point of a face, and its unit normal, in space."""
    kind, scale = forms.kind[s], forms.scale[s]
    p, n = scale * 0.0, scale * 0.0
    if kind == ShapeType.BOX:
        n[face % 3] = n[face % 3] + 1.0
        if face >= 3:
            n = -n
        p[face % 3] = scale[face % 3] * n[face % 3]
    elif kind == ShapeType.MESH:
        p = loop_point(forms, s, face, 0)
        n = normalize(cross(loop_point(forms, s, face, 1) - p, loop_point(forms, s, face, 2) - p))
    else:
        up = scale[0] * 0.0 + 1.0
        if kind == ShapeType.CONE or (kind == ShapeType.CYLINDER and face == 1):
            up = -up
        n = vector(scale[0] * 0.0, scale[0] * 0.0, up)
        if kind != ShapeType.PLANE:
            p = scale[1] * n
    pose = forms.pose[s]
    return to_world(pose, p), quat_rotate(transform_get_rotation(pose), n)


@func
def has_corner(forms: Any, s: int32, face: int32, place: int32) -> bool:
    """Whether a corner of a hull is one of a face."""
    t, there = forms.hull[s], False
    at, faces = t + 4 + face, forms.table[t + 2]
    for k in range(forms.table[at], forms.table[at + 1]):
        if forms.table[t + 5 + faces + k] == place:
            there = True
    return there


@func
def face_towards(forms: Any, s: int32, n: Any, firm: Any) -> int32:
    """Number of the face that looks most along n, -1 for none; of hulls among those at the corner farthest along n.

    firm: by how much the cosine of a later one has to be larger.
    """
    kind, number, first = forms.kind[s], int32(-1), n[0] * 0.0 - 2.0
    m = quat_rotate_inv(transform_get_rotation(forms.pose[s]), n)
    if kind == ShapeType.BOX:
        for i in range(3):
            if abs(m[i]) > first + firm:
                number, first = i, abs(m[i])
        if m[number] < 0.0:
            number += 3
    elif kind == ShapeType.MESH:
        place = place_towards(forms, s, m)
        for face in range(face_count(forms, s)):
            if has_corner(forms, s, face, place):
                _p, up = face_of(forms, s, face)
                if dot(up, n) > first + firm:
                    number, first = face, dot(up, n)
    elif kind == ShapeType.CYLINDER and m[2] < 0.0:
        number = 1
    elif face_count(forms, s) > 0:
        number = 0
    return number


@func
def polygon_towards(forms: Any, s: int32, n: Any) -> int32:
    """Number of the polygon that lies on a face which looks against n."""
    kind, number = forms.kind[s], int32(0)
    if kind == ShapeType.CYLINDER or kind == ShapeType.CONE:
        m = quat_rotate_inv(transform_get_rotation(forms.pose[s]), n)
        number = RULING
        if kind == ShapeType.CYLINDER and m[2] > _UPRIGHT:
            number = 0
        elif m[2] < -_UPRIGHT:
            number = 1
            if kind == ShapeType.CONE:
                number = 0
        if number != RULING and m[0] * m[0] + m[1] * m[1] > _TILTED * _TILTED:
            number += ALIGNED
    elif kind == ShapeType.BOX or kind == ShapeType.MESH:
        number = face_towards(forms, s, n, 1.0e-3 + n[0] * 0.0)
    return number


@func
def face_below(forms: Any, s: int32, number: int32) -> int32:
    """The face that a polygon is the outline of."""
    kind, face = forms.kind[s], number
    if kind == ShapeType.CYLINDER or kind == ShapeType.CONE:
        face = number % ALIGNED
    return face


@func
def corner_count(forms: Any, s: int32, number: int32) -> int32:
    """How many corners a polygon has; none of a plane."""
    kind, count = forms.kind[s], int32(RIM)
    if kind == ShapeType.BOX:
        count = 4
    elif kind == ShapeType.MESH:
        at = forms.hull[s] + 4 + number
        count = forms.table[at + 1] - forms.table[at]
    elif kind == ShapeType.SPHERE:
        count = 1
    elif kind == ShapeType.PLANE:
        count = 0
    elif kind == ShapeType.CAPSULE or number == RULING:
        count = 2
    return count


@func
def box_corner(scale: Any, face: int32, k: int32) -> Any:
    """Corner k of a face of a box, counter-clockwise seen from outside."""
    axis, p, i = face % 3, scale, k
    if face >= 3:
        i = 3 - k
        p[axis] = -scale[axis]
    u, v = (axis + 1) % 3, (axis + 2) % 3
    if i == 1 or i == 2:
        p[u] = -scale[u]
    if i >= 2:
        p[v] = -scale[v]
    return p


@func
def corner_of(forms: Any, s: int32, number: int32, k: int32, n: Any) -> Any:
    """Corner k of a polygon in space; n: where it looks to, as what is round depends on it."""
    kind, scale, pose = forms.kind[s], forms.scale[s], forms.pose[s]
    p = scale * 0.0
    if kind == ShapeType.BOX:
        p = box_corner(scale, number, k)
    elif kind == ShapeType.MESH:
        p = loop_point(forms, s, number, k)
    elif kind == ShapeType.CAPSULE:
        z = scale[1]
        if k == 0:
            z = -z
        p = vector(p[0], p[1], z)
    elif kind != ShapeType.SPHERE:
        up, side = scale[0] * 0.0 + 1.0, scale * 0.0
        side = vector(side[0] + 1.0, side[1], side[2])
        if number == RULING or number >= ALIGNED:
            side = flat_unit(quat_rotate_inv(transform_get_rotation(pose), n))
        below = kind == ShapeType.CONE or number % ALIGNED == 1
        if number == RULING:
            below = k == 1
        if below:
            up = -up
        rim = scale[0]
        if kind == ShapeType.CONE and number == RULING and k == 0:
            rim = scale[0] * 0.0
        x, y = rim * side[0], rim * side[1]
        if number != RULING:
            angle = up * p[0].dtype(k) * _EIGHTH
            x = rim * (cos(angle) * side[0] - sin(angle) * side[1])
            y = rim * (cos(angle) * side[1] + sin(angle) * side[0])
        p = vector(x, y, up * scale[1])
    return to_world(pose, p)


@func
def size_of(forms: Any, s: int32) -> Any:
    """The least extent of a shape from its middle [m]."""
    scale, kind = forms.scale[s], forms.kind[s]
    size = scale[0]
    if kind == ShapeType.BOX:
        size = min(min(scale[0], scale[1]), scale[2])
    elif kind == ShapeType.CYLINDER or kind == ShapeType.CONE:
        size = min(scale[0], scale[1])
    elif kind == ShapeType.MESH:
        middle = middle_of(forms, s)
        for face in range(face_count(forms, s)):
            p, n = face_of(forms, s, face)
            depth = dot(p - middle, n)
            if face == 0 or depth < size:
                size = depth
    return size

"""Two boxes: the axis along which they are farthest apart, and what of their faces or edges meets there.

The separating axes are normals of faces and products of edges (S. Gottschalk, M. Lin, D. Manocha 1996). For a normal,
the face of the other box that looks against it is clipped to the face with this normal; of the corners of what both
have in common at most four are kept, which span it. For two edges it is their nearest points.

What meets is a number, a feature: 32 times the axis and its signs, plus which corner. Faces are preferred to edges, and
the first box to the second, unless these are clearly farther apart: so stacks have the normals of faces, and features
do not change by rounding.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Quat, Transform, Vec, array, cross, dot, func, int32, kernel, normalize, tid
from ...core.language import vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from .manifold import put_point

CANDIDATES = 24
"""Corners that two faces may share: those of both, and crossings of their edges."""
NEAR = 1.0e-3
"""Relative to extents: what counts as the same place."""


@func
def unit(q: Quat[Float], axis: int32) -> Vec[3, Float]:
    """An axis of a frame, in space."""
    e = vector(q[0], q[1], q[2]) * 0.0
    e[axis] = e[axis] + 1.0
    return quat_rotate(q, e)


@func
def signed(value: Float, minus: bool) -> Float:
    """A number, or its negative."""
    result = value
    if minus:
        result = -value
    return result


@func
def corner_signs(k: int32) -> tuple[bool, bool]:
    """Of corner k of a face, round it: whether it is on the negative side of the face's two directions."""
    return k == 1 or k == 2, k >= 2


# ----- a face against a face ----------------------------------------------------------------------


@func
def face_axis(code: int32) -> tuple[int32, bool]:
    """Axis and side of the clipping face."""
    return (code & 15) % 3, (code >> 4) & 1 == 1


@func
def meeting_axis(code: int32) -> tuple[int32, bool]:
    """Axis and side of the clipped face."""
    return (code >> 5) & 3, (code >> 7) & 1 == 1


@func
def face_corner(
    pose: Transform[Float], half: Vec[3, Float], axis: int32, minus: bool, k: int32
) -> Vec[3, Float]:  # fmt: skip
    """Corner k of a face, in space; k counts round it."""
    left, below = corner_signs(k)
    local = half
    u, v = (axis + 1) % 3, (axis + 2) % 3
    local[axis] = signed(half[axis], minus)
    local[u] = signed(half[u], left)
    local[v] = signed(half[v], below)
    return quat_rotate(transform_get_rotation(pose), local) + transform_get_translation(pose)


@func
def candidate(
    code: int32, k: int32, pose: Transform[Float], half: Vec[3, Float], other: Transform[Float], extents: Vec[3, Float]
) -> tuple[Vec[3, Float], Float]:  # fmt: skip
    """A corner of what two faces share: its foot on the clipping face, and its height.

    pose, half: of the box with the clipping face; other, extents: of that whose face is clipped. k: 0 to 3 are corners
    of the clipped face, 4 to 7 those of the clipping one, then crossings of an edge of this with one of that.
    """
    axis, minus = face_axis(code)
    face, under = meeting_axis(code)
    q = transform_get_rotation(pose)
    n = unit(q, axis)
    if minus:
        n = -n
    origin = transform_get_translation(pose) + half[axis] * n
    foot, height = origin, n[0] * 0.0
    if k < 4:
        x = face_corner(other, extents, face, under, k)
        height = dot(x - origin, n)
        foot = x - height * n
    elif k < 8:
        foot = face_corner(pose, half, axis, minus, k - 4)
        m = unit(transform_get_rotation(other), face)
        if under:
            m = -m
        height = dot(transform_get_translation(other) + extents[face] * m - foot, m) / dot(n, m)
    else:
        side, edge = (k - 8) // 4, (k - 8) % 4
        x = face_corner(other, extents, face, under, edge)
        y = face_corner(other, extents, face, under, (edge + 1) % 4)
        i = (axis + 1) % 3
        if side % 2 == 1:
            i = (axis + 2) % 3
        out, wide = unit(q, i), half[i]
        if side >= 2:
            out = -out
        start, end = dot(x - origin, out) - wide, dot(y - origin, out) - wide
        z = x + (start / (start - end)) * (y - x)
        height = dot(z - origin, n)
        foot = z - height * n
    return foot, height


# ----- an edge against an edge --------------------------------------------------------------------


@func
def edge_point(
    pose: Transform[Float], half: Vec[3, Float], axis: int32, signs: int32
) -> tuple[Vec[3, Float], Vec[3, Float]]:  # fmt: skip
    """Middle and direction of an edge along an axis. signs: bits of its sides along the two other axes."""
    local = half
    u, v = (axis + 1) % 3, (axis + 2) % 3
    local[axis] = half[axis] * 0.0
    local[u] = signed(half[u], signs & 1 == 1)
    local[v] = signed(half[v], signs & 2 == 2)
    q = transform_get_rotation(pose)
    return quat_rotate(q, local) + transform_get_translation(pose), unit(q, axis)


@func
def nearest_of_lines(
    p: Vec[3, Float], d: Vec[3, Float], q: Vec[3, Float], e: Vec[3, Float]
) -> tuple[Float, Float]:  # fmt: skip
    """How far along two lines that are not parallel they are nearest. d, e: directions of any length."""
    r = q - p
    a, b, c = dot(d, d), dot(d, e), dot(e, e)
    whole = a * c - b * b
    return (dot(r, d) * c - dot(r, e) * b) / whole, (dot(r, d) * b - dot(r, e) * a) / whole


@func
def measure_edges(
    code: int32, pose: Transform[Float], half: Vec[3, Float], other: Transform[Float], extents: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float], Float]:  # fmt: skip
    """Middle of the nearest points of two edges, unit normal from the first to the second box, distance along it."""
    pair = (code & 15) - 6
    p, d = edge_point(pose, half, pair // 3, (code >> 5) & 3)
    q, e = edge_point(other, extents, pair % 3, (code >> 7) & 3)
    n = normalize(cross(d, e))
    if (code >> 4) & 1 == 1:
        n = -n
    s, t = nearest_of_lines(p, d, q, e)
    x, y = p + s * d, q + t * e
    return 0.5 * (x + y), n, dot(y - x, n)


# ----- the measure ----------------------------------------------------------------------------------


@kernel
def measure_boxes(
    kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any, moving: Any
):
    """Points, normals and gaps of features of boxes."""
    c = ranges[kind] + tid()
    if c < ranges[kind + 1]:
        a, b = m.shapes[c][0], m.shapes[c][1]
        pose, other, half, extents = forms.pose[a], forms.pose[b], forms.scale[a], forms.scale[b]
        for place in range(4):
            feature = p.feature[c][place]
            if feature >= 0:
                code, k = feature >> 5, feature & 31
                x, n, gap = measure_feature(code, k, pose, half, other, extents)
                between = 0.5 * (forms.margin[a] - forms.margin[b])
                gap = gap - forms.margin[a] - forms.margin[b]
                put_point(m, moving, 4 * c + place, m.rows[c], x + between * n, n, gap)


@func
def measure_feature(
    code: int32, k: int32, pose: Transform[Float], half: Vec[3, Float], other: Transform[Float], extents: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float], Float]:  # fmt: skip
    """Middle between two boxes at a feature, normal from the first to the second, distance along it."""
    x, n, gap = half * 0.0, half * 0.0, half[0] * 0.0
    axis, minus = face_axis(code)
    if (code & 15) < 3:
        n = unit(transform_get_rotation(pose), axis)
        if minus:
            n = -n
        x, gap = candidate(code, k, pose, half, other, extents)
        x = x + 0.5 * gap * n
    elif (code & 15) < 6:
        n = unit(transform_get_rotation(other), axis)
        if not minus:
            n = -n
        x, gap = candidate(code, k, other, extents, pose, half)
        x = x - 0.5 * gap * n
    else:
        x, n, gap = measure_edges(code, pose, half, other, extents)
    return x, n, gap

"""Features of two boxes that touch: the separating axis, then corners of what two faces share; see `touch_boxes`.

Fifteen axes are tried (S. Gottschalk, M. Lin and D. Manocha 1996, OBBTree): normals of faces of both, and products of
their edges. A code has the axis in bits 0 to 3: 0 to 2 for a face of the first box, 3 to 5 of the second, from 6 on
6 + 3 i + j for edges i and j. Bit 4: the axis is reversed. Bits from 5 on: the face or the edges that it meets.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Mat, Transform, Vec, abs, cross, dot, func, int32, min, normalize, sqrt, vec4i
from ...core.language import vector, vector_type
from ...core.lib.quaternions import quat_to_matrix
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from .pair_choice import no_points
from .touch_boxes import CANDIDATES, NEAR, corner_signs, face_axis, meeting_axis, signed, unit

_FIRM = 0.02
"""Of the least extent: how much farther apart edges have to be than faces, and faces of the second box than those of
the first, so that the choice does not change back and forth at rest."""
_PARALLEL = 1.0e-3
"""Squared sine below which two edges are parallel, and no axis."""
_FAR = 1.0e30

vec8i = vector_type(8, int32)


@func
def reach_along(m: Mat[3, 3, Float], half: Vec[3, Float], n: Vec[3, Float]) -> Float:
    """How far a box reaches along a direction from its centre. m: its axes as columns."""
    reach = n[0] * 0.0
    for i in range(3):
        reach += half[i] * abs(m[0, i] * n[0] + m[1, i] * n[1] + m[2, i] * n[2])
    return reach


@func
def column(m: Mat[3, 3, Float], i: int32) -> Vec[3, Float]:
    """Column i of a matrix, an axis of a box."""
    return vector(m[0, i], m[1, i], m[2, i])


@func
def face_against(m: Mat[3, 3, Float], n: Vec[3, Float]) -> int32:
    """Bits of the face that looks most against a direction: its axis, and 4 for the negative side."""
    best, size = int32(0), abs(dot(column(m, 0), n))
    for i in range(1, 3):
        if abs(dot(column(m, i), n)) > size * (1.0 + NEAR):
            best, size = i, abs(dot(column(m, i), n))
    bits = best
    if dot(column(m, best), n) > 0.0:
        bits = best + 4
    return bits


@func
def edge_towards(m: Mat[3, 3, Float], axis: int32, n: Vec[3, Float]) -> int32:
    """Bits of the edge along an axis that is farthest along a direction."""
    bits = int32(0)
    if dot(column(m, (axis + 1) % 3), n) < 0.0:
        bits = bits + 1
    if dot(column(m, (axis + 2) % 3), n) < 0.0:
        bits = bits + 2
    return bits


@func
def best_axis(
    ma: Mat[3, 3, Float], half: Vec[3, Float], mb: Mat[3, 3, Float], extents: Vec[3, Float], apart: Vec[3, Float]
) -> tuple[int32, Float]:  # fmt: skip
    """The code of the axis along which two boxes are farthest apart, and how far."""
    firm = _FIRM * min(min(min(half[0], half[1]), half[2]), min(min(extents[0], extents[1]), extents[2]))
    code, gap = int32(0), half[0] * 0.0 - _FAR
    for i in range(6):
        n = column(ma, i % 3)
        if i >= 3:
            n = column(mb, i % 3)
        here = abs(dot(n, apart)) - reach_along(ma, half, n) - reach_along(mb, extents, n)
        more = gap
        if i == 3:
            more = gap + firm
        if here > more:
            code, gap = i, here
    edge, far = int32(0), gap + firm
    for i in range(9):
        n = cross(column(ma, i // 3), column(mb, i % 3))
        if dot(n, n) > _PARALLEL:
            n = normalize(n)
            here = abs(dot(n, apart)) - reach_along(ma, half, n) - reach_along(mb, extents, n)
            if here > far:
                edge, far = 6 + i, here
    if edge > 0:
        code, gap = edge, far
    return code, gap


@func
def feature_code(code: int32, ma: Mat[3, 3, Float], mb: Mat[3, 3, Float], apart: Vec[3, Float]) -> int32:
    """The code of an axis from its number, with its sign and the face or edges that meet. apart: of both boxes [m]."""
    result = code
    if code < 6:
        own, other, towards = ma, mb, apart
        if code >= 3:
            own, other, towards = mb, ma, -apart
        n = column(own, code % 3)
        if dot(n, towards) < 0.0:
            n = -n
            result = result | 16
        face = face_against(other, n)
        result = result | ((face & 3) << 5) | ((face >> 2) << 7)
    else:
        i, j = (code - 6) // 3, (code - 6) % 3
        n = cross(column(ma, i), column(mb, j))
        if dot(n, apart) < 0.0:
            n = -n
            result = result | 16
        result = result | (edge_towards(ma, i, n) << 5) | (edge_towards(mb, j, -n) << 7)
    return result


@func
def face_frame(pose: Transform[Float], half: Vec[3, Float], axis: int32, minus: bool) -> tuple[
    Vec[3, Float], Vec[3, Float], Vec[3, Float], Vec[3, Float]
]:  # fmt: skip
    """Of a face: its middle, the unit normal, and the two directions from the middle to its sides, as long as these are
    away."""
    q = transform_get_rotation(pose)
    n = unit(q, axis)
    if minus:
        n = -n
    u, v = (axis + 1) % 3, (axis + 2) % 3
    return transform_get_translation(pose) + half[axis] * n, n, half[u] * unit(q, u), half[v] * unit(q, v)


@func
def corner_at(c: Vec[3, Float], p: Vec[3, Float], q: Vec[3, Float], k: int32) -> Vec[3, Float]:
    """Corner k of a face around c, whose sides are p and q away; k counts round it."""
    left, below = corner_signs(k)
    result = c + p
    if left:
        result = c - p
    if below:
        return result - q
    return result + q


@func
def shared_corner(
    k: int32, c: Vec[3, Float], p: Vec[3, Float], q: Vec[3, Float]
) -> tuple[Vec[3, Float], bool]:  # fmt: skip
    """Candidate k of what a face around c shares with the square from -1 to 1 below it, and whether it is one."""
    x, inside = c * 0.0, False
    if k < 4:
        x = corner_at(c, p, q, k)
        inside = abs(x[0]) <= 1.0 + NEAR and abs(x[1]) <= 1.0 + NEAR
    elif k < 8:
        left, below = corner_signs(k - 4)
        whole = p[0] * q[1] - p[1] * q[0]
        if abs(whole) > 1.0e-6:
            dx, dy = signed(x[0] + 1.0, left) - c[0], signed(x[0] + 1.0, below) - c[1]
            s, t = (dx * q[1] - dy * q[0]) / whole, (p[0] * dy - p[1] * dx) / whole
            x = c + s * p + t * q
            inside = abs(s) <= 1.0 + NEAR and abs(t) <= 1.0 + NEAR
    else:
        side, edge = (k - 8) // 4, (k - 8) % 4
        a, b, along, across = corner_at(c, p, q, edge), corner_at(c, p, q, (edge + 1) % 4), side % 2, 1 - side % 2
        start, end = signed(a[along], side >= 2) - 1.0, signed(b[along], side >= 2) - 1.0
        if start * end < 0.0:
            x = a + (start / (start - end)) * (b - a)
            inside = abs(x[across]) < 1.0
    return x, inside


@func
def choose_corners(
    code: int32, reach: Float, pose: Transform[Float], half: Vec[3, Float], other: Transform[Float],
    extents: Vec[3, Float],
) -> vec4i:  # fmt: skip
    """Up to four corners of what two faces share: the deepest, the farthest from it, and the farthest on both sides.

    See `candidate`; here they are found in the plane of the clipping face, whose sides are at -1 and 1.
    """
    axis, minus = face_axis(code)
    face, under = meeting_axis(code)
    origin, n, u, v = face_frame(pose, half, axis, minus)
    middle, _m, p, q = face_frame(other, extents, face, under)
    uu, vv = dot(u, u), dot(v, v)
    away = middle - origin
    c = vector(dot(away, u) / uu, dot(away, v) / vv, dot(away, n))
    p = vector(dot(p, u) / uu, dot(p, v) / vv, dot(p, n))
    q = vector(dot(q, u) / uu, dot(q, v) / vv, dot(q, n))
    wide, long, zero = sqrt(uu), sqrt(vv), reach * 0.0
    xs = vector(zero, zero, zero, zero, zero, zero, zero, zero)
    ys, zs, names, many, lowest = xs, xs, vec8i(), int32(0), reach
    for k in range(CANDIDATES):
        x, inside = shared_corner(k, c, p, q)
        if inside and x[2] <= reach and many < 8:
            xs[many], ys[many], zs[many], names[many] = wide * x[0], long * x[1], x[2], k
            lowest = min(lowest, x[2])
            many += 1
    return spanning_corners(xs, ys, zs, names, many, lowest, NEAR * min(wide, long))


@func
def spanning_corners(
    xs: Vec[8, Float], ys: Vec[8, Float], zs: Vec[8, Float], names: vec8i, many: int32, lowest: Float, firm: Float
) -> vec4i:  # fmt: skip
    """Four of up to eight corners that span most. Later ones are taken only where they are clearly better."""
    chosen, first, second = no_points(), int32(-1), int32(-1)
    for k in range(many):
        if first < 0 and zs[k] <= lowest + firm:
            first = k
    if first >= 0:
        chosen[0] = names[first]
        far = firm
        for k in range(many):
            x, y = xs[k] - xs[first], ys[k] - ys[first]
            size = sqrt(x * x + y * y)
            if size > far * (1.0 + NEAR):
                second, far = k, size
        if second >= 0:
            chosen[1] = names[second]
            dx, dy = xs[second] - xs[first], ys[second] - ys[first]
            left, right = firm * far, -firm * far
            for k in range(many):
                area = dx * (ys[k] - ys[first]) - dy * (xs[k] - xs[first])
                if area > left * (1.0 + NEAR):
                    chosen[2], left = names[k], area
                if area < right * (1.0 + NEAR):
                    chosen[3], right = names[k], area
    return chosen


@func
def choose_boxes(forms: Any, heights: Any, m: Any, c: int32, reach: Any) -> vec4i:
    """Features of a pair of boxes."""
    a, b = m.shapes[c][0], m.shapes[c][1]
    chosen = no_points()
    pose, other, half, extents = forms.pose[a], forms.pose[b], forms.scale[a], forms.scale[b]
    ma, mb = quat_to_matrix(transform_get_rotation(pose)), quat_to_matrix(transform_get_rotation(other))
    apart = transform_get_translation(other) - transform_get_translation(pose)
    code, gap = best_axis(ma, half, mb, extents, apart)
    if gap > reach:
        m.near[c] = 0
    else:
        code = feature_code(code, ma, mb, apart)
        if (code & 15) < 3:
            chosen = choose_corners(code, reach, pose, half, other, extents)
        elif (code & 15) < 6:
            chosen = choose_corners(code, reach, other, extents, pose, half)
        else:
            chosen[0] = 31  # the one point of two edges
        for k in range(4):
            if chosen[k] >= 0:
                chosen[k] = 32 * code + chosen[k]
    return chosen

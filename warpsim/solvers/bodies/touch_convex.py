"""Two convex shapes of any form: what features of theirs are apart, with the derivatives of the true geometry.

Normals are those for which the distance between the supporting planes of both shapes is largest: of a face, of two
lines, of a line and a place, or of two places, see `convex_shapes`. Where a rim is one of them this is the zero of a
derivative. `convex_choice` finds it; here one more step of Newton's method from there leaves it where it is, and has
the derivative that the implicit function theorem says.

The four numbers of a pair's code: which of these it is, and the numbers of both features. A face with what lies on it
has more points: corners of the polygon that lies there, corners of the face below it, and crossings of both outlines.
Parallel lines have the ends of both.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Float, Vec, array, cross, dot, float32, float64, func, int32, kernel, length
from ...core.language import max, min, normalize, sqrt, tid, vec4i
from .convex_shapes import bends_of, corner_count, corner_of, face_below, face_of, line_of, place_in_space, radius_of
from .manifold import across, put_point
from .touch_boxes import NEAR, nearest_of_lines

FACE, FACE_OF_SECOND, LINES, LINE_AND_PLACE, PLACE_AND_LINE, PLACES, PARALLEL = range(1, 8)
"""What touches: a face of the first shape, one of the second, and so on."""
KEYS = 2048
"""More than a pair has points; features are the number of a point, and above that a number of the code."""
_ALONG = 1.0e-4
"""Squared sine below which a normal is along a line, and starts no search across it."""
_STEP = 0.5
"""How far one step turns a normal at most [rad]."""
_FLAT = {float32: 1.0e-5, float64: 1.0e-11}
"""Of lengths: derivatives below this are none, as around the axis of forms that have it in common."""
_UPHILL = 0.1
"""How far where there is no best one near [rad]."""


@func
def feature_of(code: vec4i, k: int32) -> int32:
    """The number of point k of a pair."""
    mixed = (code[0] + 8 * code[1] + 5003 * code[2]) & 0xFFFFF
    return mixed * KEYS + k


# ----- normals -------------------------------------------------------------------------------------


@func
def of_two_lines(
    n: Vec[3, Float], d: Vec[3, Float], s: Float, e: Vec[3, Float], t: Float
) -> tuple[Vec[3, Float], bool]:  # fmt: skip
    """The unit vector with n d = s and n e = t that is nearer to another, and whether there is one."""
    c = dot(d, e)
    square = 1.0 - c * c
    a, b = (s - c * t) / square, (t - c * s) / square
    rest = (1.0 - a * s - b * t) / square
    result, there = n, rest > 0.0
    if there:
        up = cross(d, e)
        up = up * sqrt(rest)
        if dot(up, n) < 0.0:
            up = -up
        result = a * d + b * e + up
    return result, there


@func
def on_circle(
    d: Vec[3, Float], s: Float, u: Vec[3, Float], w: Vec[3, Float], apart: Vec[3, Float], more: Float
) -> tuple[Vec[3, Float], bool]:  # fmt: skip
    """A step to the best of the unit vectors with n d = s, and whether it is one, as all are where they are equal.

    u, w: unit vectors across d, w across u; the step begins above u. apart: from one feature to the other there. more:
    how much a rim is curved along w.
    """
    wide = sqrt(1.0 - s * s)
    slope, curve = wide * dot(apart, w), -wide * dot(apart, u) - wide * wide * more
    flat = _FLAT[type(slope)] * (length(apart) + more)
    even = curve > -flat and curve < flat and slope > -flat and slope < flat
    turn = slope * 0.0 + _UPHILL
    if slope < 0.0:
        turn = -turn
    if even:
        turn = slope * 0.0
    elif curve < 0.0:
        turn = min(max(-slope / curve, slope * 0.0 - _STEP), slope * 0.0 + _STEP)
    v = u + turn * w
    return s * d + wide * (v / sqrt(1.0 + turn * turn)), even or curve < 0.0


@func
def on_sphere(
    n: Vec[3, Float], u: Vec[3, Float], v: Vec[3, Float], apart: Vec[3, Float], bends: Vec[3, Float]
) -> tuple[Vec[3, Float], bool]:  # fmt: skip
    """A step to the best of all unit vectors, and whether it is one. u, v: unit vectors across n. apart: from one place
    to the other. bends: see `bends_of`, of both."""
    x, y, gap = dot(apart, u), dot(apart, v), dot(apart, n)
    xx, yy, xy = gap + bends[0], gap + bends[1], bends[2]
    whole = xx * yy - xy * xy
    p, q = x, y
    size = x * x + y * y
    if size > 0.0:
        p, q = x * (_UPHILL / sqrt(size)), y * (_UPHILL / sqrt(size))
    if xx > 0.0 and whole > 0.0:
        p, q = (yy * x - xy * y) / whole, (xx * y - xy * x) / whole
        size = p * p + q * q
        if size > _STEP * _STEP:
            p, q = p * (_STEP / sqrt(size)), q * (_STEP / sqrt(size))
    return normalize(n + p * u + q * v), xx > 0.0 and whole > 0.0


@func
def settle(
    n: Any, code: vec4i, p: Any, d: Any, s: Any, q: Any, e: Any, t: Any, forms: Any, a: int32, b: int32
) -> tuple[Any, bool]:  # fmt: skip
    """The normal of two features after a step from n, and whether they have one. p, d, s, and q, e, t: points,
    directions and sines of their lines, see `line_of`; of a place any."""
    result, there = n, True
    if code[0] == LINES:
        result, there = of_two_lines(n, d, s, e, -t)
    elif code[0] == PARALLEL:
        way = q - p
        way = way - dot(way, d) * d
        there = dot(way, way) > 0.0
        if there:
            result = normalize(way)
    else:
        here, u, v, axis, sine = n, across(n), n, d, s
        v = cross(n, u)
        if code[0] != PLACES:
            if code[0] == PLACE_AND_LINE:
                axis, sine = e, -t
            there = 1.0 - dot(n, axis) * dot(n, axis) > _ALONG
            if there:
                u = normalize(n - dot(n, axis) * axis)
                v = cross(axis, u)
                here = sine * axis + sqrt(1.0 - sine * sine) * u
        if there:
            x, y, bends = p, q, n * 0.0
            if code[0] != LINE_AND_PLACE:
                x = place_in_space(forms, a, code[1], here)
                bends = bends_of(forms, a, code[1], here, u, v)
            if code[0] != PLACE_AND_LINE:
                y = place_in_space(forms, b, code[2], -here)
                bends = bends + bends_of(forms, b, code[2], -here, u, v)
            if code[0] == PLACES:
                result, there = on_sphere(n, u, v, y - x, bends)
            else:
                result, there = on_circle(axis, sine, u, v, y - x, bends[1])
    return result, there


# ----- points --------------------------------------------------------------------------------------


@func
def point_on_face(
    k: int32, face: int32, other: int32, forms: Any, a: int32, b: int32
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Point k of a polygon of b on a face of a: its foot on the face, the unit normal, the height above it."""
    origin, n = face_of(forms, a, face)
    lying, below = corner_count(forms, b, other), corner_count(forms, a, face)
    i, j, foot, height = k, k - lying, origin, n[0] * 0.0
    if k >= lying + below:
        i, j = (k - lying - below) // below, (k - lying - below) % below
    if k >= lying:
        foot = corner_of(forms, a, face, j, n)
    if k < lying or k >= lying + below:
        x = corner_of(forms, b, other, i, -n)
        if k >= lying:
            way = corner_of(forms, b, other, (i + 1) % lying, -n) - x
            out = cross(corner_of(forms, a, face, (j + 1) % below, n) - foot, n)
            start, rise = dot(x - foot, out), dot(way, out)
            x = x - (start / rise) * way
        height = dot(x - origin, n)
        foot = x - height * n
    else:
        p, m = face_of(forms, b, face_below(forms, b, other))
        height = dot(p - foot, m) / dot(n, m)
    return foot, n, height - radius_of(forms, b)


@func
def point_of_parallels(
    k: int32, p: Any, d: Any, one: Any, half: Any, q: Any, e: Any, two: Any, wide: Any
) -> tuple[Any, Any, Any, bool]:  # fmt: skip
    """Of an end of one of two parallel lines: the middle of the gap, the normal, the gap, whether it is beside the
    other line. Ends of the first are 0 and 1. p, d, one, half: point, direction, radius, half length of the first."""
    x, y, f, own, radius, long = p - half * d, q, e, one, two, wide
    if k == 1:
        x = p + half * d
    elif k >= 2:
        x, y, f, own, radius, long = q - wide * e, p, d, two, one, half
        if k == 3:
            x = q + wide * e
    along = dot(x - y, f)
    way = y + along * f - x
    size = sqrt(dot(way, way))
    n = way / size
    gap = size - own - radius
    x = x + (own + 0.5 * gap) * n
    if k >= 2:
        n = -n
    return x, n, gap, max(along, -along) <= long * (1.0 + NEAR)


@func
def point_between(
    code: vec4i, n: Any, p: Any, d: Any, s: Any, one: Any, q: Any, e: Any, t: Any, two: Any, forms: Any, a: int32,
    b: int32,
) -> tuple[Any, Any]:  # fmt: skip
    """The middle of the gap between two features whose normal is n, and the gap. one, two: radii around their lines;
    see `settle` for the others."""
    x, y, u, v = p + one * n, q - two * n, s * n - d, -t * n - e
    if code[0] == PLACE_AND_LINE or code[0] == PLACES:
        x = place_in_space(forms, a, code[1], n) + radius_of(forms, a) * n
    if code[0] == LINE_AND_PLACE or code[0] == PLACES:
        y = place_in_space(forms, b, code[2], -n) - radius_of(forms, b) * n
    gap = dot(y - x, n)
    middle = x + 0.5 * gap * n
    if code[0] == LINES:
        along, back = nearest_of_lines(x, u, y, v)
        middle = 0.5 * (x + along * u + y + back * v)
    elif code[0] == LINE_AND_PLACE:
        middle = y - 0.5 * gap * n
    return middle, gap


@func
def measure_convex(k: int32, code: vec4i, aim: Any, forms: Any, a: int32, b: int32) -> tuple[Any, Any, Any]:
    """Of point k of two shapes without their margins: the middle of the gap, the normal from a to b, the gap."""
    x, n, gap = aim, aim, aim[0] * 0.0
    if code[0] == FACE or code[0] == FACE_OF_SECOND:
        mine, other, face, lying = a, b, code[1], code[2]
        if code[0] == FACE_OF_SECOND:
            mine, other, face, lying = b, a, code[2], code[1]
        x, n, gap = point_on_face(k, face, lying, forms, mine, other)
        x = x + 0.5 * gap * n
        if code[0] == FACE_OF_SECOND:
            n = -n
    else:
        p, d, s, one, half = line_of(forms, a, code[1])
        q, e, t, two, wide = line_of(forms, b, code[2])
        if code[0] == PARALLEL:
            x, n, gap, _there = point_of_parallels(k, p, d, one, half, q, e, two, wide)
        else:
            n, _there = settle(aim, code, p, d, s, q, e, t, forms, a, b)
            x, gap = point_between(code, n, p, d, s, one, q, e, t, two, forms, a, b)
    return x, n, gap


@kernel
def measure_convex_pairs(
    kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any, moving: Any
):
    """Points, normals and gaps of pairs of convex shapes."""
    c = ranges[kind] + tid()
    if c < ranges[kind + 1]:
        a, b = m.shapes[c][0], m.shapes[c][1]
        for place in range(4):
            if p.feature[c][place] >= 0:
                x, n, gap = measure_convex(p.feature[c][place] % KEYS, m.code[c], m.aim[c], forms, a, b)
                between = 0.5 * (forms.margin[a] - forms.margin[b])
                gap = gap - forms.margin[a] - forms.margin[b]
                put_point(m, moving, 4 * c + place, m.rows[c], x + between * n, n, gap)

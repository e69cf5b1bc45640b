"""Closest points between points, segments and triangles, in the kernel language, for float32 and float64.

All functions take any finite input: a segment may be a point, a triangle a segment or a point. Results
are as good as the rounding of the coordinates allows, relative to the largest distance involved.
A derivative is that of the closest feature (inside of a face, an edge, a corner) that was found; where two
features are equally close, of the one that the function's text names first.
"""

from __future__ import annotations

from ..language import Float, Vec, clamp, cross, dot, float32, float64, func, length, max, vector, where

FLAT = {float32: 2.0**-23, float64: 2.0**-52}
"""Squared sine of an angle below which a triangle counts as its edges.

The plane of a sharper one is as uncertain as its width: edges are rounded. So what is found near a sliver of length l
is off by up to l * sqrt(FLAT) / 2, and less the sharper, or the less sharp, its angle is.
"""

SMALL = {float32: 1.0e-34, float64: 1.0e-290}
"""The square of twice an area below which a triangle counts as its edges: less has no precision."""


@func
def closest_point_segment(p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float]) -> Float:
    """The weight t in [0, 1] of `b` in the point (1 - t) a + t b of a segment that is closest to `p`."""
    ab = b - a
    squared = dot(ab, ab)
    return clamp(dot(p - a, ab) / where(squared > 0.0, squared, 1.0), 0.0, 1.0)


@func
def closest_point_triangle(
    p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]
) -> tuple[Float, Float]:
    """Weights (u, v) of `a` and `b` in the point u a + v b + (1 - u - v) c of a triangle that is closest to `p`.

    The foot of the perpendicular where it is inside, else the closest of the closest points of the edges
    ab, bc and ca, so that slivers and triangles without area are as exact as others.
    """
    ab, ac, ap = b - a, c - a, p - a
    n = cross(ab, ac)
    area = dot(n, n)
    if area > max(FLAT[type(area)] * dot(ab, ab) * dot(ac, ac), SMALL[type(area)]):
        v, w = _weights(ap, ab, ac, n, area)
        again, more = _weights(ap - v * ab - w * ac, ab, ac, n, area)  # what rounding left
        v, w = v + again, w + more
        u = 1.0 - v - w
        if u >= 0.0 and v >= 0.0 and w >= 0.0:
            return u, v
    return _closest_on_edges(p, a, b, c)


@func
def _weights(
    r: Vec[3, Float], ab: Vec[3, Float], ac: Vec[3, Float], n: Vec[3, Float], area: Float
) -> tuple[Float, Float]:
    """How much of `ab` and `ac` is in the part of `r` in their plane; n: their cross product."""
    return dot(cross(r, ac), n) / area, dot(cross(ab, r), n) / area


@func
def _closest_on_edges(p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]) -> tuple[Float, Float]:
    """The same on the border of the triangle."""
    s, t, r = closest_point_segment(p, a, b), closest_point_segment(p, b, c), closest_point_segment(p, c, a)
    on_ab, on_bc, on_ca = a + s * (b - a) - p, b + t * (c - b) - p, c + r * (a - c) - p
    first, second, third = dot(on_ab, on_ab), dot(on_bc, on_bc), dot(on_ca, on_ca)
    if first <= second and first <= third:
        return 1.0 - s, s
    if second <= third:
        return t.dtype(0.0), 1.0 - t
    return r, r.dtype(0.0)


@func
def closest_point_edge_edge(
    p1: Vec[3, Float], q1: Vec[3, Float], p2: Vec[3, Float], q2: Vec[3, Float], epsilon: Float
) -> Vec[3, Float]:
    """(s, t, distance) of the closest points p1 + s (q1 - p1) and p2 + t (q2 - p2) of two segments.

    A segment whose squared length is at most `epsilon` counts as its first point, and has weight 0. Of the
    common perpendicular, if it meets both segments, and of the four ends p1, p2, q2 and q1, each with its closest point
    on the other segment, the shortest wins, of several the first: so parallel segments and nearly parallel ones are as
    exact as others.
    """
    d, e = q1 - p1, q2 - p2
    first, second = dot(d, d) > epsilon, dot(e, e) > epsilon
    zero = epsilon.dtype(0.0)
    r = p2 - p1
    n = cross(d, e)
    area = dot(n, n)
    if first and second and area > FLAT[type(area)] * dot(d, d) * dot(e, e):
        s, t = dot(cross(r, e), n) / area, dot(cross(r, d), n) / area
        if s >= 0.0 and s <= 1.0 and t >= 0.0 and t <= 1.0:
            return _settle(r, d, e, s, t, first, second)
    s, t = zero, _weight(-r, e, second)
    best = _apart(r, d, e, s, t)
    for k in range(3):
        x, y = zero, zero
        if k == 0:
            x = _weight(r, d, first)
        elif k == 1:
            x, y = _weight(r + e, d, first), where(second, zero + 1.0, zero)
        else:
            x, y = where(first, zero + 1.0, zero), _weight(d - r, e, second)
        squared = _apart(r, d, e, x, y)
        if squared < best:
            s, t, best = x, y, squared
    return _settle(r, d, e, s, t, first, second)


@func
def _settle(
    r: Vec[3, Float], d: Vec[3, Float], e: Vec[3, Float], s: Float, t: Float, first: bool, second: bool
) -> Vec[3, Float]:
    """(s, t, distance) after each point moved to the one closest to the other: what rounding left, which a small
    angle between the segments makes large."""
    for _ in range(2):
        s = _weight(r + t * e, d, first)
        t = _weight(s * d - r, e, second)
    return vector(s, t, length(r + t * e - s * d))


@func
def _weight(r: Vec[3, Float], d: Vec[3, Float], extended: bool) -> Float:
    """The weight in [0, 1] of the point s d closest to `r`; 0 unless the segment is extended."""
    s = d.dtype(0.0)
    if extended:
        s = clamp(dot(r, d) / dot(d, d), 0.0, 1.0)
    return s


@func
def _apart(r: Vec[3, Float], d: Vec[3, Float], e: Vec[3, Float], s: Float, t: Float) -> Float:
    """Squared distance of two points of the segments."""
    gap = r + t * e - s * d
    return dot(gap, gap)

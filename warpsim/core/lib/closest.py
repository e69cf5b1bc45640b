"""Closest points between points, segments and triangles, in the kernel language, for float32 and float64.

All functions take any finite input: a segment may be a point, a triangle a segment or a point. Results
are as good as the rounding of the coordinates allows, relative to the largest distance involved.
A derivative is that of the closest feature (inside of a face, an edge, a corner) that was found; where two
features are equally close, of the one that the function's text names first.
"""

from __future__ import annotations

from ..frontend.functions import func
from ..ops import clamp, cross, dot, length, vector, where
from ..types.scalars import float32, float64
from ..types.signatures import Float, Vec

FLAT = {float32: 1.0e-10, float64: 1.0e-24}
"""Squared sine of the sharpest angle that still has a plane: below it a triangle counts as a segment."""


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
    v, w = dot(cross(ap, ac), n), dot(cross(ab, ap), n)
    if v >= 0.0 and w >= 0.0 and v + w <= area and area > FLAT[type(area)] * dot(ab, ab) * dot(ac, ac):
        v, w = v / area, w / area
        return 1.0 - v - w, v
    return _closest_on_edges(p, a, b, c)


@func
def _closest_on_edges(
    p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]
) -> tuple[Float, Float]:
    """The same on the border of the triangle."""
    s, t, r = closest_point_segment(p, a, b), closest_point_segment(p, b, c), closest_point_segment(p, c, a)
    on_ab, on_bc, on_ca = a + s * (b - a) - p, b + t * (c - b) - p, c + r * (a - c) - p
    first, second, third = dot(on_ab, on_ab), dot(on_bc, on_bc), dot(on_ca, on_ca)
    if first <= second and first <= third:
        return 1.0 - s, s
    if second <= third:
        return t.dtype(0.0), 1.0 - t
    return r, r.dtype(0.0)

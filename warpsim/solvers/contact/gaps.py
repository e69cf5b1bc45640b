"""How far corners are from triangles, and edges from edges."""

from __future__ import annotations

from ...core.language import Float, Vec, func
from ...core.lib.closest import closest_point_edge_edge, closest_point_triangle


@func
def face_gap(p: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]) -> Vec[3, Float]:
    """From the closest point of a triangle to a point."""
    u, v = closest_point_triangle(p, a, b, c)
    return p - (u * a + v * b + (1.0 - u - v) * c)


@func
def edge_gap(a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float], d: Vec[3, Float]) -> Vec[3, Float]:
    """From the closest point of the segment c d to that of a b."""
    w = closest_point_edge_edge(a, b, c, d, a.dtype(0.0))
    return a + w[0] * (b - a) - c - w[1] * (d - c)

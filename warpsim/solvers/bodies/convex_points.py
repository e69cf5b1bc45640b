"""Points of a face that a polygon lies on: corners of both and crossings of their outlines, of which four are chosen.

They are numbered as `point_on_face` measures them.
"""

from __future__ import annotations

from typing import Any

from ...core.language import cross, dot, func, int32, length, max, min, vec4i, zeros
from ..scene.shapes import ShapeType, to_shape
from .convex_shapes import corner_count, corner_of, face_below, face_of, radius_of
from .touch_boxes import NEAR

_POLYGON, _SHARED = 32, 64
"""Corners that a polygon has at most, and points that two have in common."""
_FAR = 1.0e30
_LOW = 2.0e-5
"""Of the smaller shape: how much higher than the lowest point the first one may be."""


@func
def fill_polygon(points: Any, forms: Any, s: int32, number: int32, n: Any):
    """Corners of a polygon that looks along n."""
    for k in range(corner_count(forms, s, number)):
        points[k] = corner_of(forms, s, number, k, n)


@func
def is_inside(x: Any, forms: Any, s: int32, points: Any, count: int32, n: Any) -> bool:
    """Whether a point is over a polygon, seen along its unit normal; caps of cylinders and cones are discs."""
    inside, kind = True, forms.kind[s]
    if kind == ShapeType.CYLINDER or kind == ShapeType.CONE:
        local = to_shape(forms.pose[s], x)
        wide = forms.scale[s][0] * (1.0 + NEAR)
        inside = local[0] * local[0] + local[1] * local[1] <= wide * wide
    else:
        for k in range(count):
            side = points[(k + 1) % count] - points[k]
            if dot(x - points[k], cross(side, n)) > NEAR * dot(side, side):
                inside = False
    return inside


@func
def crossing(k: int32, lying: Any, many: int32, below: Any, count: int32, n: Any) -> tuple[Any, bool]:
    """Where side k // count of what lies there crosses side k % count of the face, seen along n, and whether it
    does."""
    i, j = k // count, k % count
    x, y, z, w = lying[i], lying[(i + 1) % many], below[j], below[(j + 1) % count]
    out = cross(w - z, n)
    start, end = dot(x - z, out), dot(y - z, out)
    inside = start * end < 0.0
    if inside:
        x = x + (start / (start - end)) * (y - x)
        t = dot(x - z, w - z)
        inside = t > 0.0 and t < dot(w - z, w - z)
    return x, inside


@func
def spanning_points(
    face: int32, other: int32, reach: Any, size: Any, forms: Any, a: int32, b: int32
) -> tuple[vec4i, Any]:  # fmt: skip
    """Up to four points of a polygon of b on a face of a, -1 for none: the lowest, the farthest from it, and the
    farthest on both sides; and the height of the lowest. Where they share nothing it is the lowest corner, and the
    height is that of none, very large. size: of the smaller shape [m]."""
    lying, below = zeros(shape=_POLYGON, dtype=type(forms.scale[a])), zeros(shape=_POLYGON, dtype=type(forms.scale[a]))
    feet, names = zeros(shape=_SHARED, dtype=type(forms.scale[a])), zeros(shape=_SHARED, dtype=int32)
    heights = zeros(shape=_SHARED, dtype=type(reach))
    origin, n = face_of(forms, a, face)
    p, m = face_of(forms, b, face_below(forms, b, other))
    many, count, radius = corner_count(forms, b, other), corner_count(forms, a, face), radius_of(forms, b)
    fill_polygon(lying, forms, b, other, -n)
    fill_polygon(below, forms, a, face, n)
    shared, lowest, steep, sides = int32(0), reach + _FAR, dot(n, m), many
    last, deepest = int32(0), lowest
    if many < 3:
        sides = many - 1
    for k in range(many + count + sides * count):
        x, inside, height = n, True, reach * 0.0
        if k < many:
            x = lying[k]
            inside = count == 0 or is_inside(x, forms, a, below, count, n)
            height = dot(x - origin, n)
        elif k < many + count:
            x = below[k - many]
            inside = many > 2 and steep < -0.1
            if inside:
                height = dot(p - x, m) / steep
                inside = is_inside(x + height * n, forms, b, lying, many, m)
        else:
            x, inside = crossing(k - many - count, lying, many, below, count, n)
            height = dot(x - origin, n)
        height = height - radius
        if k < many and height < deepest:
            last, deepest = k, height
        if inside and height <= reach and shared < _SHARED:
            feet[shared], heights[shared], names[shared] = x, height, k
            lowest = min(lowest, height)
            shared += 1
    chosen = four_of(shared, feet, heights, names, lowest + _LOW * size, NEAR * size, n)
    if shared == 0:
        chosen[0] = last
    return chosen, lowest


@func
def four_of(shared: int32, feet: Any, heights: Any, names: Any, low: Any, firm: Any, n: Any) -> vec4i:
    """Numbers of points that span most, seen along n. Later ones are taken only where they are clearly better."""
    chosen, first, second = vec4i(-1, -1, -1, -1), int32(-1), int32(-1)
    for k in range(shared):
        if first < 0 and heights[k] <= low:
            first = k
    if first >= 0:
        chosen[0] = names[first]
        far, left, right = firm, firm * 0.0, firm * 0.0
        for k in range(shared):
            way = feet[k] - feet[first]
            size = length(way - dot(way, n) * n)
            if size > far * (1.0 + NEAR):
                second, far = k, size
        if second >= 0:
            chosen[1] = names[second]
            for k in range(shared):
                area = dot(cross(feet[second] - feet[first], feet[k] - feet[first]), n)
                if area > max(left, firm * far) * (1.0 + NEAR):
                    chosen[2], left = names[k], area
                if area < min(right, -firm * far) * (1.0 + NEAR):
                    chosen[3], right = names[k], area
    return chosen

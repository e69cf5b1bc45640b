"""Signed distance of two convex shapes: the direction that keeps their supporting planes farthest apart.

The difference of two convex shapes, all ways from a point of the first to one of the second, is convex. A polytope
inside of it grows by the support point behind its face that is nearest to the origin, until that face is one of the
difference itself (expanding polytope algorithm: G. van den Bergen 2001, Proximity queries and penetration depth
computation on 3D game objects). What the polytope says is no less than the true distance, and every direction that is
tried says no more: so the search knows when it has the best of all. Shapes that are apart are no other case: the origin
is outside of the polytope then, and its distance counts (E. Gilbert, D. Johnson, S. Keerthi 1988).
"""

from __future__ import annotations

from typing import Any

from ...core.language import abs, cross, dot, float32, float64, func, int32, length, normalize, vec2i, vec3i
from ...core.language import vec4i, vector, zeros
from ...core.lib.closest import closest_point_triangle
from .convex_shapes import middle_of, radius_of, support
from .manifold import across

_CORNERS, _FACES, _EDGES = 64, 128, 128
"""Room of the polytope, and of the outline that a new corner sees."""
_CERTAIN = 1.0e-5
"""Of the smaller shape: how near to the best direction the search ends."""
ROUNDING = {float32: 6.0e-7, float64: 1.0e-15}
"""Of coordinates: what rounding does to a distance."""
_SLIVER = {float32: 1.0e-5, float64: 1.0e-11}
"""Sine of an angle of a face below which it has no normal."""
_FAR = 1.0e30


@func
def separation(forms: Any, a: int32, b: int32, n: Any) -> tuple[Any, Any, int32, int32]:
    """Distance of the supporting planes across a unit vector from a to b, the way between the points there, and the
    numbers of both places."""
    x, place = support(forms, a, n)
    y, other = support(forms, b, -n)
    way = y - x
    return dot(way, n) - radius_of(forms, a) - radius_of(forms, b), way, place, other


@func
def straight_way(forms: Any, a: int32, b: int32) -> Any:
    """The unit vector from middle to middle; y where they are one."""
    way = middle_of(forms, b) - middle_of(forms, a)
    size = length(way)
    result = vector(way[0] * 0.0, way[0] * 0.0 + 1.0, way[0] * 0.0)
    if size > 0.0:
        result = way / size
    return result


@func
def start_direction(turn: int32, n: Any, points: Any) -> Any:
    """Where to look for corner number turn of the six of which four begin the polytope: there, and on the other side.

    First the straight way, then across it, then across the plane of three.
    """
    result = -n
    if turn == 2:
        result = across(normalize(points[1] - points[0]))
    elif turn == 4:
        up = cross(points[1] - points[0], points[2] - points[0])
        size = length(up)
        if size > 0.0:
            result = up / size
    return result


@func
def toggle_edge(edges: Any, count: int32, start: int32, end: int32) -> int32:
    """How many edges an outline has with one more; one that it had the other way round is gone."""
    result, i = count, int32(0)
    while i < count and (edges[i][0] != end or edges[i][1] != start):
        i += 1
    if i < count:
        result -= 1
        edges[i] = edges[result]
    elif count < _EDGES:
        edges[count] = vec2i(start, end)
        result += 1
    return result


@func
def expand(k: int32, faces: int32, points: Any, corners: Any, normals: Any, offsets: Any, edges: Any) -> int32:
    """Take corner k into the polytope: faces that see it go, and their outline gets faces to it. How many there are.

    The first faces are the two sides of the triangle of corners 0, 1 and 2.
    """
    p, count, outline, f = points[k], faces, int32(0), faces - 1
    if faces == 0:
        edges[0], edges[1], outline = vec2i(0, 1), vec2i(1, 0), 2
    while f >= 0:
        if dot(normals[f], p) > offsets[f]:
            for i in range(3):
                outline = toggle_edge(edges, outline, corners[f][i], corners[f][(i + 1) % 3])
            count -= 1
            corners[f], normals[f], offsets[f] = corners[count], normals[count], offsets[count]
        f -= 1
    for i in range(outline):
        if count < _FACES:
            x, y = points[edges[i][0]], points[edges[i][1]]
            m = cross(y - x, p - x)
            size, room = length(m), length(y - x) * length(p - x)
            corners[count], normals[count] = vec3i(edges[i][0], edges[i][1], k), m * 0.0
            offsets[count] = size * 0.0 + _FAR
            if size > _SLIVER[type(size)] * room:
                normals[count], offsets[count] = m / size, dot(m / size, x)
            count += 1
    return count


@func
def nearest_face(
    faces: int32, points: Any, corners: Any, normals: Any, offsets: Any, small: Any
) -> tuple[vec3i, Any, Any]:  # fmt: skip
    """Corners of the face of the polytope that is nearest to the origin, the direction from a to b that it stands for,
    and how far both are apart by it. small: distances that have no direction [m]."""
    chosen, best, n, outside = int32(0), small * 0.0 - _FAR, normals[0], False
    for f in range(faces):
        gap = -offsets[f]
        if gap > 0.0 and (not outside or gap < best):
            x, y, z = points[corners[f][0]], points[corners[f][1]], points[corners[f][2]]
            u, v = closest_point_triangle(x * 0.0, x, y, z)
            q = u * x + v * y + (1.0 - u - v) * z
            far = length(q)
            if not outside or far < best:
                chosen, best, n, outside = f, far, -normals[f], True
                if (u <= 0.0 or v <= 0.0 or u + v >= 1.0) and far > small:
                    n = q / far
        elif not outside and gap > best:
            chosen, best, n = f, gap, -normals[f]
    return corners[chosen], n, best


@func
def farthest_direction(forms: Any, a: int32, b: int32, size: Any, slack: Any) -> tuple[Any, Any, vec4i, vec4i]:
    """The unit vector from a to b that keeps them farthest apart, how far, and what may meet there: four places of
    each. size: of the smaller shape; slack: what rounding does to distances [m]."""
    points, names = zeros(shape=_CORNERS, dtype=type(forms.scale[0])), zeros(shape=_CORNERS, dtype=vec2i)
    corners, edges = zeros(shape=_FACES, dtype=vec3i), zeros(shape=_EDGES, dtype=vec2i)
    normals = zeros(shape=_FACES, dtype=type(forms.scale[0]))
    offsets = zeros(shape=_FACES, dtype=type(forms.scale[0][0]))
    n, around = straight_way(forms, a, b), radius_of(forms, a) + radius_of(forms, b)
    aim, best, bound, wide = n, size * 0.0 - _FAR, size * 0.0, size * 0.0
    places, others, corner = vec4i(0, 0, 0, 0), vec4i(0, 0, 0, 0), vec3i(0, 0, 0)
    count, faces, turn, going = int32(4), int32(0), int32(0), True
    while going:
        gap, way, place, other = separation(forms, a, b, n)
        k = int32(-1)
        if turn > 5 and gap >= best - slack:
            best, aim = gap, n
            x, y, z = names[corner[0]], names[corner[1]], names[corner[2]]
            places, others = vec4i(x[0], y[0], z[0], place), vec4i(x[1], y[1], z[1], other)
        if turn < 6:
            far, slot = abs(dot(n, way - points[0])), turn // 2 + 1
            if turn < 2:
                slot = turn
            if (turn != 3 and turn != 5) or far > wide:
                wide, points[slot], names[slot] = far, way, vec2i(place, other)
            if turn == 3 or turn == 5:
                k = slot
        elif bound - around - best <= _CERTAIN * size + slack or count == _CORNERS:
            going = False
        else:
            points[count], names[count], k = way, vec2i(place, other), count
            count += 1
        if k >= 0:
            before = faces
            faces = expand(k, faces, points, corners, normals, offsets, edges)
            going = faces > before
        turn += 1
        if turn < 6:
            n = start_direction(turn, n, points)
        elif going:
            corner, n, bound = nearest_face(faces, points, corners, normals, offsets, 10.0 * slack)
    return aim, best, places, others

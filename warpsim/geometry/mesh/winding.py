"""Generalized winding numbers of meshes, by a tree: how often the surface goes round a point, 1 inside and 0 outside.

Jacobson, Kavan & Sorkine-Hornung 2013, Robust inside-outside segmentation using generalized winding numbers; far
triangles together by their first two moments as in Barill et al. 2018, Fast winding numbers for soups and
clouds. The number changes smoothly across holes, so a threshold gives meshes with holes an inside.
"""

from __future__ import annotations

from ...core.language import array, float32, int32, vec3, vec3d
from ...core.language import abs, atan2, cross, dot, func, kernel, length, max, struct, tid
from ..bvh.boxes import is_finite
from ..bvh.nodes import EMPTY, leaf_count, leaf_first
from ..bvh.traverse import visit_all
from .data import MeshData, WindingMoments, corners_of, is_finite_triangle

_OVER_4_PI = 0.07957747154594767
_OVER_2_PI = 0.15915494309189535


# ----- evaluation -----------------------------------------------------------------------------


@func
def solid_angle(point: vec3, first: vec3, second: vec3, third: vec3) -> float32:
    """Half the solid angle of a triangle seen from a point, positive from behind (Van Oosterom & Strackee 1983).

    Near an edge of a large triangle both terms are small differences of large numbers, hence float64.
    """
    a, b, c = vec3d(first) - vec3d(point), vec3d(second) - vec3d(point), vec3d(third) - vec3d(point)
    x, y, z = length(a), length(b), length(c)
    spread = x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y
    volume = dot(a, cross(b, c))
    half = float32(0.0)
    if volume != 0.0 or spread > 0.0:  # in the plane of the triangle, inside it: on the surface, no side is better
        larger = max(abs(volume), abs(spread))
        half = atan2(float32(volume / larger), float32(spread / larger))
    return half


@func
def far_field(moments: WindingMoments, r: vec3) -> float32:
    """The solid angle of distant triangles, over 4 pi; r: from the point to their center."""
    squared = dot(r, r)
    inverse = 1.0 / squared
    first = dot(moments.normal, r)
    diagonal = moments.xx * r[0] * r[0] + moments.yy * r[1] * r[1] + moments.zz * r[2] * r[2]
    mixed = moments.xy * r[0] * r[1] + moments.yz * r[1] * r[2] + moments.zx * r[2] * r[0]
    trace = moments.xx + moments.yy + moments.zz
    second = trace - 3.0 * (diagonal + 2.0 * mixed) * inverse
    return (first + second) * inverse / length(r) * _OVER_4_PI


@struct
class WindingSum:
    """The winding number of what has been visited."""

    point: vec3
    accuracy: float32
    number: float32


@func
def enter_near(data: MeshData, search: WindingSum, n: int32) -> tuple[WindingSum, int32]:
    """Add what is far below a node, and go on with what is near."""
    node, near = data.tree.nodes[n], int32(0)
    for k in range(4):
        if node.child[k] != EMPTY:
            moments = data.moments[4 * n + k]
            r = moments.center - search.point
            if length(r) > search.accuracy * moments.reach and length(r) > moments.reach:
                search.number += far_field(moments, r)
            else:
                near = near | (1 << k)
    return search, near


@func
def add_angles(data: MeshData, search: WindingSum, leaf: int32) -> WindingSum:
    """Add the solid angles of the faces of a leaf."""
    for k in range(leaf_count(leaf)):
        a, b, c = corners_of(data, data.tree.items[leaf_first(leaf) + k])
        if is_finite_triangle(a, b, c):
            search.number += solid_angle(search.point, a, b, c) * _OVER_2_PI
    return search


@func(nondiff="it decides about a sign")
def winding_number(data: MeshData, point: vec3, accuracy: float32) -> float32:
    """The winding number of a mesh around a point.

    What is below a node counts as far where the point is further from its center than `accuracy` times its reach.
    """
    search = WindingSum(point=point, accuracy=accuracy, number=0.0)
    if is_finite(point):
        search = visit_all(data, search, enter_near, add_angles)
    return search.number


# ----- moments --------------------------------------------------------------------------------


@func
def add_moments(total: WindingMoments, part: WindingMoments) -> WindingMoments:
    """Moments about the center of `total` with those of `part`, moved there."""
    s, n = part.center - total.center, part.normal
    total.normal += n
    total.xx += part.xx + s[0] * n[0]
    total.yy += part.yy + s[1] * n[1]
    total.zz += part.zz + s[2] * n[2]
    total.xy += part.xy + 0.5 * (s[0] * n[1] + s[1] * n[0])
    total.yz += part.yz + 0.5 * (s[1] * n[2] + s[2] * n[1])
    total.zx += part.zx + 0.5 * (s[2] * n[0] + s[0] * n[2])
    total.reach = max(total.reach, length(s) + part.reach)
    return total


@func
def triangle_moments(a: vec3, b: vec3, c: vec3) -> WindingMoments:
    """Of one triangle about its centroid, where the second ones vanish; nothing for one that is not finite."""
    moments = WindingMoments()
    if is_finite_triangle(a, b, c):
        center = (a + b + c) / 3.0
        moments.center, moments.normal = center, 0.5 * cross(b - a, c - a)
        moments.area = length(moments.normal)
        moments.reach = max(length(a - center), max(length(b - center), length(c - center)))
    return moments


@func
def add_to_center(center: vec3, area: float32, part: WindingMoments) -> tuple[vec3, float32]:
    """Running sums for the center of area."""
    return center + part.area * part.center, area + part.area


@kernel
def leaf_moments(data: MeshData, owners: array(dtype=int32), moments: array(dtype=WindingMoments)):
    """Moments of one leaf, about its center of area, written to its slot."""
    leaf = tid()
    slot = owners[leaf]
    child = data.tree.nodes[slot // 4].child[slot % 4]
    center, area, last = vec3(), float32(0.0), vec3()
    for k in range(leaf_count(child)):
        a, b, c = corners_of(data, data.tree.items[leaf_first(child) + k])
        part = triangle_moments(a, b, c)
        center, area = add_to_center(center, area, part)
        last = part.center
    total = WindingMoments()
    total.area = area
    total.center = last
    if area > 0.0:
        total.center = center / area
    for k in range(leaf_count(child)):
        a, b, c = corners_of(data, data.tree.items[leaf_first(child) + k])
        total = add_moments(total, triangle_moments(a, b, c))
    moments[slot] = total


@kernel
def node_moments(data: MeshData, moments: array(dtype=WindingMoments), stage: array(dtype=int32)):
    """Moments of inner children of the nodes of one range, the last first; see `bvh.refit`."""
    t = tid()
    for i in range(stage[t + 1] - stage[t]):
        n = stage[t + 1] - 1 - i
        node = data.tree.nodes[n]
        center, area, last = vec3(), float32(0.0), vec3()
        for k in range(4):
            if node.child[k] != -1:
                center, area = add_to_center(center, area, moments[4 * n + k])
                last = moments[4 * n + k].center
        total = WindingMoments()
        total.area = area
        total.center = last
        if area > 0.0:
            total.center = center / area
        for k in range(4):
            if node.child[k] != -1:
                total = add_moments(total, moments[4 * n + k])
        if node.parent >= 0:
            moments[node.parent] = total

"""Rays through edges and corners around which faces do not close up: the rim of an open mesh.

A ray that meets an edge or a corner exactly meets several faces at once. Around one that is closed, the rule of
`ray_crosses` counts as many of them as the ray beside it would cross. At the rim there is nothing on the other side,
and that rule would give the edge to nobody half of the time: so there the face of the smallest number counts, and no
other.

Faces share an edge or a corner that has the same coordinates. An edge is closed if an even number of faces has it, a
corner if each edge that begins there is. That is independent of how faces are turned.
"""

from __future__ import annotations

from typing import Any

from ...core.language import float64, func, int32, mask_at_most, min, struct, vec3, vec3i, where
from ...core.frontend.translate.forms import cast
from ...core.lib.intersect import edge_side
from ..bvh.boxes import box_distances_sq
from ..bvh.nodes import leaf_count, leaf_first
from ..bvh.traverse import visit_all
from .data import MeshData, corners_of


@struct
class Border:
    """The faces that share the edge from p to q, or the corner p = q."""

    p: vec3
    q: vec3
    count: int32
    ends: vec3i  # of a corner: 0 if each edge that begins there has an even number of faces
    lowest: int32  # the smallest number of these faces


@func
def same(a: vec3, b: vec3) -> bool:
    """Whether two points have the same coordinates."""
    return a[0] == b[0] and a[1] == b[1] and a[2] == b[2]


@func
def bits_of(x: vec3) -> vec3i:
    """The bits of coordinates, the same for both zeros."""
    return cast(x + vec3(0.0), vec3i)


@func
def with_face(border: Border, face: int32, a: vec3, b: vec3, c: vec3) -> Border:
    """A border with a face, if that has it."""
    i = where(same(a, border.p), 0, where(same(b, border.p), 1, where(same(c, border.p), 2, -1)))
    j = where(same(a, border.q), 0, where(same(b, border.q), 1, where(same(c, border.q), 2, -1)))
    if i >= 0 and j >= 0 and not (same(a, b) or same(b, c) or same(c, a)):  # a face that is a segment closes nothing
        after, before = bits_of(where(i == 0, b, where(i == 1, c, a))), bits_of(where(i == 0, c, where(i == 1, a, b)))
        border.count += 1
        border.ends = vec3i(
            border.ends[0] ^ after[0] ^ before[0],
            border.ends[1] ^ after[1] ^ before[1],
            border.ends[2] ^ after[2] ^ before[2],
        )
        border.lowest = min(border.lowest, face)
    return border


@func
def enter_border(data: MeshData, border: Border, n: int32) -> tuple[Border, int32]:
    """Go on with boxes that hold both ends."""
    node = data.tree.nodes[n]
    return border, mask_at_most(box_distances_sq(node, border.p) + box_distances_sq(node, border.q), 0.0)


@func
def add_leaf(data: MeshData, border: Border, leaf: int32) -> Border:
    """The border with the faces of a leaf that have it."""
    for k in range(leaf_count(leaf)):
        face = data.tree.items[leaf_first(leaf) + k]
        a, b, c = corners_of(data, face)
        border = with_face(border, face, a, b, c)
    return border


@func
def is_open(border: Border) -> bool:
    """Whether the faces do not close up around it."""
    ends = border.ends[0] | border.ends[1] | border.ends[2]
    return ends != 0 if same(border.p, border.q) else border.count % 2 == 1


@func
def border_met(ray: Any, a: vec3, b: vec3, c: vec3) -> tuple[int32, int32]:
    """The ends of the edge of a triangle that is hit, or twice the corner, that the ray meets; (-1, -1) inside."""
    p, q, r = ray.frame * (a - ray.start), ray.frame * (b - ray.start), ray.frame * (c - ray.start)
    on_a = edge_side(q[0], q[1], r[0], r[1]) == float64(0.0)
    on_b = edge_side(r[0], r[1], p[0], p[1]) == float64(0.0)
    on_c = edge_side(p[0], p[1], q[0], q[1]) == float64(0.0)
    i, j = int32(-1), int32(-1)
    if on_a:  # on the edge from b to c
        i, j = where(on_b, 2, 1), where(on_c, 1, 2)
    elif on_b:
        i, j = where(on_c, 0, 2), int32(0)
    elif on_c:
        i, j = int32(0), int32(1)
    return i, j


@func
def rim_count(data: MeshData, root: int32, ray: Any, face: int32, a: vec3, b: vec3, c: vec3) -> int32:
    """Where the ray meets the rim of the faces below `root`: 1 if this face, which is hit, counts, else 0; else -1."""
    i, j = border_met(ray, a, b, c)
    counted = int32(-1)
    if i >= 0:
        p, q = where(i == 0, a, where(i == 1, b, c)), where(j == 0, a, where(j == 1, b, c))
        border = visit_all(data, Border(p=p, q=q, lowest=face), enter_border, add_leaf, root)
        if is_open(border):
            counted = where(border.lowest == face, 1, 0)
    return counted

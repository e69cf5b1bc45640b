"""Capsules: two of them, and one with a box.

Features of two: 0 and 1 are ends of the first against the other, 2 and 3 the reverse, 4 is where both axes pass each
other. Of a capsule and a box: 0 and 1 are ends of the capsule, from 2 on edges of the box that its axis passes, from
14 on corners.
"""

from __future__ import annotations

from typing import Any

from ...core.language import Array, Float, Transform, Vec, abs, array, dot, func, int32, kernel, tid, uint64
from ...core.language import vec4i
from ...core.lib.quaternions import quat_rotate, quat_rotate_inv
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.shapes import away, box_distance, to_shape, to_world
from .manifold import put_point
from .pair_choice import no_points
from .touch_boxes import edge_point, nearest_of_lines, unit
from .touch_points import box_point

_PARALLEL = 1.0e-3
"""Squared sine below which two directions are parallel: their ends are what meets."""
_OUTSIDE = 1.0e-3
"""How far a direction may look into a face beside an edge, relative to its length."""
_EDGES, _CORNERS = 12, 8


@func
def end_of(pose: Transform[Float], scale: Vec[3, Float], k: int32) -> Vec[3, Float]:
    """An end of a capsule's axis: 0 is the lower one."""
    z = scale[1]
    if k == 0:
        z = -z
    return to_world(pose, type(scale)(0.0, 0.0, z))


@func
def end_against(
    x: Vec[3, Float], pose: Transform[Float], scale: Vec[3, Float]
) -> tuple[Float, Vec[3, Float], bool]:  # fmt: skip
    """Distance of a point from the axis of a capsule, the unit normal from there, and whether it is beside it."""
    local = to_shape(pose, x)
    beside = abs(local[2]) < scale[1]
    along = local[2]
    if not beside:
        along = scale[1]
        if local[2] < 0.0:
            along = -scale[1]
    size, n = away(type(local)(local[0], local[1], local[2] - along))
    return size, quat_rotate(transform_get_rotation(pose), n), beside


# ----- two capsules -------------------------------------------------------------------------------


@func
def measure_capsules(
    k: int32, pose: Transform[Float], scale: Vec[3, Float], other: Transform[Float], sizes: Vec[3, Float]
) -> tuple[Vec[3, Float], Vec[3, Float], Float, bool]:  # fmt: skip
    """Of a feature: the point on the axis of the first, the unit normal to the second, the distance of the axes, and
    whether both are beside each other there."""
    x, n, size, there = scale * 0.0, scale * 0.0, scale[0] * 0.0, False
    if k < 2:
        x = end_of(pose, scale, k)
        size, n, there = end_against(x, other, sizes)
        n = -n
    elif k < 4:
        y = end_of(other, sizes, k - 2)
        size, n, there = end_against(y, pose, scale)
        x = y - size * n
    else:
        p, q = transform_get_translation(pose), transform_get_translation(other)
        d, e = unit(transform_get_rotation(pose), 2), unit(transform_get_rotation(other), 2)
        if 1.0 - dot(d, e) * dot(d, e) > _PARALLEL:
            s, t = nearest_of_lines(p, d, q, e)
            x = p + s * d
            size, n = away(q + t * e - x)
            there = abs(s) < scale[1] and abs(t) < sizes[1] and size > 0.0
    return x, n, size, there


@func
def choose_capsules(forms: Any, heights: Any, m: Any, c: int32, reach: Any) -> vec4i:
    """Features of a pair of capsules: ends of the first, those of the second beside it, and crossings."""
    a, b = m.shapes[c][0], m.shapes[c][1]
    touch = reach + forms.scale[a][0] + forms.scale[b][0]
    chosen, place = no_points(), int32(0)
    for back in range(5):
        k = 4 - back
        _x, _n, size, there = measure_capsules(k, forms.pose[a], forms.scale[a], forms.pose[b], forms.scale[b])
        if (there or k < 2) and size <= touch and place < 4:
            chosen[place] = k
            place += 1
    if place == 0:
        m.near[c] = 0
    return chosen


@kernel
def measure_capsule_pairs(
    kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any, moving: Any
):
    """Points, normals and gaps of features of capsules."""
    c = ranges[kind] + tid()
    if c < ranges[kind + 1]:
        a, b = m.shapes[c][0], m.shapes[c][1]
        one, two = forms.scale[a][0] + forms.margin[a], forms.scale[b][0] + forms.margin[b]
        for place in range(4):
            k = p.feature[c][place]
            if k >= 0:
                x, n, size, _there = measure_capsules(k, forms.pose[a], forms.scale[a], forms.pose[b], forms.scale[b])
                gap = size - one - two
                put_point(m, moving, 4 * c + place, m.rows[c], x + (one + 0.5 * gap) * n, n, gap)


# ----- a capsule and a box ------------------------------------------------------------------------


@func
def measure_beside_box(
    k: int32, pose: Transform[Float], scale: Vec[3, Float], box: Transform[Float], half: Vec[3, Float],
    heights: Array[Float, 2],
) -> tuple[Vec[3, Float], Vec[3, Float], Float, bool]:  # fmt: skip
    """Of a feature: the point on the capsule's axis, the unit normal to the box, the distance, whether it is one."""
    x, n, size, there = scale * 0.0, scale * 0.0, scale[0] * 0.0, False
    if k < 2:
        x = end_of(pose, scale, k)
        size, out = box_distance_from(x, box, half, heights)
        n, there = -out, True
    elif k < 2 + _EDGES:
        axis, signs = (k - 2) // 4, (k - 2) % 4
        p, d = transform_get_translation(pose), unit(transform_get_rotation(pose), 2)
        q, e = edge_point(box, half, axis, signs)
        if 1.0 - dot(d, e) * dot(d, e) > _PARALLEL:
            s, t = nearest_of_lines(p, d, q, e)
            x = p + s * d
            size, n = away(q + t * e - x)
            there = abs(s) < scale[1] and abs(t) <= half[axis] and size > 0.0
            local = quat_rotate_inv(transform_get_rotation(box), -n)
            there = there and looks_out(local[(axis + 1) % 3], signs & 1)
            there = there and looks_out(local[(axis + 2) % 3], signs & 2)
    else:
        corner, _radius = box_point(half, k - 2 - _EDGES)
        y = to_world(box, corner)
        size, n, there = end_against(y, pose, scale)
        x = y - size * n
        local = quat_rotate_inv(transform_get_rotation(box), -n)
        for i in range(3):
            there = there and looks_out(local[i], (1 << i) - ((k - 2 - _EDGES) & (1 << i)))
    return x, n, size, there


@func
def looks_out(part: Float, minus: int32) -> bool:
    """Whether a direction looks out of a face, by its component across it; minus: not 0 for the negative face."""
    out = part
    if minus != 0:
        out = -part
    return out >= -_OUTSIDE


@func
def box_distance_from(
    x: Vec[3, Float], box: Transform[Float], half: Vec[3, Float], heights: Array[Float, 2]
) -> tuple[Float, Vec[3, Float]]:  # fmt: skip
    """Distance of a point of space from a box, and the normal out of it, in space."""
    size, n = box_distance(to_shape(box, x), half, uint64(0), heights, x[0])
    return size, quat_rotate(transform_get_rotation(box), n)


@func
def choose_beside_box(forms: Any, heights: Any, m: Any, c: int32, reach: Any) -> vec4i:
    """Features of a capsule beside a box: ends, and the two nearest edges or corners."""
    a, b = m.shapes[c][0], m.shapes[c][1]
    pose, scale, box, half = forms.pose[a], forms.scale[a], forms.pose[b], forms.scale[b]
    touch = reach + scale[0]
    chosen, place = no_points(), int32(0)
    first, second, near, next = int32(-1), int32(-1), touch, touch
    for k in range(2 + _EDGES + _CORNERS):
        _x, _n, size, there = measure_beside_box(k, pose, scale, box, half, heights)
        if there and size <= touch:
            if k < 2:
                chosen[place] = k
                place += 1
            elif size < near:
                second, next = first, near
                first, near = k, size
            elif size < next:
                second, next = k, size
    if second >= 0 and second < first:
        first, second = second, first
    if first >= 0:
        chosen[place] = first
        place += 1
    if second >= 0:
        chosen[place] = second
        place += 1
    if place == 0:
        m.near[c] = 0
    return chosen


@kernel
def measure_beside_boxes(
    kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any, moving: Any
):
    """Points, normals and gaps of features of capsules beside boxes."""
    c = ranges[kind] + tid()
    if c < ranges[kind + 1]:
        a, b = m.shapes[c][0], m.shapes[c][1]
        pose, scale, own = forms.pose[a], forms.scale[a], forms.scale[a][0] + forms.margin[a]
        for place in range(4):
            k = p.feature[c][place]
            if k >= 0:
                x, n, size, _there = measure_beside_box(k, pose, scale, forms.pose[b], forms.scale[b], heights)
                gap = size - own - forms.margin[b]
                put_point(m, moving, 4 * c + place, m.rows[c], x + (own + 0.5 * gap) * n, n, gap)

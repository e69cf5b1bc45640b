"""Points of a form against the signed distance of another: balls, ends of capsules, corners, and points of rims.

Of a rim these are the one nearest to the other form, as that is seen from the middle, and three more around it.
"""

from __future__ import annotations

import functools
from typing import Any

from ...core.language import Float, Vec, array, func, int32, kernel, length, tid, vec2i, vec4i, vector
from ...core.lib.quaternions import quat_rotate_inv
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..scene.shapes import DISTANCE, ShapeType, direction_in_space, to_shape, to_world
from .convex_shapes import flat_unit, hull_point
from .manifold import put_point


@func
def ball_point(scale: Vec[3, Float], k: int32) -> tuple[Vec[3, Float], Float]:
    """The centre."""
    return scale * 0.0, scale[0]


@func
def capsule_point(scale: Vec[3, Float], k: int32) -> tuple[Vec[3, Float], Float]:
    """Ends of the axis: the lower, the upper."""
    z = scale[1]
    if k == 0:
        z = -z
    return type(scale)(0.0, 0.0, z), scale[0]


@func
def box_point(scale: Vec[3, Float], k: int32) -> tuple[Vec[3, Float], Float]:
    """Corners; bits of their numbers say on which sides they are."""
    x, y, z = scale[0], scale[1], scale[2]
    if (k & 1) == 0:
        x = -x
    if (k & 2) == 0:
        y = -y
    if (k & 4) == 0:
        z = -z
    return type(scale)(x, y, z), scale[0] * 0.0


@func
def round_axis(m: Vec[3, Float]) -> Vec[3, Float]:
    """The unit vector across z towards m; x where m is along z."""
    axis = vector(m[0] * 0.0 + 1.0, m[1] * 0.0, m[2] * 0.0)
    if m[0] * m[0] + m[1] * m[1] > _TILTED * _TILTED:
        axis = flat_unit(m)
    return axis


@func
def cylinder_point(scale: Vec[3, Float], k: int32, m: Vec[3, Float]) -> Vec[3, Float]:
    """Four of the lower rim, then four of the upper one."""
    side, z = scale[0] * round_axis(m), scale[1]
    if k < 4:
        z = -z
    x, y = side[0], side[1]
    if k % 2 == 1:
        x, y = -side[1], side[0]
    if k % 4 >= 2:
        x, y = -x, -y
    return vector(x, y, z)


@func
def cone_point(scale: Vec[3, Float], k: int32, m: Vec[3, Float]) -> Vec[3, Float]:
    """Four of the rim, then the tip."""
    p = cylinder_point(scale, k % 4, m)
    if k == 4:
        p = vector(p[0] * 0.0, p[1] * 0.0, scale[1])
    return p


FORM_POINTS: dict[ShapeType, tuple[Any, int]] = {
    ShapeType.SPHERE: (ball_point, 1),
    ShapeType.CAPSULE: (capsule_point, 2),
    ShapeType.BOX: (box_point, 8),
}
"""Of forms: a function from sizes and a number to a point of their frame and the radius around it, and how many."""
RIM_POINTS: dict[ShapeType, tuple[Any, int]] = {
    ShapeType.CYLINDER: (cylinder_point, 8),
    ShapeType.CONE: (cone_point, 5),
}
"""The same of forms with rims, which look for the direction of the other, too."""
_TILTED = 1.0e-3
"""Sine of the least tilt of a rim that has a nearest point."""


FLAT = (ShapeType.PLANE,)
"""Forms against which all points of another have one normal, so that they are one contact."""


def parts_of(form: ShapeType, other: ShapeType) -> int:
    """As how many contacts a form touches another: one, or one for each of its points."""
    return 1 if other in FLAT or form is ShapeType.MESH else (FORM_POINTS | RIM_POINTS)[form][1]


@functools.cache
def points_against(form: ShapeType, other: ShapeType) -> tuple[Any, Any]:
    """Kernels that choose the nearest points of a form to another, and that measure them. A mesh is a hull."""
    gap_of, parts = _gap_of(form, other), parts_of(form, other)
    single = form is not ShapeType.MESH and parts == (FORM_POINTS | RIM_POINTS)[form][1]
    return _choice(gap_of, _count_of(form), single), _measure(gap_of, 1 if single else 4)


def _count_of(form: ShapeType) -> Any:
    """A function that says how many points a form has."""
    if form is ShapeType.MESH:

        @func
        def hull_count(forms: Any, s: int32) -> int32:
            return forms.table[forms.hull[s] + 1]

        return hull_count
    fixed = (FORM_POINTS | RIM_POINTS)[form][1]

    @func
    def form_count(forms: Any, s: int32) -> int32:
        return int32(fixed)

    return form_count


def _point_of(form: ShapeType, other: ShapeType) -> Any:
    """A function that says where a point of a form is in its frame, and the radius around it."""
    distance = DISTANCE[other]
    if form is ShapeType.MESH:

        @func
        def corner(forms: Any, heights: Any, shapes: vec2i, k: int32, reach: Any) -> Any:
            return hull_point(forms, shapes[0], k), reach * 0.0

        return corner
    if form in RIM_POINTS:
        rim_point = RIM_POINTS[form][0]

        @func
        def on_rim(forms: Any, heights: Any, shapes: vec2i, k: int32, reach: Any) -> Any:
            a, b = shapes[0], shapes[1]
            middle, far = transform_get_translation(forms.pose[a]), reach + length(forms.scale[a])
            local = to_shape(forms.pose[b], middle)
            _gap, normal = distance(local, forms.scale[b], forms.source[b], heights, far)
            out = direction_in_space(transform_get_rotation(forms.pose[b]), normal)
            m = quat_rotate_inv(transform_get_rotation(forms.pose[a]), -out)
            return rim_point(forms.scale[a], k, m), reach * 0.0

        return on_rim
    point_of = FORM_POINTS[form][0]

    @func
    def fixed_point(forms: Any, heights: Any, shapes: vec2i, k: int32, reach: Any) -> Any:
        local, radius = point_of(forms.scale[shapes[0]], k)
        return local, radius

    return fixed_point


def _gap_of(form: ShapeType, other: ShapeType) -> Any:
    """A function that measures a point of a form."""
    point_of, distance = _point_of(form, other), DISTANCE[other]

    @func
    def gap_of(forms: Any, heights: Any, shapes: vec2i, k: int32, reach: Any) -> Any:
        """Gap, the point of space, the radius around it, and the normal out of the other form in its frame."""
        a, b = shapes[0], shapes[1]
        local, radius = point_of(forms, heights, shapes, k, reach)
        x = to_world(forms.pose[a], local)
        far, normal = distance(to_shape(forms.pose[b], x), forms.scale[b], forms.source[b], heights, reach + radius)
        return far - radius - forms.margin[a] - forms.margin[b], x, radius, normal

    return gap_of


@func
def is_among(chosen: vec4i, k: int32) -> bool:
    """Whether a number is one of four."""
    return k == chosen[0] or k == chosen[1] or k == chosen[2] or k == chosen[3]


def _choice(gap_of: Any, count_of: Any, single: bool) -> Any:
    """The kernel that chooses among points. single: a pair is about the one that its part says."""

    @kernel(enable_backward=False)
    def choose(kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any):
        c = ranges[kind] + tid()
        if c < ranges[kind + 1]:
            reach, chosen, taken, most = m.reach[c], vec4i(-1, -1, -1, -1), vec4i(-1, -1, -1, -1), int32(4)
            count = count_of(forms, m.shapes[c][0])
            if single:
                most = 1
            if m.near[c] == 0:
                most = 0
            for i in range(most):
                nearest, best = reach, int32(-1)
                for k in range(count):
                    if not is_among(taken, k) and (not single or k == m.part[c]):
                        gap, _x, _radius, normal = gap_of(forms, heights, m.shapes[c], k, reach)
                        if gap < nearest and length(normal) > 0.5:
                            nearest, best = gap, k
                taken[i] = best
            if taken[0] < 0:
                m.near[c] = 0
            place = int32(0)
            for k in range(count):  # in their own order, which rounding does not change
                if is_among(taken, k):
                    chosen[place] = k
                    place += 1
            p.feature[c] = chosen

    return choose


def _measure(gap_of: Any, most: int) -> Any:
    """The kernel that measures the points that were chosen, `most` at most."""

    @kernel
    def measure(
        kind: int32, ranges: array(dtype=int32), forms: Any, heights: array(dtype=Any, ndim=2), m: Any, p: Any,
        moving: Any,
    ):  # fmt: skip
        c = ranges[kind] + tid()
        if c < ranges[kind + 1]:
            a, b = m.shapes[c][0], m.shapes[c][1]
            for place in range(most):
                k = p.feature[c][place]
                if k >= 0:
                    gap, x, radius, normal = gap_of(forms, heights, m.shapes[c], k, m.reach[c])
                    out = direction_in_space(transform_get_rotation(forms.pose[b]), normal)
                    own = radius + forms.margin[a]
                    put_point(m, moving, 4 * c + place, m.rows[c], x - out * (own + 0.5 * gap), -out, gap)

    return measure

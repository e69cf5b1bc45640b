"""Ways of particles in a substep: where they meet shapes, also after others have pushed them.

A shape that pushes a particle leads it to a way that the shapes before it in the model have not seen, nor has a shape
with hollows itself. So the new way is swept again, from where the particle met what pushed it (`LEG`): it is pushed
out of what it meets there, and that once more. What is then between the particle and where the substep began ends the
straight way (`WHOLE`): nothing has gone through anything, in whatever order the shapes are.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Vec, array, array2d, int32, uint64
from ...core.language import abs, clamp, dot, func, kernel, length, max, min, tid, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..scene.shapes import DISTANCE, ShapeType, advance_pose, surface_velocity, to_shape, to_world
from .hits import hit_functions, pair_in
from .mesh_walls import wall_ahead_with
from .particle import move_to, position

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

THIN = {
    ShapeType.SPHERE,
    ShapeType.BOX,
    ShapeType.CAPSULE,
    ShapeType.CYLINDER,
    ShapeType.CONE,
    ShapeType.MESH,
    ShapeType.SDF,
    ShapeType.HOLLOW_MESH,
    ShapeType.HEIGHTFIELD,
}  # what has another side to come out of
CONVEX = {ShapeType.SPHERE, ShapeType.BOX, ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE}
VESSELS = {ShapeType.HOLLOW_SPHERE, ShapeType.HOLLOW_CYLINDER, ShapeType.HOLLOW_CAPSULE}
ROUND = VESSELS | (CONVEX - {ShapeType.BOX})
HOLLOWED = THIN - CONVEX  # of which a particle may meet several parts at once
LEG, WHOLE = 0, 1  # lines that are swept again: since the last push, and of the whole substep
LINES = (LEG, LEG, WHOLE)
_ADVANCES = 32  # of a sweep
_PACES = 1024.0  # of half a cell, which a sweep over a table of heights may have beside
_NEAR, CLOSE = 1.0e-2, 1.0e-5  # relative to its way: where Newton's method begins, and where it ends
_ALONG = 1.0 / _ADVANCES  # of its way: a step along what a way does not lead into


@func
def has_direction(normal: Vec[3, Float]) -> bool:
    """Whether a distance has a direction, see `shapes`."""
    return dot(normal, normal) > 0.0


@func
def enters(above: Float, normal: Vec[3, Float], way: Vec[3, Float]) -> bool:
    """Whether a way that begins in contact, outside of the obstacle, leads into it."""
    return above > -CLOSE * length(way) and dot(normal, way) < 0.0


def sweep_with(distance: Func, is_table: bool, passes: bool = False) -> Any:
    """When a particle on a straight line reaches an obstacle, by conservative advancement and Newton's method.

    passes: whether a line that touches the obstacle and does not lead into it goes on.
    """
    least = _ALONG if passes else _NEAR

    @func
    def sweep(
        a: Vec[3, Float], b: Vec[3, Float], keep: Float, scale: Vec[3, Float], source: uint64, heights: Array[Float, 2]
    ) -> Float:
        """From a to b in the obstacle's frame: the part of the way until the distance is `keep`; 1 if it stays above,
        or does not move, 0 if it begins below."""
        way = b - a
        far = length(way)
        t, gap, pace, stride = far * 0.0, far, far, least * far
        steps = int32(_ADVANCES)
        if passes:
            steps += int32(_ADVANCES)
        if is_table:  # whose distances are those from the slope below
            pace = min(scale[0] / far.dtype(heights.shape[0] - 1), scale[1] / far.dtype(heights.shape[1] - 1))
            steps += int32(min(far / pace, far.dtype(_PACES)))
        if not far > 0.0:  # what does not move comes nowhere; and there is nothing to divide by
            t, steps = t + 1.0, int32(0)
        while steps > 0:
            above, normal = distance(a + t * way, scale, source, heights, keep + far)
            gap = above - keep
            closing = -dot(normal, way)
            if not has_direction(normal):
                gap = max(max(gap, keep), _NEAR * far)
                t = t + gap / far
            elif gap < _NEAR * far and closing > _NEAR * far:
                behind = False
                if passes:
                    if gap < 0.0:  # an edge between what it goes along and what it goes into may be behind
                        stride *= 0.125
                        behind = gap > -CLOSE * far
                if not behind:
                    t = t + gap / closing
                steps -= 1
            else:
                step = stride
                if gap > _NEAR * far:
                    step = gap
                step = min(step, pace) / far
                if passes:
                    gap = far  # so that it does not end here
                    if t < 1.0 - CLOSE:  # the end counts too
                        step = min(step, 1.0 - CLOSE - t)
                t = t + step
                steps -= 1
                if passes:
                    if steps == 0:
                        t = far * 0.0 + 1.0
            if abs(gap) < CLOSE * far or t <= 0.0 or not t < 1.0:
                steps = int32(0)
        return clamp(t, far * 0.0, far * 0.0 + 1.0)

    return sweep


def meet_with(slots: int) -> Any:
    """How what is met on a new way is noted, for particles that remember so many shapes."""
    hits = hit_functions(slots)

    @func
    def meet(
        moving: Any, i: int32, s: int32, n: Vec[3, Float], pace: Float, restitution: Float, slow: Float,
        back: Vec[3, Float],
    ) -> None:  # fmt: skip
        """In a slot of its own while there are some.

        pace: of the surface along n; slow: what arrives no faster stays [m/s]. back: how it moves the particle [m].
        """
        count = hits.count_of(moving, i)
        slot = min(count, int32(slots - 1))
        if moving.bounced[i] < 0 and hits.met_in(moving, i, count - 1) == s:
            slot = count - 1
        moves, lost = vector(back[0], back[1], back[2], 0.0 * pace), 0.0 * back
        if slot < count:
            before = hits.met_in(moving, i, slot)
            moves, lost = moves + hits.pushed_by(moving, i, slot, before), hits.rubbed_by(moving, i, slot, before)
        arrival = dot(hits.turned_before(moving, i, slot, moving.v[i]), n) - pace
        leaving = max(arrival, 0.0 * pace)
        if arrival < -slow:
            leaving = -restitution * arrival
        hits.note(moving, i, slot, s, vector(n[0], n[1], n[2], leaving + pace), moves, lost)

    return meet


@functools.cache
def recheck_with(shape_type: ShapeType, slots: int, many: bool, rides: bool) -> Any:
    """The kernel that sweeps new ways, for one type of shape, and particles that remember so many. many, rides: see
    `hits.pair_in`."""
    distance, meet, pair = DISTANCE[shape_type], meet_with(slots), pair_in(many, rides)
    sweep = sweep_with(distance, shape_type is ShapeType.HEIGHTFIELD, passes=True)
    wall_ahead, convex = wall_ahead_with(shape_type), shape_type in CONVEX

    @kernel
    def recheck(
        line: int32, shape: Any, moving: Any, pose: array(dtype=Any), twist: array(dtype=Any),
        margin: array(dtype=Any), restitution: array(dtype=Any), scale: array(dtype=Any), heights: array2d(dtype=Any),
        gravity: array(dtype=Any),
    ):  # fmt: skip
        """Push out of a shape what is led into it by others.

        leg: where the new way began, and the part of the substep since then. bounced: the shape that pushed last, its
        number + 1; below zero if that was here; 0 for particles that none has pushed.
        """
        i, own, s, there = pair(shape, moving, tid())
        h = shape.h
        by = moving.bounced[i]
        if there and by != 0 and not (convex and abs(by) == s + 1):
            p, keep = position(moving.x[i]), moving.radius[i] + margin[s]
            here, left = to_shape(pose[s], p), keep * 0.0 + 1.0
            once = to_shape(advance_pose(pose[s], twist[s], -h), moving.start[i])
            if line == LEG:
                left = moving.leg[i][3]
                once = to_shape(advance_pose(pose[s], twist[s], -left * h), position(moving.leg[i]))
            way = here - once
            far = length(way)
            t = sweep(once, here, keep, scale[s], shape.source, heights)
            when, wall = wall_ahead(once, here, keep, scale[s], shape.source, heights)
            crossed = when < t
            if crossed:
                t = max(when, 0.0 * far)
            if t < 1.0:
                touch = once + t * way
                above, inward = distance(touch, scale[s], shape.source, heights, 2.0 * keep + far)
                if crossed:
                    above, inward = keep + (t - when) * dot(wall, way), wall
                depth = keep - above - dot(here - touch, inward)
                if has_direction(inward) and depth > CLOSE * far and (t > 0.0 or above > -_NEAR * far):
                    left = left * (1.0 - t)
                    then, rotation = advance_pose(pose[s], twist[s], -left * h), transform_get_rotation(pose[s])
                    at, n = to_world(then, touch), quat_rotate(transform_get_rotation(then), inward)
                    back = depth * quat_rotate(rotation, inward)
                    if line == LEG:
                        moving.leg[i] = vector(at[0], at[1], at[2], left)
                    else:
                        back = quat_rotate(rotation, touch - here + (keep - above) * inward)
                    pace = dot(surface_velocity(then, twist[s], at), n)
                    meet(moving, i, s, n, pace, restitution[s], 2.0 * h * length(gravity[own]), back)
                    moving.x[i] = move_to(moving.x[i], p + back)
                    moving.bounced[i] = -(s + 1)

    return recheck

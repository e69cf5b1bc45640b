"""Impacts within a substep: when a particle meets a shape, and the normal and the velocity of the surface then.

What has come out of the air, and is in a shape at the end of the substep, met it on the way. On curved and on turning
shapes the normal of the end is another one: by as much of the speed along the surface as it turns in a substep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Array, Float, Transform, Vec, clamp, dot, func, length, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.transforms import transform_get_rotation
from ..scene.shapes import ShapeType, advance_pose, surface_velocity, to_shape
from .ways import has_direction, sweep_with

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

_SAME = 1.0e-10  # squared change of a unit normal: one surface that is flat


def strike_with(distance: Func, shape_type: ShapeType) -> Any:
    """For what is found in a shape at the end of a substep, and was out of it as it began."""
    flat = shape_type is ShapeType.PLANE
    sweep = sweep_with(distance, shape_type is ShapeType.HEIGHTFIELD)

    @func
    def strike(
        shape: Any, once: Vec[3, Float], here: Vec[3, Float], keep: Float, depth: Float, inward: Vec[3, Float],
        left: Float, scale: Vec[3, Float], heights: Array[Float, 2],
    ) -> tuple[Float, Vec[3, Float], Float]:  # fmt: skip
        """The depth at the end under the plane of the moment of impact, the normal of that, and what is left then of
        the substep, in the frame of the shape; as they are given where the surface is flat, and nothing left where
        there is no such moment."""
        if not flat:
            way = here - once
            t = sweep(once, here, keep, scale, shape.source, heights)
            touch = once + t * way
            above, normal = distance(touch, scale, shape.source, heights, 2.0 * keep + length(way))
            under, change = keep - above - dot(here - touch, normal), normal - inward
            if not (t > 0.0 and t < 1.0 and under > 0.0 and has_direction(normal)):
                return depth, inward, 0.0 * left - 1.0
            if dot(change, change) > _SAME:
                return under, normal, 1.0 - t
        return depth, inward, left

    return strike


def strike_turning_with(distance: Func) -> Any:
    """For impacts with a shape that turns."""

    @func
    def strike_turning(
        shape: Any, start: Vec[3, Float], p: Vec[3, Float], keep: Float, depth: Float, n: Vec[3, Float], left: Float,
        pose: Transform[Float], twist: Vec[6, Float], scale: Vec[3, Float], heights: Array[Float, 2],
    ) -> tuple[Float, Vec[3, Float], Vec[3, Float], Float, Vec[4, Float]]:  # fmt: skip
        """The depth [m] under the plane of the moment, its normal, the velocity of the surface there, and what is left
        of the substep, in the world; left: that of a straight way in the frame of the shape. The face that is met: its
        normal in this frame, and how far along that a particle is which touches it [m]."""
        way = p - start
        at, then = p - left * way, advance_pose(pose, twist, -left * shape.h)
        where, u = to_shape(then, at), surface_velocity(then, twist, at)
        above, normal = distance(where, scale, shape.source, heights, 2.0 * keep + length(way))
        face = vector(normal[0], normal[1], normal[2], dot(normal, where) - above + keep)
        if has_direction(normal):
            up = quat_rotate(transform_get_rotation(then), normal)
            pace = dot(way - shape.h * u, up)
            if pace < 0.0:  # a step of Newton's method
                rest = clamp(left + (above - keep) / pace, left * 0.0, left * 0.0 + 1.0)
                return -rest * pace, up, u, rest, face
        return depth, n, u, left, face

    return strike_turning

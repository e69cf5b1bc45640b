"""Contacts of grains with shapes: rigid walls that stand or move, and the forces that they feel."""

from __future__ import annotations

import functools
import math
from typing import Any

from ...core.language import array, atomic_add, cross, func, int32, kernel, tid, transformation, uint64, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.spatial import spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ..neighbours.verlet_list import position
from ..shapes import DISTANCE, ShapeType, moved, surface_velocity, to_shape
from .contact import contact_of
from .grains import ROLLING


@func
def add_reaction(reaction: array(dtype=Any), s: int, share: Any, force: Any, arm: Any, torque: Any):
    """Add to the torque about its origin and the force that a shape feels."""
    turn = cross(arm, force) + torque
    atomic_add(reaction, s, share * vector(turn[0], turn[1], turn[2], force[0], force[1], force[2]))


@functools.cache
def wall_kernel(shape_type: int, law: str, rolling: str | None, limited: bool) -> Any:
    """The kernel of contacts between grains and one shape."""
    distance, contact = DISTANCE[ShapeType(shape_type)], contact_of(law, rolling, limited)

    @kernel
    def touch_wall(
        s: int32, table: array(dtype=Any, ndim=3), pose: array(dtype=Any), twist: array(dtype=Any),
        margin: array(dtype=Any), scale: array(dtype=Any), source: uint64, heights: array(dtype=Any, ndim=2),
        share: Any, dt: Any, q: array(dtype=Any), v: array(dtype=Any), w: array(dtype=Any), inv_mass: array(dtype=Any),
        kind: array(dtype=int32), springs: array(dtype=Any), wound: array(dtype=Any), force: array(dtype=Any),
        torque: array(dtype=Any), reaction: array(dtype=Any),
    ):  # fmt: skip
        i = tid()
        a = q[i]
        if inv_mass[i] > 0.0:
            p = position(a)
            away, inward = distance(to_shape(pose[s], p), scale[s], source, heights, 2.0 * a[3] + margin[s])
            overlap = a[3] + margin[s] - away
            spring, roll = p * 0.0, p * 0.0
            if overlap > 0.0:
                n = quat_rotate(transform_get_rotation(pose[s]), inward)
                arm = a[3] - overlap
                touch = p - n * arm
                u = v[i] - cross(arm * w[i], n) - surface_velocity(pose[s], twist[s], touch)
                mass = 1.0 / inv_mass[i]
                area = overlap.dtype(math.pi) * overlap * (2.0 * a[3] - overlap)
                if rolling == "spring":
                    roll = wound[i]
                push, turn, spring, roll = contact(
                    table, kind[i], s, a[3], mass, a[3].dtype(ROLLING) * mass * a[3] * a[3], area, n, overlap, u,
                    w[i] - spatial_top(twist[s]), dt, springs[i], roll,
                )  # fmt: skip
                force[i] = force[i] + push
                torque[i] = torque[i] + turn - arm * cross(n, push)
                add_reaction(reaction, s, share, -push, touch - transform_get_translation(pose[s]), -turn)
            springs[i] = spring
            if rolling == "spring":
                wound[i] = roll

    return touch_wall


@kernel
def place_walls(origin: Any, transform: array(dtype=Any), pose: array(dtype=Any)):
    """Poses of shapes from an origin."""
    s = tid()
    place = transform_get_translation(transform[s]) - origin
    pose[s] = transformation(place, transform_get_rotation(transform[s]))


@kernel
def move_walls(twist: array(dtype=Any), dt: Any, pose: array(dtype=Any)):
    """Poses of shapes a time step later."""
    s = tid()
    pose[s] = moved(pose[s], twist[s], dt)

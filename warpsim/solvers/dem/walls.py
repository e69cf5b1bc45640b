"""Contacts of grains with shapes: rigid walls that stand or move, and the forces that they feel.

Where space repeats, so do shapes: a grain meets the image of a shape whose middle is nearest. Planes have no images.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Vec, array, int32, uint64
from ...core.language import atomic_add, cross, dot, func, generic_struct, kernel, tid, vector
from ...core.lib.quaternions import quat_rotate
from ...core.lib.spatial import spatial_top
from ...core.lib.transforms import transform_get_rotation, transform_get_translation
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import position
from ..scene.shapes import DISTANCE, ShapeType, advance_pose, surface_velocity, to_shape, to_world
from .contact import contact_of
from .grains import ROLLING

if TYPE_CHECKING:
    from ..scene.model import Model

_MESHES = (ShapeType.MESH, ShapeType.HOLLOW_MESH)


@generic_struct
class Wall:
    """One shape, or one of each world, and what its contacts remember of each grain. s: its number; numbers: those by
    world, where there are several; source: see `shapes`; middle: in its frame [m]; period: see `SolverDEM` [m];
    springs [m], wound [rad]: see `Packed`. dt: the substep [s], share: part of the step."""

    s: int32
    numbers: array(dtype=int32)
    source: uint64
    middle: Vec[3, Float]
    period: Vec[3, Float]
    springs: Array[Vec[3, Float]]
    wound: Array[Vec[3, Float]]
    dt: Float
    share: Float


def middles(model: Model) -> np.ndarray:
    """The middle of the shapes of each group in their own frame, (groups, 3) [m]."""
    return np.array([_middle(model, group.shape) for group in model.shape_groups]).reshape(-1, 3)


def _middle(model: Model, s: int) -> np.ndarray:
    kind, source = model.shape_type[s], model.shape_object[s]
    if kind in _MESHES:
        points = source.points.numpy().astype(np.float64)
        return 0.5 * (points.min(axis=0) + points.max(axis=0)) * model.shape_scale.numpy()[s]
    if kind is ShapeType.SDF:
        voxels, grid = source.get_voxels().numpy(), source.get_grid_info()
        middle = 0.5 * (voxels.min(axis=0) + voxels.max(axis=0))
        return np.reshape(grid.transform_matrix, (3, 3)) @ middle + np.asarray(grid.translation)
    return np.zeros(3)


@func
def beside(p: Any, pose: Any, wall: Any) -> Any:
    """The image of a point that is nearest to the middle of a shape."""
    d = p - to_world(pose, wall.middle)
    return p + (nearest_image(d, wall.period) - d)


def has_images(shape_type: int, periodic: bool) -> bool:
    """Whether shapes of a type are met as images."""
    return periodic and shape_type != ShapeType.PLANE


@func
def add_reaction(reaction: array(dtype=Any), s: int, share: Any, force: Any, arm: Any, torque: Any):
    """Add to the torque about its origin and the force that a shape feels."""
    turn = cross(arm, force) + torque
    atomic_add(reaction, s, share * vector(turn[0], turn[1], turn[2], force[0], force[1], force[2]))


@functools.cache
def wall_kernel(shape_type: int, law: str, rolling: str | None, limited: bool, periodic: bool, many: bool) -> Any:
    """The kernel of contacts between grains and one shape, or, with many, that of each one's world."""
    imaged = has_images(shape_type, periodic)
    distance, contact = DISTANCE[ShapeType(shape_type)], contact_of(law, rolling, limited)

    @kernel
    def touch_wall(
        wall: Any,
        g: Any,
        table: array(dtype=Any, ndim=3),
        margin: array(dtype=Any),
        scale: array(dtype=Any),
        heights: array(dtype=Any, ndim=2),
        pose: array(dtype=Any),
        twist: array(dtype=Any),
        reaction: array(dtype=Any),
    ):
        i, s, there = tid(), wall.s, True
        if many:
            s = wall.numbers[g.world[i]]
            there = s >= 0
        a = g.q[i]
        if there and g.inv_mass[i] > 0.0:
            p = position(a)
            if imaged:
                p = beside(p, pose[s], wall)
            away, inward = distance(to_shape(pose[s], p), scale[s], wall.source, heights, 2.0 * a[3] + margin[s])
            overlap = a[3] + margin[s] - away
            spring, roll = p * 0.0, p * 0.0
            if overlap > 0.0 and dot(inward, inward) > 0.0:
                n = quat_rotate(transform_get_rotation(pose[s]), inward)
                arm = a[3] - overlap
                touch = p - n * arm
                u = g.v[i] - cross(arm * g.w[i], n) - surface_velocity(pose[s], twist[s], touch)
                mass = 1.0 / g.inv_mass[i]
                area = overlap.dtype(math.pi) * overlap * (2.0 * a[3] - overlap)
                if rolling == "spring":
                    roll = wall.wound[i]
                push, turn, spring, roll = contact(
                    table, g.kind[i], s, a[3], mass, a[3].dtype(ROLLING) * mass * a[3] * a[3], area, n, overlap, u,
                    g.w[i] - spatial_top(twist[s]), wall.dt, wall.springs[i], roll,
                )  # fmt: skip
                g.force[i] = g.force[i] + push
                g.torque[i] = g.torque[i] + turn - arm * cross(n, push)
                add_reaction(reaction, s, wall.share, -push, touch - transform_get_translation(pose[s]), -turn)
            wall.springs[i] = spring
            if rolling == "spring":
                wall.wound[i] = roll

    return touch_wall


@kernel
def move_walls(twist: array(dtype=Any), dt: Any, pose: array(dtype=Any)):
    """Poses of shapes a time step later."""
    s = tid()
    pose[s] = advance_pose(pose[s], twist[s], dt)

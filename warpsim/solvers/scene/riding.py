"""Shapes that ride on bodies: their poses and twists in the world, as solvers of particles take those of obstacles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, cross, int32, kernel, launch, tid
from ...core.lib.spatial import spatial_bottom, spatial_joined, spatial_top
from ...core.lib.transforms import transform_get_translation
from .shapes import to_world

if TYPE_CHECKING:
    from .control import Control
    from .model import Model
    from .state import State


class Riding:
    """Controls of a solver's steps in which shapes on bodies are where the state has them."""

    def __init__(self, model: Model):
        self._model = model
        self._placed = model.control(requires_grad=True) if model.body_count else None

    @property
    def scratch(self) -> list[Any]:
        """What every step fills before it reads it."""
        placed = self._placed
        return [] if placed is None else [placed.shape_transform, placed.shape_velocity]

    def place(self, control: Control, state: State) -> Control:
        """The control of a step from a state: as it is in a model without bodies. Tapes record how shapes ride.

        The arrays of others than shapes are those of `control`.
        """
        placed, model = self._placed, self._model
        if placed is None:
            return control
        for name in control.fields:
            if name not in ("shape_transform", "shape_velocity"):
                setattr(placed, name, getattr(control, name))
        bodies = [model.shape_body, state.body_q, state.body_qd, model.body_com]
        shapes = [control.shape_transform, control.shape_velocity, placed.shape_transform, placed.shape_velocity]
        launch(ride, model.shape_count, [*bodies, *shapes], device=model.device)
        return placed


@kernel
def ride(
    body: array(dtype=int32), q: array(dtype=Any), qd: array(dtype=Any), com: array(dtype=Any),
    transform: array(dtype=Any), velocity: array(dtype=Any), pose: array(dtype=Any), twist: array(dtype=Any),
):  # fmt: skip
    """Poses of shapes in the world, and their twists: angular velocity, then that of the shape's origin."""
    s = tid()
    b = body[s]
    pose[s] = transform[s]
    twist[s] = velocity[s]
    if b >= 0:
        placed = q[b] * transform[s]
        arm = transform_get_translation(placed) - to_world(q[b], com[b])
        pose[s] = placed
        twist[s] = spatial_joined(spatial_top(qd[b]), spatial_bottom(qd[b]) + cross(spatial_top(qd[b]), arm))


def poses_at_start(model: Model) -> np.ndarray:
    """Poses of shapes in the world where states start, (shapes, 7), on the host."""
    return poses_on_host(model, model.shape_transform, model.body_q)


def poses_on_host(model: Model, transform: array, body_q: array) -> np.ndarray:
    """Poses of shapes in the world, (shapes, 7): of obstacles as they are, of others where bodies have them."""
    poses = transform.numpy().astype(np.float64).reshape(-1, 7)
    body = model.shape_body.numpy()
    riders = np.flatnonzero(body >= 0)
    if len(riders):
        q = body_q.numpy().astype(np.float64)[body[riders]]
        axis, real, point, own = q[:, 3:6], q[:, 6:], poses[riders, :3], poses[riders, 3:]
        across = np.cross(axis, point)
        poses[riders, :3] = point + 2.0 * (real * across + np.cross(axis, across)) + q[:, :3]
        poses[riders, 3:6] = real * own[:, :3] + own[:, 3:] * axis + np.cross(axis, own[:, :3])
        poses[riders, 6] = real[:, 0] * own[:, 3] - (axis * own[:, :3]).sum(axis=1)
    return poses

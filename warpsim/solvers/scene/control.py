"""`Control`: what a user drives from step to step: gravity, wind, poses of shapes, targets, lengths of springs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked, numbers
from ...core.language import array, kernel, launch, tid
from ...core.runtime.arrays.fixed import Fixed
from ...errors import StateError, shown
from .fields import HasFields, field, fresh
from .memory import Memory
from .shapes import advance_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .model import Model


class Control(HasFields, Fixed):
    """Inputs of a step. Made by `model.control()`; every field is an array, so each can have a gradient.

    Arrays may be replaced by others of the same dtype, shape and device; a step raises `StateError` for any other.
    A step does not change a control: `advance(dt)` moves poses and targets on to where they are after it.
    """

    unfit = StateError

    gravity = field("vec3", "world", "m/s^2", "acceleration", "gravity")
    wind = field("vec3", "world", "m/s", "velocity of the air")
    shape_transform = field("transform", "shape", "m", "pose when a step begins", "shape_transform")
    shape_velocity = field(
        "vec6", "shape", "rad/s, m/s", "twist during the step: angular, then that of the shape's origin"
    )
    attachment_target = field(
        "vec3",
        "attachment",
        "m",
        "where its particle is held when a step begins; in its shape's frame, if it has one",
        "attachment_target",
    )
    attachment_velocity = field("vec3", "attachment", "m/s", "how its target moves during the step")
    joint_target = field(
        "vec6", "joint", "rad, m", "where drives pull to, angles about x, y, z, then translations", "joint_target"
    )
    joint_target_velocity = field(
        "vec6", "joint", "rad/s, m/s", "the velocities that they damp towards", "joint_target_velocity"
    )
    spring_activation = field("real", "spring", "-", "relative change of its rest length")

    @checked
    def __init__(self, model: Model, requires_grad: bool | None = None):
        self.model = model
        grad = model.requires_grad if requires_grad is None else requires_grad
        for name, f in self.fields.items():
            setattr(self, name, fresh(f, model, grad))

    @property
    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in self.fields}

    def _may_replace(self, name: str, present: object) -> bool:
        return name != "model"

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        return {"model": self.model}

    def memory(self) -> Memory:
        """See `Savable`."""
        return self.arrays

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        for name in self.fields:
            setattr(self, name, memory[name])
        self.check_replaced("control")

    @checked
    def set_shape(
        self,
        shape: int,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> None:
        """Change parts of one shape's pose and twist from the host; `None` leaves a part alone.

        position [m], rotation: quaternion (x, y, z, w), velocity of the shape's origin [m/s], angular_velocity [rad/s].
        Raises `StateError` for a shape that is none, for numbers that are not finite, and for a rotation of zeros.
        """
        self.check_replaced("control")
        if not 0 <= shape < self.model.shape_count:
            raise StateError(f"shape is {shape}\nexpected: 0 to {self.model.shape_count - 1}")
        pose, twist = self.shape_transform.numpy().copy(), self.shape_velocity.numpy().copy()
        for row, first, size, value, name in (
            (pose, 0, 3, position, "position"),
            (pose, 3, 4, rotation, "rotation"),
            (twist, 0, 3, angular_velocity, "angular_velocity"),
            (twist, 3, 3, velocity, "velocity"),
        ):
            if value is not None:
                part = row[shape, first : first + size]
                part[:] = numbers(value, name, (size,))
                if not np.isfinite(part).all() or (name == "rotation" and not part.any()):
                    turn = ", not all of them 0" if name == "rotation" else ""
                    raise StateError(f"{name} is {shown(value)}\nexpected: {size} finite numbers{turn}")
        self.shape_transform.assign(pose)
        self.shape_velocity.assign(twist)

    @checked
    def advance(self, dt: float) -> None:
        """Move poses of shapes and targets of attachments on by their velocities for `dt` [s]; tapes record it."""
        self.check_replaced("control")
        model, dt = self.model, self.model.dtype(dt)
        if model.shape_count:
            poses = [self.shape_velocity, dt, self.shape_transform]
            launch(advance_shapes, model.shape_count, poses, device=model.device)
        if model.attachment_count:
            targets = [self.attachment_velocity, dt, self.attachment_target]
            launch(_advance_targets, model.attachment_count, targets, device=model.device)


def follow_model(control: Control) -> Control:
    """The same control, with the model's own arrays where a fresh one has copies: so steps at rest reach these."""
    model = control.model
    for name, f in control.fields.items():
        if f.fresh and getattr(control, name) is not getattr(model, f.fresh):
            setattr(control, name, getattr(model, f.fresh))
    return control


@kernel
def advance_shapes(velocity: array(dtype=Any), dt: Any, transform: array(dtype=Any)):
    """Poses of shapes a time later."""
    s = tid()
    transform[s] = advance_pose(transform[s], velocity[s], dt)


@kernel
def _advance_targets(velocity: array(dtype=Any), dt: Any, target: array(dtype=Any)):
    k = tid()
    target[k] = target[k] + velocity[k] * dt

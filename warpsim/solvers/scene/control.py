"""`Control`: what a user drives from step to step: gravity, wind, poses of shapes, targets, lengths of springs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arguments import checked, numbers
from ...core.language import array, clone, kernel, launch, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...errors import StateError
from .shapes import moved

if TYPE_CHECKING:
    from .model import Model


class Control(Fixed):
    """Inputs of a step. Made by `model.control()`; every field is an array, so each can have a gradient.

    gravity: one vec3 [m/s^2].
    wind: velocity of the air, one vec3 [m/s].
    shape_transform: poses of shapes when a step begins, transform (shapes,) [m].
    shape_velocity: twists with which they move during the step, spatial_vector (shapes,): angular [rad/s], then that
        of the shape's origin [m/s].
    attachment_target: where attachments hold their particle when a step begins, vec3 (attachments,) [m]; of those to a
        shape, in the shape's frame.
    attachment_velocity: how targets move during the step, vec3 (attachments,) [m/s].
    spring_activation: relative change of rest lengths of springs, (springs,) [-].

    Arrays may be replaced by others of the same dtype, shape and device; a step raises `StateError` for any other.
    A step does not change a control: `advance(dt)` moves poses and targets on to where they are after it.
    """

    unfit = StateError

    @checked
    def __init__(self, model: Model, requires_grad: bool | None = None):
        self.model = model
        grad = model.requires_grad if requires_grad is None else requires_grad
        options: dict[str, Any] = {"device": model.device, "requires_grad": grad}
        self.gravity = clone(model.gravity, requires_grad=grad)
        self.wind = zeros(1, model.vec3, **options)
        self.shape_transform = clone(model.shape_transform, requires_grad=grad)
        self.shape_velocity = zeros(model.shape_count, model.spatial_vector, **options)
        self.attachment_target = clone(model.attachment_target, requires_grad=grad)
        self.attachment_velocity = zeros(model.attachment_count, model.vec3, **options)
        self.spring_activation = zeros(model.spring_count, model.dtype, **options)

    @property
    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        own = vars(self)
        return {name: own[name] for name in own["_layouts"]}

    def _may_replace(self, name: str, present: Any) -> bool:
        return name != "model"

    @checked
    def set_shape(self, shape: int, position: Any = None, rotation: Any = None, velocity: Any = None,
                  angular_velocity: Any = None) -> None:  # fmt: skip
        """Change parts of one shape's pose and twist from the host; `None` leaves a part alone.

        position [m], rotation: quaternion (x, y, z, w), velocity of the shape's origin [m/s], angular_velocity [rad/s].
        """
        self.check_replaced("control")
        if not 0 <= shape < self.model.shape_count:
            raise StateError(f"shape is {shape}\nexpected: 0 to {self.model.shape_count - 1}")
        pose, twist = self.shape_transform.numpy().copy(), self.shape_velocity.numpy().copy()
        for row, first, size, value, name in (
            (pose, 0, 3, position, "position"), (pose, 3, 4, rotation, "rotation"),
            (twist, 0, 3, angular_velocity, "angular_velocity"), (twist, 3, 3, velocity, "velocity"),
        ):  # fmt: skip
            if value is not None:
                row[shape, first : first + size] = numbers(value, name, (size,))
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


@kernel
def advance_shapes(velocity: array(dtype=Any), dt: Any, transform: array(dtype=Any)):
    """Poses of shapes a time later."""
    s = tid()
    transform[s] = moved(transform[s], velocity[s], dt)


@kernel
def _advance_targets(velocity: array(dtype=Any), dt: Any, target: array(dtype=Any)):
    k = tid()
    target[k] = target[k] + velocity[k] * dt

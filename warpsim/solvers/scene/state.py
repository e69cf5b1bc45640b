"""`State`: what a step changes: positions, velocities, and whatever else a solver asked its model for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...arguments import checked
from ...core.language import full
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed, Layout
from ...errors import StateError, instance
from .fields import HasFields, field, fresh
from .memory import Memory, require

if TYPE_CHECKING:
    from .model import Model


class State(HasFields, Fixed):
    """The particles of one moment. Made by `model.state()`; a step reads one state and writes another, or the same.

    Arrays may be replaced by others of the same dtype, shape and device; a step raises `StateError` for any other.
    Solvers may have asked for more (`Model.add_state_field`): these are attributes as well. Those of `SolverDEM`:
    particle_w: angular velocities, vec3 (particles,) [rad/s]; particle_rotation: quaternions (particles,).
    """

    unfit = StateError

    particle_q = field("vec3", "particle", "m", "position", "particle_q")
    particle_qd = field("vec3", "particle", "m/s", "velocity", "particle_qd")
    particle_f = field("vec3", "particle", "N", "force from outside, applied throughout a step, and left alone")
    body_q = field("transform", "body", "m", "pose of its frame", "body_q")
    body_qd = field("vec6", "body", "rad/s, m/s", "twist: angular, then that of its centre of mass", "body_qd")
    body_f = field("vec6", "body", "N m, N", "torque about its centre of mass and force from outside, left alone")
    body_added_mass = field("real", "body", "kg", "mass of a fluid that has to move along with it, left alone")
    body_added_inertia = field("mat33", "body", "kg m^2", "inertia of that, along the axes of its frame, left alone")
    joint_f = field(
        "vec6", "joint", "N m, N", "what it does to its child, along the parent's joint frame, mean of a step"
    )
    joint_broken = field("int", "joint", "-", "1 once it broke")
    particle_w: Any
    particle_rotation: Any

    @checked
    def __init__(self, model: Model, requires_grad: bool | None = None):
        self.model = model
        grad = model.requires_grad if requires_grad is None else requires_grad
        for name, f in self.fields.items():
            setattr(self, name, fresh(f, model, grad))
        for name, more in model.state_fields.items():
            setattr(self, name, full(more.count, more.value, more.dtype, model.device, requires_grad=grad))

    @property
    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in (*self.fields, *self.model.state_fields)}

    def _may_replace(self, name: str, present: object) -> bool:
        return name != "model"

    def _layout(self, name: str) -> Layout | None:
        """Of a field that a solver asked for, whenever the state was made: as it was asked for."""
        if name in self.model.state_fields:
            more = self.model.state_fields[name]
            return Layout(more.dtype, (more.count,), self.model.device)
        return super()._layout(name)

    def assign(self, other: State) -> None:
        """Take over all numbers of another state of the same model; tapes record it."""
        for state, label in ((self, "state"), (instance(other, State, "other"), "other")):
            state.check_replaced(label)
        theirs = other.arrays
        for name, mine in self.arrays.items():
            copy(mine, theirs[name])

    def arguments(self) -> dict[str, Any]:
        """See `Savable`."""
        return {"model": self.model}

    def memory(self) -> Memory:
        """See `Savable`."""
        own = vars(self)
        return {name: own[name] for name in (*self.fields, *self.model.state_fields) if name in own}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """See `Savable`."""
        for name, a in memory.items():
            require(name in self.fields or name in self.model.state_fields, f"an array {name!r}", "those of the state")
            setattr(self, name, a)
        self.check_replaced("state")

    def clear_forces(self) -> None:
        """Set `particle_f` to zero."""
        self.check_replaced("state")
        self.particle_f.zero_()

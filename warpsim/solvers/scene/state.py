"""`State`: what a step changes: positions, velocities, and whatever else a solver asked its model for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arguments import checked
from ...core.language import clone, full, zeros
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed, Layout
from ...errors import StateError, instance

if TYPE_CHECKING:
    from .model import Model


class State(Fixed):
    """The particles of one moment. Made by `model.state()`; a step reads one state and writes another, or the same.

    particle_q: positions, vec3 (particles,) [m].
    particle_qd: velocities, vec3 (particles,) [m/s].
    particle_f: forces from outside, vec3 (particles,) [N]; a step applies them throughout, and leaves them alone.

    Arrays may be replaced by others of the same dtype, shape and device; a step raises `StateError` for any other.
    Solvers may have asked for more (`Model.add_state_field`): these are attributes as well. Those of `SolverDEM`:
    particle_w: angular velocities, vec3 (particles,) [rad/s]; particle_rotation: quaternions (particles,).
    """

    unfit = StateError

    particle_q: Any
    particle_qd: Any
    particle_f: Any
    particle_w: Any
    particle_rotation: Any

    @checked
    def __init__(self, model: Model, requires_grad: bool | None = None):
        self.model = model
        grad = model.requires_grad if requires_grad is None else requires_grad
        options: dict[str, Any] = {"device": model.device, "requires_grad": grad}
        self.particle_q = clone(model.particle_q, requires_grad=grad)
        self.particle_qd = clone(model.particle_qd, requires_grad=grad)
        self.particle_f = zeros(model.particle_count, model.vec3, **options)
        for name, (dtype, count, value) in model.state_fields.items():
            setattr(self, name, full(count, value, dtype, **options))

    @property
    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        names = ("particle_q", "particle_qd", "particle_f", *self.model.state_fields)
        return {name: getattr(self, name) for name in names}

    def _may_replace(self, name: str, present: Any) -> bool:
        return name != "model"

    def _layout(self, name: str) -> Layout | None:
        """Of a field that a solver asked for, whenever the state was made: as it was asked for."""
        if name in self.model.state_fields:
            dtype, count, _ = self.model.state_fields[name]
            return Layout(dtype, (count,), self.model.device)
        return super()._layout(name)

    def assign(self, other: State) -> None:
        """Take over all numbers of another state of the same model; tapes record it."""
        for state, label in ((self, "state"), (instance(other, State, "other"), "other")):
            state.check_replaced(label)
        theirs = other.arrays
        for name, mine in self.arrays.items():
            copy(mine, theirs[name])

    def clear_forces(self) -> None:
        """Set `particle_f` to zero."""
        self.check_replaced("state")
        self.particle_f.zero_()

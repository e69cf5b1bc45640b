"""`State`: what a step changes: positions, velocities, and whatever else a solver asked its model for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.language import clone, full, zeros
from ..core.runtime.arrays.creation import copy

if TYPE_CHECKING:
    from .model import Model


class State:
    """The particles of one moment. Made by `model.state()`; a step reads one state and writes another, or the same.

    particle_q: positions, vec3 (particles,) [m].
    particle_qd: velocities, vec3 (particles,) [m/s].
    particle_f: forces from outside, vec3 (particles,) [N]; a step applies them throughout, and leaves them alone.

    Solvers may have asked for more (`Model.add_state_field`): these are attributes as well. Those of `SolverDEM`:
    particle_w: angular velocities, vec3 (particles,) [rad/s]; particle_rotation: quaternions (particles,).
    """

    particle_q: Any
    particle_qd: Any
    particle_f: Any
    particle_w: Any
    particle_rotation: Any

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

    def assign(self, other: State) -> None:
        """Take over all numbers of another state of the same model; tapes record it."""
        theirs = other.arrays
        for name, mine in self.arrays.items():
            copy(mine, theirs[name])

    def clear_forces(self) -> None:
        """Set `particle_f` to zero."""
        self.particle_f.zero_()

"""Statistics of grains: energies with rotation, overlaps, contacts per grain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...forks import cached_property
from ...arguments import checked
from ...core.language import array, atomic_add, atomic_max, dot, float64, int32, kernel, launch, min, sqrt, tid, zeros
from ...errors import StateError
from ...geometry.hash_grid.neighbors import nearest_image
from ..neighbours.verlet_list import position
from ..particles.statistics import ParticleStatistics
from .grains import SOLID

if TYPE_CHECKING:
    from ..scene.state import State
    from .solver import SolverDEM


class GrainStatistics(ParticleStatistics):
    """What can be said of grains.

    Contacts are those of the last step of the solver; asking for them raises `StateError` where a file has them, see
    `check_not_recalled`.
    """

    @checked
    def __init__(self, solver: SolverDEM, state: State):
        super().__init__(solver.model, state)
        self.solver = solver

    @cached_property
    def _there(self) -> np.ndarray | None:
        return self.solver.present(self.state) if self.solver.streams else None

    @property
    def rotational_energy(self) -> float:
        """Of solid balls [J]."""
        mass, radius = self.model.particle_mass.numpy(), self.model.particle_radius.numpy()
        spin = self.state.particle_w.numpy().astype(np.float64)
        return float((0.5 * SOLID * mass * radius**2 * (spin**2).sum(axis=1)).sum())

    @cached_property
    def _contacts(self) -> np.ndarray:
        """Pairs that touch, and the largest overlap as a part of the smaller radius: (2,)."""
        check_not_recalled(self.solver)
        solver, out = self.solver, zeros(2, float64, self.model.device)
        grains, rows = solver._grains, solver.neighbours.rows
        args = [rows.offsets, rows.ids, solver.neighbours.period_vector, grains.q, out]
        launch(_look, self.model.particle_count, args, device=self.model.device, record_tape=False)
        return out.numpy()

    @property
    def contacts(self) -> int:
        """How many pairs of grains touch."""
        return round(self._contacts[0])

    @property
    def coordination_number(self) -> float:
        """Contacts with other grains per grain."""
        count = self.model.particle_count if self._there is None else int(self._there.sum())
        return 2.0 * self.contacts / max(count, 1)

    @property
    def largest_overlap(self) -> float:
        """Of two grains, as a part of the smaller radius: above 0.05 grains are softer than they should be."""
        return float(self._contacts[1])


def check_not_recalled(solver: SolverDEM) -> None:
    """Raise `StateError` for a solver out of a saved scene that has made no step since: its file has no contacts."""
    if solver._recalled:
        raise StateError(
            "the solver comes out of a saved scene, and has made no step since, so that it knows no contacts\n"
            "help: step once, however shortly, or ask before the scene is saved"
        )


@kernel
def _look(
    offsets: array(dtype=int32), ids: array(dtype=int32), period: Any, q: array(dtype=Any), out: array(dtype=float64)
):
    i = tid()
    a = q[i]
    for k in range(offsets[i], offsets[i + 1]):
        b = q[ids[k]]
        d = nearest_image(position(a) - position(b), period)
        overlap = a[3] + b[3] - sqrt(dot(d, d))
        if overlap > 0.0:
            atomic_add(out, 0, float64(0.5))
            atomic_max(out, 1, float64(overlap / min(a[3], b[3])))

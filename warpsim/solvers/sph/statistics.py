"""Statistics of a fluid: density, pressure at points, front position, height."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from ...forks import cached_property
from ...arguments import checked
from ..particles.statistics import ParticleStatistics
from .barriers import DEEP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..scene.state import State
    from .solver import SolverSPH


class FluidStatistics(ParticleStatistics):
    """What can be said of a fluid, or of that of one world. Gauges are computed on the host.

    Arrays of all particles are so for one world too. Raises `ModelError` for a world that is none.
    """

    @checked
    def __init__(self, solver: SolverSPH, state: State, world: int | None = None):
        super().__init__(solver.model, state)
        self.solver, self.world = solver, None if world is None else solver.model.world(world).number

    @cached_property
    def _there(self) -> np.ndarray | None:
        if self.world is None or self.model.world_count == 1:
            return self.solver.present(self.state) if self.solver.streams else None
        own: np.ndarray = self.model.particle_world.numpy() == self.world
        return own

    def _of_those_there(self, values: np.ndarray) -> np.ndarray:
        """Rows of an array for particles that do not wait behind a nozzle."""
        return values if self._there is None else values[self._there]

    @cached_property
    def _q(self) -> np.ndarray:
        """Where particles are that do not wait behind a nozzle, (n, 3) [m]."""
        return self._of_those_there(self.state.particle_q.numpy().astype(np.float64))

    @cached_property
    def _worlds(self) -> np.ndarray:
        """Their worlds, (n,)."""
        return self._of_those_there(self.model.particle_world.numpy())

    @cached_property
    def compression(self) -> np.ndarray:
        """rho / rho0 - 1 of every particle, (particles,) [-]."""
        return self.state.particle_rho.numpy().astype(np.float64) / self.solver.fluid.density - 1.0

    @cached_property
    def pressure(self) -> np.ndarray:
        """Of every particle, (particles,) [Pa]: by Tait's law; of incompressible fluids that of the last substep."""
        return self.solver.pressure(self.state)

    @property
    def potential_energy(self) -> float:
        """In the gravity of the model, above the origin [J]."""
        g = self.model.gravity.numpy().astype(np.float64)
        work = self._q @ g[0] if len(g) == 1 else (self._q * g[self._worlds]).sum(axis=1)
        return float(-(self._of_those_there(self.model.particle_mass.numpy()) * work).sum())

    @cached_property
    def _leaks(self) -> tuple[np.ndarray, np.ndarray]:
        """How deep particles that do not wait are in walls [m], and which are past the ends of endless ones."""
        solver, rest = self.solver, self._of_those_there(self.state.particle_rest.numpy().astype(np.float64))
        points = self._q - np.array(solver.origin, dtype=np.float64) + rest
        return solver.barriers.depths(points, self._worlds, solver.poses)

    @property
    def in_walls(self) -> int:
        """How many particles are in walls, where the last step left these, deeper than half a spacing."""
        return int((self._leaks[0] > DEEP * self.solver.spacing).sum())

    @property
    def lost(self) -> int:
        """How many particles are behind endless walls, such as planes, and past where these end by `bounds`, or not
        finite: nothing brings them back."""
        return int((self._leaks[1] | ~np.isfinite(self._q).all(axis=1)).sum())

    def pressure_at(self, points: ArrayLike) -> np.ndarray:
        """Pressure at points (n, 3) [Pa]: the mean of particles near each, by (1 - r / reach)^2; 0 where there is none.

        A probe for walls: put it half a spacing before them.
        """
        points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
        reach, tree, pressures = self.solver.support, cKDTree(self._q), np.zeros(len(points))
        pressure = self._of_those_there(self.pressure)
        for k, near in enumerate(tree.query_ball_point(points, reach)):
            if near:
                weight = (1.0 - np.linalg.norm(self._q[near] - points[k], axis=1) / reach) ** 2
                pressures[k] = (weight * pressure[near]).sum() / max(weight.sum(), 1.0e-300)
        return pressures

    def front(self, axis: int = 0, quantile: float = 1.0) -> float:
        """How far the fluid reaches along an axis [m]: half a spacing beyond that part of particles; NaN of none."""
        if not len(self._q):
            return float("nan")
        return float(np.quantile(self._q[:, axis], quantile)) + 0.5 * self.solver.spacing

    def level(self, low: ArrayLike, high: ArrayLike) -> float:
        """How high the fluid stands [m] along the up axis among particles between two corners (3,); NaN without any."""
        up = "XYZ".index(self.model.up_axis)
        inside = ((self._q >= np.asarray(low)) & (self._q <= np.asarray(high))).all(axis=1)
        return float(self._q[inside, up].max()) + 0.5 * self.solver.spacing if inside.any() else float("nan")

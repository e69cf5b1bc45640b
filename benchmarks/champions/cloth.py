"""A hanging cloth beside PositionBasedDynamics: the same edges, masses, stiffness and substeps, equal stretch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

from benchmarks.champions.duel import Duel, Side
from warpsim.solvers import ModelBuilder, SolverXPBD

SIDE, SUBSTEPS, DT = 128, 10, 1.0 / 60.0
STIFFNESS, BENDING, MASS = 1.0e4, 1.0e-4, 0.2 / SIDE**2  # [N/m], [N m], [kg] of a particle
XPBD_EDGES, XPBD_BENDING = 4, 3
"""The peer's numbers of its methods."""
FIXED = (0, SIDE - 1)
SETTLED = 30
"""Frames after which the stretch of both is compared."""


def duels() -> Iterator[Duel]:
    """A frame of ten substeps, one sweep each."""
    vertices, triangles = sheet()
    own, other = OwnCloth(vertices, triangles), TheirCloth(vertices, triangles)
    edges, rest = own.model.spring_indices.numpy(), own.model.spring_rest_length.numpy()

    def stretch(cloth: OwnCloth | TheirCloth) -> float:
        """The mean change of length of edges after a while [%]."""
        for _ in range(SETTLED):
            cloth.frame()
        x = cloth.positions()
        lengths = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        return 100.0 * float(np.mean(np.abs(lengths / rest - 1.0)))

    title = f"a frame of cloth, {SIDE} x {SIDE}, {len(edges):,} edges, {SUBSTEPS} substeps"
    name = f"PositionBasedDynamics (pyPBD {version('pyPBD')})"
    # Bending is of another law.
    yield Duel(title, name, Side(own.frame, lambda: stretch(own)), Side(other.frame, lambda: stretch(other)), 0.1)


def sheet(side: int = SIDE) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) of a square metre that lies, and triangles whose diagonals alternate."""
    x, z = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * 2)
    column, row = (a.reshape(-1) for a in np.meshgrid(*[np.arange(side - 1)] * 2))
    a = row * side + column
    b, c, d = a + 1, a + side, a + side + 1
    even = ((row + column) % 2 == 0)[:, None]
    first = np.where(even, np.stack([a, b, d], axis=1), np.stack([a, b, c], axis=1))
    second = np.where(even, np.stack([d, c, a], axis=1), np.stack([d, c, b], axis=1))
    return np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3), np.concatenate([first, second])


class OwnCloth:
    """A model of the sheet, and its state."""

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, fixed: tuple[int, ...] = FIXED):
        builder = ModelBuilder()
        builder.add_cloth_mesh(
            (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 1.0, (0.0, 0.0, 0.0), vertices, triangles.reshape(-1), 1.0,
            spring_ke=STIFFNESS, edge_ke=BENDING,
        )  # fmt: skip
        self.model = builder.finalize()
        masses = np.full(len(vertices), MASS, dtype=np.float32)
        masses[list(fixed)] = 0.0
        self.model.particle_mass.assign(masses)
        self.solver, self.state = SolverXPBD(self.model, SUBSTEPS), self.model.state()

    def frame(self) -> None:
        self.solver.step(self.state, self.state, dt=DT)

    def positions(self) -> np.ndarray:
        return self.state.particle_q.numpy()


class TheirCloth:
    """The peer's scene, which is one for a process."""

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray):
        pbd = importlib.import_module("pypbd")
        simulation = pbd.Simulation.getCurrent()
        simulation.initDefault()
        self.model, self.step = simulation.getModel(), simulation.getTimeStep()
        cloth = self.model.addTriangleModel(vertices, triangles.reshape(-1).astype(np.uint32))
        self.particles = self.model.getParticles()
        for k in range(self.particles.size()):
            self.particles.setMass(k, 0.0 if k in FIXED else MASS)
        self.model.addClothConstraints(cloth, XPBD_EDGES, *[STIFFNESS] * 4, 0.3, 0.3, False, False)
        self.model.addBendingConstraints(cloth, XPBD_BENDING, BENDING)
        self.step.setValueUInt(pbd.TimeStepController.NUM_SUB_STEPS, SUBSTEPS)
        self.step.setValueUInt(pbd.TimeStepController.MAX_ITERATIONS, 1)
        pbd.TimeManager.getCurrent().setTimeStepSize(DT)

    def positions(self) -> np.ndarray:
        return np.array(self.particles.getVertices()).reshape(-1, 3)

    def frame(self) -> None:
        self.step.step(self.model)

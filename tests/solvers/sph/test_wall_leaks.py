"""Random vessels of fluid: thin, curved and moving walls, from a millimetre to 100 m; particles are counted in and out.

WARPSIM_LEAK_SCENES=200 runs more of them.
"""

import math
import os

import numpy as np
import pytest

from warpsim.solvers import Fluid, ModelBuilder, SolverDFSPH, SolverSPH

MORE = int(os.environ.get("WARPSIM_LEAK_SCENES", "0"))
STEPS = 60


class Vessel:
    """A closed vessel, half full, that is shaken, turns, or slides along itself."""

    def __init__(self, seed: int):
        self.rng = rng = np.random.default_rng(seed)
        self.kind = ("plates", "can", "ball", "cavity")[seed % 4]
        self.solver_type = SolverDFSPH if rng.random() < 0.25 else SolverSPH
        self.dim = 3 if self.kind == "ball" else 2
        self.half = 10.0 ** rng.uniform(-3.0, 2.0)  # [m]
        self.spacing = 2.0 * self.half / (8 if self.dim == 3 else rng.integers(10, 20))
        self.thickness = self.spacing * 10.0 ** rng.uniform(-1.5, 0.3)
        self.pace = math.sqrt(9.81 * 2.0 * self.half)
        self.rate = rng.uniform(-1.0, 1.0) * self.pace / self.half * (self.kind != "cavity")
        self.speed = rng.uniform(-1.0, 1.0) * self.pace * (self.kind in ("plates", "cavity"))
        self._build()

    def _build(self) -> None:
        builder, a, t = ModelBuilder(), self.half, self.thickness
        builder.add_particles(self._places(), 0.0, 1000.0 * self.spacing**self.dim)
        if self.kind == "can":
            builder.add_shape_cylinder((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), a, a, hollow=True)
        elif self.kind == "ball":
            builder.add_shape_sphere((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), a, hollow=True)
        else:
            for along in range(4):
                size = (0.5 * t, 1.2 * a + t) if along % 2 == 0 else (1.2 * a + t, 0.5 * t)  # a lid slides
                builder.add_shape_box((*self._plate(along), 0.0, 0.0, 0.0, 1.0), *size, 10.0 * a)
        self.model = builder.finalize()
        fluid = Fluid(sound=10.0 * self.pace, alpha=0.05, viscosity=1.0e-3 * self.pace * a)
        slips = {"no_slip": bool(self.rng.random() < 0.5), "spacing": self.spacing, "overlaps": "ignore"}
        if self.solver_type is SolverSPH:
            slips["suction"] = bool(self.rng.random() < 0.3)
        self.solver = self.solver_type(self.model, fluid, dim=self.dim, **slips)

    def _plate(self, along: int) -> tuple[float, float, float]:
        away, angle = self.half + 0.5 * self.thickness, 0.5 * math.pi * along
        return away * round(math.cos(angle)), away * round(math.sin(angle)), 0.0

    def _places(self) -> np.ndarray:
        side = np.arange(-self.half + 0.5 * self.spacing, self.half, self.spacing)
        q = np.stack(np.meshgrid(side, side, side if self.dim == 3 else [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
        if self.kind in ("can", "ball"):
            q = q[np.linalg.norm(q, axis=1) < self.half - 0.45 * self.spacing]
        return q[q[:, 1] < 0.2 * self.half]

    def _drive(self, control, time: float) -> np.ndarray:
        """Put walls where they are at a time [s]; the middle of the vessel [m]."""
        swing = 2.0 * self.pace / self.half
        shaken = 0.0 if self.kind == "cavity" else 1.0
        middle = np.array([self.speed / swing * math.sin(swing * time), 0.0, 0.0]) * shaken
        velocity = np.array([self.speed * (math.cos(swing * time) if shaken else 1.0), 0.0, 0.0])
        spin, angle = np.array([0.0, 0.0, self.rate]), self.rate * time
        turned = np.array([0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle)])
        for s in range(self.model.shape_count):
            arm = np.array(self._plate(s)) if self.kind in ("plates", "cavity") else np.zeros(3)
            arm = (
                np.array(
                    [[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0], [0.0, 0.0, 1.0]]
                )
                @ arm
            )
            moves = velocity * (self.kind != "cavity" or s == 1)  # the lid of a cavity slides, and stays
            control.set_shape(s, middle + arm, turned, moves + np.cross(spin, arm), spin)
        return middle

    def run(self) -> tuple[int, int]:
        """How many particles are outside at the end, and how many the solver finds in walls."""
        state, control = self.model.state(), self.model.control()
        dt = 0.05 * self.half / self.pace
        for k in range(STEPS):
            self._drive(control, k * dt)
            self.solver.step(state, state, control, dt=dt)
        q = state.particle_q.numpy().astype(np.float64) - self._drive(control, STEPS * dt)
        c, s = math.cos(self.rate * STEPS * dt), math.sin(self.rate * STEPS * dt)
        q = np.column_stack([c * q[:, 0] + s * q[:, 1], c * q[:, 1] - s * q[:, 0], q[:, 2]])
        far = np.linalg.norm(q, axis=1) if self.kind in ("can", "ball") else np.abs(q[:, :2]).max(axis=1)
        return int((~(far < self.half + 0.1 * self.spacing)).sum()), self.solver.statistics(state).in_walls

    def __repr__(self) -> str:
        ratio = self.thickness / self.spacing
        return f"{self.solver_type.__name__}, {self.kind} of {self.half:.3g} m, walls of {ratio:.3g} spacings"


def held(seed: int) -> None:
    vessel = Vessel(seed)
    assert vessel.run() == (0, 0), f"{seed}: {vessel}"


@pytest.mark.parametrize("seed", range(4))
def test_nothing_leaves_a_random_vessel(seed):
    held(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4, 4 + (MORE or 24)))
def test_nothing_leaves_more_vessels(seed):
    held(seed)

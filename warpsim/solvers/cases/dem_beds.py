"""Validation of `SolverDEM`: what grains do together in silos, through an outlet, and when their walls go."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..builder import ModelBuilder, ShapeConfig
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..validate import FULL, Measurement, case, near
from .dem import ball_mass

GRAIN, DENSITY, GRAVITY = 0.005, 2500.0, 9.81  # diameter [m], [kg/m^3], [m/s^2]
STEP, SUBSTEPS = 1.0e-3, 20
UPRIGHT = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # turns z to y


class Bed:
    """Grains that rain into an upright pipe with a floor; `more` adds shapes to its builder."""

    def __init__(self, count: int, radius: float, mu: float, wall_mu: float, floor: bool = True,
                 more: Any = None, **options: Any):  # fmt: skip
        rng, pitch = np.random.default_rng(1), 1.08 * GRAIN
        across = pitch * (np.arange(-40, 41))
        flat = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
        flat = flat[np.hypot(*flat.T) < radius - 0.6 * GRAIN]
        layer = np.arange(count) // len(flat)
        points = np.stack([*flat[np.arange(count) % len(flat)].T, pitch * (layer + 0.6)], axis=1)[:, [0, 2, 1]]
        points += rng.uniform(-0.03, 0.03, points.shape) * GRAIN
        builder = ModelBuilder(gravity=-GRAVITY)
        self.mass = ball_mass(0.5 * GRAIN, DENSITY)
        builder.add_particles(points, rng.uniform(-0.05, 0.05, points.shape), self.mass, 0.5 * GRAIN)
        surface = ShapeConfig(mu=mu, restitution=0.3)
        self.pipe = builder.add_shape_cylinder(
            [0.0, 0.0, 0.0, *UPRIGHT], radius, 100.0, ShapeConfig(mu=wall_mu, restitution=0.3), hollow=True
        )
        self.floor = builder.add_ground_plane(cfg=surface) if floor else -1
        self.added = more(builder, surface) if more else ()
        self.model = builder.finalize()
        material = Material(5.0e6, 0.25, 0.3, mu, rolling_friction=0.1)
        self.solver = SolverDEM(self.model, material, substeps=SUBSTEPS, **options)
        self.state, self.control = self.model.state(), self.model.control()
        self.weight = count * self.mass * GRAVITY

    def run(self, seconds: float, each: Any = None) -> None:
        for _ in range(round(seconds / STEP)):
            self.solver.step(self.state, self.state, self.control, dt=STEP)
            self.control.advance(STEP)
            if each:
                each()

    def widen(self) -> None:
        """Take the pipe away: as wide as that it is never met."""
        scale = self.model.shape_scale.numpy()
        scale[self.pipe, 0] = 1.0e6
        self.model.shape_scale.assign(scale)

    @property
    def q(self) -> np.ndarray:
        return self.state.particle_q.numpy().astype(np.float64)


@case("D8", "dem", "load on the floor of a silo", FULL)
def janssen() -> Iterator[Measurement]:
    """Walls carry grains: floor load / weight = (l / H)(1 - exp(-H / l)), l = D / (4 mu K), with K = 1/2 (H. Janssen
    1895). The wall moves up by 2 mm, so that friction is mobilised everywhere."""
    for count, mu in ((1120, 0.5), (2130, 0.5), (3200, 0.5), (1120, 0.0)):
        bed = Bed(count, 5.0 * GRAIN, 0.5, mu)
        bed.run(0.6)
        bed.control.set_shape(bed.pipe, velocity=(0.0, 0.005, 0.0))
        bed.run(0.3)
        loads: list[float] = []
        bed.run(0.1, lambda bed=bed, loads=loads: loads.append(-float(bed.solver.shape_force.numpy()[bed.floor, 4])))
        height = 2.0 * bed.q[:, 1].mean() / (10.0 * GRAIN)
        name = f"load by weight, H/D = {height:.2f}"
        if mu == 0.0:
            yield near(f"{name}, smooth wall", 1.0, np.mean(loads) / bed.weight, absolute=0.07)
        else:
            janssens = (1.0 - math.exp(-height)) / height
            yield near(name, janssens, np.mean(loads) / bed.weight, relative=0.12)

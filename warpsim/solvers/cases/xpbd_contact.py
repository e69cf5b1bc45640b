"""Contact and free motion of XPBD against closed forms: friction, restitution, momentum, free fall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.language import float32, float64
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY = 9.81


def slide(degrees: float, seconds: float = 2.0) -> float:
    """How far [m] a particle gets on a ramp with friction 0.5."""
    a = np.radians(degrees)
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 0.0, 0.0), radius=0.0)
    builder.add_shape_plane((np.sin(a), np.cos(a), 0.0), cfg=ShapeConfig(mu=0.5))
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model), model.state()
    for _ in range(round(60 * seconds)):
        solver.step(state, state, None, None, 1.0 / 60.0)
    return float(np.linalg.norm(state.particle_q.numpy()[0]))


@case("X8", "xpbd", "ramp with Coulomb friction")
def ramp() -> Iterator[Measurement]:
    """mu = 0.5: what lies below atan(mu) = 26.565 degrees sticks, above it accelerates by g (sin - mu cos)."""
    steep = np.radians(30.0)
    exact = GRAVITY * (np.sin(steep) - 0.5 * np.cos(steep))
    yield at_most("drift at 20 degrees in 2 s [m]", 1e-3, slide(20.0))
    yield near("acceleration at 30 degrees [m/s^2]", exact, 2.0 * slide(30.0) / 2.0**2, relative=0.03)
    limit = np.degrees(np.arctan(0.5))
    yield at_most("drift half a degree below the threshold [m]", 1e-3, slide(limit - 0.5))
    angles = np.linspace(limit - 0.5, limit + 0.5, 11)
    sliding = [angle for angle in angles if slide(angle, 0.5) > 1e-4]
    yield near("first angle that slides [degrees]", limit, sliding[0] if sliding else np.nan, absolute=0.5)


@case("X9", "xpbd", "rebound of a dropped particle")
def rebound() -> Iterator[Measurement]:
    """Dropped from 1 m with restitution 0.8, it returns to 0.8^2 and 0.8^4 m."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 1.0, 0.0), radius=0.0)
    builder.add_ground_plane(cfg=ShapeConfig(restitution=0.8))
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    heights = []
    for _ in range(2400):
        solver.step(state, state, None, None, 1.0 / 1200.0)
        heights.append(float(state.particle_q.numpy()[0, 1]))
    y = np.array(heights)
    low = 1 + np.flatnonzero((y[1:-1] < y[:-2]) & (y[1:-1] <= y[2:]))
    for number, exact in enumerate((0.64, 0.4096)):
        highest = y[low[number] : low[number + 1]].max()
        yield near(f"height after {number + 1} bounces [m]", exact, highest, relative=0.02)


def drift_of_momentum(dtype: type) -> float:
    """Change of momentum of a free cloth with random velocities in 1 s, per mass and typical speed."""
    builder = ModelBuilder(gravity=0.0)
    n = 16
    builder.add_cloth_grid((0, 0, 0), (0, 0, 0, 1), 0, n, n, 1 / n, 1 / n, 1e-3, spring_ke=1e3, edge_ke=1e-4)
    builder.particles["qd"][:] = np.random.default_rng(2).normal(size=(builder.particle_count, 3))
    model = builder.finalize(device="cpu", dtype=dtype)
    solver, state = SolverXPBD(model), model.state()
    before = solver.statistics(state).momentum.copy()
    for _ in range(60):
        solver.step(state, state, None, None, 1.0 / 60.0)
    after = solver.statistics(state)
    return float(np.linalg.norm(after.momentum - before) / after.mass)


@case("X10", "xpbd", "momentum and free fall")
def free_motion() -> Iterator[Measurement]:
    """Inner forces change no momentum; a body falls by g t (t + h) / 2, as semi-implicit Euler does. In float32 every
    projection rounds positions, by 3e-8 m here, which is 2e-5 m/s in a substep of 1/600 s: random, so that 600 substeps
    of 289 particles leave 1.5e-4; fewer and longer substeps leave less."""
    yield at_most("change of momentum per m v, float32", 3e-4, drift_of_momentum(float32))
    yield at_most("change of momentum per m v, float64", 1e-12, drift_of_momentum(float64))
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_soft_grid((0, 0, 0), (0, 0, 0, 1), 0, 2, 2, 2, 0.1, 0.1, 0.1, 1000.0, youngs_modulus=1e5)
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model), model.state()
    before = solver.statistics(state).center_of_mass[1]
    for _ in range(60):
        solver.step(state, state, None, None, 1.0 / 60.0)
    fallen = before - solver.statistics(state).center_of_mass[1]
    yield near("fall in 1 s [m]", 0.5 * GRAVITY * (1.0 + 1.0 / 600.0), fallen, relative=1e-9)

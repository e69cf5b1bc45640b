"""Springs of XPBD against closed forms: extension, energy, damping by the time step, the period of a pendulum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.language import float32, float64
from ..scene.builder import RIGID, ModelBuilder
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY = 9.81


def hanging_chain(substeps: int, iterations: int, order: str = "colored") -> float:
    """How far [m] ten masses of 0.1 kg stretch their springs of 1000 N/m, after 6 s at 60 steps per second."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 0.0, 0.0), mass=0.0)
    for k in range(10):
        builder.add_particle((0.0, -0.1 * (k + 1), 0.0), mass=0.1)
        builder.add_spring(k, k + 1, ke=1000.0)
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, substeps, iterations, damping=5.0, order=order), model.state()
    for _ in range(360):
        solver.step(state, state, None, None, 1.0 / 60.0)
    return -float(state.particle_q.numpy()[-1, 1]) - 1.0


@case("X1", "xpbd", "hanging chain: stiffness does not depend on iterations or substeps")
def chain() -> Iterator[Measurement]:
    """Static extension m g N (N + 1) / (2 k). A multiplier that is zeroed between iterations gives -86 % at (1, 20), a
    Jacobi iteration with averaging +102 % at (20, 1)."""
    exact = 0.1 * GRAVITY * 10 * 11 / 2 / 1000.0
    extensions = {}
    for pair in ((20, 1), (50, 1), (1, 20), (1, 100)):
        substeps, iterations = pair
        extensions[pair] = hanging_chain(substeps, iterations)
        what = f"extension with {substeps} substeps, {iterations} iterations [m]"
        yield near(what, exact, extensions[pair], relative=0.01)
    yield at_most("spread between them, relative", 0.01, (max(extensions.values()) - min(extensions.values())) / exact)


def oscillator(h: float, dtype: type) -> float:
    """Energy after 1 s per energy before: 1 kg on 100 N/m, 0.1 m stretched."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0]], mass=[0.0, 1.0])
    builder.add_spring(0, 1, ke=100.0, rest_length=1.0)
    model = builder.finalize(device="cpu", dtype=dtype)
    solver, state = SolverXPBD(model, substeps=10), model.state()
    for _ in range(round(0.1 / h)):
        solver.step(state, state, None, None, 10.0 * h)
    stretch = float(state.particle_q.numpy()[1, 0]) - 1.0
    return (50.0 * stretch**2 + solver.statistics(state).kinetic_energy) / 0.5


@case("X2", "xpbd", "oscillator: exactly implicit Euler")
def implicit_euler() -> Iterator[Measurement]:
    """One linear spring makes XPBD implicit Euler, which leaves (1 + w^2 h^2)^(-1/h) of the energy after 1 s."""
    for h in (1e-2, 2e-3, 1e-3):
        exact = (1.0 + 100.0 * h * h) ** (-1.0 / h)
        yield near(f"energy ratio, h = {h:g} s, float64", exact, oscillator(h, float64), relative=1e-6)
        yield near(f"energy ratio, h = {h:g} s, float32", exact, oscillator(h, float32), relative=1e-3)


@case("X3", "xpbd", "spinning rigid dumbbell: numerical damping")
def dumbbell() -> Iterator[Measurement]:
    """A rigid distance constraint damps rotation to w0 / sqrt(1 + 2 w0^2 h t); halving h halves the loss."""
    omega = 2.0 * np.pi
    for substeps in (10, 20, 100):
        builder = ModelBuilder(gravity=0.0)
        ends = np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]])
        builder.add_particles(ends, omega * ends[:, [1, 0, 2]])
        builder.add_spring(0, 1, ke=RIGID)
        model = builder.finalize(device="cpu", dtype=float64)
        solver, state = SolverXPBD(model, substeps), model.state()
        for _ in range(60):
            solver.step(state, state, None, None, 1.0 / 60.0)
        exact = 1.0 / np.sqrt(1.0 + 2.0 * omega**2 / (60.0 * substeps))
        ratio = solver.statistics(state).angular_momentum[2] / (0.5 * omega)
        yield near(f"angular velocity ratio, h = 1/{60 * substeps} s", exact, ratio, absolute=5e-4)


@case("X4", "xpbd", "pendulum on a rigid constraint")
def pendulum() -> Iterator[Measurement]:
    """Period 2 pi sqrt(L/g) (1 + theta^2 / 16) from 10 degrees, L = 1 m; the length stays."""
    theta, dt = np.radians(10.0), 1.0 / 600.0
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particles([[0.0, 0.0, 0.0], [np.sin(theta), -np.cos(theta), 0.0]], mass=[0.0, 1.0])
    builder.add_spring(0, 1, ke=RIGID)
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, substeps=2), model.state()
    path = []
    for _ in range(2400):
        solver.step(state, state, None, None, dt)
        path.append(state.particle_q.numpy()[1].copy())
    x = np.array(path)[:, 0]
    falls = np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0))
    crossings = falls + x[falls] / (x[falls] - x[falls + 1])
    exact = 2.0 * np.pi * np.sqrt(1.0 / GRAVITY) * (1.0 + theta**2 / 16.0)
    yield near("period [s]", exact, (crossings[1] - crossings[0]) * dt, relative=1e-3)
    yield at_most("largest error of the length [m]", 1e-4, np.abs(np.linalg.norm(path, axis=1) - 1.0).max())

"""Gradients of SPH: against differences (P11) and in closed form (P18)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import array, float64
from ...core.runtime.tape.tape import Tape
from ..scene.builder import ModelBuilder
from ..sph.fluid import Fluid
from ..sph.filling import add_fluid_box
from ..sph.solver import SolverSPH
from ..validate import FULL, Measurement, at_most, case, near

FORCE, VISCOSITY, SECONDS, ACROSS = 1.0e-4, 1.0e-6, 0.7, 10


def poiseuille(gap: float) -> tuple[float, float, float]:
    """The mean speed [m/s] of water between plates after the flow is steady, and its logarithmic derivatives by the
    force and the viscosity."""
    dx = gap / ACROSS
    length, builder = 10 * dx, ModelBuilder(gravity=0.0)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (length, gap, 0.0), dx)
    builder.add_ground_plane()
    builder.add_shape_plane((0.0, -1.0, 0.0), (0.0, gap, 0.0))
    fluid = Fluid(sound=1.25e-4, alpha=0.0, viscosity=VISCOSITY)
    model = builder.finalize("cpu", requires_grad=True, dtype=float64)
    options: Any = {"period": (length, 0.0, 0.0), "bounds": ((0.0, 0.0, 0.0), (length, gap, 0.0))}
    solver = SolverSPH(model, fluid, dim=2, no_slip=True, suction=True, **options)
    before, after = model.state(), model.state()
    pull = np.zeros((model.particle_count, 3))
    pull[:, 0] = model.particle_mass.numpy() * FORCE
    before.particle_f.assign(pull)
    with Tape() as tape:
        solver.step(before, after, dt=SECONDS * (gap / 1.0e-3) ** 2)
    weight = np.zeros_like(pull)
    weight[:, 0] = 1.0 / len(weight)
    tape.backward(grads={after.particle_qd: array(weight, dtype=model.vec3)})
    speed = float(after.particle_qd.numpy()[:, 0].mean())
    by_force = float((before.particle_f.grad.numpy() * pull).sum()) / speed
    return speed, by_force, float(solver.fluid_numbers.grad.numpy()[3]) * VISCOSITY / speed


@case("P18", "papers", "sensitivities of a flow between plates", tier=FULL)
def flow_slopes() -> Iterator[Measurement]:
    """J. Poiseuille 1840: the mean speed is F L^2 / (12 nu), here after 0.7 L^2 / nu from rest; by force and viscosity
    from the adjoint of the whole run, by L from two runs."""
    speed, by_force, by_viscosity = poiseuille(1.0e-3)
    wider, _, _ = poiseuille(1.1e-3)
    yield near("mean speed [um/s]", 1.0e6 * FORCE * 1.0e-6 / (12.0 * VISCOSITY), 1.0e6 * speed, relative=0.03)
    yield near("d ln u / d ln F", 1.0, by_force, relative=0.03)
    yield near("d ln u / d ln nu", -1.0, by_viscosity, relative=0.03)
    yield near("d ln u / d ln L", 2.0, float(np.log(wider / speed) / np.log(1.1)), relative=0.03)


class Vortices:
    """A periodic unit square of decaying vortices, 20 particles across, after ten steps; five more are looked at."""

    def __init__(self) -> None:
        builder = ModelBuilder(gravity=0.0)
        add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 0.05, density=1.0)
        self.model = builder.finalize("cpu", requires_grad=True, dtype=float64)
        fluid = Fluid(density=1.0, sound=10.0, alpha=0.0, viscosity=0.1)
        self.solver = SolverSPH(self.model, fluid, dim=2, substeps=1, suction=True, period=(1.0, 1.0, 0.0))
        self.states = [self.model.state() for _ in range(6)]
        x, y = 2.0 * np.pi * self.states[0].particle_q.numpy()[:, :2].T
        flow = np.column_stack([-np.cos(x) * np.sin(y), np.sin(x) * np.cos(y), 0.0 * x])
        self.states[0].particle_qd.assign(flow)
        for _ in range(10):
            self.solver.step(self.states[0], self.states[0], dt=5.0e-4)

    def energy(self) -> float:
        """Half the sum of squared speeds five steps later [m^2/s^2]."""
        for before, after in zip(self.states, self.states[1:], strict=False):
            self.solver.step(before, after, dt=5.0e-4)
        return 0.5 * float((self.states[-1].particle_qd.numpy() ** 2).sum())

    def gradient(self) -> np.ndarray:
        """By all places (n, 3)."""
        with Tape() as tape:
            self.energy()
        last = self.states[-1].particle_qd
        tape.backward(grads={last: array(last.numpy(), dtype=self.model.vec3)})
        return np.asarray(self.states[0].particle_q.grad.numpy())


@case("P11", "papers", "gradients of vortices of particles")
def vortex_gradients() -> Iterator[Measurement]:
    """A. Toshev et al. 2024 (JAX-SPH, arXiv 2403.04750): decaying vortices on 20 x 20 particles, nu = 0.1, ten steps
    and five more; the gradient of half the sum of squared speeds by places, against central differences. The authors
    report a mean squared difference of 1.3e-2, in float32. Their search for a start from an end is not here."""
    flow = Vortices()
    gradient, start = flow.gradient(), flow.states[0].particle_q.numpy().copy()
    rng, eps, errors = np.random.default_rng(2), 1.0e-6 * 0.05, []
    for particle, axis in zip(rng.integers(0, len(start), 24), rng.integers(0, 2, 24), strict=True):
        sides = []
        for side in (1.0, -1.0):
            moved = start.copy()
            moved[particle, axis] += side * eps
            flow.states[0].particle_q.assign(moved)
            sides.append(flow.energy())
        errors.append((sides[0] - sides[1]) / (2.0 * eps) - gradient[particle, axis])
    yield at_most("mean squared difference of 24 components", 1.0e-8, float(np.mean(np.square(errors))))
    yield Measurement("largest component of the gradient", 1.0, float(np.abs(gradient).max()), 1.0e-2, 1.0e3)

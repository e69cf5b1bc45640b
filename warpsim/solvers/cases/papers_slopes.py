"""Sensitivities of the solvers in closed form: P15 of XPBD, P16 of grains, P17 of the ocean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import array, atomic_add, float64, kernel, launch, standard_names, tid, zeros
from ...core.runtime.tape.tape import Tape
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..ocean.spectrum import jonswap, pierson_moskowitz
from ..scene.builder import ModelBuilder
from ..validate import Measurement, case, near
from ..xpbd.solver import SolverXPBD

vec4d = standard_names()["vec4d"]


# ----- XPBD ---------------------------------------------------------------------------------------


def spring_end(h: float) -> tuple[float, float, float, float]:
    """Stretch and speed of 1 kg on 100 N/m after 1 s from 0.1 m, and their derivatives by the stiffness."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0]], mass=[0.0, 1.0])
    builder.add_spring(0, 1, ke=100.0, rest_length=1.0)
    model = builder.finalize("cpu", requires_grad=True, dtype=float64)
    solver, before, after, slopes = SolverXPBD(model, substeps=round(1.0 / h)), model.state(), model.state(), []
    for output in ("particle_q", "particle_qd"):
        with Tape() as tape:
            solver.step(before, after, None, None, 1.0)
        weight = array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], dtype=model.vec3)
        tape.backward(grads={getattr(after, output): weight})
        slopes.append(-model.spring_compliance.grad.numpy()[0] / 100.0**2)
        tape.zero()
    q, qd = after.particle_q.numpy(), after.particle_qd.numpy()
    return float(q[1, 0]) - 1.0, float(qd[1, 0]), slopes[0], slopes[1]


def implicit_euler(h: float, k: float = 100.0) -> list[float]:
    """The same by its recursion, v' = (v - h k x) / (1 + h^2 k), x' = x + h v', and that of its derivative."""
    x, v, dx, dv = 0.1, 0.0, 0.0, 0.0
    for _ in range(round(1.0 / h)):
        below = 1.0 + h * h * k
        next_v = (v - h * k * x) / below
        dv = (dv - h * x - h * k * dx - h * h * next_v) / below
        v = next_v
        x, dx = x + h * v, dx + h * dv
    return [x, v, dx, dv]


@case("P15", "papers", "sensitivities of a spring")
def spring_slopes() -> Iterator[Measurement]:
    """One spring, one iteration a substep: implicit Euler, whose place, speed and derivatives by the stiffness follow
    from a recursion. At h = 1 ms x = -0.0798323965 m, dx/dk = 2.62577421e-3 m^2/N, v = 0.517224118 m/s, dv/dk =
    0.0422397414; at 10 ms x = -0.0520866527 m, dx/dk = 1.81083751e-3."""
    for h in (1.0e-3, 1.0e-2):
        exact, measured = implicit_euler(h), spring_end(h)
        for what, e, m in zip(("x [m]", "v [m/s]", "dx/dk [m^2/N]", "dv/dk [m^2/N/s]"), exact, measured, strict=True):
            yield near(f"{what}, h = {1e3 * h:g} ms", e, m, absolute=1.0e-10)


# ----- grains -------------------------------------------------------------------------------------

GLASS, SPHERE, DENSITY, SPEED, STEP = 48.0e9, 0.01, 2800.0, 10.0, 5.0e-8


class Impact:
    """Two spheres of glass that meet at 20 m/s, one state a step; inputs are their speed and Young's modulus."""

    def __init__(self) -> None:
        builder, x = ModelBuilder(gravity=0.0), SPHERE * (1.0 + 1.0e-6)
        self.mass = DENSITY * 4.0 / 3.0 * math.pi * SPHERE**3
        v = np.array([[SPEED, 0.0, 0.0], [-SPEED, 0.0, 0.0]])
        builder.add_particles([(-x, 0.0, 0.0), (x, 0.0, 0.0)], v, self.mass, SPHERE)
        self.model = builder.finalize("cpu", requires_grad=True, dtype=float64)
        self.solver = SolverDEM(self.model, Material(GLASS, 0.2, 1.0, 0.0))
        self.states = [self.model.state() for _ in range(round(45.0e-6 / STEP) + 1)]

    def run(self) -> Tape:
        """The impact on a tape."""
        with Tape() as tape:
            for before, after in zip(self.states, self.states[1:], strict=False):
                self.solver.step(before, after, dt=STEP)
        return tape

    def slopes(self, *seeds: tuple[int, str, float]) -> tuple[float, float]:
        """Derivatives by speed and modulus of a sum of coordinates of the first grain: state, array, factor."""
        tape, grads = self.run(), {}
        for number, name, factor in seeds:
            weight = array([[factor, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=self.model.vec3)
            grads[getattr(self.states[number], name)] = weight
        tape.backward(grads=grads)
        v, young = self.states[0].particle_qd.grad.numpy(), self.solver.materials.youngs_modulus.grad.numpy()[0]
        by = float(v[0, 0] - v[1, 0]), float(young)
        tape.zero()
        return by


@case("P16", "papers", "sensitivities of an impact of grains")
def impact_slopes() -> Iterator[Measurement]:
    """Hertz 1882: force goes with E^0.4 v^1.2, overlap with E^-0.4 v^0.8, duration with E^-0.4 v^-0.2 (glass of D1)."""
    impact = Impact()
    impact.run()
    x = np.array([state.particle_q.numpy()[0, 0] for state in impact.states])
    v = np.array([state.particle_qd.numpy()[0, 0] for state in impact.states])
    at = int(np.argmin(np.diff(v)))  # the largest force
    force, scale = impact.mass * (v[at] - v[at + 1]) / STEP, impact.mass / STEP
    by_v, by_e = impact.slopes((at, "particle_qd", scale), (at + 1, "particle_qd", -scale))
    yield near("largest force [kN]", 10.697, force * 1.0e-3, relative=5.0e-3)
    yield near("d ln F / d ln v", 1.2, by_v * SPEED / force, relative=5.0e-3)
    yield near("d ln F / d ln E", 0.4, by_e * GLASS / force, relative=5.0e-3)
    deep = int(np.argmax(x))
    depth = 2.0 * (x[deep] + SPHERE)
    by_v, by_e = impact.slopes((deep, "particle_q", 2.0))
    yield near("d ln overlap / d ln v", 0.8, by_v * SPEED / depth, relative=5.0e-3)
    yield near("d ln overlap / d ln E", -0.4, by_e * GLASS / depth, relative=5.0e-3)
    gap, whole = SPHERE * 1.0e-6, (len(x) - 1) * STEP
    lasted = whole - gap / SPEED - (-SPHERE - x[-1]) / SPEED
    by_v, by_e = impact.slopes((len(x) - 1, "particle_q", -1.0))
    lasts = whole - lasted - by_v  # -v dt/dv, as apart = v (whole - gap / v - t)
    yield near("duration [us]", 40.34, lasted * 1.0e6, relative=5.0e-3)
    yield near("d ln t / d ln v", -0.2, lasts / lasted, relative=5.0e-3)
    yield near("d ln t / d ln E", -0.4, -by_e / SPEED * GLASS / lasted, relative=5.0e-3)


# ----- ocean --------------------------------------------------------------------------------------


def height_kernel(density: Any) -> Any:
    """A kernel that integrates a spectrum over frequencies, by the trapezoid rule in their logarithm."""

    @kernel
    def integrate(omega: array(dtype=float64), step: float64, p: array(dtype=float64), variance: array(dtype=float64)):
        w = omega[tid()]
        o = float64(0.0)
        atomic_add(variance, 0, step * w * density(w, o, o, vec4d(p[0], p[1], p[2], o)))

    return integrate


def significant_height(density: Any, *parameters: float) -> tuple[float, np.ndarray]:
    """4 sqrt(m0) [m], and its derivatives by the parameters of a spectrum."""
    omega, count = np.geomspace(0.05, 2000.0, 40001), 40001
    p = array([*parameters, 0.0, 0.0][:3], dtype=float64, requires_grad=True)
    variance = zeros(1, float64, "cpu", requires_grad=True)
    step = float64(math.log(omega[-1] / omega[0]) / (count - 1))
    with Tape() as tape:
        launch(height_kernel(density), count, [array(omega, dtype=float64), step, p, variance], device="cpu")
    tape.backward(variance)
    height = 4.0 * math.sqrt(float(variance.numpy()[0]))
    return height, np.asarray(p.grad.numpy()) * 8.0 / height


@case("P17", "papers", "sensitivities of a sea")
def sea_slopes() -> Iterator[Measurement]:
    """JONSWAP with X^-0.22 and X^-0.33: Hs goes with U^0.9 and F^0.55; Pierson and Moskowitz's with U^2. Hs and its
    derivative by gamma by quadrature, at 10 m/s and 100 km."""
    height, by = significant_height(jonswap, 10.0, 100.0e3, 3.3)
    yield near("JONSWAP: Hs [m]", 2.0130868, height, relative=1.0e-6)
    yield near("JONSWAP: d ln Hs / d ln U", 0.9, by[0] * 10.0 / height, absolute=1.0e-6)
    yield near("JONSWAP: d ln Hs / d ln F", 0.55, by[1] * 100.0e3 / height, absolute=1.0e-6)
    yield near("JONSWAP: dHs / dgamma [m]", 0.1351227, by[2], absolute=1.0e-6)
    height, by = significant_height(pierson_moskowitz, 10.0)
    yield near("Pierson-Moskowitz: d ln Hs / d ln U", 2.0, by[0] * 10.0 / height, absolute=1.0e-6)

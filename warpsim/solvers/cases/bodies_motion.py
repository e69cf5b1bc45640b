"""Free rigid bodies against Euler's equations: what is conserved, and flips of a body spun about its middle axis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ellipk

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..scene.builder import ModelBuilder
from ..scene.rotations import rotate
from ..scene.state import State
from ..validate import Measurement, at_most, case, near

DT = 1.0 / 60.0
MOMENTS = np.array([1.0, 2.0, 3.0])
"""Principal moments of inertia [kg m^2]."""


def top(spin: np.ndarray) -> tuple[SolverBodies, State]:
    """A free body with an angular velocity [rad/s] along its axes."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_body(qd=(*spin, 0.0, 0.0, 0.0), mass=1.0, com=(0.0, 0.0, 0.0), inertia=MOMENTS)
    model = builder.finalize(device="cpu", dtype=float64)
    return SolverBodies(model, 10), model.state()


def along_axes(state: State) -> np.ndarray:
    """The angular velocity along the axes of the body [rad/s]."""
    q, w = state.body_q.numpy()[0, 3:], state.body_qd.numpy()[0, :3]
    local: np.ndarray = rotate(q * [-1.0, -1.0, -1.0, 1.0], w[None])[0]
    return local


def momentum(state: State) -> np.ndarray:
    """The angular momentum in space [kg m^2/s]."""
    return rotate(state.body_q.numpy()[0, 3:], (MOMENTS * along_axes(state))[None])[0]


def half_period(spin: np.ndarray) -> float:
    """Half a period of Euler's equations [s], where L^2 > 2 E I2: 2 K(k) / n (L. D. Landau and E. M. Lifshitz,
    Mechanics, section 37)."""
    (a, b, c), twice, square = MOMENTS, MOMENTS @ spin**2, MOMENTS**2 @ spin**2
    n = np.sqrt((c - b) * (square - twice * a) / (a * b * c))
    modulus = (b - a) * (twice * c - square) / ((c - b) * (square - twice * a))
    return float(2.0 * ellipk(modulus) / n)


@case("B1", "bodies", "a free top")
def free_top() -> Iterator[Measurement]:
    """Angular momentum and energy of a body without torque stay; spun about its middle axis it flips at half the period
    of the elliptic solution."""
    spin = np.array([2.0, 3.0, 4.0])
    solver, state = top(spin)
    energy, before = MOMENTS @ spin**2, momentum(state)
    for _ in range(round(1000.0 * 2.0 * np.pi / (np.linalg.norm(spin) * DT))):
        solver.step(state, state, None, None, DT)
    yield at_most("change of angular momentum in 1,000 turns, relative", 1e-8,
                  np.abs(momentum(state) - before).max() / np.linalg.norm(before))  # fmt: skip
    lost = abs(MOMENTS @ along_axes(state) ** 2 / energy - 1.0)
    yield at_most("change of energy in 1,000 turns, relative", 1e-4, lost)
    spin = np.array([0.0, 5.0, 0.05])
    solver, state = top(spin)
    middle = [spin[1]]
    for _ in range(1200):
        solver.step(state, state, None, None, DT)
        middle.append(along_axes(state)[1])
    w = np.array(middle)
    k = np.flatnonzero(np.sign(w[:-1]) != np.sign(w[1:]))
    crossings = (k + w[k] / (w[k] - w[k + 1])) * DT
    yield near("time between flips [s]", half_period(spin), float(np.diff(crossings).mean()), relative=0.01)
    yield near("flips in 20 s", 20.0 // half_period(spin), len(k), absolute=1.0)

"""The speed of a row of toppling dominoes against the motion of its one degree of freedom."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import Measurement, case, near

GRAVITY, DT = 9.81, 1.0 / 480.0
HEIGHT, THICK, WIDE = 0.048, 0.0075, 0.024  # of a domino [m]
LEANING = 60  # dominoes behind the foremost one that still count: others have come to rest


# ----- the theory ---------------------------------------------------------------------------------


def leaning(pitch: float, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles [rad] of the foremost domino and of those that lean on each other behind it, and how fast each turns for
    the foremost: a domino's edge lies on the face of the next, h sin(a - b) = pitch cos b - d."""
    angles, rates = [angle], [1.0]
    for _ in range(LEANING):
        b = angles[-1]
        lead = math.asin((pitch * math.cos(b) - THICK) / HEIGHT)
        angles.append(b + lead)
        rates.append(rates[-1] * (1.0 - pitch * math.sin(b) / (HEIGHT * math.cos(lead))))
    return np.array(angles), np.array(rates)


def wave_speed(gap: float) -> float:
    """The steady speed [m/s] of the wave: energy is kept while the foremost domino falls freely, and when it meets the
    next one, at rest, momentum along the motion of all is."""
    pitch = gap + THICK
    angles = np.linspace(0.0, math.asin(gap / HEIGHT), 401)
    inertia, potential = np.zeros((2, len(angles)))  # of all per mass
    for k, angle in enumerate(angles):
        others, rates = leaning(pitch, angle)
        inertia[k] = (HEIGHT**2 + THICK**2) / 3.0 * (rates**2).sum()
        potential[k] = 0.5 * GRAVITY * (HEIGHT * np.cos(others) + THICK * np.sin(others)).sum()
    energy = potential[0]
    for _ in range(400):
        end = math.sqrt(2.0 * (energy - potential[-1]) / inertia[-1])
        after = end * inertia[-1] / inertia[0]  # the next one joins: inertia[0] is that of one domino more
        energy = potential[0] + 0.5 * inertia[0] * after**2
    slowness = 1.0 / np.sqrt(2.0 * (energy - potential) / inertia)
    time = float(((slowness[1:] + slowness[:-1]) / 2.0 * np.diff(angles)).sum())
    return pitch / time


# ----- the row ------------------------------------------------------------------------------------


def row(gap: float, count: int) -> ModelBuilder:
    """Dominoes that stand on a floor on which none slides, and slide along each other; the first one is pushed."""
    builder, spin = ModelBuilder(gravity=-GRAVITY), 8.0
    builder.add_ground_plane(cfg=ShapeConfig(mu=1.0e6))  # 10 on the floor, as the geometric mean
    cfg = ShapeConfig(mu=1.0e-4, density=1200.0)
    for k in range(count):
        twist = (0.0, 0.0, -spin, 0.5 * spin * HEIGHT, 0.0, 0.0) if k == 0 else 0.0
        body = builder.add_body((k * (gap + THICK), 0.5 * HEIGHT, 0.0, 0.0, 0.0, 0.0, 1.0), twist)
        builder.add_shape_box(None, 0.5 * THICK, 0.5 * HEIGHT, 0.5 * WIDE, cfg, body)
    return builder


def measured_speed(gap: float, count: int) -> float:
    """The speed [m/s] of the wave over fifteen of the last dominoes, by when each has turned by 0.1 rad."""
    model = row(gap, count).finalize(device="cpu", dtype=float64)
    solver, state = SolverBodies(model, iterations=4), model.state()
    falls, past, time = np.full(count, np.nan), np.zeros(count), 0.0
    while np.isnan(falls[-1]) and time < 3.0:
        solver.step(state, state, None, None, DT)
        q = state.body_q.numpy()
        now = 2.0 * np.arctan2(-q[:, 5], q[:, 6])
        new = np.isnan(falls) & (now > 0.1)
        falls[new] = time + DT * (0.1 - past[new]) / (now - past)[new]
        past, time = now, time + DT
    return 15.0 * (gap + THICK) / float(falls[-5] - falls[-20])


@case("B11", "bodies", "the speed of a row of dominoes")
def dominoes() -> Iterator[Measurement]:
    """Dominoes that do not slide on the floor, do slide along each other and do not bounce lean on all that fell before
    them, so that a row has one degree of freedom between two impacts (J. M. J. van Leeuwen 2010, Am. J. Phys. 78). Of
    48 mm, 7.5 mm thick, 10 substeps of 4 iterations in a step of 1/480 s."""
    for gap, count in ((0.01, 60), (0.02, 45)):
        yield near(
            f"speed at gaps of {1e3 * gap:.0f} mm [m/s]", wave_speed(gap), measured_speed(gap, count), relative=0.01
        )

"""Validation of walls of `SolverSPH`: what moves along, turns, is round or thin, and holds what is before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.language import float64
from ..scene.builder import ModelBuilder
from ..sph.dfsph import SolverDFSPH
from ..sph.filling import add_fluid_box
from ..sph.fluid import Fluid
from ..sph.solver import SolverSPH
from ..validate import FULL, Measurement, at_most, case, near

G = 9.81

# U. Ghia, K. Ghia, C. Shin 1982, tables I and II at a Reynolds number of 100: (y, u) on the upright middle line of the
# cavity, (x, v) on the level one, by its side and the speed of the lid
UPRIGHT = np.fromstring(
    """0.0547 -0.03717  0.1719 -0.10150  0.2813 -0.15662  0.4531 -0.21090  0.5 -0.20581
    0.6172 -0.13641  0.7344 0.00332  0.8516 0.23151  0.9531 0.68717""",
    sep=" ",
).reshape(-1, 2)
LEVEL = np.fromstring(
    """0.0625 0.09233  0.1563 0.16077  0.2344 0.17527  0.5 0.05454  0.8047 -0.24533  0.8594 -0.22445
    0.9063 -0.16914  0.9453 -0.10313""",
    sep=" ",
).reshape(-1, 2)


def rings(radius: float, dx: float) -> np.ndarray:
    """Places of a round sheet in rings a spacing apart, (n, 3) [m]."""
    places = []
    for r in np.arange(radius - 0.5 * dx, 0.3 * dx, -dx):
        angle = np.arange(round(2.0 * math.pi * r / dx)) * 2.0 * math.pi / round(2.0 * math.pi * r / dx)
        places.append(np.stack([r * np.cos(angle), r * np.sin(angle), 0.0 * angle], axis=1))
    return np.concatenate(places)


def mean_near(points: np.ndarray, q: np.ndarray, values: np.ndarray, reach: float) -> np.ndarray:
    """Means of values around points, weighted by (1 - r / reach)."""
    weight = np.maximum(1.0 - np.linalg.norm(q[None] - points[:, None], axis=2) / reach, 0.0)
    return (weight @ values) / weight.sum(axis=1)


@case("S12", "sph", "cavity whose lid slides, 24 x 24 particles", FULL)
def cavity() -> Iterator[Measurement]:
    """U. Ghia, K. Ghia, C. Shin 1982, a Reynolds number of 100: velocities on the middle lines after 9 s."""
    n = 24
    builder = ModelBuilder(gravity=0.0)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0), 1.0 / n, density=1.0)
    for normal, place in (
        ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ((0.0, 1.0, 0.0), (0.0, 0.0, 0.0)),
        ((0.0, -1.0, 0.0), (0.0, 1.0, 0.0)),
    ):
        builder.add_shape_plane(normal, place)
    model = builder.finalize()
    fluid = Fluid(density=1.0, sound=10.0, alpha=0.0, viscosity=0.01)
    solver = SolverSPH(model, fluid, dim=2, no_slip=True, smoothing=1.6, bounds=((0.0, 0.0, 0.0), (1.0, 1.0, 0.0)))
    state, control, means = model.state(), model.control(), []
    control.set_shape(3, velocity=(1.0, 0.0, 0.0))
    upright = np.column_stack([np.full(len(UPRIGHT), 0.5), UPRIGHT[:, 0]])
    level = np.column_stack([LEVEL[:, 0], np.full(len(LEVEL), 0.5)])
    for k in range(450):
        solver.step(state, state, control, dt=0.02)
        if k >= 400 and k % 5 == 0:
            q, v = state.particle_q.numpy()[:, :2].astype(np.float64), state.particle_qd.numpy()
            means.append([*mean_near(upright, q, v[:, 0], 1.5 / n), *mean_near(level, q, v[:, 1], 1.5 / n)])
    u, v = np.split(np.mean(means, axis=0), [len(UPRIGHT)])
    for name, error in (("u on the upright", u - UPRIGHT[:, 1]), ("v on the level", v - LEVEL[:, 1])):
        yield at_most(f"{name} middle line, RMS error by the lid", 0.04, math.sqrt(np.mean(error**2)))
    statistics = solver.statistics(state)
    yield near("particles outside", 0, statistics.outside((0.0, 0.0, -1.0), (1.0, 1.0, 1.0)))


@case("S13", "sph", "water in a can that turns")
def turning_can() -> Iterator[Measurement]:
    """Rigid rotation: with walls without slip the water turns as the can does, R = 10 spacings, and pulls at it no
    more; from rest, after 3 s, 0.6 R^2 / nu."""
    radius, rate, nu = 1.0, 6.0, 0.2
    dx = 0.1 * radius
    places = rings(radius, dx)
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles(places, 0.0, 1000.0 * math.pi * radius**2 / len(places))
    can = builder.add_shape_cylinder((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), radius, radius, hollow=True)
    model = builder.finalize(dtype=float64)
    fluid = Fluid(sound=10.0 * rate * radius, alpha=0.0, viscosity=nu)
    solver = SolverSPH(model, fluid, dim=2, no_slip=True, spacing=dx)
    state, control, torques = model.state(), model.control(), []
    control.set_shape(can, angular_velocity=(0.0, 0.0, rate))
    for _ in range(150):
        solver.step(state, state, control, dt=0.02)
        torques.append(solver.shape_force.numpy()[can, 2])
    q, v = state.particle_q.numpy(), state.particle_qd.numpy()
    turning = np.cross(q, v)[:, 2].sum() / (q * q).sum()
    yield near("rate of rotation by that of the can", 1.0, turning / rate, absolute=0.02)
    scale = 4.0 * math.pi * 1000.0 * nu * rate * radius**2
    yield at_most("torque on the can by 4 pi mu w R^2", 0.05, abs(np.mean(torques[-25:])) / scale)
    yield near("particles outside", 0, int((np.linalg.norm(q, axis=1) > radius).sum()))


@case("S14", "sph", "flow in a round pipe, R = 8 spacings")
def pipe() -> Iterator[Measurement]:
    """G. Hagen 1839 and J. Poiseuille 1840: u = f (R^2 - r^2) / 4 nu, held by a force for 0.6 R^2 / nu."""
    radius, nu, layers = 1.0, 0.1, 8
    dx = radius / 8.0
    sheet, length = rings(radius, dx), layers * dx
    places = np.concatenate([sheet + np.array([0.0, 0.0, (k + 0.5) * dx]) for k in range(layers)])
    builder = ModelBuilder(gravity=0.0)
    exact = 1.0 - (places[:, :2] ** 2).sum(axis=1) / radius**2
    builder.add_particles(places, np.outer(exact, [0.0, 0.0, 1.0]), 1000.0 * math.pi * radius**2 * length / len(places))
    builder.add_shape_cylinder((0.0, 0.0, 0.5 * length, 0.0, 0.0, 0.0, 1.0), radius, 2.0 * length, hollow=True)
    model = builder.finalize()
    fluid = Fluid(sound=10.0, alpha=0.0, viscosity=nu)
    solver = SolverSPH(model, fluid, no_slip=True, suction=True, spacing=dx, period=(0.0, 0.0, length))
    state = model.state()
    state.particle_f.assign(np.outer(model.particle_mass.numpy(), [0.0, 0.0, 4.0 * nu / radius**2]))
    for _ in range(60):
        solver.step(state, state, dt=0.1)
    r = np.hypot(*state.particle_q.numpy()[:, :2].T)
    fastest, slope = np.linalg.lstsq(np.stack([np.ones(len(r)), -r * r], axis=1), state.particle_qd.numpy()[:, 2])[0]
    yield near("fastest flow by the solution", 1.0, fastest, absolute=0.03)
    yield near("radius at which a parabola stands still [spacings]", 8.0, math.sqrt(fastest / slope) / dx, absolute=0.1)


def thin_floor(kind: Any, thickness: float) -> tuple[float, int]:
    """The mean force on a plate under water by the weight of this, and how many particles came through."""
    dx, width, depth = 0.04, 0.4, 0.32
    builder = ModelBuilder(gravity=-G)
    add_fluid_box(builder, (0.0, 0.0, 0.0), (width, depth, 0.0), dx)
    half = 0.5 * thickness * dx
    plate = builder.add_shape_box((0.5 * width, -half, 0.0, 0.0, 0.0, 0.0, 1.0), 1.0, half, 1.0)
    builder.add_shape_plane((1.0, 0.0, 0.0))
    builder.add_shape_plane((-1.0, 0.0, 0.0), (width, 0.0, 0.0))
    model = builder.finalize()
    fluid = Fluid(sound=10.0 * math.sqrt(2.0 * G * depth), alpha=0.1)
    solver = kind(model, fluid, dim=2, bounds=((0.0, -0.5, 0.0), (width, 0.7, 0.0)))
    state, forces = model.state(), []
    for _ in range(100):
        solver.step(state, state, dt=0.01)
        forces.append(-solver.shape_force.numpy()[plate, 4])
    y = state.particle_q.numpy()[:, 1]
    return float(np.mean(forces[50:])) / (solver.statistics(state).mass * G), int((y < 0.0).sum())


@case("S15", "sph", "water over plates thinner than its spacing")
def thin_plates() -> Iterator[Measurement]:
    """A plate bears the weight of the water over it, and nothing comes through, however thin it is."""
    for kind in (SolverSPH, SolverDFSPH):
        for thickness in (0.1, 0.5, 1.2):
            weight, through = thin_floor(kind, thickness)
            if kind is SolverSPH:  # pressures of the other one are too steep
                yield near(f"{kind.__name__}, {thickness} spacings: force by weight", 1.0, weight, absolute=0.05)
            yield near(f"{kind.__name__}, {thickness} spacings: particles that came through", 0, through)

"""Impacts and curved ways of XPBD against closed forms: friction of an impulse, the centripetal force."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...core.language import float64
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import Measurement, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY = 9.81
Way = tuple[np.ndarray, np.ndarray]


def way_of(builder: ModelBuilder, steps: int, substeps: int, dt: float) -> Way:
    """Where the only particle was after each step (steps, 3) [m], and its velocities [m/s]."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverXPBD(model, substeps=substeps), model.state()
    q, v = [], []
    for _ in range(steps):
        solver.step(state, state, None, None, dt)
        q.append(state.particle_q.numpy()[0].copy())
        v.append(state.particle_qd.numpy()[0].copy())
    return np.array(q), np.array(v)


def loss_along(phase: float, restitution: float) -> float:
    """What an impact at 2 m/s with friction 0.3 takes of 3 m/s along the floor, that part of a substep after its
    beginning."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.0, 2.0 / 600.0 * (3.0 + phase), 0.0), (3.0, -2.0, 0.0), radius=0.0)
    builder.add_ground_plane(cfg=ShapeConfig(mu=0.3, restitution=restitution))
    return 3.0 - float(way_of(builder, 3, 10, 1.0 / 60.0)[1][-1, 0])


@case("X20", "xpbd", "friction of an impact")
def oblique_impact() -> Iterator[Measurement]:
    """Coulomb: the impulse (1 + e) m v_n across the wall allows mu times itself along it, whenever it comes."""
    for restitution in (0.0, 0.5):
        for phase in (0.05, 0.5, 0.95):
            loss = loss_along(phase, restitution)
            exact = 0.3 * (1.0 + restitution) * 2.0
            yield near(f"loss of speed [m/s], e = {restitution}, phase {phase}", exact, loss, relative=0.01)


def launch_point(add: Callable[[ModelBuilder], int], substeps: int, speed: float = 0.15) -> float:
    """How far out [m] a particle that starts on top of a round obstacle passes the height of its middle."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 1.0, 0.0), (speed, 0.0, 0.0), radius=0.0)
    add(builder)
    q, _ = way_of(builder, 380, substeps, 1.0 / 240.0)
    k = int(np.flatnonzero(q[:, 1] < 0.0)[0])
    return float(np.interp(0.0, [q[k, 1], q[k - 1, 1]], [q[k, 0], q[k - 1, 0]]))


@case("X21", "xpbd", "sliding over and in round obstacles")
def round_obstacles() -> Iterator[Measurement]:
    """A particle leaves a smooth ball of radius R at cos = 2/3 + v0^2 / (3 g R), and falls on; in a pipe without
    gravity friction leaves it v0 / (1 + mu v0 t / R)."""
    at_rest, smooth = (0, 0, 0, 0, 0, 0, 1), ShapeConfig(mu=0.0)
    c = 2.0 / 3.0 + 0.15**2 / (3.0 * GRAVITY)
    v, s = np.sqrt(0.15**2 + 2.0 * GRAVITY * (1.0 - c)), np.sqrt(1.0 - c * c)
    exact = s + v * c * (-v * s + np.sqrt((v * s) ** 2 + 2.0 * GRAVITY * c)) / GRAVITY
    for substeps in (5, 40):
        out = launch_point(lambda b: b.add_shape_sphere(at_rest, 1.0, smooth), substeps)
        yield near(f"how far out it passes the middle of a ball [m], {substeps} substeps", exact, out, relative=0.005)
    for mu in (0.1, 0.3):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle((0.0, -1.0, 0.0), (2.0, 0.0, 0.0), radius=0.0)
        builder.add_shape_cylinder(at_rest, 1.0, 5.0, ShapeConfig(mu=mu), hollow=True)
        speed = np.linalg.norm(way_of(builder, 240, 5, 1.0 / 240.0)[1][-1])
        yield near(f"speed after 1 s in a bend [m/s], mu = {mu}", 2.0 / (1.0 + 2.0 * mu), speed, relative=0.01)

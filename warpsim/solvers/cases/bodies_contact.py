"""Contact of rigid bodies against closed forms: inclines, rolling, restitution, a cradle, stacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..scene.builder import ModelBuilder
from ..scene.model import Model
from ..scene.rotations import rotate
from ..scene.shape_builder import ShapeConfig
from ..scene.state import State
from ..validate import FULL, Measurement, at_least, at_most, case, near

GRAVITY, DT = 9.81, 1.0 / 60.0
REST = (0.0, 0.0, 0.0, 1.0)


class Run(NamedTuple):
    """What a scene was made of, and where it got."""

    model: Model
    solver: SolverBodies
    state: State


def run(builder: ModelBuilder, seconds: float, look: Callable[[State], None] | None = None, **options: int) -> Run:
    """Step a scene. look: is shown every state."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverBodies(model, **options), model.state()
    for _ in range(round(seconds / DT)):
        solver.step(state, state, None, None, DT)
        if look is not None:
            look(state)
    return Run(model, solver, state)


# ----- inclines -----------------------------------------------------------------------------------


def on_incline(degrees: float, mu: float, half: tuple[float, float, float], seconds: float) -> State:
    """A box that starts at rest on an incline, which goes down along x."""
    a = math.radians(degrees)
    normal, turn = np.array([math.sin(a), math.cos(a), 0.0]), (0.0, 0.0, -math.sin(0.5 * a), math.cos(0.5 * a))
    builder = ModelBuilder(gravity=-GRAVITY)
    cfg = ShapeConfig(mu=mu)
    builder.add_shape_plane(normal, (0.0, 0.0, 0.0), cfg)
    body = builder.add_body((*(half[1] * normal), *turn))
    builder.add_shape_box(None, *half, cfg=cfg, body=body)
    return run(builder, seconds).state


def turned(state: State, degrees: float) -> float:
    """By how much [degrees] the box has turned over, against the incline."""
    q = state.body_q.numpy()[0]
    up = rotate(q[3:], np.array([[0.0, 1.0, 0.0]]))[0]
    a = math.radians(degrees)
    return math.degrees(math.acos(min(1.0, float(up @ [math.sin(a), math.cos(a), 0.0]))))


@case("B4", "bodies", "box on an incline: it sticks, slides, or tips over")
def incline() -> Iterator[Measurement]:
    """mu = 0.5: below atan(mu) = 26.565 degrees a flat box sticks, above it slides with g (sin - mu cos). A box 0.4 m
    wide and 1 m high, with mu = 1, tips over above atan(0.4) = 21.801 degrees, where its weight leaves its foot."""
    flat, tall = (0.3, 0.1, 0.3), (0.2, 0.5, 0.2)
    limit, tips = math.degrees(math.atan(0.5)), math.degrees(math.atan(0.4))
    start = 0.1 * np.array([math.sin(math.radians(20.0)), math.cos(math.radians(20.0)), 0.0])
    at_20 = on_incline(20.0, 0.5, flat, 2.0).body_q.numpy()[0, :3]
    yield at_most("way at 20 degrees in 2 s [m]", 1e-6, float(np.linalg.norm(at_20 - start)))
    for below, name in ((-0.2, "below"), (0.2, "above")):
        speed = float(np.linalg.norm(on_incline(limit + below, 0.5, flat, 2.0).body_qd.numpy()[0, 3:]))
        a = math.radians(limit + below)
        exact = max(0.0, 2.0 * GRAVITY * (math.sin(a) - 0.5 * math.cos(a)))
        yield near(f"speed after 2 s, 0.2 degrees {name} the limit [m/s]", exact, speed, absolute=1e-3)
    a = math.radians(35.0)
    exact = GRAVITY * (math.sin(a) - 0.5 * math.cos(a))
    speed = float(np.linalg.norm(on_incline(35.0, 0.5, flat, 1.0).body_qd.numpy()[0, 3:]))
    yield near("acceleration at 35 degrees [m/s^2]", exact, speed, relative=0.01)
    yield at_most(
        "turned in 3 s, 0.3 degrees below tipping [degrees]",
        0.1,
        turned(on_incline(tips - 0.3, 1.0, tall, 3.0), tips - 0.3),
    )
    yield at_least(
        "turned in 3 s, 0.3 degrees above tipping [degrees]",
        10.0,
        turned(on_incline(tips + 0.3, 1.0, tall, 3.0), tips + 0.3),
    )


# ----- balls --------------------------------------------------------------------------------------


def ball_on_ground(cfg: ShapeConfig, twist: tuple[float, ...]) -> ModelBuilder:
    """A ball of 10 cm on the ground."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_ground_plane(cfg=cfg)
    body = builder.add_body((0.0, 0.1, 0.0, *REST), twist)
    builder.add_shape_sphere(None, 0.1, cfg=cfg, body=body)
    return builder


@case("B5", "bodies", "a sliding ball rolls at last; balls roll down, roll out and spin down")
def rolling() -> Iterator[Measurement]:
    """A ball that slides at v0 without spin rolls at 5/7 v0 when friction has spun it up, after 2 v0 / (7 mu g). Down
    an incline of 20 degrees a rolling ball accelerates by 5/7 g sin. With the coefficient c [m] of rolling friction, a
    torque of c m g, it slows by 5/7 c g / r; with the same of torsional friction it spins down by 5/2 c g / r^2."""
    builder = ball_on_ground(ShapeConfig(mu=0.3), (0.0, 0.0, 0.0, 2.0, 0.0, 0.0))
    speeds: list[float] = []
    result = run(builder, 1.0, lambda state: speeds.append(float(state.body_qd.numpy()[0, 3])))
    twist = result.state.body_qd.numpy()[0]
    yield near("speed when it rolls [m/s]", 2.0 * 5.0 / 7.0, twist[3], relative=1e-3)
    yield near("spin times radius [m/s]", 2.0 * 5.0 / 7.0, -0.1 * twist[2], relative=1e-3)
    slowing = (2.0 - speeds[5]) / (6 * DT)
    yield near("slowing while it slides [m/s^2]", 0.3 * GRAVITY, slowing, relative=0.01)
    a = math.radians(20.0)
    normal = np.array([math.sin(a), math.cos(a), 0.0])
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_shape_plane(normal, (0.0, 0.0, 0.0), ShapeConfig(mu=0.5))
    body = builder.add_body((*(0.1 * normal), *REST))
    builder.add_shape_sphere(None, 0.1, cfg=ShapeConfig(mu=0.5), body=body)
    down = float(np.linalg.norm(run(builder, 1.0).state.body_qd.numpy()[0, 3:]))
    yield near("acceleration down the incline [m/s^2]", 5.0 / 7.0 * GRAVITY * math.sin(a), down, relative=1e-3)
    cfg = ShapeConfig(mu=0.5, mu_rolling=0.01, mu_torsional=0.01)
    twist = run(ball_on_ground(cfg, (0.0, 0.0, -20.0, 2.0, 0.0, 0.0)), 1.0).state.body_qd.numpy()[0]
    yield near("slowing by rolling friction [m/s^2]", 5.0 / 7.0 * 0.1 * GRAVITY, 2.0 - twist[3], relative=5e-3)
    twist = run(ball_on_ground(cfg, (0.0, 50.0, 0.0, 0.0, 0.0, 0.0)), 1.0).state.body_qd.numpy()[0]
    yield near("slowing by torsional friction [rad/s^2]", 2.5 * GRAVITY, 50.0 - twist[1], relative=5e-3)


def hit(
    turn: np.ndarray, half: tuple[float, float, float], e: float
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """A box without weight that flies at 2 m/s down to a plane without friction: its speed up and its angular momentum
    per mass after that, the arm from its centre to what it hits, and its moments of inertia per mass along its axes."""
    builder = ModelBuilder(gravity=0.0)
    cfg = ShapeConfig(mu=0.0, restitution=e)
    builder.add_ground_plane(cfg=cfg)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    arms = rotate(turn, corners)
    lowest = arms[np.argmin(arms[:, 1])]
    body = builder.add_body((0.0, 0.02 - lowest[1], 0.0, *turn), (0.0, 0.0, 0.0, 0.0, -2.0, 0.0))
    builder.add_shape_box(None, *half, cfg=cfg, body=body)
    result = run(builder, 2 * DT)
    moments = np.diag(result.model.body_inertia.numpy()[0]) / result.model.body_mass.numpy()[0]
    near_lowest = arms[arms[:, 1] < lowest[1] + 1e-6]
    twist, q = result.state.body_qd.numpy()[0], result.state.body_q.numpy()[0, 3:]
    momentum = rotate(q, (moments * rotate(inverse(q), twist[None, :3])[0])[None])[0]
    return float(twist[4]), momentum, near_lowest.mean(axis=0), moments


def inverse(q: np.ndarray) -> np.ndarray:
    """The rotation back."""
    return q * [-1.0, -1.0, -1.0, 1.0]


@case("B6", "bodies", "restitution of a ball, and of a box on its edge and its corner")
def restitution() -> Iterator[Measurement]:
    """A ball leaves with e times its speed, and rises to e^2 of the height that it fell. The impulse at a corner, arm
    r, is (1 + e) v / (1/m + (r x n) I^-1 (r x n)), and what the box does then follows (D. E. Stewart 2000)."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_ground_plane(cfg=ShapeConfig(restitution=0.7))
    body = builder.add_body((0.0, 1.1, 0.0, *REST))
    builder.add_shape_sphere(None, 0.1, body=body)
    heights: list[float] = []
    run(builder, 0.95, lambda state: heights.append(float(state.body_q.numpy()[0, 1]) - 0.1))
    fall = math.sqrt(2.0 / GRAVITY)
    yield near("height after the bounce [m]", 0.49, max(heights[round(fall / DT) + 2 :]), relative=0.02)
    half, e, n = (0.3, 0.1, 0.2), 0.5, np.array([0.0, 1.0, 0.0])
    for name, turn in (
        ("edge", np.array([0.0, 0.0, math.sin(0.2), math.cos(0.2)])),
        ("corner", np.array([0.3, 0.1, 0.2, math.sqrt(0.86)])),
    ):
        speed, momentum, arm, moments = hit(turn, half, e)
        torque = np.cross(arm, n)
        own = rotate(inverse(turn), torque[None])[0]
        impulse = (1.0 + e) * 2.0 / (1.0 + float(own @ (own / moments)))
        yield near(f"speed up after a hit on the {name} [m/s]", impulse - 2.0, speed, absolute=1e-6)
        error = float(np.linalg.norm(momentum - impulse * torque))
        yield at_most(f"error of the angular momentum per mass after a hit on the {name} [m^2/s]", 1e-6, error)


@case("B7", "bodies", "Newton's cradle of five balls")
def cradle() -> Iterator[Measurement]:
    """Equal balls in a row, 1 mm apart, e = 1: the last one leaves with the speed of the first, and all others rest."""
    builder = ModelBuilder(gravity=0.0)
    for i in range(5):
        x = 0.201 * i - (0.2 if i == 0 else 0.0)
        body = builder.add_body((x, 0.0, 0.0, *REST), (0.0, 0.0, 0.0, 1.0 if i == 0 else 0.0, 0.0, 0.0))
        builder.add_shape_sphere(None, 0.1, cfg=ShapeConfig(mu=0.0, restitution=1.0), body=body)
    speeds = run(builder, 1.0).state.body_qd.numpy()[:, 3]
    yield near("speed of the last [m/s]", 1.0, speeds[4], absolute=1e-6)
    yield at_most("speed of the others [m/s]", 1e-6, float(np.abs(speeds[:4]).max()))


# ----- stacks -------------------------------------------------------------------------------------


def stack(densities: list[float], seconds: float, **options: int) -> tuple[float, float]:
    """How far [m] boxes of 0.2 m in a stack drift, all and each beside the other from the first second on, and the
    largest speed at the end [m/s]."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_ground_plane()
    for i, density in enumerate(densities):
        body = builder.add_body((0.0, 0.1 + 0.2 * i, 0.0, *REST))
        builder.add_shape_box(None, 0.1, 0.1, 0.1, cfg=ShapeConfig(density=density), body=body)
    first = run(builder, 0.0).state.body_q.numpy()[:, :3]
    end = run(builder, seconds, **options).state
    drift = np.linalg.norm(end.body_q.numpy()[:, :3] - first, axis=1).max()
    return float(drift), float(np.abs(end.body_qd.numpy()).max())


@case("B8", "bodies", "a stack of ten boxes, and heavy on light")
def stacked() -> Iterator[Measurement]:
    """Ten boxes of 0.2 m for 5 s, 10 substeps of 2 iterations: none drifts by more than 1e-3 of a box. And one of 100
    times the mass on a light one, with 4 iterations (with 2 it rests up to 30 times the mass, and not at 100)."""
    drift, speed = stack([1000.0] * 10, 5.0)
    yield at_most("drift of ten boxes in 5 s, per box", 1e-3, drift / 0.2)
    yield at_most("largest speed then [m/s, rad/s]", 1e-6, speed)
    drift, speed = stack([100.0, 10000.0], 5.0, iterations=4)
    yield at_most("drift of 100 times the mass on a box, 4 iterations, per box", 1e-3, drift / 0.2)
    yield at_most("largest speed then [m/s, rad/s]", 1e-6, speed)


@case("B8-60", "bodies", "a stack of ten boxes for a minute", tier=FULL)
def stacked_long() -> Iterator[Measurement]:
    """As B8, for 60 s."""
    drift, speed = stack([1000.0] * 10, 60.0)
    yield at_most("drift of ten boxes in 60 s, per box", 1e-3, drift / 0.2)
    yield at_most("largest speed then [m/s, rad/s]", 1e-6, speed)

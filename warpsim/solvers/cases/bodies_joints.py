"""Joints of rigid bodies against closed forms, statics and an ODE solver: tops, linkages, drives, reactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..scene.builder import ModelBuilder
from ..scene.state import State
from ..validate import Measurement, at_most, case, near

G, DT = 9.81, 1.0 / 60.0
CENTER = (0.0, 0.0, 0.0)


def at(x: float, y: float = 0.0, angle: float = 0.0) -> tuple[float, ...]:
    """A pose in the plane z = 0."""
    return (x, y, 0.0, 0.0, 0.0, float(np.sin(0.5 * angle)), float(np.cos(0.5 * angle)))


def play(
    builder: ModelBuilder, steps: int, measure: Callable[[State], Any], substeps: int = 20, iterations: int = 1
) -> np.ndarray:
    """What is measured at the start and after each step of 1/60 s."""
    model = builder.finalize(device="cpu", dtype=float64)
    solver, state = SolverBodies(model, substeps, iterations), model.state()
    rows = [np.array(measure(state))]
    for _ in range(steps):
        solver.step(state, state, None, None, DT)
        rows.append(np.array(measure(state)))
    return np.array(rows)


def angles_of(state: State) -> np.ndarray:
    """Of all bodies, about z [rad]."""
    q = state.body_q.numpy()
    angles: np.ndarray = 2.0 * np.arctan2(q[:, 5], q[:, 6])
    return angles


def add_link(builder: ModelBuilder, tail: np.ndarray, tip: np.ndarray, mass: float = 1.0, **motion: Any) -> int:
    """A thin rod in the plane z = 0, its x axis from one end to the other."""
    along, middle = tip - tail, 0.5 * (tail + tip)
    inertia = mass * float(along @ along) / 12.0
    pose = at(middle[0], middle[1], float(np.arctan2(along[1], along[0])))
    return builder.add_body(pose, mass=mass, com=CENTER, inertia=(0.01 * inertia, inertia, inertia), **motion)


# ----- a top --------------------------------------------------------------------------------------


@case("B2", "bodies", "fast top on a ball joint: precession")
def top() -> Iterator[Measurement]:
    """A disc on a weightless stick, its axis level, started at its precession: M g l / (I3 w3), which is exact there.
    The axis stays level. 20 substeps of 1/60 s, 1 iteration."""
    mass, arm, spin, radius = 1.0, 0.3, 100.0, 0.2
    axial = 0.5 * mass * radius**2
    rate = mass * G * arm / (axial * spin)
    builder = ModelBuilder(up_axis="Z", gravity=-G)
    twist = (spin, 0.0, rate, 0.0, rate * arm, 0.0)
    builder.add_body(at(arm), qd=twist, mass=mass, com=CENTER, inertia=(axial, 0.5 * axial, 0.5 * axial))
    builder.add_joint_ball(-1, 0, at(0.0))
    path = play(builder, 240, lambda state: state.body_q.numpy()[0, :3])
    turned = np.unwrap(np.arctan2(path[:, 1], path[:, 0]))
    yield near("precession [rad/s]", rate, (turned[-1] - turned[0]) / (240 * DT), relative=0.01)
    yield at_most("largest angle of the axis from level [rad]", 0.01, np.abs(np.arcsin(path[:, 2] / arm)).max())
    yield at_most("largest error of the arm [m]", 1e-6, np.abs(np.linalg.norm(path, axis=1) - arm).max())


# ----- pendulums ----------------------------------------------------------------------------------


def exact(slope: Callable[[float, np.ndarray], Any], start: list[float], steps: int) -> np.ndarray:
    """An ODE at the times of steps, to 1e-11."""
    times = np.arange(steps + 1) * DT
    solution = solve_ivp(slope, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12)
    return np.asarray(solution.y.T)


def pendulum_angles(amplitude: float, substeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Of a rod of 1 m on a hinge at its end, and by the ODE, for ten periods."""
    period = 2.0 * np.pi * np.sqrt(2.0 / (3.0 * G)) * (1.0 + amplitude**2 / 16.0 + 11.0 * amplitude**4 / 3072.0)
    steps = int(10.0 * period / DT) + 1
    builder = ModelBuilder(gravity=-G)
    add_link(builder, np.zeros(2), np.array([np.sin(amplitude), -np.cos(amplitude)]))
    builder.add_joint_revolute(-1, 0, at(0.0))
    angles = play(builder, steps, angles_of, substeps)[:, 0] + 0.5 * np.pi
    expected = exact(lambda t, y: (y[1], -1.5 * G * np.sin(y[0])), [amplitude, 0.0], steps)
    return angles, expected[:, 0]


def double_slope(t: float, y: np.ndarray) -> tuple[float, ...]:
    """Two equal thin rods of 1 m, hung from each other; angles from the vertical, then their rates."""
    a, b, va, vb = y
    c, s = np.cos(a - b), np.sin(a - b)
    mass = np.array([[4.0 / 3.0, 0.5 * c], [0.5 * c, 1.0 / 3.0]])
    force = np.array([-0.5 * s * vb**2 - 1.5 * G * np.sin(a), 0.5 * s * va**2 - 0.5 * G * np.sin(b)])
    return (va, vb, *np.linalg.solve(mass, force))


def double_angles(amplitudes: tuple[float, float], steps: int, substeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Of both rods, and by the ODE."""
    ends = np.cumsum([np.zeros(2), *(np.array([np.sin(a), -np.cos(a)]) for a in amplitudes)], axis=0)
    builder = ModelBuilder(gravity=-G)
    for k in range(2):
        add_link(builder, ends[k], ends[k + 1])
        builder.add_joint_revolute(k - 1, k, child_xform=at(-0.5))
    angles = play(builder, steps, angles_of, substeps) + 0.5 * np.pi
    return angles, exact(double_slope, [*amplitudes, 0.0, 0.0], steps)[:, :2]


@case("B3", "bodies", "physical and double pendulum against an ODE solver")
def pendulums() -> Iterator[Measurement]:
    """Rods of 1 m on hinges, for ten periods of the slowest swing, against DOP853 at 1e-12: angles, relative to the
    amplitude. Small swings, and large ones that are not yet chaotic. 20 substeps of 1/60 s; 1 iteration."""
    for degrees in (5.0, 90.0):
        amplitude = np.radians(degrees)
        angles, expected = pendulum_angles(amplitude, 20)
        error = np.abs(angles - expected).max() / amplitude
        yield at_most(f"pendulum from {degrees:g} degrees, largest error", 1e-3, error)
    for degrees in (5.0, 30.0):
        amplitude = np.radians(degrees)
        angles, expected = double_angles((amplitude, amplitude), 1150, 20)
        error = np.abs(angles - expected).max() / amplitude
        yield at_most(f"double pendulum from {degrees:g} degrees, largest error", 1e-3, error)
    errors = [np.abs(np.subtract(*pendulum_angles(np.radians(90.0), n))).max() for n in (5, 10)]
    yield near("order of the error in the substep", 2.0, np.log2(errors[0] / errors[1]), absolute=0.1)


# ----- linkages -----------------------------------------------------------------------------------


def circles_meet(a: np.ndarray, b: np.ndarray, ra: float, rb: float) -> np.ndarray:
    """The point at distances from two others that lies to the left of the way from a to b."""
    d = b - a
    gap = float(np.hypot(*d))
    along = (ra**2 - rb**2 + gap**2) / (2.0 * gap)
    meeting: np.ndarray = a + d * (along / gap) + np.array([-d[1], d[0]]) * (np.sqrt(ra**2 - along**2) / gap)
    return meeting


@case("B9", "bodies", "four-bar linkage and slider-crank against closed forms")
def linkages() -> Iterator[Measurement]:
    """Closed loops of hinges, each with three equations more than it has freedoms, turned twice by a motor: angles and
    places that follow from that of the crank. 20 substeps of 1/60 s, 1 iteration."""
    ground, lengths, speed = 4.0, (1.0, 3.5, 3.0), 2.0 * np.pi
    a, d = np.zeros(2), np.array([ground, 0.0])
    b = np.array([np.cos(0.7), np.sin(0.7)])
    c = circles_meet(b, d, lengths[1], lengths[2])
    builder = ModelBuilder(gravity=-G)
    for tail, tip in ((a, b), (b, c), (d, c)):
        add_link(builder, tail, tip)
    builder.add_joint_revolute(-1, 0, at(0.0), target_velocity=speed, target_kd=1e5)
    builder.add_joint_revolute(0, 1, at(0.5))
    builder.add_joint_revolute(1, 2, at(1.75))
    builder.add_joint_revolute(-1, 2, at(ground))
    angles = play(builder, 120, angles_of)
    errors = []
    for crank, coupler, rocker in angles:
        b = np.array([np.cos(crank), np.sin(crank)])
        c = circles_meet(b, d, lengths[1], lengths[2])
        for angle, way in ((coupler, c - b), (rocker, c - d)):
            errors.append(abs(np.exp(1j * angle) - (way[0] + 1j * way[1]) / np.hypot(*way)))
    yield at_most("four-bar linkage, largest error of an angle [rad]", 1e-5, max(errors))
    yield near("turns of the crank", 2.0, (np.unwrap(angles[:, 0])[-1] - angles[0, 0]) / (2.0 * np.pi), absolute=1e-3)
    builder = ModelBuilder(gravity=-G)
    crank_pin = np.array([np.cos(0.5), np.sin(0.5)])
    slider = np.array([np.cos(0.5) + np.sqrt(9.0 - np.sin(0.5) ** 2), 0.0])
    add_link(builder, np.zeros(2), crank_pin)
    add_link(builder, crank_pin, slider)
    builder.add_body(at(slider[0]), mass=1.0, com=CENTER, inertia=(0.1, 0.1, 0.1))
    builder.add_joint_revolute(-1, 0, at(0.0), target_velocity=speed, target_kd=1e5)
    builder.add_joint_revolute(0, 1, at(0.5))
    builder.add_joint_revolute(1, 2, at(1.5))
    builder.add_joint_prismatic(-1, 2, at(0.0), axis=(1.0, 0.0, 0.0), child_xform=at(0.0))
    rows = play(builder, 120, lambda state: [angles_of(state)[0], *state.body_q.numpy()[2, :3]])
    closed = np.cos(rows[:, 0]) + np.sqrt(9.0 - np.sin(rows[:, 0]) ** 2)
    yield at_most("slider-crank, largest error of the slider [m]", 1e-5, np.abs(rows[:, 1] - closed).max())
    yield at_most("slider-crank, farthest from its rail [m]", 1e-6, np.abs(rows[:, 2:]).max())


# ----- drives -------------------------------------------------------------------------------------


def oscillation(ke: float, kd: float, steps: int) -> np.ndarray:
    """Angles of a flywheel of 0.5 kg m^2 on a spring, turned by 1 rad and let go."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_body(at(0.0), mass=1.0, com=CENTER, inertia=(0.5, 0.5, 0.5))
    builder.add_joint_revolute(-1, 0, at(0.0), child_xform=at(0.0), target=1.0, target_ke=ke, target_kd=kd)
    return 1.0 - play(builder, steps, angles_of)[:, 0]


@case("B10", "bodies", "spring drive and motor against the damped oscillator")
def drives() -> Iterator[Measurement]:
    """A flywheel on a drive of 1 Hz, of damping ratios 0, 0.1 and 1, for ten periods: largest error, relative to the
    amplitude. A motor, which is a damper: exp(-kd t / I). 20 substeps of 1/60 s, 1 iteration."""
    inertia, omega = 0.5, 2.0 * np.pi
    ke, t = inertia * omega**2, np.arange(601) * DT
    for ratio in (0.0, 0.1, 1.0):
        damped = omega * np.sqrt(max(1.0 - ratio**2, 1e-14))
        wave = np.cos(damped * t) + ratio * omega * np.sin(damped * t) / damped
        error = np.abs(oscillation(ke, 2.0 * ratio * inertia * omega, 600) - np.exp(-ratio * omega * t) * wave).max()
        yield at_most(f"spring with damping ratio {ratio:g}, largest error", 0.01, error)
    builder = ModelBuilder(gravity=0.0)
    builder.add_body(at(0.0), mass=1.0, com=CENTER, inertia=(0.5, 0.5, 0.5))
    builder.add_joint_revolute(-1, 0, at(0.0), target_velocity=10.0, target_kd=2.5)
    speeds = play(builder, 60, lambda state: state.body_qd.numpy()[0, 2])
    expected = 10.0 * (1.0 - np.exp(-5.0 * t[:61]))
    yield at_most("motor, largest error of the speed per its target", 0.01, np.abs(speeds - expected).max() / 10.0)


# ----- reactions ----------------------------------------------------------------------------------


@case("B12", "bodies", "reactions of a cantilever of ten welded links")
def cantilever() -> Iterator[Measurement]:
    """Links of 1 kg and 0.2 m: each joint bears the weight of what is beyond it, and its moment w x^2 / 2, with w the
    weight of a length and x how much of it there is. 20 substeps of 1/60 s, 1 iteration, after 1 s."""
    builder = ModelBuilder(gravity=-G)
    for k in range(10):
        add_link(builder, np.array([0.2 * k, 0.0]), np.array([0.2 * (k + 1), 0.0]))
        builder.add_joint_fixed(k - 1, k, child_xform=at(-0.1))
    rows = play(builder, 60, lambda state: [state.joint_f.numpy(), state.body_q.numpy()[:, [1] * 6]])
    beyond = 10.0 - np.arange(10)
    force, moment = rows[-1, 0][:, 4], rows[-1, 0][:, 2]
    yield near("shear force at the wall [N]", 10.0 * G, force[0], relative=1e-6)
    yield near("bending moment at the wall [N m]", 10.0 * G * 1.0, moment[0], relative=1e-6)
    yield at_most("largest error of a force, relative", 1e-6, np.abs(force / (beyond * G) - 1.0).max())
    yield at_most("largest error of a moment, relative", 1e-6, np.abs(moment / (0.1 * beyond**2 * G) - 1.0).max())
    yield at_most("sag of the tip [m]", 1e-9, np.abs(rows[-1, 1]).max())

"""Throws, bounces and flights of XPBD: optima and derivatives that are known, through every substep of a flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from ...core.language import array, dot, float32, float64, kernel, launch, zeros
from ...core.runtime.rollout.checkpoint import checkpoint
from ...core.runtime.tape.tape import Tape
from ...optim import LBFGS
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import FULL, Measurement, at_least, at_most, case, near
from ..xpbd.solver import SolverXPBD

GRAVITY, FPS = 9.81, 60
START, TARGET = np.array([0.0, -0.5, 1.0]), np.array([0.0, -2.0, 1.5])  # z is up [m]


@kernel
def miss(q: array(dtype=Any), share: Any, target: array(dtype=Any), loss: array(dtype=Any)):
    """The squared distance of the middle of all particles from a target [m^2]; share: 1 / their number."""
    middle = q[0] * 0.0
    for i in range(q.shape[0]):
        middle = middle + share * q[i]
    loss[0] = dot(middle - target[0], middle - target[0])


class Flight:
    """A scene from its initial state on, in states of their own, and how far its middle is from a target at the end."""

    def __init__(
        self,
        builder: ModelBuilder,
        frames: int,
        substeps: int,
        target: Sequence[float],
        dtype: Any = float64,
        fps: int = FPS,
    ):
        self.model = builder.finalize("cpu", requires_grad=True, dtype=dtype)
        self.solver, self.control = SolverXPBD(self.model, substeps), self.model.control()
        self.states = [self.model.state() for _ in range(frames + 1)]
        self.dt, self.h, self.time = 1.0 / fps, 1.0 / (fps * substeps), frames / fps
        self.target = array([target], dtype=self.model.vec3)
        self.loss = zeros(1, dtype, "cpu", requires_grad=True)

    def fly(self) -> float:
        """The loss [m^2]."""
        for before, after in zip(self.states, self.states[1:], strict=False):
            self.solver.step(before, after, self.control, None, self.dt)
        share = self.model.dtype(1.0 / self.model.particle_count)
        launch(miss, 1, [self.states[-1].particle_q, share, self.target, self.loss], device="cpu")
        return float(self.loss.numpy()[0])

    def closure(self) -> float:
        """The loss, with gradients in every array."""
        with Tape() as tape:
            loss = self.fly()
        tape.backward(self.loss)
        return loss

    def middle(self) -> np.ndarray:
        """Where the middle of all particles ends [m]."""
        return self.states[-1].particle_q.numpy().astype(float).mean(axis=0)

    def derivative(self, axis: int, *inputs: Any) -> list[np.ndarray]:
        """Gradients by some arrays of one coordinate of the middle at the end."""
        with Tape() as tape:
            self.fly()
        weight = np.zeros((self.model.particle_count, 3))
        weight[:, axis] = 1.0 / len(weight)
        tape.backward(grads={self.states[-1].particle_q: array(weight, dtype=self.model.vec3)})
        return [a.grad.numpy().copy() for a in inputs]


def ball(velocity: Sequence[float], room: bool = False) -> ModelBuilder:
    """A particle at `START`, with a floor at z = 0 and a wall at y = 1.75 m if there is a room; all elastic."""
    builder = ModelBuilder(up_axis="Z", gravity=-GRAVITY)
    builder.add_particle(START, velocity, 0.1, radius=0.0)
    if room:
        elastic = ShapeConfig(mu=0.0, restitution=1.0)
        builder.add_shape_plane((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), elastic)
        builder.add_shape_plane((0.0, -1.0, 0.0), (0.0, 1.75, 0.0), elastic)
    return builder


@case("T1", "xpbd", "throw at a target")
def projectile() -> Iterator[Measurement]:
    """Semi-implicit Euler throws with (x* - x0 - g T (T + h) / 2) / T; L-BFGS from another throw finds that."""
    for dtype, bound in ((float64, 1e-6), (float32, 1e-3)):
        flight = Flight(ball((0.0, 5.0, -5.0)), 36, 8, TARGET, dtype)
        throw = flight.states[0].particle_qd
        fit = LBFGS([throw], tolerance_grad=0.1 * bound).minimize(flight.closure, 20)
        flight.fly()
        distance = np.linalg.norm(flight.middle() - TARGET)
        yield at_most(f"distance from the target, {dtype.__name__} [m]", bound, distance)
        yield at_most(f"evaluations, {dtype.__name__}", 10, fit.evaluations, expected=4)
        if dtype is float64:
            fall = 0.5 * flight.time * (flight.time + flight.h) * np.array([0.0, 0.0, -GRAVITY])
            exact = (TARGET - START - fall) / flight.time
            yield near("vertical velocity of the throw [m/s]", exact[2], throw.numpy()[0, 2], absolute=1e-5)


@case("T2", "xpbd", "throw over floor and wall")
def bounces() -> Iterator[Measurement]:
    """An elastic ball bounces off the floor, then off a wall, and by parabolas ends at (0.982, 1.970) m. L-BFGS on its
    velocity brings it to the target; the gradient at the start against central differences."""
    velocity = np.array([0.0, 5.03, -5.02])
    flight = Flight(ball(velocity, room=True), 36, 8, TARGET)
    throw = flight.states[0].particle_qd
    yield near("loss at the start [m^2]", 9.113, flight.closure(), relative=0.02)
    gradient, eps = throw.grad.numpy()[0].copy(), 1e-6
    differences = np.zeros(3)
    for axis in range(3):
        sides = []
        for side in (1.0, -1.0):
            throw.assign([velocity + side * eps * np.eye(3)[axis]])
            sides.append(flight.fly())
        differences[axis] = (sides[0] - sides[1]) / (2.0 * eps)
    throw.assign([velocity])
    error = np.linalg.norm(gradient - differences) / np.linalg.norm(differences)
    yield at_most("error of the gradient, relative", 1e-6, error)
    fit = LBFGS([throw]).minimize(flight.closure, 50)
    flight.fly()
    yield at_most("distance from the target [m]", 1e-3, np.linalg.norm(flight.middle() - TARGET))
    yield at_most("evaluations", 60, fit.evaluations)


def wall() -> Flight:
    """A particle that meets a wall at x = 0 and comes back, without gravity."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.5003, 0.0, 0.0), (-1.0, 0.0, 0.0), radius=0.0)
    builder.add_shape_plane((1.0, 0.0, 0.0), cfg=ShapeConfig(mu=0.0, restitution=1.0))
    return Flight(builder, 60, 10, (0.0, 0.0, 0.0))


def drop() -> Flight:
    """A particle dropped from 1 m that has bounced once after 0.6 s; substeps of 0.1 ms."""
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 1.0, 0.0), radius=0.0)
    builder.add_ground_plane(cfg=ShapeConfig(restitution=0.8))
    return Flight(builder, 30, 200, (0.0, 0.0, 0.0), fps=50)


@case("T3", "xpbd", "derivatives through an impact")
def impact() -> Iterator[Measurement]:
    """Off an elastic wall dx/dx0 = dx/dv0 = -1 where a solver without the time of impact has +1 and 0. Dropped from
    h0 = 1 m with e = 0.8, at T = 0.6 s: x and its derivatives by height, restitution and gravity in closed form."""
    flight = wall()
    first = flight.states[0]
    by_x, by_v = (g[0, 0] for g in flight.derivative(0, first.particle_q, first.particle_qd))
    yield near("wall: dx/dx0", -1.0, by_x, absolute=1e-3)
    yield near("wall: dx/dv0 [s]", -1.0, by_v, absolute=1e-3)
    flight = drop()
    by_h, by_e, by_g = flight.derivative(
        1, flight.states[0].particle_q, flight.model.shape_restitution, flight.control.gravity
    )
    yield near("drop: height at 0.6 s [m]", 0.418003, flight.middle()[1], absolute=1e-3)
    yield near("drop: dx/dh0", -0.208099, by_h[0, 1], absolute=1e-3)
    yield near("drop: dx/de [m]", 0.657668, by_e[0], absolute=1e-3)
    yield near("drop: dx/dg [s^2]", 0.063823, -by_g[0, 1], absolute=1e-3)


def sheet(cells: int, side: float, velocity: Sequence[float], stiffness: float) -> ModelBuilder:
    """A lying square of cloth of 0.2 kg around the origin."""
    builder, lying = ModelBuilder(gravity=-GRAVITY), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    corner, mass = (-side / 2, 0.0, -side / 2), 0.2 / (cells + 1) ** 2
    builder.add_cloth_grid(
        corner, lying, velocity, cells, cells, side / cells, side / cells, mass, spring_ke=stiffness, edge_ke=1e-3
    )
    return builder


@case("T4", "xpbd", "Taylor test of a cloth on a sphere")
def taylor() -> Iterator[Measurement]:
    """|J(x + e d) - J(x) - e grad J . d| falls with e^2, through contact with friction."""
    builder = sheet(7, 0.7, (0.3, -1.0, 0.0), 500.0)
    builder.particles["q"][:, 1] += 0.325
    builder.particles["q"][:, 0] += 0.013  # no particle is right above the middle
    builder.add_shape_sphere(None, 0.3, ShapeConfig(mu=0.2))
    flight = Flight(builder, 6, 2, (0.1, 0.2, -0.3))
    base, q, rng = flight.closure(), flight.states[0].particle_q, np.random.default_rng(4)
    before, direction = q.numpy().copy(), rng.normal(size=q.numpy().shape)
    slope, left = float((q.grad.numpy() * direction).sum()), []
    for eps in 1e-4 * 0.5 ** np.arange(5):
        q.assign(before + eps * direction)
        left.append(abs(flight.fly() - base - eps * slope))
    orders = np.log2(np.array(left[:-1]) / np.array(left[1:]))
    yield near("lowest order of what the gradient leaves", 2.0, orders.min(), absolute=0.1)
    yield near("highest order", 2.0, orders.max(), absolute=0.1)


@case("T5", "xpbd", "throw of a cloth", tier=FULL)
def cloth_throw() -> Iterator[Measurement]:
    """The middle of 16 x 16 particles of cloth, thrown so that it spins and bends, flies like a stone: L-BFGS through
    1920 substeps finds the momentum of T1. Velocities of all particles are free, yet only their mean matters."""
    builder, target = sheet(15, 1.0, (1.0, 3.0, 0.5), 500.0), np.array([0.0, 8.0, 0.0])
    builder.particles["qd"][:] += np.cross([0.3, 0.5, 1.0], builder.particles["q"])
    flight = Flight(builder, 120, 16, target)
    throw = flight.states[0].particle_qd
    before = flight.closure()
    fit = LBFGS([throw], tolerance_grad=1e-9).minimize(flight.closure, 20)
    left = flight.fly()
    fall = 0.5 * flight.time * (flight.time + flight.h) * np.array([0.0, -GRAVITY, 0.0])
    error = throw.numpy().mean(axis=0) - (target - fall) / flight.time
    yield at_most("distance from the target [m]", 1e-2, np.linalg.norm(flight.middle() - target))
    yield at_most("loss per that at the start", 1e-4, left / before)
    yield at_most("error of the mean velocity of the throw [m/s]", 1e-3, np.linalg.norm(error))
    yield at_most("evaluations", 20, fit.evaluations)


def gradient_of_long_flight(checkpointed: bool) -> tuple[np.ndarray, Any]:
    """By the initial velocities of a falling sheet, after 1024 steps; the report of the checkpoints."""
    builder = sheet(3, 0.3, (0.3, 2.0, 0.0), 200.0)
    builder.add_ground_plane(-1.0, ShapeConfig(mu=0.3))
    model = builder.finalize("cpu", requires_grad=True, dtype=float64)
    solver, control, first, state = SolverXPBD(model, substeps=1), model.control(), model.state(), model.state()
    loss, target = zeros(1, float64, "cpu", requires_grad=True), array([[1.0, 0.0, 0.0]], dtype=model.vec3)
    report = None

    def step(k: int) -> None:
        solver.step(state, state, control, None, 1.0 / 600.0)

    with Tape() as tape:
        state.assign(first)
        if checkpointed:
            report = checkpoint(step, list(state.arrays.values()), 1024, scratch=solver.scratch)
        else:
            for k in range(1024):
                step(k)
        launch(miss, 1, [state.particle_q, float64(1.0 / 16.0), target, loss], device="cpu")
    tape.backward(loss)
    return first.particle_qd.grad.numpy().copy(), report


@case("T6", "xpbd", "rest lengths that hold a mass at a target", tier=FULL)
def spring_cage() -> Iterator[Measurement]:
    """A mass on eight damped springs to the corners of a cube comes to rest where their rest lengths let it; L-BFGS
    through 500 substeps finds rest lengths that hold it at a target. At the end it must also stand still."""
    target, corners = np.array([0.15, 0.1, -0.1]), np.array(list(product((-1.0, 1.0), repeat=3)))
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, 0.0, 0.0), mass=0.5)
    held = builder.add_particles(corners, mass=0.0)
    builder.add_springs([[0, k] for k in held], 40.0)
    share = len(corners) + 1  # the corners stay, so the middle of all moves by a ninth
    flight = Flight(builder, 50, 10, target / share, fps=10)
    flight.solver.damping = flight.model.dtype(4.0)
    rest = flight.model.spring_rest_length
    fit = LBFGS([rest], tolerance_grad=1e-9).minimize(flight.closure, 30)
    flight.fly()
    end = flight.states[-1]
    yield at_most("distance from the target [m]", 1e-3, np.linalg.norm(end.particle_q.numpy()[0] - target))
    yield at_most("speed at the end [m/s]", 1e-3, np.linalg.norm(end.particle_qd.numpy()[0]))
    yield at_most("iterations", 30, fit.iterations)
    yield at_least("smallest rest length [m]", 0.1, rest.numpy().min())


@case("T9", "xpbd", "checkpoints of a long flight")
def checkpoints() -> Iterator[Measurement]:
    """The gradient of 1024 steps that keeps few states and runs steps again is that of a full tape, bit for bit."""
    (full, _), (checkpointed, report) = gradient_of_long_flight(False), gradient_of_long_flight(True)
    yield at_most("largest difference of the gradients", 0.0, np.abs(full - checkpointed).max())
    yield at_least("largest component of the gradient", 1e-3, np.abs(full).max())
    yield at_most("states kept", 70, report.slots)
    yield at_most("times that a step is run", 2.1, (2 * 1024 + report.replayed) / 1024, expected=2.0)

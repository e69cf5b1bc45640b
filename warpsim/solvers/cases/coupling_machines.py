"""Bodies that matter holds and turns: a ball in a cloth, a wheel under grains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.language import float64
from ..bodies.solver import SolverBodies
from ..coupling.coupling import Coupling
from ..dem.materials import Material
from ..dem.solver import SolverDEM
from ..scene.builder import ModelBuilder
from ..scene.shape_builder import ShapeConfig
from ..validate import Measurement, at_most, case, near
from ..xpbd.solver import SolverXPBD
from .coupling import FLAT, GRAVITY, REST, lattice

CELLS, SIDE = 16, 0.6  # of the cloth, and how long it is [m]
AXLE, BRAKE = 0.12, 0.02  # how far paddles reach from it [m], its brake [N m s]


# ----- a cloth catches a ball ---------------------------------------------------------------------


def caught_ball() -> Coupling:
    """A cloth whose corners four obstacles hold, and a ball that falls into it."""
    bodies, builder = ModelBuilder(gravity=-GRAVITY), ModelBuilder(gravity=-GRAVITY)
    ball = bodies.add_body((0.01, 0.1, 0.02, *REST))
    bodies.add_shape_sphere(None, 0.08, ShapeConfig(mu=0.5, density=400.0), body=ball)
    builder.add_bodies(bodies)
    start = (-0.5 * SIDE, 0.0, -0.5 * SIDE)
    cell = SIDE / CELLS
    builder.add_cloth_grid(start, FLAT, 0.0, CELLS, CELLS, cell, cell, 0.001, spring_ke=2000.0, spring_kd=1.0)
    row = CELLS + 1
    for corner in (0, CELLS, CELLS * row, CELLS * row + CELLS):
        at = builder.particles["q"][corner]
        post = builder.add_shape_sphere((*(1.5 * at), *REST), 0.01)
        builder.add_attachment(corner, -0.5 * at, shape=post)
    one, other = (b.finalize("cpu", dtype=float64) for b in (bodies, builder))
    return Coupling(SolverBodies(one, 1), [SolverXPBD(other, 20, damping=5.0, shape_forces=True)])


@case("C4", "coupling", "a cloth catches a ball: tension at the pins")
def tension() -> Iterator[Measurement]:
    """What obstacles feel that hold the corners of a cloth sums to the weight of cloth and ball, once these rest, and
    has no part across."""
    coupling = caught_ball()
    states, pulls = coupling.states(), []
    for k in range(1200):
        coupling.step(states, states, dt=1.0 / 120.0)
        if k >= 960:
            pulls.append(coupling.matter[0].shape_force.numpy()[1:, 3:].sum(axis=0))
    ball, cloth = coupling.bodies.model.body_mass.numpy().sum(), coupling.matter[0].model.particle_mass.numpy().sum()
    pull = np.mean(pulls, axis=0)
    yield near("force on the pins [N]", (ball + cloth) * GRAVITY, -float(pull[1]), relative=0.01)
    yield at_most("force across [N]", 0.1, float(np.hypot(pull[0], pull[2])))
    yield at_most("speed of the ball then [m/s]", 0.05, float(np.abs(states[0].body_qd.numpy()[0, 3:]).max()))


# ----- a wheel under grains -----------------------------------------------------------------------


def grain_wheel() -> Coupling:
    """A wheel of four paddles with a brake, over which a block of grains falls."""
    bodies, builder = ModelBuilder(gravity=-GRAVITY), ModelBuilder(gravity=-GRAVITY)
    wheel, wood = bodies.add_body(), ShapeConfig(mu=0.3, density=500.0)
    for k in range(2):
        turn = (0.0, 0.0, np.sin(0.25 * np.pi * k), np.cos(0.25 * np.pi * k))
        bodies.add_shape_box((0.0, 0.0, 0.0, *turn), AXLE, 0.008, 0.06, wood, body=wheel)
    bodies.add_joint_revolute(-1, wheel, target_kd=BRAKE)
    builder.add_bodies(bodies)
    builder.add_particles(lattice(6, 0.0165) + np.array([0.06, 0.03, 0.0]), (0.0, -0.5, 0.0), 0.002, 0.008)
    one, other = (b.finalize("cpu", dtype=float64) for b in (bodies, builder))
    grains = SolverDEM(other, Material(youngs_modulus=1.0e6, restitution=0.3, friction=0.4), substeps=20)
    return Coupling(SolverBodies(one, 2), [grains])


@case("C6", "coupling", "wheel under grains: torque")
def wheel() -> Iterator[Measurement]:
    """Grains that fall over a wheel lose as much angular momentum about its axle, beside what gravity gives them, as
    the torque on the wheel sums to; and that is what its brake takes and what it has in the end."""
    coupling, dt = grain_wheel(), 1.0 / 1000.0
    states, grains = coupling.states(), coupling.matter[0].model
    mass, spin = grains.particle_mass.numpy(), 0.4 * grains.particle_mass.numpy() * grains.particle_radius.numpy() ** 2
    inertia = coupling.bodies.model.body_inertia.numpy()[0, 2, 2]

    def momentum() -> float:
        x, v = states[1].particle_q.numpy(), states[1].particle_qd.numpy()
        turning = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]
        return float((mass * turning).sum() + (spin * states[1].particle_w.numpy()[:, 2]).sum())

    before, pulled, felt, braked = momentum(), 0.0, 0.0, 0.0
    for _ in range(400):
        arm = states[1].particle_q.numpy()[:, 0] + 0.5 * dt * states[1].particle_qd.numpy()[:, 0]
        pulled -= dt * GRAVITY * float((mass * arm).sum())
        speed = states[0].body_qd.numpy()[0, 2]
        coupling.step(states, states, dt=dt)
        felt += dt * float(coupling.force.numpy()[0, 2])
        braked += dt * BRAKE * 0.5 * float(speed + states[0].body_qd.numpy()[0, 2])
    lost = before + pulled - momentum()
    yield near("torque on the wheel, summed over 0.4 s [N m s]", lost, felt, relative=0.01)
    own = inertia * float(states[0].body_qd.numpy()[0, 2])
    yield near("taken by the brake and by the wheel [N m s]", felt, braked + own, relative=0.01)

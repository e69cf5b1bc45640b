"""Particles of XPBD that slide without friction on what is round: they keep their energy, at any step."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

G = 9.81
AT = (0, 0, 0, 0, 0, 0, 1)

ROUND = {
    "hollow sphere": lambda b, cfg: b.add_shape_sphere(AT, 1.0, cfg, hollow=True),
    "hollow cylinder": lambda b, cfg: b.add_shape_cylinder(AT, 1.0, 3.0, cfg, hollow=True),
    "hollow capsule": lambda b, cfg: b.add_shape_capsule(AT, 1.0, 0.5, cfg, hollow=True),
}


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("substeps", [60, 300, 1200])
@pytest.mark.parametrize("name", ROUND)
def test_what_slides_smoothly_round_a_vessel_keeps_its_speed(name, substeps, restitution):
    """At any step, for one second of 0.12 rad to 0.006 rad per substep; half of the energy was lost at 60."""
    builder, pace = ModelBuilder(gravity=0.0), np.array([0.5, -2.0, 1.0])
    builder.add_particle((0, -1, 0), np.array([7.5, 0, 0]) + pace, 1.0, 0.0)
    ROUND[name](builder, ShapeConfig(mu=0.0, restitution=restitution))
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, control = SolverXPBD(model, substeps=substeps // 60), model.state(), model.control()
    control.set_shape(0, velocity=pace, angular_velocity=(0, 0, 9))  # smooth: it does not feel that this turns
    speeds = []
    for _ in range(60):
        solver.step(state, state, control, None, 1.0 / 60.0)
        control.advance(1.0 / 60.0)
        speeds.append(np.linalg.norm(state.particle_qd.numpy()[0] - pace))
    first = 1.5 * (7.5 / substeps) ** 2  # of a start along the tangent
    assert max(speeds) < 7.5 + 1e-9 and min(speeds) > 7.5 * (1.0 - first)


@pytest.mark.parametrize("angle", [0.5, 1.0, 1.4])
@pytest.mark.parametrize("substeps", [2, 10, 40])
def test_a_bead_in_a_smooth_bowl_stays_on_its_circle(angle, substeps):
    """v^2 = g R sin tan: for four seconds, where it came down by up to a seventh of the radius."""
    builder, speed = ModelBuilder(gravity=-G), np.sqrt(G * np.sin(angle) * np.tan(angle))
    builder.add_particle((np.sin(angle), -np.cos(angle), 0), (0, 0, -speed), 1.0, 0.0)
    ROUND["hollow sphere"](builder, ShapeConfig(mu=0.0))
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state = SolverXPBD(model, substeps=substeps), model.state()
    energies = []
    for _ in range(240):
        solver.step(state, state, None, None, 1.0 / 60.0)
        q, v = state.particle_q.numpy()[0], state.particle_qd.numpy()[0]
        energies.append(0.5 * v @ v + G * q[1])
    once, step = 0.5 * speed**2 - G * np.cos(angle), speed / (60.0 * substeps * np.sin(angle))
    assert np.abs(np.array(energies) - once).max() < 0.5 * step * 0.5 * speed**2 * max(step, 0.01) * 4.0
    assert abs(np.arccos(-q[1]) - angle) < 0.2 * step + 1e-3


def test_what_drops_into_a_smooth_bowl_gains_nothing():
    """Landing beside the middle, at every height: energy only falls, by the impact, and stays after it."""
    rng, builder = np.random.default_rng(3), ModelBuilder(gravity=-G)
    places = np.stack([rng.uniform(-0.8, 0.8, 40), rng.uniform(-0.5, 0.3, 40), rng.uniform(-0.3, 0.3, 40)], axis=1)
    builder.add_particles(places, rng.normal(size=(40, 3)), 1.0, 0.02)
    ROUND["hollow sphere"](builder, ShapeConfig(mu=0.0, restitution=0.3))
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, last = SolverXPBD(model), model.state(), np.inf
    for _ in range(300):
        solver.step(state, state, None, None, 1.0 / 60.0)
        q, v = state.particle_q.numpy(), state.particle_qd.numpy()
        energy = 0.5 * (v**2).sum(axis=1) + G * q[:, 1]
        assert (energy < last + 0.01 * G).all()
        last = energy


@pytest.mark.parametrize("name", ROUND)
def test_gradients_along_what_is_round_are_those_of_central_differences_and_of_second_order(name):
    """By places, velocities, gravity and friction, through twenty substeps in contact."""
    builder, rng = ModelBuilder(gravity=-G), np.random.default_rng(4)
    angle = rng.uniform(-1.0, 1.0, 5)
    places = np.stack([np.sin(angle), -np.cos(angle), 0.0 * angle], axis=1)
    along = np.stack([np.cos(angle), np.sin(angle), 0.1 + 0.0 * angle], axis=1)
    builder.add_particles(1.0001 * places, 6.0 * along, 0.1, 0.0)  # pressed, so that nothing is about to touch
    ROUND[name](builder, ShapeConfig(mu=0.1))
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    solver, start = SolverXPBD(model, substeps=5), model.state(requires_grad=True)
    control, weights = model.control(requires_grad=True), rng.normal(size=(5, 3))

    def value(state):
        wp.copy(state.particle_q, start.particle_q)
        wp.copy(state.particle_qd, start.particle_qd)
        for _ in range(4):
            solver.step(state, state, control, None, 1.0 / 60.0)
        return float((state.particle_q.numpy() * weights).sum())

    after = model.state(requires_grad=True)
    with wp.Tape() as tape:
        value(after)
    tape.backward(grads={after.particle_q: wp.array(weights, dtype=wp.vec3d)})
    inputs = {"q": start.particle_q, "qd": start.particle_qd, "gravity": control.gravity, "mu": model.shape_mu}
    for what, array in inputs.items():
        before, gradient = array.numpy().copy(), array.grad.numpy()
        direction, sides = rng.normal(size=before.shape), {}
        slope = float((gradient * direction).sum())
        for step in (1e-6, -1e-6, 0.0, 1e-3, 5e-4):
            array.assign(before + step * direction)
            sides[step] = value(model.state(requires_grad=True))
        array.assign(before)
        difference = (sides[1e-6] - sides[-1e-6]) / 2e-6
        assert abs(slope - difference) <= 1e-5 * np.abs(gradient * direction).sum() + 1e-7, what
        left = [abs(sides[step] - sides[0.0] - step * slope) for step in (1e-3, 5e-4)]
        assert what == "q" or 1.9 < np.log2(left[0] / left[1]) < 2.1 or left[0] < 1e-9, (what, left)

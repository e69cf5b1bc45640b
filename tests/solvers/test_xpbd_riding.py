"""Particles that are attached to a shape: it is no obstacle to them, all others are."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD

TURNED = (0.0, np.sin(0.2), 0.0, np.cos(0.2))
INSIDE = (0.1, 0.35, -0.1)  # of a box of 0.8 m, nearer to its top than a radius


def box_with_particles(worlds=1):
    """A box that moves. Particles: one that is attached inside of it, one by two attachments, and one that is not."""
    builder = ModelBuilder(gravity=0.0)
    box = builder.add_shape_box((0.0, 0.0, 0.0, *TURNED), 0.4, 0.4, 0.4)
    c, s = np.cos(0.4), np.sin(0.4)
    place = np.array([c * INSIDE[0] + s * INSIDE[2], INSIDE[1], -s * INSIDE[0] + c * INSIDE[2]])
    builder.add_particles([place, place, place], 0.0, 0.1, radius=0.02)
    builder.add_attachment(0, INSIDE, shape=box)
    for target in (np.add(INSIDE, (0.02, 0, 0)), np.subtract(INSIDE, (0.02, 0, 0))):
        builder.add_attachment(1, target, ke=200.0, kd=5.0, shape=box)
    if worlds > 1:
        copies = ModelBuilder(gravity=0.0)
        for _ in range(worlds):
            copies.add_world(builder)
        builder = copies
    return builder, place


@pytest.mark.parametrize("worlds", [1, 2])
def test_shape_is_no_obstacle_to_what_is_attached_to_it(worlds):
    builder, place = box_with_particles(worlds)
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state, control = SolverXPBD(model), model.state(), model.control()
    speed = np.zeros((worlds, 6))
    speed[:, 3] = 0.5
    control.shape_velocity.assign(speed)
    for _ in range(20):
        solver.step(state, state, control, dt=1 / 60)
        control.advance(1 / 60)
    q = state.particle_q.numpy().reshape(worlds, 3, 3)
    q = q - [0.5 * 20 / 60, 0.0, 0.0]
    np.testing.assert_allclose(q[:, 0], np.tile(place, (worlds, 1)), atol=1e-9)
    np.testing.assert_allclose(q[:, 1], np.tile(place, (worlds, 1)), atol=1e-3)
    assert (q[:, 2, 1] > 0.4 + 0.019).all()


def test_other_shapes_stay_obstacles():
    builder = ModelBuilder(gravity=0.0)
    box = builder.add_shape_box((0.0, 0.0, 0.0, 0, 0, 0, 1), 0.4, 0.4, 0.4)
    builder.add_shape_plane((0, 1, 0), (0, 0.5, 0))
    builder.add_particles([(0.0, 0.3, 0.0)], 0.0, 0.1, radius=0.02)
    builder.add_attachment(0, (0, 0.3, 0), ke=10.0, shape=box)
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state = SolverXPBD(model), model.state()
    for _ in range(10):
        solver.step(state, state, dt=1 / 60)
    assert state.particle_q.numpy()[0, 1] == pytest.approx(0.52, abs=1e-3)

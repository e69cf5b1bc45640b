"""Thin blades that turn far in a substep: they sweep particles before them, and let none through or into them."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverXPBD

THICK = 0.002  # half of it, in the length of a blade
ALONG = (0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))
BLADES = {
    "box": lambda b, length, cfg: b.add_shape_box(None, length, THICK * length, 0.5 * length, cfg),
    "capsule": lambda b, length, cfg: b.add_shape_capsule(ALONG, THICK * length, length, cfg),
}


def swept(blade, length, turn, radius, mu):
    """Where the particles are after a quarter turn: above the blade, along it (n,), and which ones it has passed."""
    builder, rng = ModelBuilder(gravity=0.0), np.random.default_rng(3)
    angle, far = rng.uniform(0.3, 1.2, 40), rng.uniform(0.2, 0.6, 40)
    places = np.stack([far * np.cos(angle), far * np.sin(angle), 0.0 * far], axis=1)
    builder.add_particles(length * places, 0.0, 1.0, radius * length)
    shape = BLADES[blade](builder, length, ShapeConfig(mu=mu))
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state, control, h = SolverXPBD(model, substeps=1), model.state(), model.control(), 1.0 / 600.0
    control.set_shape(shape, angular_velocity=(0.0, 0.0, turn / h))
    steps = int(1.3 / turn) + 1
    for _ in range(steps):
        solver.step(state, state, control, None, h)
        control.advance(h)
    q, end = state.particle_q.numpy() / length, steps * turn
    return q @ [-np.sin(end), np.cos(end), 0.0] - THICK - radius, q @ [np.cos(end), np.sin(end), 0.0], angle < end


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("radius", [0.0, 0.004])
@pytest.mark.parametrize("turn", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("length", [1.0e-3, 1.0, 100.0])
@pytest.mark.parametrize("blade", BLADES)
def test_no_particle_is_in_a_turning_blade_or_behind_it(blade, length, turn, radius, mu):
    above, along, passed = swept(blade, length, turn, radius, mu)
    there = passed & (np.abs(along) < 0.98)
    assert there.sum() > 5
    assert above[there].min() > -1.0e-5


def test_a_wheel_does_not_throw_off_what_it_strikes():
    """A face that is a plane in the moment is round: what it leads back comes to lie on the wheel, not above it."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.1, 1.02, 0.0), (0.0, -20.0, 0.0), 1.0, 0.0)
    shape = builder.add_shape_cylinder(None, 1.0, 0.5, ShapeConfig(mu=0.5))
    model = builder.finalize("cpu", dtype=wp.float64)
    solver, state, control, h = SolverXPBD(model, substeps=1), model.state(), model.control(), 1.0 / 600.0
    control.set_shape(shape, angular_velocity=(0.0, 0.0, 0.2 / h))
    solver.step(state, state, control, None, h)
    x, y, _ = state.particle_q.numpy()[0]
    assert abs(np.hypot(x, y) - 1.0) < 1.0e-3

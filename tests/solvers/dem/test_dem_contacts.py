"""What single contacts do, against formulas: cohesion, twisting, and friction that sticks before it slides."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import warpsim as wp
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM

RADIUS, MASS, YOUNG, POISSON = 0.01, 0.01, 1.0e6, 0.25
GRAVITY = 9.81


def resting(material, rolling=None, pull=0.0, spin=0.0, steps=50, cfg=None):
    """Spin of a ball that lies on the floor, and what the floor feels.

    pull: along x, more and more up to this [m g]. spin: about y at first [1/s].
    """
    stiffness = 4.0 / 3.0 * YOUNG / (1.0 - POISSON**2) * math.sqrt(RADIUS)
    depth = (MASS * GRAVITY / stiffness) ** (2.0 / 3.0)
    builder = ModelBuilder(gravity=-GRAVITY)
    builder.add_particle((0.0, RADIUS - depth, 0.0), 0.0, MASS, RADIUS)
    builder.add_ground_plane(cfg=cfg or ShapeConfig(mu=0.5, restitution=0.2))
    model = builder.finalize(dtype=wp.float64)
    solver, state = SolverDEM(model, material, substeps=20, rolling=rolling), model.state()
    state.particle_w.assign([[0.0, spin, 0.0]])
    for k in range(steps):
        state.particle_f.assign([[pull * MASS * GRAVITY * min(k / 40.0, 1.0), 0.0, 0.0]])
        solver.step(state, state, dt=2.0e-3)
    return state.particle_w.numpy()[0], solver.shape_force.numpy()[0]


def test_cohesive_grains_come_to_rest_where_attraction_and_hertz_agree():
    cohesion, builder = 2.0e4, ModelBuilder(gravity=0.0)
    builder.add_particles([(0.0, 0.0, 0.0), (1.99 * RADIUS, 0.0, 0.0)], 0.0, MASS, RADIUS)
    model = builder.finalize(dtype=wp.float64)
    material = Material(YOUNG, POISSON, restitution=0.2, cohesion=cohesion)
    solver, state = SolverDEM(model, material, substeps=50), model.state()
    for _ in range(60):
        solver.step(state, state, dt=2.5e-3)
    young = 0.5 * YOUNG / (1.0 - POISSON**2)

    def excess(d):
        area = math.pi * (RADIUS**2 - (RADIUS - 0.5 * d) ** 2)
        return 4.0 / 3.0 * young * math.sqrt(0.5 * RADIUS) * d**1.5 - cohesion * area

    expected = brentq(excess, 1.0e-6, 0.1 * RADIUS)
    x = state.particle_q.numpy()[:, 0]
    assert 2.0 * RADIUS - (x[1] - x[0]) == pytest.approx(expected, rel=1e-4)
    assert np.abs(state.particle_qd.numpy()).max() < 1e-6


@pytest.mark.parametrize("rolling", ["constant", "spring"])
def test_spin_about_the_normal_is_braked_by_the_torque_of_rolling(rolling):
    friction, spin = 0.05, 20.0
    material = Material(YOUNG, POISSON, rolling_friction=friction)
    braking = friction * RADIUS * MASS * GRAVITY / (0.4 * MASS * RADIUS**2)
    before, after = (resting(material, rolling, spin=spin, steps=steps) for steps in (15, 35))
    assert before[0][1] - after[0][1] == pytest.approx(0.04 * braking, rel=0.01)
    assert after[1][1] == pytest.approx(friction * RADIUS * MASS * GRAVITY, rel=0.01)  # the floor is dragged along
    assert abs(resting(material, rolling, spin=0.2 * spin)[0][1]) < 0.02 * spin  # it stays when it has stopped


def test_nothing_resists_twisting_without_rolling_resistance():
    material = Material(YOUNG, POISSON, rolling_friction=0.05)
    assert resting(material, None, spin=20.0)[0][1] == pytest.approx(20.0)


def test_what_sticks_slides_above_static_friction_and_then_by_the_dynamic_one():
    """A ball that is pulled rolls while friction holds 2/7 of the pull, or slides."""
    grip = ShapeConfig(mu=0.3, mu_static=0.6, restitution=0.2)
    loose = ShapeConfig(mu=0.3, restitution=0.2)
    for cfg, needed, held in ((grip, 0.5, 0.5), (loose, 0.5, 0.3), (grip, 0.7, 0.3)):
        _, force = resting(Material(YOUNG, POISSON), pull=3.5 * needed, cfg=cfg)
        assert force[3] == pytest.approx(MASS * GRAVITY * held, rel=0.05)
        assert force[4] == pytest.approx(-MASS * GRAVITY, rel=1e-3)


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_pairs_of_materials_bounce_as_their_tables_say(pair):
    """The mean of both until another number is written there; stiffness is that of springs in a row."""
    kinds = [Material(1.0e6, 0.3, restitution=0.9), Material(4.0e6, 0.2, restitution=0.5)]
    for written, expected in ((None, {(0, 0): 0.9, (1, 1): 0.5}.get(pair, 0.7)), (0.35, 0.35)):
        builder = ModelBuilder(gravity=0.0)
        velocities = [(0.5, 0.0, 0.0), (0.0, 0.0, 0.0)]
        builder.add_particles([(0.0, 0.0, 0.0), (2.001 * RADIUS, 0.0, 0.0)], velocities, MASS, RADIUS)
        model = builder.finalize(dtype=wp.float64)
        solver, state = SolverDEM(model, kinds, particle_material=pair, substeps=10), model.state()
        if written is not None:
            table = solver.materials.restitution.numpy().copy()
            table[pair] = table[pair[::-1]] = written
            solver.materials.restitution.assign(table)
        deepest = 0.0
        for _ in range(400):
            solver.step(state, state, dt=5.0e-5)
            x = state.particle_q.numpy()[:, 0]
            deepest = max(deepest, 2.0 * RADIUS - (x[1] - x[0]))
        speeds = state.particle_qd.numpy()[:, 0]
        assert speeds[1] - speeds[0] == pytest.approx(0.5 * expected, rel=2e-3)
        assert speeds.sum() == pytest.approx(0.5, rel=1e-9)
        if expected == 0.9:  # nearly elastic: Hertz's largest overlap
            young = 0.5 * 1.0e6 / (1.0 - 0.3**2)
            hertz = (15.0 * 0.5 * MASS * 0.25 / (16.0 * young * math.sqrt(0.5 * RADIUS))) ** 0.4
            assert deepest == pytest.approx(hertz, rel=0.05)

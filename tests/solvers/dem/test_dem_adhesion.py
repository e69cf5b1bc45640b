"""JKR adhesion: two grains that part follow the analytic curve, hold on to necks, and do so through all programs."""

import math

import numpy as np
import pytest
from grain_scenes import heap

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import Material, ModelBuilder, SolverDEM

WORK, YOUNG, NU = 0.05, 1.0e7, 0.25  # [J/m^2], [Pa]
RADII = (1.0e-3, 2.0e-3)
REDUCED = RADII[0] * RADII[1] / sum(RADII)
PULL_OFF = 1.5 * math.pi * WORK * REDUCED
UNIT = (2.0 * math.pi * WORK * REDUCED**2 / (0.5 * YOUNG / (1.0 - NU**2))) ** (2.0 / 3.0) / REDUCED
LAST = 4.0 ** (-1.0 / 3.0)
HEAVY = 1.0e3


class Pair:
    """A grain that is held, and a heavy one that moves along x, in units of overlap; restitution 1: no dashpot."""

    def __init__(self, overlap, velocity, adhesion=WORK, law="jkr", **options):
        builder = ModelBuilder(gravity=0.0)
        places = [(0.0, 0.0, 0.0), (sum(RADII) - overlap * UNIT, 0.0, 0.0)]
        builder.add_particles(places, [(0.0, 0.0, 0.0), (velocity, 0.0, 0.0)], [0.0, HEAVY], RADII)
        material = Material(YOUNG, NU, 1.0, adhesion=adhesion)
        self.solver = SolverDEM(builder.finalize(dtype=wp.float64), material, law=law, **options)
        self.state, self.dt = self.solver.model.state(), 0.01 * UNIT / abs(velocity)

    def step(self):
        """Overlap before a step, in its unit, and force in it by the largest attraction."""
        x, before = self.state.particle_q.numpy()[1, 0], self.state.particle_qd.numpy()[1, 0]
        self.solver.step(self.state, self.state, dt=self.dt)
        gained = self.state.particle_qd.numpy()[1, 0] - before
        return (sum(RADII) - x) / UNIT, HEAVY * gained / self.dt / PULL_OFF

    def run(self, steps):
        return np.array([self.step() for _ in range(steps)]).T


def analytic(overlap):
    """Force by the largest attraction where grains part, on the stable branch of y = s^4 - s."""
    s = np.linspace(LAST, 3.0, 100_001)
    return np.interp(overlap, s**4 - s, (8.0 * s**6 - 12.0 * s**3) / 4.5)


def test_grains_that_part_follow_the_curve_until_the_neck_tears():
    overlap, force = Pair(1.0, 1.0e-3).run(160)
    held = overlap > -0.75 * LAST
    np.testing.assert_allclose(force[held], analytic(overlap[held]), atol=5.0e-5)
    assert force.min() == pytest.approx(-1.0, abs=1.0e-4)
    assert held.sum() > 140 and (force[~held] == 0.0).all()


def test_grains_that_meet_feel_nothing_before_they_touch():
    overlap, force = Pair(-0.4, -1.0e-3).run(80)
    touching = overlap > 0.0
    assert (force[~touching] == 0.0).all() and (~touching).sum() >= 39
    assert force[touching][0] == pytest.approx(-8.0 / 9.0, abs=0.03)
    np.testing.assert_allclose(force[touching], analytic(overlap[touching]), atol=5.0e-5)


def test_necks_outlive_new_lists_of_neighbours():
    pair = Pair(-0.4, 1.0e-3)
    pair.step()
    lists = pair.solver.neighbours
    assert pair.solver._grains.bonds.numpy()[: lists.rows.size].tolist() == [0, 0]
    pair.solver._grains.bonds.fill_(1)
    for _ in range(3):
        lists.outdated.fill_(1)
        overlap, force = pair.step()
        assert force == pytest.approx(analytic(overlap), abs=1.0e-3) and overlap < -0.39


def test_without_work_of_adhesion_it_is_the_law_of_hertz():
    mine, hertz = (Pair(2.0, -1.0e-3, 0.0, law).run(20)[1] for law in ("jkr", "hertz"))
    np.testing.assert_allclose(mine, hertz, rtol=1e-12)
    assert (hertz > 0.0).all()


def test_a_limited_force_pulls_no_more_than_surfaces_do():
    overlap, force = Pair(0.5, 1.0e-3, force_limit=True).run(60)
    np.testing.assert_allclose(force, analytic(overlap), atol=5.0e-5)


def height_gradient(checkpointed):
    """Of the height of sticking grains after some steps, to the work of adhesion and to positions."""
    model, solver = heap(requires_grad=True, rolling="spring", law="jkr", skin=1.0e-3)
    state = model.state()
    solver.reserve(400)
    with wp.Tape() as tape:
        if checkpointed:
            kept = [*state.arrays.values(), *solver.history]
            wp.checkpoint(lambda k: solver.step(state, state, dt=2.0e-4), kept, 10, scratch=solver.scratch)
        for _ in range(0 if checkpointed else 10):
            solver.step(state, state, dt=2.0e-4)
    tape.backward(grads={state.particle_q: wp.ones_like(state.particle_q)})
    return solver.materials.adhesion.grad.numpy(), model.particle_radius.grad.numpy()


def test_necks_are_part_of_what_checkpoints_hand_on():
    for mine, expected in zip(height_gradient(True), height_gradient(False), strict=True):
        np.testing.assert_array_equal(mine, expected)
        assert np.abs(expected).max() > 0.0


def test_necks_longer_than_lists_reach_are_refused():
    with pytest.raises(ModelError, match=r"adhesion holds grains until .* m apart, skin is 1e-05 m\nexpected: a"):
        Pair(1.0, 1.0e-3, adhesion=100.0, skin=1.0e-5)

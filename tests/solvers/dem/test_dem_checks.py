"""What grains are easily given wrongly, and scenes that are hard to compute: each is told, or comes out right."""

import math

import numpy as np
import pytest
from grain_scenes import DENSITY, RADIUS, heap, run

import warpsim as wp
from warpsim.errors import DivergenceError, ModelError, StateError
from warpsim.solvers import Material, ModelBuilder, ShapeConfig, SolverDEM
from warpsim.solvers.dem.checks import OverlapWarning
from warpsim.solvers.dem.timestep import TimeStepError, TimeStepWarning

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3


def loose(points, ground=None, **options):
    """Equal grains, with a floor through a point: a solver and a state."""
    builder = ModelBuilder()
    builder.add_particles(points, 0.0, MASS, RADIUS)
    if ground is not None:
        builder.add_shape_plane((0.0, 1.0, 0.0), ground)
    model = builder.finalize()
    return SolverDEM(model, Material(1.0e6), **options), model.state()


DEEP = np.array([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.105, 0.0, 0.0), (0.3, 0.0, 0.0)])


@pytest.mark.parametrize("distance", [0.005, 0.0])
def test_grains_that_start_inside_of_each_other_are_told(distance):
    points = DEEP.copy()
    points[2, 0] = points[1, 0] + distance
    part = f"{2.0 - distance / RADIUS:.0%}"
    solver, state = loose(points)
    with pytest.warns(OverlapWarning, match=f"grains 1 and 2 start with an overlap of {part} of the smaller radius"):
        solver.step(state, state, dt=1.0e-5)
    solver, state = loose(points, overlaps="error")
    with pytest.raises(StateError, match=r"grains 1 and 2 start .*\nexpected: at most 10%"):
        solver.step(state, state, dt=1.0e-5)


def test_overlaps_are_told_once_or_never(recwarn):
    solver, state = loose(DEEP)
    for _ in range(3):
        solver.step(state, state, dt=1.0e-5)
    assert len([w for w in recwarn if w.category is OverlapWarning]) == 1
    solver, state = loose(DEEP, overlaps="ignore")
    solver.step(state, state, dt=1.0e-5)
    assert len([w for w in recwarn if w.category is OverlapWarning]) == 1
    with pytest.raises(ModelError, match=r"overlaps is 'no'\nexpected: 'warn', 'error', 'ignore'"):
        loose(DEEP, overlaps="no")


def test_grains_that_start_inside_of_walls_are_told():
    """The middle of one on the floor, as it is easily put; held ones may lie anywhere."""
    builder = ModelBuilder()
    points = [(0.0, 0.3, 0.0), (0.1, 0.005, 0.0), (0.2, 0.0, 0.0), (0.5, -0.1, 0.0)]
    builder.add_particles(points, 0.0, [MASS, MASS, MASS, 0.0], RADIUS)
    builder.add_shape_sphere([0.0, 0.33, 0.0, 0.0, 0.0, 0.0, 1.0], 0.021)
    builder.add_ground_plane()
    model = builder.finalize()
    solver, state = SolverDEM(model, Material(1.0e6)), model.state()
    with pytest.warns(OverlapWarning, match="grain 2 and shape 1 start with an overlap of 100% of its radius; above"):
        solver.step(state, state, dt=1.0e-5)
    solver, state = SolverDEM(model, Material(1.0e6), overlaps="error"), model.state()
    with pytest.raises(StateError, match=r"grain 2 and shape 1 start .*\nexpected: at most 10%"):
        solver.step(state, state, dt=1.0e-5)


def test_time_steps_that_miss_impacts_are_told_with_numbers(recwarn):
    """At a hundred metres a second an impact is shorter than what stress needs over a grain."""
    solver, state = loose([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)])
    solver.step(state, state, dt=5.0e-4)
    assert not recwarn.list
    state.particle_qd.assign([(50.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
    with pytest.warns(TimeStepWarning, match=r"0.0005 s is 24% of an impact at 100 m/s, 0.00206 s; up to 20% is safe"):
        SolverDEM(solver.model, Material(1.0e6)).step(state, state, dt=5.0e-4)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_told_with_step_and_grain(wrong):
    solver, state = loose([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.2, 0.0, 0.0)], check=True)
    solver.step(state, state, dt=1.0e-5)
    velocity = state.particle_qd.numpy()
    velocity[1, 2] = wrong
    state.particle_qd.assign(velocity)
    with pytest.raises(DivergenceError, match=r"step 1: grain 1 has numbers that are not finite"):
        solver.step(state, state, dt=1.0e-5)


def test_the_rest_goes_on_where_a_grain_is_nan():
    model, solver = heap(rolling="spring")
    state = model.state()
    position = state.particle_q.numpy()
    position[-1] = math.nan
    state.particle_q.assign(position)
    for _ in range(20):
        solver.step(state, state, dt=2.0e-4)
    assert np.isfinite(state.particle_q.numpy()).all(axis=1).sum() == model.particle_count - 1


def test_radii_that_grew_find_their_neighbours():
    points = 2.5 * RADIUS * np.stack(np.meshgrid(*[range(3)] * 3), axis=-1).reshape(-1, 3)
    solver, state = loose(points, overlaps="ignore")
    solver.step(state, state, dt=1.0e-6)
    assert solver.statistics(state).contacts == 0
    solver.model.particle_radius.assign(np.full(27, 1.3 * RADIUS))
    solver.step(state, state, dt=1.0e-6)
    assert solver.statistics(state).contacts == 54  # the edges of the lattice


def test_the_time_step_is_judged_by_materials_as_they_are():
    solver, state = loose([(0.0, 0.0, 0.0)])
    before, _ = solver.time_step_limit()
    solver.materials.youngs_modulus.assign([1.0e12])
    assert solver.time_step_limit()[0] == pytest.approx(before / 1.0e3, rel=1e-5)
    with pytest.raises(TimeStepError, match="the Rayleigh time"):
        solver.step(state, state, dt=1.0e-4)


def test_float32_is_as_exact_far_from_the_origin():
    """Positions are rounded to 6e-5 m at 700 m, which is not to be seen in contacts that are 1e-4 m deep."""
    rng = np.random.default_rng(2)
    cells = np.stack(np.meshgrid(range(3), range(4), range(3), indexing="ij"), axis=-1).reshape(-1, 3)
    grain = 2.0**-14  # a multiple of what positions are rounded to
    points = np.round((2.0 * cells + [0.0, 1.0, 0.0] + rng.uniform(-0.02, 0.02, cells.shape)) * RADIUS / grain) * grain
    ends = []
    for offset in ([0.0, 0.0, 0.0], [700.0, 0.0, -300.0]):
        solver, state = loose(points + offset, ground=offset, substeps=20)
        for _ in range(60):
            solver.step(state, state, dt=2.0e-3)
        assert (np.abs(state.particle_rest.numpy()) < 4.0e-5).all()
        exact = [a.numpy().astype(np.float64) for a in (state.particle_q, state.particle_rest)]
        ends.append(exact[0] - offset + exact[1])
        assert solver.statistics(state).contacts > 10
    np.testing.assert_allclose(ends[1], ends[0], atol=1.0e-6)
    assert np.abs(ends[0] - points).max() > 5.0e-3


def test_no_two_solvers_share_what_contacts_remember():
    model, solver = heap(rolling="spring")
    alone = run(model, solver, 20).particle_q.numpy()
    other = SolverDEM(model, Material(2.0e6), substeps=2, overlaps="ignore")
    solver.reset()
    state, theirs = model.state(), model.state()
    for _ in range(20):
        solver.step(state, state, dt=1.0e-4)
        other.step(theirs, theirs, dt=1.0e-4)
    np.testing.assert_array_equal(state.particle_q.numpy(), alone)


def test_grains_that_left_are_counted():
    """One falls beside the box whose floor ends, one is not finite; nothing is read outside of its arrays."""
    builder = ModelBuilder()
    builder.add_particles([(0.0, RADIUS, 0.0), (0.3, RADIUS, 0.0), (0.05, RADIUS, 0.0)], 0.0, MASS, RADIUS)
    builder.add_shape_box([0.0, -0.05, 0.0, 0.0, 0.0, 0.0, 1.0], 0.1, 0.05, 0.1)
    model = builder.finalize()
    solver, state = SolverDEM(model, Material(1.0e6), substeps=10), model.state()
    for _ in range(100):
        solver.step(state, state, dt=2.0e-3)
    corners = (-0.1, 0.0, -0.1), (0.1, 0.1, 0.1)
    assert solver.statistics(state).outside(*corners) == 1
    position = state.particle_q.numpy()
    position[0], position[1] = math.nan, 1.0e30
    state.particle_q.assign(position)
    solver.step(state, state, dt=2.0e-3)
    assert solver.statistics(state).outside(*corners) == 2


def test_a_wall_takes_a_grain_along_by_friction_and_lets_a_smooth_one_stay():
    """A belt of 0.2 m/s: after mu g t = v a grain goes with it, sliding or rolling as Coulomb's law has it."""
    for friction, expected in ((0.5, 2.0 / 7.0), (0.0, 0.0)):
        builder = ModelBuilder()
        builder.add_particles([(0.0, RADIUS, 0.0)], 0.0, MASS, RADIUS)
        belt = builder.add_shape_box([0.0, -0.05, 0.0, 0.0, 0.0, 0.0, 1.0], 1.0, 0.05, 0.1, ShapeConfig(mu=friction))
        model = builder.finalize(dtype=wp.float64)
        solver, state, control = SolverDEM(model, Material(1.0e6), substeps=10), model.state(), model.control()
        control.set_shape(belt, velocity=(0.2, 0.0, 0.0))
        for _ in range(100):
            solver.step(state, state, control, dt=2.0e-3)
            control.advance(2.0e-3)
        assert state.particle_qd.numpy()[0, 0] == pytest.approx(expected * 0.2, abs=2.0e-3)

"""Networks of contacts: forces by Hertz and as the next substep finds them, lattices, rattlers, chains, worlds."""

import numpy as np
import pytest
from gauge_scenes import RADIUS, lattice, statistics_of, touched, weightless
from grain_scenes import heap, run

from warpsim.errors import ModelError, StateError
from warpsim.solvers import ModelBuilder, Scene, SolverDEM
from warpsim.solvers.dem.gauges import contact_network, coordination_number, force_chains, grain_stress, rattlers

SOFT = 1.0e7 / (1.0 - 0.25**2)  # E / (1 - nu^2) of `weightless`
UP = np.array([0.0, 0.0, 1.0])


def hertz(overlap, walls=False):
    """Of equal grains, or a grain and a rigid wall [N]."""
    young, radius = (SOFT, RADIUS) if walls else (0.5 * SOFT, 0.5 * RADIUS)
    return 4.0 / 3.0 * young * np.sqrt(radius) * overlap**1.5


def column(count, overlap, at=(0.0, 0.0)):
    """Grains on top of each other, z up."""
    heights = RADIUS + (2.0 * RADIUS - overlap) * np.arange(count)
    return np.stack([np.full(count, at[0]), np.full(count, at[1]), heights], axis=1)


def test_forces_are_those_of_hertz_and_act_on_both():
    solver = weightless(column(3, 1.0e-4) - 2.0e-4 * UP, planes=[((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))])
    network = contact_network(touched(solver))
    assert network.pairs.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_allclose(network.pressing, hertz(1.0e-4), rtol=2e-3)
    np.testing.assert_allclose(network.force, -network.pressing[:, None] * UP, atol=1e-5)
    np.testing.assert_allclose(network.branch, np.tile((2.0 * RADIUS - 1.0e-4) * UP, (2, 1)), atol=1e-8)
    assert network.wall_grain.tolist() == [0] and network.wall_shape.tolist() == [0]
    assert network.wall_pressing[0] == pytest.approx(hertz(2.0e-4, walls=True), rel=2e-3)
    np.testing.assert_allclose(network.wall_force[0], network.wall_pressing[0] * UP, atol=1e-5)
    np.testing.assert_allclose(network.wall_point[0], 0.0, atol=1e-8)


@pytest.mark.parametrize("rolling", [None, "constant", "spring"])
@pytest.mark.parametrize("law", ["hertz", "linear", "jkr"])
def test_they_sum_to_what_the_next_substep_finds_and_change_nothing(law, rolling):
    model, solver = heap(law=law, rolling=rolling)
    state = run(model, solver, 300)
    history = [a.numpy().copy() for a in solver.history]
    network = contact_network(solver.statistics(state))
    assert all((a == b.numpy()).all() for a, b in zip(history, solver.history, strict=True))
    total = np.zeros((model.particle_count, 3))
    np.add.at(total, network.pairs.T, np.stack([network.force, -network.force]))
    np.add.at(total, network.wall_grain, network.wall_force)
    solver.substeps = 1
    solver.step(state, state, dt=1.0e-9)
    felt = np.empty_like(total)
    felt[solver._grains.number.numpy()] = solver._grains.force.numpy()
    assert len(network.wall_grain) > 5
    np.testing.assert_allclose(total, felt, atol=1e-5 * np.abs(felt).max())


@pytest.mark.parametrize(("kind", "neighbours"), [("cubic", 6), ("fcc", 12)])
def test_lattices_have_as_many_contacts_as_their_kind(kind, neighbours):
    points = 0.999 * lattice(kind, 5, 5, 5)
    network = contact_network(touched(weightless(points)))
    inside = np.abs(points - points.mean(axis=0)).max(axis=1) < 0.3 * np.ptp(points)
    assert inside.sum() > 20 and set(network.contacts_of_grains()[inside]) == {neighbours}


def test_where_space_repeats_every_grain_is_inside():
    size = 4 * 2.0 * RADIUS * 0.999
    network = contact_network(touched(weightless(0.999 * lattice("cubic", 4, 4, 4), period=(size, size, size))))
    assert coordination_number(network) == 6.0
    np.testing.assert_allclose(np.linalg.norm(network.branch, axis=1), 2.0 * RADIUS * 0.999, rtol=1e-5)


def test_grains_that_nothing_holds_can_be_left_out():
    far = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.0]])
    statistics = touched(weightless(np.concatenate([0.999 * lattice("cubic", 4, 4, 4), far])))
    network = contact_network(statistics)
    assert coordination_number(network) == pytest.approx(2 * 144 / 66)
    assert coordination_number(network) == statistics.coordination_number
    assert coordination_number(network, least=2) == pytest.approx(2 * 144 / 64)
    assert np.flatnonzero(rattlers(network)).tolist() == [64, 65]
    assert np.flatnonzero(rattlers(network, least=4)).size == 66  # corners have 3, then those beside them too


def test_whoever_hangs_on_a_rattler_is_one_and_walls_hold():
    triangle = 1.999 * RADIUS * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
    tail = triangle[1] + 1.999 * RADIUS * np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    floor = [((0.0, 0.0, 1.0), (0.0, 0.0, -1.0)), ((-1.0, 0.0, 0.0), (tail[1, 0] + 0.999 * RADIUS, 0.0, 0.0))]
    points = np.concatenate([triangle, tail])
    free = contact_network(touched(weightless(points)))
    assert np.flatnonzero(rattlers(free)).tolist() == [3, 4]
    assert coordination_number(free, least=2) == 2.0
    assert not rattlers(contact_network(touched(weightless(points, planes=floor)))).any()


def test_a_column_is_stressed_along_itself_by_its_force():
    walls = [((0.0, 0.0, 1.0), (0.0, 0.0, 1.0e-4)), ((0.0, 0.0, -1.0), (0.0, 0.0, 5.999 * RADIUS - 3.0e-4))]
    network = contact_network(touched(weightless(column(3, 1.0e-4), planes=walls)))
    stress = grain_stress(network)
    expected = hertz(1.0e-4) * (2.0 * RADIUS - 1.0e-4) / (4.0 / 3.0 * np.pi * RADIUS**3)
    np.testing.assert_allclose(stress[1], np.diag([0.0, 0.0, expected]), rtol=3e-3, atol=1e-3 * expected)


def test_chains_follow_what_carries_most():
    """Two columns of five that floor and roof press, and one between them that barely touches itself."""
    firm, faint, side = 1.0e-4, 1.0e-6, 2.0 * RADIUS - 1.0e-7
    columns = [column(5, firm), column(5, firm, (2.0 * side, 0.0)), column(4, faint, (side, 0.0)) + firm * UP]
    floor = ((0.0, 0.0, 1.0), (0.0, 0.0, 0.5 * firm))
    roof = ((0.0, 0.0, -1.0), (0.0, 0.0, 10.0 * RADIUS - 4.5 * firm))
    network = contact_network(touched(weightless(np.concatenate(columns), planes=[floor, roof])))
    assert [chain.tolist() for chain in force_chains(network)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert force_chains(network, least=6) == []
    with pytest.raises(ModelError, match="angle is 0"):
        force_chains(network, angle=0.0)


def test_each_world_has_its_own_network():
    builder = ModelBuilder(up_axis="Z", gravity=0.0)
    for count in (2, 4):
        one = ModelBuilder(up_axis="Z", gravity=0.0)
        one.add_particles(column(count, 1.0e-4), 0.0, 1.0, RADIUS)
        one.add_shape_plane((0.0, 0.0, 1.0), (0.0, 0.0, 1.0e-4))
        builder.add_world(one)
    statistics = touched(SolverDEM(builder.finalize(), overlaps="ignore"))
    first, second = (contact_network(statistics, world=world) for world in (0, 1))
    assert first.pairs.tolist() == [[0, 1]] and second.pairs.tolist() == [[2, 3], [3, 4], [4, 5]]
    assert (first.wall_grain.tolist(), first.wall_shape.tolist()) == ([0], [0])
    assert (second.wall_grain.tolist(), second.wall_shape.tolist()) == ([2], [1])
    assert coordination_number(second) == 1.5
    with pytest.raises(ModelError, match="the model has 2"):
        contact_network(statistics)


def test_contacts_of_another_moment_are_refused():
    solver = weightless(column(2, 1.0e-4))
    with pytest.raises(StateError, match="no step"):
        contact_network(statistics_of(solver))
    touched(solver)
    later = solver.model.state()
    later.particle_q.assign(column(2, 1.0e-4) + 0.5)
    with pytest.raises(StateError, match="contacts are those of the last step"):
        contact_network(solver.statistics(later))


def test_a_solver_out_of_a_saved_scene_knows_contacts_after_a_step(tmp_path):
    statistics = touched(weightless(column(2, 1.0e-4)))
    Scene(solver=statistics.solver, state=statistics.state).save(tmp_path / "column.scene")
    scene = Scene.load(tmp_path / "column.scene")
    for ask in (contact_network, lambda s: s.contacts, lambda s: s.coordination_number, lambda s: s.largest_overlap):
        with pytest.raises(StateError, match="comes out of a saved scene, and has made no step since"):
            ask(scene.solver.statistics(scene.state))
    for solver, state in ((statistics.solver, statistics.state), (scene.solver, scene.state)):
        solver.step(state, state, dt=1.0e-9)
    first, second = statistics.solver.statistics(statistics.state), scene.solver.statistics(scene.state)
    assert first.contacts == second.contacts == 1
    for before, now in zip(contact_network(first), contact_network(second), strict=True):
        assert (before == now).all()


def test_a_scene_without_grains_has_no_contacts():
    network = contact_network(touched(weightless(np.zeros((0, 3)), planes=[((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))])))
    assert network.pairs.shape == (0, 2) and network.wall_force.shape == (0, 3) and network.walls.tolist() == [0]
    assert np.isnan(coordination_number(network)) and force_chains(network) == []


def test_controls_of_another_model_and_numbers_that_are_none_are_refused():
    statistics, other = touched(weightless(column(2, 1.0e-4))), weightless(column(2, 1.0e-4)).model
    with pytest.raises(StateError, match="control belongs to another model"):
        contact_network(statistics, control=other.control())
    network = contact_network(statistics)
    for ask in (lambda: force_chains(network, least=1), lambda: rattlers(network, least=-1)):
        with pytest.raises(ModelError, match="least is"):
            ask()

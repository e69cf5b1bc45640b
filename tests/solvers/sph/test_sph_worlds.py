"""Worlds of fluid, all at one place: each moves as the model that holds it alone, and has its gradients."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from fluid_scenes import BOUNDS, SPACING, WATER

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import FluidStream, ModelBuilder, Scene, SolverDFSPH, SolverSPH
from warpsim.solvers.neighbours.cluster_list import SIZE
from warpsim.solvers.sph.barriers import LeakWarning
from warpsim.solvers.sph.start import StartWarning
from warpsim.solvers.sph.surface import Surface

DT = 2.0e-3
AROUND = (0.0, 0.0, 0.0, 1.0)


def pool(k=0, cells=(6, 9, 1), ground=True, dim=2, speed=0.0):
    """Fluid in motion over the ground and beside a ball, each world with numbers of its own."""
    rng, builder = np.random.default_rng(k), ModelBuilder(gravity=-9.81 + 2.0 * k)
    places = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 3)
    flat = np.array([1.0, 1.0, dim == 3])
    points = (places + [0.5, 0.5, 0.5 * (dim == 3)] + rng.uniform(-0.1, 0.1, places.shape) * flat) * SPACING
    velocity = (rng.uniform(-0.5, 0.5, places.shape) - [0.0, speed, 0.0]) * flat
    builder.add_particles(points, velocity, 1000.0 * SPACING**dim)
    if ground:
        builder.add_ground_plane()
    builder.add_shape_sphere([0.95, 0.3 + 0.03 * k, 0.15 * (dim == 3), *AROUND], 0.35)
    return builder


def together(scenes, outer=None, **options):
    builder = outer or ModelBuilder()
    for scene in scenes:
        builder.add_world(scene)
    return builder.finalize(**{"dtype": wp.float64, **options})


def solver_of(model, kind=SolverSPH, **options):
    return kind(model, WATER, **{"dim": 2, "no_slip": True, "substeps": 2, "bounds": BOUNDS, **options})


def run(model, steps=30, **options):
    solver, state = solver_of(model, **options), model.state()
    for _ in range(steps):
        solver.step(state, state, dt=DT)
    return solver, state


def assert_equal_to_those_alone(scenes, steps=30, dtype=wp.float64, exact=None, **options):
    """exact: differences of positions that are allowed [m]; 0: none of any bit."""
    solver, state = run(together(scenes, dtype=dtype), steps, **options)
    for k, scene in enumerate(scenes):
        single, alone = run(scene.finalize(dtype=dtype), steps, **options)
        view, rows = state.world(k), solver.model.world(k).rows("shape")
        for name, scale in (("particle_q", 1.0), ("particle_qd", 100.0), ("particle_rho", 1.0e5)):
            ours, theirs = (getattr(s, name).numpy() for s in (view, alone))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=scale * exact, err_msg=f"{name} of world {k}")
        force, theirs = solver.shape_force.numpy()[rows.start : rows.stop], single.shape_force.numpy()
        assert np.abs(theirs).max() > 1.0
        np.testing.assert_allclose(force, theirs, rtol=0, atol=1e6 * exact)


OPTIONS = {
    "continuity": {}, "slip": {"no_slip": False}, "summation": {"density": "summation", "suction": True},
    "periodic": {"period": (1.6, 0.0, 0.0)}, "auto": {"substeps": None},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_each_world_moves_as_the_model_that_holds_it_alone(name):
    scenes = [pool(k, (4 + k, 9, 1)) for k in range(3)]
    if name == "auto":  # all take the substeps of the world that needs most
        scenes = [pool(0), pool(0)]
    assert_equal_to_those_alone(scenes, exact=1e-10, **OPTIONS[name])


def test_worlds_in_space_move_as_alone_in_both_precisions():
    scenes, box = [pool(k, (4, 5, 3), dim=3) for k in range(2)], ((-0.2, 0.0, -0.2), (0.8, 1.0, 0.5))
    assert_equal_to_those_alone(scenes, 10, exact=1e-10, dim=3, bounds=box)
    assert_equal_to_those_alone(scenes, 10, wp.float32, exact=1e-5, dim=3, bounds=box)


def test_equal_worlds_have_equal_bits():
    builder = ModelBuilder()
    builder.add_world(pool(), 5)
    _, state = run(builder.finalize())
    assert len({state.world(k).particle_q.numpy().tobytes() for k in range(5)}) == 1


def test_lists_hold_pairs_of_one_world_and_each_particle_is_owned_once():
    model = together([pool(k, (3 + k, 5, 1)) for k in range(4)] + [pool(5, (1, 3, 1))])
    solver, _ = run(model)
    p = solver.particles
    home = np.concatenate([model.particle_world.numpy(), p.places.home[p.water :]])[p.number.numpy()]
    for lists, first, count in ((p.around_water, 0, p.water), (p.around_walls, p.water, p.walls)):
        starts, firsts, lasts = (a.numpy() for a in (lists.starts, lists.firsts, lists.lasts))
        owned = np.concatenate([np.arange(a, b) for a, b in zip(firsts, lasts, strict=True)])
        np.testing.assert_array_equal(owned, np.arange(count))
        ids, counts = lists.ids.numpy(), lists.counts.numpy()
        assert counts.max() > SIZE
        for c, group in enumerate(lists.groups.numpy()):
            assert (home[ids[c, : counts[c]]] == group).all()
            assert (home[first + np.arange(firsts[c], lasts[c])] == group).all()
            assert starts[c] <= firsts[c] and lasts[c] <= starts[c] + SIZE


def test_incompressible_worlds_iterate_each_until_it_is_done():
    scenes = [pool(k, (4 + k, 9, 1), speed=1.5 * k) for k in range(3)]
    options = {"kind": SolverDFSPH, "density_error": 1e-5, "divergence_error": 1e-5}
    assert_equal_to_those_alone(scenes, exact=1e-9, **options)
    solver, _ = run(together(scenes), 3, **options)
    singles = [run(scene.finalize(dtype=wp.float64), 3, **options)[0] for scene in scenes]
    assert solver.last_iterations[0] == max(s.last_iterations[0] for s in singles)
    assert len({s.last_iterations[0] for s in singles}) > 1
    assert solver.last_errors[0] == pytest.approx(max(s.last_errors[0] for s in singles), rel=1e-6)


def gradients(model, weights, kind=SolverSPH, checkpointed=False, steps=5):
    solver, control = solver_of(model, kind), model.control(requires_grad=True)
    states = [model.state(requires_grad=True) for _ in range(steps + 1)]
    with wp.Tape() as tape:
        if checkpointed:
            last = states[-1]
            wp.copy(last.particle_q, states[0].particle_q)
            for name in ("particle_rest", "particle_qd", "particle_rho"):
                wp.copy(getattr(last, name), getattr(states[0], name))
            wp.checkpoint(
                lambda k: solver.step(last, last, control, dt=DT), [*last.arrays.values()], steps,
                scratch=solver.scratch,
            )  # fmt: skip
        else:
            for before, after in pairwise(states):
                solver.step(before, after, control, dt=DT)
    tape.backward(grads={states[-1].particle_q: wp.array(weights, dtype=model.vec3)})
    return states[0], control


@pytest.mark.parametrize("kind,checkpointed", [(SolverSPH, False), (SolverSPH, True), (SolverDFSPH, False)])
def test_gradients_of_each_world_are_those_of_the_model_that_holds_it_alone(kind, checkpointed):
    scenes, rng = [pool(k, (4, 5 + k, 1)) for k in range(3)], np.random.default_rng(1)
    weights = [rng.normal(size=(scene.particle_count, 3)) for scene in scenes]
    options = {"dtype": wp.float64, "requires_grad": True}
    model = together(scenes, **options)
    first, control = gradients(model, np.concatenate(weights), kind, checkpointed)
    for k, scene in enumerate(scenes):
        alone = scene.finalize(**options)
        single, pull = gradients(alone, weights[k], kind, checkpointed)
        shapes = model.world(k).rows("shape")
        pairs = [(getattr(first.world(k), n).grad.numpy(), getattr(single, n).grad.numpy())
                 for n in ("particle_q", "particle_qd")]  # fmt: skip
        pairs += [(control.gravity.grad.numpy()[k], pull.gravity.grad.numpy()[0])]
        pairs += [(control.shape_velocity.grad.numpy()[shapes.start : shapes.stop], pull.shape_velocity.grad.numpy())]
        pairs += [(model.world(k).particle_mass.grad.numpy(), alone.particle_mass.grad.numpy())]
        for ours, theirs in pairs:
            assert np.abs(theirs).max() > 0.0
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.filterwarnings("ignore:after step:warpsim.solvers.sph.barriers.LeakWarning")
@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("cells", [(6, 9, 1), (2, 3, 1), (3, 5, 1), (4, 4, 1)])
def test_a_world_that_diverges_leaves_the_others_alone(cells, bad):
    """Worlds of more and of fewer particles than a cluster has lanes; the sound ones come before it and behind."""
    scenes, sound = [pool(k, cells) for k in range(3)], [k for k in range(3) if k != bad]
    options = {"dtype": wp.float64, "requires_grad": True}
    model, single = together(scenes, **options), scenes[0].finalize(**options)
    weights = np.random.default_rng(2).normal(size=(single.particle_count, 3))
    ends, grads = [], []
    for broken in (False, True):
        solver, states = solver_of(model), [model.state(requires_grad=True) for _ in range(5)]
        if broken:
            states[0].world(bad).particle_qd.fill_(np.nan)
        with wp.Tape() as tape:
            for before, after in pairwise(states):
                solver.step(before, after, dt=DT)
        tape.backward(grads={states[-1].particle_q: wp.array(np.tile(weights, (3, 1)), dtype=model.vec3)})
        ends.append([states[-1].world(k).particle_q.numpy().copy() for k in sound])
        grads.append([states[0].world(k).particle_q.grad.numpy().copy() for k in sound])
        assert np.isnan(states[-1].world(bad).particle_q.numpy()).any() == broken
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-9)


def test_shapes_of_all_worlds_are_walls_in_each():
    scenes, outer = [pool(k, ground=False) for k in range(3)], ModelBuilder()
    outer.add_ground_plane()
    solver, state = run(together(scenes, outer))
    total = np.zeros(6)
    for k, scene in enumerate(scenes):
        scene.add_ground_plane()
        single, alone = run(scene.finalize(dtype=wp.float64))
        total += single.shape_force.numpy()[1]
        difference = state.world(k).particle_q.numpy() - alone.particle_q.numpy()
        assert np.abs(difference).max() < 0.02 * SPACING  # corners are filled by the other shape first
    np.testing.assert_allclose(solver.shape_force.numpy()[0][3:], total[3:], rtol=0.05, atol=0.05 * np.abs(total).max())


def test_worlds_side_by_side_have_bounds_of_their_own():
    offsets = np.array([[0.0, 0.0, 0.0], [5.0, 1.0, 0.0], [-3.0, 0.5, 0.0]])
    builder = ModelBuilder()
    builder.add_world(pool(), 3, offsets)
    model = builder.finalize(dtype=wp.float64)
    solver, state = run(model, bounds=offsets[:, None] + np.array(BOUNDS))
    _, alone = run(pool().finalize(dtype=wp.float64))
    for k in range(3):
        place = state.world(k).particle_q.numpy() - offsets[k]
        np.testing.assert_allclose(place, alone.particle_q.numpy(), rtol=0, atol=1e-9)
    assert solver.statistics(state).lost == 0
    solver, state = run(model)  # those of the first world alone
    assert solver.statistics(state, 0).lost == 0 and solver.statistics(state, 1).in_walls == 0
    with pytest.raises(ModelError, match="or such of each of 3 worlds"):
        solver_of(model, bounds=np.zeros((2, 2, 3)))


def test_numbers_of_threads_do_not_show():
    ends = set()
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        solver, state = run(together([pool(k) for k in range(4)], dtype=wp.float32), 10)
        ends.add(state.particle_q.numpy().tobytes() + solver.shape_force.numpy().tobytes())
    assert len(ends) == 1


@pytest.mark.parametrize("kind", [SolverSPH, SolverDFSPH])
def test_a_run_that_goes_on_is_the_run_that_never_stopped(tmp_path, kind):
    solver, state = run(together([pool(k) for k in range(3)]), 20, kind=kind)
    Scene(solver=solver, state=state).save(tmp_path / "water.scene")
    again = Scene.load(tmp_path / "water.scene")
    for _ in range(20):
        solver.step(state, state, dt=DT)
        again.solver.step(again.state, again.state, dt=DT)
    assert again.state.particle_q.numpy().tobytes() == state.particle_q.numpy().tobytes()


def test_statistics_are_those_of_all_worlds_or_of_one():
    scenes = [pool(k, (4 + k, 8, 1)) for k in range(3)]
    solver, state = run(together(scenes))
    parts = [solver.statistics(state, k) for k in range(3)]
    for k, scene in enumerate(scenes):
        single, alone = run(scene.finalize(dtype=wp.float64))
        theirs = single.statistics(alone)
        for name in ("mass", "kinetic_energy", "potential_energy", "in_walls", "lost"):
            assert getattr(parts[k], name) == pytest.approx(getattr(theirs, name), rel=1e-9), name
        assert parts[k].front() == pytest.approx(theirs.front()) and parts[k].pressure_at([[0.2, 0.05, 0]]) > 0.0
        np.testing.assert_allclose(parts[k].pressure_at([[0.2, 0.05, 0]]), theirs.pressure_at([[0.2, 0.05, 0]]))
    whole = solver.statistics(state)
    for name in ("mass", "kinetic_energy", "potential_energy", "in_walls", "lost"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(part, name) for part in parts), rel=1e-9)
    with pytest.raises(ModelError, match="world is 3"):
        solver.statistics(state, 3)


def test_surfaces_are_those_of_one_world_if_asked_for():
    box, scenes = ((-0.2, 0.0, -0.2), (0.8, 1.0, 0.5)), [pool(k, (4, 4 + k, 3), dim=3) for k in range(2)]
    solver, state = run(together(scenes), 1, dim=3, bounds=box)
    for k, scene in enumerate(scenes):
        points, faces = Surface(solver).extract(state, k)
        single, alone = run(scene.finalize(dtype=wp.float64), 1, dim=3, bounds=box)
        theirs = Surface(single).extract(alone)
        np.testing.assert_array_equal(faces, theirs[1])
        np.testing.assert_allclose(points, theirs[0], rtol=0, atol=1e-5)


def test_messages_say_the_world_and_streams_are_refused():
    crowded = pool(1)
    crowded.add_particles([crowded.particles["q"][7] + [0.01, 0.0, 0.0]], mass=1000.0 * SPACING**2)
    with pytest.warns(StartWarning, match="particles 61 and 108 of world 1 start 0.01 m apart; 2 are"):
        solver_of(together([pool(), crowded]))
    buried = pool(2)
    buried.add_shape_box([0.3, 0.3, 0.0, *AROUND], 0.3, 0.3, 0.3)
    model = together([pool(), buried])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)
        solver, state = solver_of(model), model.state()
    with pytest.warns(LeakWarning, match="particles of worlds 1 are in walls"):
        solver.step(state, state, dt=1.0e-4)
    one = ModelBuilder()
    particles = one.add_particles(np.zeros((3, 3)), mass=1.0)
    with pytest.raises(ModelError, match="several worlds"):
        solver_of(together([one, one]), streams=[FluidStream(particles, (0, 1, 0), (0, -1, 0), 0.05)])

"""Worlds under XPBD: each moves, and has gradients, as the model that holds it alone; none touches another."""

from itertools import pairwise

import numpy as np
import pytest
import xpbd_scenes
from swept_scenes import Scene

import warpsim as wp
from warpsim.errors import StateError
from warpsim.solvers import Contacts, CrossingWarning, ModelBuilder, ShapeConfig, SolverXPBD, SurfaceContacts

FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
DT = 1.0 / 100.0


def blown():
    """A sheet with wind, tethers and bending over a ball."""
    builder = ModelBuilder(gravity=-4.0)
    cloth = builder.add_cloth_grid(
        (0, 0.7, 0), FLAT, 0, 6, 5, 0.1, 0.1, 0.002, spring_ke=500.0, spring_kd=0.01, edge_ke=1e-3, tri_drag=1.0,
        tri_lift=0.5, fix_left=True,
    )  # fmt: skip
    builder.add_tethers(cloth)
    builder.add_shape_sphere((0.3, 0.5, 0.3, 0, 0, 0, 1), 0.15, ShapeConfig(mu=0.4, restitution=0.2))
    return xpbd_scenes.stirred(builder)


def balloon():
    """A block blown up, on a plane."""
    builder = ModelBuilder()
    builder.add_soft_grid((0, 0.02, 0), (0, 0, 0, 1), (0, -1, 0), 2, 2, 2, 0.1, 0.1, 0.1, 300.0, youngs_modulus=5e3)
    builder.add_pressure(range(builder.triangles.count), 1.2, 1e4)
    builder.add_ground_plane()
    return xpbd_scenes.stirred(builder, 0.2)


SCENES = {**xpbd_scenes.SCENES, "wind": blown, "pressure": balloon}


def faster(builder, k):
    """The scene of a world: the same with other velocities and masses."""
    builder.particles["qd"][:] *= 1.0 + 0.3 * k
    builder.particles["mass"][:] *= 1.0 + 0.1 * k
    return builder


def together(scenes, **options):
    builder = ModelBuilder()
    for scene in scenes:
        builder.add_world(scene)
    return builder.finalize(**options)


def run(model, steps=6, kinds=(), winds=None, substeps=4, solver=None, **options):
    """The state after some steps, and contacts."""
    solver = solver or SolverXPBD(model, substeps, **options)
    state, control, contacts = model.state(), model.control(), [kind(model) for kind in kinds]
    if winds is not None:
        control.wind.assign(winds)
    for _ in range(steps):
        solver.step(state, state, control, contacts, DT)
    return state


def equal(whole, k, alone):
    """Whether a world has the very numbers of a state of its own."""
    mine, theirs = whole.world(k).arrays, alone.arrays
    return all(mine[name].numpy().tobytes() == theirs[name].numpy().tobytes() for name in theirs)


WINDS = np.array([[1.0, 0.0, 0.5], [3.0, 1.0, 0.0], [0.0, 0.0, -4.0]])


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("name", SCENES)
def test_each_world_moves_as_the_model_that_holds_it_alone(name, dtype):
    """On top of each other, with other velocities, masses and winds: bit for bit."""
    scenes = [faster(SCENES[name](), k) for k in range(3)]
    whole = run(together(scenes, dtype=dtype), winds=WINDS)
    for k, scene in enumerate(scenes):
        assert equal(whole, k, run(scene.finalize(dtype=dtype), winds=WINDS[k : k + 1]))
    assert len({whole.world(k).particle_q.numpy().tobytes() for k in range(3)}) == 3


@pytest.mark.parametrize("shape", xpbd_scenes.SHAPES)
def test_shapes_of_a_world_are_met_by_it_alone(shape):
    """Shapes of each world, one of all worlds before and one behind them, worlds with fewer shapes, and none."""

    def world(k):
        builder = xpbd_scenes.falling_on(xpbd_scenes.SHAPES[shape] if k != 1 else lambda *_: None)
        builder.particles["q"][:, 1] += 0.01 * k
        builder.shapes["transform"][:, 1] += 0.02 * k
        if k == 2:
            builder.add_shape_sphere((0.2, 0.6, 0.0, 0, 0, 0, 1), 0.1)
        return builder

    whole = ModelBuilder()
    whole.add_shape_box((0.9, 0.5, 0.0, 0, 0, 0, 1), 0.6, 0.3, 0.6)
    for k in range(4):
        whole.add_world(world(k))
    whole.add_ground_plane(0.3)
    model = whole.finalize()
    state = run(model, 12)
    assert not np.isnan(state.particle_q.numpy()).any()
    for k in range(4):
        alone = ModelBuilder()
        alone.add_shape_box((0.9, 0.5, 0.0, 0, 0, 0, 1), 0.6, 0.3, 0.6)
        own, start = world(k), len(alone.sources)
        alone.sources += own.sources
        alone.shapes.repeat(own.shapes, 1, {"source": np.array([start])}, {})
        alone.particles.repeat(own.particles, 1, {}, {})
        alone.add_ground_plane(0.3)
        assert equal(state, k, run(alone.finalize(), 12)), k


def heap(k=0):
    """Balls and a sheet that fall into each other on the ground."""
    builder, rng = ModelBuilder(), np.random.default_rng(7)
    builder.default_particle_radius = 0.02
    builder.add_cloth_grid((-0.2, 0.15, -0.2), FLAT, 0, 6, 6, 0.06, 0.06, 0.002, spring_ke=300.0, edge_ke=1e-4)
    places = 0.045 * np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3) + [-0.05, 0.2, -0.05]
    builder.add_particles(places + rng.uniform(-0.002, 0.002, places.shape), (0, -1.0 - 0.2 * k, 0), 0.005, 0.02)
    builder.add_ground_plane()
    return builder


@pytest.mark.parametrize("kinds", [(Contacts,), (SurfaceContacts,), (Contacts, SurfaceContacts)])
def test_worlds_on_top_of_each_other_do_not_touch(kinds):
    """Nothing of another world is near: what happens is what happens to each of them alone."""
    scenes = [heap(k) for k in range(3)]
    model = together(scenes)
    whole = run(model, 12, kinds)
    for k, scene in enumerate(scenes):
        alone = run(scene.finalize(), 12, kinds)
        assert equal(whole, k, alone)  # these lists have the order of those of the single model
    same = run(together([heap(1)] * 3), 12, kinds)
    assert all(same.world(0).particle_q.numpy().tobytes() == same.world(k).particle_q.numpy().tobytes() for k in (1, 2))


def test_contacts_list_pairs_of_one_world():
    model = together([heap(k) for k in range(3)])
    contacts, surfaces, state = Contacts(model), SurfaceContacts(model), model.state()
    SolverXPBD(model, 2).step(state, state, None, [contacts, surfaces], DT)
    world, counts, near = model.particle_world.numpy(), contacts.counts.numpy(), contacts.neighbors.numpy()
    pairs = [(world[i], world[j]) for i in range(len(world)) for j in near[i, : counts[i]]]
    assert len(pairs) > 100 and all(a == b for a, b in pairs)
    corners = surfaces.corners.numpy()[: surfaces.count]
    assert len(corners) > 50 and (world[corners] == world[corners][:, :1]).all()


@pytest.mark.parametrize("seed", range(10))
def test_what_is_swept_in_one_world_leaves_others_alone(seed):
    """A world with fast surfaces, twice, and between them one where nothing moves: nothing goes through anything."""
    quiet = ModelBuilder(gravity=0.0)
    quiet.add_cloth_grid((0, 0, 0), FLAT, 0, 4, 4, 1.0, 1.0, 1.0, spring_ke=1.0)
    swept = Scene(seed)
    model = together([swept.builder, quiet, swept.builder])
    solver, state = SolverXPBD(model, 1), model.state()
    contacts = SurfaceContacts(model, margin=0.02)
    for _ in range(swept.steps):
        solver.step(state, state, None, contacts, 1.0)
    assert (state.world(1).particle_q.numpy() == model.world(1).particle_q.numpy()).all()
    assert contacts.unresolved == 0 and solver.statistics(state).crossed() is None


def gradients(model, steps, winds, weights, kinds=(), substeps=3):
    """Of a weighted sum of all places in the end: those of materials, controls and the first state, by name."""
    solver, control = SolverXPBD(model, substeps), model.control()
    contacts = [kind(model) for kind in kinds]
    control.wind.assign(winds)
    states = [model.state() for _ in range(steps + 1)]
    with wp.Tape() as tape:
        for before, after in pairwise(states):
            solver.step(before, after, control, contacts, DT)
    tape.backward(grads={states[-1].particle_q: wp.array(weights, dtype=model.vec3)})
    return model, states[0], control


@pytest.mark.parametrize("name", SCENES)
def test_gradients_of_each_world_are_those_of_the_model_that_holds_it_alone(name):
    """Bit for bit but where many particles add to one number, as the wind's: those sums have another order."""
    scenes, rng = [faster(SCENES[name](), k) for k in range(3)], np.random.default_rng(0)
    weights = rng.normal(size=(3, scenes[0].particle_count, 3))
    options = {"requires_grad": True, "dtype": wp.float64}
    whole = gradients(together(scenes, **options), 3, WINDS, weights.reshape(-1, 3))
    compared = 0
    for k, scene in enumerate(scenes):
        alone = gradients(scene.finalize(**options), 3, WINDS[k : k + 1], weights[k])
        for mine, theirs in zip(whole, alone, strict=True):
            for field in theirs.fields:
                one = getattr(theirs, field)
                if one.requires_grad and one.size and not (field == "shape_transform" and mine is whole[0]):
                    ours, single = getattr(mine.world(k), field).grad.numpy(), one.grad.numpy()
                    if field in ("gravity", "wind") or field.startswith(("shape_", "attachment_")):
                        np.testing.assert_allclose(ours, single, rtol=1e-9, atol=1e-12 * np.abs(single).max())
                    else:
                        assert ours.tobytes() == single.tobytes(), (field, k)
                    compared += bool(np.abs(single).max() > 0.0)
    assert compared >= 9


def test_gradients_do_not_cross_from_world_to_world():
    scenes = [heap(k) for k in range(3)]
    weights = np.zeros((3, scenes[0].particle_count, 3))
    weights[1] = 1.0
    model = together(scenes, requires_grad=True)
    _, first, control = gradients(model, 4, np.zeros((3, 3)), weights.reshape(-1, 3), (Contacts, SurfaceContacts))
    for k in range(3):
        size = np.abs(first.world(k).particle_qd.grad.numpy()).max()
        assert (size > 0.0) == (k == 1)
        assert (np.abs(control.world(k).gravity.grad.numpy()).max() > 0.0) == (k == 1)


def test_numbers_of_threads_do_not_show():
    ends = set()
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        state = run(together([heap(k) for k in range(6)]), 6, (Contacts, SurfaceContacts))
        ends.add(state.particle_q.numpy().tobytes() + state.particle_qd.numpy().tobytes())
    assert len(ends) == 1


def test_equal_worlds_share_colours():
    """As many colours as one world has, and each the same ones."""
    one = blown()
    builder = ModelBuilder()
    builder.add_world(one, 5)
    alone, whole = SolverXPBD(one.finalize()), SolverXPBD(builder.finalize())
    for name, constraint in alone.constraints.items():
        colors = constraint.coloring.colors
        assert (whole.constraints[name].coloring.colors == np.tile(colors, 5)).all()


def test_held_bodies_of_all_worlds_bear_their_weight():
    """Equal worlds, another one and one without any tetrahedra, solved as models of their own."""
    other = xpbd_scenes.block()
    other.tetrahedra["mu"][:] *= 3.0
    scenes = [xpbd_scenes.block(), xpbd_scenes.springs(), xpbd_scenes.block(), other]
    whole = run(together(scenes), 10)
    assert all(equal(whole, k, run(scene.finalize(), 10)) for k, scene in enumerate(scenes))


def test_automatic_substeps_are_those_of_the_world_that_needs_most():
    scenes = [faster(blown(), k) for k in (0, 40, 1)]
    model = together(scenes)
    solver, state = SolverXPBD(model, "auto"), model.state()
    counts = []
    for scene in scenes:
        alone = scene.finalize()
        single, own = SolverXPBD(alone, "auto"), alone.state()
        single.step(own, own, dt=0.02)
        counts.append(single.statistics(own).substeps.count)
    solver.step(state, state, dt=0.02)
    choice = solver.statistics(state).substeps
    assert choice.count == max(counts) == counts[1] > counts[0]
    assert "of world 1" in choice.reason


def test_statistics_and_warnings_say_the_world():
    builder = ModelBuilder()
    builder.add_world(blown(), 3)
    model = builder.finalize()
    solver, state = SolverXPBD(model, 2, check=True), model.state()
    q = state.world(2).particle_q.numpy().copy()
    q[8] = [0.3, 0.5, 0.3]  # in the middle of the ball
    state.world(2).particle_q.assign(q)
    i = model.world(2).rows("particle").start + 8
    assert f"particle {i} of world 2 is 0.15 m deep in shape 2" in solver.statistics(state).crossed()
    state.world(1).particle_qd.fill_(np.nan)
    first = model.world(1).rows("particle").start
    assert f"particle {first} of world 1 has numbers" in solver.statistics(state).divergence
    with pytest.raises(Exception, match="of world 1 has numbers"):
        solver.step(state, state, dt=DT)


def test_crossings_are_those_within_a_world():
    """Two sheets that lie through each other, in one world and in two."""

    def sheet(builder, turn):
        builder.add_cloth_grid((-0.5, 0, -0.5) if turn is FLAT else (-0.5, -0.5, 0), turn, 0, 4, 4, 0.25, 0.25, 0.1)
        return builder

    crossed = sheet(sheet(ModelBuilder(), FLAT), (0.0, 0.0, 0.0, 1.0))
    apart = together([sheet(ModelBuilder(), FLAT), sheet(ModelBuilder(), (0.0, 0.0, 0.0, 1.0))])
    assert SolverXPBD(apart).statistics(apart.state()).crossed() is None
    model = together([sheet(ModelBuilder(), FLAT), crossed])
    assert "of world 1 goes through" in SolverXPBD(model).statistics(model.state()).crossed()


def test_a_checked_step_of_many_worlds_is_silent(recwarn):
    run(together([heap(k) for k in range(3)]), 4, (Contacts, SurfaceContacts), substeps=8, check=True)
    assert not [w for w in recwarn if issubclass(w.category, CrossingWarning)]


def test_controls_of_another_model_are_refused():
    builder = ModelBuilder()
    builder.add_world(blown(), 2)
    model, other = builder.finalize(), builder.finalize()
    with pytest.raises(StateError, match="another model"):
        SolverXPBD(model).step(model.state(), model.state(), other.control(), dt=DT)

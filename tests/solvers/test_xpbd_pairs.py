"""Which particles may touch: those that start in touch, fast ones, those with radii that were written later.

And what is said of those that were missed.
"""

import itertools
import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.solvers import (
    AutoSubsteps,
    Contacts,
    CrossingWarning,
    ModelBuilder,
    Scene,
    SolverXPBD,
    StartWarning,
    SurfaceContacts,
)

DT, REST = 1.0 / 60.0, (0.0, 0.0, 0.0, 1.0)
FLAT = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))


def balls(places, velocities=(0.0, 0.0, 0.0), mass=0.1, radius=0.1, gravity=0.0, dtype=wp.float32):
    builder = ModelBuilder(gravity=gravity)
    builder.add_particles(places, velocities, mass, radius)
    return builder.finalize(device="cpu", dtype=dtype)


def run(model, contacts, steps, **options):
    solver, state = SolverXPBD(model, **options), model.state()
    for _ in range(steps):
        solver.step(state, state, None, contacts, DT)
    return state


# ----- at rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("gap", [0.0, 1e-5, -1e-5, 1e-3])
def test_a_ball_rests_on_another_whether_they_touch_as_they_start(dtype, gap):
    model = balls([[0, 0, 0], [0, 0.2 + gap, 0]], mass=[0.0, 0.1], gravity=-9.81, dtype=dtype)
    assert run(model, Contacts(model), 60).particle_q.numpy()[1, 1] == pytest.approx(0.2, abs=1e-3)


def test_what_starts_inside_of_another_body_warns_with_the_first_pair_and_is_left_alone():
    model = balls([[5, 0, 0], [0, 0, 0], [0, 0.15, 0], [0, 0.31, 0]], radius=[0.1, 0.1, 0.1, 0.1])
    with pytest.warns(StartWarning, match=r"particles 1 and 2 start 0\.05 m inside of each other") as told:
        contacts = Contacts(model)
    assert len(told) == 1 and told[0].filename == __file__
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    assert contacts.counts.numpy().tolist() == [0, 0, 0, 0]


def test_large_and_small_balls_that_start_inside_of_each_other_are_told():
    model = balls([[0, 0, 0], [0.3, 0, 0], [0, 0.55, 0]], radius=[0.4, 0.01, 0.01])
    with pytest.warns(StartWarning, match=r"particles 0 and 1 start 0\.11 m inside"):
        Contacts(model)


def test_held_balls_may_start_inside_of_each_other():
    model = balls([[0, 0, 0], [0, 0.15, 0]], mass=0.0)
    Contacts(model)  # warnings are errors here


@pytest.mark.parametrize("join", ["spring", "triangle", "tetrahedron", "edge"])
def test_what_is_joined_is_one_body_and_its_neighbours_at_rest_do_not_touch(join):
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]], radius=0.1)
    if join == "spring":
        for i in range(3):
            builder.add_spring(i, i + 1, 1e3)
    elif join == "triangle":
        builder.add_triangle(0, 1, 2)
        builder.add_triangle(1, 2, 3)
    elif join == "edge":
        builder.add_edge(0, 1, 2, 3, 1e-3)
    else:
        builder.add_tetrahedron(0, 1, 2, 3)
    model = builder.finalize(device="cpu")
    contacts = Contacts(model, margin=0.1)
    assert contacts.bodies.numpy().tolist() == [0, 0, 0, 0]
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    near = np.linalg.norm(model.particle_q.numpy()[:, None] - model.particle_q.numpy(), axis=2) > 0.2 * (1 + 1e-6)
    assert contacts.counts.numpy().tolist() == near.sum(axis=1).tolist()


def test_loose_particles_are_bodies_of_their_own():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((9, 9, 9))
    builder.add_cloth_grid((0, 0, 0), REST, 0.0, 2, 2, 0.1, 0.1, 0.01, spring_ke=1e3)
    builder.add_particle((9, 9, 8))
    bodies = Contacts(builder.finalize(device="cpu")).bodies.numpy()
    assert len(set(bodies.tolist())) == 3 and len(set(bodies[1:10].tolist())) == 1


@pytest.mark.parametrize("lower", ["cloth", "held triangle"])
def test_surfaces_of_different_bodies_that_start_in_touch_keep_apart(lower):
    """One lies on the other, exactly as far away as both are thick."""
    builder = ModelBuilder()
    builder.default_particle_radius = 0.01
    if lower == "cloth":
        builder.add_cloth_grid((-0.1, 0, -0.1), FLAT, 0.0, 4, 4, 0.05, 0.05, 0.0, spring_ke=1e3)
    else:
        builder.add_particles([[-1, 0, -1], [-1, 0, 1], [2, 0, 0]], mass=0.0, radius=0.01)
        builder.add_triangle(0, 1, 2)
    first = builder.particle_count
    builder.add_cloth_grid((-0.09, 0.02, -0.08), FLAT, 0.0, 3, 3, 0.05, 0.05, 0.001, spring_ke=1e3)
    model = builder.finalize(device="cpu")
    contacts = SurfaceContacts(model)
    assert run(model, contacts, 30).particle_q.numpy()[first:, 1].min() > 0.0195 and contacts.count > 0


def test_edges_that_start_in_touch_keep_apart():
    """Two narrow strips cross, with no corner over the other's triangles."""
    model = crossed_strips(0.02)
    q = run(model, SurfaceContacts(model), 30).particle_q.numpy()
    assert q[4:, 1].mean() > 0.019


def crossed_strips(gap):
    builder = ModelBuilder()
    builder.add_particles([[-1, 0, 0], [1, 0, 0], [1, 0, 0.02], [-1, 0, 0.02]], mass=0.0, radius=0.01)
    builder.add_particles([[0, gap, -1], [0, gap, 1], [0.02, gap, 1], [0.02, gap, -1]], mass=0.01, radius=0.01)
    for k in (0, 4):
        builder.add_triangle(k, k + 1, k + 2)
        builder.add_triangle(k, k + 2, k + 3)
        for i, j in itertools.combinations(range(4), 2):
            builder.add_spring(k + i, k + j, 1e5)
    return builder.finalize(device="cpu", dtype=wp.float64)


def test_surfaces_that_start_inside_of_each_other_are_told():
    with pytest.warns(StartWarning, match=r"edge of particles \[\d, \d\] and the edge of .* start 0\.005 m"):
        SurfaceContacts(crossed_strips(0.015))
    builder = ModelBuilder()
    builder.default_particle_radius = 0.01
    for height in (0.0, 0.012):
        builder.add_cloth_grid((0, height, 0), FLAT, 0.0, 2, 2, 0.05, 0.05, 0.001, spring_ke=1e3)
    with pytest.warns(StartWarning, match=r"(edge|particle) .* start 0\.008 m inside") as told:
        SurfaceContacts(builder.finalize(device="cpu"))
    assert len(told) == 1 and told[0].filename == __file__


# ----- radii that are written later ---------------------------------------------------------------


@pytest.mark.parametrize("first", [0.0, 0.01])
def test_radii_that_are_written_later_count(first):
    """Also in steps that are replayed, and in captured graphs."""
    model = balls([[0, 0, 0], [0, 1, 0]], mass=[0.0, 0.1], radius=first, gravity=-9.81)
    contacts, solver = Contacts(model), SolverXPBD(model)
    heights = []
    for captured in (False, True):
        model.particle_radius.assign([first, first])
        state = model.state()
        if captured:
            with wp.ScopedCapture(device="cpu") as capture:
                solver.step(state, state, None, contacts, DT)
        for k in range(60):
            if k == 4:
                model.particle_radius.assign([0.2, 0.2])
            if captured:
                wp.capture_launch(capture.graph)
            else:
                solver.step(state, state, None, contacts, DT)
        heights.append(state.particle_q.numpy()[1, 1])
    assert heights[0] == heights[1] == pytest.approx(0.4, abs=1e-3)


def test_radii_may_be_written_to_points_without_any_margin():
    model = balls([[0, 0, 0], [0, 1, 0]], radius=0.0)
    contacts, counts = Contacts(model, margin=0.0), []
    near = wp.array([[0, 0, 0], [0, 0.79, 0]], dtype=wp.vec3)
    for radius in (0.0, 0.4):
        model.particle_radius.assign([radius, radius])
        contacts.begin_step(near, model.particle_qd, DT)
        counts.append(contacts.counts.numpy().tolist())
    assert counts == [[0, 0], [1, 1]]


def test_a_saved_scene_goes_on_with_radii_that_were_written(tmp_path):
    """Neighbours keep their order, which the grid of the first radii has."""
    places = 0.09 * np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 3)
    rng = np.random.default_rng(0)
    model = balls(places + rng.uniform(0, 0.01, places.shape), -places, radius=0.01)
    contacts, solver, state = Contacts(model), SolverXPBD(model, substeps=4), model.state()
    model.particle_radius.assign(np.full(64, 0.038))
    solver.step(state, state, None, contacts, DT)
    Scene(state=state, solver=solver, contacts=contacts).save(tmp_path / "run.scene")
    loaded = Scene.load(tmp_path / "run.scene")
    for _ in range(20):
        solver.step(state, state, None, contacts, DT)
        loaded.solver.step(loaded.state, loaded.state, None, loaded.contacts, DT)
    assert (state.particle_q.numpy() == loaded.state.particle_q.numpy()).all()


# ----- faster than the margin ---------------------------------------------------------------------


@pytest.mark.parametrize("substeps", [10, "auto"])
@pytest.mark.parametrize("speed", [0.5, 2.0, 5.0, 20.0, 200.0])
@pytest.mark.parametrize("radius", [0.1, 0.02])
def test_fast_balls_meet_whatever_the_margin_is(radius, speed, substeps):
    substeps = AutoSubsteps(most=1000) if substeps == "auto" else substeps
    for places in ([[-0.5037, 0, 0], [0, 0, 0]], [[0, 0, 0], [0.5037, 0, 0]]):
        model = balls(places, [[speed, 0, 0], [0, 0, 0]], radius=radius)
        contacts = Contacts(model, restitution=1.0)
        v = run(model, contacts, int(40 / speed) + 2, substeps=substeps, check=True).particle_qd.numpy()
        assert np.allclose(v, [[0, 0, 0], [speed, 0, 0]], atol=1e-4 * speed)


def scattered(seed, dtype=wp.float64):
    """Balls of several sizes, most of them slow, some fast, all with a common velocity."""
    rng = np.random.default_rng(seed)
    places, speeds = rng.uniform(0.0, 0.6, (300, 3)), 10 ** rng.uniform(-2, 1.3, (300, 1))
    moving = rng.normal(size=(300, 3)) * speeds + [0, -30.0, 0]
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles(places, moving, 0.1, rng.uniform(0.005, 0.03, 300))
    model = builder.finalize(device="cpu", dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)
        return model, Contacts(model, margin=0.01, capacity=128)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_a_step_are_those_that_a_search_of_all_ways_finds(seed):
    """All that come into each other are there, each in both lists, once; and none that stay far apart."""
    model, contacts = scattered(seed)
    contacts.begin_step(model.particle_q, model.particle_qd, DT)
    q, r, way = model.particle_q.numpy(), model.particle_radius.numpy(), DT * model.particle_qd.numpy()
    offset, move, touch = q[:, None] - q, way[:, None] - way, r[:, None] + r
    with np.errstate(invalid="ignore"):
        t = np.clip(np.nan_to_num(-(offset * move).sum(axis=2) / (move**2).sum(axis=2)), 0.0, 1.0)
    least, loose = np.linalg.norm(offset + t[..., None] * move, axis=2), np.linalg.norm(offset, axis=2) > touch
    must, may = (least < touch) & loose, (least < touch + 0.01) & loose
    np.fill_diagonal(may, False)
    lists, counts = contacts.neighbors.numpy(), contacts.counts.numpy()
    listed = np.zeros_like(must)
    for i, count in enumerate(counts):
        assert len(set(lists[i, :count].tolist())) == count
        listed[i, lists[i, :count]] = True
    assert contacts.overflow == 0 and (listed == listed.T).all()
    assert not (must & ~listed).any() and not (listed & ~may).any()
    assert (must & (np.linalg.norm(offset, axis=2) > touch + 0.01)).sum() > 50


def test_pairs_of_a_step_are_the_same_on_any_number_of_threads_also_where_they_do_not_fit():
    lists, before = [], pool.get_pool().threads
    try:
        for threads in (1, 2, 4):
            wp.set_num_threads(threads)
            model, _ = scattered(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StartWarning)
                contacts = Contacts(model, capacity=2)
            contacts.begin_step(model.particle_q, model.particle_qd, DT)
            lists.append((contacts.neighbors.numpy().tobytes(), contacts.counts.numpy().tobytes()))
            assert contacts.overflow > 0
    finally:
        wp.set_num_threads(before)
    assert lists[0] == lists[1] == lists[2]


def test_balls_that_others_hit_beyond_the_margin_are_told():
    """The second flies on in the same step, and through the third; a wider margin keeps them apart."""
    for margin in (0.01, 0.4):
        model = balls([[-0.1, 0, 0], [0, 0, 0], [0.2, 0, 0]], [[30, 0, 0], [0, 0, 0], [0, 0, 0]], radius=0.02)
        contacts = Contacts(model, margin=margin, restitution=1.0)
        solver, state = SolverXPBD(model, check=True), model.state()
        if margin > 0.1:
            solver.step(state, state, None, contacts, DT)  # warnings are errors here
            continue
        with pytest.warns(CrossingWarning, match=r"step 0: particles 1 and 2 met, .*\nhelp: Contacts\(margin") as told:
            for _ in range(3):
                solver.step(state, state, None, contacts, DT)
        assert len(told) == 1 and told[0].filename == __file__


def test_balls_that_full_lists_left_out_are_told():
    places = [[0, 0, 0], [0.21, 0, 0], [-0.21, 0, 0], [0, 0.21, 0], [0, -0.21, 0]]
    model = balls(places, [[0, 0, 0], [-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]])
    with pytest.warns(CrossingWarning, match="capacity=... where its overflow is above 0"):
        run(model, Contacts(model, capacity=2), 2, check=True)


def test_checkpoints_keep_gradients_of_fast_balls():
    gradients = []
    for checkpointed in (False, True):
        model = balls([[-0.5, 0, 0], [0, 0.01, 0]], [[20.0, 0, 0], [0, 0, 0]], radius=0.02, dtype=wp.float64)
        contacts, solver = Contacts(model, restitution=0.5), SolverXPBD(model, substeps=4)
        start, state = model.state(requires_grad=True), model.state(requires_grad=True)

        def step(k, state=state, contacts=contacts, solver=solver):
            solver.step(state, state, None, contacts, DT)

        with wp.Tape() as tape:
            state.assign(start)
            if checkpointed:
                scratch = [*solver.scratch, *contacts.scratch]
                wp.checkpoint(step, list(state.arrays.values()), 6, scratch=scratch)
            else:
                for k in range(6):
                    step(k)
        tape.backward(grads={state.particle_q: wp.ones(2, dtype=wp.vec3d)})
        gradients.append(start.particle_q.grad.numpy().copy())
        assert abs(state.particle_qd.numpy()[1, 0]) > 5.0
    assert (gradients[0] == gradients[1]).all() and np.abs(gradients[0]).max() > 0

"""Surfaces that go through each other within one substep: the moment is exact, impulses conserve momentum, and nothing
is entangled at the end, whatever flies into what.

WARPSIM_SWEPT_SCENES=200 makes that many random scenes, instead of a few.
"""

import os
import warnings

import numpy as np
import pytest
from swept_scenes import Scene, crossings

import warpsim as wp
from warpsim.solvers import ModelBuilder, SolverXPBD, StartWarning, SurfaceContacts

SCENES = int(os.environ.get("WARPSIM_SWEPT_SCENES", "0")) or 25


def run(scene, steps, device="cpu", dtype=wp.float64, iterations=1, friction=0.2):
    model = scene.builder.finalize(device=device, dtype=dtype)
    solver, state = SolverXPBD(model, substeps=1, iterations=iterations), model.state()
    contacts = SurfaceContacts(model, friction=friction)
    for _ in range(steps):
        solver.step(state, state, None, contacts, 1.0)
    return model, solver, state, contacts


# ----- nothing is entangled -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SCENES))
def test_what_flies_into_each_other_is_never_entangled(seed):
    """After no substep; with one iteration and two, with friction and without, in both precisions."""
    scene = Scene(seed)
    model = scene.builder.finalize(device="cpu", dtype=wp.float32 if seed % 3 == 0 else wp.float64)
    solver, state = SolverXPBD(model, substeps=1, iterations=1 + seed // 5 % 2), model.state()
    contacts, faces = SurfaceContacts(model, friction=0.2 * (seed % 3)), model.tri_indices.numpy()
    for step in range(scene.steps):
        solver.step(state, state, None, contacts, 1.0)
        told = solver.statistics(state).crossed()
        assert told is None, f"{scene.kind}, {scene.speed:.2f} lengths per substep, step {step}: {told}"
        assert crossings(state.particle_q.numpy().astype(np.float64), faces) == 0
    assert contacts.unresolved == 0


def test_without_contact_most_of_these_scenes_are_entangled():
    entangled = []
    for seed in range(10):
        scene = Scene(seed)
        model = scene.builder.finalize(device="cpu", dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=1), model.state()
        for _ in range(scene.steps):
            solver.step(state, state, None, None, 1.0)
            if solver.statistics(state).crossed():
                entangled.append(seed)
                break
    assert len(entangled) >= 7, entangled


@pytest.mark.parametrize("seed", [0, 1, 5, 10])
def test_impacts_and_zones_conserve_momentum(seed):
    scene = Scene(seed)
    _, solver, state, _ = run(scene, 0)
    before = solver.statistics(state).momentum.copy()
    _, solver, state, _ = run(scene, scene.steps)
    scale = scene.speed * solver.statistics(state).mass
    np.testing.assert_allclose(solver.statistics(state).momentum, before, atol=1e-13 * scale)


# ----- moments ------------------------------------------------------------------------------------


def crossed_edges(way, seed=0, pairs=40):
    """Borders of triangles, one of each pair held, that meet within one substep of 1 s; and the moments [s].

    way: lengths of an edge per substep.
    """
    rng, builder = np.random.default_rng(seed), ModelBuilder(gravity=0.0)
    moments = rng.uniform(0.1, 0.9, pairs)
    for k, moment in enumerate(moments):
        turn, around, (s, t) = rng.uniform(0.4, np.pi - 0.4), rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.2, 0.8, 2)
        steep = rng.uniform(0.2, 0.9)
        v = way * np.array([*(np.sqrt(1.0 - steep**2) * np.array([np.cos(around), np.sin(around)])), -steep])
        along = np.array([np.cos(turn), np.sin(turn), 0.0])
        here, x = np.array([20.0 * k, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
        first = builder.add_particles(here + np.array([-s * x, (1.0 - s) * x, [0.0, 0.3, -2.0]]), 0.0, 0.0, 0.02).start
        moving = here + np.array([-t * along, (1.0 - t) * along, [0.2, 0.0, 2.0]]) - moment * v
        builder.add_particles(moving, v, 1.0, 0.02)
        builder.add_triangles([(first, first + 1, first + 2), (first + 3, first + 4, first + 5)])
    return builder.finalize(device="cpu", dtype=wp.float64), moments


def ways(model):
    """Packed particles after free motion for 1 s, and where they were."""
    q, v, mass = model.particle_q.numpy(), model.particle_qd.numpy(), model.particle_mass.numpy()
    inverse = np.where(mass > 0.0, 1.0 / np.maximum(mass, 1e-300), 0.0)
    return wp.array(np.column_stack([q + v, inverse]), dtype=wp.vec4d), model.particle_q


@pytest.mark.parametrize("way", [0.5, 1.0, 2.0, 8.0])
def test_edges_that_go_through_each_other_are_listed_with_their_moment(way):
    model, moments = crossed_edges(way)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)  # short ways begin within the thickness
        impacts = SurfaceContacts(model).impacts
    x, start = ways(model)
    impacts.begin()
    impacts.find(start, x)
    corners, listed = impacts.corners.numpy()[: impacts.count], impacts.moments.numpy()[: impacts.count]
    mine = (listed < 0.0) & (corners % 6 == [0, 1, 3, 4]).all(axis=1)
    pairs = corners[mine, 0] // 6
    assert sorted(pairs) == list(range(len(moments)))
    np.testing.assert_allclose(listed[mine] + 2.0, moments[pairs], atol=1e-12)


def corner_through(face_moves=False):
    """A corner and a triangle beside it, of which one moves so that the corner goes through after 0.4 s."""
    builder, v = ModelBuilder(gravity=0.0), np.array([2.0, 1.0, -1.5])
    builder.add_particles([[0, 0, 0], [1, 0, 0], [0, 1, 0]], -v if face_moves else 0.0, [1.0, 2.0, 1.5], 0.02)
    builder.add_particle(np.array([0.3, 0.3, 0.0]) - 0.4 * v, 0.0 if face_moves else v, 1.0, 0.02)
    builder.add_triangles([(0, 1, 2)])
    return builder


@pytest.mark.parametrize("face_moves", [False, True])
def test_a_corner_that_begins_and_ends_beside_a_triangle_is_stopped_on_it(face_moves):
    """It keeps its speed along the triangle, and slides off."""
    model = corner_through(face_moves).finalize(device="cpu", dtype=wp.float64)
    solver, state, contacts = SolverXPBD(model, substeps=1), model.state(), SurfaceContacts(model, friction=0.0)
    impacts = contacts.impacts
    x, start = ways(model)
    impacts.begin()
    impacts.find(start, x)
    assert impacts.moments.numpy()[: impacts.count] == pytest.approx([0.4], abs=1e-12)
    solver.step(state, state, None, contacts, 1.0)
    q = state.particle_q.numpy()
    assert q[3, 2] - np.array([0.4, 0.3, 0.3]) @ q[:3, 2] == pytest.approx(0.04)
    np.testing.assert_allclose(q[:, :2], x.numpy()[:, :2], atol=1e-12)
    end = wp.array(np.column_stack([q, x.numpy()[:, 3]]), dtype=wp.vec4d)
    impacts.begin()
    impacts.find(start, end)
    assert impacts.count == 0


def test_what_is_slow_or_far_is_not_swept():
    model, _ = crossed_edges(0.004)
    with pytest.warns(StartWarning):
        contacts = SurfaceContacts(model)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    solver.step(state, state, None, contacts, 1.0)
    assert contacts.fast.numpy()[0] == 0
    state.particle_qd.assign(1000.0 * state.particle_qd.numpy())
    solver.step(state, state, None, contacts, 1.0)
    assert contacts.fast.numpy()[0] == 1


# ----- zones --------------------------------------------------------------------------------------


def test_zones_end_what_impulses_do_not(monkeypatch):
    """Without rounds of impulses; held ones in the zone keep their own way."""
    monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._EARLY", 0)
    monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._LATE", 0)
    for seed in (0, 1, 2, 4, 5):
        scene = Scene(seed)
        model, solver, state, contacts = run(scene, 0)
        before, faces = solver.statistics(state).momentum.copy(), model.tri_indices.numpy()
        for _ in range(scene.steps):
            solver.step(state, state, None, contacts, 1.0)
            assert crossings(state.particle_q.numpy(), faces) == 0
        assert contacts.unresolved == 0
        if seed != 2:
            scale = scene.speed * solver.statistics(state).mass
            np.testing.assert_allclose(solver.statistics(state).momentum, before, atol=1e-12 * scale)


def pinched():
    """A triangle between two held plates that fly into each other: nothing can be right."""
    builder = ModelBuilder(gravity=0.0)
    for side in (-1.0, 1.0):
        first = builder.add_particles(
            [[-3, -3, side], [3, -3, side], [0, 3, side]], [0.0, 0.0, -1.6 * side], 0.0, 0.02
        ).start
        builder.add_triangles([(first, first + 1, first + 2)])
    builder.add_particles([[-0.2, -0.2, 0.1], [0.2, -0.2, -0.1], [0.0, 0.2, 0.0]], 0.0, 1.0, 0.02)
    builder.add_triangles([(6, 7, 8)])
    return builder


def test_what_held_surfaces_pinch_is_told():
    model = pinched().finalize(device="cpu", dtype=wp.float64)
    solver, state, contacts = SolverXPBD(model, substeps=1), model.state(), SurfaceContacts(model)
    solver.step(state, state, None, contacts, 1.0)
    assert contacts.unresolved > 0
    assert np.isfinite(state.particle_q.numpy()).all()


def test_what_begins_entangled_is_told_and_stays_finite():
    builder = ModelBuilder(gravity=0.0)
    builder.add_cloth_grid((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, 3, 3, 1.0, 1.0, 1.0, spring_ke=1.0)
    builder.add_cloth_grid((1.2, 1.3, -1.5), (0.6, 0.0, 0.0, 0.8), (0.0, 0.5, 2.0), 3, 3, 1.0, 1.0, 1.0, spring_ke=1.0)
    model = builder.finalize(device="cpu", dtype=wp.float64)
    solver, state, contacts = SolverXPBD(model, substeps=1), model.state(), SurfaceContacts(model)
    assert solver.statistics(state).crossed()
    for _ in range(3):
        solver.step(state, state, None, contacts, 1.0)
    assert np.abs(state.particle_q.numpy()).max() < 20.0
    assert solver.statistics(state).crossed()


# ----- the same everywhere ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, 10])
def test_threads_do_not_show_in_sweeps(seed):
    ends = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        scene = Scene(seed)
        state = run(scene, scene.steps, dtype=wp.float32)[2]
        ends.append(np.concatenate([state.particle_q.numpy(), state.particle_qd.numpy()]))
    assert (ends[0] == ends[1]).all() and (ends[0] == ends[2]).all()


@pytest.mark.parametrize("zones", [False, True])
def test_sweeps_are_the_same_on_the_interpreter(zones, monkeypatch):
    if zones:
        monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._EARLY", 0)
        monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._LATE", 0)
    ends = []
    for device in ("interp", "cpu"):
        model = corner_through().finalize(device=device, dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=1), model.state()
        solver.step(state, state, None, SurfaceContacts(model), 1.0)
        ends.append(state.particle_q.numpy().copy())
    assert bool(solver.sweeps.zones.struck.numpy().any()) == zones
    np.testing.assert_allclose(*ends, rtol=1e-12, atol=1e-12)


def test_steps_in_a_capture_and_eager_ones_are_the_same():
    """The first step of a kind runs launch by launch, others as graphs with branches; a capture has them too."""
    ends = []
    for captured in (False, True):
        scene = Scene(10)
        _, solver, state, contacts = run(scene, 0)
        if captured:
            with wp.ScopedCapture(device="cpu") as capture:
                solver.step(state, state, None, contacts, 1.0)
        for _ in range(scene.steps):
            if captured:
                wp.capture_launch(capture.graph)
            else:
                solver._graphs._graphs.clear()
                solver.step(state, state, None, contacts, 1.0)
        ends.append(state.particle_q.numpy().copy())
    assert (ends[0] == ends[1]).all()


def test_a_tape_in_a_capture_records_every_round():
    """It has no branches, and ends where others end."""
    model = small_sheets().finalize(device="cpu", dtype=wp.float64)
    contacts, solver, ends = SurfaceContacts(model), SolverXPBD(model, substeps=1), []
    for captured in (False, True):
        start, end = model.state(requires_grad=True), model.state(requires_grad=True)
        seed = wp.ones(model.particle_count, dtype=wp.vec3d)

        def differentiate(start=start, end=end, seed=seed):
            with wp.Tape() as tape:
                solver.step(start, end, None, contacts, 1.0)
            tape.backward(grads={end.particle_q: seed})

        if captured:
            with wp.ScopedCapture(device="cpu") as capture:
                differentiate()
            wp.capture_launch(capture.graph)
        else:
            differentiate()
        ends.append((end.particle_q.numpy().copy(), start.particle_qd.grad.numpy().copy()))
    np.testing.assert_allclose(ends[1][0], ends[0][0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ends[1][1], ends[0][1], rtol=1e-9, atol=1e-9)


# ----- gradients ----------------------------------------------------------------------------------


def rollout(builder, steps):
    """A solver's way through impacts on a tape: arrays that have gradients, and the loss as a function of them."""
    model = builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    contacts, solver = SurfaceContacts(model, friction=0.05), SolverXPBD(model, substeps=1)
    start, weights = model.state(requires_grad=True), np.random.default_rng(1).normal(size=(model.particle_count, 3))

    def fly():
        state = model.state(requires_grad=True)
        state.assign(start)
        for _ in range(steps):
            solver.step(state, state, None, contacts, 1.0)
        return state

    with wp.Tape() as tape:
        end = fly()
    tape.backward(grads={end.particle_q: wp.array(weights, dtype=wp.vec3d)})
    arrays = {"q": start.particle_q, "qd": start.particle_qd, "mass": model.particle_mass}
    arrays |= {"radius": model.particle_radius, "friction": contacts.friction}
    return arrays, lambda: float((fly().particle_q.numpy() * weights).sum()), contacts, solver


def small_sheets(seed=3):
    """Two of 2 x 2 cells, askew, that meet in one substep."""
    rng, builder = np.random.default_rng(seed), ModelBuilder(gravity=0.0)
    builder.default_particle_radius = 0.05
    for side in (1.0, -1.0):
        angle = 0.5 * rng.uniform(0.2, 1.0)
        skew = (0.0, 0.0, np.sin(angle), np.cos(angle))
        corner = np.array([-1.0, -1.0, side]) + 0.1 * rng.normal(size=3)
        builder.add_cloth_grid(corner, skew, [0.3, 0.2, -2.0 * side], 2, 2, 1.0, 1.0, 1.0, spring_ke=5.0)
    builder.particles["qd"][:] += 0.1 * rng.normal(size=(builder.particle_count, 3))
    return builder


MAKE = {"a corner": corner_through, "a triangle": lambda: corner_through(True), "sheets": small_sheets}


def check_gradients(arrays, loss):
    base = loss()
    for name, x in arrays.items():
        before, gradient = x.numpy().copy(), x.grad.numpy().copy()
        direction = np.random.default_rng(2).normal(size=before.shape)
        slope, losses = (gradient * direction).sum(), {}
        for step in (1e-6, -1e-6, 2e-4, 1e-4):
            x.assign(before + step * direction)
            losses[step] = loss()
        x.assign(before)
        assert slope == pytest.approx((losses[1e-6] - losses[-1e-6]) / 2e-6, rel=1e-5, abs=1e-8), name
        left = [abs(losses[step] - base - step * slope) for step in (2e-4, 1e-4)]
        if left[1] > 1e-11:
            assert 1.9 < np.log2(left[0] / left[1]) < 2.1, name


@pytest.mark.parametrize("what", MAKE)
def test_gradients_go_through_moments_of_impact(what):
    arrays, loss, contacts, _ = rollout(MAKE[what](), 1)
    assert contacts.fast.numpy()[0] and np.abs(arrays["qd"].grad.numpy()).max() > 1e-3
    check_gradients(arrays, loss)


def test_gradients_go_through_zones(monkeypatch):
    monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._EARLY", 0)
    monkeypatch.setattr("warpsim.solvers.xpbd.sweeps._LATE", 0)
    arrays, loss, _, solver = rollout(small_sheets(), 1)
    assert (np.unique(solver.sweeps.zones.zone.numpy(), return_counts=True)[1] > 3).any()
    check_gradients({name: arrays[name] for name in ("q", "qd", "mass")}, loss)


def test_checkpoints_keep_gradients_of_sweeps():
    model = small_sheets().finalize(device="cpu", dtype=wp.float64)
    contacts, solver, steps, results = SurfaceContacts(model), SolverXPBD(model, substeps=1), 5, []
    for checkpointed in (False, True):
        start, state = model.state(requires_grad=True), model.state(requires_grad=True)
        step = lambda k, state=state: solver.step(state, state, None, contacts, 1.0)  # noqa: E731
        with wp.Tape() as tape:
            state.assign(start)
            if checkpointed:
                wp.checkpoint(step, list(state.arrays.values()), steps, scratch=[*solver.scratch, *contacts.scratch])
            else:
                for k in range(steps):
                    step(k)
        tape.backward(grads={state.particle_q: wp.ones(state.particle_q.shape, dtype=wp.vec3d)})
        results.append(start.particle_qd.grad.numpy().copy())
    assert (results[0] == results[1]).all() and np.abs(results[0]).max() > 0


@pytest.mark.parametrize("speed", [10.0, 20.0, 40.0, 80.0])
@pytest.mark.parametrize("friction", [0.1, 0.4])
def test_friction_of_a_swept_impact_is_that_of_its_impulse_at_every_phase(friction, speed):
    """A corner hits a held triangle of 2 cm of thickness: of 0.6 of its speed along it, mu 0.8 goes."""
    radius, h, way = 0.01, 1.0 / 600.0, np.array([0.6, -0.8, 0.0])
    for phase in np.linspace(0.0, 0.9, 7):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particles([[-1, 0, -1], [1, 0, -1], [0, 0, 2]], 0.0, 0.0, radius)
        builder.add_triangles([(0, 1, 2)])
        start = np.array([0.0, 2 * radius, 0.0]) - speed * h * (2 + phase) * way
        builder.add_particle(start, speed * way, 0.5, radius)
        builder.add_particles(np.add(start, [[0, 5, 0.1], [0.1, 5, 0]]), speed * way, 1e-9, radius)
        builder.add_triangles([(3, 4, 5)])
        model = builder.finalize(device="cpu", dtype=wp.float64)
        solver, state = SolverXPBD(model, substeps=4), model.state()
        solver.step(state, state, None, SurfaceContacts(model, friction=friction), 4 * h)
        after = state.particle_qd.numpy()[3] / speed
        assert np.allclose(after, [0.6 - 0.8 * friction, 0.0, 0.0], atol=0.01)

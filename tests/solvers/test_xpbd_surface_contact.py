"""Contact between surfaces: what is found against a search of all pairs, layers that stay apart, momentum, the same
bits on any number of threads and on the interpreter, gradients, refusals."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ModelError, StateError
from warpsim.solvers import Contacts, ModelBuilder, SolverXPBD, StartWarning, SurfaceContacts
from warpsim.solvers.cases.xpbd_drape import crossings
from warpsim.solvers.scene.cloth import edges

DT, REST = 1.0 / 60.0, (0.0, 0.0, 0.0, 1.0)
LYING = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))


def two_sheets(cells=5, speed=2.0, turned=0.3, gap=0.05):
    """One sheet above another, askew, moving down on it; no gravity."""
    builder, size = ModelBuilder(gravity=0.0), 0.4 / cells
    builder.default_particle_radius = 0.01
    builder.add_cloth_grid((-0.2, -0.2, 0.0), REST, 0.0, cells, cells, size, size, 0.01, spring_ke=500.0, edge_ke=1e-4)
    skew = (0.0, 0.0, np.sin(turned / 2), np.cos(turned / 2))
    builder.add_cloth_grid(
        (-0.17, -0.22, gap), skew, (0.1, 0.05, -speed), cells, cells, size, size, 0.01, spring_ke=500.0, edge_ke=1e-4
    )
    return builder


def run(builder, steps, device="cpu", dtype=wp.float64, substeps=4, **options):
    model = builder.finalize(device=device, dtype=dtype)
    solver, state, contacts = SolverXPBD(model, substeps=substeps), model.state(), SurfaceContacts(model, **options)
    for _ in range(steps):
        solver.step(state, state, None, contacts, DT)
    return model, solver, state, contacts


def detect(contacts, q, qd):
    """The contacts of a step with one substep."""
    contacts.begin_step(q, qd, DT)
    contacts.begin_substep(q, qd, DT)


def distance_to_triangle(p, a, b, c):
    """By the plane where the foot is inside, else by the three segments."""
    n = np.cross(b - a, c - a)
    v, w = np.linalg.solve(np.array([b - a, c - a, n]).T, p - a)[:2]
    if min(v, w, 1 - v - w) >= 0:
        return abs((p - a) @ n) / np.linalg.norm(n)

    def on(s, e):
        return np.linalg.norm(s + np.clip((p - s) @ (e - s) / ((e - s) @ (e - s)), 0, 1) * (e - s) - p)

    return min(on(a, b), on(b, c), on(c, a))


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_corners_near_triangles_are_those_that_a_search_finds(dtype):
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    builder.add_particles(rng.uniform(0, 1, (30, 3)), radius=0.03)
    builder.add_triangles(np.arange(24).reshape(8, 3))
    model = builder.finalize(device="cpu", dtype=dtype)
    model.particle_q.assign(rng.permutation(builder.particles["q"]))
    with pytest.warns(StartWarning):
        contacts, state = SurfaceContacts(model, margin=0.05), model.state()
    model.particle_q.assign(3.0 * model.particle_q.numpy())  # so what is 0.02 m apart here is neighbours
    detect(contacts, state.particle_q, state.particle_qd)
    q, faces = state.particle_q.numpy().astype(np.float64), model.tri_indices.numpy()
    expected = {
        (i, t)
        for i in range(30)
        for t in range(8)
        if i not in faces[t] and 0.02 < distance_to_triangle(q[i], *q[faces[t]]) < 0.11
    }
    assert len(expected) > 3
    near, counts = contacts.near.numpy(), contacts.counts.numpy()
    assert {(i, t) for i in range(30) for t in near[i, : counts[i]].tolist()} == expected
    assert contacts.overflow == 0


def test_each_particle_knows_its_contacts_in_order():
    *_, contacts = run(two_sheets(), 2)
    corners, firsts, around = contacts.corners.numpy(), contacts.firsts.numpy(), contacts.around.numpy()
    assert contacts.count > 20
    for i in range(len(firsts) - 1):
        own = around[firsts[i] : firsts[i + 1]]
        assert (np.diff(own) > 0).all() and (corners[own // 4, own % 4] == i).all()
    assert firsts[-1] == 4 * contacts.count


@pytest.mark.parametrize("speed", [2.0, 4.0])
def test_layers_stay_apart(speed):
    """Also at 4 m/s, where one comes 1.7 cm per substep, the thickness of both being 2 cm."""
    model, _, state, contacts = run(two_sheets(speed=speed), 12)
    assert crossings(state.particle_q.numpy(), model.tri_indices.numpy()) == 0 and contacts.overflow == 0
    q = state.particle_q.numpy()
    assert q[:36, 2].mean() < -0.05, "they did not meet"


def test_contact_conserves_momentum():
    _, solver, state, _ = run(two_sheets(), 0)
    before = solver.statistics(state).momentum.copy()
    _, solver, state, _ = run(two_sheets(), 12)
    np.testing.assert_allclose(solver.statistics(state).momentum, before, atol=1e-14)


def test_threads_do_not_show_in_contact_of_surfaces():
    found = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        found.append(run(two_sheets(12), 40, dtype=wp.float32)[2].particle_q.numpy().copy())
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


@pytest.mark.slow
def test_threads_do_not_show_in_five_seconds_of_contact():
    """Two sheets and loose balls fall on an obstacle and a floor, and on each other."""
    found = []
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        builder = two_sheets(10, speed=1.0)
        builder.gravity, builder.particles["q"][:, 1] = -9.81, builder.particles["q"][:, 1] + 0.5
        builder.add_particles([[0.02 * k, 0.9 + 0.05 * k, 0.01 * k] for k in range(5)], mass=0.01)
        builder.add_shape_sphere((0, 0.1, 0, *REST), 0.15)
        builder.add_ground_plane()
        model = builder.finalize(device="cpu")
        solver, state = SolverXPBD(model, substeps=4), model.state()
        contacts = [Contacts(model), SurfaceContacts(model)]
        for _ in range(300):
            solver.step(state, state, None, contacts, DT)
        found.append(np.concatenate([state.particle_q.numpy(), state.particle_qd.numpy()]))
    assert contacts[1].count > 20 and np.isfinite(found[0]).all()
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_contact_of_surfaces_is_the_same_on_the_interpreter():
    builder = two_sheets(1, speed=3.0, gap=0.03)
    expected = run(builder, 1, device="interp", substeps=2)[2].particle_q.numpy()
    *_, state, contacts = run(builder, 1, substeps=2)
    assert contacts.count > 0
    np.testing.assert_allclose(state.particle_q.numpy(), expected, rtol=1e-12, atol=1e-13)


def pierced():
    """A particle that comes down on a triangle, and an edge on another edge, off centre."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[0, 0, 0], [0.3, 0, 0.01], [0.1, 0.3, 0]], mass=[0.1, 0.2, 0.15], radius=[0.02, 0.025, 0.03])
    builder.add_particle((0.12, 0.1, 0.06), (0.3, 0.1, -2.0), 0.1, 0.02)
    builder.add_particles([[0.1, -0.1, 0.05], [0.11, 0.02, 0.06], [0.2, -0.1, 0.5]], [0.1, 0, -1.5], 0.1, 0.02)
    builder.add_triangles([(0, 1, 2), (4, 5, 6)])
    return builder


def test_gradients_go_through_contact_of_surfaces():
    model = pierced().finalize(device="cpu", dtype=wp.float64, requires_grad=True)
    contacts, solver = SurfaceContacts(model, friction=0.2), SolverXPBD(model, substeps=2)
    start, weights = model.state(), wp.array(np.random.default_rng(1).normal(size=(7, 3)), dtype=wp.vec3d)

    def rollout():
        state = model.state()
        state.assign(start)
        for _ in range(3):
            solver.step(state, state, None, contacts, DT)
        return state

    with wp.Tape() as tape:
        end = rollout()
    tape.backward(grads={end.particle_q: weights})
    kinds = contacts.offsets.numpy()
    assert 0 < kinds[7] < kinds[-1], "a corner on a triangle and an edge on an edge were meant to be found"
    inputs = [start.particle_q, start.particle_qd, model.particle_radius, model.particle_mass, contacts.friction]
    for x in inputs:
        gradient, before = x.grad.numpy().copy(), x.numpy().copy()
        direction = np.random.default_rng(2).normal(size=before.shape)
        losses = []
        for side in (1, -1):
            x.assign(before + side * 1e-6 * direction)
            losses.append((rollout().particle_q.numpy() * weights.numpy()).sum())
        x.assign(before)
        assert np.abs(gradient).max() > 1e-4
        assert (gradient * direction).sum() == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5)


def test_checkpoints_keep_gradients_of_contact():
    model = two_sheets(3).finalize(device="cpu", dtype=wp.float64)
    contacts, solver, steps = SurfaceContacts(model), SolverXPBD(model, substeps=2), 8
    found = []
    for checkpointed in (False, True):
        start, state = model.state(requires_grad=True), model.state(requires_grad=True)
        step = lambda k, state=state: solver.step(state, state, None, contacts, DT)  # noqa: E731
        with wp.Tape() as tape:
            state.assign(start)
            if checkpointed:
                scratch = [*solver.scratch, *contacts.scratch]
                wp.checkpoint(step, list(state.arrays.values()), steps, scratch=scratch)
            else:
                for k in range(steps):
                    step(k)
        tape.backward(grads={state.particle_q: wp.ones(state.particle_q.shape, dtype=wp.vec3d)})
        found.append(start.particle_qd.grad.numpy().copy())
    assert (found[0] == found[1]).all() and np.abs(found[0]).max() > 0


def test_what_is_close_at_rest_is_left_alone():
    builder = two_sheets(4, speed=0.0, turned=0.0, gap=0.015)
    with pytest.warns(StartWarning, match=r"particle \d and the triangle of .* start 0\.005 m inside"):
        *_, state, contacts = run(builder, 3)
    assert (np.abs(state.particle_q.numpy() - builder.particles["q"] - [0.0, 0.0, 0.0])[:25] < 1e-12).all()
    model, *_ = run(two_sheets(4, speed=0.0, turned=0.0, gap=0.05), 0)
    contacts, q = SurfaceContacts(model), model.particle_q.numpy()
    q[25:, 2] = 0.015  # as close, but not at rest
    detect(contacts, wp.array(q, dtype=wp.vec3d), model.particle_qd)
    assert contacts.count > 50


def test_more_contacts_than_fit_are_told():
    assert run(two_sheets(6, gap=0.025), 1, capacity=1)[3].overflow > 0


@pytest.mark.parametrize("options", [{"margin": -1.0}, {"friction": -0.1}, {"capacity": 0}])
def test_surface_contacts_without_meaning_are_refused(options):
    model = two_sheets(2).finalize(device="cpu")
    with pytest.raises(ModelError, match="expected: 0 or more, 0 or more, 1 or more"):
        SurfaceContacts(model, **options)


def test_surfaces_need_triangles_and_contacts_their_model():
    builder = ModelBuilder()
    builder.add_particle((0, 0, 0))
    loose, model = builder.finalize(device="cpu"), two_sheets(2).finalize(device="cpu")
    with pytest.raises(ModelError, match=r"(?s)the model has no triangles.*help: add_triangles"):
        SurfaceContacts(loose)
    with pytest.raises(StateError, match="contacts belongs to another model"):
        other = SurfaceContacts(two_sheets(2).finalize(device="cpu"))
        SolverXPBD(model).step(model.state(), model.state(), None, other, DT)


def test_edges_are_those_of_the_triangles():
    model = two_sheets(2).finalize(device="cpu")
    assert (SurfaceContacts(model).edges.numpy() == edges(model.tri_indices.numpy())).all()


@pytest.mark.parametrize("beside", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("phase", [0.0, 0.004])
def test_a_rod_of_held_triangles_stops_cloth_of_larger_cells(beside, phase):
    """A rod 5 mm thick below cells of 5 cm that fall at 7.7 m/s; wherever it hits a cell, and whenever in a substep."""
    builder, cell, radius = ModelBuilder(), 0.05, 0.005
    lying, low = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), -10.0 * cell
    corner = (low + beside * cell, 0.03 + phase + radius, low + beside * cell)
    builder.add_cloth_grid(
        corner, lying, (0.0, -7.7, 0.0), 20, 20, cell, cell, 1e-3, spring_ke=1e4, edge_ke=1e-4, particle_radius=radius
    )
    angles = 2.0 * np.pi * np.arange(6) / 6
    ring = 0.0025 * np.stack([0.0 * angles, np.cos(angles), np.sin(angles)], axis=1)
    half = np.array([0.5, 0.0, 0.0])
    rod = builder.add_particles(np.concatenate([ring - half, ring + half]), 0.0, 0.0, 1e-3)
    i, j = np.arange(6), (np.arange(6) + 1) % 6
    builder.add_triangles(rod.start + np.concatenate([np.stack([i, j, j + 6], 1), np.stack([i, j + 6, i + 6], 1)]))
    _, _, state, contacts = run(builder, 8, substeps=20)
    q = state.particle_q.numpy()[: rod.start]
    assert contacts.overflow == 0
    assert 0.0 < q[:, 1].max() < 0.1, "it hangs over the rod"
    assert q[:, 1].min() < -0.1


def test_a_higher_capacity_makes_room_for_the_most_crowded_particle_as_well():
    """Two sheets twice as thick as their cells are wide: 120 triangles near one corner, of 16 on average and 32."""
    builder = ModelBuilder(gravity=0.0)
    builder.default_particle_radius = 0.02
    for height, speed in ((0.0, 0.5), (0.06, -0.5)):
        builder.add_cloth_grid((-0.05, height, -0.05), LYING, (0.0, speed, 0.0), 8, 8, 0.01, 0.01, 1e-4, spring_ke=1e3)
    model, overflows = builder.finalize(device="cpu"), []
    for capacity in (16, 200):
        contacts = SurfaceContacts(model, margin=0.03, capacity=capacity)
        contacts.begin_substep(model.particle_q, model.particle_qd, 0.01)
        overflows.append(contacts.overflow)
        assert contacts.counts.numpy().max() > 32
    assert overflows[0] > 0 and overflows[1] == 0

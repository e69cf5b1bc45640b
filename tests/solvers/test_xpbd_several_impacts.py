"""Several impacts of XPBD in one substep: corners, one ball with two others, plates behind plates, balls in a box.

The oracles are the impact laws in closed form, momentum and energy. `WARPSIM_BOXED_BALLS=1000` runs that many more
boxes.
"""

import os

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.solvers import Contacts, ModelBuilder, ShapeConfig, SolverXPBD
from warpsim.solvers.cases.xpbd_drape import ball

H = 1.0 / 600.0
MORE = int(os.environ.get("WARPSIM_BOXED_BALLS", "0"))


def finalized(builder):
    return builder.finalize(device="cpu", dtype=wp.float64, requires_grad=True)


def run(model, steps, contacts=None):
    """The state after steps of ten substeps."""
    return watch(model, steps, contacts)[0]


def watch(model, steps, contacts):
    """The same, the most neighbours of a particle as a step began, and the least distance after one."""
    solver, state, most, least = SolverXPBD(model, substeps=10), model.state(), 0, np.inf
    for _ in range(steps):
        solver.step(state, state, None, contacts, 10 * H)
        if contacts is not None:
            q = state.particle_q.numpy()
            apart = np.linalg.norm(q[:, None] - q, axis=2)
            most, least = max(most, contacts.counts.numpy().max()), min(least, apart[~np.eye(len(q), dtype=bool)].min())
    return state, most, least


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("floor_first", [False, True])
def test_a_corner_turns_both_velocities_round_at_every_phase(restitution, floor_first):
    """Each becomes -e times what it was, whichever wall the model has first (I. Newton's law of impact)."""
    for phase in (0.2, 0.5, 0.8):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particle((3.0 * H * (3 + phase), 2.0 * H * (3 + phase), 0), (-3.0, -2.0, 0), 1.0, 0.0)
        for normal in [(0, 1, 0), (1, 0, 0)] if floor_first else [(1, 0, 0), (0, 1, 0)]:
            builder.add_shape_plane(normal, (0, 0, 0), ShapeConfig(mu=0.0, restitution=restitution))
        v = run(finalized(builder), 3).particle_qd.numpy()[0]
        assert np.allclose(v, [3.0 * restitution, 2.0 * restitution, 0.0], atol=1e-9)


def struck(v, normals, mu, restitution):
    """A velocity after impacts one after the other, each with Coulomb's friction of its whole impulse."""
    for n in np.asarray(normals, dtype=float):
        into = min(v @ n, 0.0)
        along = v - (v @ n) * n
        slowed = max(0.0, 1.0 + mu * (1.0 + restitution) * into / max(np.linalg.norm(along), 1e-12))
        v = (v @ n - (1.0 + restitution) * into) * n + slowed * along
    return v


@pytest.mark.parametrize("kind", ["plane", "box"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mu", [0.2, 0.3])
def test_both_walls_of_a_corner_rub(kind, restitution, mu):
    """The second wall is met with what friction of the first has left, and its own slows what the first returned."""
    v = np.array([-5.0, -4.0, 2.0])
    floor, wall = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
    for order in [(floor, wall), (wall, floor)]:
        for down, aside in [(0.2, 0.7), (0.7, 0.2), (0.1, 0.2), (0.8, 0.85)]:
            builder = ModelBuilder(gravity=0.0)
            builder.add_particle((5.0 * H * aside, 4.0 * H * down, 0.0), v, 1.0, 0.0)
            for normal in order:
                surface = ShapeConfig(mu=mu, restitution=restitution)
                if kind == "plane":
                    builder.add_shape_plane(normal, (0, 0, 0), surface)
                else:
                    builder.add_shape_box((*(-np.array(normal)), 0, 0, 0, 1), *(3.0 - 2.0 * np.array(normal)), surface)
            model = finalized(builder)
            solver, state = SolverXPBD(model, substeps=1), model.state()
            for _ in range(2):
                solver.step(state, state, None, None, H)
            after = state.particle_qd.numpy()[0]
            either = [struck(v, normals, mu, restitution) for normals in [(floor, wall), (wall, floor)]]
            assert min(np.linalg.norm(after - expected) for expected in either) < 0.01 * np.linalg.norm(v)


def test_the_corner_of_a_room_turns_three_velocities_round():
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.9 * H * 3, 0.9 * H * 2, 0.9 * H), (-3.0, -2.0, -1.0), 1.0, 0.0)
    for normal in np.eye(3):
        builder.add_shape_plane(tuple(normal), (0, 0, 0), ShapeConfig(mu=0.0, restitution=0.5))
    model = finalized(builder)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    solver.step(state, state, None, None, H)
    assert np.allclose(state.particle_qd.numpy()[0], [1.5, 1.0, 0.5], atol=1e-9)
    assert np.allclose(state.particle_q.numpy()[0], 0.05 * H * np.array([3.0, 2.0, 1.0]), atol=1e-12)


@pytest.mark.parametrize("count", [3, 4, 6, 9])
def test_more_walls_than_a_particle_remembers_stop_it(count):
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.9 * H * 3, 0.9 * H * 2, 0.9 * H), (-3.0, -2.0, -1.0), 1.0, 0.0)
    for k in range(count):
        builder.add_shape_plane(tuple(np.eye(3)[k % 3]), (0, 0, 0), ShapeConfig(mu=0.0, restitution=0.0))
    model = finalized(builder)
    solver, state = SolverXPBD(model, substeps=1), model.state()
    for _ in range(4):
        solver.step(state, state, None, None, H)
        assert state.particle_q.numpy().min() >= -1e-12
    assert np.abs(state.particle_qd.numpy()).max() < 1e-9


def test_gradients_go_through_the_corner_of_a_room():
    """Against central differences, by place, velocity, friction and restitution."""
    builder, rng = ModelBuilder(gravity=-9.81), np.random.default_rng(5)
    start = np.array([0.5 * H * 3, 0.5 * H * 2, 0.5 * H]) * (1.0 + 0.2 * rng.random((5, 3)))
    builder.add_particles(start, (-3.0, -2.0, -1.0), 1.0, 0.0)
    for normal in np.eye(3):
        builder.add_shape_plane(tuple(normal), (0, 0, 0), ShapeConfig(mu=0.1, restitution=0.6))
    model = finalized(builder)
    check_gradients(model, None, ["particle_qd", "shape_mu", "shape_restitution"])


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.8])
def test_gradients_go_through_impacts_of_balls(restitution):
    """Head on and off the middle, one with two others."""
    builder = ModelBuilder(gravity=0.0)
    places = [[-0.5 * H * 40 - 0.06, 0.004, 0], [0, 0.033, 0], [0, -0.031, 0.002]]
    builder.add_particles(places, [[40.0, 0, 0], [0, 0, 0], [0, 0, 0]], [1.0, 2.0, 0.5], 0.03)
    model = finalized(builder)
    contacts = Contacts(model, margin=0.2, friction=0.2, restitution=restitution)
    check_gradients(model, contacts, ["particle_qd", "particle_mass", "particle_radius"])


def check_gradients(model, contacts, names):
    """Of a weighted sum of places and velocities after three substeps, by directions of arrays of model and state."""
    solver, rng = SolverXPBD(model, substeps=1), np.random.default_rng(7)
    weights = rng.normal(size=(2, model.particle_count, 3))

    def fly(state):
        for _ in range(3):
            solver.step(state, state, None, contacts, H)
        return sum((a.numpy() * w).sum() for a, w in zip((state.particle_q, state.particle_qd), weights, strict=True))

    state = model.state()
    with wp.Tape() as tape:
        fly(state)
    ends = (state.particle_q, state.particle_qd)
    tape.backward(grads={a: wp.array(w, dtype=wp.vec3d) for a, w in zip(ends, weights, strict=True)})
    for name in ["particle_q", *names]:
        source = getattr(model, name)
        gradient = getattr(state if name in state.arrays else model, name).grad.numpy()
        before, sides = source.numpy().copy(), []
        direction = rng.normal(size=before.shape) * (1.0 if name in state.arrays else 0.1)
        for side in (1.0, -1.0):
            source.assign(before + side * 1e-6 * direction)
            sides.append(fly(model.state()))
        source.assign(before)
        parts, expected = gradient * direction, (sides[0] - sides[1]) / 2e-6
        assert abs(parts.sum() - expected) <= 1e-5 * (abs(expected) + np.abs(parts).sum()) + 1e-7, name


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_that_hits_two_keeps_momentum_and_makes_no_energy(restitution):
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[-0.5, 0, 0], [0, 0.1, 0], [0, -0.1, 0]], [[2.0, 0, 0], [0, 0, 0], [0, 0, 0]], 1.0, 0.1)
    model = finalized(builder)
    contacts = Contacts(model, margin=0.1, friction=0.0, restitution=restitution)
    contacts.begin_step(model.particle_q, model.particle_qd, 10 * H)
    assert contacts.counts.numpy().tolist() == [0, 1, 1], "the two that touch are neighbours"
    state, most, least = watch(model, 60, contacts)
    v = state.particle_qd.numpy()
    assert most == 2 and least >= 0.2 - (1e-3 if restitution == 0.0 else 1e-9), "each of the three touches both others"
    assert np.allclose(v.sum(axis=0), [2.0, 0.0, 0.0], atol=1e-12)
    assert 0.5 * (v**2).sum() <= 2.0 * (1.0 + 1e-12)
    if restitution == 1.0:
        assert 0.5 * (v**2).sum() >= 0.999 * 2.0  # rounds of velocities leave some
        assert np.allclose(v[:, 0], [-0.4, 1.2, 1.2], atol=2e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_that_hits_a_block_of_balls_keeps_momentum_and_makes_no_energy(restitution):
    grid = np.stack(np.meshgrid(*[np.arange(3) * 0.2] * 3), -1).reshape(-1, 3)
    builder = ModelBuilder(gravity=0.0)
    builder.add_particles([[-0.5, 0.21, 0.17], *grid], [[5.0, 0, 0], *np.zeros((27, 3))], 1.0, 0.1)
    model = finalized(builder)
    contacts = Contacts(model, margin=0.2, friction=0.0, restitution=restitution)
    contacts.begin_step(model.particle_q, model.particle_qd, 10 * H)
    assert contacts.counts.numpy().sum() >= 2 * 54, "those that touch in the block are neighbours"
    state, _, least = watch(model, 60, contacts)
    v = state.particle_qd.numpy()
    assert least > 0.96 * 0.2 and (np.abs(v).max(axis=1) > 1e-6).sum() >= 15, "what was hit hit others"
    assert np.allclose(v.sum(axis=0), [5.0, 0.0, 0.0], atol=1e-12)
    assert (v**2).sum() <= 25.0 * (1.0 + 1e-9)
    if restitution == 1.0:
        assert (v**2).sum() >= 0.9 * 25.0


@pytest.mark.parametrize("apart", [0.001, 0.03, 0.07, 0.09])
def test_a_ball_between_two_that_are_apart_loses_little(apart):
    """The nearer the line of centres is to across, the more the rounds of velocities leave."""
    builder = ModelBuilder(gravity=0.0)
    places = [[-0.5, 0, 0], [0, 0.1 + apart, 0], [0, -0.1 - apart, 0]]
    builder.add_particles(places, [[2.0, 0, 0], [0, 0, 0], [0, 0, 0]], 1.0, 0.1)
    model = finalized(builder)
    v = run(model, 30, Contacts(model, margin=0.1, friction=0.0, restitution=1.0)).particle_qd.numpy()
    assert 0.96 * 4.0 <= (v**2).sum() <= 4.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-3])
@pytest.mark.parametrize("count", [2, 5])
def test_a_row_of_balls_passes_an_impact_on(count, gap):
    """I. Newton's cradle: the last one flies on with all of it, whether they touch or not."""
    builder = ModelBuilder(gravity=0.0)
    places = [[-0.5, 0, 0], *([k * (0.2 + gap), 0, 0] for k in range(count))]
    builder.add_particles(places, [[2.0, 0, 0], *np.zeros((count, 3))], 1.0, 0.1)
    model = finalized(builder)
    state, _, least = watch(model, 60, Contacts(model, margin=0.1, friction=0.0, restitution=1.0))
    assert np.allclose(state.particle_qd.numpy()[:, 0], [0.0] * count + [2.0], atol=1e-6) and least > 0.2 - 1e-9


@pytest.mark.parametrize("off", [0.0, 0.3, 0.6, 0.85])
def test_balls_leave_along_the_line_of_centres_of_their_touch(off):
    """(1 + e) / 2 of the speed along it, for equal balls without friction (E. J. Routh 1860)."""
    r, speed, e = 0.025, 6.0, 0.9
    n = np.array([np.sqrt(1.0 - off * off), -off, 0.0])
    for phase in (0.05, 0.3, 0.6, 0.95):
        builder = ModelBuilder(gravity=0.0)
        start = [-2 * r * n[0] - speed * H * (2 + phase), 2 * r * off, 0.0]
        builder.add_particles([start, [0, 0, 0]], [[speed, 0, 0], [0, 0, 0]], 1.0, r)
        model = finalized(builder)
        v = run(model, 2, Contacts(model, margin=0.3, friction=0.0, restitution=e)).particle_qd.numpy()[1]
        assert np.allclose(v, 0.5 * (1 + e) * speed * n[0] * n, atol=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("speed", [10.0, 20.0, 60.0, 200.0])
def test_balls_do_not_pass_through_a_ball_that_is_held(speed, restitution):
    for phase in np.linspace(0.0, 0.9, 10):
        builder = ModelBuilder(gravity=0.0)
        builder.add_particles(
            [[-(speed * H * (2 + phase) + 0.02), 0, 0], [0, 0, 0]], [[speed, 0, 0], [0, 0, 0]], [1.0, 0.0], 0.01
        )
        model = finalized(builder)
        q = run(model, 3, Contacts(model, margin=speed / 20, friction=0.0, restitution=restitution)).particle_q.numpy()
        assert q[0, 0] <= -0.02 + 1e-9


@pytest.mark.parametrize("speed", [60.0, 120.0, 500.0])
@pytest.mark.parametrize("right_first", [False, True])
def test_a_bounce_does_not_lead_through_the_plate_behind(speed, right_first):
    builder, t, gap = ModelBuilder(gravity=0.0), 0.01, 0.1
    builder.add_particle((gap / 2, 0, 0), (speed, 0, 0), 1.0, 0.005)
    for x in (gap + t, -t) if right_first else (-t, gap + t):
        builder.add_shape_box((x, 0, 0, 0, 0, 0, 1), t, 5, 5, ShapeConfig(mu=0.0, restitution=1.0))
    model = finalized(builder)
    solver, state = SolverXPBD(model, substeps=10), model.state()
    for _ in range(30):
        solver.step(state, state, None, None, 10 * H)
        assert 0.005 - 1e-9 <= state.particle_q.numpy()[0, 0] <= gap - 0.005 + 1e-9
    assert np.isclose(np.abs(state.particle_qd.numpy()[0, 0]), speed, rtol=1e-9)


@pytest.mark.parametrize("speed", [30.0, 100.0, 200.0])
def test_nothing_leaves_a_vessel_or_passes_a_ridge(speed):
    points, faces = ball(3)
    points = (points / np.linalg.norm(points, axis=1)[:, None]).astype(np.float32)
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(np.asarray(faces, np.int32).ravel(), dtype=int))
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0.1, 0.2, 0.05), (speed, 0.3 * speed, 0.1 * speed), 1.0, 0.01)
    builder.add_shape_mesh(None, mesh, (1, 1, 1), ShapeConfig(mu=0.0, restitution=1.0), hollow=True)
    assert np.linalg.norm(run(finalized(builder), 30).particle_q.numpy()[0]) < 1.0
    heights = np.zeros((41, 5))
    heights[20] = 1.0
    builder = ModelBuilder(gravity=0.0)
    phases = np.linspace(0.0, 0.9, 10)
    places = [(-0.5 - speed * H * phase, 0.3, 0.1 * k - 0.5) for k, phase in enumerate(phases)]
    builder.add_particles(places, (speed, 0, 0), 1.0, 0.01)
    lying = (0, 0, 0, -np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    builder.add_shape_heightfield(lying, heights, 2.0, 2.0, ShapeConfig(mu=0.0))
    q = run(finalized(builder), 12).particle_q.numpy()
    assert not ((q[:, 0] > 0.05) & (q[:, 1] < 0.5)).any()


def box_of_balls(seed, most=None):
    """Balls of random masses and speeds up to 200 m/s in a box of six thin plates, in any order."""
    rng, builder, size, t, r = np.random.default_rng(seed), ModelBuilder(gravity=0.0), 0.25, 0.01, 0.03
    count, friction = int(rng.integers(2, 7)), float(rng.choice([0.0, 0.3]))
    count, r, sides = (count, r, 4) if most is None else (most, 0.02, 7)
    restitution = float(rng.choice([0.5, 1.0, rng.uniform(0.1, 1.0)]))
    grid = np.stack(np.meshgrid(*[np.linspace(2 * r - size, size - 2 * r, sides)] * 3), -1).reshape(-1, 3)
    speed = 10 ** rng.uniform(0.0, 2.3)
    places = grid[rng.permutation(len(grid))[:count]]
    builder.add_particles(places, rng.normal(size=(count, 3)) * speed, rng.uniform(0.5, 2.0, count), r)
    for wall in rng.permutation(6):
        pose, scale = np.array([0, 0, 0, 0, 0, 0, 1.0]), np.full(3, 2 * size)
        pose[wall // 2], scale[wall // 2] = (size + t) * (-1) ** wall, t
        builder.add_shape_box(pose, *scale, ShapeConfig(mu=friction, restitution=restitution))
    model = finalized(builder)
    return model, Contacts(model, margin=2 * size, friction=friction, restitution=restitution), size - r


@pytest.mark.parametrize("seed", [*range(12), *range(1000, 1000 + MORE)])
def test_balls_in_a_box_stay_in_it_and_make_no_energy(seed):
    model, contacts, room = box_of_balls(seed)
    solver, state = SolverXPBD(model, substeps=10), model.state()

    def energy():
        return 0.5 * (model.particle_mass.numpy()[:, None] * state.particle_qd.numpy() ** 2).sum()

    first = before = energy()
    for _ in range(40):
        solver.step(state, state, None, contacts, 10 * H)
        assert np.abs(state.particle_q.numpy()).max() <= room + 1e-9
        assert energy() <= before + 1e-9 * first
        before = energy()


def test_several_impacts_are_the_same_on_any_number_of_threads():
    ends, before = [], pool.get_pool().threads
    try:
        for threads in (1, 2, 4):
            wp.set_num_threads(threads)
            model, contacts, _ = box_of_balls(3, 200)  # below some number of threads all run in one
            assert model.particle_count == 200
            ends.append(run(model, 10, contacts).particle_q.numpy().copy())
    finally:
        wp.set_num_threads(before)
    assert all(np.array_equal(end, ends[0]) for end in ends)

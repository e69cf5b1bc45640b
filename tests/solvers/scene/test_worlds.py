"""Worlds in builders and models: copies by number, views that write and have gradients, what is refused."""

import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import warpsim as wp
from warpsim.errors import FixedAttributeError, ModelError
from warpsim.solvers import Contacts, ModelBuilder, Scene, SolverDEM, SolverXPBD

REST = (0.0, 0.0, 0.0, 1.0)


def scene(pull=-9.81):
    """A bit of everything."""
    builder = ModelBuilder(gravity=pull)
    builder.add_cloth_grid((0, 1, 0), REST, (1, 0, 0), 3, 2, 0.1, 0.1, 0.1, spring_ke=1e3, edge_ke=1e-3, fix_left=True)
    builder.add_soft_grid((1, 1, 0), REST, 0, 1, 1, 1, 0.1, 0.1, 0.1, 500.0)
    builder.add_pressure(range(builder.triangles.count - 12, builder.triangles.count))
    builder.add_tethers(range(12))
    box = builder.add_shape_box((2, 0, 0, *REST), 0.1, 0.1, 0.1)
    builder.add_shape_heightfield((3, 0, 0, *REST), np.zeros((3, 3)))
    builder.add_attachment(5, (0.0, 0.1, 0.0), ke=10.0, shape=box)
    builder.add_attachment(6, ke=10.0)
    return builder


def test_copies_are_rows_of_the_scene_with_numbers_of_their_own():
    one, builder = scene(), ModelBuilder()
    ground = builder.add_ground_plane()
    assert builder.add_world(one, 3) == range(3) and builder.add_world(scene(-1.0)) == range(3, 4)
    model, alone = builder.finalize(), one.finalize()
    assert model.world_count == 4 and alone.world_count == 1
    assert model.shape_world.numpy()[ground] == -1
    np.testing.assert_allclose(model.gravity.numpy()[:, 1], [-9.81, -9.81, -9.81, -1.0])
    for k in range(4):
        view = model.world(k)
        for name, f in model.fields.items():
            mine, theirs = getattr(view, name).numpy(), getattr(alone, name).numpy()
            if f.refers:
                first = view.rows(f.refers).start
                mine = np.where(mine < 0, mine, mine - first)
                theirs = np.where(theirs < 0, theirs, theirs) if f.refers != "world" else np.zeros_like(theirs)
            if name != "gravity":
                np.testing.assert_array_equal(mine, theirs, err_msg=name)
        rows = view.rows("pressure")
        faces = model.pressure_faces[rows.start] - view.rows("particle").start
        np.testing.assert_array_equal(faces, alone.pressure_faces[0])


def test_frames_place_particles_shapes_and_targets():
    """As a scene that was built there: positions, velocities, poses, and targets that lie in the world."""
    one, builder = scene(), ModelBuilder()
    turn = Rotation.from_rotvec([0.3, 1.0, -0.4])
    builder.add_world(one, 2, [[0, 0, 0, 0, 0, 0, 1], [1, 2, 3, *turn.as_quat()]])
    model, alone = builder.finalize(dtype=wp.float64), one.finalize(dtype=wp.float64)
    view, place = model.world(1), np.array([1, 2, 3])
    np.testing.assert_allclose(view.particle_q.numpy(), turn.apply(alone.particle_q.numpy()) + place, atol=1e-12)
    np.testing.assert_allclose(view.particle_qd.numpy(), turn.apply(alone.particle_qd.numpy()), atol=1e-12)
    held, free = alone.attachment_target.numpy()
    np.testing.assert_allclose(view.attachment_target.numpy(), [held, turn.apply(free) + place], atol=1e-12)
    poses, own = view.shape_transform.numpy(), alone.shape_transform.numpy()
    np.testing.assert_allclose(poses[:, :3], turn.apply(own[:, :3]) + place, atol=1e-12)
    both = Rotation.from_quat(poses[:, 3:]).as_matrix()
    np.testing.assert_allclose(both, (turn * Rotation.from_quat(own[:, 3:])).as_matrix(), atol=1e-12)
    assert (model.world(0).particle_q.numpy() == alone.particle_q.numpy()).all()
    at = ModelBuilder()
    at.add_world(one, 2, [[0, 0, 0], [5, 0, 0]])
    np.testing.assert_allclose(np.ptp(at.finalize().particle_q.numpy()[:, 0]), 5.0 + np.ptp(one.particles["q"][:, 0]))


def test_views_write_and_have_gradients():
    builder = ModelBuilder()
    builder.add_world(scene(), 3)
    model = builder.finalize(requires_grad=True)
    state, control = model.state(), model.control()
    state.world(1).particle_q.fill_(7.0)
    control.world(2).wind.assign([[1.0, 2.0, 3.0]])
    model.world(0).spring_compliance.zero_()
    rows = model.world(1).rows("particle")
    moved = (state.particle_q.numpy() == 7.0).all(axis=1)
    assert moved[rows.start : rows.stop].all() and moved.sum() == len(rows)
    assert control.wind.numpy().tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 3]]
    springs = model.spring_compliance.numpy()
    assert not springs[: len(springs) // 3].any() and springs[len(springs) // 3 :].all()
    state.particle_q.grad.fill_(2.0)
    assert (state.world(1).particle_q.grad.numpy() == 2.0).all()
    state.world(2).particle_q.grad.zero_()
    assert state.particle_q.grad.numpy().any(axis=1).sum() == 2 * len(rows)
    other = model.state()
    state.particle_q = other.particle_q
    assert (state.world(1).particle_q.numpy() == model.world(1).particle_q.numpy()).all()
    assert set(state.world(1).arrays) == set(state.arrays) and "particle_q" in dir(state.world(1))


def test_views_know_fields_that_solvers_asked_for():
    one, builder = ModelBuilder(), ModelBuilder()
    one.add_particles([(0, 1, 0), (0, 2, 0)], mass=0.1, radius=0.1)
    builder.add_world(one, 2)
    model = builder.finalize()
    SolverDEM(model)
    state = model.state()
    state.world(1).particle_w.fill_(3.0)
    assert state.particle_w.numpy()[:, 0].tolist() == [0, 0, 3, 3]
    assert not hasattr(model.world(0), "particle_w")


def test_what_views_refuse():
    builder = ModelBuilder()
    builder.add_world(scene(), 2)
    model = builder.finalize()
    for number in (-1, 2, "a", 0.5, None):
        with pytest.raises(ModelError, match="expected: 0 to 1"):
            model.world(number)
    with pytest.raises(FixedAttributeError, match="assign"):
        model.state().world(0).particle_q = None
    with pytest.raises(AttributeError, match="has no 'particles'"):
        _ = model.world(0).particles
    with pytest.raises(ModelError, match="expected: one of particle"):
        model.world(0).rows("cloth")
    assert model.world(1).rows("world") == range(1, 2)


@pytest.mark.parametrize("place", [(np.nan, 0, 0), (0, np.inf, 0), (0, 0, -np.inf, 0, 0, 0, 1)])
def test_frames_of_worlds_are_finite(place):
    frames = np.zeros((2, len(place)))
    frames[:, 3:] = place[3:]
    frames[1] = place
    with pytest.raises(ModelError, match="xforms of world 1 are not finite"):
        ModelBuilder().add_world(scene(), 2, frames)


def test_one_world_is_the_plain_model():
    one, builder = scene(), ModelBuilder()
    builder.add_world(one)
    model, alone = builder.finalize(), one.finalize()
    for name in model.fields:
        if name != "shape_world":
            np.testing.assert_array_equal(getattr(model, name).numpy(), getattr(alone, name).numpy())
    assert len(alone.world(0).shape_scale) == alone.shape_count


def test_later_additions_to_a_scene_are_not_in_its_copies():
    one, builder = ModelBuilder(), ModelBuilder()
    one.add_particle((0, 1, 0))
    builder.add_world(one)
    one.add_particle((0, 2, 0))
    one.particles["q"][:] = 9.0
    builder.add_world(one)
    assert builder.finalize().particle_q.numpy()[:, 1].tolist() == [1, 9, 9]


def refused(builder, other, match, **options):
    with pytest.raises(ModelError, match=match):
        builder.add_world(other, **options)


def test_what_cannot_be_a_world():
    builder, one = ModelBuilder(), scene()
    refused(builder, builder, "the builder itself")
    refused(builder, one, "1 or more copies", n=0)
    refused(builder, ModelBuilder("Z"), "up_axis of a world is 'Z'")
    for xforms in (np.zeros((2, 3)), np.zeros((3, 7)), [[0, 0]], 3.0):
        refused(builder, one, r"expected: \(3, 3\) positions", n=3, xforms=xforms)
    builder.add_world(one)
    refused(ModelBuilder(), builder, "a builder with 1 worlds")
    builder.add_particle((0, 0, 0))
    refused(builder, one, "1 particles of its own")
    with pytest.raises(ModelError, match="help: put them into the builder"):
        builder.finalize()


def test_nothing_joins_worlds():
    one = ModelBuilder()
    one.add_particles([(0, 1, 0), (0, 2, 0)])
    builder = ModelBuilder()
    builder.add_world(one, 2)
    builder.add_spring(1, 2)
    with pytest.raises(ModelError, match=r"spring 0 joins particles of worlds \[0, 1\]"):
        builder.finalize()
    one.add_spring(0, 1)
    builder = ModelBuilder()
    builder.add_world(one, 2)
    builder.add_spring(0, 1)
    with pytest.raises(ModelError, match="'spring' do not lie together"):
        builder.finalize()
    ball = ModelBuilder()
    ball.add_particle((0, 1, 0))
    shape = ball.add_shape_sphere()
    builder = ModelBuilder()
    builder.add_world(ball, 2)
    builder.add_attachment(1, (0, 0, 0), shape=shape)
    with pytest.raises(ModelError, match="particle of world 1 by a shape of world 0"):
        builder.finalize()


def test_worlds_of_nothing():
    builder = ModelBuilder()
    builder.add_world(ModelBuilder(), 2)
    builder.add_world(scene())
    builder.add_world(ModelBuilder())
    model = builder.finalize()
    state = model.state()
    SolverXPBD(model, 2).step(state, state, None, Contacts(model), 0.01)
    assert len(model.world(1).particle_q) == 0 and len(model.world(2).particle_q) == scene().particle_count
    empty = ModelBuilder()
    empty.add_world(ModelBuilder(), 3)
    assert empty.finalize().particle_count == 0


def test_worlds_are_saved(tmp_path):
    """Model, views and contacts come back, and go on with the same bits."""
    builder = ModelBuilder()
    builder.add_ground_plane()
    builder.add_world(scene(), 2)
    builder.add_world(scene(-3.0))
    model = builder.finalize()
    solver, state, control, contacts = SolverXPBD(model, 3), model.state(), model.control(), Contacts(model)
    control.world(1).wind.assign([[1.0, 0.0, 2.0]])
    solver.step(state, state, control, contacts, 0.01)
    Scene(solver=solver, state=state, control=control, contacts=contacts).save(tmp_path / "worlds.scene")
    again = Scene.load(tmp_path / "worlds.scene")
    assert again.state.model.world_count == 3
    for name, rows in model.world_rows.items():
        np.testing.assert_array_equal(again.state.model.world_rows[name], rows)
    for _ in range(3):
        solver.step(state, state, control, contacts, 0.01)
        again.solver.step(again.state, again.state, again.control, again.contacts, 0.01)
    assert again.state.particle_q.numpy().tobytes() == state.particle_q.numpy().tobytes()
    assert again.state.world(2).particle_q.numpy().tobytes() == state.world(2).particle_q.numpy().tobytes()


def test_many_copies_are_made_quickly():
    one = ModelBuilder()
    one.add_cloth_grid((0, 1, 0), REST, 0, 16, 16, 0.1, 0.1, 0.1, spring_ke=1e3, edge_ke=1e-3, fix_left=True)
    one.finalize()  # what is compiled is not counted
    times = []
    for add in (lambda b: b.add_world(one, 200), lambda b: [b.add_world(one) for _ in range(200)]):
        builder = ModelBuilder()
        begin = time.process_time()
        add(builder)
        model = builder.finalize()
        times.append(time.process_time() - begin)
        assert model.particle_count == 200 * 17 * 17
    assert max(times) < 5.0, times

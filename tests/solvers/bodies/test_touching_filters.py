"""What does not touch: groups, pairs that ignore each other, in worlds and saved scenes."""

import numpy as np
import pytest
from touching_scenes import add_form, step_all

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, ShapeConfig, ShapeType, SolverBodies

FLOOR, CRATE, GHOST = 1, 2, 4


def height_after(builder, body=0, steps=30):
    return step_all(builder, steps)[1].body_q.numpy()[body, 1]


@pytest.mark.parametrize(
    ("group", "collides_with", "stays"),
    [(CRATE, FLOOR | CRATE, True), (CRATE, CRATE, False), (GHOST, -1, False), (CRATE | GHOST, FLOOR, True)],
)
def test_groups_say_what_touches(group, collides_with, stays):
    """Both have to name the other: the floor does not name ghosts."""
    builder = ModelBuilder()
    builder.add_ground_plane(cfg=ShapeConfig(group=FLOOR, collides_with=CRATE))
    cfg = ShapeConfig(group=group, collides_with=collides_with)
    add_form(builder, "box", (0, 0.25, 0, 0, 0, 0, 1), cfg=cfg)
    assert (height_after(builder) > 0.24) == stays


def test_pairs_ignore_each_other():
    builder = ModelBuilder()
    floor = builder.add_ground_plane()
    falls = builder.add_body((0, 0.2, 0, 0, 0, 0, 1))
    shape = builder.add_shape_sphere(None, 0.2, body=falls)
    add_form(builder, "sphere", (1, 0.2, 0, 0, 0, 0, 1))
    builder.ignore_contact(floor, shape)
    q = step_all(builder, 30)[1].body_q.numpy()
    assert q[0, 1] < -0.5
    assert q[1, 1] == pytest.approx(0.2, abs=1e-3)


def test_two_bodies_pass_through_each_other():
    builder = ModelBuilder(gravity=0.0)
    one = add_form(builder, "box", (-0.5, 0, 0, 0, 0, 0, 1), (0, 0, 0, 2, 0, 0))
    two = add_form(builder, "box", (0.5, 0, 0, 0, 0, 0, 1))
    builder.ignore_contact(two, one)
    qd = step_all(builder, 60)[1].body_qd.numpy()
    np.testing.assert_allclose(qd[:, 3], [2.0, 0.0], atol=1e-12)


def test_worlds_copy_what_is_ignored():
    scene = ModelBuilder()
    scene.add_shape_box((0, -0.5, 0, 0, 0, 0, 1), 5, 0.5, 5)
    for x in (-1.0, 1.0):
        add_form(scene, "sphere", (x, 0.2, 0, 0, 0, 0, 1))
    scene.ignore_contact(0, 2)
    many = ModelBuilder()
    many.add_world(scene, 3)
    solver, state = step_all(many, 30)
    assert solver.model.world_rows["exclusion"].tolist() == [[0, 1], [1, 2], [2, 3]]
    heights = state.body_q.numpy()[:, 1].reshape(3, 2)
    np.testing.assert_allclose(heights[:, 0], 0.2, atol=1e-3)
    assert (heights[:, 1] < -0.5).all()


def test_saved_scenes_know_what_is_ignored(tmp_path):
    builder = ModelBuilder()
    floor = builder.add_ground_plane(cfg=ShapeConfig(group=3, collides_with=5))
    add_form(builder, "sphere", (0, 0.2, 0, 0, 0, 0, 1))
    builder.ignore_contact(floor, 1)
    model = builder.finalize("cpu")
    wp.solvers.Scene(model=model).save(tmp_path / "scene.wps")
    again = wp.solvers.Scene.load(tmp_path / "scene.wps", device="cpu").model
    for name in ("shape_group", "shape_collides", "exclusion_shapes"):
        np.testing.assert_array_equal(getattr(again, name).numpy(), getattr(model, name).numpy())


def test_what_cannot_be_touched_is_taken_where_it_never_is():
    """A volume as the form of a body is refused beside a plane, but not where it ignores the plane."""
    for cfg in (ShapeConfig(group=2, collides_with=2), None):
        builder = ModelBuilder()
        floor = builder.add_ground_plane()
        body = builder.add_body(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
        volume = wp.Volume.load_from_numpy(np.ones((4, 4, 4), np.float32), device="cpu")
        shape = builder.add_shape(ShapeType.SDF, None, cfg=cfg, source=volume, body=body)
        if cfg is None:
            with pytest.raises(ModelError, match="shape 1 of body 0 is a sdf, and meets a plane"):
                SolverBodies(builder.finalize("cpu"))
            builder.ignore_contact(floor, shape)
        SolverBodies(builder.finalize("cpu"))


@pytest.mark.parametrize("pair", [(0, 7), (-1, 0), (0, 0)])
def test_pairs_of_nothing_are_refused(pair):
    builder = ModelBuilder()
    builder.add_ground_plane()
    with pytest.raises(ModelError, match="expected: "):
        builder.ignore_contact(*pair)


@pytest.mark.parametrize("bits", [1.5, 2**31, "walls"])
def test_groups_are_bits(bits):
    with pytest.raises(ModelError, match="with a bit for each group"):
        ModelBuilder().add_ground_plane(cfg=ShapeConfig(group=bits))

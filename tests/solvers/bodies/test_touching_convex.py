"""Convex bodies of any form: how they lie, roll, stick, topple; what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from touching_scenes import CONVEX, CORNERS, SIZES, Points, add_form, heap, step_all
from touching_scenes import GOLDEN as GOLD

import warpsim as wp
from warpsim.errors import ModelError
from warpsim.solvers import ModelBuilder, ShapeConfig, SolverBodies

LYING = (0.5, 0.5, 0.5, 0.5)  # the z axis becomes x
UP = (-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # the z axis becomes y


def rest(builder, steps=60):
    solver, state = step_all(builder, steps)
    assert np.abs(state.body_qd.numpy()).max() < 1e-3
    return solver, state


@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize(
    ("form", "turn", "height", "points"),
    [("cylinder", UP, 0.22, 4), ("cylinder", LYING, 0.18, 2), ("cone", UP, 0.25, 4), ("hull", None, None, 4)],
)
def test_forms_lie_on_floors(form, turn, height, points, floor):
    builder = ModelBuilder()
    if floor == "plane":
        builder.add_ground_plane()
    else:
        builder.add_shape_box((0.3, -0.5, 0.2, 0, 0, 0, 1), 2, 0.5, 2)
    if form == "hull":
        normal = np.array([0.0, GOLD, 1.0]) / np.hypot(GOLD, 1.0)
        turn = Rotation.align_vectors([[0, -1, 0]], [normal])[0].as_quat()
        height = float((CORNERS @ normal).max())
    add_form(builder, form, (0, height, 0, *turn))
    solver, state = rest(builder)
    np.testing.assert_allclose(state.body_q.numpy()[0, :3], [0, height, 0], atol=1e-4)
    assert len(Points(solver).pairs[0][2]) == points


@pytest.mark.parametrize(("mu", "slope", "law"), [(0.5, 0.4, "rolls"), (0.1, 0.6, "slips")])
def test_cylinder_rolls_down_an_incline(mu, slope, law):
    """Without slip it accelerates at 2/3 g sin; with slip at g (sin - mu cos)."""
    builder, cfg = ModelBuilder(), ShapeConfig(mu=mu)
    down = np.array([np.cos(slope), -np.sin(slope), 0.0])
    normal = np.array([np.sin(slope), np.cos(slope), 0.0])
    builder.add_shape_plane(normal, (0, 0, 0), cfg)
    add_form(builder, "cylinder", (*(0.18 * normal), 0, 0, 0, 1), cfg=cfg)
    _solver, state = step_all(builder, 30)
    wanted = 2.0 / 3.0 * np.sin(slope) if law == "rolls" else np.sin(slope) - mu * np.cos(slope)
    assert state.body_qd.numpy()[0, 3:] @ down == pytest.approx(9.81 * wanted * 0.5, rel=5e-3)


@pytest.mark.parametrize(("mu", "sticks"), [(0.5, True), (0.2, False)])
def test_standing_cylinder_sticks_or_slides(mu, sticks):
    slope, builder, cfg = 0.3, ModelBuilder(), ShapeConfig(mu=mu)
    normal, down = np.array([np.sin(slope), np.cos(slope), 0.0]), np.array([np.cos(slope), -np.sin(slope), 0.0])
    builder.add_shape_plane(normal, (0, 0, 0), cfg)
    turn = Rotation.align_vectors([normal], [[0, 0, 1]])[0].as_quat()
    add_form(builder, "cylinder", (*(0.22 * normal), *turn), cfg=cfg)
    _solver, state = step_all(builder, 30)
    speed = 0.0 if sticks else 9.81 * (np.sin(slope) - mu * np.cos(slope)) * 0.5
    assert state.body_qd.numpy()[0, 3:] @ down == pytest.approx(speed, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("side", [0.9, 1.1])
def test_cone_topples_where_its_centre_leaves_its_rim(side):
    """Its centre is h / 4 above the base: on a rough incline it stands up to atan(4 r / h)."""
    slope, cfg = side * np.arctan(0.2 / 0.125), ShapeConfig(mu=5.0)
    normal = np.array([np.sin(slope), np.cos(slope), 0.0])
    builder = ModelBuilder()
    builder.add_shape_plane(normal, (0, 0, 0), cfg)
    turn = Rotation.align_vectors([normal], [[0, 0, 1]])[0].as_quat()
    add_form(builder, "cone", (*(0.25 * normal), *turn), cfg=cfg)
    _solver, state = step_all(builder, 60)
    tip = Rotation.from_quat(state.body_q.numpy()[0, 3:]).apply([0, 0, 1])
    assert (tip @ normal > 0.999) == (side < 1.0)


def test_pile_of_mixed_forms_rests():
    solver, state = step_all(heap(2, 24, ShapeConfig(mu=0.5), forms=CONVEX), 300, dtype=wp.float32)
    gaps = np.concatenate([gaps for _, _, gaps, _ in Points(solver).pairs])
    assert gaps.min() > -0.02 * 0.15
    assert np.median(np.linalg.norm(state.body_qd.numpy()[:, 3:], axis=1)) < 0.02


@pytest.mark.parametrize("form", ["cylinder", "cone", "hull"])
def test_forms_lie_on_tables_and_vessels(form):
    """On a flat table of heights, and in a box that is a mesh of a vessel's form."""
    builder = ModelBuilder()
    builder.add_shape_heightfield((0, 0, 0, *UP), np.zeros((5, 5)), 3.0, 3.0)
    turn = UP if form != "hull" else Rotation.align_vectors([[0, -1, 0]], [[GOLD, 1, 0]])[0].as_quat()
    height = {"cylinder": 0.22, "cone": 0.25}.get(form) or float(
        (CORNERS @ np.array([GOLD, 1, 0])).max() / np.hypot(GOLD, 1)
    )
    add_form(builder, form, (0.1, height, 0.2, *turn))
    _solver, state = rest(builder)
    assert state.body_q.numpy()[0, 1] == pytest.approx(height, abs=1e-3)


def test_meshes_that_are_not_convex_ask_for_their_hull():
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.2, 0.2, 0.2)], np.float32)
    faces = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 4, 2, 3, 4, 3, 1, 4], np.int32)
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), wp.array(faces, dtype=wp.int32, device="cpu"))
    for hull in (False, True):
        builder = ModelBuilder()
        builder.add_ground_plane()
        builder.add_shape_mesh(None, mesh, body=builder.add_body((0, 1, 0, 0, 0, 0, 1)), hull=hull)
        model = builder.finalize("cpu")
        if not hull:
            with pytest.raises(ModelError, match="not convex"):
                SolverBodies(model)
        else:
            SolverBodies(model)
            assert model.body_mass.numpy()[0] == pytest.approx(1000.0 / 6.0, rel=1e-5)


def test_cone_has_its_mass():
    builder = ModelBuilder()
    add_form(builder, "cone")
    model, (r, h) = builder.finalize("cpu", dtype=wp.float64), SIZES["cone"]
    mass = 1000.0 * np.pi * r * r * 2 * h / 3
    assert model.body_mass.numpy()[0] == pytest.approx(mass)
    np.testing.assert_allclose(model.body_com.numpy()[0], [0, 0, -0.5 * h], atol=1e-12)
    across, along = mass * (0.15 * r * r + 0.15 * h * h), 0.3 * mass * r * r
    np.testing.assert_allclose(np.diag(model.body_inertia.numpy()[0]), [across, across, along])

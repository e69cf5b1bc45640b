"""Meshes of shapes lie on the surfaces that solvers feel, are closed and face outward; planes pass below the scene."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.record.shapes import ShapeBodies, shape_mesh
from warpsim.solvers import ModelBuilder, ShapeType
from warpsim.solvers.scene.closed import check_closed
from warpsim.solvers.scene.shapes import DISTANCE, for_shape

POSE = (0.3, -0.2, 0.5, *(np.array([1.0, 2.0, 3.0, 4.0]) / np.sqrt(30.0)))


@for_shape
def distances(distance):
    @wp.kernel
    def measure(
        points: wp.array(dtype=wp.vec3d),
        scale: wp.vec3d,
        source: wp.uint64,
        heights: wp.array2d(dtype=wp.float64),
        out: wp.array(dtype=wp.float64),
    ):
        i = wp.tid()
        d, _ = distance(points[i], scale, source, heights, wp.float64(10.0))
        out[i] = d

    return measure


def cube():
    points = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))], dtype=np.int32)
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=wp.int32))


def ball_volume():
    axis = np.arange(-12, 13) * 0.05
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    values = np.sqrt(x**2 + y**2 + z**2).astype(np.float32) - 0.4
    return wp.Volume.load_from_numpy(values, (-0.6, -0.6, -0.6), 0.05, 1.0)


def add(builder, kind):
    """A shape of a kind, and the volume inside [m^3]."""
    pi = np.pi
    if kind == "sphere":
        return builder.add_shape_sphere(POSE, 0.3), 4 / 3 * pi * 0.3**3
    if kind == "box":
        return builder.add_shape_box(POSE, 0.1, 0.2, 0.3), 8 * 0.1 * 0.2 * 0.3
    if kind == "capsule":
        return builder.add_shape_capsule(POSE, 0.2, 0.3), pi * 0.2**2 * 0.6 + 4 / 3 * pi * 0.2**3
    if kind == "cylinder":
        return builder.add_shape_cylinder(POSE, 0.2, 0.3, hollow=True), pi * 0.2**2 * 0.6
    if kind == "mesh":
        return builder.add_shape_mesh(POSE, cube(), (0.1, 0.2, 0.3)), 8 * 0.1 * 0.2 * 0.3
    return builder.add_shape_sdf(POSE, ball_volume()), 4 / 3 * pi * 0.4**3


def signed_volume(points, triangles):
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize("kind", ["sphere", "box", "capsule", "cylinder", "mesh", "sdf"])
def test_meshes_lie_on_the_surface_and_face_outward(kind):
    builder = ModelBuilder()
    shape, volume = add(builder, kind)
    model = builder.finalize()
    points, triangles = shape_mesh(model, shape)
    out = wp.zeros(len(points), dtype=wp.float64)
    scale = wp.vec3d(*map(float, model.shape_scale.numpy()[shape]))
    heights = wp.zeros((1, 1), dtype=wp.float64)
    args = [wp.array(points, dtype=wp.vec3d), scale, wp.uint64(model.shape_source[shape]), heights, out]
    wp.launch(distances(model.shape_type[shape]), len(points), args)
    assert np.abs(out.numpy()).max() < (2e-3 if kind == "sdf" else 1e-6)
    check_closed(points, triangles, kind)
    assert signed_volume(points, triangles) == pytest.approx(volume, rel=0.02)
    used = np.unique(triangles)
    assert len(used) == len(points)


def test_a_heightfield_is_its_table():
    table = np.random.default_rng(0).random((4, 6))
    builder = ModelBuilder()
    builder.add_shape_heightfield((0, 0, 0, 0, 0, 0, 1), table, 2.0, 3.0)
    points, triangles = shape_mesh(builder.finalize(), 0)
    assert len(triangles) == 2 * 3 * 5
    for (i, j), height in np.ndenumerate(table):
        at = np.array([-2.0 + 4.0 * i / 3, -3.0 + 6.0 * j / 5, height])
        assert np.abs(points - at).sum(axis=1).min() < 1e-12
    a, b, c = (points[triangles[:, k], :2] for k in range(3))
    areas = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert (areas > 0).all() and areas.sum() / 2 == pytest.approx(24.0)


def test_shapes_are_where_the_control_has_them():
    builder = ModelBuilder()
    builder.add_shape_box(None, 0.1, 0.2, 0.3)
    builder.add_shape_sphere((5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.5)
    model = builder.finalize()
    control = model.control()
    control.set_shape(0, position=POSE[:3], rotation=POSE[3:])
    shapes = ShapeBodies(model)
    (body,) = shapes.solids(model.state(), control, {})
    corners = body.points[:8]
    matrix = np.array(wp.quat_to_matrix(wp.quatd(*POSE[3:]))).reshape(3, 3)
    local = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)])
    expected = local @ matrix.T + POSE[:3]
    np.testing.assert_allclose(corners, expected, atol=1e-6)
    assert set(body.cell_arrays["shape"][:12]) == {0} and set(body.cell_arrays["shape"][12:]) == {1}
    assert not body.is_still and shapes.solids(model.state(), control, {})[0].is_still
    control.set_shape(1, position=(0.0, 0.0, 0.0))
    assert not shapes.solids(model.state(), control, {})[0].is_still


def test_shapes_are_where_their_bodies_are():
    builder = ModelBuilder()
    body = builder.add_body()
    builder.add_shape_box((0.5, 0.0, 0.0, *POSE[3:]), 0.1, 0.2, 0.3, body=body)
    model = builder.finalize()
    state = model.state()
    half = np.sqrt(0.5)
    state.body_q.assign([[1.0, 2.0, 3.0, 0.0, 0.0, half, half]])  # a quarter turn about z
    (there,) = ShapeBodies(model).solids(state, None, {})
    (here,) = ShapeBodies(model).solids(model.state(), None, {})
    turned = np.stack([-here.points[:, 1], here.points[:, 0], here.points[:, 2]], axis=1)
    np.testing.assert_allclose(there.points - [1.0, 2.0, 3.0], turned, atol=1e-6)


def test_vessels_are_a_body_of_their_own():
    builder = ModelBuilder()
    builder.add_shape_sphere(None, 1.0, hollow=True)
    builder.add_shape_box(None, 0.1, 0.1, 0.1)
    builder.add_shape_sphere(None, 2.0, hollow=True)
    model = builder.finalize()
    solid, vessel = ShapeBodies(model).solids(model.state(), None, {"size": np.array([1.0, 0.1, 2.0])})
    assert (solid.name, vessel.name, vessel.is_vessel) == ("shapes", "vessels", True)
    assert set(solid.cell_arrays["shape"]) == {1} and set(vessel.cell_arrays["shape"]) == {0, 2}
    radii = np.linalg.norm(vessel.points[vessel.cells[:, 0]], axis=1)
    np.testing.assert_allclose(radii, vessel.cell_arrays["size"], rtol=1e-6)


@pytest.mark.parametrize("normal", [(0, 1, 0), (1, 1, 0), (0, 0, -1)])
def test_planes_pass_below_the_scene(normal):
    builder = ModelBuilder()
    builder.add_shape_plane(normal, (7.0, -3.0, 2.0))
    builder.add_particle((0, 0, 0))
    box = np.array([[-1.0, 0.0, -1.0], [1.0, 2.0, 1.0]])
    model = builder.finalize()
    (body,) = ShapeBodies(model).planes(model.state(), None, box)
    unit = np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose((body.points - [7.0, -3.0, 2.0]) @ unit, 0.0, atol=1e-6)
    middle = body.points.mean(axis=0)
    away = box.mean(axis=0) - middle
    np.testing.assert_allclose(np.cross(away, unit), 0.0, atol=1e-6)
    a, b, c = body.points[body.cells[0]]
    assert np.dot(np.cross(b - a, c - a), unit) > 0.0, "planes face the side that is free"
    assert body.is_backdrop


def test_all_kinds_have_a_mesh():
    assert set(DISTANCE) == set(ShapeType)

"""Distances of shapes against closed forms in NumPy, their normals and gradients, and how poses move."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from shape_probe import measured

import warpsim as wp
from warpsim.solvers import ShapeType
from warpsim.solvers.scene.shapes import advance_pose, surface_velocity, to_shape, to_world

RNG = np.random.default_rng(5)
POINTS = RNG.uniform(-1.5, 1.5, size=(200, 3))


def boxed(p, half):
    q = np.abs(p) - half
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def capped(p, radius, half):
    axis = np.stack([0 * p[:, 0], 0 * p[:, 0], np.clip(p[:, 2], -half, half)], axis=1)
    return np.linalg.norm(p - axis, axis=1) - radius


def cylindrical(p, radius, half):
    q = np.stack([np.linalg.norm(p[:, :2], axis=1) - radius, np.abs(p[:, 2]) - half], axis=1)
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


CLOSED_FORMS = {
    ShapeType.PLANE: ((0, 0, 0), lambda p: p[:, 2]),
    ShapeType.SPHERE: ((0.7, 0, 0), lambda p: np.linalg.norm(p, axis=1) - 0.7),
    ShapeType.BOX: ((0.8, 0.5, 0.9), lambda p: boxed(p, [0.8, 0.5, 0.9])),
    ShapeType.CAPSULE: ((0.4, 0.6, 0), lambda p: capped(p, 0.4, 0.6)),
    ShapeType.CYLINDER: ((0.6, 0.7, 0), lambda p: cylindrical(p, 0.6, 0.7)),
    ShapeType.HOLLOW_SPHERE: ((0.7, 0, 0), lambda p: 0.7 - np.linalg.norm(p, axis=1)),
    ShapeType.HOLLOW_CAPSULE: ((0.4, 0.6, 0), lambda p: -capped(p, 0.4, 0.6)),
    ShapeType.HOLLOW_CYLINDER: ((0.6, 0.7, 0), lambda p: -cylindrical(p, 0.6, 0.7)),
}


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
@pytest.mark.parametrize("kind", CLOSED_FORMS)
def test_distances_are_those_of_the_closed_form(kind, dtype):
    scale, expected = CLOSED_FORMS[kind]
    distance, normal, gradient = measured(kind, POINTS, scale, dtype=dtype)
    tolerance = 1e-6 if dtype is wp.float32 else 1e-12
    np.testing.assert_allclose(distance, expected(POINTS), atol=tolerance)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=tolerance)
    np.testing.assert_allclose(gradient, normal, atol=10 * tolerance)  # what is nearest does not change to first order


def test_centres_have_finite_normals_and_gradients():
    for kind, (scale, _) in CLOSED_FORMS.items():
        for point in ([0.0, 0.0, 0.0], [0.0, 0.0, 0.1]):
            for found in measured(kind, np.array([point]), scale):
                assert np.isfinite(found).all(), kind


def tetrahedron(scale=1.0):
    points = scale * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    return points, [0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2]


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_a_mesh_has_the_distance_of_its_faces(dtype):
    points, faces = tetrahedron()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))
    distance, normal, gradient = measured(ShapeType.MESH, POINTS, source=mesh.id, dtype=dtype)
    planes = np.array([points[3 - k] * -1 for k in range(4)]) / np.sqrt(3)  # outward normals, all at 1/sqrt(3)
    inside = (POINTS @ planes.T - 1 / np.sqrt(3)).max(axis=1)
    np.testing.assert_allclose(distance[inside < 0], inside[inside < 0], atol=1e-5)
    assert (distance[inside > 0] >= inside[inside > 0] - 1e-5).all()
    np.testing.assert_allclose(gradient, normal, atol=1e-3)


def test_a_vessel_with_the_form_of_a_mesh_is_free_inside():
    points, faces = tetrahedron()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))
    solid, outward, _ = measured(ShapeType.MESH, POINTS, source=mesh.id)
    vessel, inward, _ = measured(ShapeType.HOLLOW_MESH, POINTS, source=mesh.id)
    np.testing.assert_array_equal(vessel, -solid)
    np.testing.assert_array_equal(inward, -outward)
    deep = measured(ShapeType.HOLLOW_MESH, np.zeros((1, 3)), source=mesh.id, reach=0.1)[0]
    assert deep[0] > 0.1  # far from every wall there is nothing to touch


def test_a_scaled_mesh_is_a_larger_one():
    for scale in (1.0, 2.0):
        points, faces = tetrahedron(2.0 / scale)
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))
        found = measured(ShapeType.MESH, POINTS, (scale,) * 3, mesh.id)[0]
        if scale == 1.0:
            expected = found
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_beyond_its_reach_a_mesh_is_farther():
    points, faces = tetrahedron()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))
    distance = measured(ShapeType.MESH, np.array([[9.0, 0.0, 0.0]]), source=mesh.id, reach=0.1)[0]
    assert distance[0] > 0.1


def test_a_volume_has_its_values_and_their_gradient():
    points, faces = tetrahedron()
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int))
    volume = wp.mesh_to_volume(mesh, 0.05, half_width=8)
    near = POINTS[np.abs(measured(ShapeType.MESH, POINTS, source=mesh.id)[0]) < 0.2]
    exact, normals, _ = measured(ShapeType.MESH, near, source=mesh.id)
    distance, normal, gradient = measured(ShapeType.SDF, near, source=volume.id)
    assert len(near) > 20
    np.testing.assert_allclose(distance, exact, atol=0.03)
    assert np.median(np.sum(normal * normals, axis=1)) > 0.999
    cosines = np.sum(gradient * normal, axis=1) / np.linalg.norm(gradient, axis=1)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-4)


def test_a_sloping_heightfield_has_exact_distances():
    x = np.linspace(-2.0, 2.0, 9)
    heights = 0.5 * x[:, None] + 0.25 * np.linspace(-1.5, 1.5, 4)
    distance, normal, gradient = measured(ShapeType.HEIGHTFIELD, POINTS, (2.0, 1.5, 1.0), heights=heights)
    up = np.array([-0.5, -0.25, 1.0])
    np.testing.assert_allclose(distance, POINTS @ up / np.linalg.norm(up), atol=1e-12)
    np.testing.assert_allclose(normal, np.tile(up / np.linalg.norm(up), (len(POINTS), 1)), atol=1e-12)
    np.testing.assert_allclose(gradient, normal, atol=1e-12)


def test_beside_a_heightfield_there_is_nothing():
    distance = measured(ShapeType.HEIGHTFIELD, np.array([[3.0, 0.0, -5.0]]), (2.0, 1.5, 1.0), heights=np.zeros((3, 3)))
    assert distance[0][0] > 10.0


@wp.kernel
def carried(
    pose: wp.array(dtype=Any),
    twist: wp.array(dtype=Any),
    t: Any,
    p: wp.array(dtype=Any),
    there: wp.array(dtype=Any),
    speed: wp.array(dtype=Any),
):
    i = wp.tid()
    after = advance_pose(pose[i], twist[i], t)
    there[i] = to_world(after, to_shape(pose[i], p[i]))
    speed[i] = surface_velocity(pose[i], twist[i], p[i])


@pytest.mark.parametrize("spin", [1e-5, 1.0, 30.0])
def test_poses_turn_about_their_origin(spin):
    n, t = 20, 0.1
    rotations, origin = Rotation.random(n, random_state=0), RNG.normal(size=(n, 3))
    angular, linear = spin * RNG.normal(size=(n, 3)), RNG.normal(size=(n, 3))
    p = RNG.normal(size=(n, 3))
    pose = wp.array(np.hstack([origin, rotations.as_quat()]), dtype=wp.transformd)
    twist = wp.array(np.hstack([angular, linear]), dtype=wp.spatial_vectord)
    there, speed = wp.zeros(n, dtype=wp.vec3d), wp.zeros(n, dtype=wp.vec3d)
    wp.launch(carried, n, [pose, twist, wp.float64(t), wp.array(p, dtype=wp.vec3d), there, speed])
    expected = origin + t * linear + Rotation.from_rotvec(t * angular).apply(p - origin)
    np.testing.assert_allclose(there.numpy(), expected, atol=1e-9)
    np.testing.assert_allclose(speed.numpy(), linear + np.cross(angular, p - origin), atol=1e-12)

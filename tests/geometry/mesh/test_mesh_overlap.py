"""Faces near boxes and spheres: the true set, each once, by `for` and by `while`, against brute force in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from mesh_cases import CUBE, CUBE_FACES, case, cases, distances, mesh_of, size_of, vectors

import warpsim as wp

pytestmark = pytest.mark.usefixtures("every_constructor")


@wp.kernel
def near_spheres(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), radius: float, found: wp.array2d(dtype=int)):
    i = wp.tid()
    for face in wp.mesh_query_sphere(mesh, p[i], radius):
        found[i, face] += 1


@wp.kernel
def near_boxes(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), half: float, found: wp.array2d(dtype=int)):
    i = wp.tid()
    for face in wp.mesh_query_aabb(mesh, p[i] - wp.vec3(half), p[i] + wp.vec3(half)):
        found[i, face] += 1


@wp.kernel
def by_while(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), half: float, found: wp.array2d(dtype=int)):
    i = wp.tid()
    boxes = wp.mesh_query_aabb(mesh, p[i] - wp.vec3(half), p[i] + wp.vec3(half))
    spheres = wp.mesh_query_sphere(mesh, p[i], half)
    face = int(-1)
    while wp.mesh_query_aabb_next(boxes, face):
        found[i, face] += 1
    last = face
    while wp.mesh_query_next(spheres, face):
        found[i, face] += 100
    wp.expect_eq(wp.mesh_query_next(spheres, face), False)
    wp.expect_eq(wp.mesh_query_next(boxes, last), False)


def ask(kernel, mesh, p, reach, device=None):
    found = wp.zeros((len(p), mesh.face_count), dtype=int, device=device)
    wp.launch(kernel, dim=len(p), inputs=[mesh.id, vectors(p, device), float(reach), found], device=device)
    return found.numpy()


def gaps(points, faces, p):
    """How far boxes of faces are from points, along the axis where that is most."""
    t = points[faces]
    lower, upper = t.min(axis=1), t.max(axis=1)
    return np.maximum(lower - p[:, None], p[:, None] - upper).max(axis=-1).astype(float)


@settings(max_examples=60)
@given(cases)
def test_spheres(drawn):
    """All faces within the radius and no other, for the sharp ones up to what their plane is uncertain."""
    points, faces, p = drawn
    true = distances(p, points, faces)
    radius = np.float32(np.quantile(true, 0.4))
    found = ask(near_spheres, mesh_of(points, faces), p, radius)
    edge = 5e-4 * size_of(points, p)
    assert (found[true < radius - edge] == 1).all() and not found[true > radius + edge].any()


@settings(max_examples=60)
@given(cases)
def test_boxes(drawn):
    """All faces whose boxes meet the box."""
    points, faces, p = drawn
    true = gaps(points, faces, p)
    half = np.float32(np.quantile(np.maximum(true, 0), 0.4))
    found = ask(near_boxes, mesh_of(points, faces), p, half)
    edge = 2e-7 * size_of(points, p)
    assert (found[true <= half - edge] == 1).all() and not found[true > half + edge].any()


@pytest.mark.parametrize("kind", ["soup", "lattice"])
def test_while_and_interp(kind):
    points, faces, p = case(kind, 1, 30, 1.0)
    expected = ask(near_boxes, mesh_of(points, faces), p, 0.5) + 100 * ask(near_spheres, mesh_of(points, faces), p, 0.5)
    assert expected.any()
    np.testing.assert_array_equal(ask(by_while, mesh_of(points, faces), p, 0.5), expected)
    for kernel in (near_boxes, near_spheres):
        results = [ask(kernel, mesh_of(points, faces, d), p[:6], 0.5, d) for d in ("interp", "cpu")]
        np.testing.assert_array_equal(*results)


def test_touching_counts():
    mesh = mesh_of(CUBE, CUBE_FACES)
    p = np.array([[0.5, 0.5, 2.0]])
    assert np.flatnonzero(ask(near_spheres, mesh, p, 1.0)).tolist() == [2, 3]
    assert np.flatnonzero(ask(near_boxes, mesh, np.array([[0.5, 0.5, 1.5]]), 0.5)).tolist() == [*range(2, 12)]
    assert not ask(near_spheres, mesh, p, 0.999).any()
    on_face = np.array([[0.5, 0.25, 1.0]])
    assert np.flatnonzero(ask(near_spheres, mesh, on_face, -3.0)).tolist() == [2]


def test_nothing_near_what_is_no_number():
    mesh = mesh_of(CUBE, CUBE_FACES)
    p = np.array([[np.nan, 0, 0], [0, np.inf, 0]])
    for kernel in (near_spheres, near_boxes):
        assert not ask(kernel, mesh, p, 1.0).any()
    assert not ask(near_boxes, mesh, np.full((1, 3), 0.5), -1.0).any()
    assert not ask(near_spheres, mesh, np.full((1, 3), 5.0), np.nan).any()


def test_a_radius():
    """That is no number finds nothing, one without end everything, a negative one what it touches."""
    mesh = mesh_of(CUBE, CUBE_FACES)
    p = np.float32([[0.5, 0.5, 0.5], [0.25, 0.5, 0], [9, 9, 9]])
    assert ask(near_spheres, mesh, p, np.nan).sum() == 0
    assert (ask(near_spheres, mesh, p, np.inf) == 1).all()
    found = ask(near_spheres, mesh, p, -1.0)
    assert found.sum() == found[1].sum() == 1


@wp.kernel
def weigh(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    for face in wp.mesh_query_sphere(mesh, p[i], 0.8):
        r = wp.mesh_eval_position(mesh, face, 0.3, 0.3) - p[i]
        out[i] += wp.dot(r, r)


def test_gradients_through_a_loop():
    """Sums over neighbours: to the points asked about and to the vertices."""
    points, faces, _ = case("soup", 5, 12, 1.0)
    p = np.random.default_rng(0).uniform(-1, 1, (5, 3)).astype(np.float32)
    mesh = mesh_of(points, faces, grad=True)
    asked = wp.array(p, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(5, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(weigh, dim=5, inputs=[mesh.id, asked, out])
    tape.backward(grads={out: wp.ones(5, dtype=float)})
    near = ask(near_spheres, mesh, p, 0.8).astype(bool)
    at = points[faces].transpose(0, 2, 1) @ [0.3, 0.3, 0.4]
    to_point, to_vertices = np.zeros((5, 3)), np.zeros_like(points)
    for i, face in np.argwhere(near):
        r = at[face] - p[i]
        to_point[i] -= 2 * r
        np.add.at(to_vertices, faces[face], np.outer([0.3, 0.3, 0.4], 2 * r))
    assert near.any()
    np.testing.assert_allclose(asked.grad.numpy(), to_point, atol=1e-5)
    np.testing.assert_allclose(mesh.points.grad.numpy(), to_vertices, atol=1e-5)

"""Closest and furthest points against brute force in float64, in both forms, on all devices and any thread count."""

import numpy as np
import pytest
from hypothesis import given, settings
from mesh_cases import CUBE, CUBE_FACES, case, cases, distances, mesh_of, position, size_of, sphere, vectors

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool

pytestmark = pytest.mark.usefixtures("every_constructor")

FAR = 1e30


def rounding(points, faces, p):
    """How far distances may be off: by rounding, and where the plane of a sharp triangle is uncertain."""
    t = points[faces].astype(float)
    ab, ac = t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]
    size = np.linalg.norm(ab, axis=1) * np.linalg.norm(ac, axis=1)
    sine = np.linalg.norm(np.cross(ab, ac), axis=1) / np.where(size > 0, size, 1)
    eps = 2.0**-23
    share = np.where(sine > eps**0.5, eps / np.where(sine > 0, sine, 1), np.minimum(sine, eps**0.5))
    return (3e-6 + 2 * share.max()) * size_of(points, p)


@wp.kernel
def closest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), limit: float, out: wp.array2d(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, p[i], limit)
    out[i, 0] = wp.where(q.result, 1.0, 0.0)
    out[i, 1] = float(q.face)
    out[i, 2] = q.u
    out[i, 3] = q.v
    out[i, 4] = q.sign


@wp.kernel
def furthest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), limit: float, out: wp.array2d(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_furthest_point_no_sign(mesh, p[i], limit)
    out[i, 0] = wp.where(q.result, 1.0, 0.0)
    out[i, 1] = float(q.face)
    out[i, 2] = q.u
    out[i, 3] = q.v


def ask(kernel, mesh, p, limit=FAR, device=None):
    out = wp.zeros((len(p), 5), dtype=float, device=device)
    wp.launch(kernel, dim=len(p), inputs=[mesh.id, vectors(p, device), limit, out], device=device)
    return out.numpy()


@settings(max_examples=60)
@given(cases)
def test_closest(drawn):
    """No face is closer than the one found, by more than rounding."""
    points, faces, p = drawn
    mesh = mesh_of(points, faces)
    found, true = ask(closest, mesh, p), distances(p, points, faces)
    face, tolerance = found[:, 1].astype(int), rounding(points, faces, p)
    assert found[:, 0].all() and not found[:, 4].any()
    assert (found[:, 2:4] >= 0).all() and (found[:, 2] + found[:, 3] <= 1 + 3e-7).all()
    reached = np.linalg.norm(position(points, faces[face], found[:, 2], found[:, 3]) - p, axis=1)
    np.testing.assert_allclose(reached, true.min(axis=1), rtol=0, atol=tolerance)
    np.testing.assert_allclose(true[np.arange(len(p)), face], true.min(axis=1), rtol=0, atol=tolerance)


@settings(max_examples=30)
@given(cases)
def test_closest_within(drawn):
    """With a limit: the same point if it is closer, else nothing."""
    points, faces, p = drawn
    mesh, nearest = mesh_of(points, faces), distances(p, points, faces).min(axis=1)
    limit, tolerance = float(np.float32(np.median(nearest))), 2 * rounding(points, faces, p)
    found, free = ask(closest, mesh, p, limit), ask(closest, mesh, p)
    within, beyond = nearest < limit - tolerance, nearest > limit + tolerance
    np.testing.assert_array_equal(found[within], free[within])
    assert (found[beyond, 1] == -1).all() and not found[beyond][:, (0, 2, 3)].any()


@settings(max_examples=40)
@given(cases)
def test_furthest(drawn):
    """No vertex of a face is further than the point found, which is a vertex."""
    points, faces, p = drawn
    found = ask(furthest, mesh_of(points, faces), p, -1.0)
    true = np.linalg.norm(points[faces].astype(float) - p.astype(float)[:, None, None], axis=-1).max(axis=(1, 2))
    assert found[:, 0].all() and set(found[:, 2:4].ravel()) <= {0.0, 1.0}
    reached = np.linalg.norm(position(points, faces[found[:, 1].astype(int)], found[:, 2], found[:, 3]) - p, axis=1)
    np.testing.assert_allclose(reached, true, rtol=0, atol=3e-6 * size_of(points, p))


def test_furthest_beyond():
    mesh = mesh_of(CUBE, CUBE_FACES)
    assert ask(furthest, mesh, np.zeros((1, 3)), 1.7)[0, :2].tolist() == [1, 2]
    assert ask(furthest, mesh, np.zeros((1, 3)), 1.8)[0].tolist() == [0, -1, 0, 0, 0]


def test_ties_go_to_the_smallest_face():
    """The middle of a cube is as far from all faces, and its corners belong to several."""
    points = (CUBE - 0.5) * 2
    for seed in range(5):
        faces = CUBE_FACES[np.random.default_rng(seed).permutation(12)]
        assert ask(closest, mesh_of(points, faces), np.zeros((1, 3)))[0, 1] == 0
        owner = [int(np.argmax((faces == k).any(axis=1))) for k in range(8)]
        assert ask(closest, mesh_of(points, faces), 2 * points)[:, 1].astype(int).tolist() == owner
    doubled = np.concatenate([CUBE_FACES, CUBE_FACES])
    assert ask(closest, mesh_of(points, doubled), 3 * np.random.default_rng(0).normal(size=(50, 3)))[:, 1].max() < 12


@wp.kernel
def both_forms(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    """Columns of the older form and of the one that returns a struct."""
    i = wp.tid()
    face, u, v = int(-7), float(-7.0), float(-7.0)
    if wp.mesh_query_point_no_sign(mesh, p[i], 1.5, face, u, v):
        out[i, 0] = 1.0
    out[i, 1] = float(face)
    out[i, 2] = u
    out[i, 3] = v
    q = wp.mesh_query_point_no_sign(mesh, p[i], 1.5)
    out[i, 4] = wp.where(q.result, 1.0, 0.0)
    out[i, 5] = float(q.face)
    out[i, 6] = q.u
    out[i, 7] = q.v
    if wp.mesh_query_furthest_point_no_sign(mesh, p[i], 2.0, face, u, v):
        out[i, 8] = 10.0 * float(face) + 2.0 * u + v
    far = wp.mesh_query_furthest_point_no_sign(mesh, p[i], 2.0)
    if far.result:
        out[i, 9] = 10.0 * float(far.face) + 2.0 * far.u + far.v


def test_the_form_with_arguments():
    """It writes the same, and nothing where nothing is found."""
    points, faces = sphere(6)
    p = np.random.default_rng(0).uniform(-3, 3, (60, 3)).astype(np.float32)
    mesh, out = mesh_of(points, faces), wp.zeros((60, 10), dtype=float)
    wp.launch(both_forms, dim=60, inputs=[mesh.id, vectors(p), out])
    found = out.numpy()
    hit = found[:, 0] == 1
    assert 5 < hit.sum() < 55
    np.testing.assert_array_equal(found[hit, :4], found[hit, 4:8])
    np.testing.assert_array_equal(found[~hit, 1:4], -7)
    np.testing.assert_array_equal(found[:, 8], found[:, 9])


@pytest.mark.parametrize("kind", ["soup", "lattice", "slivers"])
def test_interp_equals_cpu(kind):
    points, faces, p = case(kind, 3, 20, 1.0)
    for kernel, limit in ((closest, 1.5), (furthest, 0.5)):
        results = [ask(kernel, mesh_of(points, faces, device=d), p, limit, d) for d in ("interp", "cpu")]
        np.testing.assert_array_equal(*results)


def test_same_bits_for_any_thread_count():
    points, faces = sphere(40)
    p = np.random.default_rng(0).uniform(-2, 2, (2000, 3))
    before, results = get_pool().threads, []
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            mesh = mesh_of(points, faces)
            results.append(np.concatenate([ask(closest, mesh, p), ask(furthest, mesh, p, 0.0)]))
    finally:
        wp.set_num_threads(before)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_nothing_near_what_is_no_number(device):
    mesh = mesh_of(CUBE, CUBE_FACES, device)
    p = np.array([[np.nan, 0, 0], [0, np.inf, 0], [0, 0, -np.nan]])
    for kernel, limit in ((closest, FAR), (furthest, -1.0)):
        assert (ask(kernel, mesh, p, limit, device)[:, 1] == -1).all()
    for limit in (0.0, -1.0, np.nan):
        assert ask(closest, mesh, np.full((1, 3), 0.5), limit, device)[0, 1] == -1

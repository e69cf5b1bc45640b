"""What queries answer at misses and at inputs that mean nothing, as docs/geometry.md states it beside Warp."""

import numpy as np
import pytest

import warpsim as wp

BAD = [[np.nan, 0.25, 1.0], [0.25, np.nan, 1.0], [0.25, 0.25, np.nan], [np.inf, 0.25, 1.0], [0.25, -np.inf, 1.0]]
TRIANGLE = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def mesh(points, indices=None):
    indices = np.arange(len(points)) if indices is None else indices
    return wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(indices, dtype=int), support_winding_number=True)


@wp.kernel
def points_asked(mesh: wp.uint64, at: wp.array(dtype=wp.vec3), d: float, out: wp.array3d(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, at[i], d)
    for k in range(5):
        if k == 1:
            found = wp.mesh_query_point_no_sign(mesh, at[i], d)
        elif k == 2:
            found = wp.mesh_query_point_sign_normal(mesh, at[i], d)
        elif k == 3:
            found = wp.mesh_query_point_sign_winding_number(mesh, at[i], d)
        elif k == 4:
            found = wp.mesh_query_point_sign_parity(mesh, at[i], d)
        out[i, k, 0] = float(found.result)
        out[i, k, 1] = float(found.face)
        out[i, k, 2] = found.sign
        out[i, k, 3] = found.u
        out[i, k, 4] = found.v


def asked(mesh, at, max_dist):
    out = wp.zeros((len(at), 5, 5), dtype=float)
    wp.launch(points_asked, len(at), [mesh.id, wp.array(at, dtype=wp.vec3), float(max_dist), out])
    return out.numpy()


@pytest.mark.parametrize("max_dist", [0.0, -1.0, -2.0, np.nan, 0.5, 1.0])
def test_points_out_of_reach_are_misses(max_dist):
    """At distance 1; only strictly closer ones are hits, and a negative reach is none."""
    assert (asked(mesh(TRIANGLE), [[0.25, 0.25, 1.0]], max_dist) == [0, -1, 0, 0, 0]).all()


@pytest.mark.parametrize("max_dist", [2.0, np.inf])
def test_points_that_are_none_are_misses(max_dist):
    found = asked(mesh(TRIANGLE), [*BAD, [0.25, 0.25, 1.0]], max_dist)
    assert (found[:-1] == [0, -1, 0, 0, 0]).all()
    assert (found[-1, :, :2] == [1, 0]).all() and (found[-1, [0, 2, 3], 2] == 1).all()


def test_triangles_without_area_count_as_their_edges():
    found = asked(mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[1.5, 1.0, 0.0], [-1.0, 0.0, 0.0]], 10.0)
    u, v = found[:, 1, 3], found[:, 1, 4]
    assert (found[:, :, 0] == 1).all()
    np.testing.assert_allclose(v + 2.0 * (1.0 - u - v), [1.5, 0.0], atol=1e-6)


@wp.kernel
def rays_asked(
    mesh: wp.uint64, at: wp.array(dtype=wp.vec3), dirs: wp.array(dtype=wp.vec3), t: float, out: wp.array2d(dtype=float)
):
    i = wp.tid()
    found = wp.mesh_query_ray(mesh, at[i], dirs[i], t)
    out[i, 0] = float(found.result)
    out[i, 1] = float(found.face)
    out[i, 2] = found.sign
    out[i, 3] = found.t
    out[i, 4] = float(wp.mesh_query_ray_anyhit(mesh, at[i], dirs[i], t))
    out[i, 5] = float(wp.mesh_query_ray_count_intersections(mesh, at[i], dirs[i]))


def shot(mesh, at, dirs, max_t):
    out = wp.zeros((len(at), 6), dtype=float)
    wp.launch(
        rays_asked, len(at), [mesh.id, wp.array(at, dtype=wp.vec3), wp.array(dirs, dtype=wp.vec3), float(max_t), out]
    )
    return out.numpy()


def test_rays_without_a_direction_or_place_are_misses():
    down = [0.0, 0.0, -1.0]
    at = [*BAD, *[[0.25, 0.25, 1.0]] * 5]
    dirs = [*[down] * 5, [0, 0, 0], [np.nan, 0, -1], [0, 0, np.nan], [np.inf, 0, 0], [0, 0, -np.inf]]
    for max_t in (10.0, np.inf):
        assert (shot(mesh(TRIANGLE), at, dirs, max_t) == [0, -1, 0, 0, 0, 0]).all()


def test_rays_measure_in_lengths_of_their_direction_and_signs_are_units():
    at, dirs = [[0.25, 0.25, 1.0], [0.25, 0.25, -1.0]], [[0.0, 0.0, -4.0], [0.0, 0.1, 0.5]]
    for max_t, t in ((3.0, (0.25, 2.0)), (2.0, (0.25, None)), (0.0, (None, None)), (-1.0, (None, None))):
        for row, sign, expected in zip(shot(mesh(TRIANGLE), at, dirs, max_t), (1.0, -1.0), t, strict=True):
            hit = [1, 0, sign, expected, 1, 1] if expected is not None else [0, -1, 0, 0, 0, 1]
            assert row.tolist() == hit


@wp.kernel
def boxes_asked(bvh: wp.uint64, at: wp.vec3, dir: wp.vec3, r: float, d: float, out: wp.array(dtype=int)):
    j = int(0)
    near = wp.bvh_query_sphere(bvh, at, r)
    while wp.bvh_query_next(near, j):
        out[0] = out[0] + 1
    swept = wp.bvh_query_capsule(bvh, at, dir, r)
    while wp.bvh_query_next(swept, j, d):
        out[1] = out[1] + 1
    ray = wp.bvh_query_ray(bvh, at, dir)
    while wp.bvh_query_next(ray, j, d):
        out[2] = out[2] + 1


@pytest.mark.parametrize(
    ("at", "dir", "r", "d", "expected"),
    [
        ((2, 2, 0.5), (0, 0, 1), 1.42, 1.0, [1, 1, 0]),  # the edge of the unit box is sqrt(2) away
        ((2, 2, 0.5), (0, 0, 1), 1.40, 1.0, [0, 0, 0]),  # while the box, larger by 1.4, would be met
        ((0.5, 0.5, 2), (0, 0, -1), 0.0, 0.5, [0, 0, 0]),
        ((0.5, 0.5, 2), (0, 0, -1), 0.0, 1.0, [0, 1, 1]),
        ((0.5, 0.5, 0.5), (0, 0, -1), -1.0, 0.0, [1, 1, 1]),  # a negative radius counts as 0
        ((0.5, 0.5, 0.5), (0, 0, -1), 1.0, -1.0, [1, 0, 0]),
        ((0.5, 0.5, np.nan), (0, 0, -1), 1.0, 1.0, [0, 0, 0]),
        ((0.5, 0.5, 0.5), (0, np.nan, 0), 1.0, 1.0, [1, 0, 0]),
    ],
)
def test_boxes(at, dir, r, d, expected):
    bvh = wp.Bvh(wp.array([[0, 0, 0]], dtype=wp.vec3), wp.array([[1, 1, 1]], dtype=wp.vec3))
    out = wp.zeros(3, dtype=int)
    wp.launch(boxes_asked, 1, [bvh.id, wp.vec3(*at), wp.vec3(*dir), float(r), float(d), out])
    assert out.numpy().tolist() == expected


@wp.kernel
def pairs_asked(p: wp.array2d(dtype=wp.vec3), closest: wp.array(dtype=wp.vec3), meet: wp.array(dtype=int)):
    i = wp.tid()
    closest[i] = wp.closest_point_edge_edge(p[i, 0], p[i, 1], p[i, 2], p[i, 3], 1.0e-6)
    meet[i] = wp.intersect_tri_tri(p[i, 0], p[i, 1], p[i, 2], p[i, 0], p[i, 3], p[i, 4])


def test_parallel_edges_and_triangles_that_share_a_corner():
    rng = np.random.default_rng(0)
    p = rng.normal(size=(200, 5, 3))
    p[:, 3] = p[:, 2] + (p[:, 1] - p[:, 0]) * rng.normal(size=(200, 1))
    p = p.astype(np.float32)
    closest, meet = wp.zeros(200, dtype=wp.vec3), wp.zeros(200, dtype=int)
    wp.launch(pairs_asked, 200, [wp.array(p, dtype=wp.vec3), closest, meet])
    s, t, d = closest.numpy().T.astype(float)
    ends = np.linspace(0.0, 1.0, 201)[:, None]
    first, second = (p[:, k, None] + ends * (p[:, k + 1] - p[:, k])[:, None] for k in (0, 2))
    least = np.linalg.norm(first[:, :, None] - second[:, None], axis=-1).min(axis=(1, 2))
    between = p[:, 0] + s[:, None] * (p[:, 1] - p[:, 0]) - p[:, 2] - t[:, None] * (p[:, 3] - p[:, 2])
    np.testing.assert_allclose(np.linalg.norm(between, axis=1), d, atol=1e-4)
    assert (d <= least + 1e-4).all() and (d >= least - 0.02).all()
    assert (meet.numpy() == 1).all()

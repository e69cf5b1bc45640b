"""Rays against brute force in float64: the first hit, any, crossings; through edges and corners; both forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from mesh_cases import CUBE, CUBE_FACES, cases, mesh_of, position, size_of, sphere, vectors

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool

pytestmark = pytest.mark.usefixtures("every_constructor")

FAR = 1e30


@wp.kernel
def cast(
    mesh: wp.uint64, o: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), limit: float, out: wp.array2d(dtype=float)
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, o[i], d[i], limit)
    out[i, 0] = wp.where(q.result, 1.0, 0.0)
    out[i, 1] = float(q.face)
    out[i, 2] = q.t
    out[i, 3] = q.u
    out[i, 4] = q.v
    out[i, 5] = q.sign
    for k in range(3):
        out[i, 6 + k] = q.normal[k]
    out[i, 9] = wp.where(wp.mesh_query_ray_anyhit(mesh, o[i], d[i], limit), 1.0, 0.0)
    out[i, 10] = float(wp.mesh_query_ray_count_intersections(mesh, o[i], d[i]))


def ask(mesh, o, d, limit=FAR, device=None):
    out = wp.zeros((len(o), 11), dtype=float, device=device)
    wp.launch(cast, dim=len(o), inputs=[mesh.id, vectors(o, device), vectors(d, device), limit, out], device=device)
    return out.numpy()


def hits(o, d, points, faces):
    """Times (n, m), NaN without a hit, and how far each ray passes from borders and from being edge-on, relative."""
    t, o, d = points[faces].astype(float), o.astype(float)[:, None], d.astype(float)[:, None]
    a, b, c = t[:, 0] - o, t[:, 1] - o, t[:, 2] - o
    sides = np.stack([np.sum(np.cross(p, q) * d, -1) for p, q in ((b, c), (c, a), (a, b))], -1)
    area = sides.sum(-1)
    safe = np.where(area != 0, area, 1)
    weights = sides / safe[..., None]
    point = weights[..., :1] * a + weights[..., 1:2] * b + weights[..., 2:] * c
    time = np.sum(point * d, -1) / np.sum(d * d, -1)
    inside = (weights >= 0).all(-1) & (area != 0)
    lengths = [np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1) for x, y in ((b, c), (c, a), (a, b))]
    sizes = np.stack([*lengths, np.max(lengths, 0)], -1) * np.linalg.norm(d, axis=-1)[..., None]
    margin = np.abs(np.concatenate([sides, area[..., None]], -1)) / np.where(sizes > 0, sizes, np.inf)
    return np.where(inside, time, np.nan), margin.min(axis=-1)


@settings(max_examples=60)
@given(cases)
def test_against_brute_force(drawn):
    """Rays that pass clear of all borders: the same faces at the same times."""
    points, faces, p = drawn
    rng = np.random.default_rng(len(faces))
    o = np.repeat(p, 2, axis=0)
    targets = points[faces].mean(axis=1)[rng.integers(0, len(faces), len(o))]
    d = (targets - o + 0.05 * size_of(points) * rng.normal(size=o.shape)).astype(np.float32)
    mesh, (times, margins) = mesh_of(points, faces), hits(o, d, points, faces)
    found = ask(mesh, o, d)
    ahead = np.where(times >= 0, times, np.nan)
    clear = (margins > 1e-5).all(axis=1) & (np.isnan(times) | (np.abs(times) > 1e-4)).all(axis=1)
    count = np.sum(~np.isnan(ahead), axis=1)
    first = np.where(count > 0, np.nanmin(np.where(np.isnan(ahead), np.inf, ahead), axis=1), 0)
    np.testing.assert_array_equal(found[clear, 10], count[clear])
    np.testing.assert_array_equal(found[clear, 0], count[clear] > 0)
    np.testing.assert_array_equal(found[clear, 9], count[clear] > 0)
    hit = clear & (count > 0)
    face, along = faces[found[hit, 1].astype(int)], d[hit].astype(float)
    corners = points[face].astype(float)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    slope = np.abs(np.sum(normal * along, -1)) / np.linalg.norm(normal, axis=-1)
    off = np.abs(found[hit, 2] - first[hit]) - 1e-3 * first[hit]
    assert (off <= 2e-6 * size_of(points, p) / slope).all()  # what rounding does along a ray that grazes
    there = position(points, face, found[hit, 3], found[hit, 4])
    np.testing.assert_allclose(there, o[hit] + found[hit, 2:3] * along, rtol=0, atol=1e-4 * size_of(points, p))
    np.testing.assert_array_equal(found[hit, 5], -np.sign(np.sum(normal * along, -1)))


def test_limits():
    """A hit counts strictly before max_t, in multiples of the direction, and from t = 0 on."""
    mesh = mesh_of(CUBE, CUBE_FACES)
    o, d = np.array([[0.3, 0.4, -2.0]]), np.array([[0, 0, 0.5]])
    assert ask(mesh, o, d)[0].tolist() == pytest.approx([1, 0, 4, 0.6, 0.1, 1, 0, 0, -1, 1, 2], abs=1e-6)
    assert ask(mesh, o, d, 4.0)[0, (0, 9)].tolist() == [0, 0]
    assert ask(mesh, o, d, 4.001)[0, (0, 9)].tolist() == [1, 1]
    on_face = ask(mesh, np.array([[0.3, 0.4, 0.0]]), d)[0]
    assert on_face[[0, 2, 5, 10]].tolist() == [1, 0, 1, 2]
    behind = ask(mesh, np.array([[0.3, 0.4, 0.5]]), d)[0]
    assert behind[[0, 2, 5, 10]].tolist() == [1, 1, -1, 1]
    for limit in (0.0, -1.0, np.nan):
        assert ask(mesh, o, d, limit)[0, (0, 9)].tolist() == [0, 0]


def test_no_ray_leaves_a_closed_mesh_unseen():
    """From inside, towards corners, middles of edges and of faces, exactly and nearly: hit and crossed oddly."""
    points, faces = sphere(12)
    rng = np.random.default_rng(0)
    corners = points[faces]
    targets = np.concatenate([points, 0.5 * (corners[:, 0] + corners[:, 1]), corners.mean(axis=1)])
    mesh = mesh_of(points, faces)
    for origin in (np.zeros(3), rng.uniform(-0.3, 0.3, 3)):
        for off in (0.0, 1e-7, 1e-6):
            d = targets - origin + off * rng.normal(size=targets.shape)
            found = ask(mesh, np.broadcast_to(origin, d.shape), d)
            assert found[:, 0].all() and found[:, 9].all()
            assert (found[:, 10] % 2 == 1).all()
            beyond = ask(mesh, origin + 3 * d, d)
            assert not beyond[:, 10].any()
            through = ask(mesh, origin - 3 * d, d)
            assert (through[:, 10] % 2 == 0).all()


def test_axes_of_a_grid():
    """Rays along axes, in planes that contain edges and through corners of a cube."""
    mesh = mesh_of(CUBE, CUBE_FACES)
    o, d = [], []
    for axis in range(3):
        for x in (0.25, 0.5, 0.75):
            for y in (0.25, 0.5, 0.75):
                o.append(np.roll([-1.0, x, y], axis))
                d.append(np.roll([1.0, 0, 0], axis))
    found = ask(mesh, np.array(o), np.array(d))
    np.testing.assert_array_equal(found[:, (0, 2, 10)], [[1, 1, 2]] * len(o))


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_no_ray(device):
    mesh = mesh_of(CUBE, CUBE_FACES, device)
    o = np.array([[0.5, 0.5, 0.5], [np.nan, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, np.inf]])
    d = np.array([[0, 0, 0], [1, 0, 0], [0, np.nan, 1], [0, 0, 1]])
    found = ask(mesh, o, d, FAR, device)
    np.testing.assert_array_equal(found[:, 1], -1)
    assert not found[:, (0, 2, 9, 10)].any()


@wp.kernel
def older_form(mesh: wp.uint64, o: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    t, u, v, sign, face = float(-7.0), float(-7.0), float(-7.0), float(-7.0), int(-7)
    normal = wp.vec3(-7.0)
    hit = wp.mesh_query_ray(mesh, o[i], d[i], 1.0e30, t, u, v, sign, normal, face)
    out[i, 0] = wp.where(hit, 1.0, 0.0)
    out[i, 1] = float(face)
    out[i, 2] = t
    out[i, 3] = u
    out[i, 4] = v
    out[i, 5] = sign
    for k in range(3):
        out[i, 6 + k] = normal[k]


def test_the_form_with_arguments():
    points, faces = sphere(6)
    rng = np.random.default_rng(0)
    o, d = rng.uniform(-2, 2, (60, 3)), rng.normal(size=(60, 3))
    mesh, out = mesh_of(points, faces), wp.zeros((60, 9), dtype=float)
    wp.launch(older_form, dim=60, inputs=[mesh.id, vectors(o), vectors(d), out])
    older, found = out.numpy(), ask(mesh, o, d)
    hit = found[:, 0] == 1
    assert 5 < hit.sum() < 55
    np.testing.assert_array_equal(older[hit], found[hit, :9])
    np.testing.assert_array_equal(older[~hit], [[0, *[-7] * 8]] * (~hit).sum())


def test_interp_and_threads_give_the_same_bits():
    points, faces = sphere(5)
    rng = np.random.default_rng(0)
    o, d = rng.uniform(-2, 2, (12, 3)), rng.normal(size=(12, 3))
    expected = ask(mesh_of(points, faces), o, d)
    np.testing.assert_array_equal(ask(mesh_of(points, faces, "interp"), o, d, device="interp"), expected)
    before = get_pool().threads
    try:
        for count in (1, 2, 4):
            wp.set_num_threads(count)
            assert ask(mesh_of(points, faces), o, d).tobytes() == expected.tobytes()
    finally:
        wp.set_num_threads(before)


@pytest.mark.parametrize("scale", [1e-15, 1e-9, 1.0, 1e9, 1e12])
def test_normals_of_triangles_of_all_sizes(scale):
    points = np.float32([[0, 0, 0], [1, 0, 0], [0, 2, 1]]) * np.float32(scale)
    o, d = points.mean(axis=0)[None] + np.float32([[0, 0, scale]]), np.float32([[0, 0, -1]])
    found = ask(mesh_of(points, [[0, 1, 2]]), o, d)
    np.testing.assert_allclose(found[0, 2], scale, rtol=1e-5)
    np.testing.assert_allclose(found[0, 6:9], np.float32([0, -1, 2]) / np.sqrt(5), atol=1e-6)


# ----- groups -----------------------------------------------------------------------------------


@wp.kernel
def cast_in_group(
    mesh: wp.uint64,
    o: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    groups: wp.array(dtype=int),
    face: wp.array(dtype=int),
    others: wp.array2d(dtype=int),
):
    i = wp.tid()
    root = wp.mesh_get_group_root(mesh, groups[i])
    face[i] = wp.mesh_query_ray(mesh, o[i], d[i], 1.0e30, root).face
    t, u, v, sign, normal, found = 0.0, 0.0, 0.0, 0.0, wp.vec3(), int(-1)
    hit = wp.mesh_query_ray(mesh, o[i], d[i], 1.0e30, t, u, v, sign, normal, found, root)
    others[i, 0] = wp.where(hit, found, -1)
    others[i, 1] = wp.where(wp.mesh_query_ray_anyhit(mesh, o[i], d[i], 1.0e30, root), 1, 0)
    others[i, 2] = wp.mesh_query_ray_count_intersections(mesh, o[i], d[i], root)


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_a_group_is_a_mesh_of_its_own(device):
    """Rays below the root of a group find what they find in a mesh of its faces alone; an unknown group is all."""
    rng = np.random.default_rng(3)
    points, faces = sphere(8 if device == "cpu" else 3)
    kinds = rng.integers(-1, 4, len(faces)).astype(np.int32) * 7
    n = 200 if device == "cpu" else 12
    o, d = rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=(n, 3)).astype(np.float32)
    wanted = rng.choice([*np.unique(kinds), 1000], n).astype(np.int32)
    mesh = wp.Mesh(
        vectors(points, device),
        wp.array(faces.ravel(), dtype=int, device=device),
        groups=wp.array(kinds, dtype=int, device=device),
    )
    face, others = wp.zeros(n, dtype=int, device=device), wp.zeros((n, 3), dtype=int, device=device)
    given = [mesh.id, vectors(o, device), vectors(d, device), wp.array(wanted, dtype=int, device=device), face, others]
    wp.launch(cast_in_group, n, given, device=device)
    whole = ask(mesh, o, d, device=device)
    for group in np.unique(wanted):
        rays, own = wanted == group, np.flatnonzero(kinds == group) if group < 1000 else np.arange(len(faces))
        alone = ask(mesh_of(points, faces[own], device=device), o[rays], d[rays], device=device)
        expected = np.where(alone[:, 0] > 0, own[alone[:, 1].astype(int)], -1)
        assert np.array_equal(face.numpy()[rays], expected) and np.array_equal(others.numpy()[rays, 0], expected)
        assert np.array_equal(others.numpy()[rays, 1:], alone[:, 9:11].astype(int))
    everything = ask(mesh_of(points, faces, device=device), o, d, device=device)
    assert np.array_equal(whole[:, 1], everything[:, 1])


def test_groups_are_numbers_of_faces():
    points, indices = vectors(CUBE), wp.array(CUBE_FACES.ravel(), dtype=int)
    for wrong in (wp.zeros(11, dtype=int), wp.zeros(12, dtype=float), np.zeros(12, np.int32)):
        with pytest.raises(wp.errors.MeshError, match="groups of a mesh"):
            wp.Mesh(points, indices, groups=wrong)

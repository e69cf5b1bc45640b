"""Inside and outside by rays, parity, normals, winding numbers: closed meshes, holes, flipped faces, sharp corners."""

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, mesh_of, sphere, vectors

import warpsim as wp
from warpsim.geometry.mesh.data import MeshData
from warpsim.geometry.mesh.winding import winding_number

pytestmark = pytest.mark.usefixtures("every_constructor")

FAR = 1e30
COLUMNS = ("rays", "parity", "normal", "winding")


@wp.kernel
def signs(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), limit: float, out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[i, 0] = wp.mesh_query_point(mesh, p[i], limit).sign
    out[i, 1] = wp.mesh_query_point_sign_parity(mesh, p[i], limit).sign
    out[i, 2] = wp.mesh_query_point_sign_normal(mesh, p[i], limit).sign
    out[i, 3] = wp.mesh_query_point_sign_winding_number(mesh, p[i], limit).sign


@wp.kernel
def older_forms(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    for k in range(4):
        sign, face, u, v = float(0.0), int(-1), float(0.0), float(0.0)
        if k == 0:
            hit = wp.mesh_query_point(mesh, p[i], 0.5, sign, face, u, v)
        elif k == 1:
            hit = wp.mesh_query_point_sign_parity(mesh, p[i], 0.5, sign, face, u, v, 3, 0.2)
        elif k == 2:
            hit = wp.mesh_query_point_sign_normal(mesh, p[i], 0.5, sign, face, u, v, 1.0e-2)
        else:
            hit = wp.mesh_query_point_sign_winding_number(mesh, p[i], 0.5, sign, face, u, v, 3.0, 0.4)
        found = wp.where(hit, wp.length(wp.mesh_eval_position(mesh, wp.max(face, 0), u, v) - p[i]), -1.0)
        out[i, 2 * k] = sign
        out[i, 2 * k + 1] = found


def ask(mesh, p, limit=FAR, device=None):
    out = wp.zeros((len(p), 4), dtype=float, device=device)
    wp.launch(signs, dim=len(p), inputs=[mesh.id, vectors(p, device), limit, out], device=device)
    return out.numpy()


def solid_angles(points, faces, p):
    """Winding numbers in float64, by all triangles (Van Oosterom & Strackee 1983)."""
    t = points[faces].astype(float)[None] - np.asarray(p, float)[:, None, None]
    a, b, c = t[:, :, 0], t[:, :, 1], t[:, :, 2]
    x, y, z = (np.linalg.norm(r, axis=-1) for r in (a, b, c))
    spread = x * y * z + np.sum(a * b, -1) * z + np.sum(b * c, -1) * x + np.sum(c * a, -1) * y
    return np.arctan2(np.sum(a * np.cross(b, c), -1), spread).sum(axis=1) / (2 * np.pi)


def cube_points(n, seed=0):
    """Around the unit cube, also exactly above its corners, edges and the diagonals of its faces."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(-0.5, 1.5, (n, 3))
    special = np.array(np.meshgrid(*[[-0.25, 0.25, 0.5, 0.75, 1.25]] * 3)).reshape(3, -1).T
    beyond = 0.5 + (CUBE - 0.5) * rng.uniform(1.1, 2.0, (8, 1))
    return np.concatenate([p, special, beyond, 0.5 + (CUBE - 0.5) * 0.8]).astype(np.float32)


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_cube(device):
    p = cube_points(500)
    if device == "interp":
        p = p[::60]
    expected = np.where(((p > 0) & (p < 1)).all(axis=1), -1, 1)
    found = ask(mesh_of(CUBE, CUBE_FACES, device, support_winding_number=True), p, device=device)
    for column, name in enumerate(COLUMNS):
        np.testing.assert_array_equal(found[:, column], expected, err_msg=name)


def test_bumpy_sphere():
    """Points near the surface and far from it; what is inside is known from the winding number."""
    points, faces = sphere(10)
    rng = np.random.default_rng(0)
    on = points[faces].mean(axis=1)[rng.integers(0, len(faces), 200)]
    about = on * rng.choice([0.999, 1.001], (200, 1))
    p = np.concatenate([rng.uniform(-1.5, 1.5, (200, 3)), about, 1.05 * points, points * 0.95])
    expected = np.where(solid_angles(points, faces, p) > 0.5, -1, 1)
    found = ask(mesh_of(points, faces, support_winding_number=True), p.astype(np.float32))
    for column, name in enumerate(COLUMNS):
        np.testing.assert_array_equal(found[:, column], expected, err_msg=name)


def test_corners_that_are_not_shared():
    """Each face with vertices of its own: the normals at edges and corners are found all the same."""
    points, faces = sphere(10)
    p = np.concatenate([1.1 * points, 0.9 * points]).astype(np.float32)
    apart = points[faces].reshape(-1, 3)
    mesh = mesh_of(apart, np.arange(len(apart)), support_winding_number=True)
    np.testing.assert_array_equal(ask(mesh, p), np.repeat([1, -1], len(points))[:, None] * np.ones((1, 4)))


def test_sharp_corner():
    """A needle: the normal of any one face would be wrong at its tip."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, -1, 0], [0.3, 0.2, 5]], np.float32)
    faces = np.array([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 4], [2, 3, 4], [3, 1, 4]])
    tip = points[4] + 0.1 * np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    expected = np.where(solid_angles(points, faces, tip) > 0.5, -1, 1)
    found = ask(mesh_of(points, faces, support_winding_number=True), tip)
    for column, name in enumerate(COLUMNS):
        np.testing.assert_array_equal(found[:, column], expected, err_msg=name)


def test_flipped_faces():
    """Parity does not ask for an orientation; a mesh turned inside out is the outside of everything for the others."""
    p = cube_points(200)
    inside = np.where(((p > 0) & (p < 1)).all(axis=1), -1, 1)
    found = ask(mesh_of(CUBE, CUBE_FACES[:, ::-1], support_winding_number=True), p)
    np.testing.assert_array_equal(found[:, 1], inside)
    np.testing.assert_array_equal(found[:, 2], -inside)
    assert (found[inside < 0, 0] == 1).all() and (found[:, 3] == 1).all()


def test_a_hole():
    """A cube without its lid: inside, two of three rays still see the back of a face."""
    open_cube = CUBE_FACES[[0, 1, 4, 5, 6, 7, 8, 9, 10, 11]]
    inside = np.random.default_rng(0).uniform(0.05, 0.8, (50, 3)).astype(np.float32)
    above = inside + np.float32([0, 0, 1.2])
    p = np.concatenate([inside, above])
    found = ask(mesh_of(CUBE, open_cube, support_winding_number=True), p)
    np.testing.assert_array_equal(found[:, 0], np.repeat([-1, 1], 50))
    np.testing.assert_array_equal(found[:, 3], np.where(solid_angles(CUBE, open_cube, p) > 0.5, -1, 1))


@pytest.mark.parametrize("method", COLUMNS)
def test_nothing_close_has_no_sign(method):
    p = np.array([[5.0, 5, 5], [0.5, 0.5, 0.9]])
    found = ask(mesh_of(CUBE, CUBE_FACES, support_winding_number=True), p, 1.0)[:, COLUMNS.index(method)]
    assert found.tolist() == [0, -1]


def test_without_winding_numbers_rays_decide():
    p = cube_points(100)
    found = ask(mesh_of(CUBE, CUBE_FACES), p)
    np.testing.assert_array_equal(found[:, 3], found[:, 0])


def test_the_forms_with_arguments():
    """The same signs, and arguments left alone where nothing is within the limit."""
    p = cube_points(200)
    mesh, out = mesh_of(CUBE, CUBE_FACES, support_winding_number=True), wp.zeros((len(p), 8), dtype=float)
    wp.launch(older_forms, dim=len(p), inputs=[mesh.id, vectors(p), out])
    found, expected = out.numpy(), ask(mesh, p, 0.5)
    np.testing.assert_array_equal(found[:, ::2], expected)
    gap = np.maximum(np.maximum(-p, p - 1), 0)
    outside = np.linalg.norm(gap, axis=1)
    distance = np.where(outside > 0, outside, np.minimum(p, 1 - p).min(axis=1))
    expected = np.where(distance < 0.5, distance, -1)
    np.testing.assert_allclose(found[:, 1::2], np.repeat(expected[:, None], 4, axis=1), atol=1e-6)


# ----- winding numbers ------------------------------------------------------------------------


@wp.kernel
def numbers(data: MeshData, p: wp.array(dtype=wp.vec3), accuracy: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = winding_number(data, p[i], accuracy)


def winding(mesh, p, accuracy):
    device, data = mesh.device, mesh._handle.data
    out = wp.zeros(len(p), dtype=float, device=device)
    wp.launch(numbers, dim=len(p), inputs=[data, vectors(p, device), accuracy, out], device=device)
    return out.numpy()


def test_winding_numbers_approach_the_sum():
    """Over a mesh with holes and loose triangles; the error falls with the accuracy asked for."""
    points, faces = sphere(20)
    rng = np.random.default_rng(0)
    faces = faces[rng.random(len(faces)) < 0.7]
    mesh, p = mesh_of(points, faces, support_winding_number=True), rng.uniform(-2, 2, (400, 3)).astype(np.float32)
    exact = solid_angles(points, faces, p)
    errors = [np.abs(winding(mesh, p, accuracy) - exact).max() for accuracy in (2.0, 4.0, 1e9)]
    assert errors[0] < 0.02 and errors[1] < 0.004 and errors[2] < 1e-5


def test_winding_numbers_follow_a_refit():
    points, faces = sphere(8)
    mesh = mesh_of(points, faces, support_winding_number=True)
    p = np.random.default_rng(0).uniform(-2, 2, (50, 3)).astype(np.float32)
    mesh.points = vectors(points * 1.7 + 0.1)
    rebuilt = mesh_of(points * np.float32(1.7) + np.float32(0.1), faces, support_winding_number=True)
    np.testing.assert_allclose(winding(mesh, p, 2.0), winding(rebuilt, p, 2.0), atol=2e-3)
    np.testing.assert_allclose(winding(mesh, p, 1e9), solid_angles(points * 1.7 + 0.1, faces, p), atol=1e-5)


def test_winding_on_interp():
    points, faces = sphere(5)
    p = np.random.default_rng(0).uniform(-2, 2, (6, 3)).astype(np.float32)
    results = [winding(mesh_of(points, faces, d, support_winding_number=True), p, 2.0) for d in ("interp", "cpu")]
    np.testing.assert_allclose(*results, atol=1e-6)


# ----- where rays graze, where sides are close ------------------------------------------------


def torus(around=30, across=12, radius=0.3):
    """A closed ring in the plane z = 0."""
    i, j = (x.ravel() for x in np.meshgrid(np.arange(around), np.arange(across), indexing="ij"))
    a, b = 2 * np.pi * i / around, 2 * np.pi * j / across
    ring = 1 + radius * np.cos(b)
    points = np.stack([ring * np.cos(a), ring * np.sin(a), radius * np.sin(b)], axis=1)
    p, q = i * across + j, (i + 1) % around * across + j
    r, s = (i + 1) % around * across + (j + 1) % across, i * across + (j + 1) % across
    return points.astype(np.float32), np.concatenate([np.stack([p, q, r], 1), np.stack([p, r, s], 1)])


def slab(thickness):
    return CUBE * np.float32([1, 1, thickness])


def test_rays_that_graze():
    """A lattice whose lines touch silhouettes, and lines in the plane of the ring of top corners, far from it."""
    points, faces = torus()
    steps = np.linspace(-1.95, 1.95, 13)
    p = np.stack(np.meshgrid(steps, steps, [-0.3, 0.0, 0.15, 0.3], indexing="ij"), -1).reshape(-1, 3)
    named = [[0, 0, 0.3], [0.65, -0.646439254283905, 0.3], [6.622738468742284e-10, -1.29287850856781, -0.30000001192]]
    p = np.concatenate([p, points * 1.5, named]).astype(np.float32)
    expected = np.where(solid_angles(points, faces, p) > 0.5, -1, 1)
    clear = ~(p[:, None] == points).all(axis=-1).any(axis=1)
    for order in (slice(None), slice(None, None, -1)):  # whatever the numbers of faces are
        found = ask(mesh_of(points, faces[order]), p)
        np.testing.assert_array_equal(found[clear, 0], expected[clear])


def test_rays_through_walls_that_touch():
    """Two cubes side by side, both with their wall: a ray that leaves one enters the other at once."""
    points = np.concatenate([CUBE, CUBE + np.float32([1, 0, 0])])
    faces = np.concatenate([CUBE_FACES, CUBE_FACES + 8])
    p = np.float32([[0.4, 0.3, 0.6], [1.4, 0.3, 0.6], [-0.5, 0.3, 0.6], [2.5, 0.3, 0.6], [0.4, 0.3, 1.6]])
    assert ask(mesh_of(points, faces), p)[:, 0].tolist() == [-1, -1, 1, 1, 1]


@pytest.mark.parametrize("thickness", [5e-3, 1e-3, 1e-4, 1e-5])
def test_thin_slabs(thickness):
    """Above faces, over their diagonals, beside edges and corners, and inside: every method is right.

    Only normals are not to be trusted beside faces so narrow that closest points take them for their edges.
    """
    rng, points = np.random.default_rng(0), slab(thickness)
    x, y = rng.uniform(0.05, 0.95, (2, 200))
    z = thickness * rng.uniform(0.1, 20, 200) * rng.choice([-1, 1], 200)
    beside = np.where(rng.random(200) < 0.5, 1 + np.abs(z), -np.abs(z))
    about = points[rng.integers(0, 8, 400)] + 10 * thickness * rng.normal(size=(400, 3))
    inside = thickness * rng.uniform(0.2, 0.8, 200)
    parts = [(x, y, z), (x, x, z), (beside, y, z), (x, beside, inside), (x, y, inside), (x, x, inside)]
    p = np.concatenate([*(np.stack(part, 1) for part in parts), about]).astype(np.float32)
    gap = np.abs(np.maximum(np.maximum(-p, p - points[6]), 0)).max(axis=1)
    expected = np.where(gap > 0, 1, -1)
    far = (gap == 0) | (gap > 1e-6)
    found = ask(mesh_of(points, CUBE_FACES, support_winding_number=True), p[far])
    wide = ((p[far, :2] > 0) & (p[far, :2] < 1)).all(axis=1)
    for column, name in enumerate(COLUMNS):
        trusted = wide | (name != "normal") | (thickness > 4e-4)
        np.testing.assert_array_equal(found[trusted, column], expected[far][trusted], err_msg=name)


def test_thin_slabs_have_winding_numbers():
    """Near the edges of large triangles as well, where float32 would be off by a half."""
    points = slab(1e-4)
    rng = np.random.default_rng(1)
    z = rng.uniform(-30, 30, 2000) * 1e-4
    p = np.stack([1 - 0.1 * np.abs(z), rng.uniform(0, 1, 2000), z], axis=1).astype(np.float32)
    mesh = mesh_of(points, CUBE_FACES, support_winding_number=True)
    np.testing.assert_allclose(winding(mesh, p, 1e9), solid_angles(points, CUBE_FACES, p), atol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e-5])
def test_corners_in_the_middle_of_edges(shift):
    """A wedge whose sharp edge is one edge of its top and two of its bottom, also nearly so: epsilon joins them."""
    far = [[0, 2, 0.4], [2, 2, 0.4], [0, 2, -0.4], [2, 2, -0.4]]
    points = np.float32([[0, 0, 0], [2, 0, 0], *far, [1, 0, shift]])
    top, bottom = [[0, 1, 3], [0, 3, 2]], [[0, 4, 6], [6, 4, 5], [6, 5, 1]]
    faces = np.array([*top, *bottom, [2, 3, 5], [2, 5, 4], [0, 2, 4], [1, 5, 3]])
    rng = np.random.default_rng(0)
    x, turn = rng.uniform(0.1, 1.9, 300), rng.uniform(-1.7, 1.7, 300)
    outside = np.stack([x, -0.2 * np.cos(turn), 0.2 * np.sin(turn)], axis=1)
    inside = np.stack([x, np.full(300, 0.2), rng.uniform(-0.03, 0.03, 300)], axis=1)
    p = np.concatenate([outside, inside]).astype(np.float32)
    np.testing.assert_array_equal(ask(mesh_of(points, faces), p)[:, 2], np.repeat([1, -1], 300))


@wp.kernel
def parities(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), samples: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.mesh_query_point_sign_parity(mesh, p[i], 1.0e9, samples).sign


@pytest.mark.parametrize("samples", [0, -3])
def test_parity_without_samples_takes_one(samples):
    p = cube_points(100)
    mesh, out = mesh_of(CUBE, CUBE_FACES), wp.zeros(len(p), dtype=float)
    wp.launch(parities, dim=len(p), inputs=[mesh.id, vectors(p), samples, out])
    np.testing.assert_array_equal(out.numpy(), np.where(((p > 0) & (p < 1)).all(axis=1), -1, 1))

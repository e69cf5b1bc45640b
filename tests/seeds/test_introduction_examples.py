"""Programs of the article that introduced NVIDIA Warp, with only the import line changed.

The parts on meshes and hash grids stand in `test_mesh_example` and `test_hash_grid_examples`.
"""

import numpy as np
import pytest

import warpsim as wp

wp.init()

DEVICE = None  # the current device; the article's programs say "cuda"


@wp.kernel
def integrate(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f: wp.array(dtype=wp.vec3),
    w: wp.array(dtype=float),
    gravity: wp.vec3,
    dt: float,
):
    # thread id
    tid = wp.tid()

    x0 = x[tid]
    v0 = v[tid]

    # Semi-implicit Euler step
    f_ext = f[tid]
    inv_mass = w[tid]

    v1 = v0 + (f_ext * inv_mass + gravity) * dt
    x1 = x0 + v1 * dt

    # store results
    x[tid] = x1
    v[tid] = v1


def particles(n):
    rng = np.random.default_rng(7)
    x, v, f = (rng.normal(size=(n, 3)).astype(np.float32) for _ in range(3))
    return x, v, f, rng.random(n, dtype=np.float32)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_particles_are_integrated(device):
    x, v, f, w = particles(64)
    arrays = [wp.array(a, dtype=t, device=device) for a, t in ((x, wp.vec3), (v, wp.vec3), (f, wp.vec3), (w, float))]
    gravity, dt = wp.vec3(0.0, -9.8, 0.0), 1.0 / 60.0
    for _ in range(10):
        wp.launch(kernel=integrate, dim=64, inputs=[*arrays, gravity, dt], device=device)
        v = v + (f * w[:, None] + np.float32([0.0, -9.8, 0.0])) * np.float32(dt)
        x = x + v * np.float32(dt)
    np.testing.assert_allclose(arrays[0].numpy(), x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(arrays[1].numpy(), v, rtol=1e-5, atol=1e-6)


@wp.kernel
def simple_kernel(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    tid = wp.tid()
    c[tid] = a[tid] + b[tid]


def test_the_launch_with_keywords():
    a, b, c = wp.ones(1024), wp.full(1024, 2.0), wp.empty(1024)
    wp.launch(
        kernel=simple_kernel,  # kernel to launch
        dim=1024,  # number of threads
        inputs=[a, b, c],  # parameters
        device=DEVICE,
    )  # execution device
    assert c.list() == [3.0] * 1024


def test_arrays_are_made_as_in_the_article():
    n = 10
    array = np.arange(3 * n, dtype=np.float32).reshape(n, 3)

    # allocate an uninitizalized array of vec3s
    v = wp.empty(length=n, dtype=wp.vec3, device=DEVICE)
    assert v.shape == (n,) and v.dtype is wp.vec3

    # allocate a zero-initialized array of quaternions
    q = wp.zeros(length=n, dtype=wp.quat, device=DEVICE)
    assert q.numpy().shape == (n, 4) and not q.numpy().any()

    # allocate and initialize an array from a numpy array
    v = wp.from_numpy(array, dtype=wp.vec3, device=DEVICE)
    view = v.numpy()
    np.testing.assert_array_equal(view, array)


@wp.kernel
def project_to_plane(positions: wp.array(dtype=wp.vec3), max_dist: float, output_pos: wp.array(dtype=wp.vec3)):
    """The shape of the article's closest-point kernel, on the plane y = 0: `wp.load`, locals, a query."""
    tid = wp.tid()
    x = wp.load(positions, tid)
    face_index = int(0)
    face_u = float(0.0)
    if wp.abs(x[1]) < max_dist:
        face_index = 1
        face_u = x[1]
        output_pos[tid] = wp.vec3(x[0], x[1] - face_u * float(face_index), x[2])


def test_load_and_typed_locals():
    positions = wp.array([[0.5, 1.0, 2.0], [0.5, 9.0, 2.0]], dtype=wp.vec3)
    out = wp.zeros(2, dtype=wp.vec3)
    wp.launch(project_to_plane, dim=2, inputs=[positions, 2.0, out])
    np.testing.assert_array_equal(out.numpy(), [[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]])


@wp.kernel
def sum_neighbors(points: wp.array(dtype=wp.vec3), output: wp.array(dtype=wp.vec3), radius: float):
    """The article's neighbour sum, over all points in the place of its grid query."""
    tid = wp.tid()
    # query point
    p = points[tid]
    index = int(0)
    sum = wp.vec3()
    while index < points.shape[0]:
        neighbor = points[index]
        # compute distance to neighbor point
        dist = wp.length(p - neighbor)
        if dist <= radius:
            sum += neighbor
        index += 1
    output[tid] = sum


def test_the_neighbour_sum():
    points = np.random.default_rng(3).random((200, 3), dtype=np.float32)
    out = wp.zeros(200, dtype=wp.vec3)
    wp.launch(sum_neighbors, dim=200, inputs=[wp.array(points, dtype=wp.vec3), out, 0.3])
    near = np.linalg.norm(points[:, None] - points[None], axis=2) <= 0.3
    np.testing.assert_allclose(out.numpy(), near.astype(np.float32) @ points, rtol=1e-5)

"""Simulations that build structures anew in every step: gradients through all of it, against finite differences."""

import numpy as np
import pytest

import warpsim as wp

N, RADIUS, DT = 40, wp.float64(0.35), wp.float64(0.02)


@wp.kernel
def repel(grid: wp.uint64, x: wp.array(dtype=wp.vec3d), radius: wp.float64, f: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    total = wp.vec3d()
    for j in wp.hash_grid_neighbors(grid, x[i], radius):
        if j != i:
            d = x[i] - x[j]
            length = wp.length(d)
            total += d / length * (radius - length) * wp.float64(20.0)
    f[i] = total


@wp.kernel
def move(x: wp.array(dtype=wp.vec3d), v: wp.array(dtype=wp.vec3d), f: wp.array(dtype=wp.vec3d), dt: wp.float64):
    i = wp.tid()
    v[i] = v[i] + f[i] * dt
    x[i] = x[i] + v[i] * dt


@wp.kernel
def weigh(x: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], x[i]) * wp.float64(i % 3 + 1))


def grains(x0, v0, steps=6, loop="tape"):
    """Grains that repel each other, moved in place; returns the loss and gradients of the initial state."""
    x0, v0 = (wp.array(a, dtype=wp.vec3d, requires_grad=True) for a in (x0, v0))
    x, v, f = (wp.zeros(N, dtype=wp.vec3d, requires_grad=True) for _ in range(3))
    loss, grid = wp.zeros(1, dtype=wp.float64, requires_grad=True), wp.HashGrid(8, 8, 8, dtype=wp.float64)
    grid.reserve(N)

    def step(k):
        grid.build(x, RADIUS)
        wp.launch(repel, N, inputs=[grid.id, x, RADIUS, f])
        wp.launch(move, N, inputs=[x, v, f, DT])

    with wp.Tape() as tape:
        wp.copy(x, x0)
        wp.copy(v, v0)
        if loop == "tape":
            for k in range(steps):
                step(k)
        else:
            wp.checkpoint(step, [x, v], steps, scratch=[f, grid], schedule=loop)
        wp.launch(weigh, N, inputs=[x, loss])
    tape.backward(loss)
    return loss.numpy()[0], x0.grad.numpy(), v0.grad.numpy()


@pytest.fixture(scope="module")
def start():
    rng = np.random.default_rng(5)
    return rng.uniform(0.0, 1.0, (N, 3)), rng.normal(size=(N, 3))


def test_a_grid_that_is_rebuilt_in_every_step(start):
    x0, v0 = start
    _, of_x, of_v = grains(x0, v0)
    along, h = np.random.default_rng(6).normal(size=(2, N, 3)), 1e-6
    ahead, behind = (grains(x0 + s * h * along[0], v0 + s * h * along[1])[0] for s in (1, -1))
    slope = (of_x * along[0]).sum() + (of_v * along[1]).sum()
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


@pytest.mark.parametrize("schedule", ["sqrt", "binomial"])
def test_a_loop_with_checkpoints_that_rebuilds_a_grid(start, schedule):
    plain, kept = grains(*start), grains(*start, loop=schedule)
    assert kept[0] == plain[0]
    np.testing.assert_array_equal(kept[1], plain[1])
    np.testing.assert_array_equal(kept[2], plain[2])


@wp.kernel
def blow(x: wp.array(dtype=wp.vec3), wind: wp.array(dtype=wp.vec3)):
    """Moves vertices in place, each in its own way."""
    i = wp.tid()
    x[i] = x[i] + 0.1 * wp.cross(wind[0], x[i]) + 0.05 * wind[0]


@wp.kernel
def distances(mesh: wp.uint64, at: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, at[i], 10.0)
    if found.result:
        d = at[i] - wp.mesh_eval_position(mesh, found.face, found.u, found.v)
        wp.atomic_add(loss, 0, wp.dot(d, d))


def waving(wind, steps=4):
    """The mesh is refitted after each move and asked for distances; returns the loss and the gradient of the wind."""
    u, v = np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 1, 7), indexing="ij")
    corners = np.stack([u, v, 0.3 * np.sin(3 * u) * np.cos(2 * v)], axis=-1).reshape(-1, 3)
    square = np.array([0, 7, 8, 0, 8, 1])
    faces = np.concatenate([square + 7 * i + j for i in range(6) for j in range(6)])
    x = wp.array(corners, dtype=wp.vec3, requires_grad=True)
    wind = wp.array(wind, dtype=wp.vec3, requires_grad=True)
    above = np.array([0.0, 0.0, 1.5])
    at = wp.array(np.random.default_rng(7).uniform(-1, 1, (20, 3)) + above, dtype=wp.vec3)
    loss, mesh = wp.zeros(1, dtype=float, requires_grad=True), wp.Mesh(x, wp.array(faces, dtype=int))
    with wp.Tape() as tape:
        for _ in range(steps):
            wp.launch(blow, len(corners), inputs=[x, wind])
            mesh.refit()
            wp.launch(distances, 20, inputs=[mesh.id, at, loss])
    tape.backward(loss)
    return loss.numpy()[0], wind.grad.numpy()[0]


def test_a_mesh_that_is_refitted_in_every_step():
    wind, h = np.array([[0.4, -0.3, 0.5]]), 2e-3
    _, gradient = waving(wind)
    steps = h * np.eye(3)
    slopes = [(waving(wind + d)[0] - waving(wind - d)[0]) / (2 * h) for d in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=5e-3)

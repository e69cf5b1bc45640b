"""What a platform must do to be promised: launches, tapes, neighbours, meshes, a solver. A program of its own.

    python tests/platforms/smoke.py

It needs warpsim and NumPy and no test framework, for it also runs where instructions are emulated (.ci/emulated).
Every result is compared with NumPy's, or with what is known. Prints what it has done, and ends with an error if not.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import threading

import numpy as np

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.solvers import ModelBuilder, SolverXPBD


@wp.kernel
def add_up(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    wp.atomic_add(total, 0, x[wp.tid()])


@wp.kernel
def wave(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(3):
        s += wp.sin(x[i][k]) * wp.exp(-wp.length(x[i]))
    out[i] = s


@wp.kernel
def count_near(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=int)):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[i] - points[j]) <= radius:
            n += 1
    out[i] = n


@wp.kernel
def heights(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, points[i], wp.vec3(0.0, -1.0, 0.0), 100.0)
    out[i] = -1.0
    if query.result:
        out[i] = query.t


@wp.kernel
def deep(x: wp.array(dtype=float), steps: int, out: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(100_000, dtype=float)
    for j in range(steps):
        a[j] = x[i] + float(j)
    out[i] = a[steps - 1]


@wp.kernel
def third(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] / 3.0


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def launches() -> None:
    total = wp.zeros(1, dtype=float)
    wp.launch(add_up, 20_000, [wp.ones(20_000, dtype=float), total])
    assert total.numpy()[0] == 20_000.0


def tapes() -> None:
    x = wp.array(numbers(5000, 3), dtype=wp.vec3, requires_grad=True)
    out, loss = wp.zeros(5000, dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(wave, 5000, [x, out])
        wp.launch(add_up, 5000, [out, loss])
    tape.backward(loss)
    p = x.numpy().astype(np.float64)
    length = np.linalg.norm(p, axis=1, keepdims=True)
    falls = np.exp(-length)
    gradient = np.cos(p) * falls - np.sin(p).sum(axis=1, keepdims=True) * falls * p / length
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-4, atol=1e-5)


def neighbours() -> None:
    points, radius = numbers(2000, 3), 0.07
    grid, x, out = wp.HashGrid(16, 16, 16), wp.array(points, dtype=wp.vec3), wp.zeros(2000, dtype=int)
    grid.build(x, radius)
    wp.launch(count_near, 2000, [grid.id, x, radius, out])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    close = np.abs(distances - radius) < 1e-6  # may round either way
    assert np.all(np.abs(out.numpy() - (distances <= radius).sum(axis=1)) <= close.sum(axis=1))


def meshes() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], np.float32)  # y = z
    mesh = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array([0, 1, 2, 0, 2, 3], dtype=int))
    points = numbers(1000, 3) * (1.0, 0.0, 1.0) + (0.0, 5.0, 0.0)
    out = wp.zeros(1000, dtype=float)
    wp.launch(heights, 1000, [mesh.id, wp.array(points, dtype=wp.vec3), out])
    np.testing.assert_allclose(out.numpy(), 5.0 - points[:, 2], atol=1e-5)


def solver() -> None:
    """A cloth falls freely, then lies on the ground."""
    builder = ModelBuilder()
    lying, linen = (0.7071068, 0.0, 0.0, 0.7071068), {"spring_ke": 1.0e4, "edge_ke": 1.0e-5}
    builder.add_cloth_grid((0.0, 1.0, 0.0), lying, (0.0, 0.0, 0.0), 8, 8, 0.05, 0.05, mass=1.0e-3, **linen)
    builder.add_ground_plane()
    model = builder.finalize()
    solver, state = SolverXPBD(model, substeps=4), model.state()
    for _ in range(12):
        solver.step(state, state, None, None, 1.0 / 60.0)
    fallen = 1.0 - state.particle_q.numpy()[:, 1]
    assert np.all(np.abs(fallen - 0.5 * 9.81 * 0.2**2) < 0.02), fallen
    for _ in range(48):
        solver.step(state, state, None, None, 1.0 / 60.0)
    heights = state.particle_q.numpy()[:, 1]
    assert np.all((heights > -0.01) & (heights < 0.1)) and not solver.statistics(state).diverged, heights


def stacks() -> None:
    """A large frame on a thread with the stack that musl gives."""
    results: list[np.ndarray] = []

    def run() -> None:
        out = wp.zeros(100, dtype=float)
        wp.launch(deep, 100, [wp.ones(100, dtype=float), 100_000, out])
        results.append(out.numpy())

    before = threading.stack_size(128 * 1024)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    threading.stack_size(before)
    assert np.all(results[0] == 100_000.0)


def float_modes() -> None:
    """Rounding upwards in the caller changes nothing."""
    upwards = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())
    if upwards is None or not sys.platform.startswith("linux"):
        return
    libm = ctypes.CDLL("libm.so.6")
    x = wp.ones(100_000, dtype=float)
    libm.fesetround(upwards)
    wp.launch(third, len(x), [x])
    kept = libm.fegetround()
    libm.fesetround(0)
    assert kept == upwards and np.all(x.numpy() == np.float32(1.0) / np.float32(3.0))


def main() -> None:
    wp.set_num_threads(4)
    get_pool().always_fork(True)
    for part in (launches, tapes, neighbours, meshes, solver, stacks, float_modes):
        part()
        print(f"{platform.machine()}: {part.__name__}", flush=True)


if __name__ == "__main__":
    main()

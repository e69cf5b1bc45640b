"""The grid as the host sees it: sizes that change, bad input, lifetime, threads, tapes and graphs."""

import gc
import math
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, DeviceError, HashGridError, StructureIdError
from warpsim.geometry.hash_grid.hash_grid import HashGrid
from warpsim.geometry.hash_grid.neighbors import hash_grid_neighbors, hash_grid_neighbors_next, nearest_image
from warpsim.geometry.hash_grid.query import hash_grid_point_id

pytestmark = pytest.mark.usefixtures("every_sort")


@wp.kernel
def count(grid: wp.uint64, x: wp.array(dtype=wp.vec3), r: float, out: wp.array(dtype=int)):
    i = wp.tid()
    n = int(0)
    for _j in hash_grid_neighbors(grid, x[i], r):
        n += 1
    out[i] = n


def cloud(n, seed=0, side=2.0):
    return np.random.default_rng(seed).uniform(-side, side, (n, 3)).astype(np.float32)


def counted(grid, points, r):
    out = wp.zeros(len(points), dtype=int)
    wp.launch(count, dim=len(points), inputs=[grid.id, wp.array(points, dtype=wp.vec3), r, out])
    return out.numpy().tolist()


def by_force(points, r):
    d = points[:, None].astype(np.float64) - points[None]
    return (np.linalg.norm(d, axis=-1) <= r).sum(axis=1).tolist()


# ----- builds -----------------------------------------------------------------------------------


def test_the_number_of_points_may_change_from_build_to_build():
    grid = HashGrid(16, 16, 16)
    identity = grid.id
    for n in (10, 1, 700, 0, 300, 701, 5000):
        points = cloud(n)
        grid.build(wp.array(points, dtype=wp.vec3), 0.5)
        if n < 1000:
            assert counted(grid, points, 0.4) == by_force(points, 0.4)
    assert grid.id == identity


def test_reserved_memory_is_not_allocated_again(monkeypatch):
    grid = HashGrid(16, 16, 16)
    grid.reserve(1000, with_groups=True)
    monkeypatch.setattr(grid, "_allocate", None)
    monkeypatch.setattr(grid, "_ints", None)
    for n in (1000, 7, 999):
        points = cloud(n)
        grid.build(wp.array(points, dtype=wp.vec3), 0.5, groups=wp.zeros(n, dtype=int))
        assert counted(grid, points[:5], 0.4) == by_force(points, 0.4)[:5]


def test_numpy_arrays_and_views_will_do():
    points = cloud(200)
    grid = HashGrid(16, 16, 16)
    wide = wp.array(np.repeat(points, 2, axis=0), dtype=wp.vec3)
    for given in (points, wide[::2]):
        grid.build(given, 0.5)
        assert counted(grid, points, 0.4) == by_force(points, 0.4)


def test_a_build_in_a_graph_builds_again():
    """The launches of a captured build read the points as they are then."""
    before, after = cloud(300, seed=1), cloud(300, seed=2, side=30.0)
    grid, x = HashGrid(8, 8, 8), wp.array(before, dtype=wp.vec3)
    grid.reserve(300)
    with wp.ScopedCapture() as capture:
        grid.build(x, 0.5)
    wp.capture_launch(capture.graph)
    assert counted(grid, before, 0.4) == by_force(before, 0.4)
    x.assign(after)
    wp.capture_launch(capture.graph)
    assert counted(grid, after, 0.4) == by_force(after, 0.4)


# ----- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", (0.0, -1.0, math.nan, math.inf, 1.0e-310))
def test_a_radius_that_is_no_length(radius):
    with pytest.raises(HashGridError, match="radius is"):
        HashGrid(4, 4, 4).build(wp.zeros(3, dtype=wp.vec3), radius)


@pytest.mark.parametrize("period", ((-1.0, 1.0, 1.0), (math.nan, 1.0, 1.0), (1.0, 1.0)))
def test_periods_that_are_none(period):
    with pytest.raises(HashGridError, match="period"):
        HashGrid(4, 4, 4).build(wp.zeros(3, dtype=wp.vec3), 1.0, period=period)


@pytest.mark.parametrize(
    ("points", "error", "message"),
    (
        (wp.zeros(3, dtype=wp.vec3d), ArgumentTypeError, "vec3d.*\n.*vec3f"),
        (wp.zeros(3, dtype=float), ArgumentTypeError, "points has dtype float"),
        (None, ArgumentTypeError, "points is NoneType"),
        (wp.zeros(3, dtype=wp.vec3, device="interp"), DeviceError, "on interp\nexpected: c"),
    ),
)
def test_points_that_do_not_fit(points, error, message):
    with pytest.raises(error, match=message):
        HashGrid(4, 4, 4).build(points, 1.0)


def test_groups_that_do_not_fit():
    grid, points = HashGrid(4, 4, 4), wp.zeros(3, dtype=wp.vec3)
    with pytest.raises(HashGridError, match="2 groups for 3 points"):
        grid.build(points, 1.0, groups=wp.zeros(2, dtype=int))
    with pytest.raises(ArgumentTypeError, match="groups has dtype int64"):
        grid.build(points, 1.0, groups=wp.zeros(3, dtype=wp.int64))


@pytest.mark.parametrize("dims", ((0, 4, 4), (4, -1, 4), (4, 4, 2**31)))
def test_dimensions_out_of_range(dims):
    with pytest.raises(HashGridError, match="1 or more cells"):
        HashGrid(*dims)


def test_arguments_of_the_wrong_kind():
    with pytest.raises(ArgumentTypeError, match=r"dim_y is 1\.5"):
        HashGrid(4, 1.5, 4)
    with pytest.raises(ArgumentTypeError, match="dtype is int32"):
        HashGrid(4, 4, 4, dtype=int)
    with pytest.raises(ArgumentTypeError, match="radius is 'wide'"):
        HashGrid(4, 4, 4).build(wp.zeros(3, dtype=wp.vec3), "wide")
    with pytest.raises(HashGridError, match="num_points is -1"):
        HashGrid(4, 4, 4).reserve(-1)


# ----- lifetime and threads ---------------------------------------------------------------------


@wp.kernel
def count_in_each(grids: wp.array(dtype=wp.uint64), x: wp.array(dtype=wp.vec3), r: float, out: wp.array(dtype=int)):
    k = wp.tid()
    n = int(0)
    for _j in hash_grid_neighbors(grids[k], x[0], r):
        n += 1
    out[k] = n + wp.where(hash_grid_point_id(grids[k], 0) < 0, 0, 100)


def test_the_id_of_a_grid_that_is_gone():
    """As an argument it is an error; from memory, where only checked launches look, it stands for a grid of nothing."""
    points = wp.zeros(3, dtype=wp.vec3)
    gone, there = HashGrid(4, 4, 4), HashGrid(4, 4, 4)
    gone.build(points, 1.0)
    there.build(points, 1.0)
    stale = gone.id
    del gone
    gc.collect()
    with pytest.raises(StructureIdError):
        wp.launch(count, dim=3, inputs=[stale, points, 1.0, wp.zeros(3, dtype=int)])
    ids, out = wp.array(np.array([stale, there.id, 0], np.uint64), dtype=wp.uint64), wp.full(3, 7, dtype=int)
    wp.launch(count_in_each, dim=3, inputs=[ids, points, 1.0, out])
    assert out.numpy().tolist() == [0, 103, 0]
    with pytest.raises(StructureIdError):
        given = [a.to("interp") for a in (ids, points, out)]
        wp.launch(count_in_each, dim=1, inputs=[*given[:2], 1.0, given[2]], device="interp")
    wp.config.verify = True
    try:
        with pytest.raises(StructureIdError):
            wp.launch(count_in_each, dim=1, inputs=[ids, points, 1.0, out])
    finally:
        wp.config.verify = False


def test_grids_are_built_from_several_threads():
    clouds = [cloud(5000 + 100 * k, seed=k) for k in range(4)]
    expected = [HashGrid(32, 32, 32) for _ in clouds]
    for grid, points in zip(expected, clouds, strict=True):
        grid.build(wp.array(points, dtype=wp.vec3), 0.2)
    expected = [counted(grid, points, 0.2) for grid, points in zip(expected, clouds, strict=True)]
    found = {}

    def work(k):
        grid = HashGrid(32, 32, 32)
        for _ in range(10):
            grid.build(wp.array(clouds[k], dtype=wp.vec3), 0.2)
            found.setdefault(k, []).append(counted(grid, clouds[k], 0.2))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[k] == [expected[k]] * 10 for k in range(4))


# ----- gradients --------------------------------------------------------------------------------


def density_kernel(vec, real):
    """Sums over neighbours, smooth at their edge, through `while` and through `for`; nearest images count."""

    @wp.kernel
    def by_while(grid: wp.uint64, x: wp.array(dtype=vec), r: real, period: vec, out: wp.array(dtype=real)):
        i = hash_grid_point_id(grid, wp.tid())
        p = x[i]
        query = hash_grid_neighbors(grid, p, r)
        j = int(0)
        total = real(0.0)
        while hash_grid_neighbors_next(query, j):
            d = nearest_image(p - x[j], period)
            w = wp.max(r * r - wp.dot(d, d), real(0.0))
            total += w * w * w
        out[i] = total

    @wp.kernel
    def by_for(grid: wp.uint64, x: wp.array(dtype=vec), r: real, period: vec, out: wp.array(dtype=real)):
        i = hash_grid_point_id(grid, wp.tid())
        p = x[i]
        total = real(0.0)
        for j in hash_grid_neighbors(grid, p, r):
            d = nearest_image(p - x[j], period)
            w = wp.max(r * r - wp.dot(d, d), real(0.0))
            total += w * w * w
        out[i] = total

    return by_while, by_for


def force_kernel(vec, real):
    """Springs, dampers and friction between grains that touch."""

    @wp.kernel
    def forces(grid: wp.uint64, x: wp.array(dtype=vec), v: wp.array(dtype=vec), r: real, f: wp.array(dtype=vec)):
        i = hash_grid_point_id(grid, wp.tid())
        total = vec()
        for j in hash_grid_neighbors(grid, x[i], real(2.0) * r):
            if j != i:
                d = x[i] - x[j]
                gap = wp.length(d)
                n = d / gap
                u = v[i] - v[j]
                speed = wp.dot(n, u)
                press = real(50.0) * (real(2.0) * r - gap) * (real(1.0) - real(0.2) * speed)
                slip = u - n * speed
                total = total + n * press - slip * (real(0.3) * press / (wp.length(slip) + real(0.1)))
        f[i] = total

    return forces


@pytest.mark.parametrize("period", ((0.0, 0.0, 0.0), (2.0, 0.0, 2.0)), ids=("open", "periodic"))
@pytest.mark.parametrize("form", (0, 1), ids=("while", "for"))
def test_gradients_of_a_density(form, period):
    kernel = density_kernel(wp.vec3d, wp.float64)[form]
    points = np.random.default_rng(3).uniform(-1.0, 1.0, (40, 3))
    grid, x = HashGrid(4, 4, 4, dtype=wp.float64), wp.array(points, dtype=wp.vec3d, requires_grad=True)
    grid.build(x, 0.5, period=period)
    out = wp.zeros(40, dtype=wp.float64, requires_grad=True)
    inputs = [grid.id, x, wp.float64(0.6), wp.vec3d(*period)]
    wp.autograd.gradcheck(kernel, dim=40, inputs=inputs, outputs=[out], raise_exception=True)
    wp.launch(kernel, dim=40, inputs=inputs, outputs=[out])
    d = points[:, None] - points[None]
    d -= np.array(period) * np.rint(d / np.maximum(period, 1.0e-9)) if any(period) else 0.0
    assert np.allclose(out.numpy(), (np.maximum(0.36 - (d**2).sum(-1), 0.0) ** 3).sum(-1))


def test_gradients_of_contact_forces():
    rng = np.random.default_rng(4)
    points, speeds = rng.uniform(-0.5, 0.5, (30, 3)), rng.normal(size=(30, 3))
    grid = HashGrid(4, 4, 4, dtype=wp.float64)
    x, v = (wp.array(a, dtype=wp.vec3d, requires_grad=True) for a in (points, speeds))
    grid.build(x, 0.3)
    f = wp.zeros(30, dtype=wp.vec3d, requires_grad=True)
    kernel = force_kernel(wp.vec3d, wp.float64)
    inputs = [grid.id, x, v, wp.float64(0.15)]
    wp.autograd.gradcheck(kernel, dim=30, inputs=inputs, outputs=[f], raise_exception=True)


@wp.kernel
def follow(x: wp.array(dtype=wp.vec3d), rho: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    y[i] = x[i] * (wp.float64(1.0) + wp.float64(0.3) * rho[i])


def rollout(points, grids, kernel):
    """Final positions after one step per grid, and the gradient of their sum with respect to the first."""
    start = x = wp.array(points, dtype=wp.vec3d, requires_grad=True)
    with wp.Tape() as tape:
        for grid in grids:
            grid.build(x, 0.4)
            rho = wp.zeros(len(points), dtype=wp.float64, requires_grad=True)
            wp.launch(kernel, dim=len(points), inputs=[grid.id, x, wp.float64(0.4), wp.vec3d(), rho])
            y = wp.zeros_like(x)
            wp.launch(follow, dim=len(points), inputs=[x, rho, y])
            x = y
    tape.backward(grads={x: wp.ones_like(x)})
    return x.numpy(), start.grad.numpy()


def test_a_grid_that_is_rebuilt_every_step_of_a_tape():
    """Each step is reversed with the grid as it was then: the gradient is that of a grid per step."""
    points, kernel = np.random.default_rng(5).uniform(-1.0, 1.0, (200, 3)), density_kernel(wp.vec3d, wp.float64)[1]

    def grids(n):
        return [HashGrid(8, 8, 8, dtype=wp.float64) for _ in range(n)]

    ends, slope = rollout(points, grids(1) * 4, kernel)
    ends_apart, slope_apart = rollout(points, grids(4), kernel)
    assert np.array_equal(ends, ends_apart) and np.array_equal(slope, slope_apart)
    direction = np.random.default_rng(6).normal(size=points.shape)
    step = 1.0e-6
    high, low = (rollout(points + s * step * direction, grids(1) * 4, kernel)[0].sum() for s in (1, -1))
    assert (slope * direction).sum() == pytest.approx((high - low) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("between", [20, 400, 0])
def test_a_graph_finds_its_own_points_after_builds_of_other_sizes(between):
    @wp.kernel
    def count_near(grid: wp.uint64, x: wp.array(dtype=wp.vec3), found: wp.array(dtype=int)):
        i = wp.tid()
        for _j in wp.hash_grid_neighbors(grid, x[i], 0.5):
            found[i] += 1

    clouds = {n: np.random.default_rng(n).uniform(0, 2, (n, 3)).astype(np.float32) for n in (100, between)}
    points = {n: wp.array(cloud.reshape(-1, 3), dtype=wp.vec3) for n, cloud in clouds.items()}
    found = {n: wp.zeros(n, dtype=int) for n in clouds}
    near = {n: (np.linalg.norm(c[:, None] - c[None], axis=2) <= 0.5).sum(1) for n, c in clouds.items()}
    grid = wp.HashGrid(8, 8, 8)
    grid.build(points[100], 0.5)

    def count(n):
        found[n].zero_()
        wp.launch(count_near, n, inputs=[grid.id, points[n], found[n]])

    with wp.ScopedCapture() as capture:
        grid.build(points[100], 0.5)
        count(100)
    for _ in range(2):
        grid.build(points[between], 0.5)
        count(between)
        np.testing.assert_array_equal(found[between].numpy(), near[between])
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(found[100].numpy(), near[100])


def test_a_period_is_three_lengths():
    with pytest.raises(ArgumentTypeError, match="period is 5"):
        wp.HashGrid(8, 8, 8).build(wp.zeros(1, dtype=wp.vec3), 1.0, period=5)

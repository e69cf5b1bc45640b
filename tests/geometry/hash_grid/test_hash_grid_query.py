"""Candidates of hash grids against cells counted in NumPy, and scripts that filter them by themselves."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpsim as wp

pytestmark = pytest.mark.usefixtures("every_sort")

SCALAR = {np.float32: wp.float32, np.float64: wp.float64}
VEC3 = {np.float32: wp.vec3, np.float64: wp.vec3d}
KINDS = pytest.mark.parametrize("kind", (np.float32, np.float64), ids=("float32", "float64"))
MOST = 300


@wp.kernel
def find(
    grid: wp.uint64, at: wp.array(dtype=Any), max_dist: Any, found: wp.array2d(dtype=int), total: wp.array(dtype=int)
):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, at[i], max_dist):
        if n < MOST:
            found[i, n] = j
        n += 1
    total[i] = n


@wp.kernel
def find_in_group(
    grid: wp.uint64,
    at: wp.array(dtype=Any),
    max_dist: Any,
    groups: wp.array(dtype=int),
    found: wp.array2d(dtype=int),
    total: wp.array(dtype=int),
):
    i = wp.tid()
    n = int(0)
    query = wp.hash_grid_query(grid, at[i], max_dist, groups[i])
    index = int(-1)
    while wp.hash_grid_query_next(query, index):
        if n < MOST:
            found[i, n] = index
        n += 1
    total[i] = n


def built(points, width, dims=(8, 8, 8), device=None, **options):
    kind = points.dtype.type
    grid = wp.HashGrid(*dims, device=device, dtype=SCALAR[kind])
    grid.build(wp.array(points, dtype=VEC3[kind], device=device), width, **options)
    return grid


def candidates(grid, at, max_dist, groups=None):
    """The found indices of each position, in the order of the query."""
    kind, device = at.dtype.type, grid.device
    found, total = wp.zeros((len(at), MOST), dtype=int, device=device), wp.zeros(len(at), dtype=int, device=device)
    given = [grid.id, wp.array(at, dtype=VEC3[kind], device=device), SCALAR[kind](max_dist)]
    if groups is not None:
        given.append(wp.array(groups, dtype=int, device=device))
    kernel = find if groups is None else find_in_group
    wp.launch(kernel, dim=len(at), inputs=[*given, found, total], device=device)
    assert total.numpy().max(initial=0) <= MOST
    return [row[:n].tolist() for row, n in zip(found.numpy(), total.numpy(), strict=True)]


def in_covered_cells(points, at, max_dist, width, dims):
    """Whether a point is a candidate: (len(at), len(points))."""
    points, at = points.astype(np.float64), at.astype(np.float64)
    low, high = np.floor((at - max_dist) / width), np.floor((at + max_dist) / width)
    beyond = np.mod(np.floor(points / width)[None] - low[:, None], dims)
    return (beyond < np.minimum(high - low + 1, dims)[:, None]).all(axis=-1)


# ----- which points -----------------------------------------------------------------------------


@KINDS
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_candidates_are_the_points_in_covered_cells(kind, data):
    """Each once. Widths and distances are sums of powers of two: cells are counted without rounding."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = data.draw(st.integers(1, MOST))
    width = data.draw(st.sampled_from((0.25, 1.0, 4.0)))
    side = width * data.draw(st.sampled_from((0.7, 5.0, 60.0, 3000.0)))
    middle = width * data.draw(st.sampled_from((0.0, 0.0, 7.5, -1000.0)))
    points, at = ((rng.uniform(-side, side, (n, 3)) + middle).astype(kind) for n in (count, 30))
    if data.draw(st.booleans()):  # on corners of cells, and all in a plane
        points[: count // 2] = np.round(points[: count // 2] / width) * width
        points[:, 1] = points[0, 1]
    at[:15] = points[rng.integers(0, count, 15)]
    dims = data.draw(st.tuples(*[st.sampled_from((1, 2, 3, 5, 8, 13, 64, 101))] * 3))
    max_dist = width * data.draw(st.sampled_from((0.0, 0.125, 0.5, 1.0, 2.75, 40.0)))
    expected = in_covered_cells(points, at, max_dist, width, dims)
    for row, inside in zip(candidates(built(points, width, dims), at, max_dist), expected, strict=True):
        assert len(set(row)) == len(row), "found twice"
        assert sorted(row) == np.flatnonzero(inside).tolist()


@KINDS
def test_a_query_that_covers_every_cell_finds_each_point_once(kind):
    points = np.random.default_rng(0).uniform(-50, 50, (MOST, 3)).astype(kind)
    for dims in ((1, 1, 1), (2, 3, 4), (128, 128, 128)):
        for max_dist in (500.0, np.finfo(kind).max, np.inf):
            found = candidates(built(points, 1.0, dims), points[:3], max_dist)
            assert [sorted(row) for row in found] == [list(range(MOST))] * 3


@KINDS
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_groups_part_candidates(kind, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    values = data.draw(st.sampled_from(([0], [0, 1, 2], [-5, 3], [-(2**31), 2**31 - 1, 0], list(range(100, 400)))))
    points = rng.uniform(-5.0, 5.0, (80, 3)).astype(kind)
    groups = rng.choice(values, 80).astype(np.int32)
    dims = data.draw(st.tuples(*[st.sampled_from((2, 5, 64))] * 3))
    grid, wanted = built(points, 1.0, dims, groups=groups), np.append(groups[:-1], np.int32(7))
    expected = in_covered_cells(points, points, 0.75, 1.0, dims)
    for k, row in enumerate(candidates(grid, points, 0.75, wanted)):
        assert sorted(row) == np.flatnonzero(expected[k] & (groups == wanted[k])).tolist()
    for row, inside in zip(candidates(grid, points, 0.75), expected, strict=True):
        assert sorted(row) == np.flatnonzero(inside).tolist()


@KINDS
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_cells_wrap_at_a_period(kind, data):
    """All whose nearest image is near are among the candidates, each once, wherever in space it was asked."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    lengths = np.array([data.draw(st.sampled_from((0.0, 1.0, 1.7, 0.31))) for _ in range(3)])
    points, at = (rng.uniform(-3.0, 3.0, (n, 3)).astype(kind) for n in (60, 20))
    max_dist = data.draw(st.sampled_from((0.01, 0.1, 0.45, 1.1)))
    grid = built(points, data.draw(st.sampled_from((0.07, 0.3, 2.0))), (64, 5, 9), period=lengths)
    d = at[:, None].astype(np.float64) - points[None]
    d -= lengths * np.rint(d / np.where(lengths > 0.0, lengths, np.inf))
    near = np.linalg.norm(d, axis=-1) < max_dist - 1.0e-5
    for row, inside in zip(candidates(grid, at, max_dist), near, strict=True):
        assert len(set(row)) == len(row) and set(np.flatnonzero(inside)) <= set(row)


@KINDS
def test_numbers_that_are_none(kind):
    points = np.zeros((8, 3), kind)
    points[1, 0], points[2, 1], points[3, 2], points[4] = np.nan, np.inf, -np.inf, np.nan
    grid = built(points, 0.5)
    for max_dist in (0.0, 0.1, np.inf):
        assert candidates(grid, points, max_dist) == [[0, 5, 6, 7], [], [], [], [], *[[0, 5, 6, 7]] * 3]
    for none in (np.nan, -1.0, -np.inf):
        assert candidates(grid, points, none) == [[]] * 8
    other = {np.float32: np.float64, np.float64: np.float32}[kind]
    assert candidates(grid, np.zeros((1, 3), other), 1.0) == [[]]
    assert candidates(wp.HashGrid(4, 4, 4, dtype=SCALAR[kind]), points, 1.0) == [[]] * 8


def test_the_order_is_by_cell_and_then_by_index():
    points = np.zeros((50, 3), np.float32)
    points[::2, 0] = 10.0
    assert candidates(built(points, 1.0, (64, 8, 8)), points[:2], 12.0)[0] == [*range(1, 50, 2), *range(0, 50, 2)]


@pytest.mark.parametrize("grouped", (False, True), ids=("for", "while"))
def test_the_interpreter_finds_the_same(grouped):
    rng = np.random.default_rng(5)
    points, groups = rng.uniform(-5.0, 5.0, (60, 3)).astype(np.float32), np.arange(60, dtype=np.int32) % 2
    for period in (None, (2.0, 0.0, 1.5)):
        grids = [built(points, 0.4, (3, 7, 8), device=d, groups=groups, period=period) for d in ("cpu", "interp")]
        native, slow = (candidates(g, points[:4], 0.5, groups[:4] if grouped else None) for g in grids)
        assert native == slow and sum(map(len, native)) > 4


# ----- scripts with distances of their own ------------------------------------------------------


@wp.kernel
def push(grid: wp.uint64, x: wp.array(dtype=wp.vec3d), r: wp.float64, box: wp.float64, f: wp.array(dtype=wp.vec3d)):
    """Repulsion by nearest images in a box that repeats, as a script writes it; box 0: no images."""
    i = wp.tid()
    total = wp.vec3d()
    for j in wp.hash_grid_query(grid, x[i], r):
        d = x[i] - x[j]
        if box > wp.float64(0.0):
            for axis in range(3):
                d[axis] = d[axis] - box * wp.rint(d[axis] / box)
        length = wp.length(d)
        if j != i and length < r:
            total += d / length * (r - length)
    f[i] = total


def pushed(x, r, box):
    d = x[:, None] - x[None]
    if box:
        d -= box * np.rint(d / box)
    length = np.linalg.norm(d, axis=-1, keepdims=True)
    near = (length < r) & (length > 0.0)
    return np.where(near, d / np.where(near, length, 1.0) * (r - length), 0.0).sum(axis=1)


def forces(grid, x, r, box=0.0):
    f = wp.zeros(len(x), dtype=wp.vec3d)
    wp.launch(push, len(x), inputs=[grid.id, wp.array(x, dtype=wp.vec3d), wp.float64(r), wp.float64(box), f])
    return f.numpy()


def test_forces_reach_across_the_border_of_a_box_as_long_as_the_grid():
    r, cells = 0.25, 8
    x = np.random.default_rng(7).uniform(0.0, r * cells, (400, 3))
    expected, without = pushed(x, r, r * cells), pushed(x, r, 0.0)
    assert np.abs(expected - without).max() > 0.1, "the border plays a part"
    np.testing.assert_allclose(forces(built(x, r, (cells,) * 3), x, r, r * cells), expected, atol=1e-12)


def test_points_that_moved_since_the_build_are_found_where_they_are_now():
    """A margin in the distance that is asked for covers the movement: built once, iterated many times."""
    rng, r, margin = np.random.default_rng(8), 0.2, 0.1
    x = rng.uniform(-1.0, 1.0, (300, 3))
    grid = built(x, r, (64, 64, 64))
    moved = x + rng.uniform(-1.0, 1.0, x.shape) * margin / np.sqrt(3.0)
    found = candidates(grid, moved, r + margin)
    near = np.linalg.norm(moved[:, None] - moved[None], axis=-1) <= r
    lost = [set(np.flatnonzero(inside)) - set(row) for row, inside in zip(found, near, strict=True)]
    assert near.sum() > 500 and not any(lost)


def weighed(x, r, weights, steps):
    """The weighted forces of some steps, each with a grid built anew, and their gradient."""
    x, w = wp.array(x, dtype=wp.vec3d, requires_grad=True), wp.array(weights, dtype=wp.vec3d)
    f, loss = (wp.zeros(n, dtype=t, requires_grad=True) for n, t in ((len(weights), wp.vec3d), (1, wp.float64)))
    grid = wp.HashGrid(4, 5, 6, dtype=wp.float64)
    grid.reserve(len(weights))
    with wp.Tape() as tape:
        for _ in range(steps):
            grid.build(x, r)
            wp.launch(push, len(weights), inputs=[grid.id, x, wp.float64(r), wp.float64(0.0), f])
            wp.launch(add_up, len(weights), inputs=[f, w, loss])
        grid.build(wp.zeros(3, dtype=wp.vec3d), 1.0)  # which backward does not see
    tape.backward(loss)
    return loss.numpy()[0], x.grad.numpy()


@wp.kernel
def add_up(f: wp.array(dtype=wp.vec3d), w: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(f[i], w[i]))


def test_gradients_flow_through_distances_of_candidates():
    rng, r, h = np.random.default_rng(9), 0.6, 1.0e-6
    x, w = rng.uniform(-1.0, 1.0, (2, 40, 3))
    loss, slope = weighed(x, r, w, 2)
    assert loss == pytest.approx(2.0 * (pushed(x, r, 0.0) * w).sum())
    for k in range(5):
        e = np.zeros_like(x)
        e[k, k % 3] = h
        numeric = sum(s * (pushed(x + s * e, r, 0.0) * w).sum() for s in (1, -1)) / (2.0 * h)
        assert slope[k, k % 3] == pytest.approx(2.0 * numeric, rel=1e-5, abs=1e-6)


@wp.kernel
def count_near(grid: wp.uint64, points: wp.array(dtype=Any), radius: Any, total: wp.array(dtype=int)):
    i = wp.tid()
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[i] - points[j]) <= radius:
            total[i] += 1


@wp.func
def first_candidate(query: wp.HashGridQuery[wp.float16]):
    index = int(-1)
    while wp.hash_grid_query_next(query, index):
        return index
    return -1


@wp.kernel
def any_candidate(
    grid: wp.uint64, points: wp.array(dtype=wp.vec3h), groups: wp.array(dtype=int), found: wp.array(dtype=int)
):
    i = wp.tid()
    found[i] = first_candidate(wp.hash_grid_query(grid, points[i], wp.float16(0.01), groups[i]))


@pytest.mark.parametrize("device", ("cpu", "interp"))
def test_points_of_float16_are_sorted_as_float32_ones(device):
    count = 60 if device == "cpu" else 12
    numbers = np.random.default_rng(0).uniform(0, 2, (count, 3)).astype(np.float16)
    points = wp.array(numbers, dtype=wp.vec3h, device=device)
    grid = wp.HashGrid(8, 8, 8, device=device, dtype=wp.float16)
    groups = wp.array(np.arange(count), dtype=int, device=device)
    grid.build(points, 0.4, groups=groups)
    total, found = (wp.zeros(count, dtype=int, device=device) for _ in range(2))
    wp.launch(count_near, count, [grid.id, points, wp.float16(0.4), total], device=device)
    wp.launch(any_candidate, count, [grid.id, points, groups, found], device=device)
    apart = np.linalg.norm((numbers[:, None] - numbers[None]).astype(np.float64), axis=-1)
    least, most = (apart < 0.398).sum(1), (apart < 0.402).sum(1)  # what float16 may decide either way
    assert ((least <= total.numpy()) & (total.numpy() <= most)).all()
    assert np.array_equal(found.numpy(), np.arange(count))


@KINDS
@pytest.mark.parametrize("shape", ((24,), (6, 4), (2, 3, 4), (2, 2, 3, 2)))
@pytest.mark.parametrize("apart", (False, True))
@pytest.mark.parametrize("captured", (False, True))
def test_points_of_any_rank_and_stride_count_in_c_order(kind, shape, apart, captured):
    numbers = np.random.default_rng(1).uniform(-1, 1, (24, 3)).astype(kind)
    room = wp.zeros((shape[0] * 2, *shape[1:]), dtype=VEC3[kind])
    points = room[::2] if apart else room[: shape[0]]
    grid = wp.HashGrid(8, 8, 8, dtype=SCALAR[kind])
    grid.reserve(24)
    if captured:
        with wp.ScopedCapture() as capture:
            grid.build(points, 0.5)
    points.assign(numbers.reshape((*shape, 3)))
    if captured:
        wp.capture_launch(capture.graph)
    else:
        grid.build(points, 0.5)
    assert_same = [
        np.array_equal(a, b)
        for a, b in zip(candidates(grid, numbers, 0.5), candidates(built(numbers, 0.5), numbers, 0.5), strict=True)
    ]
    assert all(assert_same)

"""Queries of hash grids against brute force in float64: the true neighbours, each once, and nothing else."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.geometry.hash_grid.hash_grid import HashGrid
from warpsim.geometry.hash_grid.neighbors import hash_grid_neighbors, hash_grid_neighbors_next
from warpsim.geometry.hash_grid.query import hash_grid_point_id

VEC3 = {np.float32: wp.vec3, np.float64: wp.vec3d}

pytestmark = pytest.mark.usefixtures("every_sort")

SCALAR = {np.float32: wp.float32, np.float64: wp.float64}
KINDS = pytest.mark.parametrize("kind", (np.float32, np.float64), ids=("float32", "float64"))
MOST = 64  # neighbours that are written down; tests below have fewer points


@wp.kernel
def find(
    grid: wp.uint64, at: wp.array(dtype=Any), max_dist: Any, found: wp.array2d(dtype=int), total: wp.array(dtype=int)
):
    i = wp.tid()
    n = int(0)
    for j in hash_grid_neighbors(grid, at[i], max_dist):
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
    query = hash_grid_neighbors(grid, at[i], max_dist, groups[i])
    index = int(-1)
    while hash_grid_neighbors_next(query, index):
        if n < MOST:
            found[i, n] = index
        n += 1
    total[i] = n


def built(points, radius, dims=(8, 8, 8), device=None, **options):
    kind = points.dtype.type
    grid = HashGrid(*dims, device=device, dtype=SCALAR[kind])
    grid.build(wp.array(points, dtype=VEC3[kind], device=device), radius, **options)
    return grid


def neighbours(grid, at, max_dist, groups=None):
    """The found indices of each position, in the order of the query."""
    kind, device = at.dtype.type, grid.device
    found = wp.zeros((len(at), MOST), dtype=int, device=device)
    total = wp.zeros(len(at), dtype=int, device=device)
    given = [grid.id, wp.array(at, dtype=VEC3[kind], device=device), SCALAR[kind](max_dist)]
    if groups is not None:
        given.append(wp.array(groups, dtype=int, device=device))
    kernel = find if groups is None else find_in_group
    wp.launch(kernel, dim=len(at), inputs=[*given, found, total], device=device)
    assert total.numpy().max(initial=0) <= MOST
    return [row[:n].tolist() for row, n in zip(found.numpy(), total.numpy(), strict=True)]


def distances(at, points, period=None):
    """Distances (len(at), len(points)) in float64."""
    with np.errstate(invalid="ignore", over="ignore"):
        d = at.astype(np.float64)[:, None] - points.astype(np.float64)[None]
        for axis, length in enumerate(period or ()):
            if length:
                d[..., axis] -= length * np.rint(d[..., axis] / length)
        scale = np.abs(d).max(axis=-1, initial=np.finfo(float).tiny)  # squares neither overflow nor vanish
        return scale * np.sqrt(((d / scale[..., None]) ** 2).sum(axis=-1))


def assert_true_neighbours(found, at, points, max_dist, period=None, allowed=None):
    """Every neighbour once; whether a point at max_dist up to rounding is one is left open."""
    kind = points.dtype.type
    near = distances(at, points, period)
    span = max([length for length in period or () if length] + [0.0])
    slack = 8 * np.finfo(kind).eps * (kind(max_dist) + 4 * span)
    for row, d in zip(found, near, strict=True):
        assert len(set(row)) == len(row), "found twice"
        row_allowed = np.ones(len(points), bool) if allowed is None else allowed
        surely = set(np.flatnonzero((d <= max_dist - slack) & row_allowed))
        perhaps = set(np.flatnonzero((d <= max_dist + slack) & row_allowed))
        assert surely <= set(row) <= perhaps


# ----- clouds -----------------------------------------------------------------------------------


@st.composite
def clouds(draw, kind):
    """Points of every sort: spread, in a cluster, on a lattice, in one place, huge, tiny."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, MOST))
    form = draw(st.sampled_from(("box", "cluster", "lattice", "line", "place")))
    points = rng.uniform(-1.0, 1.0, (count, 3))
    if form == "cluster":
        points = rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(-6, 0, (count, 1))
    elif form == "lattice":
        points = rng.integers(-3, 4, (count, 3)) / 4.0
    elif form == "line":
        points[:, 1:] = points[0, 1:]
    elif form == "place":
        points[:] = points[0]
    scale = 10.0 ** draw(st.integers(-30, 30) if kind is np.float32 else st.integers(-250, 250))
    offset = draw(st.sampled_from((0.0, 0.0, 1.0, -3.0, 1000.0)))
    return ((points + offset) * scale).astype(kind), scale


@KINDS
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_cloud(kind, data):
    points, scale = data.draw(clouds(kind))
    radius = scale * data.draw(st.sampled_from((0.05, 0.3, 1.0, 5.0)))
    max_dist = kind(scale * data.draw(st.sampled_from((1.0e-3, 0.05, 0.25, 0.3, 0.7, 3.0))))
    dims = data.draw(st.tuples(*[st.integers(1, 9)] * 3))
    grid = built(points, radius, dims)
    assert_true_neighbours(neighbours(grid, points, max_dist), points, points, float(max_dist))


@KINDS
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_cloud_in_a_period(kind, data):
    """Points and positions in any image, any axes periodic, max_dist up to more than a period."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = data.draw(st.integers(1, MOST))
    lengths = [data.draw(st.sampled_from((0.0, 1.0, 1.7, 0.31))) for _ in range(3)]
    points, at = (rng.uniform(-3.0, 3.0, (count, 3)).astype(kind) for _ in range(2))
    max_dist = kind(data.draw(st.sampled_from((0.01, 0.1, 0.45, 1.1, 4.0))))
    radius = data.draw(st.sampled_from((0.07, 0.3, 2.0)))
    grid = built(points, radius, data.draw(st.tuples(*[st.integers(1, 9)] * 3)), period=lengths)
    assert_true_neighbours(neighbours(grid, at, max_dist), at, points, float(max_dist), lengths)


@KINDS
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_groups(kind, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    count = data.draw(st.integers(1, MOST))
    values = data.draw(st.sampled_from(([0], [0, 1, 2], [-5, 3], [-(2**31), 2**31 - 1, 0], list(range(100, 400)))))
    groups = rng.choice(values, count).astype(np.int32)
    points = rng.uniform(-1.0, 1.0, (count, 3)).astype(kind)
    grid = built(points, 0.3, groups=groups)
    wanted = np.append(groups[:-1], np.int32(7))
    for k, row in enumerate(neighbours(grid, points, 0.6, wanted)):
        assert_true_neighbours([row], points[k : k + 1], points, float(kind(0.6)), allowed=groups == wanted[k])
    assert_true_neighbours(neighbours(grid, points, 0.6), points, points, float(kind(0.6)))


@KINDS
def test_larger_clouds_agree_with_brute_force(kind):
    rng = np.random.default_rng(3)
    points = rng.uniform(-2.0, 6.0, (1000, 3)).astype(kind)
    for dims, radius, max_dist in (((128, 128, 128), 1.0, 0.9), ((4, 128, 3), 0.5, 1.3), ((1, 1, 1), 2.0, 1.0)):
        grid = built(points, radius, dims)
        assert_true_neighbours(neighbours(grid, points, max_dist), points, points, float(kind(max_dist)))


# ----- order and precision ----------------------------------------------------------------------


@KINDS
def test_the_distance_is_that_of_the_precision(kind):
    """Exactly dot(d, d) <= r r, as NumPy rounds it; lattice points at exactly max_dist are in."""
    rng = np.random.default_rng(4)
    lattice = (rng.integers(-4, 5, (60, 3)) * 0.1).astype(kind)
    r = kind(0.3)
    d = lattice[:, None] - lattice[None]
    expected = (d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1]) + d[..., 2] * d[..., 2] <= r * r
    found = neighbours(built(lattice, 0.3), lattice, r)
    assert [sorted(row) for row in found] == [np.flatnonzero(row).tolist() for row in expected]
    assert not np.array_equal(expected, distances(lattice, lattice) <= 0.3), "rounding plays a part here"


@KINDS
def test_neighbours_that_rounding_brings_near_are_found_behind_the_last_cell(kind):
    """The difference rounds to max_dist, but the point lies in a cell that ends before the ball begins."""
    points = np.array([[-(np.finfo(kind).eps ** 2), 0.0, 0.0], [0.25, 0.0, 0.0]], kind)
    assert points[1, 0] - points[0, 0] == kind(0.25) and points[0, 0] < 0.0
    assert neighbours(built(points, 0.25), points, 0.25) == [[0, 1], [0, 1]]


def test_the_order_is_by_cell_and_then_by_index():
    points = np.zeros((50, 3), np.float32)
    points[::2, 0] = 10.0
    found = neighbours(built(points, 1.0), points[:2], 100.0)
    assert found[0] == [*range(1, 50, 2), *range(0, 50, 2)] == found[1]


@pytest.mark.parametrize("form", (find, find_in_group), ids=("for", "while"))
def test_the_interpreter_finds_the_same(form):
    rng = np.random.default_rng(5)
    points, groups = rng.uniform(-1.0, 1.0, (40, 3)).astype(np.float32), np.arange(40, dtype=np.int32) % 2
    for period in (None, (2.0, 0.0, 1.5)):
        grids = [built(points, 0.4, (3, 8, 8), device=d, groups=groups, period=period) for d in ("cpu", "interp")]
        native, slow = (neighbours(g, points[:4], 0.5, None if form is find else groups[:4]) for g in grids)
        assert native == slow and sum(map(len, native)) > 4


@wp.kernel
def weigh(grid: wp.uint64, x: wp.array(dtype=wp.vec3), r: float, out: wp.array(dtype=float)):
    i = hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in hash_grid_neighbors(grid, x[i], r):
        d = x[i] - x[j]
        total += wp.exp(-wp.dot(d, d))
    out[i] = total


def test_sums_are_the_same_bits_for_any_number_of_threads():
    points = np.random.default_rng(6).normal(size=(30_000, 3)).astype(np.float32)
    before, seen = get_pool().threads, set()
    for threads in (1, 2, 4):
        wp.set_num_threads(threads)
        try:
            grid, out = built(points, 0.1, (128, 128, 128)), wp.zeros(len(points), dtype=float)
            wp.launch(weigh, dim=len(points), inputs=[grid.id, wp.array(points, dtype=wp.vec3), 0.1, out])
        finally:
            wp.set_num_threads(before)
        seen.add(out.numpy().tobytes())
    assert len(seen) == 1


# ----- limits -----------------------------------------------------------------------------------


@KINDS
def test_numbers_that_are_none(kind):
    """Points, positions and distances with a NaN or an infinity find nothing and are not found."""
    points = np.zeros((8, 3), kind)
    points[1, 0], points[2, 1], points[3, 2], points[4] = np.nan, np.inf, -np.inf, np.nan
    for period in (None, (1.0, 1.0, 1.0)):
        grid = built(points, 0.5, period=period)
        found = neighbours(grid, points, 0.1)
        assert found == [[0, 5, 6, 7], [], [], [], [], *[[0, 5, 6, 7]] * 3]
        for none in (np.nan, -1.0, -np.inf):
            assert neighbours(grid, points, none) == [[]] * 8
        assert neighbours(grid, points, np.inf) == found, "an infinite distance reaches all that is anywhere"
        assert neighbours(grid, points, 0.0) == found, "points in the same place are neighbours at distance 0"


@KINDS
@pytest.mark.parametrize("sign", (1.0, -1.0))
def test_the_ends_of_the_range(kind, sign):
    """The largest numbers there are, next to the smallest, with cells far beyond what integers count."""
    most, least = np.finfo(kind).max * sign, np.finfo(kind).smallest_subnormal * sign
    points = np.array([[most, 0, 0], [most, most, most], [0, 0, 0], [least, 0, 0], [most, least, 0]], kind)
    grid = built(points, 1.0e-30)
    assert [sorted(row) for row in neighbours(grid, points, 1.0)] == [[0, 4], [1], [2, 3], [2, 3], [0, 4]]
    far = neighbours(grid, points, np.finfo(kind).max)
    assert [sorted(row) for row in far] == [[0, 2, 3, 4], [1], *[[0, 2, 3, 4]] * 3]
    assert [sorted(row) for row in neighbours(grid, points, 0.0)] == [[0], [1], [2], [3], [4]]
    assert [sorted(row) for row in neighbours(grid, points, abs(least))] == [[0, 4], [1], [2, 3], [2, 3], [0, 4]]


@example(cells=2.0**24 + 1).via("beyond the whole numbers of float32")
@example(cells=2.0**53).via("beyond those of float64")
@settings(max_examples=50, deadline=None)
@given(cells=st.floats(-1.0e20, 1.0e20))
def test_far_from_the_origin(cells):
    """Neighbours many cells away from the origin, where the next number is more than a cell away."""
    here = np.float64(cells)
    points = np.array([[np.nextafter(here, np.inf * side), 0.0, 0.0] if side else [here, 0, 0] for side in (-1, 0, 1)])
    gap = np.diff(points[:, 0])
    found = neighbours(built(points, 1.0), points, float(gap.max()))
    assert [sorted(row) for row in found[1:2]] == [[0, 1, 2]]
    assert neighbours(built(points, 1.0), points, float(gap.min()) * 0.5) == [[0], [1], [2]]


@wp.kernel
def order(grid: wp.uint64, first: int, out: wp.array(dtype=int)):
    out[wp.tid()] = hash_grid_point_id(grid, first + wp.tid())


def test_point_ids_are_a_permutation_with_strays_last():
    points = np.random.default_rng(7).normal(size=(5000, 3)).astype(np.float32)
    points[100], points[37] = np.nan, np.inf
    grid, out = built(points, 0.2), wp.zeros(5004, dtype=int)
    wp.launch(order, dim=5004, inputs=[grid.id, -2, out])
    ids = out.numpy()
    assert ids[[0, 1, -2, -1]].tolist() == [-1] * 4
    assert sorted(ids[2:-2]) == list(range(5000)) and ids[-4:-2].tolist() == [37, 100]


def test_nothing_is_found_without_points():
    grid, at = HashGrid(4, 4, 4), np.zeros((2, 3), np.float32)
    assert neighbours(grid, at, 1.0) == [[], []]
    grid.build(wp.zeros(0, dtype=wp.vec3), 1.0)
    assert neighbours(grid, at, 1.0) == [[], []]
    grid.build(wp.zeros(3, dtype=wp.vec3), 1.0)
    assert neighbours(grid, at, 1.0) == [[0, 1, 2]] * 2
    grid.build(wp.zeros(0, dtype=wp.vec3), 1.0)
    assert neighbours(grid, at, 1.0) == [[], []]


def test_a_group_means_nothing_to_a_grid_without_groups():
    grid = built(np.zeros((3, 3), np.float32), 1.0)
    assert neighbours(grid, np.zeros((1, 3), np.float32), 1.0, np.array([5], np.int32)) == [[0, 1, 2]]


def test_positions_of_the_other_precision_find_nothing():
    for kind, other in ((np.float32, np.float64), (np.float64, np.float32)):
        grid, at = built(np.zeros((3, 3), kind), 1.0), np.zeros((1, 3), other)
        assert neighbours(grid, at, 1.0) == [[]]

"""The sort behind hash grids: the one stable order by cell, on any number of threads, in a table of bounded size."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.geometry.hash_grid import buckets as hash_grid_buckets
from warpsim.geometry.hash_grid import build as hash_grid_build
from warpsim.geometry.hash_grid import hash_grid
from warpsim.geometry.hash_grid import sort as hash_grid_sort
from warpsim.geometry.hash_grid.hash_grid import HashGrid, most_cells
from warpsim.geometry.hash_grid.neighbors import hash_grid_neighbors
from warpsim.geometry.hash_grid.query import hash_grid_query

pytestmark = pytest.mark.usefixtures("every_sort")


def built(points, radius, dims=(128, 128, 128), dtype=np.float32, **options):
    scalar, vector = {np.float32: (float, wp.vec3), np.float64: (wp.float64, wp.vec3d)}[dtype]
    grid = HashGrid(*dims, dtype=scalar)
    grid.build(wp.array(points.astype(dtype), dtype=vector), radius, **options)
    return grid


def contents(grid, count):
    """The sorted points: indices, coordinates, and where cells start."""
    plan = grid._plan.numpy()[0]
    cells = int(np.prod(plan["cells"])) * int(plan["layers"])
    coordinates = np.stack([c.numpy()[:count] for c in grid._coordinates], axis=1)
    return grid._point.numpy()[:count], coordinates, grid._starts.numpy()[: cells + 2]


def expected_cells(grid, points, groups=None):
    """The cell of every point by the plan, in NumPy."""
    plan = grid._plan.numpy()[0]
    number = np.floor(points.astype(np.float64) * plan["scale"]) - plan["origin"]
    number = np.where(plan["lowest"] < 0, np.mod(number, plan["around"]), number)
    assert (number >= 0).all() and (number < plan["extent"]).all()
    place = np.where(plan["per_cells"] > 0, np.mod(number, plan["cells"]), number).astype(np.int64)
    assert (place >= 0).all() and (place < plan["cells"]).all()
    layer = 0 if groups is None else np.mod(groups.astype(np.int64) - plan["first_group"], plan["layers"])
    x, y, z = place.T
    return ((layer * plan["cells"][2] + z) * plan["cells"][1] + y) * plan["cells"][0] + x


CLOUDS = {
    "few": lambda rng: rng.uniform(-1, 1, (50, 3)),
    "many": lambda rng: rng.uniform(-1, 1, (40_000, 3)) * [3.0, 1.0, 2.0],
    "cluster": lambda rng: rng.normal(size=(30_000, 3)) ** 3,
    "one place": lambda rng: np.full((20_000, 3), -0.3),
    "flat": lambda rng: rng.uniform(-1, 1, (20_000, 3)) * [1.0, 1.0, 0.0],
    "thin": lambda rng: rng.uniform(-1e6, 1e6, (20_000, 3)) * [1.0, 0.0, 0.0],
    "apart": lambda rng: rng.uniform(-1e9, 1e9, (3000, 3)),
}


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("dims", ((128, 128, 128), (5, 1, 2)), ids=("large", "small"))
def test_points_are_sorted_by_cell_and_then_by_index(name, dims, dtype):
    points = CLOUDS[name](np.random.default_rng(0)).astype(dtype)
    n = len(points)
    groups = np.random.default_rng(1).integers(-3, 4, n).astype(np.int32)
    for kinds in (None, groups):
        grid = built(points, 0.1, dims, dtype, groups=None if kinds is None else wp.array(kinds, dtype=int))
        order, coordinates, starts = contents(grid, n)
        cells = expected_cells(grid, points, kinds)
        assert np.array_equal(order, np.argsort(cells, kind="stable"))
        assert np.array_equal(coordinates, points[order])
        assert np.array_equal(starts[:-1], np.searchsorted(np.sort(cells), np.arange(len(starts) - 1)))
        assert starts[-1] == n
        plan = grid._plan.numpy()[0]
        assert len(starts) - 2 <= most_cells(n)
        assert (plan["cells"] <= np.array(dims) * [hash_grid_build.FINEST, 1, 1]).all()
        if kinds is not None:
            assert np.array_equal(grid._group.numpy()[:n], kinds[order])


@pytest.mark.parametrize("name", CLOUDS)
def test_both_sorts_make_the_same_grid(name, monkeypatch):
    """With groups, a period, strays."""
    points = CLOUDS[name](np.random.default_rng(0))
    points[::9, 1] = np.inf
    n, made = len(points), []
    for sort in (hash_grid_buckets.BucketBuild, hash_grid_sort.SortBuild):
        monkeypatch.setattr(hash_grid, "builder_for", lambda device, sort=sort: sort)
        kinds = wp.array(np.arange(n) % 5, dtype=int)
        grid = built(points, 0.1, (64, 64, 64), groups=kinds, period=(0.0, 1.7, 0.0))
        plan = grid._plan.numpy()[0]
        fields = [plan[name] for name in plan.dtype.names if name != "shift"]  # which only one of them uses
        made.append([*contents(grid, n), grid._group.numpy()[:n], *fields])
    for a, b in zip(*made, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tables_of_any_length_wrap_at_whole_multiples():
    """49 * (1 / 49) is below 1 in float64: a quotient that is floored as it stands would end behind the table."""
    points = np.zeros((2000, 3))
    points[:, 1] = np.arange(-1000, 1000)
    for cells in (49, 98, 103, 107):
        grid = built(points, 1.0, (1, cells, 1))
        assert grid._plan.numpy()[0]["cells"].tolist() == [1, cells, 1]
        order, _, _ = contents(grid, 2000)
        assert np.array_equal(order, np.argsort(np.arange(-1000, 1000) % cells, kind="stable"))


def test_strays_stand_behind_all_cells():
    points = np.random.default_rng(2).uniform(-1, 1, (10_000, 3))
    points[::7, 1] = np.nan
    points[::11] = -np.inf
    grid = built(points, 0.1)
    order, _, starts = contents(grid, 10_000)
    strays = np.flatnonzero(~np.isfinite(points).all(axis=1))
    assert np.array_equal(order[starts[-2] :], strays) and starts[-1] == 10_000


def test_a_period_is_a_whole_number_of_cells():
    points = np.random.default_rng(3).uniform(-40, 40, (10_000, 3))
    grid = built(points, 0.3, period=(7.0, 0.0, 2.0))
    plan = grid._plan.numpy()[0]
    assert plan["cells"][0] == 23 * plan["finer"] and plan["cells"][2] == 6
    assert np.allclose(plan["scale"] * [7.0, 0.3, 2.0], [plan["cells"][0], 1.0, 6.0])
    order, coordinates, _ = contents(grid, 10_000)
    assert np.array_equal(order, np.argsort(expected_cells(grid, points.astype(np.float32)), kind="stable"))
    assert coordinates[:, [0, 2]].min() >= 0.0 and (coordinates.max(axis=0)[[0, 2]] <= (7.0, 2.0)).all()


def test_the_same_bits_on_any_number_of_threads():
    points = np.random.default_rng(4).normal(size=(60_000, 3))
    before, seen = get_pool().threads, set()
    try:
        for threads in (1, 2, 4):
            wp.set_num_threads(threads)
            parts = contents(built(points, 0.05), 60_000)
            seen.add(b"".join(part.tobytes() for part in parts))
    finally:
        wp.set_num_threads(before)
    assert len(seen) == 1


def test_work_and_memory_follow_the_points_not_the_space(monkeypatch):
    """A few points far apart in a table of 10^18 cells, and in one cell, take the memory of a few points."""
    sizes = []
    for module in (hash_grid, hash_grid_buckets, hash_grid_sort):
        monkeypatch.setattr(module, "empty", lambda n, dtype, device: sizes.append(n) or wp.empty(n, dtype, device))
    for side in (1.0e-3, 1.0e6):
        sizes.clear()
        built(np.random.default_rng(5).uniform(-side, side, (100, 3)), 1.0, (10**6, 10**6, 10**6))
        assert max(sizes) < 400


# ----- CUDA -------------------------------------------------------------------------------------


@wp.kernel
def crowd(grid: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    for j in hash_grid_neighbors(grid, x[i], 0.1):
        out[i] = out[i] + wp.length(x[j] - x[i])


@wp.kernel
def crowd_in_group(grid: wp.uint64, x: wp.array(dtype=wp.vec3d), out: wp.array(dtype=int)):
    i = wp.tid()
    for j in hash_grid_neighbors(grid, x[i], wp.float64(0.1), i):
        out[i] = out[i] + j


@wp.kernel
def candidates(grid: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    for j in hash_grid_query(grid, x[i], 0.1, i):
        out[i] = out[i] + wp.length(x[j] - x[i])


def test_builds_and_queries_become_ptx(monkeypatch):
    if tools.missing():
        pytest.skip(f"without {', '.join(tools.missing())}")
    launched = []
    for module in (hash_grid_buckets, hash_grid_sort):
        monkeypatch.setattr(module, "launch", lambda kernel, dim, args, **_: launched.append((kernel, args)))
    points = np.zeros((10, 3))
    for dtype in (np.float32, np.float64):
        built(points, 0.1, dtype=dtype, groups=wp.zeros(10, dtype=int))
    assert len(launched) >= 2 * 5
    launched += [(crowd, []), (crowd_in_group, []), (candidates, [])]
    for kernel, args in launched:
        types = kernel.types_for(args) if args else tuple(kernel.patterns.values())
        made = kernel.program(types)
        assert ".visible .entry" in cuda.emit(made.fn, made.ndim, Options(), made.plan).ptx

"""Cluster lists hold what brute force finds, whatever lies where; serpentine order keeps neighbours together."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.geometry.hash_grid.hash_grid import HashGrid
from warpsim.solvers.neighbours.cluster_list import SIZE, ClusterList
from warpsim.solvers.neighbours.serpentine import Serpentine

REACH = 0.3


def listed(points, period, first=0, last=None, groups=None, group=None, dtype=wp.float64, sizes=None):
    """A list that was built twice, and its rows as sets."""
    vec3 = wp.vec3d if dtype is wp.float64 else wp.vec3
    x = wp.array(points, dtype=vec3)
    grid = HashGrid(64, 64, 64, dtype=dtype)
    grid.reserve(len(points), with_groups=groups is not None)
    numbers = None if groups is None else wp.array(groups, dtype=wp.int32)
    grid.build(x, REACH, numbers, period=period)
    sizes = [(len(points) if last is None else last) - first] if sizes is None else sizes
    lists = ClusterList(grid, first, sizes, period, group)
    for _ in range(2):
        lists.rebuild(x, REACH)
    counts, ids = lists.counts.numpy(), lists.ids.numpy()
    assert (counts <= ids.shape[1]).all()
    rows = [ids[c, : counts[c]] for c in range(lists.clusters)]
    assert all(len(set(row)) == len(row) for row in rows)  # each once
    return rows


def near(points, period):
    """Which points are less than the reach apart, by brute force."""
    d = points[:, None] - points[None]
    length = np.asarray(period)
    d -= np.where(length > 0.0, length * np.rint(d / np.where(length > 0.0, length, 1.0)), 0.0)
    return (d**2).sum(axis=-1) < REACH**2


@pytest.mark.parametrize("period", [(0.0, 0.0, 0.0), (1.0, 0.0, 1.5)])
@pytest.mark.parametrize("size", [0.3, 1.0, 4.0])  # clusters of one box, mixed, and of points far from each other
def test_rows_hold_all_neighbours(size, period):
    points = np.random.default_rng(3).uniform(-1.0, 1.0, (203, 3)) * size
    pairs = near(points, period)
    for c, row in enumerate(listed(points, period)):
        wanted = np.flatnonzero(pairs[c * SIZE : (c + 1) * SIZE].any(axis=0))
        assert set(wanted) <= set(row)


def test_rows_are_of_one_group_if_asked_for():
    points = np.random.default_rng(4).uniform(0.0, 1.0, (90, 3))
    groups = (np.arange(90) >= 50).astype(np.int32)
    pairs = near(points, (0.0, 0.0, 0.0))
    for c, row in enumerate(listed(points, (0.0, 0.0, 0.0), 50, 90, groups, [0], wp.float32)):
        wanted = np.flatnonzero(pairs[50 + c * SIZE : 50 + (c + 1) * SIZE, :50].any(axis=0))
        assert set(wanted) <= set(row) and (row < 50).all()


def test_segments_share_no_clusters_and_see_their_group_alone():
    """Lanes of the last cluster of a segment are its last points, however few it owns."""
    sizes, rng = [37, 0, 5, 16, 50], np.random.default_rng(9)
    points, groups = rng.uniform(0.0, 0.5, (sum(sizes), 3)), np.repeat(np.arange(5), sizes).astype(np.int32)
    x, grid, none = wp.array(points, dtype=wp.vec3d), HashGrid(64, 64, 64, dtype=wp.float64), (0.0, 0.0, 0.0)
    grid.build(x, REACH, wp.array(groups, dtype=wp.int32))
    lists = ClusterList(grid, 0, sizes, none, range(5))
    lists.rebuild(x, REACH)
    starts, firsts, lasts = (a.numpy() for a in (lists.starts, lists.firsts, lists.lasts))
    assert starts.tolist() == [0, 16, 21, 37, 42, 58, 74, 90, 92] and (firsts[2], lasts[2]) == (32, 37)
    owned = np.concatenate([np.arange(a, b) for a, b in zip(firsts, lasts, strict=True)])
    np.testing.assert_array_equal(owned, np.arange(len(points)))
    pairs = near(points, none) & (groups[:, None] == groups)
    for c, group in enumerate(lists.groups.numpy()):
        row = lists.ids.numpy()[c, : lists.counts.numpy()[c]]
        assert (groups[row] == group).all() and (groups[firsts[c] : lasts[c]] == group).all()
        assert set(np.flatnonzero(pairs[firsts[c] : lasts[c]].any(axis=0))) <= set(row)


def test_points_that_are_not_finite_have_no_neighbours():
    points = np.random.default_rng(5).uniform(0.0, 1.0, (40, 3))
    points[[3, 20]] = [np.nan, np.inf, 0.0]
    pairs = near(np.nan_to_num(points, posinf=99.0), (0.0, 0.0, 0.0))
    pairs[[3, 20]], pairs[:, [3, 20]] = False, False
    for c, row in enumerate(listed(points, (0.0, 0.0, 0.0))):
        assert not {3, 20} & set(row)
        assert set(np.flatnonzero(pairs[c * SIZE : (c + 1) * SIZE].any(axis=0))) <= set(row)


def test_no_points_have_no_rows():
    assert listed(np.empty((0, 3)), (0.0, 0.0, 0.0)) == []


def test_serpentine_order_keeps_kinds_apart_and_neighbours_together():
    rng = np.random.default_rng(6)
    lattice = np.stack(np.meshgrid(*[np.arange(12.0)] * 3), axis=-1).reshape(-1, 3) + 0.5 - 6.0
    points = rng.permutation(lattice)
    serpentine = Serpentine(len(points), 2.0, (0.0, 0.0, 0.0), None)
    serpentine.update(wp.array(points, dtype=wp.vec3), 500)
    order = serpentine.order.numpy()
    assert sorted(order) == list(range(len(points))) and sorted(order[:500]) == list(range(500))
    serpentine.update(wp.array(points, dtype=wp.vec3), len(points))
    steps = np.linalg.norm(np.diff(points[serpentine.order.numpy()], axis=0), axis=1)
    assert steps.max() < 6.0  # no jump from the end of a column to the begin of the next one, 11 away


def test_serpentine_order_of_segments_is_that_of_each_alone():
    rng, sizes = np.random.default_rng(7), [70, 0, 45, 85]
    points, segment = rng.uniform(-3.0, 3.0, (200, 3)), np.repeat(np.arange(4), sizes)
    serpentine = Serpentine(200, 1.0, (0.0, 0.0, 0.0), None, wp.array(segment, dtype=wp.int32))
    serpentine.update(wp.array(points, dtype=wp.vec3), 115)
    order, first = serpentine.order.numpy(), 0
    for size in sizes:
        alone = Serpentine(size, 1.0, (0.0, 0.0, 0.0), None)
        alone.update(wp.array(points[first : first + size].reshape(-1, 3), dtype=wp.vec3), size)
        np.testing.assert_array_equal(order[first : first + size], first + alone.order.numpy())
        first += size


def test_serpentine_order_takes_points_that_lie_nowhere():
    points = np.array([[np.nan, 0.0, 0.0], [np.inf, 1e30, 0.0], [-np.inf, 0.0, -1e30], [1.0, 2.0, 3.0]])
    serpentine = Serpentine(4, 1.0, (0.0, 2.0, 0.0), None)
    serpentine.update(wp.array(points, dtype=wp.vec3), 2)
    assert sorted(serpentine.order.numpy()[:2]) == [0, 1] and sorted(serpentine.order.numpy()) == [0, 1, 2, 3]


def test_rows_grow_when_points_come_together():
    """None is dropped, and room once made is kept."""
    apart = np.random.default_rng(6).uniform(0.0, 4.0, (200, 3))
    x, grid = wp.array(apart, dtype=wp.vec3d), HashGrid(64, 64, 64, dtype=wp.float64)
    lists, rooms = ClusterList(grid, 0, [200], (0.0, 0.0, 0.0)), []
    for points in (apart, apart * 0.05, apart):
        x.assign(points)
        grid.build(x, REACH)
        lists.rebuild(x, REACH)
        rooms.append(lists.ids.shape[1])
        counts, pairs = lists.counts.numpy(), near(points, (0.0, 0.0, 0.0))
        for c in range(lists.clusters):
            neighbours = np.flatnonzero(pairs[c * SIZE : (c + 1) * SIZE].any(axis=0))
            assert set(neighbours) <= set(lists.ids.numpy()[c, : counts[c]])
    assert rooms[0] < 200 <= rooms[1] == rooms[2]

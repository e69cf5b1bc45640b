"""Boxes and statistics that nodes carry, against sums over the voxels below each node."""

import numpy as np
import pytest

from warpsim.geometry.nanovdb import statistics as nanovdb_statistics
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.layout import GridFlag, LeafFlag
from warpsim.geometry.nanovdb.voxels import active_voxels, lookup

VOXELS = np.concatenate(
    [np.random.default_rng(k).integers(low, low + 60, (40, 3)) for k, low in enumerate((0, 300, -5000))]
)
ALL = GridFlag.MIN_MAX | GridFlag.AVERAGE | GridFlag.DEVIATION


def expected(grid, span):
    """Values and voxels below each node of a span, in the order of first appearance."""
    voxels = active_voxels(grid).astype(np.int64)
    values = lookup(grid, voxels)
    _, first, group = np.unique(voxels // span, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[group.reshape(-1)]
    return [(values[rank == k].astype(float), voxels[rank == k]) for k in range(len(first))]


@pytest.mark.parametrize("kind", ["float", "double", "int32", "uint8"])
def test_statistics_of_all_nodes(kind):
    values = np.random.default_rng(9).integers(0, 200, len(VOXELS))
    grid = from_voxels(VOXELS, values, type=kind, background=9)
    levels = [(grid.leaves, 8), (grid.lowers, 128), (grid.uppers, 4096), ([grid.root], 2**40)]
    for nodes, span in levels:
        found = expected(grid, span) if span < 2**40 else [sum_of(grid)]
        assert len(found) == len(nodes)
        for node, (below, voxels) in zip(nodes, found, strict=True):
            assert (node["minimum"], node["maximum"]) == (below.min(), below.max())
            assert np.isclose(node["average"], below.mean(), rtol=1e-6)
            assert np.isclose(node["deviation"], below.std(), rtol=1e-5, atol=1e-4)
            if span == 8:
                assert np.array_equal(node["bbox_min"], voxels.min(axis=0))
                assert np.array_equal(node["bbox_extent"], np.ptp(voxels, axis=0))
            else:
                assert np.array_equal(node["bbox"], [voxels.min(axis=0), voxels.max(axis=0)])
    assert grid.flags & ALL == ALL and (grid.leaves["flags"] & LeafFlag.STATS).all()


def sum_of(grid):
    voxels = active_voxels(grid)
    return lookup(grid, voxels).astype(float), voxels


def test_deviations_keep_their_digits():
    values = 1e8 + np.random.default_rng(1).random((16, 16, 16))
    grid = from_dense(values)
    assert np.isclose(grid.root["deviation"], values.std(), rtol=1e-6)


def test_infinities_and_nan_are_values():
    values = np.ones((4, 4, 4), "f4")
    values[0, 0, 0], values[0, 0, 1] = np.inf, np.nan
    grid = from_dense(values)
    assert np.isnan(grid.root["average"]) and np.isnan(grid.root["deviation"])


@pytest.mark.parametrize("kind", ["vec3f", "index", "onindex", "mask"])
def test_other_types_say_that_there_are_none(kind):
    grid = from_tiles(VOXELS, type=kind)
    assert grid.flags & ALL == 0 and not (grid.leaves["flags"] & LeafFlag.STATS).any()
    assert grid.flags & GridFlag.BBOX and (grid.leaves["flags"] & LeafFlag.BBOX).all()


def test_after_a_change():
    grid = from_dense(np.ones((9, 9, 9), "f4"))
    grid.leaves["values"][0, 0] = 5.0
    nanovdb_statistics.clear(grid)
    assert grid.flags & ALL == 0
    nanovdb_statistics.fill(grid)
    assert grid.root["maximum"] == 5.0 and grid.flags & ALL == ALL


def test_boxes_of_nothing():
    grid = from_dense(np.zeros((2, 2, 2), "f4"))
    assert (grid.index_bbox[0] > grid.index_bbox[1]).all() and (grid.world_bbox[0] > grid.world_bbox[1]).all()

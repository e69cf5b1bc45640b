"""Reading grids in NumPy: lookups through tiles of every level, dense boxes, bounds, orders."""

import numpy as np
import pytest

from warpsim.errors import VolumeError
from warpsim.geometry.nanovdb import checksum as nanovdb_checksum
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels
from warpsim.geometry.nanovdb.check import check
from warpsim.geometry.nanovdb.grid import Grid, aligned_zeros
from warpsim.geometry.nanovdb.layout import TREE_OFFSET
from warpsim.geometry.nanovdb.voxels import active_bounds, active_voxels, lookup, tiles, to_dense, value_tiles


def with_tiles():
    """One leaf at the origin; an active tile in its lower node, an inactive one in its upper node, one in the root."""
    grid = from_voxels([[1, 2, 3]], np.array([5.0], "f4"), background=-1.0)
    lower, upper = grid.lowers[0], grid.uppers[0]
    lower["table"]["value"][256 * 2], lower["value_mask"][64] = 6.0, 1  # x 16 to 23
    upper["table"]["value"][1024 * 3] = 7.0  # x 384 to 511, inactive
    one_more = aligned_zeros(len(grid.buffer) + 32)
    split = grid.root_offset + grid.layout.root.size + grid.layout.tile.size
    one_more[:split], one_more[split + 32 :] = grid.buffer[:split], grid.buffer[split:]
    out = Grid(one_more)
    out.header["grid_size"] += 32
    out.tree["node_offset"][:3] += 32
    out.root["tile_count"] = 2
    out.tiles["child"][0] += 32
    out.tiles["key"][1], out.tiles["state"][1], out.tiles["value"][1] = 0xFFFFF << 42, 1, 8.0  # x -4096 to -1
    out.tree["voxel_count"] = 1 + 8**3 + 4096**3
    nanovdb_checksum.update(out)
    return check(out.buffer)


def test_lookups_in_tiles():
    grid = with_tiles()
    places = {(1, 2, 3): 5.0, (1, 2, 4): -1.0, (16, 0, 0): 6.0, (23, 7, 7): 6.0, (24, 0, 0): -1.0, (16, 8, 0): -1.0}
    places |= {(384, 0, 0): 7.0, (511, 127, 127): 7.0, (512, 0, 0): -1.0, (-1, 0, 0): 8.0, (-4096, 4095, 4095): 8.0}
    places |= {(-4097, 0, 0): -1.0, (-1, -1, 0): -1.0, (2**31 - 1, 0, 0): -1.0, (-(2**31), 0, -(2**31)): -1.0}
    assert lookup(grid, np.array(list(places))).tolist() == list(places.values())
    assert active_voxels(grid).tolist() == [[1, 2, 3]] and tiles(grid).tolist() == [[0, 0, 0]]
    assert active_bounds(grid).tolist() == [[-4096, 0, 0], [23, 4095, 4095]]


def test_dense_boxes_with_tiles():
    grid = with_tiles()
    for low, high in (((-3, -2, 0), (30, 9, 9)), ((380, 100, 120), (390, 130, 130)), ((1, 2, 3), (1, 2, 3))):
        box = to_dense(grid, low, high)
        places = np.argwhere(np.ones(box.shape)) + low
        assert np.array_equal(box.ravel(), lookup(grid, places))


def test_value_tiles():
    root, upper, lower = value_tiles(with_tiles())
    assert [tile[1] for tile in (root, upper, lower)] == [4096, 128, 8]
    assert root[0].tolist() == [[-4096, 0, 0]] and root[2].tolist() == [True] and root[3].tolist() == [8.0]
    assert upper[0].tolist() == [[384, 0, 0]] and upper[2].tolist() == [False] and upper[3].tolist() == [7.0]
    assert lower[0].tolist() == [[16, 0, 0]] and lower[2].tolist() == [True] and lower[3].tolist() == [6.0]


@pytest.mark.parametrize("kind", ["float", "vec3d", "index", "onindex", "mask", "int16"])
def test_boxes_against_lookups(kind):
    rng = np.random.default_rng(5)
    voxels = rng.integers(-20, 140, (300, 3))
    grid = (
        from_voxels(voxels, type=kind)
        if kind not in ("float", "int16")
        else from_voxels(voxels, np.arange(300), type=kind)
    )
    box = to_dense(grid)
    low, high = voxels.min(axis=0), voxels.max(axis=0)
    assert active_bounds(grid).tolist() == [low.tolist(), high.tolist()]
    assert box.shape[:3] == tuple(high - low + 1)
    places = rng.integers(low, high + 1, (2000, 3))
    assert np.array_equal(box[tuple((places - low).T)], lookup(grid, places))


def test_empty_grids():
    grid = check(from_dense(np.zeros((3, 3, 3), "f4")).buffer)
    assert np.array_equal(from_dense(np.zeros((0, 5, 3), "f4"), (3, 1, 1)).buffer, grid.buffer)
    assert active_voxels(grid).shape == tiles(grid).shape == (0, 3) and active_bounds(grid) is None
    assert lookup(grid, np.zeros((2, 3), int)).tolist() == [0.0, 0.0]
    assert to_dense(grid, (0, 0, 0), (1, 2, 3)).shape == (2, 3, 4)
    assert lookup(grid, np.zeros((0, 3), int)).shape == (0,)
    with pytest.raises(VolumeError, match="without active voxels"):
        to_dense(grid)


def test_bad_boxes():
    far = from_voxels([[-(2**31), -(2**31), 0], [2**31 - 1, 2**31 - 1, 0]])
    with pytest.raises(VolumeError, match="does not fit into memory"):
        to_dense(far)
    for low, high in (((0, 0), (1, 1)), ((0, 0, 1), (1, 1, 0))):
        with pytest.raises(VolumeError, match="min <= max"):
            to_dense(far, low, high)


def test_order_of_tiles_and_voxels():
    grid = from_tiles([[200, 0, 0], [0, 9, 0], [-1, 0, 0], [0, 0, 9], [5000, 0, 0]], type="onindex")
    assert tiles(grid).tolist() == [[-8, 0, 0], [0, 0, 8], [0, 8, 0], [200, 0, 0], [5000, 0, 0]]
    assert active_voxels(grid)[:3].tolist() == [[-8, 0, 0], [-8, 0, 1], [-8, 0, 2]]
    assert TREE_OFFSET == 672 and lookup(grid, active_voxels(grid)).tolist() == list(range(1, 5 * 512 + 1))

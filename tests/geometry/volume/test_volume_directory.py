"""The directory gives the entries of the tree, everywhere, or is not there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import grids

import warpsim as wp
from warpsim.geometry.nanovdb import build as nanovdb_build
from warpsim.geometry.nanovdb.read import VolumeData, tree_entry
from warpsim.geometry.volume.data import CUBES_PER_LEAF, FEW_CUBES, directory_box, volume_data
from warpsim.geometry.volume.directory import corner_entries, entry_of

pytestmark = pytest.mark.cpu(reason="about the tables that are made on the host; launches on CUDA get copies")


@wp.func
def content(data: VolumeData, entry: int):
    """The place of a leaf, or the value that a cube has, as bits: the background stands at several places."""
    return wp.int64(entry) if entry >= 0 else wp.int64(-1) - wp.int64(data.words[~entry])


@wp.kernel
def contents(data: VolumeData, voxels: wp.array(dtype=wp.vec3i), out: wp.array2d(dtype=wp.int64)):
    n = wp.tid()
    i, j, k = voxels[n][0], voxels[n][1], voxels[n][2]
    out[n, 0] = content(data, entry_of(data, i, j, k))
    entries = corner_entries(data, i, j, k)
    for c in range(8):
        out[n, c + 1] = content(data, entries[c])


@wp.kernel
def contents_of_tree(data: VolumeData, voxels: wp.array(dtype=wp.vec3i), out: wp.array2d(dtype=wp.int64)):
    n = wp.tid()
    i, j, k = voxels[n][0], voxels[n][1], voxels[n][2]
    out[n, 0] = content(data, tree_entry(data, i, j, k))
    for c in range(8):
        out[n, c + 1] = content(data, tree_entry(data, i + (c >> 2), j + (c >> 1 & 1), k + (c & 1)))


def check(volume, voxels):
    voxels = wp.array(np.asarray(voxels, np.int32), dtype=wp.vec3i)
    data, walking = volume._data, volume_data(volume._grid, directory=False)
    found = []
    for kernel, seen in ((contents, data), (contents, walking), (contents_of_tree, walking)):
        found.append(wp.zeros((len(voxels), 9), dtype=wp.int64))
        wp.launch(kernel, len(voxels), [seen, voxels], [found[-1]])
    assert len(walking.entries) == 0
    assert all((out.numpy() == found[0].numpy()).all() for out in found)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), spread=st.sampled_from([3, 20, 200, 5000]), count=st.integers(0, 20))
def test_entries_are_those_of_the_tree(seed, spread, count):
    rng = np.random.default_rng(seed)
    voxels = rng.integers(-spread, spread, (count, 3)) + rng.choice([0, 2**20, -(2**31) + 5000, 2**31 - 5001], 3)
    volume = wp.Volume(nanovdb_build.from_voxels(voxels, np.ones(count, np.float32)).buffer)
    around = [rng.integers(-spread - 20, spread + 20, (200, 3)), rng.integers(-(2**31), 2**31 - 1, (50, 3))]
    if count:
        near = voxels[rng.integers(0, count, 300)] + rng.integers(-17, 17, (300, 3))
        around.append(np.clip(near, -(2**31), 2**31 - 2))
    check(volume, np.concatenate(around))


@pytest.mark.parametrize("name", ["torus", "test_grid", "test_vec_grid", "rocks", "test_index_grid"])
def test_entries_of_files_are_those_of_the_tree(name):
    for volume in grids(name):
        low, extent = directory_box(volume._grid, FEW_CUBES)
        x, y, z = (np.arange(a - 2, a + n + 2) for a, n in zip(low, extent, strict=True))
        cubes = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1).reshape(-1, 3)
        check(volume, cubes * 8 + np.random.default_rng(0).integers(0, 8, cubes.shape))


def test_the_directory_is_small_beside_the_leaves():
    near = wp.Volume.allocate((0, 0, 0), (63, 63, 63), 1.0)
    assert len(near._data.entries) == 10**3
    far = wp.Volume.allocate_by_tiles([[0, 0, 0], [0, 0, 10**9]], 1.0)
    assert len(far._data.entries) == 0
    rng = np.random.default_rng(0)
    for spread in (100, 300, 1000, 3000):
        volume = wp.Volume.allocate_by_tiles(rng.integers(0, spread, (3000, 3)), 1.0)
        assert len(volume._data.entries) <= max(FEW_CUBES, CUBES_PER_LEAF * volume.get_tile_count())


def test_a_volume_without_tiles_is_background():
    volume = wp.Volume.allocate_by_tiles(np.zeros((0, 3), np.int32), 1.0, bg_value=2.5)
    check(volume, [[0, 0, 0], [2**31 - 2, -(2**31), 5]])
    assert volume.get_tile_count() == volume.get_voxel_count() == len(volume.get_voxels()) == 0

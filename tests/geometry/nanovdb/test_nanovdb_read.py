"""Reading trees in kernels, against a second reader that shares nothing with the package, on files of other tools."""

import nanovdb_oracle
import numpy as np
import pytest
from volume_cases import FILES, asset, grids, looked_up, without_directory

import warpsim as wp
from warpsim.errors import VolumeFormatError
from warpsim.geometry.nanovdb import build as nanovdb_build
from warpsim.geometry.nanovdb import read as nanovdb_read
from warpsim.geometry.nanovdb.check import check
from warpsim.geometry.nanovdb.layout import GridType, layout

VALUE_FILES = [name for name in FILES if name != "test_index_grid"]


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
@pytest.mark.parametrize("name", VALUE_FILES)
def test_values_of_files_agree_with_a_second_reader(name, walk):
    [body], [volume] = nanovdb_oracle.bodies(asset(name)), grids(name)
    volume = without_directory(volume) if walk else volume
    found = nanovdb_oracle.contents(body)
    voxels, values, active = found.joined()
    assert active.any() and (looked_up(volume, voxels) == values).all()
    for corner, span, value in found.tiles:
        inside = [corner, corner + span - 1, corner + span // 2]
        assert (looked_up(volume, inside) == value).all()


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
@pytest.mark.parametrize("name", VALUE_FILES)
def test_outside_of_everything_is_the_background(name, walk):
    [body], [volume] = nanovdb_oracle.bodies(asset(name)), grids(name)
    volume = without_directory(volume) if walk else volume
    found = nanovdb_oracle.contents(body)
    voxels, _, _ = found.joined()
    low, high = voxels.min(axis=0), voxels.max(axis=0)
    for _, span, _ in (tile for tile in found.tiles if tile[1] > 8):
        pytest.fail(f"a tile of {span} voxels: choose other places")
    rim = 16  # tiles of lower nodes reach no further here
    away = [*(low - rim * np.eye(3, dtype=int)), *(high + rim * np.eye(3, dtype=int))]
    away += [[-(2**31)] * 3, [2**31 - 1] * 3, [2**19, 0, 0], [0, -(2**20), 0], [0, 0, 2**30], [4096, 4096, -4097]]
    assert (looked_up(volume, away) == found.background).all()


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
def test_indices_of_files_agree_with_a_second_reader(walk):
    bodies, volumes = nanovdb_oracle.bodies(asset("test_index_grid")), grids("test_index_grid")
    assert len(bodies) == len(volumes) == 2
    for body, volume in zip(bodies, volumes, strict=True):
        volume = without_directory(volume) if walk else volume
        voxels, values, active = nanovdb_oracle.contents(body).joined()
        found = indices(volume, voxels)
        assert (found == values.astype(int) - 1).all() and (found[active] >= 0).all() and (found[~active] == -1).all()
        assert sorted(found[active]) == list(range(volume.get_voxel_count()))
        assert (indices(volume, volume.get_voxels().numpy()) == np.arange(volume.get_voxel_count())).all()


@wp.kernel
def index_of(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), out: wp.array(dtype=int)):
    n = wp.tid()
    v = voxels[n]
    out[n] = wp.volume_lookup_index(volume, v[0], v[1], v[2])


def indices(volume, voxels):
    out = wp.zeros(len(voxels), dtype=int)
    wp.launch(index_of, len(voxels), [volume.id, wp.array(np.asarray(voxels, np.int32), dtype=wp.vec3i), out])
    return out.numpy()


def test_transforms_of_files_agree_with_a_second_reader():
    for name in FILES:
        for body, volume in zip(nanovdb_oracle.bodies(asset(name)), grids(name), strict=True):
            found, info = nanovdb_oracle.contents(body), volume.get_grid_info()
            assert (info.transform_matrix == found.matrix).all() and (info.translation == found.translation).all()


def test_places_that_are_taken_from_one_type_of_grid_hold_for_all():
    for kind in nanovdb_read.VALUE_TYPES:
        parts = layout(kind)
        assert parts.upper.offset("child_mask") == 4 * nanovdb_read._UPPER_MASK
        assert parts.lower.offset("child_mask") == 4 * nanovdb_read._LOWER_MASK
        assert parts.tile.offset("child") == 4 * nanovdb_read._TILE_CHILD
    for kind in (GridType.INDEX, GridType.ONINDEX):
        leaf = layout(kind).leaf
        assert [leaf.offset(name) for name in ("mask", "offset", "prefix")] == [16, 80, 88]


def test_values_stand_at_whole_words():
    for kind, t in nanovdb_read.VALUE_TYPES.items():
        parts, size = layout(kind), layout(kind).scalar.itemsize
        at = (parts.background, parts.tile_value, parts.upper_table, parts.lower_table, parts.leaf_values)
        assert all(offset % size == 0 for offset in (*at, parts.table_stride, parts.leaf.size, parts.upper.size))
        assert nanovdb_read.VALUE_WORDS[t] * 4 == parts.dtype.itemsize


@pytest.mark.parametrize("t", nanovdb_read.GRID_TYPES, ids=lambda t: t.__name__)
def test_every_type_is_stored_and_read_back(t):
    width = np.size(t())
    rng = np.random.default_rng(width)
    values = rng.integers(0, 1000, (12, 9, 17, width)) if width > 1 else rng.integers(0, 1000, (12, 9, 17))
    volume = wp.Volume.allocate(
        (-5, -3, -9), (6, 5, 7), voxel_size=1.0, bg_value=t(*[7] * width) if width > 1 else t(7)
    )
    assert volume.dtype is t
    voxels = np.argwhere(np.ones((12, 9, 17), bool)) - [5, 3, 9]

    @wp.kernel
    def store(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), values: wp.array(dtype=t)):
        n = wp.tid()
        v = voxels[n]
        wp.volume_store(volume, v[0], v[1], v[2], values[n])

    flat = values.reshape(-1, width) if width > 1 else values.reshape(-1)
    wp.launch(store, len(voxels), [volume.id, wp.array(voxels, dtype=wp.vec3i), wp.array(flat, dtype=t)])
    assert (looked_up(volume, voxels) == flat).all()
    assert (volume.to_numpy((-5, -3, -9), (6, 5, 7)) == values).all()
    assert (looked_up(volume, [[100, 0, 0], [-17, 0, 0]]) == 7).all()


def small_grids():
    voxels = np.array([[0, 0, 0], [1, 2, 3], [-1, 0, 130], [5000, 0, 0]])
    values = np.arange(4, dtype=np.float32)
    return [nanovdb_build.from_voxels(voxels, values), nanovdb_build.from_voxels(voxels)]


@wp.kernel
def look_everywhere(
    volume: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    data: wp.array(dtype=float),
    index: int,
    out: wp.array(dtype=float),
):
    n = wp.tid()
    p = points[n]
    if index == 0:
        out[n] = wp.volume_sample_f(volume, p, wp.Volume.LINEAR)
        wp.volume_store_f(volume, int(p[0]), int(p[1]), int(p[2]), 1.0)
    out[n] += wp.volume_sample_index(volume, p, wp.Volume.LINEAR, data, 0.0)


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
@pytest.mark.parametrize("kind", [0, 1], ids=["values", "indices"])
def test_whatever_passes_the_check_is_read_inside_its_memory(kind, walk):
    """Damaged grids, with all accesses of kernels checked."""
    rng, passed, base = np.random.default_rng(kind), 0, small_grids()[kind]
    places = np.arange(672, len(base.buffer))
    places = places[base.buffer[672:] != 0]  # there is a reason for these bytes
    points = wp.array(rng.choice([-9.0, -1.5, -0.5, 0.0, 0.5, 2.5, 127.5, 129.5, 5000.5, 1e6], (200, 3)), dtype=wp.vec3)
    wp.config.verify = True
    for _ in range(150):
        damaged = base.copy()
        damaged.buffer[rng.choice(places, 2)] = rng.integers(0, 256, 2)
        try:
            check(damaged.buffer, verify_checksum=False)
        except VolumeFormatError:
            continue
        passed += 1
        volume = wp.Volume._of([damaged], None)
        volume = without_directory(volume) if walk else volume
        data = wp.zeros(volume.get_voxel_count(), dtype=float)
        wp.launch(look_everywhere, 200, [volume.id, points, data, kind], [wp.zeros(200, dtype=float)])
    assert passed > 20

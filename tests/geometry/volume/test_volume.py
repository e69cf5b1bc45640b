"""The class `Volume`: loading, saving, what it says about itself, values, features, the end of its life."""

import gc
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from volume_cases import DATA, FILES, asset, grids, looked_up, sampled

import warpsim as wp
from warpsim.errors import StructureIdError, VolumeError, VolumeFormatError
from warpsim.geometry.nanovdb import build as nanovdb_build
from warpsim.geometry.nanovdb import features as nanovdb_features
from warpsim.geometry.nanovdb import file as nanovdb_file

TYPES = {"rocks": "float", "torus": "float", "test_grid": "float", "test_int32_grid": "int32", "test_vec_grid": "Vec3f"}


@pytest.mark.parametrize("name", FILES)
def test_files_load_from_paths_bytes_and_streams(name):
    path = asset(name)
    sources = (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes()))
    volumes = [wp.Volume.load_from_nvdb(source) for source in sources]
    volumes.append(wp.Volume(path.read_bytes()))
    assert len({volume.array().numpy().tobytes() for volume in volumes}) == 1
    assert len({volume.id for volume in volumes}) == len(volumes)


def test_what_volumes_say_about_files():
    found = {name: grids(name)[0] for name in FILES}
    assert {name: found[name].get_grid_info().type_str for name in TYPES} == TYPES
    rocks, torus = found["rocks"], found["torus"]
    assert rocks.get_grid_info()[:5] == ("surface", 5636096, 0, 1, "float")
    assert rocks.dtype is wp.float32 and not rocks.is_index and rocks.get_tile_count() == 1493
    assert rocks.get_voxel_count() == 1493 * 512 == len(rocks.get_voxels())
    assert rocks.get_voxels().numpy()[:2].tolist() == [[-96, -8, -32], [-96, -8, -31]]
    assert rocks.get_tiles().numpy()[1].tolist() == [-96, -8, -24]
    assert (
        np.allclose(rocks.get_voxel_size(), 0.2) and repr(rocks) == "Volume(float 'surface', 1493 tiles, 5636096 bytes)"
    )
    assert torus.get_grid_info().translation.tolist() == [1.0, 2.0, 3.0]
    assert np.allclose(torus.get_grid_info().transform_matrix, 0.1 * np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
    assert found["test_int32_grid"].dtype is wp.int32 and found["test_vec_grid"].dtype is wp.vec3


def test_files_of_several_grids():
    first, second = grids("test_index_grid")
    for position, (volume, voxels) in enumerate(((first, 16), (second, 24))):
        assert volume.get_grid_info().name == f"grid-{position}" and volume.get_grid_count() == 2
        assert volume.get_grid_index() == volume.get_grid_info().grid_index == position
        assert volume.is_index and volume.dtype is None
        assert volume.get_voxel_count() == voxels == len(volume.get_voxels())
    both = wp.Volume(np.concatenate([v.array().numpy() for v in (first, second)]))
    assert both.get_grid_count() == 2 and (both.load_next_grid().array().numpy() == second.array().numpy()).all()


@pytest.mark.parametrize(
    "name, expected",
    [("rocks", (764416, 1493, 8, 8)), ("torus", (12288, 24, 8, 8)), ("test_index_grid", (16, 14, 7, 7))],
)
def test_statistics_of_files(name, expected):
    assert grids(name)[0].get_active_stats() == expected


def test_statistics_count_nodes():
    tiles = [[0, 0, 0], [0, 0, 8], [0, 0, 128], [4096, 0, 0], [-1, 0, 0], [-100, 0, 0]]
    stats = wp.Volume.allocate_by_tiles(tiles, 1.0).get_active_stats()
    assert (stats.voxel_count, stats.leaf_node_count, stats.lower_node_count, stats.upper_node_count) == (3072, 6, 4, 3)
    assert wp.Volume.allocate_by_voxels(tiles, 1.0).get_active_stats() == (6, 6, 4, 3)


def test_feature_arrays():
    [volume, _] = grids("test_index_grid")
    info = volume.get_feature_array_info(0)
    assert volume.get_feature_array_count() == 1
    assert info.name == "fvdb_jdatafloat32" and info.value_count * info.value_size == 416
    assert volume.feature_array(0).dtype is wp.uint8 and volume.feature_array(0).ptr == info.ptr
    assert volume.feature_array(0, dtype=wp.float64).shape == (52,)
    for wrong in (1, -1):
        with pytest.raises(IndexError, match=f"feature array {wrong}\nexpected: 0 to 0"):
            volume.feature_array(wrong)
    with pytest.raises(VolumeError, match=r"416 bytes\nexpected: elements of 12"):
        volume.feature_array(0, dtype=wp.vec3)


def test_feature_arrays_of_known_types():
    arrays = {"weight": np.arange(5, dtype=np.float32), "color": np.arange(6.0).reshape(2, 3), "id": np.arange(3)}
    volume = wp.Volume(nanovdb_features.with_features(nanovdb_build.from_tiles([[0, 0, 0]]), arrays).buffer)
    infos = [volume.get_feature_array_info(k) for k in range(3)]
    assert [info[:1] + info[2:] for info in infos] == [
        ("weight", 4, 5, "float"),
        ("color", 24, 2, "Vec3d"),
        ("id", 8, 3, "int64"),
    ]
    found = [volume.feature_array(k) for k in range(3)]
    assert [array.dtype for array in found] == [wp.float32, wp.vec3d, wp.int64]
    assert all((array.numpy() == arrays[info.name]).all() for array, info in zip(found, infos, strict=True))


@pytest.mark.parametrize("codec", ["none", "zip"])
@pytest.mark.parametrize("name", FILES)
def test_saved_files_load_again_equal(name, codec, tmp_path):
    for volume in grids(name):
        volume.save_to_nvdb(tmp_path / "copy.nvdb", codec)
        again = wp.Volume.load_from_nvdb(tmp_path / "copy.nvdb")
        assert again.get_grid_count() == 1
        for get in (lambda v: v.get_voxels().numpy(), lambda v: v.to_numpy(), lambda v: v._grid.leaves):
            assert (get(again) == get(volume)).all()
        assert again._grid.flags == volume._grid.flags
        features = [[v.feature_array(k).numpy() for k in range(v.get_feature_array_count())] for v in (volume, again)]
        assert all((a == b).all() for a, b in zip(*features, strict=True))


def test_saved_statistics_are_those_of_the_values(tmp_path):
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=0.0)
    volume.leaf_values.assign(np.linspace(-3.0, 5.0, 512, dtype=np.float32).reshape(1, 512))
    volume.save_to_nvdb(tmp_path / "a.nvdb")
    [grid] = nanovdb_file.read(tmp_path / "a.nvdb")
    assert (grid.leaves["minimum"][0], grid.leaves["maximum"][0], grid.root["maximum"]) == (-3.0, 5.0, 5.0)
    assert (grid.leaves["values"] == volume.leaf_values.numpy()).all()


def test_an_unknown_codec_is_an_error(tmp_path):
    with pytest.raises(VolumeError, match="codec"):
        wp.Volume.allocate((0, 0, 0), (1, 1, 1), 1.0).save_to_nvdb(tmp_path / "a.nvdb", "lzma")


@pytest.mark.parametrize("data", [b"", b"abc", b"NanoVDB0" + bytes(100), bytes(5000), np.zeros(700, np.uint8)])
def test_other_bytes_are_refused(data):
    with pytest.raises(VolumeFormatError):
        wp.Volume(data)
    with pytest.raises(VolumeFormatError):
        wp.Volume.load_from_nvdb(bytes(data))


def test_data_must_be_bytes():
    with pytest.raises(VolumeError, match=r"dtype float32, shape \(3,\)"):
        wp.Volume(wp.zeros(3, dtype=float))
    with pytest.raises(FileNotFoundError):
        wp.Volume.load_from_nvdb(DATA / "there is no such file.nvdb")


def test_a_volume_over_the_memory_of_an_array():
    bytes_ = wp.array(wp.Volume.load_from_numpy(np.ones((5, 5, 5), np.float32)).array().numpy(), dtype=wp.uint8)
    shared, copied = wp.Volume(bytes_, copy=False), wp.Volume(bytes_)
    shared.leaf_values.fill_(7.0)
    assert looked_up(shared, [[1, 1, 1]]) == 7.0 and looked_up(copied, [[1, 1, 1]]) == 1.0
    assert shared.array().ptr == bytes_.ptr != copied.array().ptr


# ----- values ---------------------------------------------------------------------------------


def test_leaf_values_are_the_memory_that_kernels_read():
    rng = np.random.default_rng(0)
    for components in ((), (3,)):
        dense = rng.random((10, 9, 17, *components), np.float32)
        volume = wp.Volume.load_from_numpy(dense, bg_value=-1.0)
        values, voxels = volume.leaf_values, volume.get_voxels().numpy()
        assert values.shape == (volume.get_tile_count(), 512) and values.dtype is volume.dtype
        assert (values.numpy().reshape(-1, *components) == looked_up(volume, voxels)).all()
        values.assign(values.numpy() * 2.0)
        assert (volume.to_numpy((0, 0, 0), (9, 8, 16)) == dense * 2.0).all()


def test_gradients_are_asked_for():
    volume = wp.Volume.load_from_numpy(np.zeros((9, 9, 9, 3), np.float32))
    assert not volume.requires_grad and volume.leaf_values.grad is None
    volume.requires_grad = True
    assert volume.requires_grad and volume.leaf_values.grad.shape == (8, 512)
    assert volume.leaf_values.grad.dtype is wp.vec3 and (volume.leaf_values.grad.numpy() == 0.0).all()
    volume.requires_grad = False
    assert not volume.requires_grad and volume.leaf_values.grad is None
    for other in (
        wp.Volume.allocate((0, 0, 0), (1, 1, 1), 1.0, bg_value=0),
        wp.Volume.allocate_by_voxels([[0] * 3], 1.0),
    ):
        with pytest.raises(VolumeError, match="has no gradients"):
            other.requires_grad = True


def test_index_volumes_hold_no_values():
    volume = wp.Volume.allocate_by_voxels([[0, 0, 0], [1, 2, 3]], 1.0)
    with pytest.raises(VolumeError, match="OnIndex holds no values"):
        _ = volume.leaf_values
    assert volume.to_numpy((0, 0, 0), (1, 2, 3)).tolist() == [
        [[0, -1, -1, -1], [-1] * 4, [-1] * 4],
        [[-1] * 4, [-1] * 4, [-1, -1, -1, 1]],
    ]


@pytest.mark.parametrize("shape", [(4096, 3), (4096,)])
def test_coordinates_into_arrays_of_the_user(shape):
    volume = wp.Volume.allocate((0, 0, 0), (15, 15, 15), 1.0)
    out = wp.zeros(shape, dtype=wp.int32 if len(shape) == 2 else wp.vec3i)
    assert volume.get_voxels(out) is out and (out.numpy() == volume.get_voxels().numpy()).all()
    for wrong in (wp.zeros(7, dtype=wp.vec3i), wp.zeros(4096, dtype=wp.vec3), wp.zeros((4096, 2), dtype=int)):
        with pytest.raises(VolumeError, match="out is"):
            volume.get_voxels(wrong)
    tiles = wp.zeros((8, 3), dtype=int)
    assert (volume.get_tiles(tiles).numpy() == volume.get_tiles().numpy()).all()


def test_volumes_are_made_and_used_by_several_threads():
    def work(n):
        volume = wp.Volume.load_from_numpy(np.full((20, 20, 20), float(n), np.float32), bg_value=-1.0)
        return (sampled(volume, np.full((5000, 3), 7.3)) == n).all()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))


@pytest.mark.cpu
def test_volumes_are_made_on_the_interpreter_as_well():
    with wp.ScopedDevice("interp"):
        volume = wp.Volume.load_from_numpy(np.ones((40, 40, 40), np.float32))
        assert volume.device == "interp" and volume.get_tiles().device == "interp"
        assert sampled(volume, [[3.5, 39.5, 0.0]], device="interp") == 0.5
    assert sampled(volume, [[3.5, 39.5, 0.0]]) == 0.5


def test_a_volume_made_while_a_tape_records_leaves_nothing_on_it():
    with wp.Tape() as tape:
        wp.Volume.allocate((0, 0, 0), (9, 9, 9), 1.0)
    assert len(tape.launches) == 0


# ----- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_the_id_of_a_volume_that_is_gone_is_an_error(device):
    volume = wp.Volume.load_from_numpy(np.ones((3, 3, 3), np.float32))
    gone = _Id(volume.id, volume.dtype)
    del volume
    gc.collect()
    with pytest.raises(StructureIdError, match="not the id of a structure that exists"):
        sampled(gone, [[1.0, 1.0, 1.0]], device=device)


class _Id:
    def __init__(self, id, dtype):
        self.id, self.dtype = id, dtype


@wp.kernel
def through_an_array(ids: wp.array(dtype=wp.uint64), data: wp.array(dtype=float), out: wp.array(dtype=float)):
    volume = ids[0]
    p = wp.vec3(0.25, 1.0, 1.0)
    out[0] = wp.volume_sample_f(volume, p, wp.Volume.LINEAR)
    out[1] = wp.volume_lookup_f(volume, 0, 0, 0)
    out[2] = wp.volume_sample_index(volume, p, wp.Volume.LINEAR, data, 5.0)
    out[3] = float(wp.volume_lookup_index(volume, 0, 0, 0))
    out[4] = float(wp.volume_voxel_count(volume))
    out[5] = wp.volume_index_to_world(volume, p)[0]
    wp.volume_store_f(volume, 0, 0, 0, 1.0)


def test_where_nobody_checks_a_volume_that_is_gone_is_empty():
    volume = wp.Volume.load_from_numpy(np.ones((3, 3, 3), np.float32))
    ids, out = wp.array([volume.id], dtype=wp.uint64), wp.zeros(6, dtype=float)
    wp.launch(through_an_array, 1, [ids, wp.full(512, 2.0, dtype=float), out])
    assert out.numpy().tolist() == [1.0, 1.0, 2.0, 0.0, 512.0, 0.25]
    del volume
    gc.collect()
    wp.launch(through_an_array, 1, [ids, wp.full(512, 2.0, dtype=float), out])
    assert out.numpy().tolist() == [0.0, 0.0, 5.0, -1.0, 0.0, 0.0]

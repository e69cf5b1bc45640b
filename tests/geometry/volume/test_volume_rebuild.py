"""Volumes built again from other points: the same id, map and background, other tiles, as far as there is room."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import VolumeError

POINTS = np.array([[0, 0, 0], [8, 0, 0], [1, 1, 1]], np.int32)
FAR = np.array([[100 * i, 0, 0] for i in range(6)], np.int32)


@wp.kernel
def read(id: wp.uint64, at: wp.array[wp.vec3i], out: wp.array[float]):
    i = wp.tid()
    out[i] = wp.volume_lookup_f(id, at[i][0], at[i][1], at[i][2])


@wp.kernel
def write(id: wp.uint64, at: wp.array[wp.vec3i], value: float):
    i = wp.tid()
    wp.volume_store_f(id, at[i][0], at[i][1], at[i][2], value)


@wp.kernel
def number(id: wp.uint64, at: wp.array[wp.vec3i], out: wp.array[int]):
    i = wp.tid()
    out[i] = wp.volume_lookup_index(id, at[i][0], at[i][1], at[i][2])


@wp.kernel
def sample_squares(id: wp.uint64, loss: wp.array[float]):
    x = wp.volume_sample_f(id, wp.vec3(0.0, 0.0, 0.0), wp.Volume.CLOSEST)
    wp.atomic_add(loss, 0, x * x)


def values(volume, voxels):
    at, out = wp.array(voxels, dtype=wp.vec3i), wp.zeros(len(voxels))
    wp.launch(read, len(voxels), inputs=[volume.id, at], outputs=[out])
    return out.list()


def tiles(volume):
    return sorted(map(tuple, volume.get_tiles().numpy().tolist()))


def status():
    return wp.full(1, 77, dtype=wp.uint32)


def test_other_tiles_under_the_same_id():
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=0.5, bg_value=2.5, translation=(1.0, 2.0, 3.0), max_tiles=4)
    assert v.is_rebuildable and v.get_rebuild_info() == ("tiles", 2048, 4, 4, 4)
    id_before, map_before = v.id, v.get_grid_info()[5:]
    wp.launch(write, 2, inputs=[v.id, wp.array([[0, 0, 0], [9, 0, 0]], dtype=wp.vec3i), 7.0])
    assert values(v, [[0, 0, 0], [9, 0, 0], [100, 0, 0]]) == [7.0, 7.0, 2.5]
    assert v.rebuild(FAR[:3]) is None
    assert tiles(v) == [(0, 0, 0), (96, 0, 0), (200, 0, 0)] and v.id == id_before
    assert v.get_active_stats() == (1536, 3, 2, 1)
    assert values(v, [[0, 0, 0], [9, 0, 0], [100, 0, 0]]) == [2.5] * 3  # values are new
    wp.launch(write, 1, inputs=[v.id, wp.array([[100, 0, 0]], dtype=wp.vec3i), 4.0])
    assert values(v, [[100, 0, 0], [9, 0, 0]]) == [4.0, 2.5]
    for before, after in zip(map_before, v.get_grid_info()[5:], strict=True):
        np.testing.assert_array_equal(before, after)
    like = wp.Volume.allocate_by_tiles(FAR[:3], voxel_size=0.5, bg_value=2.5, translation=(1.0, 2.0, 3.0))
    v.rebuild(FAR[:3])
    np.testing.assert_array_equal(v.array().numpy(), like.array().numpy())
    assert not like.is_rebuildable and like.get_rebuild_info() == (None, 0, 0, 0, 0)


def test_points_of_the_world_and_masks():
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=0.5, rebuildable=True)
    assert v.get_rebuild_info() == ("tiles", 1536, 3, 3, 3)
    v.rebuild(wp.array([[4.1, 0.0, 0.0], [-0.5, 0.0, 0.0]], dtype=wp.vec3))
    assert tiles(v) == [(-8, 0, 0), (8, 0, 0)]
    mask, said = wp.array([1, 0, 1], dtype=int), status()
    assert v.rebuild(FAR[:3], status=said, point_mask=mask) is said
    assert tiles(v) == [(0, 0, 0), (200, 0, 0)] and said.list() == [wp.Volume.REBUILD_SUCCESS]
    v.rebuild(FAR[:3], status=said, point_mask=[0, 0, 0])
    assert tiles(v) == [] and said.list() == [0]
    fresh = wp.Volume.allocate_by_tiles(FAR[:3], voxel_size=1.0, rebuildable=True, point_mask=mask, status=said)
    assert tiles(fresh) == [(0, 0, 0), (200, 0, 0)] and said.list() == [0]


@pytest.mark.parametrize(
    "room, points, flags",
    [
        ({"max_tiles": 4}, FAR, 1 | 8),
        ({"max_tiles": 4, "max_lower_nodes": 1}, FAR[:3], 2),
        ({"max_tiles": 4, "max_upper_nodes": 1}, 5000 * FAR[:3] // 100, 4),
        ({"max_tiles": 4}, FAR[:0], 16),
        ({"max_tiles": 2}, 5000 * FAR // 100, 1 | 2 | 4 | 8),
        ({"max_tiles": 6}, FAR, 0),
    ],
)
def test_what_does_not_fit_leaves_all_as_it_was(room, points, flags):
    said = status()
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, bg_value=1.0, status=said, **room)
    assert said.list() == [0]
    wp.launch(write, 1, inputs=[v.id, wp.array([[0, 0, 0]], dtype=wp.vec3i), 7.0])
    v.rebuild(points)
    v.rebuild(points, status=said)
    assert said.list() == [flags]
    if flags:
        assert tiles(v) == [(0, 0, 0), (8, 0, 0)] and values(v, [[0, 0, 0]]) == [7.0]
    else:
        assert len(tiles(v)) == 6


def test_a_volume_begins_without_tiles_where_it_has_no_room():
    said = status()
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, bg_value=3.0, max_tiles=1, status=said)
    assert said.list() == [1 | 8] and tiles(v) == [] and values(v, [[0, 0, 0]]) == [3.0]
    v.rebuild(POINTS[:1], status=said)
    assert said.list() == [0] and tiles(v) == [(0, 0, 0)]


def test_index_volumes():
    said = status()
    v = wp.Volume.allocate_by_voxels(POINTS, voxel_size=1.0, max_active_voxels=4, max_leaf_nodes=2, status=said)
    assert v.get_rebuild_info() == ("voxels", 4, 2, 2, 2) and said.list() == [0]
    at, out = wp.array([[8, 0, 0], [100, 0, 0], [0, 0, 0]], dtype=wp.vec3i), wp.zeros(3, dtype=int)
    for points, flags in ((FAR[:3], 1), (FAR[:2], 0), (np.arange(15, dtype=np.int32).reshape(5, 3) % 8, 8)):
        v.rebuild(points, status=said)
        assert said.list() == [flags]
    wp.launch(number, 3, inputs=[v.id, at], outputs=[out])
    assert out.list() == [-1, 1, 0] and v.get_active_stats() == (2, 2, 1, 1)
    assert v.get_voxels().numpy().tolist() == [[0, 0, 0], [100, 0, 0]]
    usual = wp.Volume.allocate_by_voxels(POINTS, voxel_size=1.0, rebuildable=True).get_rebuild_info()
    assert usual == ("voxels", 3, 3, 3, 3)


def test_the_background_is_that_of_the_beginning():
    background = [1.0, 2.0, 3.0]
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, bg_value=background, rebuildable=True)
    background[0] = 9.0
    v.rebuild(FAR[:2])
    assert v.dtype is wp.vec3 and (v.leaf_values.numpy() == [1.0, 2.0, 3.0]).all()


def test_gradients_are_of_the_volume_that_was_read():
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, bg_value=2.0, rebuildable=True)
    v.requires_grad = True
    loss, first = wp.zeros(1, requires_grad=True), v.leaf_values
    with wp.Tape() as tape:
        wp.launch(sample_squares, 1, inputs=[v.id], outputs=[loss])
        v.rebuild(FAR[:2])
        assert v.requires_grad
        wp.launch(sample_squares, 1, inputs=[v.id], outputs=[loss])
    tape.backward(grads={loss: wp.ones(1)})
    for leaves in (first, v.leaf_values):
        assert leaves.grad.numpy().sum() == 4.0


def test_graphs_build_with_the_points_of_their_run():
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, max_tiles=6)
    points, said = wp.array(FAR[:2], dtype=wp.vec3i), status()
    at, out = wp.array([[300, 0, 0], [0, 0, 0]], dtype=wp.vec3i), wp.zeros(2)
    with wp.ScopedCapture() as capture:
        v.rebuild(points, status=said)
        wp.launch(write, 2, inputs=[v.id, at, 5.0])
        wp.launch(read, 2, inputs=[v.id, at], outputs=[out])
    assert tiles(v) == [(0, 0, 0), (8, 0, 0)]  # nothing is done yet
    wp.capture_launch(capture.graph)
    assert tiles(v) == [(0, 0, 0), (96, 0, 0)] and out.list() == [0.0, 5.0] and said.list() == [0]
    points.assign(FAR[3:5])
    wp.capture_launch(capture.graph)
    assert tiles(v) == [(296, 0, 0), (400, 0, 0)] and out.list() == [5.0, 0.0]


def test_what_is_written_is_saved(tmp_path):
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, rebuildable=True)
    v.rebuild(FAR[:3])
    wp.launch(write, 1, inputs=[v.id, wp.array([[100, 0, 0]], dtype=wp.vec3i), 5.0])
    v.save_to_nvdb(tmp_path / "v.nvdb")
    again = wp.Volume.load_from_nvdb(tmp_path / "v.nvdb")
    assert tiles(again) == tiles(v) and values(again, [[100, 0, 0], [0, 0, 0]]) == [5.0, 0.0]


def test_counts_are_of_what_there_may_be():
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, max_tiles=4)
    assert (v.get_tile_count(), v.get_voxel_count(), v.get_active_stats().leaf_node_count) == (4, 2048, 2)
    room = wp.full((4, 3), -1, dtype=int)
    assert v.get_tiles(room) is room and room.list()[6:] == [-1] * 6
    assert v.get_voxels(wp.zeros(2048, dtype=wp.vec3i)).numpy()[512].tolist() == [8, 0, 0]
    assert v.get_tiles().shape == v.get_tiles(wp.zeros((2, 3), dtype=int)).shape == (2, 3)
    with pytest.raises(VolumeError, match=r"int32 of \(4, 3\)"):
        v.get_tiles(wp.zeros((3, 3), dtype=int))


WRONG = [{"max_tiles": 0}, {"max_tiles": 2**32}, {"max_lower_nodes": -1}, {"max_tiles": True}]


@pytest.mark.parametrize("wrong", WRONG)
def test_room_that_cannot_be(wrong):
    with pytest.raises(VolumeError, match="expected: a number from 1"):
        wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, **wrong)


def test_other_mistakes():
    plain = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0)
    with pytest.raises(VolumeError, match="is not rebuildable"):
        plain.rebuild(POINTS)
    v = wp.Volume.allocate_by_tiles(POINTS, voxel_size=1.0, rebuildable=True)
    for wrong in (wp.zeros(1, dtype=int), wp.zeros(0, dtype=wp.uint32), [0]):
        with pytest.raises(VolumeError, match="an array of uint32"):
            v.rebuild(POINTS, status=wrong)
    with pytest.raises(VolumeError, match="point_mask"):
        v.rebuild(POINTS, point_mask=[1, 0])
    with pytest.raises(VolumeError, match="vec3i or vec3f"):
        v.rebuild(wp.zeros(4))
    assert tiles(v) == [(0, 0, 0), (8, 0, 0)]

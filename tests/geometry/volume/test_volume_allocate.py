"""New volumes: from dense arrays, boxes, tiles and voxels; their types, places and errors."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import looked_up

import warpsim as wp
from warpsim.errors import VolumeError

SIZES = st.one_of(st.just(0.5), st.just((0.5, 1.0, 2.0)))


@settings(max_examples=25)
@given(
    shape=st.tuples(*[st.integers(1, 20)] * 3), components=st.sampled_from([(), (3,), (4,)]), seed=st.integers(0, 99)
)
def test_dense_arrays_come_back(shape, components, seed):
    dense = np.random.default_rng(seed).random((*shape, *components), np.float32)
    volume = wp.Volume.load_from_numpy(dense, min_world=(1.0, 2.0, 3.0), voxel_size=(0.5, 1.0, 2.0), bg_value=-1.0)
    assert (volume.to_numpy() == dense).all() and volume.get_voxel_size() == (0.5, 1.0, 2.0)
    assert volume.get_grid_info().translation.tolist() == [1.0, 2.0, 3.0]
    assert (looked_up(volume, [[-1, 0, 0], shape]) == -1.0).all()
    assert volume.get_tile_count() == np.prod([-(-n // 8) for n in shape])


BACKGROUNDS = [(0.0, wp.float32), (0, wp.int32), (wp.float64(1.0), wp.float64), (wp.int64(3), wp.int64)]
BACKGROUNDS += [(wp.uint32(3), wp.uint32), (wp.float32(2.0), wp.float32), (np.float32(2.0), wp.float32)]


@pytest.mark.parametrize("background, t", BACKGROUNDS)
def test_the_background_decides_the_type(background, t):
    dense = np.arange(60).reshape(3, 4, 5)
    volume = wp.Volume.from_numpy(dense, bg_value=background)
    assert volume.dtype is t and (volume.to_numpy() == dense).all()
    assert wp.Volume.allocate((0, 0, 0), (1, 1, 1), 1.0, bg_value=background).dtype is t
    assert looked_up(volume, [[9, 9, 9]]).tolist() == [background]


@pytest.mark.parametrize(
    "background, t",
    [
        ((1.0, 2.0, 3.0), wp.vec3),
        ([1, 2, 3, 4], wp.vec4),
        (np.array([1.0, 2.0, 3.0]), wp.vec3),
        (wp.vec3(1.0, 2.0, 3.0), wp.vec3),
        (wp.vec3d(1.0, 2.0, 3.0), wp.vec3d),
        (wp.vec4d(1.0, 2.0, 3.0, 4.0), wp.vec4d),
    ],
)
def test_backgrounds_of_vectors(background, t):
    volume = wp.Volume.allocate_by_tiles([[0, 0, 0]], 1.0, bg_value=background)
    assert volume.dtype is t
    assert (looked_up(volume, [[0, 0, 0], [50, 0, 0]]) == np.array(list(background))).all()
    with_vectors = wp.Volume.load_from_numpy(np.zeros((2, 2, 2, len(t())), np.float32), bg_value=background)
    assert with_vectors.dtype is t


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), size=SIZES, kind=st.sampled_from(["vec3i", "int rows", "numpy"]))
def test_tiles_are_those_of_the_voxels(seed, size, kind):
    voxels = np.random.default_rng(seed).integers(-300, 300, (40, 3))
    given_ = {"vec3i": wp.array(voxels, dtype=wp.vec3i), "int rows": wp.array(voxels, dtype=wp.int32), "numpy": voxels}
    volume = wp.Volume.allocate_by_tiles(given_[kind], size, bg_value=2.0)
    assert {*map(tuple, volume.get_tiles().numpy())} == {*map(tuple, voxels // 8 * 8)}
    assert (looked_up(volume, voxels) == 2.0).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), size=SIZES)
def test_points_of_the_world_belong_to_the_nearest_voxel(seed, size):
    points = np.random.default_rng(seed).uniform(-20.0, 20.0, (40, 3)).astype(np.float32)
    shift = np.array([0.3, -1.0, 7.0])
    expected = np.floor((points.astype(np.float64) - shift) / size + 0.5).astype(int)
    volume = wp.Volume.allocate_by_voxels(wp.array(points, dtype=wp.vec3), size, translation=shift)
    assert {*map(tuple, volume.get_voxels().numpy())} == {*map(tuple, expected)} and volume.is_index
    tiles = wp.Volume.allocate_by_tiles(wp.array(points, dtype=wp.vec3), size, translation=shift)
    assert {*map(tuple, tiles.get_tiles().numpy())} == {*map(tuple, expected // 8 * 8)}


def test_transforms():
    matrix = [[1.0, 0.2, 0.0], [0.0, 2.0, 0.0], [0.1, 0.0, 3.0]]
    voxels = np.array([[5, -3, 20], [0, 0, 0]])
    points = voxels @ np.transpose(matrix) + [1.0, 2.0, 3.0]
    volume = wp.Volume.allocate_by_voxels(points, transform=matrix, translation=(1.0, 2.0, 3.0))
    assert volume.get_grid_info().transform_matrix.tolist() == matrix
    assert {*map(tuple, volume.get_voxels().numpy())} == {*map(tuple, voxels)}


@pytest.mark.parametrize(
    "low, high, options, tiles",
    [
        ((-1, -1, -1), (8, 8, 8), {}, 27),
        ((0, 0, 0), (7, 7, 7), {}, 1),
        ((0, 0, 0), (0, 0, 8), {}, 2),
        ((-1.0, -1.0, -1.0), (8.0, 8.0, 8.0), {"points_in_world_space": True}, 64),
        ((-1.0, -1.0, -1.0), (8.0, 8.0, 8.0), {"points_in_world_space": True, "translation": (1.0, 2.0, 3.0)}, 27),
    ],
)
def test_boxes(low, high, options, tiles):
    assert wp.Volume.allocate(low, high, 0.5, **options).get_tile_count() == tiles
    index = wp.Volume.allocate(low, high, 0.5, bg_value=None, **options)
    assert index.is_index and index.get_voxel_count() == 512 * tiles


def test_boxes_end_where_space_ends():
    for low, high in (([-(2.0**31)] * 3, [-(2.0**31) + 9] * 3), ([2**31 - 9] * 3, [2**31 - 1] * 3)):
        volume = wp.Volume.allocate(low, high, 1.0)
        assert volume.get_tile_count() == 8 and (looked_up(volume, [low, high]) == 0.0).all()


def scattered(count):
    """Voxels all over space, which hardly share a node."""
    return np.random.default_rng(0).integers(-(2**31), 2**31, (count, 3)).astype(np.int32)


@pytest.mark.parametrize(
    "make, leaf_bytes",
    [
        (lambda: wp.Volume.allocate_by_tiles(scattered(40000), 1.0), 2144),
        (lambda: wp.Volume.allocate_by_voxels(scattered(40000), 1.0), 96),
        (lambda: wp.Volume.allocate_by_tiles(scattered(40000).astype(np.float32), 1.0, bg_value=None), 96),
        (lambda: wp.Volume.allocate((0, 0, 0), (4000, 4000, 4000), 1.0), 2144),
        (
            lambda: wp.Volume.allocate((0, 0, 0), (3535, 3535, 3535), 1.0, bg_value=None),
            96,
        ),  # without inner nodes 7.7 GiB
    ],
    ids=["tiles", "voxels", "points", "box", "inner nodes of a box"],
)
def test_what_is_too_large_is_refused_before_it_takes_memory(make, leaf_bytes):
    tracemalloc.start()
    try:
        with pytest.raises(VolumeError) as error:
            make()
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    text = str(error.value)
    assert "GiB" in text and f"tiles with {leaf_bytes} bytes each" in text and "expected: less than 8 GiB" in text
    assert "help: take larger voxels" in text


@pytest.mark.filterwarnings("error")
def test_bad_input_is_refused_with_what_was_found():
    make, tile = wp.Volume.allocate_by_tiles, [[0, 0, 0]]
    cases = [
        (lambda: make(tile), "none of them"),
        (lambda: make(tile, 1.0, transform=np.eye(3)), "both"),
        (lambda: make(tile, 0.0), "voxel_size is 0.0"),
        (lambda: make(tile, (1.0, -1.0, 1.0)), "expected: a positive number, or three"),
        (lambda: make(tile, np.nan), "voxel_size is nan"),
        (lambda: make(tile, transform=np.ones((3, 3))), "no inverse"),
        (lambda: make(tile, transform=np.eye(4)), r"shapes \(3, 3\)"),
        (lambda: make(tile, 1.0, translation=(0.0, np.inf, 0.0)), "finite numbers"),
        (lambda: make(tile, 1.0, bg_value="red"), "bg_value is 'red'"),
        (lambda: make(tile, 1.0, bg_value=(1.0, 2.0)), "bg_value"),
        (lambda: make(tile, 1.0, bg_value=True), "bg_value is True"),
        (lambda: make([[0.0, 0.0, np.nan]], 1.0), "tile point number 0 is not finite"),
        (lambda: make([[0, 0]], 1.0), r"shape \(1, 2\)"),
        (lambda: make(wp.zeros(3, dtype=wp.vec2), 1.0), "expected: an array of vec3i or vec3f"),
        (lambda: make([[0, 0, 2**40]], 1.0), "fit int32"),
        (lambda: wp.Volume.allocate_by_voxels([[1e30, 0.0, 0.0]], 1.0), "voxel point number 0"),
        (lambda: make([[1e308, 0.0, 0.0]], 0.1), r"tile point number 0 is voxel \[inf, 0.0, 0.0\]"),
        (lambda: make([[1e308, -1e308, 0.0]], transform=[[0.1, 0.1, 0], [-0.1, 0.1, 0], [0, 0, 1]]), "fit int32"),
        (lambda: wp.Volume.allocate((1, 0, 0), (0, 5, 5), 1.0), "min <= max"),
        (lambda: wp.Volume.allocate((0, 0, 0), (1e30, 1, 1), 1.0), r"corner number 1 is voxel \[1e\+30, 1.0, 1.0\]"),
        (lambda: wp.Volume.allocate((0, 0, 0), np.float32([2.0**31, 1, 1]), 1.0), r"voxel \[2147483648.0, 1.0, 1.0\]"),
        (lambda: wp.Volume.allocate((0, 0, -(2**31) - 1), (0, 0, 0), 1.0), "corner number 0 .*\nexpected: .* int32"),
        (lambda: wp.Volume.allocate((0, 0, 0), (1e308, 1, 1), 0.1, points_in_world_space=True), "corner number 1"),
        (lambda: wp.Volume.allocate((0, 0, 0), (2**30, 2**30, 2**30), 1.0), "tiles with .* bytes"),
        (lambda: wp.Volume.load_from_numpy(np.zeros((3, 3))), r"shape \(3, 3\)"),
        (lambda: wp.Volume.load_from_numpy(np.zeros((3, 3, 3, 2))), r"shape \(3, 3, 3, 2\)"),
        (lambda: wp.Volume.load_from_numpy(np.zeros((0, 3, 3))), "none of them 0"),
        (lambda: wp.Volume.load_from_numpy(np.zeros((3, 3, 3)), bg_value=None), "bg_value is None"),
    ]
    for case, message in cases:
        with pytest.raises(VolumeError, match=message):
            print(f"no error like {message!r}:", case())


def test_masks_choose_among_points():
    tiles, mask = np.array([[0, 0, 0], [8, 0, 0], [16, 0, 0]], np.int32), wp.array([1, 0, 2], dtype=int)
    volume = wp.Volume.allocate_by_tiles(wp.array(tiles, dtype=int), 1.0, point_mask=mask)
    assert sorted(volume.get_tiles().numpy().tolist()) == [[0, 0, 0], [16, 0, 0]]
    points = wp.array([[1.0, 2.0, 3.0], [9.0, 9.0, 9.0], [4.0, 5.0, 6.0]], dtype=wp.vec3)
    index = wp.Volume.allocate_by_voxels(points, 1.0, point_mask=mask)
    assert sorted(index.get_voxels().numpy().tolist()) == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(VolumeError, match="one for each point"):
        wp.Volume.allocate_by_tiles(tiles, 1.0, point_mask=[1, 0])
    with pytest.raises(VolumeError, match="integers"):
        wp.Volume.allocate_by_tiles(tiles, 1.0, point_mask=[0.5, 0.5, 1.0])


def test_coordinates_are_rows_of_integers():
    volume = wp.Volume.allocate((0, 0, 0), (8, 7, 7), 1.0)
    for found, rows in ((volume.get_tiles(), 2), (volume.get_voxels(), 1024)):
        assert found.shape == (rows, 3) and found.dtype == wp.int32

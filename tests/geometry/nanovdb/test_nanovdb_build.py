"""Grids made from dense arrays, tiles and voxels: just the voxels asked for, in every type; bad requests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsim.errors import VolumeError
from warpsim.geometry.nanovdb.build import from_dense, from_tiles, from_voxels, node_offsets
from warpsim.geometry.nanovdb.check import check
from warpsim.geometry.nanovdb.grid import feature_type
from warpsim.geometry.nanovdb.layout import KINDS, GridClass, GridType, layout
from warpsim.geometry.nanovdb.voxels import active_voxels, lookup, tiles, to_dense

VALUE_TYPES = [kind for kind in KINDS if KINDS[kind].leaf == "values"]


def numbers(kind, shape, seed=0):
    """Some values of a type, half of them 0."""
    parts = layout(kind)
    shape = (*shape, parts.components) if parts.components > 1 else shape
    drawn = np.random.default_rng(seed).integers(1, 100, shape) * np.random.default_rng(seed + 1).integers(0, 2, shape)
    return drawn.astype(parts.scalar)


def as_set(voxels):
    return set(map(tuple, np.asarray(voxels).tolist()))


@pytest.mark.parametrize("kind", VALUE_TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("low", [(0, 0, 0), (-13, 5, -20), (4090, -4100, 126)], ids=str)
def test_dense_arrays_come_back(kind, low):
    array = numbers(kind, (11, 9, 21))
    grid = check(from_dense(array, low).buffer)
    assert grid.type == kind
    high = np.add(low, array.shape[:3]) - 1
    assert np.array_equal(to_dense(grid, low, high), array)
    occupied = (array != 0).reshape(*array.shape[:3], -1).any(axis=3)
    assert as_set(active_voxels(grid)) == as_set(np.argwhere(occupied) + low)
    assert grid.voxel_count == occupied.sum()


@pytest.mark.parametrize("kind", VALUE_TYPES, ids=lambda kind: kind.name)
def test_voxels_come_back(kind):
    rng = np.random.default_rng(3)
    voxels = np.unique(rng.integers(-6000, 6000, (40, 3)), axis=0)
    values = numbers(kind, (len(voxels),))
    background = np.array(5, values.dtype) if values.ndim == 1 else np.arange(values.shape[1])
    order = rng.permutation(len(voxels))
    grid = check(from_voxels(voxels[order], values[order], background=background).buffer)
    assert np.array_equal(lookup(grid, voxels), values)
    assert np.array_equal(lookup(grid, voxels + np.array([0, 0, 7000]))[0], background)
    assert as_set(active_voxels(grid)) == as_set(voxels)


@pytest.mark.parametrize("kind", [*VALUE_TYPES, GridType.INDEX, GridType.ONINDEX], ids=lambda kind: kind.name)
def test_sizes_are_known_beforehand(kind):
    voxels = np.random.default_rng(1).integers(-9000, 9000, (30, 3))
    grid = check(from_tiles(voxels, type=kind).buffer)
    counts = [len(np.unique(voxels >> span, axis=0)) for span in (3, 7, 12)]
    assert node_offsets(layout(kind), *counts) == (*(grid.node_offset(n) for n in (2, 1, 0)), len(grid.buffer))


def test_the_background_is_left_out():
    array = np.full((20, 20, 20), 3.0, "f4")
    array[12, 3, 17] = np.nan
    grid = from_dense(array, background=3.0)
    assert active_voxels(grid).tolist() == [[12, 3, 17]] and len(grid.leaves) == 1
    nan = np.full((9, 9, 9), np.nan, "f4")
    nan[8, 8, 8] = 0.0
    assert active_voxels(from_dense(nan, background=np.nan)).tolist() == [[8, 8, 8]]


def test_whole_boxes():
    grid = check(from_dense(np.zeros((9, 3, 5), "i4"), (7, -1, 0), sparse=False).buffer)
    assert as_set(active_voxels(grid)) == as_set(np.argwhere(np.ones((9, 3, 5))) + np.array([7, -1, 0]))
    assert len(from_dense(np.zeros((9, 3, 5), "i4")).leaves) == 0


@pytest.mark.parametrize("kind", ["index", "onindex"])
def test_index_grids(kind):
    array = numbers(GridType.FLOAT, (20, 9, 30))
    grid = check(from_dense(array, (-3, 100, -7), type=kind).buffer)
    voxels = active_voxels(grid)
    assert as_set(voxels) == as_set(np.argwhere(array) + np.array([-3, 100, -7]))
    found = lookup(grid, voxels)
    assert len(np.unique(found)) == len(voxels) and found.min() >= 1 and found.max() < grid.value_count
    assert lookup(grid, [[1000, 1000, 1000]]) == 0
    if kind == "onindex":
        assert np.array_equal(found, np.arange(1, len(voxels) + 1)) and grid.value_count == len(voxels) + 1
        inactive = np.argwhere(array == 0) + np.array([-3, 100, -7])
        assert (lookup(grid, inactive) == 0).all()
    else:
        assert grid.value_count == 1 + 512 * len(grid.leaves)
    assert grid.grid_class == GridClass.INDEX


def test_masks():
    voxels = [[0, 0, 0], [-9, 8, 700]]
    grid = check(from_voxels(voxels, type="mask").buffer)
    assert lookup(grid, voxels).all() and not lookup(grid, [[0, 0, 1], [5000, 0, 0]]).any()
    assert as_set(active_voxels(grid)) == as_set(voxels)


coordinate = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([-(2**31), 2**31 - 1, -4096, 4095, -1, 127, 128, 2047]),
)
few_voxels = st.lists(st.tuples(coordinate, coordinate, coordinate), max_size=12)


@settings(max_examples=60, deadline=None)
@given(few_voxels, st.randoms(use_true_random=False))
def test_any_voxels(voxels, random):
    """A set of voxels, repeated and in any order, is what the grid holds, and its order does not matter."""
    wanted = {voxel: k for k, voxel in enumerate(voxels)}  # the last one counts
    array = np.array(voxels, np.int64).reshape(-1, 3)
    grid = check(from_voxels(array, np.arange(len(array)), type="int32", background=-1).buffer)
    assert as_set(active_voxels(grid)) == set(wanted)
    assert {voxel: int(lookup(grid, [voxel])[0]) for voxel in wanted} == wanted
    assert as_set(tiles(grid)) == {tuple(c & -8 for c in voxel) for voxel in wanted}
    assert sorted(active_voxels(grid).tolist(), key=sort_key) == active_voxels(grid).tolist()
    shuffled = list(voxels) + voxels[:3]
    random.shuffle(shuffled)
    one, two = (from_voxels(np.array(v, np.int64).reshape(-1, 3)).buffer for v in (voxels, shuffled))
    assert np.array_equal(one, two)


def sort_key(voxel):
    """Root tile by x, y, z, then slots of upper node, lower node and leaf."""
    return [tuple(c >> shift for c in voxel) for shift in (12, 7, 3, 0)]


@settings(max_examples=30, deadline=None)
@given(few_voxels)
def test_any_tiles(voxels):
    array = np.array(voxels, np.int64).reshape(-1, 3)
    grid = check(from_tiles(array, type="float", background=2.5).buffer)
    assert as_set(tiles(grid)) == {tuple(c & -8 for c in voxel) for voxel in voxels}
    assert grid.voxel_count == 512 * len(grid.leaves)
    assert (lookup(grid, array) == 2.5).all() and (grid.leaves["values"] == 2.5).all()


def test_description():
    transform = np.array([[0.0, -2.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 3.0]])
    grid = from_voxels([[1, 2, 3]], transform=transform, translation=(1, 2, 3), name="wölkchen", version=(32, 9, 1))
    assert np.array_equal(grid.matrix, transform) and np.allclose(grid.inverse @ transform, np.eye(3))
    assert grid.translation.tolist() == [1, 2, 3] and grid.voxel_size.tolist() == [0.5, 2.0, 3.0]
    assert (grid.name, grid.version, grid.type) == ("wölkchen", (32, 9, 1), GridType.ONINDEX)
    assert np.array_equal(grid.header["map"]["matrix_f"], transform.astype("f4"))
    assert grid.world_bbox.tolist() == [[-5.0, 2.5, 12.0], [-3.0, 3.0, 15.0]]
    assert from_dense(np.ones((2, 2, 2)), voxel_size=0.1, grid_class="fog").voxel_size.tolist() == [0.1] * 3
    assert from_dense(np.ones((2, 2, 2), "f4"), grid_class=GridClass.LEVEL_SET).grid_class == GridClass.LEVEL_SET


def test_types():
    assert from_dense(np.ones((2, 2, 2)), type="float").type == GridType.FLOAT
    assert from_dense(np.ones((2, 2, 2, 3), "f8"), type=GridType.VEC3F).type == GridType.VEC3F
    assert from_dense(np.ones((2, 2, 2), "i8"), type="INT16").type == GridType.INT16
    assert from_tiles([[0, 0, 0]], background=np.float64(1)).type == GridType.DOUBLE
    assert from_tiles([[0, 0, 0]], background=1.0, type="vec4d").background.tolist() == [1.0] * 4
    assert from_tiles([[0, 0, 0]], background=np.ones(3)).type == GridType.VEC3D
    assert from_voxels([[0, 0, 0]], background=np.float32(1)).type == GridType.FLOAT
    assert from_voxels([[0, 0, 0]], background=np.ones(4, "f4")).type == GridType.VEC4F
    assert feature_type(np.zeros((3, 2))) == GridType.UNKNOWN


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_dense(np.ones((3, 3))), "shape of a dense array"),
        (lambda: from_dense(np.ones((3, 3, 3, 2))), "shape of a dense array"),
        (lambda: from_dense(np.ones((3, 3, 3)), (0, 0)), "voxels\nfound: dtype int64, shape (2,)"),
        (lambda: from_dense(np.ones((3, 3, 3)), np.zeros((2, 3), int)), "lowest voxel"),
        (lambda: from_dense(np.ones((3, 3, 3)), (0, 0, 2**31 - 2)), "lowest voxel"),
        (lambda: from_dense(np.ones((3, 3, 3)), (0.5, 0, 0)), "voxels\nfound: dtype float64"),
        (lambda: from_dense(np.ones((3, 3, 3), complex)), "give type="),
        (lambda: from_dense(np.ones((3, 3, 3)), type="int32"), "values of a INT32 grid"),
        (lambda: from_dense(np.full((3, 3, 3), 300), type="uint8"), "numbers outside of uint8"),
        (lambda: from_dense(np.full((3, 3, 3), 1e39), type="float"), "numbers outside of float32"),
        (lambda: from_dense(np.ones((3, 3, 3)), type="vec3f"), "values of a VEC3F grid"),
        (lambda: from_dense(np.ones((3, 3, 3)), type="fp16"), "type of a grid\nfound: 'fp16'"),
        (lambda: from_dense(np.ones((3, 3, 3)), type="bool"), "type of a grid"),
        (lambda: from_tiles([[0, 0, 0]], type=77), "type of a grid\nfound: 77"),
        (lambda: from_tiles([[0, 0, 0]], grid_class=77), "class of a INT64 grid\nfound: 77"),
        (lambda: from_tiles([[0, 0, 0]], type="vec3f", background=(1, 2)), "background of a VEC3F grid"),
        (lambda: from_dense(np.ones((3, 3, 3)), background=(1, 2, 3)), "background of a DOUBLE grid"),
        (lambda: from_dense(np.ones((3, 3, 3), "i4"), background=0.5), "numbers outside of int32"),
        (lambda: from_dense(np.ones((3, 3, 3), "i4"), grid_class="fog"), "class of a INT32 grid"),
        (lambda: from_dense(np.ones((3, 3, 3)), grid_class="smoke"), "class of a DOUBLE grid\nfound: 'smoke'"),
        (lambda: from_dense(np.ones((3, 3, 3)), voxel_size=0.0), "voxel size"),
        (lambda: from_dense(np.ones((3, 3, 3)), voxel_size=(1, -1, 1)), "voxel size"),
        (lambda: from_dense(np.ones((3, 3, 3)), voxel_size=1e-60), "transform"),
        (lambda: from_dense(np.ones((3, 3, 3)), voxel_size=np.nan), "voxel size"),
        (lambda: from_dense(np.ones((3, 3, 3)), transform=np.ones((3, 3))), "a matrix with an inverse"),
        (lambda: from_dense(np.ones((3, 3, 3)), transform=np.ones(3)), "transform\nfound: shapes"),
        (lambda: from_dense(np.ones((3, 3, 3)), transform=np.eye(3), voxel_size=1), "give one of them"),
        (lambda: from_dense(np.ones((3, 3, 3)), translation=(0, np.inf, 0)), "transform"),
        (lambda: from_dense(np.ones((3, 3, 3)), name="x" * 256), "name"),
        (lambda: from_dense(np.ones((3, 3, 3)), name="a\0b"), "name"),
        (lambda: from_dense(np.ones((3, 3, 3)), version=(31, 0, 0)), "version"),
        (lambda: from_voxels(np.zeros((4, 2), int)), "voxels\nfound: dtype int64, shape (4, 2)"),
        (lambda: from_voxels(np.zeros((4, 3))), "voxels\nfound: dtype float64"),
        (lambda: from_voxels(np.array([[2**31, 0, 0]])), "voxels\nfound: 0 to 2147483648"),
        (lambda: from_voxels(np.array(5)), "voxels"),
        (lambda: from_voxels([[0, 0, 0]], np.ones(2)), "expected: one for each of the 1 voxels"),
        (lambda: from_voxels([[0, 0, 0]], np.ones(1), type="onindex"), "use with_features"),
    ],
)
def test_bad_requests(make, message):
    with pytest.raises(VolumeError) as error:
        make()
    assert message in str(error.value)


def test_unknown_options():
    with pytest.raises(TypeError, match="voxelsize"):
        from_tiles([[0, 0, 0]], voxelsize=1.0)

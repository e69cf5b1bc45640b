"""Arrays beside the tree: stored, read, exchanged and taken away, in both ways that versions describe them."""

import numpy as np
import pytest

from warpsim.errors import VolumeError
from warpsim.geometry.nanovdb.build import from_voxels
from warpsim.geometry.nanovdb.check import check
from warpsim.geometry.nanovdb.features import with_features
from warpsim.geometry.nanovdb.grid import Feature
from warpsim.geometry.nanovdb.layout import GridType

VOXELS = [[0, 0, 0], [5, -70, 2]]
ARRAYS = {
    "density": np.arange(3, dtype="f4"),
    "position": np.arange(9.0).reshape(3, 3),
    "color": np.arange(20, dtype="f4").reshape(5, 4),
    "count": np.array([-(2**63), 2**63 - 1]),
    "nothing": np.zeros(0, "i4"),
    "words": np.arange(4, dtype="u4")[::2],
}


@pytest.mark.parametrize("version", [(32, 3, 3), (32, 5, 0), (32, 6, 0), (32, 9, 2)], ids=str)
def test_features_come_back(version):
    grid = check(with_features(from_voxels(VOXELS, version=version), ARRAYS).buffer)
    assert [feature.name for feature in grid.features] == list(ARRAYS)
    for feature, array in zip(grid.features, ARRAYS.values(), strict=True):
        assert np.array_equal(feature.array, array) and feature.array.dtype == array.dtype
        assert feature.data_class == 2 and np.shares_memory(feature.array, grid.buffer) == (array.size > 0)
        assert feature.array.ctypes.data % 32 == 0 or not array.size
    kinds = [feature.data_type for feature in grid.features]
    assert [kind.name for kind in kinds] == ["FLOAT", "VEC3D", "VEC4F", "INT64", "INT32", "UINT32"]


def test_the_tree_stays():
    plain = from_voxels(VOXELS)
    grid = with_features(plain, ARRAYS)
    assert np.array_equal(grid.leaves, plain.leaves) and grid.node_counts == plain.node_counts
    none = with_features(grid, {})
    assert np.array_equal(none.buffer[736:], plain.buffer[736:]) and none.features == []
    again = with_features(grid, [grid.features[2], Feature("meaning", np.arange(2, dtype="i2"), 3, 4)])
    assert [feature.name for feature in check(again.buffer).features] == ["color", "meaning"]
    assert (again.features[1].semantic, again.features[1].data_class) == (3, 4)


def test_arrays_without_a_type_are_bytes():
    array = np.array([[True, False], [True, True]])
    grid = check(with_features(from_voxels(VOXELS), {"bits": array, "pairs": np.ones((2, 2), "f4")}).buffer)
    bits, pairs = grid.features
    assert bits.data_type == pairs.data_type == GridType.UNKNOWN
    assert bits.array.tolist() == [1, 0, 1, 1] and pairs.array.view("f4").tolist() == [1.0] * 4
    again = check(with_features(grid, grid.features).buffer)
    assert np.array_equal(again.buffer, grid.buffer)


def test_bad_features():
    with pytest.raises(VolumeError, match="name"):
        with_features(from_voxels(VOXELS), {"x" * 300: np.zeros(1)})
    with pytest.raises(VolumeError, match="expected: INT32, as its array"):
        with_features(from_voxels(VOXELS), [Feature("a", np.zeros(3, "i4"), data_type=GridType.FLOAT)])
    with pytest.raises(VolumeError, match="feature arrays\nfound: 65536"):
        with_features(from_voxels(VOXELS), [Feature("a", np.zeros(0, "u1"))] * 65536)

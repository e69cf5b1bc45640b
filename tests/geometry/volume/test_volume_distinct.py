"""Distinct cubes of voxels that contain points, found by sorting, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import warpsim as wp
from warpsim.geometry.volume.distinct import distinct_cubes

ROTATED = np.array([[0.5, 2.0, 0.0], [-2.0, 0.5, 0.0], [0.0, 0.0, 4.0]])  # numbers whose products are exact
SHIFT = np.array([0.25, -3.0, 1.5])


def expected(voxels, log2):
    return np.unique(voxels.astype(np.int64) >> log2 << log2, axis=0)


def check(found, wanted):
    assert found.dtype == np.int32 and np.array_equal(np.unique(found, axis=0), wanted) and len(found) == len(wanted)


FAR = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(st.tuples(*[FAR | st.integers(-9, 9)] * 3), min_size=1, max_size=40), st.sampled_from([0, 3]))
def test_cubes_of_any_voxels(voxels, log2):
    rows = np.array(voxels, np.int32)
    for points in (wp.array(rows, dtype=wp.vec3i), wp.array(rows, dtype=int)):
        check(distinct_cubes(points, np.eye(3), np.zeros(3), log2), expected(rows, log2))


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [wp.vec3, wp.vec3d])
@pytest.mark.parametrize("log2", [0, 3])
def test_points_of_the_world_belong_to_the_nearest_voxel(dtype, log2, device):
    rows = np.random.default_rng(0).integers(-800, 800, (400, 3)) / 16.0
    voxels = np.floor((rows - SHIFT) @ ROTATED.T + 0.5)
    points = wp.array(rows, dtype=dtype, device=device)
    check(distinct_cubes(points, ROTATED, SHIFT, log2), expected(voxels, log2))
    with wp.Tape() as tape:
        distinct_cubes(points, ROTATED, SHIFT, log2)
    assert not tape.log  # voxels have no gradients


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e9, -2.2e9, 1e300])
def test_points_in_no_voxel_are_left_to_the_host(bad):
    rows = np.zeros((9, 3))
    rows[4, 1] = bad
    assert distinct_cubes(wp.array(rows, dtype=wp.vec3d), np.eye(3), np.zeros(3), 3) is None


@pytest.mark.parametrize(
    "points",
    [
        [[0, 0, 0]],
        np.zeros((3, 3)),
        wp.zeros(0, dtype=wp.vec3),
        wp.zeros((4, 2), dtype=int),
        wp.zeros(3, dtype=wp.int64),
        wp.zeros((8, 3), dtype=int)[::2],
    ],
)
def test_other_forms_are_left_to_the_host(points):
    assert distinct_cubes(points, np.eye(3), np.zeros(3), 3) is None

"""Sampling between voxels, against trilinear interpolation in float64 over a dense box."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import grids, looked_up, sampled, without_directory

import warpsim as wp
from warpsim.errors import KernelAssertionError, KernelValueError
from warpsim.geometry.nanovdb import build as nanovdb_build

# Corners of cubes, lower nodes, upper nodes, and far away: origins of boxes that cross them.
CORNERS = [0, -1, -5, 3, 8, -128, 125, 4096, -4099, 2**19, -(2**19) - 2, 2**22 - 9, -(2**22)]
corners = st.tuples(*[st.sampled_from(CORNERS)] * 3)


def sparse(seed, low, side=11, fill=0.4, dtype=np.float32, components=()):
    """A volume of some voxels of a box from `low` on, and the values of the box and two voxels around it."""
    rng = np.random.default_rng(seed)
    background = np.full(components, 0.75, dtype)
    dense = np.empty((side + 4, side + 4, side + 4, *components), dtype)
    dense[:] = background
    places = np.argwhere(rng.random((side, side, side)) < fill)
    values = rng.normal(size=(len(places), *components)).astype(dtype)
    dense[tuple((places + 2).T)] = values
    grid = nanovdb_build.from_voxels(places + np.array(low), values, background=background)
    return wp.Volume(grid.buffer), dense


def interpolated(dense, points):
    """The trilinear interpolant at points of the dense box, from lerps in float64."""
    low = np.minimum(np.floor(points).astype(int), np.array(dense.shape[:3]) - 2)
    t = points - low
    total = 0.0
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, t, 1.0 - t), axis=1)
        value = dense[tuple((low + corner).T)].astype(np.float64)
        total = total + weight.reshape(-1, *[1] * (value.ndim - 1)) * value
    return total


def check(volume, dense, low, seed, point, tolerance):
    scalar = np.float64 if point is wp.vec3d else np.float32
    rng = np.random.default_rng(seed)
    low = np.array(low, np.int64)
    around = rng.uniform(-1.9, dense.shape[0] - 2.1, (300, 3))
    points = (around + low).astype(scalar)
    points[:20] = np.round(points[:20])
    exact = points.astype(np.float64) - low + 2  # rounding of points is not at issue
    assert np.abs(sampled(volume, points, point=point) - interpolated(dense, exact)).max() < tolerance


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), low=corners, walk=st.booleans())
def test_linear_is_the_trilinear_interpolant(seed, low, walk):
    volume, dense = sparse(seed, low)
    volume = without_directory(volume) if walk else volume
    check(volume, dense, low, seed, wp.vec3f, 2e-6)
    check(volume, dense, low, seed, wp.vec3d, 2e-6)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31), low=corners)
def test_float64_values_are_sampled_in_float64(seed, low):
    volume, dense = sparse(seed, low, dtype=np.float64)
    check(volume, dense, low, seed, wp.vec3d, 1e-14)
    check(volume, dense, low, seed, wp.vec3f, 1e-6)  # the points are the limit


@pytest.mark.parametrize("t", [wp.vec3f, wp.vec3d, wp.vec4f, wp.vec4d], ids=lambda t: t.__name__)
def test_vectors_are_sampled_component_by_component(t):
    volume, dense = sparse(5, (-4, 124, 0), dtype=np.dtype(t.dtype), components=(len(t()),))
    assert volume.dtype is t
    check(volume, dense, (-4, 124, 0), 1, wp.vec3f, 2e-6)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), low=corners)
def test_closest_is_the_value_of_the_nearest_voxel(seed, low):
    volume, dense = sparse(seed, low)
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.9, 12.4, (300, 3)) + np.array(low, np.float64)
    nearest = np.floor(points + 0.5).astype(np.int64) - np.array(low) + 2
    found = sampled(volume, points, wp.Volume.CLOSEST, point=wp.vec3d)
    assert (found == dense[tuple(nearest.T)]).all()


def test_halves_are_rounded_away_from_zero():
    values = np.arange(8, dtype=np.float32).reshape(8, 1, 1) - 4.0
    volume = wp.Volume(nanovdb_build.from_dense(values, (-4, 0, 0), background=np.float32(99.0)).buffer)
    points = np.array([[x, 0.0, 0.0] for x in (-2.5, -1.5, -0.5, 0.5, 1.5, 2.4999998)], np.float32)
    assert sampled(volume, points, wp.Volume.CLOSEST).tolist() == [-3.0, -2.0, -1.0, 1.0, 2.0, 2.0]


def test_integers_are_those_of_the_closest_voxel_in_every_mode():
    dense = np.arange(1000, dtype=np.int32).reshape(10, 10, 10)
    volume = wp.Volume.load_from_numpy(dense, bg_value=-1)
    points = np.random.default_rng(0).uniform(0.0, 9.0, (100, 3))
    nearest = np.floor(points + 0.5).astype(int)
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (sampled(volume, points, mode) == dense[tuple(nearest.T)]).all()


@pytest.mark.parametrize("point", [wp.vec3f, wp.vec3d], ids=["float32", "float64"])
def test_points_just_below_a_voxel_lie_at_it(point):
    volume = wp.Volume.load_from_numpy(np.arange(27, dtype=np.float32).reshape(3, 3, 3) + 1.0, bg_value=-3.0)
    points = [[-1e-30, -1e-9, -1e-20], [np.nextafter(np.float32(1.0), np.float32(0.0)), 2.0, 2.0]]
    assert np.allclose(sampled(volume, points, point=point), [1.0, 18.0], rtol=1e-6)


@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
@pytest.mark.parametrize("point", [wp.vec3f, wp.vec3d], ids=["float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_points_that_are_nowhere_give_the_background(point, walk, device):
    volume = wp.Volume.load_from_numpy(np.ones((9, 9, 9), np.float32), bg_value=-3.0, device=device)
    volume = without_directory(volume) if walk else volume
    bad = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 2.0**31, -(2.0**31), 2.0**30, 1e6]
    points = [[x if axis == a else 4.0 for a in range(3)] for x in bad for axis in range(3)] + [[np.nan] * 3]
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (sampled(volume, points, mode, point=point, device=device) == -3.0).all()
        assert (sampled(volume, [[4.0, 4.5, 4.25]], mode, point=point, device=device) == 1.0).all()


@wp.kernel
def sample_all(
    volume: wp.uint64,
    points: wp.array(dtype=wp.vec3d),
    data: wp.array(dtype=float),
    out: wp.array2d(dtype=float),
    slope: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    grad = wp.vec3(1.0)
    for mode in range(2):
        out[i, mode] = wp.volume_sample_f(volume, points[i], mode)
        out[i, 2 + mode] = wp.volume_sample_index(volume, points[i], mode, data, -3.0)
    out[i, 4] = wp.volume_sample_grad_f(volume, points[i], wp.Volume.LINEAR, grad)
    slope[i] = grad


NOWHERE = [((1, 1, 1), "cpu"), ((1, 0, 0), "cpu"), ((0, 1, 0), "cpu"), ((0, 0, 1), "cpu"), ((-1, -1, -1), "cpu")]
NOWHERE += [((0, -1, 1), "cpu"), ((1, 1, 1), "interp")]


@pytest.mark.parametrize("others", [[], [[64, 64, 64]]], ids=["directory", "tree"])
@pytest.mark.parametrize("corner, device", NOWHERE, ids=str)
def test_points_that_are_nowhere_do_not_see_tiles_at_the_end_of_space(corner, others, device):
    tile = [{1: 2**31 - 8, 0: 0, -1: -(2**31)}[c] for c in corner]
    volume = wp.Volume.allocate_by_tiles([tile, *others], 1.0, bg_value=-3.0)
    assert (len(volume._data.entries) == 0) == bool(others)  # a box around two tiles far apart is too large
    volume.leaf_values.fill_(9.0)
    assert looked_up(volume, [tile, [9, 0, 0]], device=device).tolist() == [9.0, -3.0]
    lost = [np.nan, np.inf, -np.inf, 2.0**31 - 8, 2.0**31 - 6.5, -(2.0**31), 1e300]
    places = [2.0, 3.5, *tile]
    points = [[x if a == axis else p for a in range(3)] for x in lost for axis in range(3) for p in places]
    points += [[x] * 3 for x in lost] + [[66.0, 67.5, 65.0]]
    with wp.ScopedDevice(device):
        found, slopes = wp.zeros((len(points), 5), dtype=float), wp.zeros(len(points), dtype=wp.vec3)
        data = wp.full(volume.get_voxel_count(), 9.0, dtype=float)
        wp.launch(sample_all, len(points), [volume.id, wp.array(points, dtype=wp.vec3d), data, found, slopes])
    assert (found.numpy()[:-1] == -3.0).all() and (slopes.numpy() == 0.0).all()
    assert (found.numpy()[-1] == (9.0 if others else -3.0)).all()


def test_clusters_far_apart_need_no_directory():
    low, high = (-(2**31) + 200, 5, 2**31 - 208), (2**31 - 220, -70000, -(2**31) + 128)
    volumes = [sparse(n, at, side=5, fill=1.0) for n, at in enumerate((low, high))]
    voxels = np.concatenate(
        [np.argwhere(dense[2:-2, 2:-2, 2:-2] < 100) + at for (_, dense), at in zip(volumes, (low, high), strict=True)]
    )
    values = np.concatenate([dense[2:-2, 2:-2, 2:-2].ravel() for _, dense in volumes])
    volume = wp.Volume(nanovdb_build.from_voxels(voxels, values, background=np.float32(0.75)).buffer)
    assert len(volume._data.entries) == 0
    points = voxels.astype(np.float64)
    assert (sampled(volume, points, point=wp.vec3d) == values).all()
    assert (sampled(volume, points, wp.Volume.CLOSEST, point=wp.vec3d) == values).all()
    assert (sampled(volume, points + np.array([2.0**20, 0.0, 0.0]), point=wp.vec3d)[:125] == 0.75).all()


@pytest.mark.parametrize("name", ["torus", "test_grid", "test_vec_grid", "rocks"])
def test_both_ways_through_a_file_agree(name):
    [volume], [walked] = grids(name), grids(name)
    walked = without_directory(walked)
    box = volume.get_tiles().numpy()
    points = np.random.default_rng(0).uniform(box.min(axis=0) - 20.0, box.max(axis=0) + 28.0, (20000, 3))
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (sampled(volume, points, mode) == sampled(walked, points, mode)).all()


@pytest.mark.cpu(reason="compares the two devices of the host")
@pytest.mark.parametrize("walk", [False, True], ids=["directory", "tree"])
def test_the_interpreter_gives_the_same_bits(walk):
    volume, _ = sparse(3, (-5, 126, 4091))
    volume = without_directory(volume) if walk else volume
    points = np.random.default_rng(0).uniform(-2.0, 13.0, (30, 3)) + np.array([-5, 126, 4091])
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (sampled(volume, points, mode) == sampled(volume, points, mode, device="interp")).all()


@wp.kernel
def by_name(
    floats: wp.uint64,
    vectors: wp.uint64,
    integers: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    mode: int,
    f: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    i: wp.array(dtype=int),
):
    n = wp.tid()
    f[n] = wp.volume_sample_f(floats, points[n], mode)
    v[n] = wp.volume_sample_v(vectors, points[n], mode)
    i[n] = wp.volume_sample_i(integers, points[n])


def test_the_functions_named_by_type_are_the_same():
    rng = np.random.default_rng(0)
    floats = wp.Volume.load_from_numpy(rng.random((9, 9, 9), np.float32))
    vectors = wp.Volume.load_from_numpy(rng.random((9, 9, 9, 3), np.float32))
    integers = wp.Volume.load_from_numpy(rng.integers(0, 99, (9, 9, 9)), bg_value=0)
    points = rng.uniform(-2.0, 11.0, (50, 3)).astype(np.float32)
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        out = [wp.zeros(50, dtype=t) for t in (float, wp.vec3, int)]
        ids = [volume.id for volume in (floats, vectors, integers)]
        wp.launch(by_name, 50, [*ids, wp.array(points, dtype=wp.vec3), mode, *out])
        for volume, found in zip((floats, vectors, integers), out, strict=True):
            assert (found.numpy() == sampled(volume, points, mode)).all()


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_another_type_than_that_of_the_volume_is_an_error(device):
    volume = wp.Volume.load_from_numpy(np.ones((3, 3, 3), np.float32))
    for dtype in (int, wp.float64, wp.vec3):
        with pytest.raises(KernelAssertionError, match="another type than it holds"):
            sampled(volume, [[0.0, 0.0, 0.0]], dtype=dtype, device=device)


def test_a_type_that_no_volume_holds_is_refused_when_the_kernel_is_compiled():
    @wp.kernel
    def halves(volume: wp.uint64, out: wp.array(dtype=wp.vec2)):
        out[0] = wp.volume_sample(volume, wp.vec3(), wp.Volume.LINEAR, wp.vec2)

    with pytest.raises(KernelValueError, match="a volume of vec2f\nexpected: one of float32"):
        wp.launch(halves, 1, [wp.Volume.load_from_numpy(np.ones((3, 3, 3))).id, wp.zeros(1, dtype=wp.vec2)])

"""Arrays beside volumes: indices of voxels, sampling by index against sampling of values, derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import sampled, without_directory

import warpsim as wp
from warpsim.autograd import gradcheck
from warpsim.geometry.nanovdb import build as nanovdb_build

BACKGROUND = 0.75


def kernel_for(dtype, point):
    @wp.kernel
    def sample(
        volume: wp.uint64,
        points: wp.array(dtype=point),
        mode: int,
        data: wp.array(dtype=dtype),
        background: wp.array(dtype=dtype),
        out: wp.array(dtype=dtype),
    ):
        n = wp.tid()
        out[n] = wp.volume_sample_index(volume, points[n], mode, data, background[0])

    return sample


KERNELS = {
    (t, p): kernel_for(t, p)
    for t, p in ((wp.float32, wp.vec3f), (wp.float64, wp.vec3d), (wp.vec3f, wp.vec3f), (wp.int32, wp.vec3f))
}


def by_index(volume, points, data, background, mode=wp.Volume.LINEAR, dtype=wp.float32, point=wp.vec3f, device=None):
    out = wp.zeros(len(points), dtype=dtype, device=device)
    arrays = [wp.array(points, dtype=point, device=device), mode, wp.array(data, dtype=dtype, device=device)]
    arrays.append(wp.array([background], dtype=dtype, device=device))
    wp.launch(KERNELS[dtype, point], len(points), [volume.id, *arrays, out], device=device)
    return out.numpy()


def volumes(seed, kind, low=(-5, 123, -2)):
    """An index volume of random voxels, data for them, and a volume of values that holds the same field."""
    rng = np.random.default_rng(seed)
    voxels = np.argwhere(rng.random((11, 11, 11)) < 0.3) + np.array(low)
    index = wp.Volume(nanovdb_build.from_voxels(voxels, type=kind).buffer)
    data = rng.normal(size=index.get_voxel_count()).astype(np.float32)
    places = index.get_voxels().numpy()
    values = wp.Volume(nanovdb_build.from_voxels(places, data, background=np.float32(BACKGROUND)).buffer)
    points = rng.uniform(-2.0, 13.0, (200, 3)) + np.array(low)
    return index, data, values, points.astype(np.float32)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(["onindex", "index"]), walk=st.booleans())
def test_sampling_by_index_is_sampling_of_values(seed, kind, walk):
    index, data, values, points = volumes(seed, kind)
    index = without_directory(index) if walk else index
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (by_index(index, points, data, BACKGROUND, mode) == sampled(values, points, mode)).all()


@pytest.mark.cpu(reason="compares the two devices of the host")
@pytest.mark.parametrize("kind", ["onindex", "index"])
def test_the_interpreter_gives_the_same_bits(kind):
    index, data, _, points = volumes(1, kind)
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        found = by_index(index, points[:20], data, BACKGROUND, mode, device="interp")
        assert (found == by_index(index, points[:20], data, BACKGROUND, mode)).all()


def test_volumes_of_values_give_places_too():
    volume = wp.Volume.load_from_numpy(np.random.default_rng(0).random((10, 9, 8), np.float32), bg_value=BACKGROUND)
    data = volume.leaf_values.numpy().reshape(-1)
    points = np.random.default_rng(1).uniform(-3.0, 18.0, (300, 3)).astype(np.float32)
    assert (by_index(volume, points, data, BACKGROUND) == sampled(volume, points)).all()


def test_vectors_and_integers():
    index, _, _, points = volumes(2, "onindex")
    rng = np.random.default_rng(0)
    vectors = rng.random((index.get_voxel_count(), 3), np.float32)
    found = by_index(index, points, vectors, [1.0, 2.0, 3.0], dtype=wp.vec3f)
    for c in range(3):
        assert (found[:, c] == by_index(index, points, vectors[:, c], c + 1.0)).all()
    integers = rng.integers(0, 99, index.get_voxel_count())
    closest = by_index(index, points, integers.astype(np.float32), -1.0, wp.Volume.CLOSEST)
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert (by_index(index, points, integers, -1, mode, dtype=wp.int32) == closest).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e30])
def test_points_that_are_nowhere_give_the_background(bad):
    index, data, _, _ = volumes(0, "onindex")
    for mode in (wp.Volume.CLOSEST, wp.Volume.LINEAR):
        assert by_index(index, [[bad, 125.0, 0.0], [0.0, 125.0, bad]], data, BACKGROUND, mode).tolist() == [0.75] * 2


def double(values):
    return wp.array(np.asarray(values, np.float64), dtype=wp.float64, requires_grad=True)


def test_gradients_to_points_data_and_background():
    index, data, _, _ = volumes(3, "onindex")
    rng = np.random.default_rng(0)
    cells = np.floor(rng.uniform(-1.0, 11.0, (8, 3))) + np.array([-5, 123, -2]) + rng.uniform(0.1, 0.9, (8, 3))
    points = wp.array(cells, dtype=wp.vec3d, requires_grad=True)
    inputs = [index.id, points, wp.Volume.LINEAR, double(data[:]), double([BACKGROUND])]
    out = wp.zeros(8, dtype=wp.float64, requires_grad=True)
    kernel = KERNELS[wp.float64, wp.vec3d]
    assert gradcheck(kernel, 8, inputs, [out], show_summary=False, max_inputs_per_var=40)


@wp.kernel
def slope(
    volume: wp.uint64,
    points: wp.array(dtype=wp.vec3d),
    mode: int,
    data: wp.array(dtype=wp.float64),
    out: wp.array(dtype=wp.float64),
    slopes: wp.array(dtype=wp.vec3d),
):
    n = wp.tid()
    grad = wp.vec3d()
    out[n] = wp.volume_sample_grad_index(volume, points[n], mode, data, wp.float64(0.75), grad)
    slopes[n] = grad


def test_the_gradient_is_that_of_the_interpolant_and_can_be_differentiated():
    index, data, _, points = volumes(4, "onindex")
    points = wp.array(np.floor(points[:6]) + 0.3, dtype=wp.vec3d, requires_grad=True)
    out = [wp.zeros(6, dtype=t, requires_grad=True) for t in (wp.float64, wp.vec3d)]
    inputs = [index.id, points, wp.Volume.LINEAR, double(data)]
    assert gradcheck(slope, 6, inputs, out, show_summary=False, max_inputs_per_var=30)
    wp.launch(slope, 6, inputs, out)
    places = index.get_voxels().numpy()
    doubles = wp.Volume(nanovdb_build.from_voxels(places, data.astype(np.float64), background=BACKGROUND).buffer)
    with wp.Tape() as tape:
        plain = wp.zeros(6, dtype=wp.float64, requires_grad=True)
        wp.launch(sample_doubles, 6, [doubles.id, points, plain])
    tape.backward(grads={plain: wp.ones(6, dtype=wp.float64)})
    assert np.allclose(points.grad.numpy(), out[1].numpy(), rtol=0.0, atol=1e-14)
    wp.launch(slope, 6, [index.id, points, wp.Volume.CLOSEST, double(data)], out)
    assert (out[1].numpy() == 0.0).all()


@wp.kernel
def sample_doubles(volume: wp.uint64, points: wp.array(dtype=wp.vec3d), out: wp.array(dtype=wp.float64)):
    n = wp.tid()
    out[n] = wp.volume_sample(volume, points[n], wp.Volume.LINEAR, wp.float64)

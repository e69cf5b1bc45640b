"""Maps between index space and world space, in both precisions, for points and directions, under all names."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import gradcheck

MATRIX = np.array([[0.5, 0.1, 0.0], [0.0, 0.7, -0.2], [0.05, 0.0, 0.4]])
TRANSLATION = np.array([1.0, -2.0, 0.5])


def kernel_for(point):
    @wp.kernel
    def maps(volume: wp.uint64, points: wp.array(dtype=point), out: wp.array2d(dtype=point)):
        n = wp.tid()
        p = points[n]
        out[n, 0] = wp.volume_index_to_world(volume, p)
        out[n, 1] = wp.volume_world_to_index(volume, p)
        out[n, 2] = wp.volume_index_to_world_dir(volume, p)
        out[n, 3] = wp.volume_world_to_index_dir(volume, p)

    return maps


KERNELS = {t: kernel_for(t) for t in (wp.vec3f, wp.vec3d)}


def volume_with_map():
    return wp.Volume.allocate_by_tiles([[0, 0, 0]], transform=MATRIX, translation=TRANSLATION)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("point, tolerance", [(wp.vec3f, 1e-5), (wp.vec3d, 1e-13)], ids=["float32", "float64"])
def test_maps_are_those_of_numpy(point, tolerance, device):
    volume, points = volume_with_map(), np.random.default_rng(0).uniform(-5.0, 5.0, (9, 3))
    out = wp.zeros((9, 4), dtype=point, device=device)
    wp.launch(KERNELS[point], 9, [volume.id, wp.array(points, dtype=point, device=device), out], device=device)
    inverse = np.linalg.inv(MATRIX)
    expected = [
        points @ MATRIX.T + TRANSLATION,
        (points - TRANSLATION) @ inverse.T,
        points @ MATRIX.T,
        points @ inverse.T,
    ]
    assert np.abs(out.numpy() - np.stack(expected, axis=1)).max() < tolerance


def test_derivatives():
    volume = volume_with_map()
    points = wp.array(np.random.default_rng(0).normal(size=(3, 3)), dtype=wp.vec3d, requires_grad=True)
    out = wp.zeros((3, 4), dtype=wp.vec3d, requires_grad=True)
    assert gradcheck(KERNELS[wp.vec3d], 3, [volume.id, points], [out], show_summary=False)


@wp.kernel
def older(
    volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3), s: wp.array2d(dtype=float)
):
    n = wp.tid()
    p = points[n]
    out[n, 0] = wp.volume_transform(volume, p)
    out[n, 1] = wp.volume_transform_inv(volume, wp.volume_transform(volume, p))
    s[n, 0] = wp.volume_sample_local(volume, p, wp.Volume.LINEAR)
    s[n, 1] = wp.volume_sample_world(volume, wp.volume_transform(volume, p), wp.Volume.LINEAR)
    s[n, 2] = wp.volume_sample(volume, p, wp.Volume.LINEAR, dtype=float)


def test_the_older_names_mean_index_space_and_world_space():
    volume = volume_with_map()
    volume.leaf_values.assign(np.random.default_rng(0).random((1, 512), np.float32))
    points = np.random.default_rng(1).uniform(0.0, 7.0, (20, 3)).astype(np.float32)
    out, samples = wp.zeros((20, 2), dtype=wp.vec3), wp.zeros((20, 3), dtype=float)
    wp.launch(older, 20, [volume.id, wp.array(points, dtype=wp.vec3), out, samples])
    assert np.allclose(out.numpy()[:, 0], points @ MATRIX.T + TRANSLATION, atol=1e-5)
    assert np.allclose(out.numpy()[:, 1], points, atol=1e-5)
    local, world, plain = samples.numpy().T
    assert (local == plain).all() and np.allclose(world, plain, atol=1e-4) and plain.std() > 0.1

"""Single voxels: reading in all forms, writing inside and outside of leaves, counting, on both devices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volume_cases import looked_up, without_directory

import warpsim as wp
from warpsim.errors import KernelAssertionError
from warpsim.geometry.nanovdb import build as nanovdb_build

INT32 = st.integers(-(2**31), 2**31 - 1)
NEAR = st.integers(-20, 20)
EDGES = st.sampled_from([-(2**31), -4097, -4096, -129, -128, -9, -8, -1, 0, 7, 8, 127, 128, 4095, 4096, 2**31 - 1])
COORDINATES = st.one_of(NEAR, EDGES, INT32)
VOXELS = st.lists(st.tuples(COORDINATES, COORDINATES, COORDINATES), min_size=1, max_size=30, unique=True)


@settings(max_examples=60)
@given(voxels=VOXELS, others=VOXELS, walk=st.booleans())
def test_voxels_anywhere_are_found_and_others_are_not(voxels, others, walk):
    values = np.arange(1, len(voxels) + 1, dtype=np.float32)
    volume = wp.Volume(nanovdb_build.from_voxels(np.array(voxels), values, background=np.float32(-1.0)).buffer)
    volume = without_directory(volume) if walk else volume
    assert (looked_up(volume, voxels) == values).all()
    expected = [values[voxels.index(v)] if v in voxels else -1.0 for v in others]
    assert looked_up(volume, others).tolist() == expected


@wp.kernel
def all_forms(
    f: wp.uint64,
    v: wp.uint64,
    i: wp.uint64,
    voxels: wp.array(dtype=wp.vec3i),
    floats: wp.array2d(dtype=float),
    vectors: wp.array2d(dtype=wp.vec3),
    integers: wp.array2d(dtype=int),
):
    n = wp.tid()
    at = voxels[n]
    floats[n, 0] = wp.volume_lookup(f, at)
    floats[n, 1] = wp.volume_lookup(f, at[0], at[1], at[2])
    floats[n, 2] = wp.volume_lookup(f, at[0], at[1], at[2], dtype=float)
    floats[n, 3] = wp.volume_lookup_f(f, at[0], at[1], at[2])
    vectors[n, 0] = wp.volume_lookup(v, at, wp.vec3)
    vectors[n, 1] = wp.volume_lookup_v(v, at[0], at[1], at[2])
    integers[n, 0] = wp.volume_lookup(i, at, dtype=int)
    integers[n, 1] = wp.volume_lookup_i(i, at[0], at[1], at[2])


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_all_forms_of_lookup_agree(device):
    rng = np.random.default_rng(0)
    dense = [rng.random((9, 8, 7), np.float32), rng.random((9, 8, 7, 3), np.float32), rng.integers(0, 99, (9, 8, 7))]
    volumes = [wp.Volume.load_from_numpy(d, bg_value=b) for d, b in zip(dense, (0.0, 0.0, 0), strict=True)]
    voxels = rng.integers(0, 7, (20, 3))
    out = [wp.zeros((20, n), dtype=t, device=device) for n, t in ((4, float), (2, wp.vec3), (2, int))]
    inputs = [*(v.id for v in volumes), wp.array(voxels, dtype=wp.vec3i, device=device)]
    wp.launch(all_forms, 20, inputs, out, device=device)
    for values, found in zip(dense, out, strict=True):
        expected = values[tuple(voxels.T)]
        assert all((found.numpy()[:, n] == expected).all() for n in range(found.shape[1]))


@wp.kernel
def store_forms(f: wp.uint64, v: wp.uint64, i: wp.uint64, x: int):
    wp.volume_store(f, x, 0, 0, 2.0)
    wp.volume_store_f(f, x, 1, 0, 3.0)
    wp.volume_store(v, x, 0, 0, wp.vec3(1.0, 2.0, 3.0))
    wp.volume_store_v(v, x, 1, 0, wp.vec3(4.0, 5.0, 6.0))
    wp.volume_store(i, x, 0, 0, 7)
    wp.volume_store_i(i, x, 1, 0, 8)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_values_are_stored_in_leaves_and_nowhere_else(device):
    volumes = [wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=b) for b in (0.5, wp.vec3(0.5, 0.5, 0.5), -1)]
    before = [volume.array().numpy().copy() for volume in volumes]
    for x in (8, -1, 2**31 - 1, -(2**31)):
        wp.launch(store_forms, 1, [*(volume.id for volume in volumes), x], device=device)
    assert all((volume.array().numpy() == bytes_).all() for volume, bytes_ in zip(volumes, before, strict=True))
    wp.launch(store_forms, 1, [*(volume.id for volume in volumes), 3], device=device)
    expected = [[2.0, 3.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [7, 8]]
    for volume, values in zip(volumes, expected, strict=True):
        assert looked_up(volume, [[3, 0, 0], [3, 1, 0]]).tolist() == values
        assert (volume.leaf_values.numpy().reshape(512, -1) == np.reshape(values[1], -1)).all(axis=1).sum() == 1


def test_storing_another_type_than_that_of_the_volume_is_an_error():
    volume = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0)
    with pytest.raises(KernelAssertionError, match="another type than it holds"):
        wp.launch(store_forms, 1, [volume.id, volume.id, volume.id, 0])
        wp.synchronize()  # on CUDA, assertions are told when somebody waits


@wp.kernel
def count(volume: wp.uint64, out: wp.array(dtype=int)):
    out[0] = wp.volume_voxel_count(volume)


def test_counts_are_those_of_the_host():
    volumes = [
        wp.Volume.allocate((-1, 0, 0), (7, 7, 8), 1.0),
        wp.Volume.allocate((-1, 0, 0), (7, 7, 8), 1.0, bg_value=None),
        wp.Volume.allocate_by_voxels([[0, 0, 0], [5, 5, 5], [0, 0, 0]], 1.0),
    ]
    for volume, expected in zip(volumes, (4 * 512, 4 * 512, 2), strict=True):
        out = wp.zeros(1, dtype=int)
        wp.launch(count, 1, [volume.id, out])
        assert out.numpy()[0] == volume.get_voxel_count() == len(volume.get_voxels()) == expected

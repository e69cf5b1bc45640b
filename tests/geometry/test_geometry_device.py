"""Structures on CUDA: what builds read back, memory that volumes share, trees that the CPU builds for a GPU."""

import numpy as np
import pytest
from bvh_boxes import boxes
from mesh_cases import mesh_of, sphere, vectors

import warpsim as wp
from warpsim.errors import BvhError, DeviceError, MeshError, StructureIdError, VolumeError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
GPU = "cuda:0"


def bvh_on(device, n=3000, **options):
    lower, upper = boxes("clustered", n, 1)
    groups = options.pop("groups", None)
    if groups is not None:
        options["groups"] = wp.array(groups, dtype=int, device=device)
    return wp.Bvh(vectors(lower, device), vectors(upper, device), **options)


def test_hierarchies_read_the_numbers_of_their_nodes_back(downloads):
    bvh = bvh_on(GPU)
    assert len(downloads) == 1 and downloads[0] <= 128
    bvh.refit()
    assert len(downloads) == 1
    downloads.clear()
    bvh_on(GPU, groups=np.arange(3000) % 7)
    assert len(downloads) == 2 and max(downloads) <= 128


def test_meshes_read_three_results_back(downloads):
    """Of the check of indices, of the tree, and of its leaves."""
    points, faces = sphere(20)
    for winding in (False, True):
        downloads.clear()
        mesh = mesh_of(points, faces, GPU, support_winding_number=winding)
        assert len(downloads) == 3 and max(downloads) <= 128
        mesh.refit()
        mesh.points = vectors(points * 2.0, GPU)
        assert len(downloads) == 3


@pytest.mark.parametrize("dtype, vector", [(float, wp.vec3), (wp.float64, wp.vec3d)])
def test_grids_and_their_queries_read_nothing_back(downloads, dtype, vector):
    points = wp.array(np.random.default_rng(0).random((5000, 3)), dtype=vector, device=GPU)
    grid = wp.HashGrid(32, 32, 32, device=GPU, dtype=dtype)
    for _ in range(2):
        grid.build(points, 0.1, groups=wp.zeros(5000, dtype=int, device=GPU))
    assert not downloads


def test_surfaces_read_one_number_a_row_back(downloads):
    field = wp.array(np.random.default_rng(0).normal(size=(9, 8, 7)).astype(np.float32), dtype=float, device=GPU)
    wp.MarchingCubes.extract(field)
    assert downloads == [9 * 2 * 8]


def test_volumes_are_uploaded_and_not_read_back(downloads):
    volume = wp.Volume.load_from_numpy(np.ones((20, 20, 20), np.float32), device=GPU)
    volume.leaf_values.fill_(4.0)
    assert not downloads
    out = wp.zeros(1, dtype=float, device=GPU)
    wp.launch(sample, 1, [volume.id, wp.vec3(1.0, 2.0, 19.5)], [out], device=GPU)
    assert out.numpy()[0] == 4.0


@wp.kernel
def sample(volume: wp.uint64, at: wp.vec3, out: wp.array(dtype=float)):
    out[0] = wp.volume_sample(volume, at, wp.Volume.LINEAR, float)


@pytest.mark.parametrize("allocate", [wp.Volume.allocate_by_tiles, wp.Volume.allocate_by_voxels])
def test_of_many_points_only_the_cubes_come_to_the_host(downloads, allocate):
    points = np.random.default_rng(0).integers(-20, 20, (50_000, 3))
    there = wp.array(points, dtype=wp.vec3i, device=GPU)
    volume = allocate(there, 0.1, device=GPU)
    assert len(downloads) == 2 and sum(downloads) < there.size * 12
    expected = allocate(points, 0.1, device="cpu")
    assert np.array_equal(volume.get_voxels().numpy(), expected.get_voxels().numpy())


def test_points_that_belong_nowhere_are_named():
    points = wp.array([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]], dtype=wp.vec3, device=GPU)
    with pytest.raises(VolumeError, match="tile point number 1 is not finite"):
        wp.Volume.allocate_by_tiles(points, 0.1, device=GPU)


def test_a_volume_over_the_memory_of_an_array():
    source = wp.Volume.load_from_numpy(np.ones((5, 5, 5), np.float32), device="cpu").array().numpy()
    there = wp.array(source, dtype=wp.uint8, device=GPU)
    volume = wp.Volume(there, copy=False)
    assert volume.device == GPU and volume.array().ptr == there.ptr != wp.Volume(there).array().ptr
    volume.leaf_values.fill_(3.0)
    assert (wp.Volume(there).to_numpy((0, 0, 0), (4, 4, 4)) == 3.0).all()
    shifted = wp.zeros(len(source) + 8, dtype=wp.uint8, device=GPU)[8:]
    shifted.assign(source)
    with pytest.raises(VolumeError, match="a multiple of 32"):
        wp.Volume(shifted, copy=False)


@wp.kernel
def meet(bvh: wp.uint64, low: wp.array(dtype=wp.vec3), found: wp.array(dtype=int)):
    i = wp.tid()
    for _ in wp.bvh_query_aabb(bvh, low[i], low[i] + wp.vec3(1.0)):
        found[i] += 1


@pytest.mark.parametrize("constructor", [None, "sah", "lbvh", "median"])
def test_every_constructor_finds_what_the_cpu_finds(constructor):
    results = []
    for device in ("cpu", GPU):
        bvh = bvh_on(device, constructor=constructor, groups=np.arange(3000) % 5)
        found = wp.zeros(3000, dtype=int, device=device)
        for _ in range(2):
            wp.launch(meet, 3000, [bvh.id, bvh.lowers], [found], device=device)
            bvh.lowers.assign(bvh.lowers.numpy() - np.float32(0.25))
            bvh.refit()
        results.append(found.numpy())
    assert results[0].sum() > 3000 and np.array_equal(*results)


def test_arrays_of_two_devices_are_refused():
    here, there = vectors(np.zeros((4, 3)), "cpu"), vectors(np.ones((4, 3)), GPU)
    with pytest.raises(DeviceError, match="uppers on cuda:0"):
        wp.Bvh(here, there)
    with pytest.raises(DeviceError, match="groups on cpu"):
        wp.Bvh(there, there, groups=wp.zeros(4, dtype=int, device="cpu"))
    with pytest.raises(MeshError, match="on cpu"):
        wp.Mesh(there, wp.zeros(3, dtype=int, device="cpu"))
    with pytest.raises(DeviceError, match="on cpu\nexpected: cuda:0"):
        wp.HashGrid(4, 4, 4, device=GPU).build(here, 1.0)
    with pytest.raises(BvhError, match="constructor is 'best'"):
        wp.Bvh(there, there, constructor="best")


@wp.kernel
def samples(volume: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.volume_sample(volume, wp.vec3(1.0, 1.0, 1.0), wp.Volume.CLOSEST, float)


@pytest.mark.parametrize("host", ["cpu", "interp"])
def test_launches_on_the_host_refuse_ids_of_structures_on_a_device(host):
    volume = wp.Volume.load_from_numpy(np.ones((3, 3, 3), np.float32), device=GPU)
    wp.config.verify = True
    with pytest.raises(StructureIdError, match="cuda:0"):
        wp.launch(samples, 1, [volume.id, wp.zeros(1, dtype=float, device=host)], device=host)

"""Mesh to signed distance volume: against formulas, inside and out, in sparse memory, and back by marching cubes."""

import math
import shutil
import subprocess

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool
from warpsim.errors import LaunchError, MeshError, VolumeError
from warpsim.geometry.marching_cubes.marching_cubes import MarchingCubes
from warpsim.geometry.mesh.mesh import Mesh
from warpsim.geometry.nanovdb.voxels import active_voxels
from warpsim.geometry.volume.from_mesh import mesh_to_volume
from warpsim.geometry.volume.volume import Volume

QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
BOX = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])


def mesh_of(points, triangles, **options):
    corners = np.asarray(triangles, dtype=np.int32).ravel()
    return Mesh(wp.array(np.asarray(points), dtype=wp.vec3), wp.array(corners, dtype=int), **options)


def box_mesh(low, high):
    return mesh_of([[(low, high)[n >> 2 - k & 1][k] for k in range(3)] for n in range(8)], BOX)


def grid_points(low, high, voxel_size):
    """Positions (nx, ny, nz, 3) of the voxels from `low` to `high`."""
    axes = [np.arange(a, b + 1) * voxel_size for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def box_distance(points, low, high):
    """Signed distance to a box, exact inside and out."""
    q = np.abs(points - 0.5 * np.add(low, high)) - 0.5 * np.subtract(high, low)
    return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)


def surface(field, threshold=0.0):
    verts, indices = MarchingCubes.extract(wp.array(field, dtype=float), threshold)
    return verts.numpy(), indices.numpy().reshape(-1, 3)


def euler(triangles):
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    return len(np.unique(triangles)) - len(np.unique(sides, axis=0)) + len(triangles)


def torus_mesh(n=48):
    x, y, z = np.meshgrid(*[np.linspace(-1.0, 1.0, n)] * 3, indexing="ij")
    verts, triangles = surface(np.hypot(np.hypot(x, y) - 0.6, z) - 0.25)
    return mesh_of(verts * 2.0 / (n - 1) - 1.0, triangles)


# ----- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "voxel_size", "half_width"),
    [
        ((-0.53, -0.31, -0.22), (0.47, 0.33, 0.29), 0.05, 3.0),
        ((10.03, -7.4, 0.02), (10.9, -6.6, 0.44), 0.04, 2.0),
        ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), 0.25, 5.0),  # faces on voxels
    ],
)
def test_values_and_active_voxels_of_a_box(low, high, voxel_size, half_width):
    volume = mesh_to_volume(box_mesh(low, high), voxel_size, half_width)
    band = half_width * voxel_size
    first = np.floor(np.divide(low, voxel_size)).astype(int) - 12
    last = np.ceil(np.divide(high, voxel_size)).astype(int) + 12
    exact = box_distance(grid_points(first, last, voxel_size), low, high)
    found = volume.to_numpy(first, last)
    np.testing.assert_allclose(np.abs(found), np.minimum(np.abs(exact), band), atol=2e-6 * np.abs(high).max())
    sure = np.abs(exact) > 1e-5
    np.testing.assert_array_equal(np.sign(found)[sure], np.sign(exact)[sure])
    voxels = active_voxels(volume._grid)
    active = np.zeros(found.shape, bool)
    active[tuple((voxels - first).T)] = True
    certain = np.abs(np.abs(exact) - band) > 1e-5
    np.testing.assert_array_equal(active[certain], (np.abs(exact) < band)[certain])


def test_distances_to_a_ball_are_as_good_as_its_mesh():
    x, y, z = np.meshgrid(*[np.linspace(-1.0, 1.0, 40)] * 3, indexing="ij")
    verts, triangles = surface(np.sqrt(x * x + y * y + z * z) - 0.7)
    volume = mesh_to_volume(mesh_of(verts * 2.0 / 39.0 - 1.0, triangles), 0.04)
    points = grid_points((-25,) * 3, (25,) * 3, 0.04)
    exact = np.clip(np.linalg.norm(points, axis=-1) - 0.7, -0.12, 0.12)
    np.testing.assert_allclose(volume.to_numpy((-25,) * 3, (25,) * 3), exact, atol=0.002)


def test_large_insides_take_no_memory_and_are_negative_throughout():
    """A whole block of 128^3 voxels inside the box has one value; so have those of 8^3."""
    low, high = np.array([-4.5, -4.5, -4.5]), np.array([132.5, 132.5, 132.5])
    volume = mesh_to_volume(box_mesh(low, high), 1.0, 1.5)
    assert volume.get_tile_count() <= 2 * (18**2 + 18 * 16 + 16**2)  # the hull of 18^3 blocks
    values = volume.to_numpy((-20,) * 3, (148,) * 3)
    points = grid_points((-20,) * 3, (148,) * 3, 1.0)
    np.testing.assert_array_equal(values < 0.0, ((points > low) & (points < high)).all(axis=-1))
    assert values[84, 84, 84] == -1.5 and values[0, 0, 0] == 1.5
    assert volume.to_numpy((10**6, 5, 5), (10**6, 5, 5)).item() == 1.5


@wp.kernel
def sample(volume: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    uvw = wp.volume_world_to_index(volume, points[i])
    out[i] = wp.volume_sample_f(volume, uvw, wp.Volume.LINEAR)


def test_kernels_sample_it():
    volume = mesh_to_volume(box_mesh((-1, -1, -1), (1, 1, 1)), 0.125, 4.0)
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (500, 3)).astype(np.float32)
    out = wp.zeros(500, dtype=float)
    wp.launch(sample, 500, [volume.id, wp.array(points, dtype=wp.vec3), out])
    exact = box_distance(points, (-1, -1, -1), (1, 1, 1))
    np.testing.assert_allclose(out.numpy(), np.clip(exact, -0.5, 0.5), atol=0.125)


# ----- there and back -----------------------------------------------------------------------------


def test_a_torus_comes_back_by_marching_cubes():
    volume = mesh_to_volume(torus_mesh(), 0.03)
    first = active_voxels(volume._grid).min(axis=0)
    verts, triangles = surface(volume.to_numpy())
    points = 0.03 * (verts + first)
    off = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.6, points[:, 2]) - 0.25
    assert euler(triangles) == 0 and np.abs(off).max() < 0.005


def test_saved_files_are_sound_and_load_equal(tmp_path):
    volume = mesh_to_volume(torus_mesh(24), 0.05, name="ring")
    path = tmp_path / "ring.nvdb"
    volume.save_to_nvdb(path)
    again = Volume.load_from_nvdb(path)
    np.testing.assert_array_equal(again.to_numpy(), volume.to_numpy())
    assert again.get_grid_info().name == "ring" and tuple(again.get_voxel_size()) == pytest.approx((0.05,) * 3)
    if shutil.which("nanovdb_validate"):
        subprocess.run(["nanovdb_validate", str(path)], check=True, capture_output=True)


# ----- meshes as they come ------------------------------------------------------------------------


def test_faces_that_are_not_finite_and_faces_without_area_are_overlooked():
    points = [[(-1, 1)[n >> 2 - k & 1] for k in range(3)] for n in range(8)] + [[math.nan, 0, 0]]
    bad = mesh_of(points, np.concatenate([BOX, [[8, 0, 1], [3, 3, 3], [0, 1, 1]]]))
    found, expected = (mesh_to_volume(mesh, 0.2) for mesh in (bad, box_mesh((-1, -1, -1), (1, 1, 1))))
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_two_bodies_in_one_mesh():
    points = np.array([[(n >> 2 - k & 1) for k in range(3)] for n in range(8)], dtype=float)
    mesh = mesh_of(np.concatenate([points, points + np.float32([3, 0, 0])]), np.concatenate([BOX, BOX + 8]))
    values = mesh_to_volume(mesh, 0.25, 2.0).to_numpy((2, 2, 2), (14, 2, 2)).ravel()
    assert values[0] < 0.0 and values[-1] < 0.0 and (values[3:10] > 0.0).all()


def test_winding_numbers_close_holes():
    """A torus with a hole and a patch that lies twice: the signs are those of the whole one, but near the hole."""
    whole = torus_mesh(32)
    points, triangles = whole.points.numpy(), whole.indices.numpy().reshape(-1, 3)
    away = np.linalg.norm(points[triangles].mean(axis=1) - [0.85, 0.0, 0.0], axis=1)
    torn = np.concatenate([triangles[away > 0.12], triangles[away > 1.6]])
    found = mesh_to_volume(mesh_of(points, torn, support_winding_number=True), 0.05)
    first, last = (-22, -22, -8), (22, 22, 8)
    values, expected = (v.to_numpy(first, last) for v in (found, mesh_to_volume(whole, 0.05)))
    far = np.linalg.norm(grid_points(first, last, 0.05) - [0.85, 0.0, 0.0], axis=-1) > 0.25
    np.testing.assert_array_equal(np.sign(values[far]), np.sign(expected[far]))
    assert (values < 0.0).sum() > 0.95 * (expected < 0.0).sum()


def test_the_same_bits_on_any_number_of_threads():
    before, found = pool.get_pool().threads, []
    try:
        for threads in (4, 2, 1):
            wp.set_num_threads(threads)
            found.append(mesh_to_volume(torus_mesh(20), 0.06).to_numpy().tobytes())
    finally:
        wp.set_num_threads(before)
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voxel_size": 0.0}, "voxels of 0"),
        ({"voxel_size": math.nan}, "voxels of nan"),
        ({"voxel_size": 0.1, "half_width": 1.0}, "a band of 1 voxels\nexpected: finite, above 0 and above 1"),
        ({"voxel_size": 0.1, "half_width": math.inf}, "a band of inf"),
        ({"voxel_size": 2.0 / 8200}, "a mesh of 8200 x 8200 x 8200 voxels\nexpected: at most 4096 along"),
        ({"voxel_size": 1e-8}, "the mesh ends 1e.08 voxels from the origin\nexpected: at most"),
    ],
)
def test_sizes_that_are_refused(options, message):
    with pytest.raises(VolumeError, match=message):
        mesh_to_volume(box_mesh((-1, -1, -1), (1, 1, 1)), **options)


def test_a_graph_cannot_hold_it():
    mesh = box_mesh((-1, -1, -1), (1, 1, 1))
    with wp.ScopedCapture(), pytest.raises(LaunchError, match="not known while a graph is captured"):
        mesh_to_volume(mesh, 0.2)


def test_what_is_no_mesh_is_refused():
    with pytest.raises(MeshError, match="mesh is list"):
        mesh_to_volume([1, 2], 0.1)
    with pytest.raises(MeshError, match="a mesh of 0 faces has none with finite corners"):
        mesh_to_volume(mesh_of(np.zeros((3, 3)), np.zeros((0, 3))), 0.1)
    with pytest.raises(MeshError, match="a mesh of 1 face has"):
        mesh_to_volume(mesh_of(np.full((3, 3), math.nan), [[0, 1, 2]]), 0.1)

"""Swept volumes against boxes and capsules, whose distances are formulas, and against the grid they are cut from."""

import numpy as np
import pytest
from mesh_cases import CUBE, CUBE_FACES, mesh_of, sphere

import warpsim as wp
from warpsim.core.emit.cuda import cuda, tools
from warpsim.core.emit.target import Options
from warpsim.errors import ArrayError, LaunchError, MeshError
from warpsim.geometry import (
    IsoSurfaceMarchingCubes,
    SweptVolumeSignMode,
    swept_volume_bounds,
    swept_volume_field,
    swept_volume_mesh,
    swept_volume_sdf,
)
from warpsim.geometry.swept_volume import swept_volume

MODES = list(SweptVolumeSignMode)
NORMAL, WINDING_NUMBER, PARITY, NO_SIGN = MODES


def box(device="cpu"):
    """The cube from (-1, -1, -1) to (1, 1, 1)."""
    return mesh_of(2.0 * CUBE - 1.0, CUBE_FACES, device, support_winding_number=True)


def still(samples=1):
    """Poses (samples, 7) of a body at rest."""
    return np.tile(np.float32([0, 0, 0, 0, 0, 0, 1]), (samples, 1))


def tumbling(rng, samples):
    """Poses of a body that moves and turns."""
    poses = rng.normal(size=(samples, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    return poses.astype(np.float32)


def turn_back(poses, points):
    """Points (n, 3) in the frame of a body, (samples, n, 3)."""
    matrices = np.stack([np.array(wp.quat_to_matrix(wp.quatd(*q)), np.float64).reshape(3, 3) for q in poses[:, 3:]])
    return np.einsum("sji,snj->sni", matrices, points[None] - poses[:, None, :3].astype(np.float64))


def box_distance(p):
    """Of points to the cube from (-1, -1, -1) to (1, 1, 1), negative inside."""
    d = np.abs(p) - 1.0
    return np.linalg.norm(np.maximum(d, 0.0), axis=-1) + np.minimum(d.max(axis=-1), 0.0)


def nodes_of(field, lower, upper):
    steps = (np.array(upper) - np.array(lower)) / (np.array(field.shape) - 1)
    return (np.array(lower) + steps * np.stack(np.indices(field.shape), axis=-1)).reshape(-1, 3)


def triangles(verts, indices):
    """The triangles as sorted corners, rounded."""
    corners = np.round(verts.numpy()[indices.numpy()].reshape(-1, 3, 3), 4) + 0.0
    return sorted(min(tuple(map(tuple, np.roll(t, k, axis=0).tolist())) for k in range(3)) for t in corners)


def volume_of(verts, indices):
    a, b, c = np.moveaxis(verts.numpy().astype(np.float64)[indices.numpy().reshape(-1, 3)], 1, 0)
    return (a * np.cross(b, c)).sum() / 6.0


# ----- the field ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_field_is_the_least_distance_of_all_poses(mode):
    rng = np.random.default_rng(0)
    poses = np.stack([tumbling(rng, 5), tumbling(rng, 5)])
    field, lower, upper = swept_volume_field([box(), box()], poses, resolution=(9, 11, 8), sign_mode=mode)
    each = box_distance(turn_back(poses.reshape(-1, 7), nodes_of(field, lower, upper)))
    exact = (np.abs(each) if mode == NO_SIGN else each).min(axis=0)
    assert np.allclose(field.numpy().ravel(), exact, atol=2e-5)
    assert (exact < 0).any() == (mode != NO_SIGN)


@wp.kernel
def distances(
    points: wp.array[wp.vec3],
    meshes: wp.array[wp.uint64],
    poses: wp.array2d[wp.transform],
    most: float,
    mode: int,
    out: wp.array[float],
):
    i = wp.tid()
    out[i] = swept_volume_sdf(points[i], meshes, poses, most, mode)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("mode", MODES)
def test_distances_in_kernels_end_at_their_bound(mode, device):
    rng = np.random.default_rng(1)
    mesh, poses, points = box(device), tumbling(rng, 3), rng.uniform(-3, 3, (12, 3))
    each = box_distance(turn_back(poses, points))
    for most in (0.4, 100.0):
        signed = np.abs(each) if mode == NO_SIGN else each
        exact = np.where(np.abs(each) < most, signed, most).min(axis=0)
        ids = wp.array([mesh.id], dtype=wp.uint64, device=device)
        moved = wp.array(poses[None], dtype=wp.transform, device=device)
        out = wp.zeros(12, dtype=float, device=device)
        at = wp.array(points, dtype=wp.vec3, device=device)
        wp.launch(distances, 12, [at, ids, moved, most, int(mode), out], device=device)
        assert np.allclose(out.numpy(), exact, atol=1e-5)


def test_no_poses_and_no_meshes_in_kernels():
    out, points = wp.zeros(1, dtype=float), wp.zeros(1, dtype=wp.vec3)
    ids, poses = wp.array([box().id], dtype=wp.uint64), wp.zeros((1, 0), dtype=wp.transform)
    wp.launch(distances, 1, [points, ids, poses, 3.0, 1, out])
    assert out.numpy()[0] == 3.0
    wp.launch(distances, 1, [points, wp.zeros(0, dtype=wp.uint64), wp.zeros((0, 2), dtype=wp.transform), 3.0, 1, out])
    assert out.numpy()[0] == 3.0


# ----- bounds and grids -----------------------------------------------------------------------


def test_bounds():
    poses = np.stack([still(2), still(2)])
    poses[1, 1, :3] = 5.0, 0.0, -1.0
    poses[0, 1, 3:] = 0.0, 0.0, np.sin(np.pi / 8), np.cos(np.pi / 8)
    low, high = swept_volume_bounds([box(), box()], poses)
    assert np.allclose(low, [-np.sqrt(2), -np.sqrt(2), -2.0]) and np.allclose(high, [6.0, np.sqrt(2), 1.0])
    low, high = swept_volume_bounds([box()], poses[:1, :1], padding=0.5)
    assert isinstance(low, wp.vec3) and list(low) == [-1.5] * 3 and list(high) == [1.5] * 3


def test_grids_of_voxels_are_whole_cells_around_the_middle():
    field, lower, upper = swept_volume_field([box()], still()[None], 0.3)
    assert field.shape == (12, 12, 12)  # 2 + 4 * 0.3 takes 11 cells
    assert np.allclose(lower, -11 * 0.15) and np.allclose(upper, 11 * 0.15)
    assert swept_volume_field([box()], still()[None], 0.25)[0].shape == (13, 13, 13)  # no cell for rounding


def test_grids_of_nodes():
    field, lower, upper = swept_volume_field([box()], still()[None], resolution=(5, 9, 3))
    assert field.shape == (5, 9, 3)
    assert np.allclose(upper, [1 + 2 * 2 / 4, 1 + 2 * 2 / 8, 1 + 2 * 2 / 2]) and np.allclose(lower, -np.array(upper))
    corners = {"lower": (0, 0, 0), "upper": wp.vec3(1, 2, 3)}
    _, lower, upper = swept_volume_field([box()], still()[None], resolution=(3, 3, 3), **corners)
    assert list(lower) == [0, 0, 0] and list(upper) == [1, 2, 3]


@pytest.mark.parametrize(
    "poses",
    [
        still(2)[None].tolist(),
        still(2)[None].astype(np.float64),
        wp.array(still(2)[None], dtype=wp.transform),
        wp.array(np.repeat(still(2)[None], 2, axis=1), dtype=wp.transform)[:, ::2],
        wp.array(still(2)[None], dtype=float),
    ],
    ids=["list", "float64", "transforms", "strided", "numbers"],
)
def test_poses_of_all_kinds(poses):
    field, _, _ = swept_volume_field([box()], poses, 0.5)
    assert field.numpy().min() == pytest.approx(-1.0, abs=0.3)


# ----- the surface ----------------------------------------------------------------------------


def test_a_ball_along_a_segment_is_a_capsule():
    radius, length, voxel, samples = 0.5, 1.5, 0.06, 60
    points, faces = sphere(40, bumps=0.0)
    ball = mesh_of(radius * points, faces, support_winding_number=True)
    poses = still(samples)
    direction = np.array([2.0, 1.0, -2.0]) / 3.0
    poses[:, :3] = np.linspace(0.0, length, samples)[:, None] * direction
    for threshold in (0.0, 0.2):
        verts, indices = swept_volume_mesh([ball], poses[None], voxel, threshold=threshold)
        r = radius + threshold
        along = np.clip(verts.numpy() @ direction, 0.0, length)
        off = np.linalg.norm(verts.numpy() - along[:, None] * direction, axis=1) - r
        assert np.abs(off).max() < voxel**2 / r
        exact = np.pi * r**2 * length + 4.0 / 3.0 * np.pi * r**3
        assert volume_of(verts, indices) == pytest.approx(exact, rel=0.01)
    corners = indices.numpy().reshape(-1, 3)
    sides = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    assert (np.unique(sides, axis=0, return_counts=True)[1] == 2).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_surface_is_that_of_the_field(mode, monkeypatch):
    """With few cells asked for, or all of them."""
    rng = np.random.default_rng(2)
    points, faces = sphere(8)
    meshes = [mesh_of(points * s, faces, support_winding_number=True) for s in ((1.0, 0.4, 0.7), (0.3, 0.9, 0.5))]
    poses = np.stack([tumbling(rng, 4), tumbling(rng, 4)])
    lower, upper = swept_volume_bounds(meshes, poses, padding=0.31)
    options = {"resolution": (33, 30, 37), "lower": lower, "upper": upper, "sign_mode": mode}
    threshold = 0.103 if mode == NO_SIGN else 0.013
    field, _, _ = swept_volume_field(meshes, poses, **options)
    whole = IsoSurfaceMarchingCubes.extract(field, threshold, lower=lower, upper=upper)
    calls = []
    sparse = swept_volume.sparse_marching_cubes
    monkeypatch.setattr(swept_volume, "sparse_marching_cubes", lambda *a, **o: calls.append(1) or sparse(*a, **o))
    surface = swept_volume_mesh(meshes, poses, threshold=threshold, **options)
    assert triangles(*surface) == triangles(*whole)
    assert bool(calls) == (mode != NORMAL)


def test_open_meshes_are_closed_by_their_winding_number(monkeypatch):
    monkeypatch.delattr(swept_volume, "sparse_marching_cubes")  # not asked: signs jump away from the faces
    points, faces = sphere(12, bumps=0.0)
    half = faces[points[faces].mean(axis=1)[:, 2] > 0.1]
    mesh = mesh_of(points, half, support_winding_number=True)
    verts, indices = swept_volume_mesh([mesh], still()[None], 0.11, threshold=0.001)
    assert 0.5 < volume_of(verts, indices) < 4.0 / 3.0 * np.pi


def test_corners_with_equal_coordinates_close_a_mesh():
    points, faces = 2.0 * CUBE - 1.0, CUBE_FACES
    split = mesh_of(points[faces.ravel()], np.arange(faces.size).reshape(-1, 3))
    assert swept_volume._is_closed(split) and swept_volume._is_closed(mesh_of(points, faces))
    assert not swept_volume._is_closed(mesh_of(points, faces[1:]))
    turned = faces.copy()
    turned[0] = turned[0, ::-1]
    assert not swept_volume._is_closed(mesh_of(points, turned))
    broken = points.copy()
    broken[0, 0] = np.nan
    assert not swept_volume._is_closed(mesh_of(broken, faces))


def test_surfaces_that_are_not_there():
    verts, indices = swept_volume_mesh([box()], still()[None], 0.2, threshold=-5.0)
    assert verts.shape == (0,) and indices.shape == (0,) and verts.dtype is wp.vec3 and indices.dtype is wp.int32


@pytest.mark.parametrize(
    "error, message, meshes, options",
    [
        (MeshError, "one Mesh or more", [], {}),
        (MeshError, "one Mesh or more", [3], {}),
        (ArrayError, r"transforms of shape \(1, 1\)", None, {"count": 2}),
        (ArrayError, r"transforms of shape \(1, 0\)", None, {"poses": still(0)[None]}),
        (ArrayError, r"(?s)shape \(1, 7\).*meshes, samples, 7", None, {"poses": still()}),
        (ArrayError, r"shape \(1, 1, 6\)", None, {"poses": still()[None, :, :6]}),
        (ArrayError, r"transformf of shape \(3,\)", None, {"poses": wp.zeros(3, dtype=wp.transform)}),
        (ArrayError, "unit length", None, {"poses": 2.0 * still()[None]}),
        (ArrayError, "not finite", None, {"poses": np.nan * still()[None]}),
        (ArrayError, "expected: one of them", None, {"voxel_size": None}),
        (ArrayError, "expected: one of them", None, {"resolution": (4, 4, 4)}),
        (ArrayError, "voxel_size is 0.0", None, {"voxel_size": 0.0}),
        (ArrayError, "voxel_size is nan", None, {"voxel_size": float("nan")}),
        (ArrayError, "less than 2", None, {"voxel_size": 1e-12}),
        (ArrayError, "pass resolution", None, {"lower": (0, 0, 0), "upper": (1, 1, 1)}),
        (ArrayError, "both of them", None, {"voxel_size": None, "resolution": (4, 4, 4), "lower": (0, 0, 0)}),
        (ArrayError, "each 2 or more", None, {"voxel_size": None, "resolution": (4, 1, 4)}),
        (ArrayError, "three numbers of nodes", None, {"voxel_size": None, "resolution": (4, 4)}),
        (
            ArrayError,
            "an extent along each axis",
            None,
            {"voxel_size": None, "resolution": (4, 4, 4), "lower": (0, 0, 0), "upper": (1, 0, 1)},
        ),
        (
            ArrayError,
            "three finite coordinates",
            None,
            {"voxel_size": None, "resolution": (4, 4, 4), "lower": (0, 0), "upper": (1, 1)},
        ),
        (ArrayError, "sign_mode is 9", None, {"sign_mode": 9}),
        (ArrayError, "sign_mode is 'PARITY'", None, {"sign_mode": "PARITY"}),
        (ArrayError, "above 0, as no distance", None, {"sign_mode": NO_SIGN}),
        (ArrayError, "threshold is nan", None, {"threshold": float("nan")}),
    ],
)
def test_refusals(error, message, meshes, options):
    meshes = [box()] * options.pop("count", 1) if meshes is None else meshes
    options = {"voxel_size": 0.5} | options
    with pytest.raises(error, match=message):
        swept_volume_mesh(meshes, options.pop("poses", still()[None]), **options)


def test_winding_numbers_have_to_be_supported():
    plain = mesh_of(CUBE, CUBE_FACES, "cpu")
    with pytest.raises(MeshError, match=r"(?s)meshes\[1\].*sign_mode=SweptVolumeSignMode.NORMAL"):
        swept_volume_mesh([box(), plain], np.stack([still()] * 2), 0.5)
    assert len(swept_volume_mesh([plain], still()[None], 0.2, sign_mode=PARITY)[0])
    with pytest.raises(MeshError, match="has no finite one"):
        swept_volume_mesh([mesh_of(np.nan * CUBE, CUBE_FACES, support_winding_number=True)], still()[None], 0.2)


@pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda")
def test_a_gpu_has_the_same_surface():
    poses = still(2)
    poses[1, :3] = 1.0, 0.2, 0.0
    mesh = box("cuda:0")
    verts, indices = swept_volume_mesh([mesh], poses[None], 0.21, threshold=0.013)
    assert verts.device is mesh.device and indices.device is mesh.device
    same = swept_volume_mesh([box()], wp.array(poses[None], dtype=wp.transform, device="cpu"), 0.21, threshold=0.013)
    assert np.allclose(verts.numpy(), same[0].numpy(), atol=1e-5) and indices.list() == same[1].list()


@pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda")
def test_meshes_on_several_devices_are_refused():
    with pytest.raises(MeshError, match=r"(?s)meshes\[1\] is on cuda:0.*cpu"):
        swept_volume_mesh([box(), box("cuda:0")], np.stack([still()] * 2), 0.5)


def test_captures_are_refused():
    mesh = box()
    for call in (swept_volume_mesh, swept_volume_field, swept_volume_bounds):
        with pytest.raises(LaunchError, match="ask for it outside"), wp.ScopedCapture():
            call([mesh], still()[None], 0.5)


@pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}")
def test_kernels_assemble_for_cuda():
    made = swept_volume._fill.program(tuple(swept_volume._fill.patterns.values()))
    artefact = cuda.emit(made.fn, made.ndim, Options(), made.plan)
    assert cuda.assemble(artefact.ptx, artefact.arch).startswith(b"\x7fELF")

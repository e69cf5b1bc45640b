"""Inputs of swept volumes: meshes, their poses, and the grid around their whole path."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.language import array, get_device, transform, uint64
from ...core.runtime.devices.capture import current_graph
from ...core.types.arrays import type_name
from ...errors import ArrayError, LaunchError, MeshError, counted, shown
from ..bvh.extent import extent_of
from ..mesh.mesh import Mesh
from .distance import SweptVolumeSignMode

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import Device

MARGIN = 2
"""Cells between what meshes pass and the border of the grid."""


class Motion(NamedTuple):
    """Meshes and their poses, as kernels take them; meshes is what keeps `ids` valid."""

    meshes: Sequence[Mesh]
    ids: array
    poses: array  # (meshes, samples) transform
    device: Any


class Domain(NamedTuple):
    """A grid: nodes along each axis, and where the first and the last of them lie, float64."""

    counts: tuple[int, int, int]
    lower: np.ndarray
    upper: np.ndarray


def motion(meshes: Iterable[Mesh], transforms: ArrayLike, device: Device | str | None) -> Motion:
    """Checked meshes and poses on a device. Raises `MeshError`, `ArrayError`; `LaunchError` while capturing."""
    if current_graph() is not None:
        raise LaunchError("what meshes pass is not known while a graph is captured\nhelp: ask for it outside")
    meshes = list(meshes)
    if not meshes or not all(isinstance(mesh, Mesh) for mesh in meshes):
        raise MeshError(f"meshes is {shown(meshes)}\nexpected: a sequence of one Mesh or more")
    place = meshes[0].device if device is None else get_device(device)
    for k, mesh in enumerate(meshes):
        if not place.can_access(mesh.device):
            raise MeshError(f"meshes[{k}] is on {mesh.device}\nexpected: {place}, as the others")
    poses = _poses(transforms, place)
    if poses.shape[0] != len(meshes) or not poses.shape[1]:
        raise ArrayError(f"transforms of shape {poses.shape}\nexpected: ({len(meshes)} meshes, one sample or more)")
    ids = array([mesh.id for mesh in meshes], dtype=uint64, device=place)
    return Motion(meshes, ids, poses, place)


def _poses(transforms: Any, device: Device) -> array:
    """Poses (meshes, samples), of quaternions that turn and do not scale."""
    if isinstance(transforms, array) and transforms.dtype is transform and transforms.ndim == 2:
        rows = transforms.numpy()
    else:
        rows = np.asarray(transforms.numpy() if isinstance(transforms, array) else transforms)
        is_transforms = not isinstance(transforms, array) or transforms.dtype is not transform
        if rows.ndim != 3 or rows.shape[2] != 7 or rows.dtype.kind not in "fiu" or not is_transforms:
            is_array = isinstance(transforms, array)
            kind, shape = (type_name(transforms.dtype), transforms.shape) if is_array else (rows.dtype, rows.shape)
            raise ArrayError(
                f"transforms is {kind} of shape {shape}\nexpected: transform of shape (meshes, samples), "
                "or numbers of shape (meshes, samples, 7): position and quaternion"
            )
    lengths = np.linalg.norm(rows[..., 3:].astype(np.float64), axis=-1)
    if not (np.isfinite(rows).all() and (abs(lengths - 1.0) < 1e-3).all()):
        raise ArrayError("a pose in transforms is not finite, or its quaternion is not of unit length")
    if isinstance(transforms, array) and transforms.dtype is transform:
        return transforms.to(device)
    return array(rows.astype(np.float32), dtype=transform, device=device)


# ----- bounds ---------------------------------------------------------------------------------


def bounds(moved: Motion) -> tuple[np.ndarray, np.ndarray]:
    """The box around the boxes of all meshes in all poses, float64. Raises `MeshError` for a mesh without vertices."""
    poses = moved.poses.numpy().astype(np.float64)
    corners = [_transform_points(box, poses[k]) for k, box in enumerate(map(_box, moved.meshes))]
    points = np.concatenate(corners)
    return points.min(axis=0), points.max(axis=0)


def _box(mesh: Mesh) -> np.ndarray:
    """The eight corners of the box around the vertices of a mesh, with faces or without."""
    [extent] = extent_of(mesh.points, mesh.points).numpy()
    if not extent["count"]:
        raise MeshError(f"a mesh of {counted(len(mesh.points), 'vertex')} has no finite one\nexpected: a surface")
    ends = np.stack([extent["lower"], extent["upper"]]).astype(np.float64)
    return np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)


def _transform_points(corners: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Points (8, 3) in poses (n, 7), as (8 n, 3)."""
    axis, w = poses[:, None, 3:6], poses[:, None, 6:]
    across = np.cross(axis, corners[None])
    return (corners + 2.0 * (w * across + np.cross(axis, across)) + poses[:, None, :3]).reshape(-1, 3)


# ----- the grid -------------------------------------------------------------------------------


def domain(
    moved: Motion,
    voxel_size: float | None,
    resolution: Iterable[int] | None,
    lower: Iterable[float] | None,
    upper: Iterable[float] | None,
    threshold: float = 0.0,
) -> Domain:
    """The grid that is asked for. Raises `ArrayError`."""
    if (voxel_size is None) == (resolution is None):
        raise ArrayError(f"voxel_size {voxel_size} and resolution {resolution}\nexpected: one of them")
    if (lower is None) != (upper is None):
        raise ArrayError("one of lower and upper\nexpected: both of them, or neither")
    if voxel_size is not None:
        if lower is not None:
            raise ArrayError("voxel_size with lower and upper\nhelp: pass resolution in the place of voxel_size")
        return _of_voxels(bounds(moved), float(voxel_size), max(threshold, 0.0))
    counts = tuple(map(operator.index, resolution))
    if len(counts) != 3 or min(counts) < 2:
        raise ArrayError(f"resolution {resolution}\nexpected: three numbers of nodes, each 2 or more")
    if lower is None:
        low, high = bounds(moved)
        margin = MARGIN * (high - low) / (np.array(counts) - 1) + max(threshold, 0.0)
        low, high = low - margin, high + margin
    else:
        low, high = _corner(lower, "lower"), _corner(upper, "upper")
    if not (low < high).all():
        raise ArrayError(f"a grid from {low.tolist()} to {high.tolist()}\nexpected: an extent along each axis")
    return Domain(counts, low, high)


def _of_voxels(box: tuple[np.ndarray, np.ndarray], size: float, threshold: float) -> Domain:
    """Whole cells of one size, with the box in their middle."""
    if not (math.isfinite(size) and size > 0.0):
        raise ArrayError(f"voxel_size is {size}\nexpected: a finite number above 0")
    low, high = box
    extent = high - low + 2.0 * (MARGIN * size + threshold)
    cells = np.ceil(extent / size * (1.0 - 1e-6))
    if cells.max() >= 2**31:
        raise ArrayError(f"a grid of {cells.max():.3g} cells along an axis\nexpected: less than 2^31")
    middle, half = 0.5 * (low + high), 0.5 * size * cells
    nx, ny, nz = (int(n) + 1 for n in cells)
    return Domain((nx, ny, nz), middle - half, middle + half)


def _corner(value: Iterable[float], name: str) -> np.ndarray:
    corner = np.array([float(x) for x in value])
    if corner.shape != (3,) or not np.isfinite(corner).all():
        raise ArrayError(f"{name} is {corner.tolist()}\nexpected: three finite coordinates")
    return corner


def checked_mode(sign_mode: int, meshes: Sequence[Mesh]) -> int:
    """A sign mode that the meshes support. Raises `ArrayError` for what is none, `MeshError`."""
    try:
        mode = SweptVolumeSignMode(sign_mode)
    except ValueError:
        raise ArrayError(f"sign_mode is {shown(sign_mode)}\nexpected: one of SweptVolumeSignMode") from None
    for k, mesh in enumerate(meshes):
        if mode == SweptVolumeSignMode.WINDING_NUMBER and not mesh.support_winding_number:
            raise MeshError(
                f"meshes[{k}] was made without support_winding_number\nexpected: Mesh(..., support_winding_number=True)"
                "\nhelp: or pass sign_mode=SweptVolumeSignMode.NORMAL"
            )
    return int(mode)

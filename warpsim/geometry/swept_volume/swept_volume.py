"""The volume that moving meshes pass, as distances on a grid and as a surface.

The motion is known at its samples alone: what lies between two of them is part of the volume where they overlap.

The surface is that of the whole grid. Where the field is a distance, which changes no faster than its argument, only
cells near the surface are asked for: with meshes that are closed, or without signs. An open mesh has a jump of the sign
where its hole is closed, so there all of the grid is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, array2d, array3d, float32, int32, transform, uint64, vec3
from ...core.language import cw_mul, empty, kernel, launch, tid
from ...errors import ArrayError
from ..marching_cubes.marching_cubes import MarchingCubes
from ..marching_cubes.sparse import BITS, sparse_marching_cubes
from ..mesh.mesh import Mesh
from .distance import SweptVolumeSignMode, swept_volume_sdf
from .domain import Domain, Motion, bounds, checked_mode, domain, motion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import Device

WINDING_NUMBER = SweptVolumeSignMode.WINDING_NUMBER
_SLOPE = 1.001  # of a distance, and what rounding adds


@kernel
def _fill(
    ids: array(dtype=uint64),
    poses: array2d(dtype=transform),
    origin: vec3,
    spacing: vec3,
    reach: float32,
    mode: int32,
    field: array3d(dtype=float32),
):
    i, j, k = tid()
    node = origin + cw_mul(spacing, vec3(float32(i), float32(j), float32(k)))
    field[i, j, k] = swept_volume_sdf(node, ids, poses, reach, mode)


@kernel
def _measure(
    points: array(dtype=vec3),
    ids: array(dtype=uint64),
    poses: array2d(dtype=transform),
    reach: float32,
    mode: int32,
    values: array(dtype=float32),
):
    n = tid()
    values[n] = swept_volume_sdf(points[n], ids, poses, reach, mode)


def swept_volume_bounds(
    meshes: Sequence[Mesh], transforms: ArrayLike, padding: float = 0.0, device: Device | str | None = None
) -> tuple[Any, Any]:
    """The corners of a box around the boxes of all meshes in all poses, widened by `padding` [length] on each side.

    meshes, transforms: as of `swept_volume_field`. Raises what that raises.
    """
    low, high = bounds(motion(meshes, transforms, device))
    return vec3(*(low - padding)), vec3(*(high + padding))


def swept_volume_field(
    meshes: Sequence[Mesh],
    transforms: ArrayLike,
    voxel_size: float | None = None,
    *,
    resolution: tuple[int, int, int] | None = None,
    lower: Iterable[float] | None = None,
    upper: Iterable[float] | None = None,
    sign_mode: int = WINDING_NUMBER,
    device: Device | str | None = None,
) -> tuple[array, Any, Any]:
    """Signed distances to the union of meshes over all poses, `swept_volume_sdf`, at the nodes of a grid.

    transforms: an array of transform of shape (meshes, samples), or numbers of shape (meshes, samples, 7), position and
    quaternion; from the frame of each mesh to that of the grid.
    voxel_size: of cells, which are cubes; the grid is as large as it needs to be, and two cells more on each side.
    resolution: how many nodes there are along each axis, in the place of a size; lower, upper: where the first and the
    last of them lie, by default around all that moves.
    sign_mode: of `SweptVolumeSignMode`. device: by default that of the first mesh. Not recorded by tapes.

    Returns the distances (nx, ny, nz) float32, and where the first and the last node lie.
    Raises `MeshError` for what are no meshes, and for those without `support_winding_number` where that is asked for;
    `ArrayError`, which is a ValueError, for poses, sizes and corners that make no grid; `LaunchError` while a graph is
    captured.
    """
    moved = motion(meshes, transforms, device)
    mode, grid = checked_mode(sign_mode, moved.meshes), domain(moved, voxel_size, resolution, lower, upper)
    return _field(moved, grid, mode), vec3(*grid.lower), vec3(*grid.upper)


def swept_volume_mesh(
    meshes: Sequence[Mesh],
    transforms: ArrayLike,
    voxel_size: float | None = None,
    *,
    resolution: tuple[int, int, int] | None = None,
    lower: Iterable[float] | None = None,
    upper: Iterable[float] | None = None,
    threshold: float = 0.0,
    sign_mode: int = WINDING_NUMBER,
    device: Device | str | None = None,
) -> tuple[array, array]:
    """The surface of what meshes pass, as vertices (vec3) and triangles (int32, three entries each).

    threshold: how far outside of the meshes the surface lies [length]. All poses are inside of it for certain from half
    the diagonal of a cell on. NO_SIGN needs one above 0.
    All else is as for `swept_volume_field`.

    Raises what that raises, and `ArrayError` for a threshold that is not finite.
    """
    if not math.isfinite(threshold):
        raise ArrayError(f"the threshold is {threshold}\nexpected: a finite number")
    moved = motion(meshes, transforms, device)
    mode = checked_mode(sign_mode, moved.meshes)
    unsigned = mode == SweptVolumeSignMode.NO_SIGN
    if unsigned and threshold <= 0.0:
        raise ArrayError(f"threshold {threshold} with NO_SIGN\nexpected: above 0, as no distance is below")
    grid = domain(moved, voxel_size, resolution, lower, upper, threshold)
    ends = {"lower": grid.lower, "upper": grid.upper}
    by_normal = mode == SweptVolumeSignMode.NORMAL
    if max(grid.counts) < 1 << BITS and (unsigned or (not by_normal and all(map(_is_closed, moved.meshes)))):
        reach = _reach(moved, grid)

        def field(points: array) -> array:
            values = empty(len(points), float32, moved.device)
            inputs = [points, moved.ids, moved.poses, reach, mode]
            launch(_measure, len(points), inputs, [values], device=moved.device, record_tape=False)
            return values

        return sparse_marching_cubes(
            field, *grid.counts, **ends, threshold=threshold, lipschitz_bound=_SLOPE, device=moved.device
        )
    return MarchingCubes.extract(_field(moved, grid, mode), threshold, **ends)


def _field(moved: Motion, grid: Domain, mode: int) -> array:
    """The distances at all nodes."""
    spacing = (grid.upper - grid.lower) / (np.array(grid.counts) - 1)
    field = empty(grid.counts, float32, moved.device)
    inputs = [moved.ids, moved.poses, vec3(*grid.lower), vec3(*spacing), _reach(moved, grid), mode]
    launch(_fill, grid.counts, inputs, [field], device=moved.device, record_tape=False)
    return field


def _reach(moved: Motion, grid: Domain) -> float:
    """A length that no distance between a node and a mesh exceeds."""
    low, high = bounds(moved)
    return 1.01 * float(np.linalg.norm(np.maximum(high, grid.upper) - np.minimum(low, grid.lower)))


def _is_closed(mesh: Mesh) -> bool:
    """Whether each edge has as many faces on one side as on the other; corners are one where their coordinates are."""
    points = mesh.points.numpy()
    if not np.isfinite(points).all():
        return False
    names = np.unique(points + np.float32(0.0), axis=0, return_inverse=True)[1].reshape(-1)
    corners = names[mesh.topology.numpy()].reshape(-1, 3).astype(np.int64)
    begin, end = (np.concatenate(corners.T), np.concatenate(np.roll(corners, -1, axis=1).T))
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    side = np.unique(low * (len(points) + 1) + high, return_inverse=True)[1].reshape(-1)
    return not np.bincount(side, weights=np.sign(end - begin)).any()

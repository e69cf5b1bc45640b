"""Grids for new volumes, from what users give: dense NumPy arrays, boxes, points in tiles, points in voxels.

A tile here is a block of 8^3 voxels, the smallest piece of a grid of values. All voxels of new tiles are active
and hold the background value. Trees are built on the host, from the list of tiles; where points are on a GPU, the list
is made there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array
from ...errors import VolumeError
from ..nanovdb import build as nanovdb_build
from ..nanovdb.grid import Grid
from ..nanovdb.layout import LEAF_LOG2, LEAF_SPAN_LOG2, LOWER_SPAN_LOG2, UPPER_SPAN_LOG2, GridType, layout
from .distinct import distinct_cubes
from .points import affine, as_voxels, background_of, point_rows, voxels_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .points import Points


def dense_grid(values: np.ndarray, min_world: ArrayLike, voxel_size: ArrayLike, bg_value: ArrayLike | None) -> Grid:
    """All values (nx, ny, nz) or (nx, ny, nz, 3 or 4) of a box; voxel (0, 0, 0) stands at `min_world`.

    The type is that of `bg_value`, with as many components as the array has.
    """
    values = np.asarray(values)
    if values.ndim not in (3, 4) or (values.ndim == 4 and values.shape[3] not in (3, 4)) or 0 in values.shape:
        raise VolumeError(f"an array of shape {values.shape}\nexpected: (x, y, z) or (x, y, z, 3 or 4), none of them 0")
    matrix, translation = affine(voxel_size, None, min_world)
    kind, background = background_of(bg_value)
    if values.ndim == 4 and np.ndim(background) == 0:
        kind = _vector_type(kind, values.shape[3])
    if kind == GridType.INDEX:
        raise VolumeError("bg_value is None\nexpected: a value; index volumes are made by allocate_by_voxels")
    return nanovdb_build.from_dense(
        values, sparse=False, type=kind, background=background, transform=matrix, translation=translation
    )


def _vector_type(kind: GridType, components: int) -> GridType:
    """The vector type for an array of vectors whose background is one number."""
    vectors = {3: (GridType.VEC3F, GridType.VEC3D), 4: (GridType.VEC4F, GridType.VEC4D)}[components]
    return vectors[kind in (GridType.DOUBLE, GridType.INT64)]


def box_grid(
    low: Sequence[float] | np.ndarray,
    high: Sequence[float] | np.ndarray,
    in_world: bool,
    bg_value: ArrayLike | None,
    voxel_size: ArrayLike,
    translation: ArrayLike,
) -> Grid:
    """All tiles that meet the box from voxel `low` to voxel `high`, both inside."""
    matrix, shift = affine(voxel_size, None, translation)
    rows = [point_rows(np.asarray(corner)[None], "a corner of the box") for corner in (low, high)]
    corners = np.concatenate(rows).astype(np.float64)
    if in_world:
        voxels = voxels_of(corners, np.linalg.inv(matrix), shift, "corner")
    else:
        voxels = as_voxels(np.floor(corners), "corner")
    if (voxels[1] < voxels[0]).any():
        raise VolumeError(f"a box from {low} to {high}\nexpected: min <= max along each axis")
    first, last = voxels >> LEAF_LOG2
    counts = last - first + 1
    _check_size(voxels, bg_value)
    tiles = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3) + first
    return _tile_grid(tiles << LEAF_LOG2, bg_value, matrix, shift)


def _check_size(corners: np.ndarray, bg_value: ArrayLike | None) -> None:
    """Refuse a box whose grid would be too large, before its tiles are listed."""
    low, high = corners
    spans = LEAF_SPAN_LOG2, LOWER_SPAN_LOG2, UPPER_SPAN_LOG2
    nodes = [prod(((high >> span) - (low >> span) + 1).tolist()) for span in spans]
    nanovdb_build.node_offsets(layout(background_of(bg_value)[0]), *nodes)


def chosen_points(points: Points, mask: ArrayLike | None) -> Any:
    """The points where a mask is not zero, all without one. Raises `VolumeError` for a mask of another length."""
    if mask is None:
        return points
    rows, keep = (a.numpy() if isinstance(a, array) else np.asarray(a) for a in (points, mask))
    if keep.shape != rows.shape[:1] or keep.dtype.kind not in "biu":
        kind = f"{keep.dtype} of shape {keep.shape}"
        raise VolumeError(f"point_mask is {kind}\nexpected: integers of shape {rows.shape[:1]}, one for each point")
    return rows[keep != 0]


def tile_grid(
    points: Points,
    bg_value: ArrayLike | None,
    voxel_size: ArrayLike | None,
    transform: ArrayLike | None,
    translation: ArrayLike,
) -> Grid:
    """The tiles that contain the points."""
    matrix, shift = affine(voxel_size, transform, translation)
    voxels = _voxels(points, matrix, shift, "tile point", LEAF_LOG2)
    return _tile_grid(voxels, bg_value, matrix, shift)


def _voxels(points: Points, matrix: np.ndarray, shift: np.ndarray, what: str, log2: int) -> np.ndarray:
    """Voxels of points; of those on a GPU only one of each cube of 2^log2 voxels along an axis."""
    inverse = np.linalg.inv(matrix)
    if isinstance(points, array) and points.device.runs_many_threads:
        cubes = distinct_cubes(points, inverse, shift, log2)
        if cubes is not None:
            return cubes.astype(np.int64)
    return voxels_of(points, inverse, shift, what)


def _tile_grid(voxels: np.ndarray, bg_value: ArrayLike | None, matrix: np.ndarray, translation: np.ndarray) -> Grid:
    kind, background = background_of(bg_value)
    return nanovdb_build.from_tiles(voxels, type=kind, background=background, transform=matrix, translation=translation)


def voxel_grid(
    points: Points, voxel_size: ArrayLike | None, transform: ArrayLike | None, translation: ArrayLike
) -> Grid:
    """An index grid whose voxels are those that contain the points."""
    matrix, shift = affine(voxel_size, transform, translation)
    voxels = _voxels(points, matrix, shift, "voxel point", 0)
    return nanovdb_build.from_voxels(voxels, type=GridType.ONINDEX, transform=matrix, translation=shift)

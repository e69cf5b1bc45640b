"""Inputs of new volumes, converted: points to voxels, sizes to a map, background values to grid types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.types import compounds, scalars
from ...core.types.arrays import type_name
from ...errors import VolumeError, VolumeTypeError, shown
from ..nanovdb.layout import GridType
from ..nanovdb.read import GRID_TYPES, VALUE_TYPES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.language import array

    Points = array | np.ndarray | Sequence[Sequence[float]]  # vectors of three, (n, 3) numbers, or lists of them

_INT32 = np.iinfo(np.int32)


def point_rows(points: Points, what: str) -> np.ndarray:
    """Points as an array (n, 3) of numbers.

    points: an array of vectors of three, an array (n, 3), or whatever NumPy makes one of.
    Raises `VolumeError` for other shapes, and for numbers that are not finite.
    """
    rows = np.asarray(points.numpy() if hasattr(points, "numpy") else points)
    if rows.size == 0 and rows.ndim <= 2:
        return np.zeros((0, 3), rows.dtype if rows.dtype.kind in "iuf" else np.int32)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iuf":
        described = f"shape {rows.shape}, dtype {rows.dtype}"
        raise VolumeError(f"{what}\nfound: {described}\nexpected: an array of vec3i or vec3f, or (n, 3) numbers")
    if not np.isfinite(rows).all():
        raise VolumeError(f"{what} number {np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]} is not finite")
    return rows


def voxels_of(points: Points, inverse: np.ndarray, translation: np.ndarray, what: str) -> np.ndarray:
    """The voxel (n, 3) int64 of each point: integers are voxels already, floats lie in the world.

    A point of the world belongs to the voxel whose centre, its integer coordinates, is nearest; halves go up.
    """
    rows = point_rows(points, what)
    if rows.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float64 is refused below
            rows = np.floor((rows.astype(np.float64) - translation) @ inverse.T + 0.5)
    return as_voxels(rows, what)


def as_voxels(rows: np.ndarray, what: str) -> np.ndarray:
    """Whole numbers (n, 3) as int64. Raises `VolumeError` for coordinates that int32 does not hold."""
    inside = ((rows >= _INT32.min) & (rows <= _INT32.max)).all(axis=1)  # NaN is not
    if not inside.all():
        k = int(np.argmin(inside))
        raise VolumeError(f"{what} number {k} is voxel {rows[k].tolist()}\nexpected: coordinates that fit int32")
    return rows.astype(np.int64)


def affine(
    voxel_size: ArrayLike | None, transform: ArrayLike | None, translation: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Matrix (3, 3) and translation (3,), float64: world = matrix @ index + translation.

    Raises `VolumeError` unless there is just one of `voxel_size` (a number or three) and `transform`.
    """
    if (voxel_size is None) == (transform is None):
        which = "none of them" if voxel_size is None else "both"
        raise VolumeTypeError(f"the size of voxels\nfound: {which}\nexpected: either voxel_size= or transform=")
    shift = _numbers(translation, "translation")
    if transform is not None:
        matrix = _numbers(transform, "transform")
    else:
        size = _numbers(voxel_size, "voxel_size")
        if size.shape not in ((), (3,)) or not (np.isfinite(size).all() and (size > 0.0).all()):
            raise VolumeError(f"voxel_size is {shown(voxel_size)}\nexpected: a positive number, or three")
        matrix = np.diag(np.ones(3) * size)
    if matrix.shape != (3, 3) or shift.shape != (3,) or not np.isfinite(matrix).all() or not np.isfinite(shift).all():
        raise VolumeError(
            f"transform {shown(transform)}, translation {shown(translation)}\n"
            "expected: finite numbers of shapes (3, 3) and (3,)"
        )
    if np.linalg.matrix_rank(matrix) < 3:
        raise VolumeError(f"transform {matrix.tolist()} has no inverse\nhelp: its rows must be independent")
    return matrix, shift


def _numbers(value: ArrayLike | None, name: str) -> np.ndarray:
    """Numbers, vectors or sequences of them in double precision. Raises `VolumeTypeError` for what holds none."""
    try:
        numbers = np.asarray(value)
        if numbers.dtype.kind in "biuf":
            return numbers.astype(np.float64)
    except ValueError:  # rows of different lengths
        pass
    raise VolumeTypeError(f"{name} is {shown(value)} ({type(value).__name__})\nexpected: a number, or numbers")


def background_of(value: Any) -> tuple[GridType, Any]:
    """The grid type that a background value asks for, and the value as NumPy takes it.

    None asks for an index grid. Python floats, lists and NumPy arrays are single precision, Python integers int32;
    typed scalars and vectors keep their type. Raises `VolumeError` for what no grid holds.
    """
    if value is None:
        return GridType.INDEX, 0
    kind = scalars.canonical(type(value)) if isinstance(value, np.generic) else type(value)  # float is no float32 here
    if kind in GRID_TYPES:
        return GridType(GRID_TYPES[kind]), np.asarray(value.numpy() if compounds.is_compound(kind) else value)
    if kind in (int, float):
        return (GridType.INT32 if kind is int else GridType.FLOAT), value
    numbers = np.asarray(value)
    if numbers.dtype.kind in "iuf" and numbers.shape in ((3,), (4,)):
        return (GridType.VEC3F if numbers.size == 3 else GridType.VEC4F), numbers.astype(np.float32)
    known = ", ".join(map(type_name, VALUE_TYPES.values()))
    expected = f"a number, 3 or 4 numbers, a value of one of {known}, or None"
    raise VolumeTypeError(f"bg_value is {shown(value)}\nexpected: {expected}")

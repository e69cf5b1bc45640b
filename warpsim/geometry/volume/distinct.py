"""Distinct cubes of voxels that contain points: sorted on the device of the points, each taken once.

For points in the memory of a GPU: only the list of cubes comes to the host, which builds trees from it. Points are
sorted by z, then by x and y, both times without changing the order of equals; equal cubes then follow each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import Kernel, array, float32, float64, int32, int64
from ...core.language import array_scan, atomic_max, empty, floor, func, kernel, launch, radix_sort_pairs, tid, zeros
from ...core.runtime.arrays import saved_contents
from ...core.types.compounds import standard_names

TYPES = standard_names()
vec3i, vec3f, vec3d, mat33d = (TYPES[name] for name in ("vec3i", "vec3f", "vec3d", "mat33d"))
_ROWS = {int32: vec3i, float32: vec3f, float64: vec3d}
_LOWEST, _HIGHEST = -(2.0**31), 2.0**31 - 1.0

EXACT = kernel(fast_math=False)  # points may be no numbers


@kernel
def _cubes_of_voxels(points: array(dtype=vec3i), log2: int32, cubes: array(dtype=vec3i)):
    i = tid()
    p = points[i]
    cubes[i] = vec3i(p[0] >> log2, p[1] >> log2, p[2] >> log2)


@EXACT
def _cubes_of_points(
    points: array(dtype=Any),
    inverse: mat33d,
    translation: vec3d,
    log2: int32,
    cubes: array(dtype=vec3i),
    bad: array(dtype=int32),
):
    """The cube with the voxel whose centre is nearest; `bad` where its coordinates are not in int32."""
    i = tid()
    p = points[i]
    u = inverse * (vec3d(float64(p[0]), float64(p[1]), float64(p[2])) - translation)
    cube = vec3i()
    for axis in range(3):
        voxel = floor(u[axis] + 0.5)
        if voxel >= _LOWEST and voxel <= _HIGHEST:
            cube[axis] = int32(voxel) >> log2
        else:
            atomic_max(bad, 0, 1)
    cubes[i] = cube


@kernel
def _keys_of_depth(cubes: array(dtype=vec3i), keys: array(dtype=int32), order: array(dtype=int32)):
    i = tid()
    keys[i] = cubes[i][2]
    order[i] = i


@kernel
def _keys_of_column(cubes: array(dtype=vec3i), order: array(dtype=int32), keys: array(dtype=int64)):
    k = tid()
    cube = cubes[order[k]]
    keys[k] = int64(cube[0]) << int64(32) | int64(cube[1]) & int64(0xFFFFFFFF)


@func
def _is_new(cubes: array(dtype=vec3i), order: array(dtype=int32), k: int32) -> bool:
    """Whether a cube in order is not the one before it."""
    if k == 0:
        return True
    a, b = cubes[order[k]], cubes[order[k - 1]]
    return a[0] != b[0] or a[1] != b[1] or a[2] != b[2]


@kernel
def _mark(cubes: array(dtype=vec3i), order: array(dtype=int32), marks: array(dtype=int32)):
    k = tid()
    marks[k] = int32(_is_new(cubes, order, k))


@kernel
def _conclude(ranks: array(dtype=int32), bad: array(dtype=int32), counts: array(dtype=int32)):
    tid()
    counts[0], counts[1] = ranks[ranks.shape[0] - 1], bad[0]


@kernel
def _take(
    cubes: array(dtype=vec3i),
    order: array(dtype=int32),
    ranks: array(dtype=int32),
    log2: int32,
    distinct: array(dtype=vec3i),
):
    k = tid()
    if _is_new(cubes, order, k):
        cube = cubes[order[k]]
        distinct[ranks[k] - 1] = vec3i(cube[0] << log2, cube[1] << log2, cube[2] << log2)


def distinct_cubes(points: object, inverse: np.ndarray, translation: np.ndarray, log2: int) -> np.ndarray | None:
    """The lowest voxels (m, 3), each once, of the cubes of 2^log2 voxels along each axis that contain points.

    points: (n,) vec3i, voxels, or vec3f or vec3d, in the world: the voxel is inverse @ (point - translation), rounded,
    halves up; or (n, 3) numbers of these types. None for anything else, and where a point is not finite or in no voxel
    that int32 counts: then points are to be looked at on the host. The host waits for the device twice.
    """
    rows = _rows(points)
    if rows is None or not rows.size:
        return None
    n, device = rows.size, rows.device

    def run(code: Kernel, *args: object, dim: int = n) -> None:
        launch(code, dim, args, device=device, record_tape=False)

    with saved_contents.Paused():  # voxels have no gradients
        cubes, bad, ends = empty(n, vec3i, device), zeros(1, int32, device), empty(2, int32, device)
        if rows.dtype is vec3i:
            run(_cubes_of_voxels, rows, log2, cubes)
        else:
            run(_cubes_of_points, rows, mat33d(*inverse.ravel()), vec3d(*translation), log2, cubes, bad)
        depths, columns = empty(2 * n, int32, device), empty(2 * n, int64, device)
        order, ranks = empty(2 * n, int32, device), empty(n, int32, device)
        run(_keys_of_depth, cubes, depths, order)
        radix_sort_pairs(depths, order, n)
        run(_keys_of_column, cubes, order, columns)
        radix_sort_pairs(columns, order, n)
        run(_mark, cubes, order, ranks)
        array_scan(ranks, ranks)
        run(_conclude, ranks, bad, ends, dim=1)
        count, is_bad = ends.numpy().tolist()
        if is_bad:
            return None
        distinct = empty(count, vec3i, device)
        run(_take, cubes, order, ranks, log2, distinct)
        return np.array(distinct.numpy())


def _rows(points: object) -> array | None:
    """Points as an array of vectors over the same memory, or None where they are of another form."""
    if not isinstance(points, array):
        return None
    if points.ndim == 1 and points.dtype in _ROWS.values():
        return points
    if points.ndim == 2 and points.shape[1] == 3 and points.is_contiguous and points.dtype in _ROWS:
        return array._wrap(points._data, _ROWS[points.dtype], points.device, owner=points)
    return None

"""Marching cubes of some cells of a grid: those near the surface, at a cost that grows with its area.

Guarantees, as of `marching_cubes`: one vertex for each cut edge, shared by all triangles around it; closed where no
cell that the surface meets is missing; vertices are differentiable in the values at the corners. An edge is named by
its lower corner and axis; the edges of all triangles are sorted by name, and equal ones are one vertex, whose values
are those of the first cell that has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import array, array2d, float32, get_device, int32, int64, struct, vec3, vec3i, vec4i
from ...core.language import array_scan, cw_mul, empty, func, isfinite, kernel, launch, radix_sort_pairs, tid, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.devices.capture import current_graph
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, LaunchError
from .iso_surface import check_shape
from .marching_cubes import _placement, _table_on
from .octree import Field, check_field, evaluate_field, near_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.runtime.devices.device import Device

BITS = 20
"""Of a coordinate in the name of a corner."""


@struct
class Lattice:
    """Corners of cells: `low` is at `origin` [length], and they are `spacing` apart [length]."""

    low: vec3i
    origin: vec3
    spacing: vec3


@func
def _corner(cell: vec3i, c: int32) -> vec3i:
    return cell + vec3i(c & 1, c >> 1 & 1, c >> 2)


@func
def _name(node: vec3i, low: vec3i) -> int64:
    d = node - low
    return int64(d[0]) << int64(2 * BITS) | int64(d[1]) << int64(BITS) | int64(d[2])


@kernel(fast_math=False)
def _classify(
    values: array2d[float32], threshold: float32, table: array[int32], cases: array[int32], counts: array[int32]
):
    n = tid()
    case, usable = int32(0), True
    for c in range(8):
        case = case | int32(values[n, c] < threshold) << c
        usable = usable and isfinite(values[n, c])
    if not usable:
        case = 0
    cases[n] = case
    counts[n] = table[case + 1] - table[case]


@kernel
def _name_edges(
    cells: array[vec3i],
    low: vec3i,
    cases: array[int32],
    ends: array[int32],
    table: array[int32],
    table_edges: array[int32],
    names: array[int64],
    order: array[int32],
    edges: array[vec4i],
):
    """The edges of the triangles of a cell: their names, and cell, lower corner and axis."""
    n = tid()
    case = cases[n]
    at = ends[n] - (table[case + 1] - table[case])
    for entry in range(table[case], table[case + 1]):
        edge = table_edges[entry]
        names[at] = _name(_corner(cells[n], edge >> 2), low) << int64(2) | int64(edge & 3)
        order[at] = at
        edges[at] = vec4i(n, edge >> 2, edge & 3, 0)
        at += 1


@kernel
def _mark_first(names: array[int64], marks: array[int32]):
    k = tid()
    marks[k] = 1
    if k > 0:
        marks[k] = int32(names[k] != names[k - 1])


@kernel
def _number(marks: array[int32], ranks: array[int32], order: array[int32], first: array[int32], numbers: array[int32]):
    """What stands at each place in sorted order: which distinct name it is, and the place of the first of each."""
    k = tid()
    numbers[order[k]] = ranks[k] - 1
    if marks[k] != 0:
        first[ranks[k] - 1] = order[k]


@kernel(deterministic=True)
def _place(
    cells: array[vec3i],
    lattice: Lattice,
    values: array2d[float32],
    edges: array[vec4i],
    first: array[int32],
    threshold: float32,
    verts: array[vec3],
):
    """Where the field, linear along an edge, has the value `threshold`."""
    v = tid()
    edge = edges[first[v]]
    n, c, axis = edge[0], edge[1], edge[2]
    a, b = values[n, c], values[n, c + (1 << axis)]
    corner = _corner(cells[n], c) - lattice.low
    node = vec3(float32(corner[0]), float32(corner[1]), float32(corner[2]))
    step = vec3(float32(axis == 0), float32(axis == 1), float32(axis == 2))
    verts[v] = lattice.origin + cw_mul(lattice.spacing, node + (threshold - a) / (b - a) * step)


@kernel
def _name_corners(cells: array[vec3i], low: vec3i, names: array[int64], order: array[int32]):
    n, c = tid()
    names[8 * n + c] = _name(_corner(cells[n], c), low)
    order[8 * n + c] = 8 * n + c


@kernel
def _place_corners(cells: array[vec3i], first: array[int32], origin: vec3, spacing: vec3, points: array[vec3]):
    k = tid()
    corner = _corner(cells[first[k] // 8], first[k] % 8)
    points[k] = origin + cw_mul(spacing, vec3(float32(corner[0]), float32(corner[1]), float32(corner[2])))


@kernel
def _gather(values: array[float32], numbers: array[int32], corner_values: array2d[float32]):
    n, c = tid()
    corner_values[n, c] = values[numbers[8 * n + c]]


def _distinct(names: array, order: array, count: int) -> tuple[array, array]:
    """Where each distinct name stands first, and which of them each name is. names, order: with room to sort."""
    device = names.device
    options = {"device": device, "record_tape": False}
    radix_sort_pairs(names, order, count)
    marks, ranks = empty(count, int32, device), empty(count, int32, device)
    launch(_mark_first, count, [names], [marks], **options)
    array_scan(marks, ranks)
    first, numbers = empty(int(ranks[-1:].numpy()[0]), int32, device), empty(count, int32, device)
    launch(_number, count, [marks, ranks, order], [first, numbers], **options)
    return first, numbers


def _surface(cells: array, values: array, lattice: Lattice, threshold: float) -> tuple[array, array]:
    """Vertices and triangles of some cells, from the values at their corners."""
    device, table = values.device, _table_on(values.device)
    options = {"device": device, "record_tape": False}
    edges, first, indices = empty(0, vec4i, device), empty(0, int32, device), empty(0, int32, device)
    if len(cells):
        with saved_contents.Paused():  # which edges are cut has no derivative
            cases, counts, ends = (empty(len(cells), int32, device) for _ in range(3))
            launch(_classify, len(cells), [values, threshold, table[0]], [cases, counts], **options)
            array_scan(counts, ends)
            total = int(ends[-1:].numpy()[0])
            if total:
                names, order = empty(2 * total, int64, device), empty(2 * total, int32, device)
                edges = empty(total, vec4i, device)
                inputs = [cells, lattice.low, cases, ends, *table]
                launch(_name_edges, len(cells), inputs, [names, order, edges], **options)
                first, indices = _distinct(names, order, total)
    verts = zeros(len(first), vec3, device, requires_grad=values.requires_grad)
    launch(_place, len(first), [cells, lattice, values, edges, first, threshold], [verts], device=device)
    return verts, indices


def sparse_marching_cubes_from_cells(
    cells: ArrayLike,
    corner_values: ArrayLike,
    origin: Iterable[float] = (0.0, 0.0, 0.0),
    cell_width: float = 1.0,
    threshold: float = 0.0,
    device: Device | str | None = None,
) -> tuple[array, array]:
    """The surface in some cells of a grid, as vertices (vec3) and triangles (int32, three entries each).

    cells: (n,) vec3i or (n, 3) integers, each once: cell (i, j, k) begins at origin + cell_width * (i, j, k).
    corner_values: (n, 8) float32, or all in a row, at corners in the order of `MarchingCubes.CUBE_CORNER_OFFSETS`;
    cells that share a corner are to agree about it. With `requires_grad`, a tape carries gradients of the vertices back
    to the values, at each edge to those of one cell. Cells with a value that is NaN or infinite are left out.

    Raises `ArrayError` for other shapes and for cells further apart than 2^20, `ValueError` for a width that is not
    positive, `LaunchError` while a graph is captured.
    """
    if current_graph() is not None:
        raise LaunchError("the size of a surface is not known while a graph is captured\nhelp: extract it outside")
    if not (math.isfinite(cell_width) and cell_width > 0.0):
        raise ValueError(f"cell_width is {cell_width}\nexpected: a finite number above 0")
    if not math.isfinite(threshold):
        raise ArrayError(f"the threshold is {threshold}\nexpected: a finite number")
    place = get_device(getattr(cells, "device", None) if device is None and isinstance(cells, array) else device)
    values = corner_values if isinstance(corner_values, array) else array(corner_values, dtype=float32, device=place)
    boxes = _cells_on(cells, place)
    if values.shape == (8 * len(boxes),):
        values = values.reshape((len(boxes), 8))
    if values.dtype is not float32 or values.shape != (len(boxes), 8):
        shown = f"{type_name(values.dtype)} of shape {values.shape}"
        raise ArrayError(f"corner_values is {shown}\nexpected: float32 of shape {(len(boxes), 8)}")
    low, spacing = _lowest(boxes), vec3(cell_width, cell_width, cell_width)
    begin = [x + cell_width * n for x, n in zip(origin, low, strict=True)]  # in double precision, so cells may be far
    return _surface(boxes, values, Lattice(low, vec3(*begin), spacing), threshold)


def _cells_on(cells: ArrayLike, device: Device) -> array:
    """Cells as (n,) vec3i on a device."""
    if isinstance(cells, array) and cells.dtype is vec3i and cells.device is device:
        return cells
    rows = cells.numpy() if isinstance(cells, array) else np.asarray(cells)
    if rows.size == 0:
        rows = np.zeros((0, 3), np.int32)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise ArgumentTypeError(f"cells is {rows.dtype} of shape {rows.shape}\nexpected: vec3i, or integers (n, 3)")
    return array(rows.astype(np.int32), dtype=vec3i, device=device)


def _lowest(cells: array) -> Any:
    """The lowest coordinates of cells. Raises `ArrayError` where names of corners have no room for the highest."""
    rows = cells.numpy().reshape(-1, 3).astype(np.int64)
    if not len(rows):
        return vec3i()
    low, extent = rows.min(axis=0), np.ptp(rows, axis=0)
    if extent.max() >= (1 << BITS) - 1:
        raise ArrayError(f"cells are up to {extent.max()} apart along an axis\nexpected: fewer than {(1 << BITS) - 1}")
    return vec3i(*low.tolist())


def sparse_marching_cubes(
    field: Field,
    nx: int,
    ny: int,
    nz: int,
    *,
    lower: Iterable[float] | None = None,
    upper: Iterable[float] | None = None,
    threshold: float = 0.0,
    lipschitz_bound: float = 1.0,
    device: Device | str | None = None,
    return_stats: bool = False,
) -> Any:
    """The surface field = threshold in a box, as `MarchingCubes.extract` finds it in a grid of nx x ny x nz nodes.

    field: from points, (n,) vec3, to values, (n,) float32, asked for many points at once: at middles of boxes, and once
    at each corner of the cells that are left. lower, upper: as of `MarchingCubes.extract`. lipschitz_bound: as of
    `lipschitz_octree`. If the values have `requires_grad`, a tape carries gradients of the vertices to them.
    return_stats: give a dictionary too: `leaf_cells`, `unique_corners`, `field_evaluations`, `resolution`,
    `requested_ncells`, `culled_cells`.

    Raises what `lipschitz_octree` and `MarchingCubes.extract` raise.
    """
    check_field(field, threshold, lipschitz_bound)
    if min(nx, ny, nz) < 2 or max(nx, ny, nz) >= 1 << BITS:
        check_shape((nx, ny, nz))
        raise ArrayError(f"a grid of {nx} x {ny} x {nz} nodes\nexpected: fewer than {1 << BITS} along each axis")
    origin, spacing = _placement((nx, ny, nz), lower, upper)
    place, counts = get_device(device), (nx - 1, ny - 1, nz - 1)
    cells, asked = near_cells(field, counts, origin, spacing, threshold, lipschitz_bound, place)
    low, corners = vec3i(), 0
    corner_values = empty((len(cells), 8), float32, place)
    if len(cells):
        with saved_contents.Paused():
            count = 8 * len(cells)
            names, order = empty(2 * count, int64, place), empty(2 * count, int32, place)
            launch(_name_corners, (len(cells), 8), [cells, low], [names, order], device=place)
            first, numbers = _distinct(names, order, count)
            points, corners = empty(len(first), vec3, place), len(first)
            launch(_place_corners, corners, [cells, first, origin, spacing], [points], device=place)
        values = evaluate_field(field, points)
        corner_values.requires_grad = values.requires_grad
        launch(_gather, corner_values.shape, [values, numbers], [corner_values], device=place)
    verts, indices = _surface(cells, corner_values, Lattice(low, origin, spacing), threshold)
    stats = {
        "leaf_cells": len(cells),
        "unique_corners": corners,
        "field_evaluations": asked + corners,
        "resolution": 1 << (max(counts) - 1).bit_length(),
        "requested_ncells": counts,
        "culled_cells": 0,
    }
    return (verts, indices, stats) if return_stats else (verts, indices)

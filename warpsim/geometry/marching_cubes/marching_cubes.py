"""Marching cubes: the surface on which a field of numbers at grid nodes has one value, as a triangle mesh.

Guarantees:

- Each grid edge gives at most one vertex, shared by all triangles around it, and every vertex belongs to a triangle.
- Every side of a triangle belongs to exactly two triangles, unless it lies on the border of the grid or of a cell that
  was left out. So the surface around a region inside the grid is closed, whatever the values are.
- Triangles turn counter-clockwise seen from where the field is larger: outwards for a signed distance.
- The order of vertices and triangles follows the grid: the same bits for any number of threads.
- Vertices are differentiable in the values of the field; where a value is the threshold, the derivative is that for
  growing values. Which edges are cut has none.

A node is inside where its value is below the threshold; a value equal to the threshold is outside, and vertices of its
edges then fall on the node: triangles may have no area, but no side is lost. A cell with a corner that is NaN or
infinite is left out. The cases come from `table`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, array2d, array3d, float32, int32, int64, uint8, vec3, vec4i
from ...core.language import array_scan, bit_count, cw_mul, empty, func, isfinite, kernel, launch, tid, zeros
from ...core.runtime.devices.capture import current_graph
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, DeviceError, LaunchError, shown
from .iso_surface import IsoSurfaceBase, check_shape
from .table import EDGES, Pattern, case_table

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

_NOT_FINITE = 16
_MOST = 2**31 - 1

# ----- kernels: cells, vertices, triangles ------------------------------------------------------


@func
def _slice_of_column(field: array3d(dtype=float32), i: int32, j: int32, k: int32, threshold: float32) -> int32:
    """Which of the four nodes (i..i+1, j..j+1) at height k are inside, as bits; above them, whether one is unusable."""
    a = field[i, j, k]
    b = field[i + 1, j, k]
    c = field[i, j + 1, k]
    d = field[i + 1, j + 1, k]
    bits = int32(a < threshold) | int32(b < threshold) << 1 | int32(c < threshold) << 2 | int32(d < threshold) << 3
    if not (isfinite(a) and isfinite(b) and isfinite(c) and isfinite(d)):
        bits = bits | _NOT_FINITE
    return bits


@kernel
def _classify(
    field: array3d(dtype=float32),
    threshold: float32,
    table: array(dtype=int32),
    cases: array3d(dtype=uint8),
    corners: array2d(dtype=int32),
):
    """One column of cells: the case of each, 0 where no surface is, and how many triangle corners they need together.

    The case of cell (i, j, k) stands at (i + 1, j + 1, k + 1), within a border of zeros.
    """
    i, j = tid()
    count = int32(0)
    low = _slice_of_column(field, i, j, 0, threshold)
    for k in range(field.shape[2] - 1):
        high = _slice_of_column(field, i, j, k + 1, threshold)
        case = low | high << 4
        if case == 255 or (low | high) >= _NOT_FINITE:
            case = 0
        cases[i + 1, j + 1, k + 1] = uint8(case)
        if case != 0:
            count += table[case + 1] - table[case]
        low = high
    corners[i, j] = count


@kernel
def _sum_rows(corners: array2d(dtype=int32), vertices: array2d(dtype=int32), sums: array2d(dtype=int64)):
    """What the columns of one row need together, in numbers that do not overflow."""
    i = tid()
    corner_sum, vertex_sum = int64(0), int64(0)
    for j in range(corners.shape[1]):
        corner_sum += int64(corners[i, j])
        vertex_sum += int64(vertices[i, j])
    sums[i, 0], sums[i, 1] = corner_sum, vertex_sum


@func
def _is_cut(case: int32, corner: int32, axis: int32) -> int32:
    """1 where the edge of a cell from `corner` along `axis` has one end inside."""
    return (case >> corner ^ case >> (corner + (1 << axis))) & 1


@func
def _cut_edges(cases: array3d(dtype=uint8), i: int32, j: int32, k: int32) -> int32:
    """Bit a is set where the edge from node (i, j, k) along axis a is cut, as any of the cells around it can tell."""
    cut = int32(0)
    for corner in range(8):  # of the cell at which the node stands
        case = int32(cases[i + 1 - (corner & 1), j + 1 - (corner >> 1 & 1), k + 1 - (corner >> 2)])
        for axis in range(3):
            if corner >> axis & 1 == 0:
                cut = cut | _is_cut(case, corner, axis) << axis
    return cut


@kernel
def _number(cases: array3d(dtype=uint8), vertices: array3d(dtype=int32), counts: array2d(dtype=int32)):
    """One column of nodes: at each with a cut edge, 8 * vertices below it in the column + which edges are cut."""
    i, j = tid()
    count = int32(0)
    low = int32(0)
    for k in range(vertices.shape[2]):
        high = int32(cases[i, j, k + 1] | cases[i + 1, j, k + 1] | cases[i, j + 1, k + 1] | cases[i + 1, j + 1, k + 1])
        if (low | high) != 0:
            cut = _cut_edges(cases, i, j, k)
            vertices[i, j, k] = count << 3 | cut
            count += bit_count(cut)
        low = high
    counts[i, j] = count


@kernel
def _list_edges(cases: array3d(dtype=uint8), first: array2d(dtype=int32), edges: array(dtype=vec4i)):
    """One column of nodes: the cut edges as node and axis, in the order of their vertices."""
    i, j = tid()
    n = first[i, j]
    low = int32(0)
    for k in range(cases.shape[2] - 1):
        high = int32(cases[i, j, k + 1] | cases[i + 1, j, k + 1] | cases[i, j + 1, k + 1] | cases[i + 1, j + 1, k + 1])
        if (low | high) != 0:
            cut = _cut_edges(cases, i, j, k)
            for axis in range(3):
                if cut >> axis & 1 != 0:
                    edges[n] = vec4i(i, j, k, axis)
                    n += 1
        low = high


@kernel
def _list_triangles(
    cases: array3d(dtype=uint8),
    table: array(dtype=int32),
    table_edges: array(dtype=int32),
    vertices: array3d(dtype=int32),
    first_vertex: array2d(dtype=int32),
    first_corner: array2d(dtype=int32),
    indices: array(dtype=int32),
):
    """One column of cells: the vertices of their triangles."""
    i, j = tid()
    n = first_corner[i, j]
    for k in range(cases.shape[2] - 2):
        case = int32(cases[i + 1, j + 1, k + 1])
        if case != 0:
            for entry in range(table[case], table[case + 1]):
                edge = table_edges[entry]
                x = i + (edge >> 2 & 1)
                y = j + (edge >> 3 & 1)
                here = vertices[x, y, k + (edge >> 4)]
                below = here & ((1 << (edge & 3)) - 1)  # cut edges of the same node along earlier axes
                indices[n] = first_vertex[x, y] + (here >> 3) + bit_count(below)
                n += 1


@kernel(deterministic=True)
def _place(
    field: array3d(dtype=float32),
    edges: array(dtype=vec4i),
    threshold: float32,
    lower: vec3,
    spacing: vec3,
    verts: array(dtype=vec3),
):
    """Where the field, linear along a cut edge, has the value `threshold`."""
    v = tid()
    edge = edges[v]
    axis = edge[3]
    step = vec3(float32(axis == 0), float32(axis == 1), float32(axis == 2))
    a = field[edge[0], edge[1], edge[2]]
    b = field[edge[0] + int32(axis == 0), edge[1] + int32(axis == 1), edge[2] + int32(axis == 2)]
    node = vec3(float32(edge[0]), float32(edge[1]), float32(edge[2]))
    verts[v] = lower + cw_mul(spacing, node + (threshold - a) / (b - a) * step)


# ----- the surface ------------------------------------------------------------------------------


class MarchingCubes(IsoSurfaceBase):
    """Surfaces of fields of nx x ny x nz nodes, by marching cubes; see `IsoSurfaceBase`.

    The patterns that it knows are there for kernels of one's own, as tuples: corner c of a cube is at
    CUBE_CORNER_OFFSETS[c] and edge e between the two corners EDGE_TO_CORNERS[e], lower one first. Bit c of a case is
    set where corner c is inside; the triangles of case n cut the edges TRI_LOCAL_INDICES[first : end], three each, from
    first = CASE_TO_TRI_RANGE[n] to end = CASE_TO_TRI_RANGE[n + 1].
    """

    CUBE_CORNER_OFFSETS = tuple((c & 1, c >> 1 & 1, c >> 2) for c in range(8))
    EDGE_TO_CORNERS = tuple((edge >> 2, edge >> 2 | 1 << (edge & 3)) for edge in EDGES)
    CASE_TO_TRI_RANGE = Pattern(lambda: case_table()[0].tolist())
    TRI_LOCAL_INDICES = Pattern(lambda: map(EDGES.index, case_table()[1].tolist()))

    def surface(self, field: array, threshold: float = 0.0) -> None:
        """Find the surface field = threshold; see `extract`. Raises `ArrayError` for a field of another shape."""
        if isinstance(field, array) and field.shape != (self.nx, self.ny, self.nz):
            raise ArrayError(
                f"the field has shape {field.shape}\nexpected: {(self.nx, self.ny, self.nz)}, as this object was made\n"
                "help: resize(nx, ny, nz)"
            )
        if self.device is not None and isinstance(field, array) and field.device is not self.device:
            raise DeviceError(f"the field is on {field.device}\nexpected: {self.device}, as this object was made")
        self.verts, self.indices = self.extract(field, threshold, lower=self.lower, upper=self.upper)

    @staticmethod
    def extract(
        field: array,
        threshold: float = 0.0,
        *,
        lower: Iterable[float] | None = None,
        upper: Iterable[float] | None = None,
    ) -> tuple[array, array]:
        """The surface as vertices (vec3) and triangles (int32, three entries each), both empty where there is none.

        field: float32, two nodes or more along each of three axes; with `requires_grad`, a tape carries gradients of
        the vertices back to it. lower, upper: as of the class.

        Raises `ArgumentTypeError` for a field that is no such array, `ArrayError` for an axis of fewer than two nodes,
        for bounds or a threshold that are not finite, and for a surface of 2^31 or more vertices or triangle corners,
        `LaunchError` while a graph is captured.
        """
        if current_graph() is not None:
            raise LaunchError("the size of a surface is not known while a graph is captured\nhelp: extract it outside")
        _check_field(field)
        check_shape(field.shape)
        if not math.isfinite(threshold):
            raise ArrayError(f"the threshold is {threshold}\nexpected: a finite number")
        origin, spacing = _placement(field.shape, lower, upper)
        edges, indices = _topology(field, threshold)
        verts = zeros(edges.size, vec3, field.device, requires_grad=field.requires_grad)
        launch(_place, edges.size, [field, edges, threshold, origin, spacing], [verts], device=field.device)
        return verts, indices

    @staticmethod
    def extract_surface_marching_cubes(
        field: array,
        threshold: float = 0.0,
        domain_bounds_lower_corner: Iterable[float] | None = None,
        domain_bounds_upper_corner: Iterable[float] | None = None,
    ) -> tuple[array, array]:
        """The older name of `extract`."""
        lower, upper = domain_bounds_lower_corner, domain_bounds_upper_corner
        return MarchingCubes.extract(field, threshold, lower=lower, upper=upper)


def _topology(field: array, threshold: float) -> tuple[array, array]:
    """Cut edges (vec4i: node and axis), one for each vertex, and the triangles over them: count, scan, write."""
    (nx, ny, nz), device = field.shape, field.device

    def run(kernel: Kernel, dim: tuple[int, int], *inputs: object) -> None:
        launch(kernel, dim, inputs, device=device, record_tape=False)

    table, table_edges = _table_on(device)
    cases = zeros((nx + 1, ny + 1, nz + 1), uint8, device)
    vertices = empty((nx, ny, nz), int32, device)
    corner_counts, vertex_counts = (zeros((nx, ny), int32, device) for _ in range(2))
    run(_classify, (nx - 1, ny - 1), field, threshold, table, cases, corner_counts)
    run(_number, (nx, ny), cases, vertices, vertex_counts)
    corner_count, vertex_count = _totals(corner_counts, vertex_counts)
    first_corner, first_vertex = _starts(corner_counts), _starts(vertex_counts)
    edges, indices = empty(vertex_count, vec4i, device), empty(corner_count, int32, device)
    if vertex_count:
        run(_list_edges, (nx, ny), cases, first_vertex, edges)
        inputs = (cases, table, table_edges, vertices, first_vertex, first_corner)
        run(_list_triangles, (nx - 1, ny - 1), *inputs, indices)
    return edges, indices


def _totals(*counts: array) -> list[int]:
    """How many triangle corners, and vertices, all columns have together. The host waits for the device once."""
    rows, device = counts[0].shape[0], counts[0].device
    sums = empty((rows, 2), int64, device)
    launch(_sum_rows, rows, counts, [sums], device=device, record_tape=False)
    totals: list[int] = sums.numpy().sum(axis=0).tolist()
    for total, what in zip(totals, ("triangle corners", "vertices"), strict=True):
        if total > _MOST:
            raise ArrayError(
                f"the surface has {total} {what}\nexpected: fewer than 2^31\nhelp: cut the field into blocks"
            )
    return totals


def _starts(counts: array) -> array:
    """Where the items of each column start."""
    starts = empty(counts.shape, int32, counts.device)
    array_scan(counts, starts, inclusive=False)
    return starts


@functools.cache
def _table_on(device: Device) -> tuple[array, array]:
    """The cases on a device: where each one's entries start, and the cut edges of the triangles."""
    first, edges = case_table()
    return array(first, dtype=int32, device=device), array(edges, dtype=int32, device=device)


# ----- arguments --------------------------------------------------------------------------------


def _check_field(field: array) -> None:
    if not isinstance(field, array):
        raise ArgumentTypeError(f"field is {type(field).__name__}\nexpected: a warpsim array\nhelp: wp.array(...)")
    if field.dtype is not float32 or field.ndim != 3:
        raise ArgumentTypeError(
            f"field has dtype {type_name(field.dtype)} and rank {field.ndim}\nexpected: float32 and rank 3"
        )


def _placement(shape: tuple[int, ...], lower: Iterable[float] | None, upper: Iterable[float] | None) -> tuple[Any, Any]:
    """Where node (0, 0, 0) lies and how far apart nodes are."""
    low = [0.0] * 3 if lower is None else _corner(lower, "lower")
    high = [n - 1.0 for n in shape] if upper is None else _corner(upper, "upper")
    return vec3(*low), vec3(*((b - a) / (n - 1) for a, b, n in zip(low, high, shape, strict=True)))


def _corner(value: Iterable[float], name: str) -> list[float]:
    try:
        corner = [float(x) for x in value]
    except (TypeError, ValueError):
        corner = []
    if len(corner) != 3 or not all(map(math.isfinite, corner)):
        raise ArrayError(f"{name} is {shown(value)}\nexpected: three finite coordinates")
    return corner

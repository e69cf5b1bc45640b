"""Cells of a grid that a surface may meet, found from the root down by how fast a field can change.

A box is kept where the field at its middle is no further from the threshold than it can change up to a corner
(the octree of libigl, `igl::lipschitz_octree`). Boxes that reach beyond the grid are cut at its border.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...core.language import array, float32, get_device, int32, struct, vec3, vec3i
from ...core.language import abs, array_scan, cw_mul, empty, func, kernel, launch, length, min, tid, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.devices.capture import current_graph
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, ArrayError, LaunchError

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

Field = Callable[[Any], Any]
"""From points, (n,) vec3, to values, (n,) float32."""

DEEPEST = 30  # coordinates of cells are int32


@struct
class Grid:
    """Cells along each axis, where the first one begins [length], and how large each is [length]."""

    counts: vec3i
    origin: vec3
    spacing: vec3


@func
def _size(cell: vec3i, width: int32, grid: Grid) -> vec3:
    """How many cells of the grid a box spans along each axis."""
    size = vec3()
    for axis in range(3):
        size[axis] = float32(min(width, grid.counts[axis] - cell[axis]))
    return size


@kernel
def _place_middles(boxes: array[vec3i], width: int32, grid: Grid, points: array[vec3]):
    n = tid()
    corner = vec3(float32(boxes[n][0]), float32(boxes[n][1]), float32(boxes[n][2]))
    points[n] = grid.origin + cw_mul(grid.spacing, corner + 0.5 * _size(boxes[n], width, grid))


@kernel(fast_math=False)
def _mark_near(
    boxes: array[vec3i],
    width: int32,
    grid: Grid,
    values: array[float32],
    threshold: float32,
    slope: float32,
    marks: array[int32],
):
    n = tid()
    reach = 0.5 * slope * length(cw_mul(grid.spacing, _size(boxes[n], width, grid)))
    marks[n] = int32(abs(values[n] - threshold) <= reach)


@kernel
def _take(boxes: array[vec3i], marks: array[int32], ends: array[int32], taken: array[vec3i]):
    n = tid()
    if marks[n] != 0:
        taken[ends[n] - 1] = boxes[n]


@kernel
def _split(boxes: array[vec3i], half: int32, grid: Grid, children: array[vec3i], marks: array[int32]):
    n, c = tid()
    child = boxes[n] + half * vec3i(c & 1, c >> 1 & 1, c >> 2)
    children[8 * n + c] = child
    marks[8 * n + c] = int32(child[0] < grid.counts[0] and child[1] < grid.counts[1] and child[2] < grid.counts[2])


def near_cells(
    field: Field,
    counts: tuple[int, int, int],
    origin: vec3,
    spacing: vec3,
    threshold: float,
    slope: float,
    device: Device,
) -> tuple[array, int]:
    """Cells of a grid of `counts` cells that the surface may meet, and how often the field was asked.

    origin, spacing: where cell (0, 0, 0) begins and how large cells are [length]. slope: the most that the field
    changes per length.
    """
    grid, width = Grid(vec3i(*counts), origin, spacing), 1 << (max(counts) - 1).bit_length()
    options: dict[str, Any] = {"device": device, "record_tape": False}
    with saved_contents.Paused():  # which cells are taken has no derivative
        boxes, asked = zeros(1, vec3i, device), 0
        while True:
            points, marks = empty(len(boxes), vec3, device), empty(len(boxes), int32, device)
            launch(_place_middles, len(boxes), [boxes, width, grid], [points], **options)
            values, asked = evaluate_field(field, points), asked + len(boxes)
            launch(_mark_near, len(boxes), [boxes, width, grid, values, threshold, slope], [marks], **options)
            boxes = _compact(boxes, marks)
            if width == 1 or not len(boxes):
                return boxes, asked
            width //= 2
            children, marks = empty(8 * len(boxes), vec3i, device), empty(8 * len(boxes), int32, device)
            launch(_split, (len(boxes), 8), [boxes, width, grid], [children, marks], **options)
            boxes = _compact(children, marks)


def _compact(boxes: array, marks: array) -> array:
    """The boxes that are marked, in their order."""
    ends = empty(marks.shape, int32, marks.device)
    array_scan(marks, ends)
    taken = empty(int(ends[-1:].numpy()[0]), vec3i, marks.device)
    launch(_take, len(boxes), [boxes, marks, ends], [taken], device=marks.device, record_tape=False)
    return taken


def evaluate_field(field: Field, points: array) -> array:
    """The values of a field at points. Raises `ArrayError` for what is not one float32 for each of them."""
    values = field(points)
    if not isinstance(values, array) or values.dtype is not float32 or values.shape != points.shape:
        is_array = isinstance(values, array)
        kind = f"{type_name(values.dtype)} of shape {values.shape}" if is_array else type(values).__name__
        raise ArrayError(f"the field gave {kind}\nexpected: an array of float32 of shape {points.shape}")
    return values


def check_field(field: object, threshold: float, slope: float) -> None:
    """Raise for what surfaces cannot be found of."""
    if current_graph() is not None:
        raise LaunchError("the size of a surface is not known while a graph is captured\nhelp: extract it outside")
    if not callable(field) or hasattr(field, "overloads"):
        raise ArgumentTypeError(
            f"field is {type(field).__name__}\n"
            "expected: a function from points, an array of vec3, to an array of float32\n"
            "help: launch a kernel in it that evaluates all of them"
        )
    if not math.isfinite(threshold):
        raise ArrayError(f"the threshold is {threshold}\nexpected: a finite number")
    if not (math.isfinite(slope) and slope >= 0.0):
        raise ValueError(f"lipschitz_bound is {slope}\nexpected: a finite number of at least 0")


def lipschitz_octree(
    field: Field,
    origin: Iterable[float],
    root_width: float,
    max_depth: int,
    threshold: float = 0.0,
    lipschitz_bound: float = 1.0,
    device: Device | str | None = None,
) -> tuple[array, float]:
    """The cells of a cube that the surface field = threshold may meet: (cells,) vec3i, and their width [length].

    field: from points, (n,) vec3, to values, (n,) float32; asked for many points at once. The cube begins at `origin`
    and is cut into 2^max_depth cells along each axis; cell (i, j, k) begins at origin + width * (i, j, k).
    lipschitz_bound: the most that the field changes per length, 1 for signed distances. Not differentiable.

    Raises `ArgumentTypeError` for what is no function, `ArrayError` for other values, `ValueError` for a width that is
    not positive, a bound below 0 and a depth that is not from 0 to 30, `LaunchError` while a graph is captured.
    """
    check_field(field, threshold, lipschitz_bound)
    if not (math.isfinite(root_width) and root_width > 0.0):
        raise ValueError(f"root_width is {root_width}\nexpected: a finite number above 0")
    if not 0 <= max_depth <= DEEPEST:
        raise ValueError(f"max_depth is {max_depth}\nexpected: 0 to {DEEPEST}")
    count = 1 << max_depth
    width = root_width / count
    grid = (field, (count,) * 3, vec3(*origin), vec3(width, width, width))
    cells, _ = near_cells(*grid, threshold, lipschitz_bound, get_device(device))
    return cells, width

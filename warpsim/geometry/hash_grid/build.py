"""Common parts of hash grid builds: the layout of the table, and the cell of a point in it.

Guarantees of all builds: points of one cell keep the order of their indices, so the result does not depend on the
number of threads; points with a NaN or an infinity stand behind all cells, where no query looks; the work grows with
the number of points, not with the extent of space: the table has at most `max_cells` cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.language import array, ceil, float64, floor, func, int32, kernel, max, min, vec3d, vec3i, where
from .data import HashGridPlan, cell_number, image_in_period, place_of, remainder

EXACT = kernel(fast_math=False)  # with it on, points would be taken to be finite
FINEST = 4  # cells along x per radius: a query cuts rows of cells that close to its ends, at no cost

INFINITE = float("inf")
LARGEST_INT, SMALLEST_INT = 2**31 - 1, -(2**31)
MOST_PLACES = float(LARGEST_INT)  # along one axis, before the table is made small enough

_CELLS_PER_POINT = 2
_FEWEST_CELLS = 64


class Table(NamedTuple):
    """The arrays of a grid that builds fill."""

    plan: Any
    starts: Any
    point: Any
    group: Any
    coordinates: list[Any]


class Task(NamedTuple):
    """Points to sort, and what is asked of their grid. groups: empty without."""

    points: Any
    groups: Any
    radius: float
    period: Any
    dims: Any

    @property
    def grouped(self) -> int:
        return int(self.groups.size > 0)


def most_cells(count: int) -> int:
    """How many cells the table of `count` points has at most."""
    return int(min(_CELLS_PER_POINT * count + _FEWEST_CELLS, 2**31 - 3))


@func
def is_finite(p: Any) -> bool:
    """Whether no component is a NaN or an infinity, without a branch."""
    zero = p.dtype(0.0)
    return p[0] * zero + p[1] * zero + p[2] * zero == zero


# ----- extent -----------------------------------------------------------------------------------


@func
def lower(a: float64, x: float64) -> float64:
    """The smaller of two, unless `x` is a NaN or an infinity."""
    return where(x < a and x > -INFINITE, x, a)


@func
def higher(a: float64, x: float64) -> float64:
    """The larger of two, unless `x` is a NaN or an infinity."""
    return where(x > a and x < INFINITE, x, a)


# ----- plan -------------------------------------------------------------------------------------


@func
def planned_axis(plan: HashGridPlan, axis: int, low: float64, high: float64, limit: float64) -> HashGridPlan:
    """Lay out one axis for points between `low` and `high`: with at most `limit` places."""
    finer = float64(plan.finer if axis == 0 else 1)
    around = float64(plan.dims[axis]) * finer
    period = plan.period[axis]
    if period > 0.0:
        around = min(min(max(floor(period / plan.width), 1.0) * finer, around), limit)
        plan.scale[axis] = around / period
        return placed_axis(plan, axis, 0.0, around, around, limit)
    plan.scale[axis] = finer / plan.width
    first = cell_number(low * plan.scale[axis])
    return placed_axis(plan, axis, first, cell_number(high * plan.scale[axis]) - first + 1.0, around, limit)


@func
def placed_axis(
    plan: HashGridPlan, axis: int, first: float64, count: float64, around: float64, limit: float64
) -> HashGridPlan:
    """Give places to `count` cells from `first` on, which repeat after `around`."""
    wraps = count > around or plan.period[axis] > 0.0
    extent = min(count, around)
    places = min(extent, limit)
    padding = ceil(extent / places) * places - extent
    plan.origin[axis] = where(wraps, 0.0, first)
    plan.around[axis] = around
    plan.extent[axis] = extent
    plan.lowest[axis] = where(wraps, -float64(INFINITE), 0.0)
    plan.highest[axis] = where(wraps, float64(INFINITE), extent - 1.0)
    plan.cells[axis] = int32(places)
    plan.padding[axis] = padding
    plan.per_cells[axis] = where(wraps or places < extent, 1.0 / places, 0.0)
    plan.per_around[axis] = where(wraps and padding > 0.0, 1.0 / around, 0.0)
    return plan


@func
def cell_count(plan: HashGridPlan) -> float64:
    return float64(plan.cells[0]) * float64(plan.cells[1]) * float64(plan.cells[2]) * float64(plan.layers)


@func
def laid_out(plan: HashGridPlan, low: vec3d, high: vec3d, limit: float64) -> HashGridPlan:
    """Choose places: as fine along x as `limit` of them in all allow, then as large a table as it allows."""
    plan.finer = FINEST
    for axis in range(3):
        plan = planned_axis(plan, axis, low[axis], high[axis], MOST_PLACES)
    while plan.finer > 1 and cell_count(plan) > limit:
        plan.finer = plan.finer // 2
        plan = planned_axis(plan, 0, low[0], high[0], MOST_PLACES)
    while cell_count(plan) > limit:
        axis = int32(0)
        for other in range(1, 3):
            if plan.cells[other] > plan.cells[axis]:
                axis = other
        if plan.layers > plan.cells[axis]:
            plan.layers = (plan.layers + 1) // 2
        else:
            plan = planned_axis(plan, axis, low[axis], high[axis], float64((plan.cells[axis] + 1) // 2))
    plan.mixed = int32(plan.per_around[0] + plan.per_around[1] + plan.per_around[2] > 0.0)
    return plan


@EXACT
def make_plan(
    low: array(dtype=vec3d), high: array(dtype=vec3d), low_group: array(dtype=int32), high_group: array(dtype=int32),
    pieces: int32, grouped: int32, radius: float64, dims: vec3i, period: vec3d, max_cells: int32, buckets: int32,
    plan: array(dtype=HashGridPlan), starts: array(dtype=int32),
):  # fmt: skip
    """Lay out the table around all points; one thread."""
    a = vec3d(INFINITE, INFINITE, INFINITE)
    b = -a
    first = int32(LARGEST_INT)
    last = int32(SMALLEST_INT)
    for piece in range(pieces):
        a = min(a, low[piece])
        b = max(b, high[piece])
        first = min(first, low_group[piece])
        last = max(last, high_group[piece])
    for axis in range(3):
        if a[axis] > b[axis]:  # no point has a number there
            a[axis] = 0.0
            b[axis] = 0.0
    layout = HashGridPlan()
    layout.width, layout.dims, layout.period = radius, dims, period
    layout.grouped = grouped
    layout.layers = 1
    if grouped != 0 and first <= last:
        layout.first_group = first
        layout.layers = int32(min(float64(last) - float64(first) + 1.0, float64(max_cells)))
    layout = laid_out(layout, a, b, float64(max_cells))
    total = int32(cell_count(layout))
    while (total >> layout.shift) >= buckets:
        layout.shift = layout.shift + 1
    plan[0] = layout
    starts[0] = 0


# ----- places -----------------------------------------------------------------------------------


@func
def place_along(plan: HashGridPlan, axis: int, x: float64) -> int32:
    cell = cell_number(x * plan.scale[axis]) - plan.origin[axis]
    if plan.mixed != 0:
        cell = remainder(cell, plan.around[axis], plan.per_around[axis])
    return place_of(cell, plan.cells[axis], plan.per_cells[axis])


@func
def layer_of(plan: HashGridPlan, group: int32) -> int32:
    """The layer of a group: its distance to the first one, modulo their number where there are fewer layers."""
    return place_of(float64(group) - float64(plan.first_group), plan.layers, 1.0 / float64(plan.layers))


@func
def cell_of(plan: HashGridPlan, p: Any, layer: int32) -> int32:
    """The place of a position in the table; that behind the last cell for one with a NaN or an infinity."""
    x = place_along(plan, 0, float64(p[0]))
    y = place_along(plan, 1, float64(p[1]))
    z = place_along(plan, 2, float64(p[2]))
    cell = ((layer * plan.cells[2] + z) * plan.cells[1] + y) * plan.cells[0] + x
    return where(is_finite(p), cell, int32(cell_count(plan)))


@func
def image_of(p: Any, period: vec3d) -> Any:
    """The image of a position in the first period."""
    if period[0] == 0.0 and period[1] == 0.0 and period[2] == 0.0:
        return p
    image = type(p)()
    for axis in range(3):
        image[axis] = p.dtype(image_in_period(float64(p[axis]), period[axis]))
    return image

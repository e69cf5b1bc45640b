"""A build of hash grids for many threads: points are sorted by cell by the device's own sort, which is stable.

No launch but that of the plan, which looks at a few dozen numbers, has fewer threads than there are points. The table
is the one that `buckets` makes. Nothing is read back, so a build can be captured in a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, empty, float64, int32, launch, max, min, radix_sort_pairs, tid, vec3d
from ...core.lib.sampling import lower_bound
from ...core.runtime.arrays import saved_contents
from .build import EXACT, INFINITE, LARGEST_INT, SMALLEST_INT, Table, Task
from .build import cell_count, cell_of, higher, image_of, layer_of, lower, make_plan, most_cells
from .data import HashGridPlan

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

_SHARE = 64  # points, or extents, that one thread joins


# ----- extent -----------------------------------------------------------------------------------


@EXACT
def survey(
    points: array(dtype=Any),
    groups: array(dtype=int32),
    grouped: int32,
    low: array(dtype=vec3d),
    high: array(dtype=vec3d),
    low_group: array(dtype=int32),
    high_group: array(dtype=int32),
):
    """The box around each low.shape[0]-th point, and the range of their groups."""
    t = tid()
    a = vec3d(INFINITE, INFINITE, INFINITE)
    b = -a
    first, last = int32(LARGEST_INT), int32(SMALLEST_INT)
    i = t
    while i < points.shape[0]:
        p = points[i]
        x, y, z = float64(p[0]), float64(p[1]), float64(p[2])
        a = vec3d(lower(a[0], x), lower(a[1], y), lower(a[2], z))
        b = vec3d(higher(b[0], x), higher(b[1], y), higher(b[2], z))
        if grouped != 0:
            first = min(first, groups[i])
            last = max(last, groups[i])
        i += low.shape[0]
    low[t], high[t], low_group[t], high_group[t] = a, b, first, last


@EXACT
def join(
    low: array(dtype=vec3d),
    high: array(dtype=vec3d),
    low_group: array(dtype=int32),
    high_group: array(dtype=int32),
    count: int32,
    fewer: int32,
):
    """Join `count` boxes and ranges to `fewer` ones, which follow them."""
    t = tid()
    a, b, first, last = low[t], high[t], low_group[t], high_group[t]
    i = t + fewer
    while i < count:
        a, b = min(a, low[i]), max(b, high[i])
        first, last = min(first, low_group[i]), max(last, high_group[i])
        i += fewer
    low[count + t], high[count + t], low_group[count + t], high_group[count + t] = a, b, first, last


# ----- sort -------------------------------------------------------------------------------------


@EXACT
def find_cells(
    points: array(dtype=Any),
    groups: array(dtype=int32),
    plan: array(dtype=HashGridPlan),
    cells: array(dtype=int32),
    order: array(dtype=int32),
):
    """The cell of every point, which is the key of the sort."""
    i = tid()
    layer = int32(0)
    if plan[0].grouped != 0:
        layer = layer_of(plan[0], groups[i])
    cells[i] = cell_of(plan[0], points[i], layer)
    order[i] = i


@EXACT
def find_starts(plan: array(dtype=HashGridPlan), cells: array(dtype=int32), count: int32, starts: array(dtype=int32)):
    """Where the points of a cell begin; the place behind the last cell has a beginning and an end too."""
    c = tid()
    if c < int32(cell_count(plan[0])) + 2:
        starts[c] = lower_bound(cells, 0, count + 1, c)


@EXACT
def gather(
    points: array(dtype=Any),
    groups: array(dtype=int32),
    plan: array(dtype=HashGridPlan),
    order: array(dtype=int32),
    point: array(dtype=int32),
    group: array(dtype=int32),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
):
    """Points in order."""
    k = tid()
    i = order[k]
    p = image_of(points[i], plan[0].period)
    point[k] = i
    x[k], y[k], z[k] = p[0], p[1], p[2]
    if plan[0].grouped != 0:
        group[k] = groups[i]


# ----- the build --------------------------------------------------------------------------------


class SortBuild:
    """The memory of builds of up to `count` points."""

    def __init__(self, count: int, dtype: type, device: Device):
        size = sum(_rounds(count))
        self._extents = [empty(size, t, device) for t in (vec3d, vec3d, int32, int32)]
        self._cells, self._order = (empty(2 * count, int32, device) for _ in range(2))

    def arrays(self) -> list[Any]:
        """What a build fills beside the table."""
        return [*self._extents, self._cells, self._order]

    def sort(self, task: Task, table: Table) -> None:
        """Fill the table with one or more points."""
        count, device = task.points.size, table.plan.device

        def run(kernel: Kernel, dim: int, *args: object) -> None:
            launch(kernel, dim, args, device=device, record_tape=False)

        extents, pieces = self._extent(task, run)
        asked = [task.radius, task.dims, task.period, most_cells(count)]
        run(make_plan, 1, *extents, pieces, task.grouped, *asked, 1, table.plan, table.starts)
        run(find_cells, count, task.points, task.groups, table.plan, self._cells, self._order)
        with saved_contents.Paused():  # tapes know of the build as a whole
            radix_sort_pairs(self._cells, self._order, count, 0, most_cells(count).bit_length())
        run(find_starts, most_cells(count) + 2, table.plan, self._cells, count, table.starts)
        filled = [table.point, table.group, *table.coordinates]
        run(gather, count, task.points, task.groups, table.plan, self._order, *filled)

    def _extent(self, task: Task, run: Callable[..., None]) -> tuple[list[Any], int]:
        """Boxes around parts of the points, few enough for one thread, and their number."""
        extents, begin, before = self._extents, 0, 0
        for size in _rounds(task.points.size):
            if begin == 0:
                run(survey, size, task.points, task.groups, task.grouped, *(a[:size] for a in extents))
            else:
                run(join, size, *(a[begin - before :] for a in extents), before, size)
            begin, before = begin + size, size
        return [a[begin - before : begin] for a in extents], before


def _rounds(count: int) -> list[int]:
    """How many boxes there are after each round of joining points, and then boxes."""
    sizes = [-(-count // _SHARE) or 1]
    while sizes[-1] > _SHARE:
        sizes.append(-(-sizes[-1] // _SHARE))
    return sizes

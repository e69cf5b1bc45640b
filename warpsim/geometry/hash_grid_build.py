"""Kernels that build a hash grid: a counting sort of points by cell, in parallel, with one possible result.

Guarantees: points of one cell keep the order of their indices, so the result does not depend on the number of
threads; points with a NaN or an infinity stand behind all cells, where no query looks; the work grows with the
number of points, not with the extent of space: the table has at most `max_cells` cells.

The sort has two levels, so that it stays in the cache. Pieces of `PIECE` points count and then deal their points
to *buckets*, ranges of cells; each bucket then sorts its own by cell. Every piece and every bucket is one thread,
and owns what it writes.
"""

from __future__ import annotations

from typing import Any

from ..core.frontend.functions import func
from ..core.ops import floor, max, min, tid, where
from ..core.runtime.array import array
from ..core.runtime.kernel import kernel
from ..core.types.scalars import float64, int32
from .hash_grid_data import HashGridPlan, cell_number, image_in_period, place_of, vec3d, vec3i

EXACT = kernel(fast_math=False)  # with it on, points would be taken to be finite
PIECE = 4096
FINEST = 4  # cells along x per radius: a query cuts rows of cells that close to its ends, at no cost

_INFINITE = float("inf")
_LARGEST_INT, _SMALLEST_INT = 2**31 - 1, -(2**31)


@func
def is_finite(p: Any) -> bool:
    """Whether no component is a NaN or an infinity, without a branch."""
    zero = p.dtype(0.0)
    return p[0] * zero + p[1] * zero + p[2] * zero == zero


# ----- extent -----------------------------------------------------------------------------------


@func
def lower(a: float64, x: float64) -> float64:
    """The smaller of two, unless `x` is a NaN or an infinity."""
    return where(x < a and x > -_INFINITE, x, a)


@func
def higher(a: float64, x: float64) -> float64:
    """The larger of two, unless `x` is a NaN or an infinity."""
    return where(x > a and x < _INFINITE, x, a)


@EXACT
def find_extent(
    points: array(dtype=Any), groups: array(dtype=int32), grouped: int32, count: int32,
    low: array(dtype=vec3d), high: array(dtype=vec3d), low_group: array(dtype=int32), high_group: array(dtype=int32),
):  # fmt: skip
    """The box around the points of each piece, and the range of their groups."""
    piece = tid()
    a = vec3d(_INFINITE, _INFINITE, _INFINITE)
    b = -a
    first = int32(_LARGEST_INT)
    last = int32(_SMALLEST_INT)
    for k in range(PIECE):
        i = piece * PIECE + k
        if i < count:
            p = points[i]
            x, y, z = float64(p[0]), float64(p[1]), float64(p[2])
            a = vec3d(lower(a[0], x), lower(a[1], y), lower(a[2], z))
            b = vec3d(higher(b[0], x), higher(b[1], y), higher(b[2], z))
            if grouped != 0:
                first = min(first, groups[i])
                last = max(last, groups[i])
    low[piece] = a
    high[piece] = b
    low_group[piece] = first
    high_group[piece] = last


# ----- plan -------------------------------------------------------------------------------------


@func
def planned_axis(plan: HashGridPlan, axis: int, low: float64, high: float64, scale: float64, limit: float64):
    """Lay out one axis for points between `low` and `high`: with at most `limit` cells."""
    period = plan.period[axis]
    if period > 0.0:
        cells = max(1.0, min(floor(period * scale), limit))
        plan.scale[axis] = cells / period
        plan.origin[axis] = 0.0
        plan.cells[axis] = int32(cells)
        plan.per_cells[axis] = 1.0 / cells
        return plan
    first = cell_number(low * scale)
    extent = cell_number(high * scale) - first + 1.0
    fits = extent <= limit
    plan.scale[axis] = scale
    plan.origin[axis] = first if fits else 0.0
    plan.cells[axis] = int32(extent if fits else limit)
    plan.per_cells[axis] = 0.0 if fits else 1.0 / limit
    return plan


@func
def cell_count(plan: HashGridPlan) -> float64:
    return float64(plan.cells[0]) * float64(plan.cells[1]) * float64(plan.cells[2]) * float64(plan.layers)


@func
def laid_out(plan: HashGridPlan, low: vec3d, high: vec3d, radius: float64, dims: vec3i, limit: float64) -> HashGridPlan:
    """Choose cells: as fine along x as `limit` cells in all allow, then as large a table as it allows."""
    scale = 1.0 / radius
    fine = float64(FINEST)
    most = vec3d(float64(dims[0]) * fine, float64(dims[1]), float64(dims[2]))
    for axis in range(3):
        plan = planned_axis(plan, axis, low[axis], high[axis], scale * (fine if axis == 0 else 1.0), most[axis])
    while fine > 1.0 and cell_count(plan) > limit:
        fine = fine * 0.5
        plan = planned_axis(plan, 0, low[0], high[0], scale * fine, float64(dims[0]) * fine)
    while cell_count(plan) > limit:
        axis = int32(0)
        for other in range(1, 3):
            if plan.cells[other] > plan.cells[axis]:
                axis = other
        if plan.layers > plan.cells[axis]:
            plan.layers = (plan.layers + 1) // 2
        else:
            half = float64((plan.cells[axis] + 1) // 2)
            plan = planned_axis(plan, axis, low[axis], high[axis], scale * (fine if axis == 0 else 1.0), half)
    return plan


@EXACT
def make_plan(
    low: array(dtype=vec3d), high: array(dtype=vec3d), low_group: array(dtype=int32), high_group: array(dtype=int32),
    pieces: int32, grouped: int32, radius: float64, dims: vec3i, period: vec3d, max_cells: int32, buckets: int32,
    plan: array(dtype=HashGridPlan), starts: array(dtype=int32),
):  # fmt: skip
    """Lay out the table around all points; one thread."""
    a = vec3d(_INFINITE, _INFINITE, _INFINITE)
    b = -a
    first = int32(_LARGEST_INT)
    last = int32(_SMALLEST_INT)
    for piece in range(pieces):
        a = min(a, low[piece])
        b = max(b, high[piece])
        first = min(first, low_group[piece])
        last = max(last, high_group[piece])
    for axis in range(3):
        if a[axis] > b[axis]:  # no point has a number there
            a[axis] = 0.0
            b[axis] = 0.0
    made = HashGridPlan()
    made.period = period
    made.grouped = grouped
    made.layers = 1
    if grouped != 0 and first <= last:
        made.first_group = first
        made.layers = int32(min(float64(last) - float64(first) + 1.0, float64(max_cells)))
    made = laid_out(made, a, b, radius, dims, float64(max_cells))
    total = int32(cell_count(made))
    while (total >> made.shift) >= buckets:
        made.shift = made.shift + 1
    plan[0] = made
    starts[0] = 0


# ----- sort -------------------------------------------------------------------------------------


@func
def place_along(plan: HashGridPlan, axis: int, x: float64) -> int32:
    cell = cell_number(x * plan.scale[axis]) - plan.origin[axis]
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


@EXACT
def count_buckets(
    points: array(dtype=Any), groups: array(dtype=int32), count: int32, plan: array(dtype=HashGridPlan),
    buckets: int32, cells: array(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """The cell of every point, and how many points each piece has in each bucket (row `piece` of `counts`)."""
    piece = tid()
    row = piece * buckets
    p = plan[0]
    begin = piece * PIECE
    end = min(begin + PIECE, count)
    if p.grouped != 0:
        for i in range(begin, end):
            cells[i] = cell_of(p, points[i], layer_of(p, groups[i]))
    else:
        for i in range(begin, end):
            cells[i] = cell_of(p, points[i], 0)
    for k in range(buckets):
        counts[row + k] = 0
    for k in range(PIECE):
        if begin + k < end:
            bucket = row + (cells[begin + k] >> p.shift)
            counts[bucket] = counts[bucket] + 1


@EXACT
def add_pieces(buckets: int32, pieces: int32, counts: array(dtype=int32), firsts: array(dtype=int32)):
    """For each bucket, where the points of each piece start in it; its size goes to `firsts`."""
    bucket = tid()
    total = int32(0)
    for piece in range(pieces):
        k = piece * buckets + bucket
        here = counts[k]
        counts[k] = total
        total = total + here
    firsts[bucket] = total


@EXACT
def add_buckets(buckets: int32, firsts: array(dtype=int32)):
    """Sizes of buckets become their first places; one thread."""
    total = int32(0)
    for bucket in range(buckets):
        here = firsts[bucket]
        firsts[bucket] = total
        total = total + here
    firsts[buckets] = total


@func
def image_of(p: Any, period: vec3d) -> Any:
    """The image of a position in the first period."""
    if period[0] == 0.0 and period[1] == 0.0 and period[2] == 0.0:
        return p
    image = type(p)()
    for axis in range(3):
        image[axis] = p.dtype(image_in_period(float64(p[axis]), period[axis]))
    return image


@EXACT
def deal(
    points: array(dtype=Any), count: int32, plan: array(dtype=HashGridPlan), buckets: int32,
    cells: array(dtype=int32), firsts: array(dtype=int32), counts: array(dtype=int32), dealt: array(dtype=Any),
):  # fmt: skip
    """Deal the points of each piece to their buckets, in order. They take their positions along: the second half
    of the sort then reads memory from front to back."""
    piece = tid()
    row = piece * buckets
    shift = plan[0].shift
    period = plan[0].period
    for k in range(buckets):
        counts[row + k] = counts[row + k] + firsts[k]
    for k in range(PIECE):
        i = piece * PIECE + k
        if i < count:
            item = dealt.dtype()
            item.cell = cells[i]
            item.index = i
            item.position = image_of(points[i], period)
            bucket = row + (item.cell >> shift)
            at = counts[bucket]
            counts[bucket] = at + 1
            dealt[at] = item


@EXACT
def sort_buckets(
    groups: array(dtype=int32), plan: array(dtype=HashGridPlan), firsts: array(dtype=int32), dealt: array(dtype=Any),
    starts: array(dtype=int32), point: array(dtype=int32), group: array(dtype=int32),
    x: array(dtype=Any), y: array(dtype=Any), z: array(dtype=Any),
):  # fmt: skip
    """Sort each bucket by cell. Entry c + 1 of `starts` counts cell c, then is where its next point goes."""
    bucket = tid()
    shift = plan[0].shift
    grouped = plan[0].grouped
    begin = firsts[bucket]
    end = firsts[bucket + 1]
    low = (bucket << shift) + 1
    high = min(low + (1 << shift), int32(cell_count(plan[0])) + 2)
    for c in range(low, high):
        starts[c] = 0
    for k in range(begin, end):
        c = dealt[k].cell + 1
        starts[c] = starts[c] + 1
    total = begin
    for c in range(low, high):
        here = starts[c]
        starts[c] = total
        total = total + here
    for k in range(begin, end):
        item = dealt[k]
        c = item.cell + 1
        at = starts[c]
        starts[c] = at + 1
        point[at] = item.index
        x[at] = item.position[0]
        y[at] = item.position[1]
        z[at] = item.position[2]
        if grouped != 0:
            group[at] = groups[item.index]

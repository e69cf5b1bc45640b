"""A build of hash grids for few fast threads: a counting sort of two levels, which stays in the cache.

Pieces of `PIECE` points count and then deal their points to *buckets*, ranges of cells; each bucket then sorts its own
by cell. Every piece and every bucket is one thread, and owns what it writes. See `build` for what holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.language import Kernel, array, empty, float32, float64, int32, launch, max, min, tid, uint32, vec3d
from .build import EXACT, INFINITE, LARGEST_INT, SMALLEST_INT, Table, Task
from .build import cell_count, cell_of, higher, image_of, layer_of, lower, make_plan, most_cells
from .data import DealtD, DealtF, HashGridPlan

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

PIECE = 4096
_MOST_BUCKETS = 1000  # no power of two: places a power of two apart compete for the same lines of a cache
_BUCKET_POINTS = 500  # so few that a bucket is sorted in the fastest cache


@EXACT
def find_extent(
    points: array(dtype=Any),
    groups: array(dtype=int32),
    grouped: int32,
    count: int32,
    low: array(dtype=vec3d),
    high: array(dtype=vec3d),
    low_group: array(dtype=int32),
    high_group: array(dtype=int32),
):
    """The box around the points of each piece, and the range of their groups."""
    piece = tid()
    a = vec3d(INFINITE, INFINITE, INFINITE)
    b = -a
    first = int32(LARGEST_INT)
    last = int32(SMALLEST_INT)
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


@EXACT
def count_buckets(
    points: array(dtype=Any),
    groups: array(dtype=int32),
    count: int32,
    plan: array(dtype=HashGridPlan),
    buckets: int32,
    cells: array(dtype=int32),
    counts: array(dtype=int32),
):
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
            bucket = uint32(row + (cells[begin + k] >> p.shift))  # unsigned: no index that may count from the end
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


@EXACT
def deal(
    points: array(dtype=Any),
    count: int32,
    plan: array(dtype=HashGridPlan),
    buckets: int32,
    cells: array(dtype=int32),
    firsts: array(dtype=int32),
    counts: array(dtype=int32),
    dealt: array(dtype=Any),
):
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
    groups: array(dtype=int32),
    plan: array(dtype=HashGridPlan),
    firsts: array(dtype=int32),
    dealt: array(dtype=Any),
    starts: array(dtype=int32),
    point: array(dtype=int32),
    group: array(dtype=int32),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
):
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


# ----- the build --------------------------------------------------------------------------------


class BucketBuild:
    """The memory of builds of up to `count` points."""

    def __init__(self, count: int, dtype: type, device: Device):
        pieces, buckets = piece_count(count), bucket_count(count)
        self._low, self._high = (empty(pieces, vec3d, device) for _ in range(2))
        self._low_group, self._high_group = (empty(pieces, int32, device) for _ in range(2))
        self._cells = empty(count, int32, device)
        self._dealt = empty(count, DealtF if dtype is float32 else DealtD, device)
        self._counts, self._firsts = empty(pieces * buckets, int32, device), empty(buckets + 1, int32, device)

    def arrays(self) -> list[Any]:
        """What a build fills beside the table."""
        extents = [self._low, self._high, self._low_group, self._high_group]
        return [*extents, self._cells, self._dealt, self._counts, self._firsts]

    def sort(self, task: Task, table: Table) -> None:
        """Fill the table with one or more points."""
        count, device = task.points.size, table.plan.device
        pieces, buckets = piece_count(count), bucket_count(count)

        def run(kernel: Kernel, dim: int, *args: object) -> None:
            launch(kernel, dim, args, device=device, record_tape=False)

        extents = [self._low, self._high, self._low_group, self._high_group]
        run(find_extent, pieces, task.points, task.groups, task.grouped, count, *extents)
        asked = [task.radius, task.dims, task.period, most_cells(count)]
        run(make_plan, 1, *extents, pieces, task.grouped, *asked, buckets, table.plan, table.starts)
        points = [task.points, task.groups, count, table.plan]
        run(count_buckets, pieces, *points, buckets, self._cells, self._counts)
        run(add_pieces, buckets, buckets, pieces, self._counts, self._firsts)
        run(add_buckets, 1, buckets, self._firsts)
        dealt = [self._cells, self._firsts, self._counts, self._dealt]
        run(deal, pieces, task.points, count, table.plan, buckets, *dealt)
        filled = [table.starts, table.point, table.group, *table.coordinates]
        run(sort_buckets, buckets, task.groups, table.plan, self._firsts, self._dealt, *filled)


def piece_count(count: int) -> int:
    """In how many pieces a build cuts `count` points."""
    return -(-count // PIECE)


def bucket_count(count: int) -> int:
    """Into how many buckets a build deals `count` points."""
    return int(max(1, min(count // _BUCKET_POINTS, _MOST_BUCKETS)))

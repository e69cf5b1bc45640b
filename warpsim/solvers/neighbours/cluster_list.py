"""Cluster lists: neighbours of sixteen particles at a time, which then are the lanes of vectors.

S. Pall and B. Hess 2013 (Comput. Phys. Commun. 184, 2641). Sixteen particles that follow each other in memory share one
row of neighbours, all that come near to any of them: a launch over (clusters, SIZE) reads every neighbour once for all
lanes, and nothing is gathered. What is in a row but not near to a particle must count as nothing by itself, as it does
where kernels end at a distance. Rows have a margin, as Verlet's lists have, so that they serve many steps.

Points may lie in segments, such as worlds, that do not see each other. The last cluster of a segment then has the last
SIZE of its points, of which the cluster before it owns some, so that all lanes are of one segment.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.language import Array, Float, Vec, array, array2d, int32, uint64
from ...core.language import dot, empty, func, generic_struct, kernel, launch, length, max, min, struct, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from ..scene.memory import Memory, refill, require_range
from .verlet_list import vector_of

SIZE = 16
"""Particles of a cluster; the last one may have fewer."""
_SPREAD = 1.5  # half the diagonal of a cluster, in the reach, above which its particles are looked up one by one


@struct
class Row:
    """The neighbours of one cluster, which kernels loop over: `for j in row`."""

    ids: array2d(dtype=int32)
    cluster: int32
    count: int32


@func
def count_of_row(row: Row) -> int32:
    """How many neighbours there are."""
    return row.count


@func
def neighbour_in_row(row: Row, k: int32) -> int32:
    """One of them."""
    return row.ids[row.cluster, k]


Row.items_in_kernel = count_of_row, neighbour_in_row


@generic_struct
class Search:
    """What rows are found by: points x, the grid that was built of them, and the clusters, as in `ClusterList`, whose
    first point is x[begin]. reach: how far neighbours may be; period: see `ClusterList` [m]."""

    grid: uint64
    reach: Float
    period: Vec[3, Float]
    begin: int32
    firsts: array(dtype=int32)
    lasts: array(dtype=int32)
    groups: array(dtype=int32)
    x: Array[Vec[3, Float]]


class ClusterList(Fixed):
    """Rows of neighbours for points from `first` on in segments of some sizes, of all points in `grid`, or for each
    segment of one of its groups.

    counts: int32 (clusters,). ids: int32 (clusters, capacity). Row c is `ids[c, 0]` to `ids[c, counts[c] - 1]`.
    Counted from `first`, the lanes of cluster c are points from starts[c] on, of which it owns firsts[c] to
    lasts[c] - 1; groups[c]: the group of its segment. int32 (clusters,). Where a segment has fewer than SIZE points,
    as `has_short` says of any, lanes behind it are of the next one; they own nothing either.
    """

    def __init__(
        self, grid: HashGrid, first: int, sizes: Sequence[int], period: Sequence[float],
        groups: Sequence[int] | None = None,
    ):  # fmt: skip
        self.grid, self.first, self.grouped = grid, first, groups is not None
        parts = np.asarray(sizes, dtype=np.int64)
        rows = -(-parts // SIZE)
        self.has_short = bool(((parts > 0) & (parts < SIZE)).any())
        self.clusters = int(rows.sum())
        segment, begins = np.repeat(np.arange(len(parts)), rows), np.cumsum(parts) - parts
        nth = np.arange(self.clusters) - np.repeat(np.cumsum(rows) - rows, rows)
        firsts, ends = begins[segment] + SIZE * nth, (begins + parts)[segment]
        starts = np.maximum(np.minimum(firsts, ends - SIZE), begins[segment])
        lasts = np.minimum(firsts + SIZE, ends)
        own = np.zeros(self.clusters) if groups is None else np.asarray(groups)[segment]
        self.starts, self.firsts, self.lasts, self.groups = (
            array(a.astype(np.int32), dtype=int32, device=grid.device) for a in (starts, firsts, lasts, own)
        )
        self.period = vector_of(period, grid.dtype)
        self.counts = zeros(self.clusters, int32, grid.device)
        self.ids = empty((self.clusters, 0), int32, grid.device)

    @property
    def dim(self) -> tuple[int, int]:
        """Of launches with a thread for each particle."""
        return self.clusters, SIZE

    def rebuild(self, x: array, reach: float) -> None:
        """List points less than `reach` [m] from those of each cluster, as the grid was built from `x`."""
        self._visit(x, reach)
        longest = int(self.counts.numpy().max(initial=0))
        if longest > self.ids.shape[1]:
            self._put(ids=empty((self.clusters, longest + longest // 4 + 8), int32, self.grid.device))
            self._visit(x, reach)

    def memory(self) -> Memory:
        """What a saved scene keeps of the rows."""
        return {"counts": self.counts, "ids": self.ids}

    def recall(self, memory: Mapping[str, Any], points: int) -> None:
        """Take that over. Raises `StateError` for rows longer than they can be, and for neighbours that are none."""
        counts, ids = memory["counts"].numpy(), memory["ids"].numpy()
        width = ids.shape[-1]
        require_range("the length of a row of neighbours", counts, width + 1)
        require_range("a neighbour", ids[np.arange(width) < counts[:, None]], points)
        refill("counts", self.counts, memory["counts"])
        if width != self.ids.shape[1]:
            self._put(ids=empty((self.clusters, width), int32, self.grid.device))
        refill("ids", self.ids, memory["ids"])

    def _visit(self, x: array, reach: float) -> None:
        grid, clusters = self.grid, [self.first, self.firsts, self.lasts, self.groups]
        search = Search[grid.dtype](grid.id, grid.dtype(reach), self.period, *clusters, x)
        args = [search, self.counts, self.ids]
        launch(_visit_kernel(self.grouped), self.clusters, args, device=grid.device, record_tape=False)


@func
def is_near(search: Any, a: Any, b: Any, half: Any) -> bool:
    """Whether point b is in reach of a box with the middle a and half lengths `half`."""
    d = nearest_image(b - a, search.period)
    outside = type(d)(d[0] * 0.0)
    for axis in range(3):
        outside[axis] = max(max(d[axis], -d[axis]) - half[axis], d[axis] * 0.0)
    return dot(outside, outside) < search.reach * search.reach


@func
def bounding_box(search: Any, first: int32, last: int32):
    """Middle and half lengths of the box around some points."""
    low = search.x[first] * 0.0
    high = low
    for i in range(first + 1, last):
        d = nearest_image(search.x[i] - search.x[first], search.period)
        low, high = min(low, d), max(high, d)
    return search.x[first] + 0.5 * (low + high), 0.5 * (high - low)


@func
def is_listed(search: Any, first: int32, last: int32, j: int32) -> bool:
    """Whether point j is in reach of one of some points."""
    near = False
    for i in range(first, last):
        d = nearest_image(search.x[i] - search.x[j], search.period)
        if dot(d, d) < search.reach * search.reach:
            near = True
            break
    return near


@functools.cache
def _visit_kernel(grouped: bool) -> Any:
    """The kernel that counts neighbours of clusters, and writes as many into their rows as there is room for."""

    @kernel(enable_backward=False)
    def visit(search: Any, counts: array(dtype=int32), ids: array(dtype=int32, ndim=2)):
        c = tid()
        first, last = search.begin + search.firsts[c], search.begin + search.lasts[c]
        middle, half = bounding_box(search, first, last)
        spread = length(half)
        far, parts, count = spread + search.reach, int32(1), int32(0)
        if not spread < _SPREAD * search.reach:  # of NaN neither
            far, parts = search.reach, last - first
        for part in range(parts):
            if parts > 1:
                middle = search.x[first + part]
            if grouped:
                for j in hash_grid_neighbors(search.grid, middle, far, search.groups[c]):
                    if is_new(search, first, part, j, middle, half, parts > 1):
                        if count < ids.shape[1]:
                            ids[c, count] = j
                        count += 1
            else:
                for j in hash_grid_neighbors(search.grid, middle, far):
                    if is_new(search, first, part, j, middle, half, parts > 1):
                        if count < ids.shape[1]:
                            ids[c, count] = j
                        count += 1
        counts[c] = count

    return visit


@func
def is_new(search: Any, first: int32, part: int32, j: int32, middle: Any, half: Any, single: bool) -> bool:
    """Whether a point belongs in the row: of a box, or of its points one by one, where it does not stand yet."""
    if single:
        return not is_listed(search, first, first + part, j)
    return is_near(search, middle, search.x[j], half)

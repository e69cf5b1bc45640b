"""Verlet lists: for each particle those near it, with a margin, so that a list serves many steps.

L. Verlet 1967 (Phys. Rev. 159, 98). A pair is listed while its surfaces are less than `skin` apart when the list is
built; until some particle has moved by half of that, no pair that is not listed can touch. Every pair stands twice,
once in the row of each of the two: a thread sums the forces on its own particle, without atomics.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import Array, Float, Kernel, Vec, array, int32, uint64
from ...core.language import array_scan, atomic_max, dot, empty, full, func, generic_struct, kernel, launch, max, min
from ...core.language import tid, vector, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.creation import copy
from ...core.runtime.devices.capture import current_graph
from ...errors import StateError
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from ..scene.memory import Memory, refill, refill_all, require, require_range
from .cell_sort import CellSort

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device


_WIDTH = 16  # neighbours that are kept of a search; a bed has 8 to 12, and those with more are looked for twice


@generic_struct
class Search:
    """What neighbours are found by: a grid, and packed particles q in their order before it was built. largest: of the
    radii [m]; skin, period, world: see `VerletList`; order, rank: see `CellSort`."""

    grid: uint64
    largest: Array[Float]
    skin: Float
    period: Vec[3, Float]
    q: Array[Vec[4, Float]]
    world: array(dtype=int32)
    order: array(dtype=int32)
    rank: array(dtype=int32)


@func
def position(q: Vec[4, Float]) -> Vec[3, Float]:
    """Where a packed particle (x, y, z, radius) is [m]."""
    return vector(q[0], q[1], q[2])


class Rows(Fixed):
    """Neighbours of every particle: row i is `ids[offsets[i]]` to `ids[offsets[i + 1] - 1]`, in the grid's order.

    offsets: int32 (particles + 1,). ids: int32 (capacity,).
    """

    def __init__(self, count: int, capacity: int, device: Device):
        self.offsets = zeros(count + 1, int32, device)
        self.ids = empty(capacity, int32, device)

    @property
    def capacity(self) -> int:
        return self.ids.size

    @property
    def size(self) -> int:
        """How many neighbours all rows hold; waits for the device."""
        return int(self.offsets.numpy()[-1])

    def widen(self, capacity: int) -> None:
        """Take another array for ids, with those that there are."""
        ids = self.ids
        self._put(ids=zeros(capacity, int32, ids.device))
        copy(self.ids, ids, count=ids.size)


class VerletList(Fixed):
    """Lists of pairs of packed particles, vec4 (x, y, z, radius) [m], that are sorted by the cells of a grid.

    skin [m]: the margin. width: of the cells [m], best twice the largest radius and the skin; lists are right with any.
    period: lengths after which space repeats along each axis [m], 0 for none. grouped: whether there are several
    worlds.

    rows: the present lists. previous: those before: rows in the order before, of particles by their present numbers.
    sort: how that order changed.
    outdated: one int32, not zero when a particle has moved so far that the lists may lack a pair. builds: how often
    lists were built.

    Lists grow when the host builds them. In a graph they cannot: more neighbours than there is room for fail the
    graph's launch, and what is read stays in bounds.
    """

    def __init__(
        self,
        count: int,
        skin: float,
        width: float,
        period: Sequence[float],
        dtype: type,
        device: Device,
        grouped: bool = False,
    ):
        self.count, self.skin, self.width, self.device, self.dtype = count, skin, width, device, dtype
        self.period = tuple(float(length) for length in period)
        self.period_vector = vector_of(self.period, dtype)
        self.grid = HashGrid(128, 128, 128, device=device, dtype=dtype)
        self.grouped = grouped
        self.grid.reserve(count, grouped)
        self.sort = CellSort(self.grid, count)
        self.rows, self.previous = Rows(count, 0, device), Rows(count, 0, device)
        self.outdated = full(1, 1, int32, device)
        self.builds = 0
        self._points = empty(count, type(self.period_vector), device)
        self._starts = zeros(count + 1, int32, device)
        self._near = empty((count, _WIDTH), int32, device)
        self._largest = zeros(1, dtype, device)
        self._graphs: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def limit(self) -> Any:
        """The way [m] after which a particle outdates the lists: half the skin."""
        return self.dtype(0.5 * self.skin)

    @property
    def is_outdated(self) -> bool:
        """Whether the lists may lack a pair; waits for the device."""
        return bool(self.outdated.numpy()[0])

    @property
    def scratch(self) -> list[Any]:
        """What a build fills before it reads it."""
        arrays = [self.previous.offsets, self.previous.ids, self._points, self._starts, self._near, self._largest]
        return [*arrays, self.sort.order, self.sort.rank, self.grid]

    def rebuild(self, q: array, world: array, target: array) -> None:
        """List the neighbours of particles `q`, in the world of each, which go in the order of the grid's cells to
        `target`."""
        graph = current_graph()
        self._largest.zero_()
        self._run(_take_points, q, self._points, self._largest)
        self.grid.build(self._points, self.width, world if self.grouped else None, self.period)
        self.sort.update()
        self.sort.gather(q, target)
        rows, previous = self.rows, self.previous
        copy(previous.offsets, rows.offsets)
        self._run(_renumber, self.sort.rank, rows.offsets, rows.ids, previous.ids)
        box = [self._largest, self.dtype(self.skin), self.period_vector]
        search = Search[self.dtype](self.grid.id, *box, q, world, self.sort.order, self.sort.rank)
        self._run(_find, search, self._starts, self._near)
        array_scan(self._starts, self._starts, inclusive=False)
        if graph is None:
            self._make_room(int(self._starts.numpy()[-1]))
        else:
            self._graphs.add(graph)
        launch(_limit_rows, self.count + 1, [self._starts, rows.ids, rows.offsets], device=self.device)
        self._run(_fill, search, rows.offsets, self._near, rows.ids)
        self.outdated.zero_()
        self._put(builds=self.builds + 1)

    def reserve(self, capacity: int) -> None:
        """Make room for so many neighbours in all rows together.

        Raises `StateError` while a graph holds the lists that there are, `CheckpointError` in a checkpointed loop.
        """
        if capacity <= self.rows.capacity:
            return
        if any(True for _ in self._graphs):
            raise StateError(
                f"lists of {self.rows.capacity // 2} pairs are too short for {capacity // 2}, and a graph holds them\n"
                "help: make room with reserve() before the capture, or drop the graph"
            )
        for tape in saved_contents.active():
            tape.note_replaced(f"a list of {capacity // 2} pairs", "make room with solver.reserve() before the loop")
        self.rows.widen(capacity)
        self.previous.widen(capacity)

    def _make_room(self, total: int) -> None:
        if total > self.rows.capacity:
            self.reserve(total + total // 4 + 64)

    def memory(self) -> Memory:
        """What a saved scene keeps of the lists."""
        return {"offsets": self.rows.offsets, "ids": self.rows.ids, "outdated": self.outdated, "builds": self.builds}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over. Raises `StateError` for rows and neighbours that cannot be."""
        offsets, ids = memory["offsets"].numpy(), memory["ids"].numpy()
        rising = bool((np.diff(offsets) >= 0).all()) and offsets[0] == 0 and offsets[-1] <= len(ids)
        require(rising, "offsets of neighbours", f"rising numbers from 0 to {len(ids)}")
        require_range("a neighbour", ids[: offsets[-1]], self.count)
        self.reserve(len(ids))
        same = {"offsets": self.rows.offsets, "outdated": self.outdated}
        refill_all(memory, same)
        refill("ids", self.rows.ids[: len(ids)], memory["ids"])
        self._put(builds=int(memory["builds"]))

    def carry(self, source: array, target: array) -> None:
        """Hand what is kept per pair on from the previous lists to the present ones; zero for pairs that are new."""
        before, now = self.previous, self.rows
        self._run(_carry, self.sort.order, before.offsets, before.ids, now.offsets, now.ids, source, target)

    def copy_rows(self, source: array, target: array) -> None:
        """Copy what is kept per pair, and leave alone what stands behind the last row."""
        self._run(_copy_rows, self.rows.offsets, source, target)

    def _run(self, kernel: Kernel, *args: object) -> None:
        launch(kernel, self.count, args, device=self.device)


def vector_of(values: Iterable[float], dtype: type) -> Any:
    """A vec3 of a precision."""
    return vector(*(dtype(v) for v in values))


@func
def note_moved(outdated: array(dtype=int32), limit: Float, q: Vec[4, Float], seen: Vec[4, Float]):
    """Note that the surface of a packed particle may be more than `limit` [m] outside of where the lists saw it."""
    offset = position(q) - position(seen)
    room = limit - max(q[3] - seen[3], limit * 0.0)
    if room < 0.0 or dot(offset, offset) > room * room:
        atomic_max(outdated, 0, int32(1))


@func
def are_neighbours(a: Any, b: Any, search: Any) -> bool:
    """Whether the surfaces of two packed particles are less than the skin apart."""
    d = nearest_image(position(a) - position(b), search.period)
    reach = a[3] + b[3] + search.skin
    return dot(d, d) < reach * reach


@kernel(enable_backward=False)
def _take_points(q: array(dtype=Any), points: array(dtype=Any), largest: array(dtype=Any)):
    i = tid()
    points[i] = position(q[i])
    atomic_max(largest, 0, q[i][3])


@kernel(enable_backward=False)
def _renumber(
    rank: array(dtype=int32), offsets: array(dtype=int32), ids: array(dtype=int32), renumbered: array(dtype=int32)
):
    k = tid()
    for at in range(offsets[k], offsets[k + 1]):
        renumbered[at] = rank[ids[at]]


@kernel(enable_backward=False)
def _find(search: Any, counts: array(dtype=int32), near: array(dtype=int32, ndim=2)):
    """How many neighbours each particle has, and the first ones of them."""
    k = tid()
    i = search.order[k]
    a = search.q[i]
    number = int32(0)
    for j in hash_grid_neighbors(search.grid, position(a), a[3] + search.largest[0] + search.skin, search.world[i]):
        if j != i:
            if are_neighbours(a, search.q[j], search):
                if number < near.shape[1]:
                    near[k, number] = search.rank[j]
                number += 1
    counts[k] = number


@kernel(enable_backward=False)
def _limit_rows(starts: array(dtype=int32), ids: array(dtype=int32), offsets: array(dtype=int32)):
    """Rows of the lists, cut to the room that there is; says so where that is too little."""
    i = tid()
    room = ids.shape[0]
    offsets[i] = min(starts[i], room)
    assert starts[i] <= room, "more neighbours than a graph has room for; help: solver.reserve() before the capture"


@kernel(enable_backward=False)
def _fill(search: Any, offsets: array(dtype=int32), near: array(dtype=int32, ndim=2), ids: array(dtype=int32)):
    """Rows of the lists: copies of what was found, but of those that are longer."""
    k = tid()
    at, end = offsets[k], offsets[k + 1]
    if end - at <= near.shape[1]:
        for n in range(end - at):
            ids[at + n] = near[k, n]
        return
    i = search.order[k]
    a = search.q[i]
    for j in hash_grid_neighbors(search.grid, position(a), a[3] + search.largest[0] + search.skin, search.world[i]):
        if j != i:
            if are_neighbours(a, search.q[j], search):
                if at < end:
                    ids[at] = search.rank[j]
                at += 1


@kernel
def _carry(
    order: array(dtype=int32),
    old_offsets: array(dtype=int32),
    old_ids: array(dtype=int32),
    offsets: array(dtype=int32),
    ids: array(dtype=int32),
    source: array(dtype=Any),
    target: array(dtype=Any),
):
    k = tid()
    i = order[k]
    for at in range(offsets[k], offsets[k + 1]):
        value = target.dtype()
        for old in range(old_offsets[i], old_offsets[i + 1]):
            if old_ids[old] == ids[at]:
                value = source[old]
        target[at] = value


@kernel
def _copy_rows(offsets: array(dtype=int32), source: array(dtype=Any), target: array(dtype=Any)):
    k = tid()
    for at in range(offsets[k], offsets[k + 1]):
        target[at] = source[at]

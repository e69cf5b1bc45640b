"""Verlet lists: for each particle those near it, with a margin, so that a list serves many steps.

L. Verlet 1967 (Phys. Rev. 159, 98). A pair is listed while its surfaces are less than `skin` apart when the list is
built; until some particle has moved by half of that, no pair that is not listed can touch. Every pair stands twice,
once in the row of each of the two: a thread sums the forces on its own particle, without atomics.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.language import (
    Float, Vec, array, array_scan, atomic_max, dot, empty, float32, full, func, int32, kernel, launch, tid, uint64,
    vector, zeros,
)  # fmt: skip
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.neighbors import hash_grid_neighbors, nearest_image
from .cell_sort import CellSort


@func
def position(q: Vec[4, Float]) -> Vec[3, Float]:
    """Where a packed particle (x, y, z, radius) is [m]."""
    return vector(q[0], q[1], q[2])


class Rows:
    """Neighbours of every particle: row i is `ids[offsets[i]]` to `ids[offsets[i + 1] - 1]`, in the grid's order.

    offsets: int32 (particles + 1,). ids: int32 (capacity,).
    """

    def __init__(self, count: int, capacity: int, device: Any):
        self.offsets = zeros(count + 1, int32, device)
        self.ids = empty(capacity, int32, device)

    @property
    def capacity(self) -> int:
        return self.ids.size


class VerletList:
    """Lists of pairs of packed particles, vec4 (x, y, z, radius) [m], that are sorted by the cells of a grid.

    skin [m]: the margin. largest: twice the largest radius [m]. period: lengths after which space repeats along each
    axis [m], 0 for none.

    rows: the present lists. previous: those before, of particles in the order before. sort: how that order changed.
    builds: how often lists were built.
    """

    def __init__(self, count: int, skin: float, largest: float, period: Any, dtype: Any, device: Any):
        self.count, self.skin, self.largest, self.device, self.dtype = count, skin, largest, device, dtype
        self.period = tuple(float(length) for length in period)
        self.period_vector = vector_of(self.period, dtype)
        self.grid = HashGrid(128, 128, 128, device=device, dtype=dtype)
        self.grid.reserve(count)
        self.sort = CellSort(self.grid, count)
        self.rows, self.previous = Rows(count, 0, device), Rows(count, 0, device)
        self.moved = full(1, math.inf, float32, device)
        self.builds = 0
        self._points = empty(count, type(self.period_vector), device)
        self._counts = zeros(count + 1, int32, device)

    @property
    def outdated(self) -> bool:
        """Whether a particle has moved so far that the lists may lack a pair; waits for the device."""
        return bool(self.moved.numpy()[0] > 0.25 * self.skin * self.skin)

    def rebuild(self, q: Any, target: Any) -> None:
        """List the neighbours of particles `q`, which go in the order of the grid's cells to `target`."""
        self.rows, self.previous = self.previous, self.rows
        self._run(_take_points, q, self._points)
        self.grid.build(self._points, self.largest + self.skin, period=self.period)
        self.sort.update()
        self.sort.gather(q, target)
        reach = self.dtype(self.skin)
        search = [self.grid.id, self.dtype(0.5 * self.largest), reach, self.period_vector, q, self.sort.order]
        self._run(_count, *search, self._counts)
        array_scan(self._counts, self.rows.offsets, inclusive=False)
        total = int(self.rows.offsets.numpy()[-1])
        if total > self.rows.capacity:
            self.rows.ids = empty(total + total // 4 + 64, int32, self.device)
        self._run(_fill, *search, self.sort.rank, self.rows.offsets, self.rows.ids)
        self.moved.zero_()
        self.builds += 1

    def carry(self, source: Any, target: Any) -> None:
        """Hand what is kept per pair on from the previous lists to the present ones; zero for pairs that are new."""
        before, now = self.previous, self.rows
        orders = [self.sort.order, self.sort.rank]
        self._run(_carry, *orders, before.offsets, before.ids, now.offsets, now.ids, source, target)

    def _run(self, kernel: Any, *args: Any) -> None:
        launch(kernel, self.count, args, device=self.device)


def vector_of(values: Any, dtype: Any) -> Any:
    """A vec3 of a precision."""
    return vector(*(dtype(v) for v in values))


@func
def note_moved(moved: array(dtype=float32), offset: Any):
    """Keep the largest squared distance [m^2] that a particle is away from where the lists saw it."""
    atomic_max(moved, 0, float32(dot(offset, offset)))


@func
def listed(a: Any, b: Any, skin: Any, period: Any) -> bool:
    """Whether the surfaces of two packed particles are less than `skin` apart."""
    d = nearest_image(position(a) - position(b), period)
    reach = a[3] + b[3] + skin
    return dot(d, d) < reach * reach


@kernel
def _take_points(q: array(dtype=Any), points: array(dtype=Any)):
    i = tid()
    points[i] = position(q[i])


@kernel
def _count(
    grid: uint64, largest: Any, skin: Any, period: Any, q: array(dtype=Any), order: array(dtype=int32),
    counts: array(dtype=int32),
):  # fmt: skip
    k = tid()
    i = order[k]
    a = q[i]
    number = int32(0)
    for j in hash_grid_neighbors(grid, position(a), a[3] + largest + skin):
        if j != i:
            if listed(a, q[j], skin, period):
                number += 1
    counts[k] = number


@kernel
def _fill(
    grid: uint64, largest: Any, skin: Any, period: Any, q: array(dtype=Any), order: array(dtype=int32),
    rank: array(dtype=int32), offsets: array(dtype=int32), ids: array(dtype=int32),
):  # fmt: skip
    k = tid()
    i = order[k]
    a = q[i]
    at = offsets[k]
    for j in hash_grid_neighbors(grid, position(a), a[3] + largest + skin):
        if j != i:
            if listed(a, q[j], skin, period):
                ids[at] = rank[j]
                at += 1


@kernel
def _carry(
    order: array(dtype=int32), rank: array(dtype=int32), old_offsets: array(dtype=int32), old_ids: array(dtype=int32),
    offsets: array(dtype=int32), ids: array(dtype=int32), source: array(dtype=Any), target: array(dtype=Any),
):  # fmt: skip
    k = tid()
    i = order[k]
    for at in range(offsets[k], offsets[k + 1]):
        value = target.dtype()
        for old in range(old_offsets[i], old_offsets[i + 1]):
            if rank[old_ids[old]] == ids[at]:
                value = source[old]
        target[at] = value

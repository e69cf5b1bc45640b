"""Sorting particles by the cells of a hash grid, so that neighbours in space are neighbours in memory."""

from __future__ import annotations

from typing import Any

from ...core.language import array, empty, int32, kernel, launch, tid, uint64
from ...core.runtime.arrays.fixed import Fixed
from ...geometry.hash_grid.hash_grid import HashGrid
from ...geometry.hash_grid.query import hash_grid_point_id


class CellSort(Fixed):
    """The permutation that puts points into the order of the cells of `grid`.

    order: int32 (points,), the present number of the point that comes k-th. rank: int32 (points,), its inverse.
    """

    def __init__(self, grid: HashGrid, count: int):
        self.grid, self.count = grid, count
        self.order, self.rank = (empty(count, int32, grid.device) for _ in range(2))

    def update(self) -> None:
        """Take the order from the grid as it was built last, from `count` points."""
        launch(_take_order, self.count, [self.grid.id, self.order, self.rank], device=self.grid.device)

    def gather(self, source: array, target: array) -> None:
        """target[k] = source[order[k]]; gradients flow."""
        launch(_gather, self.count, [self.order, source, target], device=self.grid.device)


@kernel
def _take_order(grid: uint64, order: array(dtype=int32), rank: array(dtype=int32)):
    k = tid()
    i = hash_grid_point_id(grid, k)
    order[k] = i
    rank[i] = k


@kernel
def _gather(order: array(dtype=int32), source: array(dtype=Any), target: array(dtype=Any)):
    k = tid()
    target[k] = source[order[k]]

"""Lists of neighbours within a reach beside freud, on several threads: structure and list from nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

import warpsim as wp
from benchmarks.champions.duel import Duel, Side
from benchmarks.geometry.hash_grid import CELLS, REACH, SPACING
from benchmarks.geometry.packing import block

SIDE = 60


@wp.kernel
def count(grid: wp.uint64, points: wp.array[wp.vec3], reach: float, numbers: wp.array[int]):
    i = wp.hash_grid_point_id(grid, wp.tid())
    x, number = points[i], int(0)
    for j in wp.hash_grid_neighbors(grid, x, reach):
        if j != i:
            number += 1
    numbers[i] = number


@wp.kernel
def write(grid: wp.uint64, points: wp.array[wp.vec3], reach: float, ends: wp.array[int], neighbours: wp.array[int]):
    i = wp.hash_grid_point_id(grid, wp.tid())
    x = points[i]
    place = wp.where(i > 0, ends[wp.max(i - 1, 0)], 0)
    for j in wp.hash_grid_neighbors(grid, x, reach):
        if j != i:
            neighbours[place] = j
            place += 1


def duels() -> Iterator[Duel]:
    """freud's two structures; its lists have distances and vectors as well."""
    x = block(SIDE, SPACING)
    for name in ("LinkCell", "AABBQuery"):
        title = f"neighbour lists of {len(x):,} points, {REACH / SPACING:.0f} spacings"
        yield Duel(title, f"freud {version('freud-analysis')}, {name}", own_lists(x), their_lists(x, name), 0.0)


def own_lists(x: np.ndarray) -> Side:
    """Counts, their sums, the list."""
    points, grid = wp.array(x, dtype=wp.vec3), wp.HashGrid(CELLS, CELLS, CELLS)
    numbers, ends = wp.zeros(len(x), dtype=int), wp.zeros(len(x), dtype=int)

    def run() -> None:
        grid.build(points, REACH)
        wp.launch(count, len(x), [grid.id, points, REACH, numbers])
        wp.utils.array_scan(numbers, ends, inclusive=True)
        neighbours = wp.empty(int(ends[-1:].numpy()[0]), dtype=int)
        wp.launch(write, len(x), [grid.id, points, REACH, ends, neighbours])

    return Side(run, numbers.numpy)


def their_lists(x: np.ndarray, structure: str) -> Side:
    """The same in a box so wide that nothing meets its own image."""
    freud = importlib.import_module("freud")
    width = 3.0 * float(np.ptp(x))
    box, centred = freud.box.Box.cube(width), (x - x.mean(axis=0)).astype(np.float32)
    lists: list[Any] = []

    def run() -> None:
        settings = {"cell_width": REACH} if structure == "LinkCell" else {}
        query = getattr(freud.locality, structure)(box, centred, **settings)
        lists[:] = [query.query(centred, {"r_max": REACH, "exclude_ii": True}).toNeighborList()]

    return Side(run, lambda: lists[0].neighbor_counts)

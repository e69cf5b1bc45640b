"""Neighbours of the particles of a fluid, as kernels loop over them: rows of a cluster list, or what a grid finds.

    i, h = search.particle(around), around.h
    for j in search.neighbours(around, x[i]):

A kernel is written once, and made for a `Search`: one that has a thread for each lane of a cluster and takes the row of
that, or one that has a thread for each particle and looks in the hash grid; each for a model of one world, or of many.
Where one of many has fewer particles than a cluster has lanes, those of a thread are read one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.language import Float, Vec, array, array2d, dot, func, generic_struct, int32, max, min, tid, uint64
from ...geometry.hash_grid.neighbors import hash_grid_neighbors
from ..neighbours.cluster_list import SIZE, Row

WATER, WALL = 0, 1
"""Groups of the hash grid of a model of one world."""


@generic_struct
class Around:
    """Where a kernel finds the neighbours of its particles, of fluid or of walls.

    counts, ids: rows of clusters, see `ClusterList`. grid, reach: what is looked up in, and how far [m]. period:
    lengths after which space repeats [m], 0 for none. water, walls: how many particles of each there are. h: smoothing
    length [m]. Of many worlds alone: starts, firsts, lasts, the particles of each cluster, see `ClusterList`; worlds:
    that of each cluster, or of each particle that looks in the grid.
    """

    counts: array(dtype=int32)
    ids: array2d(dtype=int32)
    grid: uint64
    reach: Float
    period: Vec[3, Float]
    water: int32
    walls: int32
    h: Float
    starts: array(dtype=int32)
    firsts: array(dtype=int32)
    lasts: array(dtype=int32)
    worlds: array(dtype=int32)


@dataclass(frozen=True)
class Search:
    """How kernels find neighbours, as kernel functions.

    particle(around): the one that a thread is for. owns(around, i, count): whether it writes that one, of so many; a
    thread that does not computes with it in vain. world(around): the world that it is in. neighbours(around, q): those
    of a particle at q. reaches(d, end): whether an offset is worth a look, of those that may be in a row only with a
    square below `end` [m^2].
    """

    particle: Any
    owns: Any
    world: Any
    neighbours: Any
    reaches: Any


@dataclass(frozen=True)
class Launched:
    """What a launch of a kernel with neighbours takes: how it finds them, in what, and how many threads it has."""

    search: Search
    around: Any
    dim: Any


@dataclass(frozen=True)
class Near:
    """Neighbours of fluid, and those of walls, which are fluid; listed: whether they come from lists."""

    listed: bool
    water: Launched
    walls: Launched


@func
def lane_of_cluster(around: Any) -> int32:
    cluster, lane = tid()
    return cluster * SIZE + lane


@func
def lane_of_segment(around: Any) -> int32:
    cluster, lane = tid()
    start = min(max(around.starts[cluster], int32(0)), cluster * SIZE)  # known limits: lanes write what is their own
    return start + lane


@func
def lane_of_short_segment(around: Any) -> int32:
    """As `lane_of_segment`; lanes behind the end compute with the last particle, not with one of another world.

    Nothing of what they compute is written. Yet in reverse it is multiplied by zero, and zero times NaN is NaN.
    """
    cluster, lane = tid()
    start = around.starts[cluster]
    return min(start + lane, max(around.lasts[cluster] - 1, start))


@func
def is_below(around: Any, i: int32, count: int32) -> bool:
    return i < count


@func
def is_in_segment(around: Any, i: int32, count: int32) -> bool:
    cluster, _lane = tid()
    return i >= around.firsts[cluster] and i < around.lasts[cluster]


@func
def is_in_short_segment(around: Any, i: int32, count: int32) -> bool:
    cluster, lane = tid()
    k = around.starts[cluster] + lane
    return k >= around.firsts[cluster] and k < around.lasts[cluster]


@func
def only_world(around: Any) -> int32:
    return int32(0)


@func
def world_of_cluster(around: Any) -> int32:
    cluster, _lane = tid()
    return around.worlds[cluster]


@func
def world_of_thread(around: Any) -> int32:
    return around.worlds[tid()]


@func
def row_around(around: Any, q: Any) -> Row:
    cluster, _lane = tid()
    return Row(around.ids, cluster, around.counts[cluster])


@func
def is_within(d: Any, end: Any) -> bool:
    """Lanes skip what none of them reaches."""
    return dot(d, d) < end


@func
def thread(around: Any) -> int32:
    return tid()


@func
def all_around(around: Any, q: Any) -> Any:
    return hash_grid_neighbors(around.grid, q, around.reach)


@func
def water_around(around: Any, q: Any) -> Any:
    return hash_grid_neighbors(around.grid, q, around.reach, WATER)


@func
def world_around(around: Any, q: Any) -> Any:
    return hash_grid_neighbors(around.grid, q, around.reach, around.worlds[tid()])


@func
def always(d: Any, end: Any) -> bool:
    return True


LISTED = Search(lane_of_cluster, is_below, only_world, row_around, is_within)
IN_GRID = Search(thread, is_below, only_world, all_around, always)
WATER_IN_GRID = Search(thread, is_below, only_world, water_around, always)
LISTED_BY_WORLD = Search(lane_of_segment, is_in_segment, world_of_cluster, row_around, is_within)
LISTED_BY_SHORT_WORLD = Search(lane_of_short_segment, is_in_short_segment, world_of_cluster, row_around, is_within)
IN_GRID_BY_WORLD = Search(thread, is_below, world_of_thread, world_around, always)

"""Volumes that are built again from other points, under the same id: what they may hold, and whether that fits.

A plan keeps what a volume was made with: map, background, kind of points. Room is counted in nodes of the tree, and
nothing is kept for later: each build takes the memory that its tree needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.language import array, uint32
from ...core.runtime.arrays.array import array as Array
from ...core.types.arrays import type_name
from ...errors import VolumeError
from ..nanovdb.grid import Grid
from ..nanovdb.layout import LEAF_SLOTS
from .allocate import chosen_points
from .data import voxel_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .points import Points

SUCCESS, TOO_MANY_LEAVES, TOO_MANY_LOWER, TOO_MANY_UPPER, TOO_MANY_VOXELS, NO_POINTS = 0, 1, 2, 4, 8, 16
"""Flags of the status of a build."""

_MOST = 2**32 - 1


class Room(NamedTuple):
    """How many voxels, and nodes of 8^3, 128^3 and 4096^3 of them, a volume may have. kind: "tiles", "voxels"."""

    kind: str | None = None
    max_voxel_count: int = 0
    max_leaf_node_count: int = 0
    max_lower_node_count: int = 0
    max_upper_node_count: int = 0

    def flags(self, grid: Grid) -> int:
        """What of a grid does not fit."""
        counts = voxel_count(grid), *grid.node_counts
        names = TOO_MANY_VOXELS, TOO_MANY_LEAVES, TOO_MANY_LOWER, TOO_MANY_UPPER
        limits = self[1:]
        return sum(flag for flag, count, most in zip(names, counts, limits, strict=True) if count > most)


class Plan(NamedTuple):
    """How a volume is built from points, and the room that it has; `room` is None where nothing is limited."""

    build: Callable[[Any], Grid]
    room: Room | None

    @property
    def empty(self) -> Grid:
        """The grid of no points."""
        return self.build(np.zeros((0, 3), np.int32))

    def try_build(self, points: Points, mask: ArrayLike | None) -> tuple[int, Grid | None]:
        """The status of a build, and the grid where it succeeds."""
        if not len(points):
            return NO_POINTS, None
        grid = self.build(chosen_points(points, mask))
        flags = SUCCESS if self.room is None else self.room.flags(grid)
        return flags, None if flags else grid


def room_of(kind: str, points: Points, rebuildable: bool, limits: dict[str, Any]) -> Room | None:
    """The room that was asked for, None where none was: what is not said is as much as the points may need.

    limits: the capacities by name, as `Volume.allocate_by_tiles` or `Volume.allocate_by_voxels` takes them. Raises
    `VolumeError` for numbers that are not from 1 to 2**32 - 1.
    """
    for name, most in limits.items():
        if most is not None and (isinstance(most, bool) or not 1 <= most <= _MOST):
            raise VolumeError(f"{name} is {most!r}\nexpected: a number from 1 to {_MOST}")
    if not rebuildable and all(most is None for most in limits.values()):
        return None
    first, *inner = (None if most is None else int(most) for most in limits.values())
    first = max(1, len(points)) if first is None else first
    leaves = first if kind == "tiles" or inner[0] is None else inner[0]
    voxels = leaves * LEAF_SLOTS if kind == "tiles" else first
    lower, upper = inner[-2:]
    lower = leaves if lower is None else lower
    return Room(kind, voxels, leaves, lower, lower if upper is None else upper)


def tell(status: Array | None, flags: int) -> None:
    """Write the status of a build to an array of the user's."""
    if status is not None:
        status._data[:1] = flags


def check_status(status: Array | None) -> None:
    """Raise `VolumeError` unless a status can be written to it."""
    if status is not None and not (isinstance(status, array) and status.dtype is uint32 and status.size):
        of = type_name(status.dtype) if isinstance(status, array) else type(status).__name__
        raise VolumeError(f"status is {of}\nexpected: an array of uint32 with one element")

"""The surface of a heap of grains, and its angle of repose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from ..particles.gauge_rows import gauge_rows
from ..scene.checks import finite_numbers, refuse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import GrainStatistics

_CELL = 4.0  # mean radii: the side of columns of which each has one highest grain
_LAYER = 3.0  # mean radii: the height of one layer of grains, and half of the next
_ROUNDS = 2  # of asking a line which points are flank; more change nothing


@checked
def heap_surface(
    statistics: GrainStatistics, middle: ArrayLike | None = None, along: ArrayLike | None = None,
    world: int | None = None,
) -> np.ndarray:  # fmt: skip
    """Points of the surface of a heap: distance from its middle and height of the highest grain's top, (n, 2) [m].

    One for each column of about two by two mean diameters that has a grain. middle: a point on the heap's vertical axis
    (3,) [m], None: the centre of mass. along: the horizontal direction (3,) in which a heap between two walls falls
    off; distances are then along it, on both sides. None: heaps that are cones.

    Raises `ModelError` for no grains, for a direction that is vertical, and for numbers that are not finite.
    """
    rows, up = gauge_rows(statistics, world), "XYZ".index(statistics.model.up_axis)
    refuse(((not len(rows), "there is no grain", "a heap"),))
    q = statistics.state.particle_q.numpy().astype(np.float64)[rows]
    radii = statistics.model.particle_radius.numpy().astype(np.float64)[rows]
    axis = q.mean(axis=0) if middle is None else finite_numbers(middle, "middle", (3,))
    level, top = np.delete(q - axis, up, axis=1), q[:, up] + radii
    column = _columns(level, _CELL * radii.mean())
    order = np.lexsort((top, column))
    highest = order[np.append(np.diff(column[order]) > 0, True)]
    distance = np.linalg.norm(level, axis=1)
    if along is not None:
        way = np.delete(finite_numbers(along, "along", (3,)), up)
        length = float(np.linalg.norm(way))
        refuse(((not length > 0.0, f"along is {along}", "a direction that is not vertical"),))
        distance = np.abs(level @ way) / length
    return np.stack([distance[highest], top[highest]], axis=1)


@checked
def angle_of_repose(
    statistics: GrainStatistics, middle: ArrayLike | None = None, along: ArrayLike | None = None,
    part: Sequence[float] = (0.2, 0.8), world: int | None = None,
) -> float:  # fmt: skip
    """The angle between the flank of a heap and the horizontal [deg].

    Of the straight line through `heap_surface` by least squares; part: of the heap's height, from the lowest grain to
    the highest, that is flank, but for the lowest layer of grains, which lies around a heap: foot and top are round.
    Which points these are is asked of the line, not of their own heights, as rough surfaces would look flatter by a
    degree. The mean over all sides of the heap, as the angle that is measured on pictures of it (H. Beakawi Al-Hashemi
    and O. Baghabra Al-Amoudi 2018, Powder Technology 330, 397).

    Raises `ModelError` where fewer than 3 points of the surface are flank.
    """
    low, high = numbers(part, "part", (2,)).tolist()
    refuse(((not 0.0 <= low < high <= 1.0, f"part is {part}", "two of 0 to 1, the lower first"),))
    distance, height = heap_surface(statistics, middle, along, world).T
    rows, up = gauge_rows(statistics, world), "XYZ".index(statistics.model.up_axis)
    radii = statistics.model.particle_radius.numpy()[rows]
    foot = float((statistics.state.particle_q.numpy()[rows, up] - radii).min())
    ends = foot + np.array([high, low]) * (height.max() - foot)
    ends[1] = max(ends[1], foot + _LAYER * float(radii.mean()))
    flank = (height <= ends[0]) & (height >= ends[1])
    slope = _slope(distance, height, flank, part)
    for _ in range(_ROUNDS):
        if slope[0] < 0.0:
            near, far = (ends - slope[1]) / slope[0]
            flank = (distance >= near) & (distance <= far)
            slope = _slope(distance, height, flank, part)
    return -math.degrees(math.atan(slope[0]))


def _columns(level: np.ndarray, side: float) -> np.ndarray:
    """The number of the column of each horizontal place (n, 2) [m]; they divide evenly what all places take up, so that
    none along a wall is so thin that its highest grain lies deep."""
    low, extent = level.min(axis=0), np.ptp(level, axis=0)
    counts = np.maximum(np.round(extent / side), 1.0)
    cells = np.floor((level - low) * counts / np.where(extent > 0.0, extent, 1.0))
    return np.ravel_multi_index(np.minimum(cells, counts - 1.0).astype(int).T, counts.astype(int))


def _slope(distance: np.ndarray, height: np.ndarray, flank: np.ndarray, part: Sequence[float]) -> np.ndarray:
    """Slope [-] and height at no distance [m] of a flank."""
    if np.count_nonzero(flank) < 3:
        raise ModelError(
            f"{np.count_nonzero(flank)} points of the surface are flank, {part} of the heap's height\n"
            "expected: 3 or more\nhelp: a higher heap of smaller grains, or a larger part"
        )
    return np.polyfit(distance[flank], height[flank], 1)

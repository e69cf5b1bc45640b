"""Serpentine order: points along columns of space, up one column and down the next, so that few that follow are far.

Sorted so, any few points that follow each other lie in a short piece of a column, seldom of two neighbouring ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.language import array, float64, int32, int64, vec3d
from ...core.language import empty, floor, func, kernel, launch, min, radix_sort_pairs, tid
from ...core.runtime.arrays.fixed import Fixed

if TYPE_CHECKING:
    from ...core.runtime.devices.device import Device

_COLUMNS = 2**15  # along y, and along z
_HEIGHTS = 2**31  # along a column


class Serpentine(Fixed):
    """The permutation that puts points into serpentine order along x, those of the first kind before the others.

    width [m]: of columns. period [m]: lengths after which space repeats, 0 for none. segment: int32 (count,), rising:
    points stay in the segment where they are, in an order each; None: there is one of each kind. order: int32 (count,),
    the number of the point that comes k-th.
    """

    def __init__(self, count: int, width: float, period: Sequence[float], device: Device, segment: array | None = None):
        self.count, self.device, self.width, self.segment = count, device, float(width), segment
        self.period = tuple(float(length) for length in period)
        self._keys, self._values = empty(2 * count, int64, device), empty(2 * count, int32, device)
        self.order = self._values[:count]

    def update(self, points: array, first: int) -> None:
        """Sort `count` points (vec3) of which `first` are of the first kind."""
        args = [points, first, float64(1.0 / self.width), vec3d(*self.period), self._keys, self._values]
        launch(_take_keys, self.count, args, device=self.device, record_tape=False)
        radix_sort_pairs(self._keys, self._values, self.count)
        if self.segment is not None:  # a stable sort keeps the order in each
            args = [self._values, self.segment, self._keys]
            launch(_take_segments, self.count, args, device=self.device, record_tape=False)
            radix_sort_pairs(self._keys, self._values, self.count, 0, 32)


@func
def wrap(x: float64, period: float64) -> float64:
    """A coordinate in the period that begins at 0."""
    if period > 0.0:
        return x - period * floor(x / period)
    return x


@func
def cell(x: float64, cells: int64) -> int64:
    """The number of the cell [0, cells) of a coordinate in cells from the middle, the last one for what lies beyond."""
    middle = float64(cells / int64(2))
    if not x > -middle:  # neither is NaN
        return int64(0)
    return int64(min(floor(x) + middle, 2.0 * middle - 1.0))


@kernel
def _take_keys(
    points: array(dtype=Any),
    first: int32,
    scale: float64,
    period: vec3d,
    keys: array(dtype=int64),
    values: array(dtype=int32),
):
    i = tid()
    p = points[i]
    columns, heights = int64(_COLUMNS), int64(_HEIGHTS)
    x = wrap(float64(p[0]), period[0]) * scale
    y = cell(wrap(float64(p[1]), period[1]) * scale, columns)
    z = cell(wrap(float64(p[2]), period[2]) * scale, columns)
    height = cell(x * float64(_HEIGHTS / _COLUMNS), heights)
    if (y + z) % int64(2) == int64(1):
        height = heights - int64(1) - height
    if z % int64(2) == int64(1):
        y = columns - int64(1) - y
    key = (z * columns + y) * heights + height
    if i >= first:
        key += columns * columns * heights
    keys[i] = key
    values[i] = i


@kernel
def _take_segments(values: array(dtype=int32), segment: array(dtype=int32), keys: array(dtype=int64)):
    k = tid()
    keys[k] = int64(segment[values[k]])

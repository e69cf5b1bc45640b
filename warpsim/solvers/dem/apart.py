"""Balls that start anywhere are pushed apart until none overlap (W. Jodrey, E. Tory 1985, with radii that stay).

All balls move at once, each by what those that it overlaps push it, and with some of the way that it went before: that
carries balls out of crowds in fewer sweeps. A thread sums the pushes on its own ball in the order of its list of
neighbours, so that places are the same on any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import array, float64, get_device, int32, struct, vec3d, vec4d
from ...core.language import atomic_max, dot, empty, kernel, launch, length, max, min, tid, vector, zeros
from ...core.runtime.arrays.creation import copy
from ...errors import ModelError
from ...progress import progress
from ..neighbours.verlet_list import VerletList, note_moved, position
from .packed import Watch

_SWEEPS = 3000
_TOUCH = 1.0e-3  # of the smallest radius: overlap that is left
_SKIN = 0.3  # of the largest radius: how far apart neighbours are listed
_SHARE = 0.35  # of its overlap, by which each of two balls moves
_MOMENTUM = 0.8  # of the way that it went in the last sweep


def pushed_apart(points: np.ndarray, radii: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Places (n, 3) [m] at which balls do not overlap, inside of a box. Raises `ModelError` where there is no end.

    points: (n, 3) [m], where they start; radii: (n,) [m]; low, high: (3,) corners of the box [m].
    """
    crowd, touch = _Crowd(points, radii, low, high), _TOUCH * radii.min()
    overlap = np.inf

    def note() -> str:
        return f"{len(points)} grains overlap by up to {overlap / radii.min():.1%} of the smallest radius"

    for _ in progress(range(_SWEEPS), "sweep", note=note):
        overlap = crowd.sweep()
        if overlap < touch:
            return crowd.points()
    text = note().replace("overlap", "still overlap")
    raise ModelError(f"{text}\nhelp: a smaller fraction, or a box of more diameters")


class _Crowd:
    """Balls in the order of the cells that they lie in."""

    def __init__(self, points: np.ndarray, radii: np.ndarray, low: np.ndarray, high: np.ndarray):
        n, largest, cpu = len(points), float(radii.max()), get_device("cpu")
        self._count, self._low, self._high = n, vec3d(*low), vec3d(*high)
        self._touch = float64(_TOUCH * radii.min())
        self._lists = VerletList(n, _SKIN * largest, (2.0 + _SKIN) * largest, (0.0, 0.0, 0.0), float64, cpu)
        self._q = array(np.column_stack([points, radii]), dtype=vec4d, device=cpu)
        self._moved, self._seen = empty(n, vec4d, cpu), empty(n, vec4d, cpu)
        self._way, self._way_sorted = zeros(n, vec3d, cpu), empty(n, vec3d, cpu)
        self._number, self._number_sorted = array(np.arange(n, dtype=np.int32), device=cpu), empty(n, int32, cpu)
        self._overlap, self._world = zeros(1, float64, cpu), zeros(n, int32, cpu)

    def sweep(self) -> float:
        """Push once, unless no two overlap; returns the largest overlap before [m]."""
        if self._lists.is_outdated:
            self._sort()
        lists, rows = self._lists, self._lists.rows
        self._overlap.zero_()
        balls = _Balls(self._q, self._moved, self._way, self._low, self._high)
        watch = Watch[float64](self._seen, lists.outdated, lists.limit)
        args = [balls, watch, rows.offsets, rows.ids, self._touch, self._overlap]
        launch(_push, self._count, args, device=self._q.device)
        overlap = float(self._overlap.numpy()[0])
        if overlap >= float(self._touch):
            self._q, self._moved = self._moved, self._q
        return overlap

    def points(self) -> np.ndarray:
        """Centres in the order in which they came."""
        result = np.empty((self._count, 3))
        result[self._number.numpy()] = self._q.numpy()[:, :3]
        return result

    def _sort(self) -> None:
        sort = self._lists.sort
        self._lists.rebuild(self._q, self._world, self._moved)
        self._q, self._moved = self._moved, self._q
        copy(self._seen, self._q)
        sort.gather(self._way, self._way_sorted)
        sort.gather(self._number, self._number_sorted)
        self._way, self._way_sorted = self._way_sorted, self._way
        self._number, self._number_sorted = self._number_sorted, self._number


@struct
class _Balls:
    """Balls in a box from low to high [m]. q: centre and radius [m]; moved: the same after a sweep; way: of the last
    sweep [m]."""

    q: array(dtype=vec4d)
    moved: array(dtype=vec4d)
    way: array(dtype=vec3d)
    low: vec3d
    high: vec3d


@kernel(enable_backward=False)
def _push(
    balls: _Balls,
    watch: Any,
    offsets: array(dtype=int32),
    ids: array(dtype=int32),
    touch: float64,
    overlap: array(dtype=float64),
):
    """Move each ball by what those that it overlaps push it, and some of its last way; tell the largest overlap."""
    i = tid()
    a = balls.q[i]
    p, r = position(a), a[3]
    push = vec3d(0.0, 0.0, 0.0)
    deepest = float64(0.0)
    for at in range(offsets[i], offsets[i + 1]):
        b = balls.q[ids[at]]
        apart = p - position(b)
        gap = length(apart)
        over = r + b[3] - gap
        if over > 0.0:
            push += apart * (float64(_SHARE) * over / max(gap, touch))
            deepest = max(deepest, over)
    last = balls.way[i]
    step = push
    if dot(last, push) > 0.0:
        step = push + last * float64(_MOMENTUM)
    goal = p + step
    for k in range(3):
        goal[k] = max(balls.low[k] + r, min(balls.high[k] - r, goal[k]))
    balls.way[i] = goal - p
    balls.moved[i] = vector(goal[0], goal[1], goal[2], r)
    atomic_max(overlap, 0, deepest)
    note_moved(watch.outdated, watch.limit, balls.moved[i], watch.seen[i])

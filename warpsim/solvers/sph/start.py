"""Initial overlaps: a warning for particles that start in each other or in walls."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial import cKDTree

from ...errors import ModelError
from ..scene.start_warning import StartWarning

CLOSE = 0.5  # spacings between particles below which they warn
OVERLAPS = ("warn", "error", "ignore")


def check_starts(
    q: np.ndarray, walls: np.ndarray, shape: np.ndarray, spacing: float, period: tuple[float, ...], overlaps: str
) -> None:
    """Warn with the closest pair of fluid (n, 3) [m], and of fluid and wall (m, 3), or raise `ModelError`.

    period: lengths after which space repeats [m], 0 for none.
    """
    if overlaps == "ignore" or not np.isfinite(q).all():
        return  # the first step finds it
    problems = []
    if len(q) > 1:
        gap, near = _tree(q, period).query(_in_box(q, period), k=2)
        i = int(np.argmin(gap[:, 1]))
        other = near[i, 1] if near[i, 1] != i else near[i, 0]  # two at one place may come in either order
        problems += _problem(gap[:, 1], f"particles {i} and {other}", "from each other", spacing)
    if len(q) and len(walls):
        gap, near = _tree(walls, period).query(_in_box(q, period))
        i = int(np.argmin(gap))
        problems += _problem(gap, f"particle {i} and the filling of shape {shape[near[i]]}", "from a wall", spacing)
    for problem in problems:
        if overlaps == "error":
            raise ModelError(problem)
        warnings.warn(problem, StartWarning, stacklevel=4)


def _tree(points: np.ndarray, period: tuple[float, ...]) -> cKDTree:
    return cKDTree(_in_box(points, period), boxsize=period)


def _in_box(points: np.ndarray, period: tuple[float, ...]) -> np.ndarray:
    """Points (n, 3) [m] by their images between 0 and the period."""
    wrapped = points.copy()
    for axis, length in enumerate(period):
        if length > 0.0:
            wrapped[:, axis] %= length
            wrapped[wrapped[:, axis] >= length, axis] = 0.0  # what rounding may make of a number just below 0
    return wrapped


def _problem(gaps: np.ndarray, pair: str, what: str, spacing: float) -> list[str]:
    gap, count = float(gaps.min()), int((gaps < CLOSE * spacing).sum())
    if not count:
        return []
    return [
        f"{pair} start {gap:.3g} m apart; {count} are less than half a spacing, {CLOSE * spacing:.3g} m, {what}\n"
        "help: add_fluid_box places them a spacing apart; leave out those within shapes"
    ]

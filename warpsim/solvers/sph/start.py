"""How particles start: a warning for those that lie in each other or in walls, which fly apart."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial import cKDTree

CLOSE = 0.5  # spacings between particles below which they warn


class StartWarning(UserWarning):
    """Particles of a fluid that start so close to each other, or to a wall, that pressure throws them apart."""


def warn_of_close_starts(q: np.ndarray, walls: np.ndarray, shape: np.ndarray, spacing: float) -> None:
    """Warn with the closest pair of fluid (n, 3) [m], and of fluid and wall (m, 3); periodic images do not count."""
    if not np.isfinite(q).all():
        return  # the first step finds it
    if len(q) > 1:
        gap, near = cKDTree(q).query(q, k=2)
        i = int(np.argmin(gap[:, 1]))
        _warn(gap[:, 1], f"particles {i} and {near[i, 1]}", "from each other", spacing)
    if len(q) and len(walls):
        gap, near = cKDTree(walls).query(q)
        i = int(np.argmin(gap))
        _warn(gap, f"particle {i} and the filling of shape {shape[near[i]]}", "from a wall", spacing)


def _warn(gaps: np.ndarray, pair: str, what: str, spacing: float) -> None:
    gap, count = float(gaps.min()), int((gaps < CLOSE * spacing).sum())
    if count:
        warnings.warn(
            f"{pair} start {gap:.3g} m apart; {count} are less than half a spacing, {CLOSE * spacing:.3g} m, {what}\n"
            "help: add_fluid_box places them a spacing apart; leave out those within shapes",
            StartWarning,
            stacklevel=5,
        )

"""Initial overlaps: a warning for particles that start in each other or in walls."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from ...errors import ModelError
from ..scene.start_warning import StartWarning
from ..scene.world_rows import of_world
from .sampling import in_world

if TYPE_CHECKING:
    from ..scene.model import Model
    from .sampling import Lattice, Rows

CLOSE = 0.5  # spacings between particles below which they warn
OVERLAPS = ("warn", "error", "ignore")


def check_starts(model: Model, q: np.ndarray, rows: Rows, lattice: Lattice, overlaps: str) -> None:
    """Warn with the closest pair of fluid (n, 3) [m], and of fluid and wall, or raise `ModelError`. Pairs are of one
    world."""
    if overlaps == "ignore" or not np.isfinite(q).all():
        return  # the first step finds it
    walls, spacing = in_world(model, rows.local, rows.shape), lattice.spacing
    world = model.particle_world.numpy() if model.world_count > 1 else np.zeros(len(q), dtype=int)
    gaps, near = np.full((2, len(q)), np.inf), np.zeros((2, len(q)), dtype=int)
    for w in range(model.world_count):
        here, behind = np.flatnonzero(world == w), np.flatnonzero(rows.world == w)
        points = _in_box(q[here], lattice.period)
        if len(here) > 1:
            gap, k = _tree(points, lattice.period).query(points, k=2)
            other = np.where(k[:, 1] != np.arange(len(here)), k[:, 1], k[:, 0])  # two at one place come in any order
            gaps[0, here], near[0, here] = gap[:, 1], here[other]
        if len(here) and len(behind):
            gap, k = _tree(walls[behind], lattice.period).query(points)
            gaps[1, here], near[1, here] = gap, rows.shape[behind[k]]
    for gap, to, name, what in zip(
        gaps, near, ("particles {} and {}", "particle {} and the filling of shape {}"),
        ("from each other", "from a wall"), strict=True,
    ):  # fmt: skip
        if not (gap < CLOSE * spacing).any():
            continue
        i = int(np.argmin(gap))
        problem = _problem(gap, name.format(i, to[i]) + of_world(model, i), what, spacing)
        if overlaps == "error":
            raise ModelError(problem)
        warnings.warn(problem, StartWarning, stacklevel=4)


def _tree(points: np.ndarray, period: Sequence[float]) -> cKDTree:
    return cKDTree(_in_box(points, period), boxsize=period)


def _in_box(points: np.ndarray, period: Sequence[float]) -> np.ndarray:
    """Points (n, 3) [m] by their images between 0 and the period."""
    wrapped = points.copy()
    for axis, length in enumerate(period):
        if length > 0.0:
            wrapped[:, axis] %= length
            wrapped[wrapped[:, axis] >= length, axis] = 0.0  # what rounding may make of a number just below 0
    return wrapped


def _problem(gaps: np.ndarray, pair: str, what: str, spacing: float) -> str:
    count = int((gaps < CLOSE * spacing).sum())
    return (
        f"{pair} start {gaps.min():.3g} m apart; {count} are less than half a spacing, {CLOSE * spacing:.3g} m, "
        f"{what}\n"
        "help: add_fluid_box places them a spacing apart; leave out those within shapes"
    )

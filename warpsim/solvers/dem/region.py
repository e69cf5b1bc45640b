"""How densely grains fill a box of space: solid fraction and bulk density, with the parts of grains that it cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, numbers
from ...errors import ModelError
from ..particles.gauge_rows import gauge_rows
from .box_shares import box_shares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import GrainStatistics


@checked
def solid_fraction(
    statistics: GrainStatistics, low: ArrayLike, high: ArrayLike, world: int | None = None
) -> float:  # fmt: skip
    """The volume of grains between two corners (3,) [m], per volume of the box [-].

    Grains count by the part of them that is inside. Where two overlap, both count: with overlaps of 1 % of the radius
    this adds 1e-4 at most. Where space repeats, put the box where the grains are: images do not count. A box that
    reaches to a wall reads less than the bulk, as no grain is cut there.
    """
    rows, shares, volume = _inside(statistics, low, high, world)
    radii = statistics.model.particle_radius.numpy().astype(np.float64)[rows]
    return float((shares * 4.0 / 3.0 * np.pi * radii**3).sum() / volume)


@checked
def bulk_density(
    statistics: GrainStatistics, low: ArrayLike, high: ArrayLike, world: int | None = None
) -> float:  # fmt: skip
    """The mass of grains between two corners (3,) [m], per volume of the box [kg/m^3]; see `solid_fraction`.

    Grains that are held, of mass 0, do not count.
    """
    rows, shares, volume = _inside(statistics, low, high, world)
    return float((shares * statistics.model.particle_mass.numpy().astype(np.float64)[rows]).sum() / volume)


def _inside(
    statistics: GrainStatistics, low: ArrayLike, high: ArrayLike, world: int | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Numbers of grains, the part of each between two corners, and the volume there [m^3]."""
    low, high = numbers(low, "low", (3,)), numbers(high, "high", (3,))
    if not (np.isfinite(high - low).all() and (high > low).all()):
        raise ModelError(f"a box reaches from {low.tolist()} to {high.tolist()} m\nexpected: low below high, finite")
    rows = gauge_rows(statistics, world)
    centers = statistics.state.particle_q.numpy().astype(np.float64)[rows]
    radii = statistics.model.particle_radius.numpy().astype(np.float64)[rows]
    return rows, box_shares(centers, radii, low, high), float(np.prod(high - low))

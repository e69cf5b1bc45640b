"""Boxes of grains: on a lattice, or packed at random without overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, shown
from ..scene.builder import ModelBuilder
from ..scene.checks import refuse
from .apart import pushed_apart

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DENSEST = 0.55
"""The part of a box that balls fill at random in reasonable time; 0.64 is as dense as they get, away from walls."""


def add_grain_lattice(
    builder: ModelBuilder,
    low: ArrayLike,
    high: ArrayLike,
    radius: float,
    density: float = 2500.0,
    vel: ArrayLike = 0.0,
    shake: float = 0.0,
    seed: int = 0,
) -> range:
    """Fill the box from `low` to `high` (3,) [m] with equal grains on a cubic lattice; returns their numbers.

    radius [m]; density of a grain [kg/m^3]; vel [m/s]. Cells divide the box evenly and hold one grain each. shake: part
    of the room in its cell by which a grain is moved at random, 0 to 1; seed: of that.

    Raises `ModelError` for a box that holds no grain, and for numbers that are none.
    """
    low, high = _box(low, high)
    _check(radius, density, seed)
    refuse(((not (isinstance(shake, Real) and 0.0 <= shake <= 1.0), f"shake is {shown(shake)}", "0 to 1"),))
    counts = np.floor((high - low) / (2.0 * radius) + 1.0e-9).astype(int)
    _need_room(low, high, counts, radius)
    cell = (high - low) / counts
    cells = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    moved = shake * np.random.default_rng(seed).uniform(-1.0, 1.0, cells.shape) * np.maximum(0.5 * cell - radius, 0.0)
    return builder.add_particles(low + (cells + 0.5) * cell + moved, vel, _mass(radius, density), radius)


def add_grain_pack(
    builder: ModelBuilder,
    low: ArrayLike,
    high: ArrayLike,
    radius: float | Sequence[float],
    density: float = 2500.0,
    fraction: float = 0.5,
    vel: ArrayLike = 0.0,
    seed: int = 0,
) -> range:
    """Fill a part of the box from `low` to `high` (3,) [m] with grains at random; returns their numbers.

    radius [m]: of all, or two between which radii are drawn evenly; density of a grain [kg/m^3];
    fraction: of the box's volume that grains fill, up to `DENSEST`; vel [m/s]; seed: of radii and places. Grains are
    inside of the box with all of their volume, and overlap by less than a thousandth of a radius.

    Raises `ModelError` for a box that holds no grain, for numbers that are none, and where no place is found for all.
    """
    low, high = _box(low, high)
    smallest, largest = _radii(radius)
    _check(smallest, density, seed)
    good = isinstance(fraction, Real) and 0.0 < fraction <= DENSEST
    refuse(((not good, f"fraction is {shown(fraction)}", f"above 0, and at most {DENSEST}, as balls lie at random"),))
    _need_room(low, high, np.floor((high - low) / (2.0 * largest) + 1.0e-9), largest)
    rng, mean = np.random.default_rng(seed), (smallest + largest) * (smallest**2 + largest**2) * math.pi / 3.0
    count = max(round(fraction * float(np.prod(high - low)) / mean), 1)
    radii = rng.uniform(smallest, largest, count)
    points = low + radii[:, None] + rng.random((count, 3)) * (high - low - 2.0 * radii[:, None])
    return builder.add_particles(pushed_apart(points, radii, low, high), vel, _mass(radii, density), radii)


# ----- arguments ----------------------------------------------------------------------------------


def _mass(radius: np.ndarray | float, density: float) -> Any:
    """Of balls [kg]."""
    return density * 4.0 / 3.0 * math.pi * radius**3


def _box(low: ArrayLike, high: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    try:
        corners = np.array([low, high], dtype=np.float64)
    except (TypeError, ValueError):
        corners = np.empty(0)
    if corners.shape != (2, 3) or not np.isfinite(corners).all():
        raise ModelError(f"the box has corners {shown(low)} and {shown(high)}\nexpected: three coordinates each [m]")
    return corners[0], corners[1]


def _radii(radius: float | Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest radius [m]."""
    ends = np.asarray(radius, dtype=np.float64) if isinstance(radius, Real | tuple | list) else np.empty(0)
    if ends.shape not in ((), (2,)) or not (np.isfinite(ends).all() and ends.min() > 0.0):
        raise ModelError(f"radius is {shown(radius)}\nexpected: above 0 [m], or two between which radii are drawn")
    return float(ends.min()), float(ends.max())


def _check(radius: float, density: float, seed: int) -> None:
    refuse(
        (
            (not (isinstance(radius, Real) and 0.0 < radius < math.inf), f"radius is {shown(radius)}", "above 0 [m]"),
            (
                not (isinstance(density, Real) and 0.0 < density < math.inf),
                f"density is {shown(density)}",
                "above 0 [kg/m^3]",
            ),
            (not (isinstance(seed, Integral) and seed >= 0), f"seed is {shown(seed)}", "an integer, 0 or more"),
        )
    )


def _need_room(low: np.ndarray, high: np.ndarray, counts: np.ndarray, radius: float) -> None:
    if (counts < 1).any():
        raise ModelError(f"a box of {(high - low).tolist()} m holds no grain with a radius of {radius:g} m")

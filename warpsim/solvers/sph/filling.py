"""Blocks of fluid: particles on a lattice that fills them, each in the middle of its cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ..scene.builder import ModelBuilder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def add_fluid_box(
    builder: ModelBuilder, low: ArrayLike, high: ArrayLike, spacing: float, density: float = 1000.0,
    vel: ArrayLike = 0.0,
) -> range:  # fmt: skip
    """Fill the box from `low` to `high` (3,) [m] with particles; returns their numbers.

    Where low[2] is high[2] the fluid is a sheet of that plane, and masses are those of one metre of depth. spacing [m]:
    about that of the lattice, whose cells divide the box evenly, so that it is full to its walls and has the mass of
    its volume; density [kg/m^3]; vel [m/s].

    Raises `ModelError` for a spacing that is not above zero and for a box that holds no particle.
    """
    low, high = (np.asarray(corner, dtype=np.float64) for corner in (low, high))
    if low.shape != (3,) or high.shape != (3,):
        raise ModelError(f"the box has corners of shape {low.shape} and {high.shape}\nexpected: three coordinates each")
    for name, value in (("spacing", spacing), ("density", density)):
        if not (math.isfinite(value) and value > 0.0):
            raise ModelError(f"{name} is {value}\nexpected: above 0")
    flat = low[2] == high[2]
    counts = np.round((high - low) / spacing).astype(int)
    counts[2] = 1 if flat else counts[2]
    if (counts < 1).any():
        raise ModelError(f"a box of {(high - low).tolist()} m holds no particle with a spacing of {spacing} m")
    cell = np.where(np.arange(3) < (2 if flat else 3), (high - low) / counts, 1.0)
    axes = [low[k] + (np.arange(counts[k]) + 0.5) * cell[k] for k in range(3)]
    if flat:
        axes[2] = low[2:]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return builder.add_particles(points, vel, density * float(np.prod(cell)), 0.5 * spacing)

"""Density of a fluid of particles: a smoothing kernel summed over the thirty neighbours of each.

The kernel is that of Mueller, Charypar and Gross (2003): 315 / (64 pi h^9) (h^2 - r^2)^3.
"""

import math
from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED, neighbors
from benchmarks.geometry.packing import block, pairs, summed

__all__ = ["SKIPPED", "expected", "warp_case"]

SPACING = 0.1
SMOOTHING = 2.0 * SPACING
WATER = 1.0e3
FACTOR = WATER * SPACING**3 * 315.0 / (64.0 * math.pi * SMOOTHING**9)
CELLS = 128


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The densities in float64 [kg/m^3]."""
    x = block(size["side"], SPACING)
    near = np.full(len(x), SMOOTHING**6)
    for i, j in pairs(x, SMOOTHING):
        square = np.sum((x[i].astype(np.float64) - x[j]) ** 2, axis=1)
        near += summed(i, (SMOOTHING**2 - square) ** 3, len(x))
    return {"rho": FACTOR * near}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over all particles, threads in the order of the grid's cells."""
    query = neighbors(wp)

    @wp.kernel
    def density(
        grid: wp.uint64, x: wp.array(dtype=wp.vec3), rho: wp.array(dtype=float), smoothing: float, factor: float
    ):
        i = wp.hash_grid_point_id(grid, wp.tid())
        here = x[i]
        total = float(0.0)
        for j in query(grid, here, smoothing):
            d = here - x[j]
            inside = smoothing * smoothing - wp.dot(d, d)
            if inside > 0.0:
                total += inside * inside * inside
        rho[i] = factor * total

    start = block(size["side"], SPACING)
    x, rho = wp.array(start, dtype=wp.vec3), wp.zeros(len(start), dtype=float)
    grid = wp.HashGrid(CELLS, CELLS, CELLS)
    grid.build(x, SMOOTHING)
    return single(lambda: wp.launch(density, dim=len(start), inputs=[grid.id, x, rho, SMOOTHING, FACTOR]),
                  lambda: {"rho": rho.numpy()})

"""Trilinear samples of a signed distance field on a grid of voxels, at random points near its surface.

The field is that of a torus, computed on a lattice of `side`^3 voxels and cut off at a few voxels' distance; every
framework makes its grid from these numbers.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED

__all__ = ["SKIPPED", "expected", "warp_case"]

BAND = 4.0  # voxels


def field(side: int) -> np.ndarray:
    """The distances in voxels, (side, side, side) float32."""
    x, y, z = (axis.astype(np.float32) - np.float32(0.5 * (side - 1)) for axis in np.ogrid[:side, :side, :side])
    ring = np.hypot(x, y) - np.float32(0.3 * side)
    return np.clip(np.hypot(ring, z) - np.float32(0.12 * side), -BAND, BAND)


def points_near(values: np.ndarray, n: int) -> np.ndarray:
    """Random points within half a voxel of random ones in the band, (n, 3) float32, in the coordinates of voxels."""
    random = np.random.default_rng(31)
    band = np.argwhere(np.abs(values[1:-1, 1:-1, 1:-1]) < BAND) + 1
    return (random.choice(band, n) + random.uniform(-0.5, 0.5, (n, 3))).astype(np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The trilinear values in float64."""
    values = field(size["side"])
    points = points_near(values, size["n"])
    low = np.floor(points).astype(np.int64)
    t = points.astype(np.float64) - low
    total = np.zeros(len(points))
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, t, 1.0 - t), axis=1)
        total += weight * values[tuple((low + corner).T)]
    return {"value": total}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over all points, in no order."""
    linear = int(wp.Volume.LINEAR)

    @wp.kernel
    def sample(volume: wp.uint64, points: wp.array(dtype=wp.vec3), found: wp.array(dtype=float)):
        i = wp.tid()
        found[i] = wp.volume_sample_f(volume, points[i], linear)

    values = field(size["side"])
    grid = wp.Volume.load_from_numpy(values, bg_value=BAND)
    points, found = wp.array(points_near(values, size["n"]), dtype=wp.vec3), wp.zeros(size["n"], dtype=float)

    def run(grid: Any = grid) -> None:  # holds the grid: its id alone would not
        wp.launch(sample, dim=size["n"], inputs=[grid.id, points, found])

    return single(run, lambda: {"value": found.numpy()})

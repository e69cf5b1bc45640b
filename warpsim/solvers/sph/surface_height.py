"""Wave gauges in a fluid of particles: where its surface stands over points, and how high it has run up a slope."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from ...arguments import checked
from ...errors import ModelError
from ..particles.gauge_rows import gauge_rows
from ..scene.checks import finite_numbers, refuse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import FluidStatistics

_LENGTH = 1.5  # smoothing length of gauges [spacings]
_STEP = 0.1  # between heights at which the fluid is looked for [spacings]
_SCALE = {2: 7.0 / (4.0 * math.pi), 3: 21.0 / (16.0 * math.pi)}  # of Wendland's kernel of smoothness C2
_DRY = {2: 0.3, 3: 0.2}  # sums below which a column is beside the fluid: at a wall they are 1/2, in its corner 1/4


@checked
def surface_height(statistics: FluidStatistics, points: ArrayLike) -> np.ndarray:
    """The height of the surface over points, or under them, (n,) [m]; NaN where there is no fluid.

    points: (n, 3) [m]; their heights do not matter. For a profile, give points along a line. The surface is the highest
    place at which the sum of volumes times Wendland's kernel falls below half of its largest value in the column: that
    is its value inside, which walls beside the point halve as well. (0.5 of a mass interpolated in the same way is the
    surface of DualSPHysics, J. Dominguez et al. 2022, Comput. Part. Mech. 9, 867.) Drops in the air count where they
    are as thick as a few particles. Beside an open face of the fluid, points up to half a spacing away still read it,
    in space up to one.

    Raises `ModelError` for points that are not finite, and where there are several worlds and the statistics are not of
    one.
    """
    solver, model = statistics.solver, statistics.model
    points, up = finite_numbers(points, "points", (-1, 3)), "XYZ".index(model.up_axis)
    rows = gauge_rows(statistics)
    q = statistics.state.particle_q.numpy().astype(np.float64)[rows]
    h = _LENGTH * solver.spacing
    share = _SCALE[solver.dim] / (solver.fluid.density * h**solver.dim)
    weight, heights = share * model.particle_mass.numpy().astype(np.float64)[rows], np.full(len(points), np.nan)
    beside, over = np.delete(q, up, axis=1), q[:, up]
    tree = cKDTree(beside)
    for k, at in enumerate(np.delete(points, up, axis=1)):
        near = tree.query_ball_point(at, 2.0 * h)
        if near:
            away = np.linalg.norm(beside[near] - at, axis=1)
            heights[k] = _highest(over[near], away, weight[near], h, _DRY[solver.dim])
    return heights


def _highest(over: np.ndarray, away: np.ndarray, weight: np.ndarray, h: float, dry: float) -> float:
    """The highest place where a column is half full, of heights of particles, how far they are beside it [m], and what
    each adds where it is; NaN where that is nowhere more than `dry`."""
    step = _STEP / _LENGTH * h
    places = np.arange(over.min() - 2.0 * h, over.max() + 2.0 * h + 2.0 * step, step)
    filled = np.zeros(len(places))
    for z, d, v in zip(over, away, weight, strict=True):
        first, last = np.searchsorted(places, (z - 2.0 * h, z + 2.0 * h))
        half = 0.5 * np.sqrt((places[first:last] - z) ** 2 + d * d) / h
        filled[first:last] += v * np.maximum(1.0 - half, 0.0) ** 4 * (1.0 + 4.0 * half)
    if not filled.max() > dry:
        return math.nan
    share = 2.0 * filled / filled.max()
    last = int(np.flatnonzero(share >= 1.0)[-1])
    return float(places[last] + step * (share[last] - 1.0) / (share[last] - share[last + 1]))


@checked
def run_up(
    statistics: FluidStatistics, still_level: float, point: ArrayLike, normal: ArrayLike, film: float = 1.5
) -> float:  # fmt: skip
    """How high above its level at rest the fluid reaches on a slope or a wall [m]; NaN where it does not touch it.

    still_level: height of the fluid at rest [m]. The slope is a plane through a point (3,) [m] with a normal (3,)
    towards the fluid. film: how far from the slope particles still count [spacings]. The height is that of the
    uppermost such particle, seen across the slope, and half a spacing further up along it (EurOtop 2018, 5.1: the
    highest place that water wets, measured vertically). Below 0: run-down.

    Raises `ModelError` for slopes that are level, for numbers that are not finite, and for a film of no thickness.
    """
    model, spacing = statistics.model, statistics.solver.spacing
    point, normal = finite_numbers(point, "point", (3,)), finite_numbers(normal, "normal", (3,))
    up = np.eye(3)["XYZ".index(model.up_axis)]
    length = float(np.linalg.norm(normal))
    refuse(
        (
            (not length > 0.0, f"normal is {normal.tolist()}", "a direction"),
            (not film > 0.0, f"film is {film}", "above 0 [spacings]"),
        )
    )
    normal = normal / length
    steepness = float(np.linalg.norm(up - (up @ normal) * normal))  # sine of the slope's angle
    if steepness < 1.0e-6:
        raise ModelError(f"a slope has the normal {normal.tolist()}, so that it is level\nexpected: a slope or a wall")
    q = statistics.state.particle_q.numpy().astype(np.float64)[gauge_rows(statistics)]
    away = (q - point) @ normal
    touching = np.abs(away) <= film * spacing
    if not touching.any():
        return math.nan
    feet = (q - away[:, None] * normal)[touching] @ up
    return float(feet.max()) + 0.5 * spacing * steepness - still_level

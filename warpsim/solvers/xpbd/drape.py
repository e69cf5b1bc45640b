"""The drape coefficient of a cloth that hangs over a disc, by the area of its shadow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import checked, integers, numbers
from ...errors import ModelError
from ..scene.checks import finite_numbers, refuse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .statistics import XPBDStatistics

_LINES = 1000  # on which the shadow is measured; area is then exact to 1e-5


@checked
def drape_coefficient(statistics: XPBDStatistics, disc_radius: float, world: int | None = None) -> float:
    """The part of what overhangs a disc that its shadow from above still covers [-]: 1 for a flat board, 0 for a cloth
    that hangs straight down; standards give it in percent.

    (shadow - disc) / (flat cloth - disc), areas (ISO 9073-9:2008, BS 5058:1973: a disc of radius 0.09 m below a round
    cloth of radius 0.12, 0.15 or 0.18 m). The cloth is all triangles of the model or of a world; disc_radius [m].

    Raises `ModelError` for a disc that is not smaller than the cloth, and where there are several worlds and none is
    named. NaN where a corner of the cloth is not finite.
    """
    model = statistics.model
    if world is None and model.world_count > 1:
        raise ModelError(f"the model has {model.world_count} worlds\nexpected: world=0 to {model.world_count - 1}")
    rows = model.world(0 if world is None else world).rows("tri")
    triangles = model.tri_indices.numpy()[rows.start : rows.stop]
    flat = float(model.tri_area.numpy()[rows.start : rows.stop].astype(np.float64).sum())
    disc = math.pi * disc_radius**2
    refuse(((not 0.0 < disc < flat, f"a disc has {disc:g} m^2, the cloth {flat:g} m^2", "a smaller disc, above 0"),))
    up = np.eye(3)["XYZ".index(model.up_axis)]
    return (shadow_area(statistics.state.particle_q.numpy(), triangles, up) - disc) / (flat - disc)


@checked
def shadow_area(points: ArrayLike, triangles: ArrayLike, direction: ArrayLike) -> float:
    """The area that triangles (m, 3) of points (n, 3) [m] cover, seen along a direction (3,) [m^2].

    What lies over itself counts once: the lengths of a thousand lines across the shadow, times their distance. NaN
    where a corner is not finite. Raises `ModelError` for triangles of corners that are none, and for a direction
    without length.
    """
    points, toward = numbers(points, "points", (-1, 3)), finite_numbers(direction, "direction", (3,))
    rows = integers(triangles, "triangles")
    refuse(
        (
            (not np.linalg.norm(toward) > 0.0, f"direction is {toward.tolist()}", "a direction"),
            (rows.size > 0 and rows.shape[1:] != (3,), f"triangles has shape {rows.shape}", "(m, 3)"),
        )
    )
    far = rows[(rows < 0) | (rows >= len(points))]
    refuse(((far.size > 0, f"a triangle has corner {far.flat[0] if far.size else None}", f"0 to {len(points) - 1}"),))
    plane = np.linalg.svd(toward[None, :])[2][1:]  # two unit vectors across it
    corners = (points @ plane.T)[rows.reshape(-1, 3)]
    if not np.isfinite(corners).all():
        return math.nan
    corners = np.take_along_axis(corners, np.argsort(corners[:, :, 1], axis=1)[:, :, None], axis=1)
    low, high = corners[:, 0, 1], corners[:, 2, 1]
    if not len(corners) or not low.min() < high.max():
        return 0.0
    step = float(high.max() - low.min()) / _LINES
    lines = low.min() + step * (np.arange(_LINES) + 0.5)
    return step * sum(_covered(corners[(low <= y) & (y < high)], y) for y in lines)


def _covered(corners: np.ndarray, y: float) -> float:
    """The length of the union of where triangles cross a line of constant y; corners (m, 3, 2) rise in y."""
    if not len(corners):
        return 0.0
    (x0, y0), (x1, y1), (x2, y2) = np.moveaxis(corners, 0, 2)
    long = x0 + (x2 - x0) * (y - y0) / (y2 - y0)
    lower = y < y1
    begin, end, bottom, top = np.where(lower, (x0, x1, y0, y1), (x1, x2, y1, y2))
    short = begin + (end - begin) * (y - bottom) / np.where(top > bottom, top - bottom, 1.0)
    order = np.argsort(np.minimum(long, short))
    starts = np.minimum(long, short)[order]
    reach = np.maximum.accumulate(np.maximum(long, short)[order])
    return float(reach[-1] - starts[0] - np.maximum(starts[1:] - reach[:-1], 0.0).sum())

"""Scenes of pictures: triangle surfaces and balls with colors, checked before anything is drawn."""

from dataclasses import dataclass

import numpy as np

from warpsim.arguments import checked, numbers
from warpsim.errors import WarpsimError


class PlotError(WarpsimError, ValueError):
    """A surface or an option that cannot be drawn."""


@dataclass(frozen=True)
class Surface:
    """A triangle mesh to draw, seen from both sides.

    points: (n, 3) [m]; triangles: integers (m, 3); color: linear RGB in [0, 1], (3,) or one row per
    point (n, 3).  Raises PlotError for wrong shapes, NaN, or indices that name no point.
    """

    points: np.ndarray
    triangles: np.ndarray
    color: np.ndarray | tuple = (0.55, 0.16, 0.10)

    def __post_init__(self) -> None:
        points = numbers(self.points, "points")
        triangles = np.asarray(self.triangles)
        color = numbers(self.color, "color")
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise PlotError(f"Surface points: found shape {points.shape}, expected (n, 3) with n > 0")
        if not np.isfinite(points).all():
            row = int(np.argwhere(~np.isfinite(points))[0, 0])
            raise PlotError(f"Surface points: row {row} is {points[row]}, expected finite numbers")
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise PlotError(
                f"Surface triangles: found {triangles.dtype} of shape {triangles.shape}, expected integers (m, 3)"
            )
        if triangles.size and (triangles.min() < 0 or triangles.max() >= len(points)):
            raise PlotError(
                f"Surface triangles: indices run from {triangles.min()} to {triangles.max()}, "
                f"expected 0 to {len(points) - 1}"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles.astype(np.int64))
        object.__setattr__(self, "color", _colors(color, points, "Surface"))

    @property
    def outline(self) -> np.ndarray:
        """Points (k, 3) [m] between which all of it lies."""
        return self.points

    def scaled(self, center: np.ndarray, length: float) -> "Surface":
        """The same, seen from `center` (3,), in units of `length`."""
        return Surface((self.points - center) / length, self.triangles, self.color)


@dataclass(frozen=True)
class Balls:
    """Balls to draw, as round as they are: up to millions of them.

    centers: (n, 3) [m]; radii: (n,) or one for all [m]; color: linear RGB in [0, 1], (3,) or one row per ball (n, 3).
    Raises PlotError for wrong shapes, NaN, or radii below zero.
    """

    centers: np.ndarray
    radii: np.ndarray | float
    color: np.ndarray | tuple = (0.55, 0.16, 0.10)

    def __post_init__(self) -> None:
        centers = numbers(self.centers, "centers")
        radii = numbers(self.radii, "radii")
        if centers.ndim != 2 or centers.shape[1] != 3:
            raise PlotError(f"Balls centers: found shape {centers.shape}, expected (n, 3)")
        if radii.shape not in {(), (len(centers),)}:
            raise PlotError(f"Balls radii: found shape {radii.shape}, expected a number or ({len(centers)},)")
        radii = np.broadcast_to(radii, len(centers))
        wrong = np.flatnonzero(~(np.isfinite(centers).all(1) & np.isfinite(radii) & (radii >= 0.0)))
        if wrong.size:
            row = int(wrong[0])
            raise PlotError(
                f"Balls: number {row} has the centre {centers[row]} and the radius {radii[row]:g}, expected finite "
                "numbers and a radius of 0 or more"
            )
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "radii", radii)
        object.__setattr__(self, "color", _colors(numbers(self.color, "color"), centers, "Balls"))

    @property
    def outline(self) -> np.ndarray:
        """Points (k, 3) [m] between which all of them lie: the ends of their axes."""
        ends = np.concatenate([np.eye(3), -np.eye(3)])
        return (self.centers[:, None] + self.radii[:, None, None] * ends).reshape(-1, 3)

    def scaled(self, center: np.ndarray, length: float) -> "Balls":
        """The same, seen from `center` (3,), in units of `length`."""
        return Balls((self.centers - center) / length, self.radii / length, self.color)


Thing = Surface | Balls


def _colors(color: np.ndarray, points: np.ndarray, name: str) -> np.ndarray:
    """One color per point."""
    if color.shape not in {(3,), (len(points), 3)}:
        raise PlotError(f"{name} color: found shape {color.shape}, expected (3,) or ({len(points)}, 3)")
    if not ((color >= 0.0) & (color <= 1.0)).all():
        raise PlotError(
            f"{name} color: found values from {color.min():g} to {color.max():g}, expected linear RGB in [0, 1]"
        )
    return np.broadcast_to(color, points.shape)


@checked
def sphere(center, radius: float, color=(0.30, 0.33, 0.38), rings: int = 48) -> Surface:
    """A ball of `radius` [m] around `center` (3,) [m], drawn as `rings` rings of triangles."""
    sides = 2 * rings
    polar = np.pi * np.arange(rings + 1) / rings
    around = 2.0 * np.pi * np.arange(sides) / sides
    polar, around = np.meshgrid(polar, around, indexing="ij")
    x, y, z = np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)
    unit = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    i, j = np.divmod(np.arange(rings * sides), sides)
    here, beside = i * sides + j, i * sides + (j + 1) % sides
    lower = np.stack([here, beside, here + sides], axis=1)
    upper = np.stack([beside, beside + sides, here + sides], axis=1)
    return Surface(numbers(center, "center", (3,)) + radius * unit, np.concatenate([lower, upper]), color)

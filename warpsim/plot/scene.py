"""What a picture shows: triangle surfaces with colors, checked before anything is drawn."""

from dataclasses import dataclass

import numpy as np

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
        points = np.asarray(self.points, dtype=np.float64)
        triangles = np.asarray(self.triangles)
        color = np.asarray(self.color, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise PlotError(
                f"Surface points: found shape {points.shape}, expected (n, 3) with n > 0"
            )
        if not np.isfinite(points).all():
            row = int(np.argwhere(~np.isfinite(points))[0, 0])
            raise PlotError(f"Surface points: row {row} is {points[row]}, expected finite numbers")
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise PlotError(
                f"Surface triangles: found {triangles.dtype} of shape {triangles.shape}, "
                "expected integers (m, 3)"
            )
        if triangles.size and (triangles.min() < 0 or triangles.max() >= len(points)):
            raise PlotError(
                f"Surface triangles: indices run from {triangles.min()} to {triangles.max()}, "
                f"expected 0 to {len(points) - 1}"
            )
        if color.shape not in {(3,), (len(points), 3)}:
            raise PlotError(
                f"Surface color: found shape {color.shape}, expected (3,) or ({len(points)}, 3)"
            )
        if not ((color >= 0.0) & (color <= 1.0)).all():
            raise PlotError(
                f"Surface color: found values from {color.min():g} to {color.max():g}, "
                "expected linear RGB in [0, 1]"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles.astype(np.int64))
        object.__setattr__(self, "color", np.broadcast_to(color, points.shape))


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
    return Surface(np.asarray(center) + radius * unit, np.concatenate([lower, upper]), color)


def vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Area-weighted unit normals (n, 3); zero where no triangle has an area."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = np.repeat(np.cross(b - a, c - a), 3, axis=0)
    total = np.stack([np.bincount(triangles.ravel(), area[:, k], len(points)) for k in range(3)], 1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return total / np.where(length > 0.0, length, 1.0)

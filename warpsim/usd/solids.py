"""Simple solids of USD (spheres, boxes, cylinders, cones, capsules, planes) as triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

_AROUND, _ALONG = 32, 16
_AXES = {"X": [1, 2, 0], "Y": [2, 0, 1], "Z": [0, 1, 2]}  # where the coordinates of a solid along z go

SOLIDS = ("Sphere", "Cube", "Cylinder", "Cone", "Capsule", "Plane")
"""Names of USD's types that `solid` knows."""


def solid(prim: Usd.Prim) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) in units of the stage and triangles (m, 3) of a prim whose type is one of `SOLIDS`."""
    kind = str(prim.GetTypeName())
    schema = getattr(UsdGeom, kind)(prim)
    early = Usd.TimeCode.EarliestTime()
    if kind == "Cube":
        return _box(float(schema.GetSizeAttr().Get(early)) / 2.0)
    axis = "Z" if kind == "Sphere" else str(schema.GetAxisAttr().Get(early))
    if kind == "Plane":
        points, triangles = _plane(float(schema.GetWidthAttr().Get(early)), float(schema.GetLengthAttr().Get(early)))
    else:
        points, triangles = _revolve(*_profile(kind, schema, early))
    placed = np.empty_like(points)
    placed[:, _AXES[axis]] = points
    return placed, triangles


def _profile(kind: str, schema: Any, early: Usd.TimeCode) -> tuple[np.ndarray, np.ndarray]:
    """The outline of a solid of revolution around z: distances from the axis, and heights."""
    r = float(schema.GetRadiusAttr().Get(early))
    arc = np.linspace(-np.pi / 2.0, np.pi / 2.0, _ALONG + 1)
    if kind == "Sphere":
        return r * np.cos(arc), r * np.sin(arc)
    h = float(schema.GetHeightAttr().Get(early)) / 2.0
    if kind == "Cylinder":
        return np.array([0.0, r, r, 0.0]), np.array([-h, -h, h, h])
    if kind == "Cone":
        return np.array([0.0, r, 0.0]), np.array([-h, -h, h])
    return r * np.cos(arc), r * np.sin(arc) + np.where(arc < 0.0, -h, h)


def _revolve(distance: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An outline turned around z: rings of points, and two triangles between each four neighbours."""
    angle = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    rings = np.stack(
        [
            np.outer(distance, np.cos(angle)),
            np.outer(distance, np.sin(angle)),
            np.repeat(height[:, None], _AROUND, axis=1),
        ],
        axis=-1,
    )
    here = np.arange((len(distance) - 1) * _AROUND).reshape(-1, _AROUND)
    beside, above = np.roll(here, -1, axis=1), here + _AROUND
    across = beside + _AROUND
    halves = ((here, beside, across), (here, across, above))
    triangles = np.concatenate([np.stack(half, axis=-1).reshape(-1, 3) for half in halves])
    return rings.reshape(-1, 3), triangles.astype(np.int32)


def _box(half: float) -> tuple[np.ndarray, np.ndarray]:
    points = half * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return points, np.int32([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def _plane(width: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    w, h = width / 2.0, length / 2.0
    return np.array([[-w, -h, 0.0], [w, -h, 0.0], [w, h, 0.0], [-w, h, 0.0]]), np.int32([[0, 1, 2], [0, 2, 3]])


def sizes_of(prim: Usd.Prim) -> dict[str, Any]:
    """The type of a solid, its axis, and its sizes in units of its space: radius and half height, or half the edge."""
    kind = str(prim.GetTypeName())
    schema, early = getattr(UsdGeom, kind)(prim), Usd.TimeCode.EarliestTime()
    if kind == "Cube":
        return {"type": kind, "axis": "Z", "sizes": [float(schema.GetSizeAttr().Get(early)) / 2.0]}
    axis = "Z" if kind == "Sphere" else str(schema.GetAxisAttr().Get(early))
    sizes = [] if kind == "Plane" else [float(schema.GetRadiusAttr().Get(early))]
    if kind in ("Cylinder", "Cone", "Capsule"):
        sizes.append(float(schema.GetHeightAttr().Get(early)) / 2.0)
    return {"type": kind, "axis": axis, "sizes": sizes}

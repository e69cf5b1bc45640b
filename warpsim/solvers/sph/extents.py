"""Bounding boxes of shapes, and the kinds of shapes that have no end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.riding import poses_at_start
from ..scene.rotations import rotate
from ..scene.shapes import ShapeType

if TYPE_CHECKING:
    from ..scene.model import Model

ENDLESS = (ShapeType.PLANE, ShapeType.HEIGHTFIELD, ShapeType.SDF)
_MESHES = (ShapeType.MESH, ShapeType.HOLLOW_MESH)
_BALLS = (ShapeType.SPHERE, ShapeType.HOLLOW_SPHERE)


def corners(model: Model, s: int) -> np.ndarray:
    """Corners (2, 3) [m] of a box around a shape in its frame; of endless ones, and of planes, without size."""
    kind, scale = model.shape_type[s], model.shape_scale.numpy()[s].astype(np.float64)
    if kind in _MESHES:
        points = model.shape_object[s].points.numpy() * scale
        return np.array([points.min(axis=0), points.max(axis=0)], dtype=np.float64)
    if kind in ENDLESS:
        half = np.zeros(3)
    elif kind in _BALLS:
        half = np.full(3, scale[0])
    elif kind is ShapeType.BOX:
        half = scale
    else:  # round about z
        ends = scale[0] if kind in (ShapeType.CAPSULE, ShapeType.HOLLOW_CAPSULE) else 0.0
        half = np.array([scale[0], scale[0], scale[1] + ends])
    return np.array([-half, half])


def extent(model: Model, s: int) -> tuple[np.ndarray, np.ndarray]:
    """The middle of a shape in its frame, and half its extents along the axes of the world as it starts, (3,) [m]."""
    low, high = corners(model, s)
    pose = poses_at_start(model)[s]
    turned = rotate(pose[3:], np.eye(3)).T
    return 0.5 * (low + high), np.abs(turned) @ (0.5 * (high - low))

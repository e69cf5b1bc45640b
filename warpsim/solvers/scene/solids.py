"""Simple solids of USD as shapes of their own kind, where their transform leaves them that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from .rotations import rotation_onto

if TYPE_CHECKING:
    from ...usd.stage_scene import UsdPrim
    from .builder import ModelBuilder
    from .shape_builder import ShapeConfig

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_EQUAL = 1.0e-4  # by how much lengths and angles may differ, as tools round them


def add_solid(builder: ModelBuilder, prim: UsdPrim, cfg: ShapeConfig, hollow: bool) -> tuple[int, np.ndarray] | None:
    """The number of a shape and its quaternion; None where a transform makes another form of the solid."""
    assert prim.solid is not None
    linear, origin, kind = prim.placement[:3, :3], prim.placement[3, :3], prim.solid["type"]
    axis = _AXES[prim.solid["axis"]]
    if kind == "Plane":
        turn = rotation_onto(np.linalg.solve(linear, np.asarray(axis)))  # normals turn by the inverse's transpose
        return builder.add_shape_plane(Rotation.from_quat(turn).apply((0.0, 0.0, 1.0)), origin, cfg=cfg), turn
    scales = np.linalg.norm(linear, axis=1)
    if not scales.min() > 0.0:
        return None
    rows = linear / scales[:, None]
    uniform = np.ptp(scales) <= _EQUAL * scales.max()
    if np.abs(rows @ rows.T - np.eye(3)).max() > _EQUAL or kind == "Cone" or not (uniform or kind == "Cube"):
        return None
    rows[2] *= np.sign(np.linalg.det(rows))  # mirrored, solids look the same
    turn = (Rotation.from_matrix(rows.T) * Rotation.from_quat(rotation_onto(axis))).as_quat()
    pose, sizes = [*origin, *turn], [size * scales[0] for size in prim.solid["sizes"]]
    if kind == "Cube":
        if hollow:
            return None
        return builder.add_shape_box(pose, *(prim.solid["sizes"][0] * scales), cfg=cfg), turn
    added = {
        "Sphere": builder.add_shape_sphere,
        "Capsule": builder.add_shape_capsule,
        "Cylinder": builder.add_shape_cylinder,
    }[kind]
    return added(pose, *sizes, cfg=cfg, hollow=hollow), turn

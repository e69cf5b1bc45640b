"""Rotations of points on the host, by quaternions (x, y, z, w)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import numbers
from ...errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def rotate(rotation: ArrayLike, points: np.ndarray) -> np.ndarray:
    """Points (n, 3) turned by a unit quaternion: p + 2 w (u x p) + 2 u x (u x p)."""
    q = numbers(rotation, "rotation")
    if q.shape != (4,) or not np.isclose(np.linalg.norm(q), 1.0, rtol=1.0e-4):
        raise ModelError(f"rotation is {rotation!r}\nexpected: a unit quaternion (x, y, z, w)")
    across = np.cross(q[:3], points)
    return points + 2.0 * q[3] * across + 2.0 * np.cross(q[:3], across)


def rotation_onto(direction: ArrayLike) -> np.ndarray:
    """A quaternion that turns the z axis into a direction of any length."""
    d = numbers(direction, "direction")
    if d.shape != (3,) or not np.linalg.norm(d) > 0.0:
        raise ModelError(f"direction is {direction!r}\nexpected: three numbers, not all zero")
    x, y, z = d / np.linalg.norm(d)
    if z < -1.0 + 1.0e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    q = np.array([-y, x, 0.0, 1.0 + z])
    return q / np.linalg.norm(q)


def turn_after(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Quaternions of turns (n, 4) followed by another one (4,), (n, 4)."""
    vectors = second[3] * first[:, :3] + first[:, 3:] * second[:3] + np.cross(second[:3], first[:, :3])
    return np.column_stack([vectors, second[3] * first[:, 3] - first[:, :3] @ second[:3]])

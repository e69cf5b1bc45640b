"""Origins: a place near the particles from which a solver measures, so that float32 is as exact far away as it is here.

A state has positions in the world, `particle_q`, and what rounding took from them, its field particle_rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.language import Vec, array, func, kernel, tid, transformation
from ...core.lib.transforms import transform_get_rotation, transform_get_translation


def origin_of(points: np.ndarray) -> np.ndarray:
    """A place near points (n, 3), in whole metres, where they are far from the world's origin; else that, (3,) [m]."""
    finite = points[np.isfinite(points).all(axis=1)].astype(np.float64)
    if not len(finite):
        return np.zeros(3)
    low, high = finite.min(axis=0), finite.max(axis=0)
    centre = 0.5 * (low + high)
    return np.where(np.abs(centre) > (high - low).max(), np.round(centre), 0.0)


@func
def from_origin(origin: Vec[3, Any], q: Vec[3, Any], rest: Vec[3, Any]):
    """A position from the origin, of one in the world and what rounding took from it [m]."""
    return (q - origin) + rest


@func
def in_world(origin: Vec[3, Any], p: Vec[3, Any]):
    """A position from the origin as one in the world, and what rounding takes from it [m]."""
    rounded = p + origin
    return rounded, p - (rounded - origin)


@kernel
def place_shapes(origin: Any, transform: array(dtype=Any), pose: array(dtype=Any)):
    """Poses of shapes from an origin."""
    s = tid()
    place = transform_get_translation(transform[s]) - origin
    pose[s] = transformation(place, transform_get_rotation(transform[s]))

"""Pressure: what fills a closed surface of triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arguments import integers
from ...errors import ModelError
from .closed import check_closed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .builder import ModelBuilder


def add(builder: ModelBuilder, triangles: ArrayLike, target: float, bulk_modulus: float) -> int:
    """Fill the surface of these triangles (their numbers), which holds the volume V_0 as particles are now.

    target: the volume without pressure, relative to V_0; above 1 it is blown up. bulk_modulus: K [Pa]; infinity holds
    the volume. The pressure is K (target - V / V_0). Triangles turn counter-clockwise seen from outside.
    Raises `ModelError` for surfaces that are open, inside out, or share particles with another one.
    """
    numbers = integers(triangles, "triangles").astype(np.int64).ravel()
    what = f"pressure {builder.pressures.count}"
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= builder.triangles.count:
        raise ModelError(f"{what} names {len(numbers)} triangles\nexpected: some of {builder.triangles.count} so far")
    if not (target > 0.0 and bulk_modulus > 0.0):
        raise ModelError(f"{what} has target {target:g} and bulk modulus {bulk_modulus:g} Pa\nexpected: above 0")
    faces, points = builder.triangles["indices"][numbers].astype(np.int64), builder.particles["q"]
    check_closed(points, faces, f"the surface of {what}")
    volume = volume_inside(points, faces)
    if not volume > 0.0:
        raise ModelError(f"the surface of {what} encloses {volume:g} m^3\nhelp: swap two corners of each triangle")
    shared = np.intersect1d(faces, np.concatenate([[], *(f.ravel() for f in builder.pressure_faces)]))
    if len(shared):
        raise ModelError(f"{what} shares particle {shared[0]:.0f} with another one\nexpected: surfaces of their own")
    builder.pressure_faces.append(faces)
    return builder.pressures.add(1, target=target * volume, compliance=volume / bulk_modulus)[0]


def volume_inside(points: np.ndarray, faces: np.ndarray) -> float:
    """The volume [m^3] inside of a closed surface."""
    a, b, c = (points[faces[:, k]] - points[faces[0, 0]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

"""Hulls: the surfaces of shapes as closed triangle meshes, and the water that moves along with them.

Boxes and meshes are what they are; round shapes are inscribed meshes, widened until they have the volume of the shape.
Added mass is that of the ellipsoid with the half extents of a shape, deep in ideal water at rest (H. Lamb 1932,
Hydrodynamics, art. 114 and 115).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import elliprd

from ...errors import ModelError
from ..scene.inertia import polyhedron
from ..scene.rotations import rotate
from ..scene.shapes import ShapeType

if TYPE_CHECKING:
    from ..scene.model import Model

_CELLS = 4  # along an edge of a box
_SIDES = 24  # around round shapes
_RINGS = 8  # from the equator to the pole of a ball


class Hull(NamedTuple):
    """One shape in its frame: points (n, 3) [m], triangles (m, 3), counter-clockwise seen from outside; half extents
    of the shape (3,) [m]."""

    points: np.ndarray
    triangles: np.ndarray
    half: np.ndarray


def hull_of(model: Model, shape: int) -> Hull:
    """The hull of a shape on a body. Raises `ModelError` for one without volume."""
    kind, sizes = model.shape_type[shape], model.shape_scale.numpy()[shape].astype(np.float64)
    radius, along = sizes[0], sizes[1]
    if kind is ShapeType.SPHERE:
        return _turned(_cap(radius, 0.0), np.full(3, radius), 4.0 / 3.0 * math.pi * radius**3)
    if kind is ShapeType.CAPSULE:
        volume = math.pi * radius**2 * (4.0 / 3.0 * radius + 2.0 * along)
        return _turned(_cap(radius, along), np.array([radius, radius, along + radius]), volume)
    if kind is ShapeType.CYLINDER:
        ends = np.linspace(0.0, 1.0, _CELLS, endpoint=False) * radius
        outline = [(r, along) for r in ends] + [(radius, z) for z in np.linspace(along, -along, 2 * _CELLS + 1)]
        outline += [(r, -along) for r in reversed(ends)]
        return _turned(outline, np.array([radius, radius, along]), 2.0 * math.pi * radius**2 * along)
    if kind is ShapeType.BOX:
        return _box(sizes)
    if kind is ShapeType.MESH:
        mesh = model.shape_object[shape]
        points = mesh.points.numpy().astype(np.float64) * sizes
        return Hull(points, mesh.indices.numpy().reshape(-1, 3), 0.5 * np.ptp(points, axis=0))
    raise ModelError(
        f"shape {shape} of a body is a {kind.name.lower()}\nexpected: a sphere, box, capsule, cylinder or closed mesh, "
        "which displace water"
    )


def added_mass_of(half: np.ndarray) -> float:
    """Added per displaced mass of an ellipsoid, mean over the directions of its axes; 1/2 of a ball."""
    alpha = _alpha(half)
    return float((alpha / (2.0 - alpha)).mean())


def added_inertia_of(half: np.ndarray, volume: float) -> np.ndarray:
    """Added moments of inertia about the axes of an ellipsoid, of water of density 1, (3,) [m^5].

    half: its half extents (3,) [m]; volume [m^3]: of the shape, which has the coefficients of the ellipsoid.
    """
    alpha, moments = _alpha(half), np.zeros(3)
    for axis in range(3):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        unlike, both = half[j] ** 2 - half[k] ** 2, half[j] ** 2 + half[k] ** 2
        if abs(unlike) > 1.0e-9 * both:
            moments[axis] = unlike**2 * (alpha[k] - alpha[j]) / (2.0 * unlike + both * (alpha[j] - alpha[k]))
    return 0.2 * volume * moments


def matrix_on_body(moments: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Moments about the axes of a shape as a matrix (3, 3) along those of its body. pose: of the shape, (7,)."""
    axes: np.ndarray = rotate(pose[3:], np.eye(3)).T
    matrix: np.ndarray = axes @ np.diag(moments) @ axes.T
    return matrix


def _alpha(half: np.ndarray) -> np.ndarray:
    """Lamb's alpha, beta and gamma of an ellipsoid: a b c times the integral of dt / ((a^2 + t) D(t)) from 0 on, ..."""
    a, b, c = half**2
    integrals = np.array([elliprd(b, c, a), elliprd(c, a, b), elliprd(a, b, c)])
    return 2.0 / 3.0 * float(half.prod()) * integrals


# ----- meshes -------------------------------------------------------------------------------------


def _cap(radius: float, half: float) -> list[tuple[float, float]]:
    """The outline (radius, height) of a capsule from the pole above to the one below."""
    polar = 0.5 * math.pi * np.arange(_RINGS + 1) / _RINGS
    upper = [(radius * math.sin(a), half + radius * math.cos(a)) for a in polar]
    lower = [(r, -z) for r, z in reversed(upper)]
    along = [(radius, z) for z in np.linspace(half, -half, _CELLS + 1)[1:-1]] if half > 0.0 else []
    return upper + along + (lower if half > 0.0 else lower[1:])


def _turned(outline: list[tuple[float, float]], half: np.ndarray, volume: float) -> Hull:
    """The surface that an outline from the axis to the axis sweeps around z, widened until it has a volume [m^3]."""
    radius, height = np.array(outline[1:-1]).T
    angle = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    rings = np.stack([np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))], axis=-1)
    points = np.concatenate([rings, np.broadcast_to(height[:, None, None], (*rings.shape[:2], 1))], axis=-1)
    poles = np.array([[0.0, 0.0, outline[0][1]], [0.0, 0.0, outline[-1][1]]])
    count, j = len(radius), np.arange(_SIDES)
    beside, last, top = (j + 1) % _SIDES, (count - 1) * _SIDES, count * _SIDES
    faces = [np.stack([np.full(_SIDES, top), j, beside], 1)]
    for k in range(0, last, _SIDES):
        faces += [np.stack([k + j, k + _SIDES + j, k + beside], 1)]
        faces += [np.stack([k + beside, k + _SIDES + j, k + _SIDES + beside], 1)]
    faces.append(np.stack([np.full(_SIDES, top + 1), last + beside, last + j], 1))
    corners, triangles = np.concatenate([points.reshape(-1, 3), poles]), np.concatenate(faces)
    factor = math.sqrt(volume / polyhedron(corners, triangles).volume)
    return Hull(corners * [factor, factor, 1.0], triangles, half)


def _box(half: np.ndarray) -> Hull:
    """A box whose sides have cells, with points of neighbouring sides in common."""
    line = np.linspace(-1.0, 1.0, _CELLS + 1)
    u, v = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    i, j = np.divmod(np.arange(_CELLS * _CELLS), _CELLS)
    a = i * (_CELLS + 1) + j
    b, c, d = a + _CELLS + 1, a + _CELLS + 2, a + 1
    points, faces = [], []
    for axis in range(3):
        for side in (1.0, -1.0):
            face = np.empty((len(u), 3))
            face[:, axis], face[:, (axis + 1) % 3], face[:, (axis + 2) % 3] = side, u, v
            turned = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
            faces.append((turned if side > 0.0 else turned[:, ::-1]) + len(points) * len(u))
            points.append(face)
    rounded, same = np.unique(np.round(np.concatenate(points), 9), axis=0, return_inverse=True)
    return Hull(rounded * half, same.ravel()[np.concatenate(faces)], half)

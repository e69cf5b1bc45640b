"""Mass, centre of mass and inertia of rigid bodies, from their shapes and densities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ModelError
from .rotations import rotate
from .shapes import ShapeType

if TYPE_CHECKING:
    from .builder import ModelBuilder

_ROUNDING = 1.0e-9
_TETRAHEDRON_MOMENTS = (np.ones((3, 3)) + np.eye(3)) / 20.0
"""M of a tetrahedron's covariance (det E / 6) E M E^T about a corner at the origin; E has the others as columns."""


class Masses(NamedTuple):
    """Of bodies: mass (n,) [kg], centre of mass (n, 3) [m], inertia about it (n, 3, 3) [kg m^2]."""

    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray


class Solid(NamedTuple):
    """A form of density 1, in its frame: volume [m^3], centre [m], covariance about it (3, 3) [m^5].

    The covariance C is the integral of x x^T; the inertia is trace(C) 1 - C. Parts add up more simply in C.
    """

    volume: float
    center: np.ndarray
    covariance: np.ndarray


def of_bodies(builder: ModelBuilder) -> Masses:
    """Masses of all bodies: as they were given, else those of their shapes.

    Raises `ModelError` for shapes without volume on a body that has its mass from them, for bodies without mass, and
    for an inertia that no body can have.
    """
    table, shapes = builder.bodies, builder.shapes
    mass, com = table["mass"].copy(), table["com"].copy()
    inertia = table["inertia"].reshape(-1, 3, 3).copy()
    for b in range(table.count):
        own, derived = np.flatnonzero(shapes["body"] == b), table["derived"][b]
        if mass[b] == 0.0 and not derived[0]:
            continue
        if derived.any():
            total = _combine(builder, own, b)
            mass[b] = total.volume if derived[0] else mass[b]
            com[b] = total.center if derived[1] else com[b]
            if derived[2]:
                offset = total.center - com[b]
                covariance = total.covariance + total.volume * np.outer(offset, offset)
                inertia[b] = (mass[b] / total.volume) * (np.trace(covariance) * np.eye(3) - covariance)
        _check(b, mass[b], inertia[b])
    return Masses(mass, com, inertia)


def _combine(builder: ModelBuilder, own: np.ndarray, body: int) -> Solid:
    """All shapes of a body as one, volumes weighted by densities."""
    parts = []
    for s in own:
        density, pose = float(builder.shapes["density"][s]), builder.shapes["transform"][s]
        if not 0.0 < density < math.inf:
            raise ModelError(f"shape {s} of body {body} has the density {density:g} kg/m^3\nexpected: above 0")
        solid = _solid(builder, int(s), body)
        axes = rotate(pose[3:], np.eye(3)).T
        center = axes @ solid.center + pose[:3]
        parts.append(Solid(density * solid.volume, center, density * axes @ solid.covariance @ axes.T))
    if not parts:
        names = ("mass", "com", "inertia")
        lacking = [name for name, open in zip(names, builder.bodies["derived"][body], strict=True) if open]
        raise ModelError(
            f"body {body} has no shape, and no {' and no '.join(lacking)} is given\n"
            "help: add shapes with body=..., or give mass, com and inertia; mass=0 for one that keeps its velocity"
        )
    total = sum(part.volume for part in parts)
    center = sum((part.volume * part.center for part in parts), np.zeros(3)) / total
    shifted = [p.covariance + p.volume * np.outer(p.center - center, p.center - center) for p in parts]
    covariance = sum(shifted, np.zeros((3, 3)))
    return Solid(total, center, covariance)


def _solid(builder: ModelBuilder, shape: int, body: int) -> Solid:
    """The form of a shape. Raises `ModelError` for one without volume."""
    kind, sizes = ShapeType(builder.shapes["type"][shape]), builder.shapes["scale"][shape]
    if kind is ShapeType.SPHERE:
        return ellipsoid(sizes[[0, 0, 0]])
    if kind is ShapeType.BOX:
        return box(sizes)
    if kind is ShapeType.CAPSULE:
        return capsule(*sizes[:2])
    if kind is ShapeType.CYLINDER:
        return cylinder(*sizes[:2])
    if kind is ShapeType.CONE:
        return cone(*sizes[:2])
    if kind is ShapeType.MESH:
        mesh = builder.sources[builder.shapes["source"][shape]]
        points = np.asarray(mesh.points.numpy(), np.float64) * sizes
        return polyhedron(points, mesh.indices.numpy().reshape(-1, 3))
    raise ModelError(
        f"shape {shape} of body {body} is a {kind.name.lower()}, which has no volume\n"
        "expected: a sphere, box, capsule, cylinder, cone or mesh, or mass, com and inertia of the body"
    )


def _centered(volume: float, squares: np.ndarray) -> Solid:
    """A form that is symmetric to the planes of its frame, of the means of x^2, y^2 and z^2 in it."""
    return Solid(volume, np.zeros(3), volume * np.diag(squares))


def ellipsoid(radii: np.ndarray) -> Solid:
    """An ellipsoid, of its three radii [m]."""
    return _centered(4.0 / 3.0 * math.pi * float(radii.prod()), radii**2 / 5.0)


def box(half: np.ndarray) -> Solid:
    """A box, of its half extents [m]."""
    return _centered(8.0 * float(half.prod()), half**2 / 3.0)


def cylinder(radius: float, half: float) -> Solid:
    """A cylinder along z, of its radius and half its height [m]."""
    across = radius * radius / 4.0
    return _centered(2.0 * math.pi * radius**2 * half, np.array([across, across, half * half / 3.0]))


def cone(radius: float, half: float) -> Solid:
    """A cone with its tip above, of the radius of its base and half its height [m]: its centre is a quarter of the
    height above the base."""
    across, along = 0.15 * radius**2, 0.15 * half**2
    solid = _centered(2.0 / 3.0 * math.pi * radius**2 * half, np.array([across, across, along]))
    return solid._replace(center=np.array([0.0, 0.0, -0.5 * half]))


def capsule(radius: float, half: float) -> Solid:
    """A capsule along z, of its radius and half the length of its axis [m]: a cylinder and two half balls."""
    middle, ball = cylinder(radius, half), ellipsoid(np.full(3, radius))
    across = middle.covariance[0, 0] + ball.covariance[0, 0]
    # a half ball has its centre 3 r / 8 beyond its base: the mean of (z + half)^2 over both
    along = middle.covariance[2, 2] + ball.covariance[2, 2] + ball.volume * (half * half + 0.75 * radius * half)
    return Solid(middle.volume + ball.volume, np.zeros(3), np.diag([across, across, along]))


def polyhedron(points: np.ndarray, faces: np.ndarray) -> Solid:
    """What a closed mesh encloses, by tetrahedra from its middle to each face (divergence theorem)."""
    middle = points.mean(axis=0)
    edges = np.swapaxes(points[faces] - middle, 1, 2)
    determinants = np.linalg.det(edges)
    volume = float(determinants.sum()) / 6.0
    if not volume > 0.0:
        raise ModelError(f"a mesh encloses {volume:g} m^3\nexpected: faces counter-clockwise seen from outside")
    center = (determinants[:, None] * edges.sum(axis=2)).sum(axis=0) / (24.0 * volume)
    second = np.einsum("f,fij,jk,flk->il", determinants, edges, _TETRAHEDRON_MOMENTS / 6.0, edges)
    return Solid(volume, center + middle, second - volume * np.outer(center, center))


def _check(body: int, mass: float, inertia: np.ndarray) -> None:
    """Raise `ModelError` for what no body has."""
    if not 0.0 < mass < math.inf:
        raise ModelError(
            f"body {body} has the mass {mass:g} kg\nexpected: above 0, or 0 for one that keeps its velocity"
        )
    moments = np.linalg.eigvalsh(inertia) if np.isfinite(inertia).all() else np.full(3, math.nan)
    off = np.abs(inertia - inertia.T).max()
    symmetric = np.allclose(inertia, inertia.T, rtol=1.0e-6, atol=_ROUNDING * np.abs(inertia).max())
    if not symmetric and np.isfinite(off):
        raise ModelError(
            f"body {body} has an inertia that differs from its transpose by {off:g} kg m^2\n"
            f"expected: a symmetric matrix, as (I + I.T) / 2 is\nfound: {inertia.tolist()}"
        )
    if not (symmetric and moments[0] > 0.0 and moments[0] + moments[1] >= (1.0 - _ROUNDING) * moments[2]):
        raise ModelError(
            f"body {body} has the principal moments of inertia {moments.tolist()} kg m^2\nexpected: a symmetric matrix "
            "with moments above 0, none larger than the sum of the others"
        )

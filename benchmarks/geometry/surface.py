"""A closed bumpy surface of triangles, and what it looks like to points, rays and boxes, by NumPy.

The surface is a torus whose tube swells and shrinks in waves; its triangles are shuffled. Guarantees: the same
arrays from the same size; the references try every triangle that bounding spheres cannot exclude, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MAJOR, MINOR, BUMP = 1.0, 0.4, 0.08
"""Radii of the ring and of its tube, and the height of the waves [m]."""

CHECKED = 512
"""How many points, rays or boxes are compared with NumPy: this many, spread evenly."""


def torus(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) float32 and triangles (m, 3) int32, with normals pointing outwards; m = 2 side (side + 1)."""
    around, across = side + 1, side
    ring, tube = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    points = _bumpy(2.0 * np.pi * ring / around, 2.0 * np.pi * tube / across)
    a, b = ring * across + tube, (ring + 1) % around * across + tube
    c, d = (ring + 1) % around * across + (tube + 1) % across, ring * across + (tube + 1) % across
    triangles = np.concatenate([np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))])
    # files list triangles in no useful order
    order = np.random.default_rng(21).permutation(len(triangles))
    return points.reshape(-1, 3).astype(np.float32), triangles[order].astype(np.int32)


def _bumpy(ring: np.ndarray, tube: np.ndarray) -> np.ndarray:
    waves = np.sin(7.0 * ring + 2.0) * np.cos(5.0 * tube) + 0.2 * np.sin(31.0 * ring + 23.0 * tube)
    radius = MINOR + BUMP * waves
    out = MAJOR + radius * np.cos(tube)
    return np.stack([out * np.cos(ring), out * np.sin(ring), radius * np.sin(tube)], axis=-1)


def spread(n: int) -> np.ndarray:
    """The numbers of those of n that are compared."""
    return np.unique(np.linspace(0, n - 1, CHECKED).astype(np.int64))


def points_around(n: int) -> np.ndarray:
    """Random points in a box around the torus, (n, 3) float32."""
    reach = np.array([1.7, 1.7, 0.7])
    return (np.random.default_rng(22).uniform(-reach, reach, (n, 3))).astype(np.float32)


# ----- points ---------------------------------------------------------------------------------


def distances(points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The distance of each point to the surface, negative inside of it."""
    corners = vertices.astype(np.float64)[triangles]
    found = np.array([np.sqrt(square_distances(p, corners[near]).min()) for p, near in _closest_few(points, corners)])
    # a point is inside if a ray from it passes through the surface an odd number of times
    away = np.random.default_rng(23).normal(size=(len(points), 3))
    crossings = np.array([len(t) for t in crossed(points, away, vertices, triangles)])
    return np.where(crossings % 2 == 1, -found, found)


def _closest_few(points: np.ndarray, corners: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each point, with the triangles that its closest point can be on."""
    centers, radii = _spheres(corners)
    for p in points.astype(np.float64):
        away = np.linalg.norm(centers - p, axis=1)
        yield p, np.flatnonzero(away - radii <= (away + radii).min())


def _spheres(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centers = corners.mean(axis=1)
    return centers, np.linalg.norm(corners - centers[:, None], axis=2).max(axis=1)


def square_distances(p: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Squared distances of a point to triangles (m, 3, 3): to the plane if its foot is inside, else to a side."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    inside = np.ones(len(corners), bool)
    sides = np.full(len(corners), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        side, to_point = end - start, p - start
        inside &= np.einsum("ij,ij->i", np.cross(side, to_point), normal) >= 0.0
        along = np.clip(np.einsum("ij,ij->i", to_point, side) / np.einsum("ij,ij->i", side, side), 0.0, 1.0)
        sides = np.minimum(sides, np.sum((to_point - along[:, None] * side) ** 2, axis=1))
    height = np.einsum("ij,ij->i", p - a, normal) ** 2 / np.einsum("ij,ij->i", normal, normal)
    return np.where(inside, height, sides)


# ----- rays -----------------------------------------------------------------------------------


def rays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts on a sphere around the torus and unit directions to random points near it, both (n, 3) float32."""
    random = np.random.default_rng(24)
    starts = random.normal(size=(n, 3))
    starts *= 3.0 / np.linalg.norm(starts, axis=1, keepdims=True)
    return starts.astype(np.float32), _unit(random.permutation(points_around(n)) - starts)


def picture(width: int) -> tuple[np.ndarray, np.ndarray]:
    """The rays of a picture of width * width pixels, row by row, in the form of `rays`."""
    start = np.array([0.0, -2.0, 2.5])
    across = np.linspace(-0.5, 0.5, width)
    u, v = np.meshgrid(across, across)
    forwards = _unit(-start).astype(np.float64)
    right, up = np.array([1.0, 0.0, 0.0]), np.cross([1.0, 0.0, 0.0], forwards)
    directions = _unit(forwards + u[..., None] * right + v[..., None] * up).reshape(-1, 3)
    return np.broadcast_to(start.astype(np.float32), directions.shape).copy(), directions


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def first_hits(starts: np.ndarray, directions: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """How far each ray goes, and -1 where it hits nothing."""
    return np.array([t.min() if len(t) else -1.0 for t in crossed(starts, directions, vertices, triangles)])


def crossed(
    starts: np.ndarray, directions: np.ndarray, vertices: np.ndarray, triangles: np.ndarray
) -> Iterator[np.ndarray]:
    """Where each ray passes through the surface: t of start + t direction, t >= 0."""
    corners = vertices.astype(np.float64)[triangles]
    centers, radii = _spheres(corners)
    for start, direction in zip(starts.astype(np.float64), directions.astype(np.float64), strict=True):
        to_center = centers - start
        beside = np.linalg.norm(np.cross(to_center, direction), axis=1) <= radii * np.linalg.norm(direction)
        yield _through(start, direction, corners[beside])


def _through(start: np.ndarray, direction: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """t of a ray at the triangles (m, 3, 3) that it passes through, by Moeller and Trumbore (1997)."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, ac)
    volume = np.einsum("ij,ij->i", ab, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ij,ij->i", start - a, across) / volume
        turned = np.cross(start - a, ab)
        v = turned @ direction / volume
        t = np.einsum("ij,ij->i", ac, turned) / volume
        return t[(u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0)]


# ----- boxes ----------------------------------------------------------------------------------


def boxes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corners of boxes around the torus, each (n, 3) float32, with sides up to 0.1 m."""
    half = np.random.default_rng(25).uniform(0.01, 0.05, (n, 3)).astype(np.float32)
    centers = points_around(n)
    return centers - half, centers + half


def overlapping(lowers: np.ndarray, uppers: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """For each box the number of triangles whose own boxes overlap it."""
    corners = vertices[triangles]
    low, high = corners.min(axis=1), corners.max(axis=1)
    return np.array([np.all((low <= upper) & (high >= lower), axis=1).sum()
                     for lower, upper in zip(lowers, uppers, strict=True)])

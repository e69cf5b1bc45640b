"""Normals to shade with: smooth where a surface bends little, those of its faces at creases."""

from __future__ import annotations

import numpy as np

_CREASE, _HALF = np.cos(np.radians([40.0, 20.0]))  # faces that meet at a larger angle meet at an edge; half of it


def corner_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Unit normals (m, 3, 3) of the corners of triangles (m, 3): means over the faces around that are no crease away.

    Weighted by area; those of faces without one are of length 0.
    """
    area = _areas(points, triangles)
    flat = _unit(area)
    normals = vertex_normals(points, triangles)[triangles]
    bent = np.einsum("fkx,fx->fk", normals, flat) < _HALF  # else no two faces of the vertex are a crease apart
    at_edge = np.zeros(len(points), bool)
    at_edge[triangles[bent]] = True
    face, corner = np.nonzero(at_edge[triangles])
    if len(face):
        normals[face, corner] = _unit(_sums_of_neighbours(triangles[face, corner], area[face], flat[face]))
    return normals


def vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Area-weighted unit normals (n, 3); zero where no triangle has an area."""
    area = np.repeat(_areas(points, triangles), 3, axis=0)
    return _unit(np.stack([np.bincount(triangles.ravel(), area[:, k], len(points)) for k in range(3)], axis=1))


def _sums_of_neighbours(vertex: np.ndarray, area: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """For each corner (k,) the sum (k, 3) of the areas of faces at the same vertex whose normals are near its own."""
    order = np.argsort(vertex, kind="stable")
    area, flat = area[order], flat[order]
    _, first, count = np.unique(vertex[order], return_index=True, return_counts=True)
    first, count = np.repeat(first, count), np.repeat(count, count)
    here, sums = np.arange(len(vertex)), np.zeros_like(area)
    for turn in range(count.max()):
        other = first + (here - first + turn) % count
        near = (turn < count) & (np.einsum("ij,ij->i", flat, flat[other]) > _CREASE)
        sums += near[:, None] * area[other]
    result = np.empty_like(sums)
    result[order] = sums
    return result


def _areas(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)

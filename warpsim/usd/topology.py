"""Polygons as triangles, and smooth normals of them.

Guarantees: a face of k corners gives k - 2 triangles, in face order, that turn the same way as the
face; every normal has length one, also at points that no face uses.  Concave faces are fanned like
convex ones, so a strongly concave polygon may give overlapping triangles.
"""

import numpy as np


def fan(counts: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Split polygons into triangles (m, 3), int32: corner 0 with each following pair of corners."""
    counts = np.asarray(counts, dtype=np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts - 2)
    ends = np.cumsum(counts - 2)
    step = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - (counts - 2), counts - 2)
    corners = np.stack([first, first + step + 1, first + step + 2], axis=1)
    return np.asarray(indices, dtype=np.int32)[corners]


def vertex_normals(points: np.ndarray, triangles: np.ndarray, fallback) -> np.ndarray:
    """Area-weighted unit normals (n, 3), float32; `fallback` (3,) where no face has an area."""
    a, b, c = (points[triangles[:, k]].astype(np.float64) for k in range(3))
    area = np.cross(b - a, c - a)
    corners = triangles.ravel()
    total = np.stack(
        [np.bincount(corners, np.repeat(area[:, k], 3), len(points)) for k in range(3)], axis=1
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    flat = length[:, 0] <= 0.0
    normals = total / np.where(length > 0.0, length, 1.0)
    normals[flat] = fallback
    return normals.astype(np.float32)

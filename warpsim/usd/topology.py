"""Polygons as triangles, and smooth normals of them.

Guarantees: a face of k corners gives k - 2 triangles, in face order, that turn the same way as the
face; every normal has length one, also at points that no face uses.  `triangulate` fans convex faces
and cuts ears off concave ones, as seen along their mean normal; `fan` knows no points and fans all.
"""

import numpy as np

from warpsim.usd.ears import cut_ears

_FLAT = 1e-6  # a corner that turns back by less, as a share of the face's area, is straight


def triangulate(points: np.ndarray, counts: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Split polygons over points (n, 3) into triangles (m, 3), int32, that cover each face once."""
    counts, indices = np.asarray(counts, dtype=np.int64), np.asarray(indices, dtype=np.int64)
    triangles = fan(counts, indices)
    if not len(counts) or counts.max() == 3:
        return triangles
    first, normal = np.cumsum(counts) - counts, _newell(points, counts, indices)
    concave = _concave(points, counts, indices, normal)
    for k in np.unique(counts[concave]):
        faces = concave[counts[concave] == k]
        corners = indices[first[faces][:, None] + np.arange(k)]
        local = cut_ears(_project(points[corners], normal[faces]))
        seats = (first - 2 * np.arange(len(counts)))[faces][:, None] + np.arange(k - 2)
        triangles[seats] = corners[np.arange(len(faces))[:, None, None], local]
    return triangles


def _following(counts: np.ndarray) -> np.ndarray:
    """For every corner, the place of the next corner of its face."""
    last = np.cumsum(counts) - 1
    following = np.arange(1, last[-1] + 2)
    following[last] = last - counts + 1
    return following


def _newell(points, counts, indices) -> np.ndarray:
    """Normals (f, 3) of faces that need not be flat, twice as long as the areas (Newell)."""
    first = np.cumsum(counts) - counts
    corner = points[indices].astype(np.float64)
    corner -= np.repeat(corner[first], counts, axis=0)  # far from the origin products would cancel
    return np.add.reduceat(np.cross(corner, corner[_following(counts)]), first)


def _concave(points, counts, indices, normal) -> np.ndarray:
    """The faces with a corner that turns against the face."""
    following = _following(counts)
    corner = points[indices].astype(np.float64)
    side = corner[following] - corner
    each = np.repeat(normal, counts, axis=0)
    turn = np.einsum("ij,ij->i", np.cross(side, side[following]), each)
    back = turn < -_FLAT * np.einsum("ij,ij->i", each, each)
    return np.flatnonzero(np.add.reduceat(back, np.cumsum(counts) - counts, dtype=np.int64))


def _project(corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Faces (m, k, 3) along the axis nearest to their normals, counter-clockwise (m, k, 2)."""
    rows = np.arange(len(normal))
    axis = np.abs(normal).argmax(axis=1)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    flip = normal[rows, axis] < 0.0
    u, v = np.where(flip, v, u), np.where(flip, u, v)
    return np.stack([corners[rows, :, u], corners[rows, :, v]], axis=-1).astype(np.float64)


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

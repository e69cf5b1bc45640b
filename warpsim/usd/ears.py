"""Concave polygons as triangles, by cutting off ears (Meisters 1975, "Polygons have ears").

Guarantees: k corners give k - 2 triangles that turn as the polygon does; for a polygon whose sides do not cross, the
triangles cover it exactly once, also where corners lie on a line or a hole is joined to the outline by a double side. A
polygon that crosses itself is cut somehow. All polygons of one number of corners are cut at once.
"""

from __future__ import annotations

import numpy as np

_TESTS_AT_ONCE = 1 << 21  # corners against triangles: tens of megabytes


def cut_ears(outlines: np.ndarray) -> np.ndarray:
    """Triangles (m, k - 2, 3), as numbers of corners, of m counter-clockwise polygons (m, k, 2), k > 3."""
    m, k, _ = outlines.shape
    block = max(1, _TESTS_AT_ONCE // (k * k))
    return np.concatenate([_cut(outlines[n : n + block]) for n in range(0, m, block)])


def _cut(outlines: np.ndarray) -> np.ndarray:
    m, k, _ = outlines.shape
    rows = np.arange(m)[:, None]
    left = np.broadcast_to(np.arange(k), (m, k))
    triangles = np.empty((m, k - 2, 3), dtype=np.int64)
    for n in range(k - 3):
        ear = _ears(outlines[rows, left])[:, None]
        triangles[:, n] = left[rows, np.add(ear, [-1, 0, 1]) % (k - n)]
        left = left[np.arange(k - n) != ear].reshape(m, k - n - 1)
    triangles[:, -1] = left
    return triangles


def _ears(corner: np.ndarray) -> np.ndarray:
    """Which corner (m,) of the polygons (m, r, 2) to cut off: of all ears the one with the shortest cut."""
    before, behind = np.roll(corner, 1, axis=1), np.roll(corner, -1, axis=1)
    turn = _turn(before, corner, behind)
    a, b, c = (side[:, :, None] for side in (before, corner, behind))
    other = corner[:, None]
    within = (_turn(a, b, other) >= 0.0) & (_turn(b, c, other) >= 0.0) & (_turn(c, a, other) >= 0.0)
    for own in (a, b, c):  # a corner of the triangle, or another that lies on it, is not in the way
        within &= (own != other).any(axis=-1)
    is_ear = (turn > 0.0) & ~within.any(axis=2)
    cut = np.where(is_ear, ((behind - before) ** 2).sum(axis=-1), np.inf)
    return np.where(is_ear.any(axis=1), cut.argmin(axis=1), turn.argmax(axis=1))


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the area of triangles a, b, c: positive when they turn counter-clockwise."""
    u, v = b - a, c - a
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

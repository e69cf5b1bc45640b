"""Closed meshes: every edge is between two faces that turn it opposite ways."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError


def check_closed(points: np.ndarray, triangles: np.ndarray, what: str) -> None:
    """Raise `ModelError` that names an open edge of triangles (m, 3) over points (n, 3) [m]; points at one place count
    as one."""
    _, merged = np.unique(points, axis=0, return_inverse=True)
    faces = merged.reshape(-1)[triangles]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    count = len(points)
    ways = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    there, back = ways[:, 0] * count + ways[:, 1], ways[:, 1] * count + ways[:, 0]
    keys, uses = np.unique(there, return_counts=True)
    returns = dict(zip(*np.unique(back, return_counts=True), strict=True))
    unpaired = [key for key, n in zip(keys.tolist(), uses.tolist(), strict=True) if returns.get(key, 0) != n]
    if not unpaired:
        return
    place = points[np.flatnonzero(merged.reshape(-1) == unpaired[0] // count)[0]]
    raise ModelError(
        f"{what} is open: {len(unpaired)} edges have no face behind them, one at {place.tolist()} m\n"
        "expected: a closed surface, which has an inside and an outside\n"
        "help: fill the holes, or turn faces that are inside out; wp.mesh_to_volume makes a volume of any mesh"
    )

"""A packed block of grains, and all pairs of them that are near each other.

The block is a cubic lattice of `side` grains along each axis, shaken by a part of its spacing. Guarantees: the same
positions from the same arguments; `pairs` finds exactly the pairs within reach of float64 coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SHAKE = 0.05
"""How far a grain is moved along each axis at most, in spacings."""


def block(side: int, spacing: float, shake: float = SHAKE) -> np.ndarray:
    """Positions of `side`^3 grains, (n, 3) float32 [m]; one corner of the lattice is the origin."""
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    moved = lattice + shake * np.random.default_rng(11).uniform(-1.0, 1.0, lattice.shape)
    # grains of a simulation are in no order
    order = np.random.default_rng(12).permutation(len(moved))
    return (spacing * moved[order]).astype(np.float32)


def velocities(n: int) -> np.ndarray:
    """(n, 3) float32 [m/s], components in [-1, 1)."""
    return np.random.default_rng(13).uniform(-1.0, 1.0, (n, 3)).astype(np.float32)


def pairs(positions: np.ndarray, reach: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All ordered pairs (i, j), i != j, at most `reach` apart, in 27 portions.

    Points are sorted by cells as wide as the reach; a portion holds the pairs whose cells differ by one offset.
    """
    x = positions.astype(np.float64)
    cell = np.floor(x / reach).astype(np.int64)
    cell -= cell.min(axis=0) - 1
    strides = np.cumprod([1, *(cell.max(axis=0) + 2)])[:3]
    key = cell @ strides
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    for offset in np.stack(np.meshgrid(*[(-1, 0, 1)] * 3), axis=-1).reshape(-1, 3):
        wanted = key + offset @ strides
        first = np.searchsorted(ranked, wanted, side="left")
        count = np.searchsorted(ranked, wanted, side="right") - first
        i = np.repeat(np.arange(len(x)), count)
        start = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        j = order[np.arange(len(i)) + start]
        near = (np.sum((x[i] - x[j]) ** 2, axis=1) <= reach * reach) & (i != j)
        yield i[near], j[near]


def summed(i: np.ndarray, terms: np.ndarray, n: int) -> np.ndarray:
    """The sums of the `terms` of each i, (n,) or (n, 3)."""
    if terms.ndim == 1:
        return np.bincount(i, terms, n)
    return np.stack([np.bincount(i, column, n) for column in terms.T], axis=1)

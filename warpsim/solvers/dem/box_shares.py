"""How much of balls is inside of a box: exact areas of discs in rectangles, summed over heights by Gauss's rule."""

from __future__ import annotations

import numpy as np

_NODES = 48  # heights of a ball that is cut; its share is then exact to 4e-5


def box_shares(centers: np.ndarray, radii: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The part of the volume of each ball that lies between two corners, (n,) [-], of 0 to 1.

    centers: (n, 3) [m]; radii: (n,) [m]; low, high: (3,) [m].
    """
    radius = radii[:, None]
    whole = ((centers >= low + radius) & (centers <= high - radius)).all(axis=1)
    cut = ((centers > low - radius) & (centers < high + radius)).all(axis=1) & ~whole
    shares = whole.astype(np.float64)
    below, above = ((corner - centers[cut]) / radius[cut] for corner in (low, high))
    shares[cut] = _volume(below, above) / (4.0 / 3.0 * np.pi)
    return shares


def _volume(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of the unit ball between corners (n, 3), (n,). Heights are sines, so that discs shrink smoothly at the poles."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    first, last = (np.arcsin(np.clip(end[:, 2:], -1.0, 1.0)) for end in (low, high))
    half = 0.5 * (last - first)
    r = np.cos(0.5 * (first + last) + half * node)
    (x0, y0), (x1, y1) = ((end[:, 0:1], end[:, 1:2]) for end in (low, high))
    area = _quadrant(x1, y1, r) - _quadrant(x0, y1, r) - _quadrant(x1, y0, r) + _quadrant(x0, y0, r)
    return (half * weight * r * area).sum(axis=1)


def _quadrant(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The area of that part of a disc of radius r around 0 which is left of x and below y.

    Columns of the disc have the half height s = sqrt(r^2 - X^2); left of x they are filled from -s up to y, or to s.
    """
    x, y = np.clip(x, -r, r), np.clip(y, -r, r)
    c = np.sqrt(r * r - y * y)  # columns between -c and c reach beyond y

    def half_disc(end: np.ndarray) -> np.ndarray:
        """The integral of s from -r to an end."""
        return 0.5 * (end * np.sqrt(np.maximum(r * r - end * end, 0.0)) + r * r * (np.arcsin(end / r) + 0.5 * np.pi))

    short = half_disc(np.minimum(x, -c)) + half_disc(np.maximum(x, c)) - half_disc(c)
    return half_disc(x) + np.sign(y) * short + y * (np.clip(x, -c, c) + c)

"""Triangles to pixels: for every pixel the nearest triangle and where in it the pixel lies.

Guarantees: exact visibility per pixel (a depth buffer, so surfaces may cut each other), the same
picture for the same input, memory bounded by a fixed number of candidate pixels at a time.
Triangles are not clipped: all points lie in front of the viewer.
"""

from dataclasses import dataclass

import numpy as np

_BATCH = 1 << 20


@dataclass(frozen=True)
class Pixels:
    """What each pixel sees.

    depth: (h, w), infinite where there is nothing; triangle: (h, w), -1 where there is nothing;
    weights: (h, w, 3), barycentric coordinates in that triangle.
    """

    depth: np.ndarray
    triangle: np.ndarray
    weights: np.ndarray


def rasterize(screen: np.ndarray, triangles: np.ndarray, width: int, height: int) -> Pixels:
    """Draw triangles (m, 3) over points (n, 3) given as pixel x, pixel y and depth.

    Pixel (i, j) is sampled at x = j + 1/2, y = i + 1/2, y downwards.  Depth grows away from the
    viewer and must be linear across the screen (for a perspective, -1/distance).
    """
    depth = np.full(height * width, np.inf)
    triangle = np.full(height * width, -1, dtype=np.int64)
    weights = np.zeros((height * width, 3))
    corners = screen[triangles]
    low, size = _boxes(corners, width, height)
    doubled = _doubled_area(corners)
    counts = np.where(np.abs(doubled) > 1e-12, size[:, 0] * size[:, 1], 0)
    for chosen in _batches(counts):
        owner = np.repeat(chosen, counts[chosen])
        start = np.cumsum(counts[chosen]) - counts[chosen]
        place = np.arange(len(owner)) - np.repeat(start, counts[chosen])
        row, column = np.divmod(place, size[owner, 0])
        x, y = low[owner, 0] + column, low[owner, 1] + row
        inside, weight = _barycentric(corners[owner], doubled[owner], x + 0.5, y + 0.5)
        pixel, owner = (y * width + x)[inside], owner[inside]
        here = np.einsum("ij,ij->i", weight, corners[owner, :, 2])
        nearer = np.flatnonzero(here < depth[pixel])
        # Farthest first: where a pixel comes twice, the nearest is stored last and stays.
        order = nearer[np.argsort(-here[nearer], kind="stable")]
        at = pixel[order]
        depth[at], triangle[at], weights[at] = here[order], owner[order], weight[order]
    shape = (height, width)
    return Pixels(depth.reshape(shape), triangle.reshape(shape), weights.reshape(*shape, 3))


def _boxes(corners: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """First pixel (m, 2) and extent in pixels (m, 2) of the pixel centres in each bounding box."""
    limit = np.array([width, height])
    low = np.clip(np.ceil(corners[:, :, :2].min(1) - 0.5), 0, limit).astype(np.int64)
    high = np.clip(np.floor(corners[:, :, :2].max(1) - 0.5) + 1, 0, limit).astype(np.int64)
    return low, np.maximum(high - low, 0)


def _doubled_area(corners: np.ndarray) -> np.ndarray:
    one, two = corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2]
    return one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]


def _barycentric(corners, doubled, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Which points (k,) lie in their triangle, and the coordinates (inside, 3) of those."""
    a, b, c = (corners[:, k, :2] for k in range(3))
    first = (b[:, 0] - x) * (c[:, 1] - y) - (b[:, 1] - y) * (c[:, 0] - x)
    second = (c[:, 0] - x) * (a[:, 1] - y) - (c[:, 1] - y) * (a[:, 0] - x)
    first, second = first / doubled, second / doubled
    third = 1.0 - first - second
    inside = (first >= 0.0) & (second >= 0.0) & (third >= 0.0)
    return inside, np.stack([first[inside], second[inside], third[inside]], axis=1)


def _batches(counts: np.ndarray):
    """Split the triangles with candidates into runs of about `_BATCH` pixels."""
    busy = np.flatnonzero(counts)
    if not len(busy):
        return
    group = np.cumsum(counts[busy]) // _BATCH
    yield from np.split(busy, np.flatnonzero(np.diff(group)) + 1)

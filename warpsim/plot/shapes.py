"""Shapes that scenes are built of: tubes along curves, boxes, coil springs.

Guarantees: outward-facing triangles; the same triangles for every curve of the same number of points, so that a moving
tube can be written as one mesh.
"""

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from matplotlib import colormaps

from warpsim.arguments import checked, numbers
from warpsim.plot.scene import PlotError, Surface


@checked
def tube(points, radius: float, color=(0.30, 0.33, 0.38), sides: int = 10) -> Surface:
    """A round tube of `radius` [m] along the curve through `points` (n, 3) [m], n > 1, with flat ends.

    color: linear RGB (3,), or one per point of the curve (n, 3). Raises PlotError for fewer than two points.
    """
    curve = numbers(points, "points")
    if curve.ndim != 2 or curve.shape[1] != 3 or len(curve) < 2:
        raise PlotError(f"tube points: found shape {curve.shape}, expected (n, 3) with n > 1")
    across, beside = _frames(_tangents(curve))
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.cos(angle)[:, None] * across[:, None] + np.sin(angle)[:, None] * beside[:, None]
    rings = curve[:, None] + radius * ring
    k, j = np.divmod(np.arange((len(curve) - 1) * sides), sides)
    here, next_ = k * sides + j, k * sides + (j + 1) % sides
    walls = [np.stack([here, next_, here + sides], 1), np.stack([next_, next_ + sides, here + sides], 1)]
    # The ends have corners of their own, so that their normals are not those of the wall.
    first, last = len(curve) * sides, (len(curve) + 1) * sides
    fan = np.arange(1, sides - 1)
    start = np.stack([np.zeros_like(fan), fan + 1, fan], 1) + first
    end = np.stack([np.zeros_like(fan), fan, fan + 1], 1) + last
    corners = np.concatenate([rings.reshape(-1, 3), rings[0], rings[-1]])
    shade = _shades(color, curve.shape)
    shades = np.concatenate([np.repeat(shade, sides, axis=0), *([shade[k]] * sides for k in (0, -1))])
    return Surface(corners, np.concatenate([*walls, start, end]), shades)


@checked
def tubes(lines: Sequence[Any], radius: float, color: Any = (0.30, 0.33, 0.38), sides: int = 10) -> Surface:
    """Tubes along lines (n, 3) [m] as one surface, such as the cords of a net; see `tube`."""
    rods = [tube(line, radius, color, sides) for line in lines]
    first = np.cumsum([0, *(len(rod.points) for rod in rods[:-1])])
    triangles = np.concatenate([k + rod.triangles for k, rod in zip(first, rods, strict=True)])
    return Surface(np.concatenate([rod.points for rod in rods]), triangles, color)


def height_field(heights: Any, size: float, low: Any, high: Any, top: float) -> Surface:
    """A square of `size` [m] around the origin whose points have heights (n, n) [m]: rows along z, columns along x.

    Its linear RGB goes from `low` to `high`: 0.3 of the way at height zero, the whole at `top` [m].
    """
    y, n = np.asarray(heights, dtype=np.float64), len(heights)
    along = (np.arange(n) + 0.5) * size / n - 0.5 * size
    z, x = np.meshgrid(along, along, indexing="ij")
    k = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([np.stack([k, k + n, k + n + 1], axis=1), np.stack([k, k + n + 1, k + 1], axis=1)])
    light = np.clip(0.3 + 0.7 * y.reshape(-1, 1) / top, 0.0, 1.0)
    return Surface(np.stack([x, y, z], axis=-1).reshape(-1, 3), faces, np.add(low, light * np.subtract(high, low)))


def trails(paths: Sequence[Any], thin: float, thick: float) -> list[Surface]:
    """Paths (n, 3) [m] of a search as tubes: from violet and of radius `thin` [m] to yellow and `thick`, the last."""
    shades = colormaps["plasma"](np.linspace(0.05, 0.95, len(paths)))[:, :3] ** 2.2
    radii = np.linspace(thin, thick, len(paths))
    return [tube(path, radius, shade) for path, radius, shade in zip(paths, radii, shades, strict=True)]


@checked
def coil(start, end, radius: float, wire: float, turns: int = 8, color=(0.30, 0.33, 0.38)) -> Surface:
    """A coil spring of `radius` [m] from `start` to `end` (3,) [m], of wire of radius `wire` [m], its ends straight."""
    a, b = numbers(start, "start", (3,)), numbers(end, "end", (3,))
    across, beside = (v[0] for v in _frames(_unit(b - a)[None]))
    part = np.linspace(0.0, 1.0, 12 * turns + 1)
    angle = 2.0 * np.pi * turns * part
    winding = radius * np.clip(8.0 * np.minimum(part, 1.0 - part), 0.0, 1.0)  # grows out of the axis
    round_ = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * beside
    return tube(a + part[:, None] * (b - a) + winding[:, None] * round_, wire, color, sides=6)


def box(low, high, color=(0.30, 0.33, 0.38)) -> Surface:
    """A box with sides along the axes, from corner `low` to corner `high` (3,) [m], with sharp edges."""
    corners: list[np.ndarray] = []
    triangles: list[list[int]] = []
    low, high = numbers(low, "low", (3,)), numbers(high, "high", (3,))
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (0.0, 1.0):
            face = np.full((4, 3), side)
            face[:, u], face[:, v] = [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]
            first = 4 * len(corners)
            corners.append(low + face * (high - low))
            order = [0, 1, 2, 3] if side else [0, 3, 2, 1]
            triangles += [[first + order[0], first + order[k], first + order[k + 1]] for k in (1, 2)]
    return Surface(np.concatenate(corners), np.array(triangles), color)


@checked
def loft(rings, color=(0.30, 0.33, 0.38)) -> Surface:
    """The closed surface through rings of points (m, n, 3) [m], counter-clockwise seen from the first to the last.

    Both ends are closed by fans from their first points, as convex ones can be.
    """
    points = numbers(rings, "rings", (-1, -1, 3))
    count, n = points.shape[:2]
    k, j = np.divmod(np.arange((count - 1) * n), n)
    here, beside, fan = k * n + j, k * n + (j + 1) % n, np.arange(1, n - 1)
    sides = [np.stack([here, here + n, beside + n], 1), np.stack([here, beside + n, beside], 1)]
    ends = [np.stack([0 * fan, fan, fan + 1], 1), (count - 1) * n + np.stack([0 * fan, fan + 1, fan], 1)]
    return Surface(points.reshape(-1, 3), np.concatenate([*sides, *ends]), color)


@checked
def box_edges(low, high, radius: float, color=(0.30, 0.33, 0.38)) -> Surface:
    """The edges of a box with corners `low` and `high` (3,) [m] as rods of `radius` [m]: a tank that one looks into."""
    low, high = numbers(low, "low", (3,)), numbers(high, "high", (3,))
    corners = low + np.array(list(product((0, 1), repeat=3))) * (high - low)
    ends = [pair for pair in combinations(corners, 2) if np.count_nonzero(pair[0] - pair[1]) == 1]
    return tubes(ends, radius, color)


@checked
def copies(shapes: Sequence[Surface], positions, rotations, sizes=1.0, kinds=None) -> list[Surface]:
    """One surface for all copies of each shape: places (n, 3) [m], quaternions x, y, z, w (n, 4), scales (n,).

    kinds: which of the shapes each copy is, integers (n,); None: the first.
    """
    places = numbers(positions, "positions", (-1, 3))
    turns = numbers(rotations, "rotations", (len(places), 4))
    scale = np.broadcast_to(numbers(sizes, "sizes", (len(places),) if np.ndim(sizes) else ()), len(places))
    chosen = np.zeros(len(places), int) if kinds is None else numbers(kinds, "kinds", (len(places),))
    surfaces = []
    for number, shape in enumerate(shapes):
        mine = np.flatnonzero(chosen == number)
        if not mine.size:
            continue
        axis, real = turns[mine, None, :3], turns[mine, None, 3:]
        local = scale[mine, None, None] * shape.points[None]
        points = local + 2.0 * np.cross(axis, np.cross(axis, local) + real * local) + places[mine, None]
        first = len(shape.points) * np.arange(len(mine))[:, None, None]
        color = np.broadcast_to(shape.color, points.shape).reshape(-1, 3)
        surfaces.append(Surface(points.reshape(-1, 3), (first + shape.triangles).reshape(-1, 3), color))
    return surfaces


def _shades(color: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A color for each point. Raises `ArgumentTypeError` for one that is neither (3,) nor one per point."""
    colors = numbers(color, "color")
    return np.broadcast_to(colors if colors.shape == shape else numbers(color, "color", (3,)), shape)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; an x axis for those of length 0."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), [1.0, 0.0, 0.0])


def _tangents(curve: np.ndarray) -> np.ndarray:
    """Unit directions (n, 3) of a curve at its points."""
    steps = _unit(np.diff(curve, axis=0))
    return _unit(np.concatenate([steps[:1], steps[1:] + steps[:-1], steps[-1:]]))


def _frames(tangents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors per tangent that span the plane across it and turn as little as possible from point to point."""
    axis = np.eye(3)[np.argmin(np.abs(tangents[0]))]
    x, y, z = _unit(np.cross(tangents[0], axis)).tolist()
    frames = []
    for a, b, c in tangents.tolist():  # plain numbers: each vector follows from the one before
        part = x * a + y * b + z * c
        x, y, z = x - part * a, y - part * b, z - part * c
        length = math.sqrt(x * x + y * y + z * z) or 1.0
        x, y, z = x / length, y / length, z / length
        frames.append((x, y, z))
    across = np.array(frames)
    return across, np.cross(tangents, across)

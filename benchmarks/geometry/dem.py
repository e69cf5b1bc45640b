"""Contact forces between grains: normal spring and damper, friction up to Coulomb's limit.

Each grain sums over those that the hash grid finds near it. `wide` asks the grid for a sphere of 2.5 diameters,
as programs do that search with a margin; otherwise for as far as grains touch.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED, neighbors
from benchmarks.geometry.packing import block, pairs, summed, velocities

__all__ = ["SKIPPED", "expected", "warp_case"]

RADIUS = 0.1
SPACING = 1.96 * RADIUS  # most of the six nearest touch
STIFFNESS, DAMPING, SLIDING, FRICTION = 8.0e3, 2.0, 1.0, 0.5
CELLS = 128


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The forces in float64."""
    x, v = block(size["side"], SPACING), velocities(size["side"] ** 3)
    f = np.zeros(x.shape)
    for i, j in pairs(x, 2.0 * RADIUS):
        d = x[i].astype(np.float64) - x[j]
        length = np.linalg.norm(d, axis=1, keepdims=True)
        n, gap = d / length, length - 2.0 * RADIUS
        moving = v[i].astype(np.float64) - v[j]
        closing = np.sum(n * moving, axis=1, keepdims=True)
        pressed = -STIFFNESS * gap - DAMPING * closing
        sliding = moving - n * closing
        speed = np.linalg.norm(sliding, axis=1, keepdims=True)
        held = np.minimum(SLIDING * speed, FRICTION * np.abs(pressed))
        f += summed(i, n * pressed - sliding / speed * held, len(x))
    return {"f": f}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over all grains, threads in the order of the grid's cells."""
    query = neighbors(wp)

    @wp.func
    def contact(n: wp.vec3, gap: float, moving: wp.vec3, stiffness: float, damping: float, sliding: float, mu: float):
        closing = wp.dot(n, moving)
        pressed = -stiffness * gap - damping * closing
        slip = moving - n * closing
        held = wp.min(sliding * wp.length(slip), mu * wp.abs(pressed))
        return n * pressed - wp.normalize(slip) * held

    @wp.kernel
    def forces(
        grid: wp.uint64,
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        f: wp.array(dtype=wp.vec3),
        radius: float,
        search: float,
        stiffness: float,
        damping: float,
        sliding: float,
        mu: float,
    ):
        i = wp.hash_grid_point_id(grid, wp.tid())
        here = x[i]
        velocity = v[i]
        total = wp.vec3()
        for j in query(grid, here, search):
            if j != i:
                d = here - x[j]
                length = wp.length(d)
                gap = length - 2.0 * radius
                if gap <= 0.0:
                    total += contact(d / length, gap, velocity - v[j], stiffness, damping, sliding, mu)
        f[i] = total

    search = (5.0 if size.get("wide") else 2.0) * RADIUS
    start = block(size["side"], SPACING)
    x, v = wp.array(start, dtype=wp.vec3), wp.array(velocities(len(start)), dtype=wp.vec3)
    f = wp.zeros(len(start), dtype=wp.vec3)
    grid = wp.HashGrid(CELLS, CELLS, CELLS)
    grid.build(x, search)

    def run() -> None:
        inputs = [grid.id, x, v, f, RADIUS, search, STIFFNESS, DAMPING, SLIDING, FRICTION]
        wp.launch(forces, dim=len(start), inputs=inputs)

    return single(run, lambda: {"f": f.numpy()})

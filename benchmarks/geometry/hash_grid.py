"""Building a hash grid over a block of points, as a simulation does in every step.

The values are the numbers of neighbours that the grid then finds, each within the reach the grid was built for.
"""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.geometry import SKIPPED, neighbors
from benchmarks.geometry.packing import block, pairs, summed

__all__ = ["SKIPPED", "expected", "warp_case"]

SPACING = 0.1
REACH = 2.0 * SPACING  # nearly thirty neighbours
CELLS = 128


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """Neighbours of each point, itself left out."""
    x = block(size["side"], SPACING)
    return {"neighbours": sum(summed(i, np.ones(len(i)), len(x)) for i, _ in pairs(x, REACH))}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One build; memory is kept from build to build."""
    query = neighbors(wp)

    @wp.kernel
    def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3), reach: float, found: wp.array(dtype=int)):
        i = wp.hash_grid_point_id(grid, wp.tid())
        x = points[i]
        count = int(0)
        for j in query(grid, x, reach):
            if j != i and wp.length(points[j] - x) <= reach:
                count += 1
        found[i] = count

    x = block(size["side"], SPACING)
    points = wp.array(x, dtype=wp.vec3)
    grid = wp.HashGrid(CELLS, CELLS, CELLS)

    def values() -> dict[str, np.ndarray]:
        found = wp.zeros(len(x), dtype=int)
        wp.launch(neighbours, dim=len(x), inputs=[grid.id, points, REACH], outputs=[found])
        return {"neighbours": found.numpy()}

    return single(lambda: grid.build(points, REACH), values)

"""Searches in space under warpsim and Warp: hash grids, meshes and volumes, built and asked.

Each module is one workload, as in `benchmarks.kernels`; `packing` and `surface` make the inputs, the same for every
framework from one seed, and the values by NumPy in float64 that all results are compared with.
"""

from typing import Any

SKIPPED = {"taichi": "no such structure", "numba": "no such structure"}


def neighbors(wp: Any) -> Any:
    """The query for points within a distance: of the true ones where there is one, else of candidates.

    Kernels test the distance in either case.
    """
    if hasattr(wp, "hash_grid_neighbors"):
        return wp.hash_grid_neighbors

    @wp.func
    def candidates(grid: wp.uint64, point: wp.vec3, max_dist: float):
        return wp.hash_grid_query(grid, point, max_dist)

    return candidates

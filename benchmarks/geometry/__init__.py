"""Searches in space under warpsim and Warp: hash grids, meshes and volumes, built and asked.

Each module is one workload, as in `benchmarks.kernels`; `packing` and `surface` make the inputs, the same for every
framework from one seed, and the values by NumPy in float64 that all results are compared with.
"""

SKIPPED = {"taichi": "no such structure", "numba": "no such structure"}

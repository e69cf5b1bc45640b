"""The springs with sums in a fixed order, beside the same springs without: what does order cost?

The peers stand aside: Taichi and Numba have no such mode, and Warp's CPU launches are serial.
"""

from typing import Any

from benchmarks.case import Case
from benchmarks.kernels.springs import both_modes, expected

__all__ = ["expected", "warp_case"]


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """Both modes over one network."""
    return both_modes(wp, size)

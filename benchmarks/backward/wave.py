"""The adjoint of the launch of `benchmarks.kernels.wave`."""

import numpy as np

from benchmarks.backward import SKIPPED, reverse_of
from benchmarks.kernels.wave import DAMPING, C
from benchmarks.kernels.wave import warp_case as forward_case

__all__ = ["SKIPPED", "expected", "warp_case"]


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The transposed stencil applied to ones; the store to the border only clears its gradient."""
    side = size["side"]
    inner = np.zeros((side, side))
    inner[1:-1, 1:-1] = 1.0
    around = np.zeros_like(inner)
    for axis in (0, 1):
        for shift in (-1, 1):
            around += np.roll(inner, shift, axis)
    now = 1.0 + DAMPING * (2.0 * inner + C * (around - 4.0 * inner))
    return {"gradient 0": 1.0 - DAMPING * inner, "gradient 1": now, "gradient 2": np.zeros_like(inner)}


warp_case = reverse_of(forward_case)

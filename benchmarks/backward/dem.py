"""The adjoint of the launch of `benchmarks.geometry.dem`.

The gradients of forces start at different numbers: of the plain sum of all forces, which is zero, nothing but
rounding would be left.
"""

import numpy as np

from benchmarks.backward import SKIPPED, reverse_of
from benchmarks.geometry.dem import warp_case as forward_case

__all__ = ["SKIPPED", "warp_case"]

warp_case = reverse_of(forward_case, start=lambda shape: np.cos(np.arange(np.prod(shape))).reshape(shape))

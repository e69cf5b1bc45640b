"""The adjoint of the launch of `benchmarks.kernels.svd3`.

Only the singular values are seeded: the signs of singular vectors are each framework's own choice.
"""

from benchmarks.backward import SKIPPED, reverse_of
from benchmarks.kernels.svd3 import warp_case as forward_case

__all__ = ["SKIPPED", "warp_case"]

warp_case = reverse_of(forward_case, seeds=(3,))

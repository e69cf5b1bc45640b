"""The adjoint of the launch of `benchmarks.geometry.closest_point`, with respect to the points.

Vertices have no gradients here, because Warp's queries give them none.
"""

from benchmarks.backward import SKIPPED, reverse_of
from benchmarks.geometry.closest_point import warp_case as forward_case

__all__ = ["SKIPPED", "warp_case"]

warp_case = reverse_of(forward_case)

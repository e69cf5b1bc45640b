"""The adjoint of the launch of `benchmarks.geometry.density`."""

from benchmarks.backward import SKIPPED, reverse_of
from benchmarks.geometry.density import warp_case as forward_case

__all__ = ["SKIPPED", "warp_case"]

warp_case = reverse_of(forward_case)

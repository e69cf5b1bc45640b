"""Algorithms over whole arrays under one name: scans, sums, sorts, run lengths, casts (`wp.utils.array_scan`)."""

from .core.runtime.algorithms.primitives import (
    array_cast, array_inner, array_scan, array_sum, radix_sort_pairs, runlength_encode, segmented_sort_pairs,
)  # fmt: skip

__all__ = [
    "array_cast", "array_inner", "array_scan", "array_sum", "radix_sort_pairs", "runlength_encode",
    "segmented_sort_pairs",
]  # fmt: skip

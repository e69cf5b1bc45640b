"""Algorithms over whole arrays under one name: scans, sums, sorts, casts, colorings (`wp.utils.array_scan`)."""

from typing import Any

from .core.runtime.algorithms.coloring import (
    GraphColoringAlgorithm,
    graph_coloring_assign,
    graph_coloring_balance,
    graph_coloring_get_groups,
)
from .core.runtime.algorithms.primitives import array_cast, array_inner, array_scan, array_sum, radix_sort_pairs
from .core.runtime.algorithms.primitives import runlength_encode, segmented_sort_pairs
from .interop.rmm import AllocatorRmm
from .names import missing

__all__ = ["AllocatorRmm", "GraphColoringAlgorithm", "array_cast", "array_inner", "array_scan", "array_sum"]
__all__ += ["graph_coloring_assign", "graph_coloring_balance", "graph_coloring_get_groups", "radix_sort_pairs"]
__all__ += ["runlength_encode", "segmented_sort_pairs"]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)

"""Algorithms over whole arrays under one name: scans, sums, sorts, casts, colorings (`wp.utils.array_scan`)."""

from collections.abc import Callable
from typing import Any

from .core.frontend.functions.functions import Func, func
from .core.runtime.algorithms.coloring import (
    GraphColoringAlgorithm,
    graph_coloring_assign,
    graph_coloring_balance,
    graph_coloring_get_groups,
)
from .core.runtime.algorithms.primitives import array_cast, array_inner, array_scan, array_sum, radix_sort_pairs
from .core.runtime.algorithms.primitives import runlength_encode, segmented_sort_pairs
from .core.runtime.launches.modules import Module, module_of
from .interop.rmm import AllocatorRmm
from .names import missing

__all__ = ["AllocatorRmm", "GraphColoringAlgorithm", "array_cast", "array_inner", "array_scan", "array_sum"]
__all__ += ["create_warp_function"]
__all__ += ["graph_coloring_assign", "graph_coloring_balance", "graph_coloring_get_groups", "radix_sort_pairs"]
__all__ += ["runlength_encode", "segmented_sort_pairs"]


def create_warp_function(function: Callable[..., Any]) -> tuple[Func, Module]:
    """A function of kernels made of a Python function or lambda as `wp.func` does it, and the module that it is in."""
    return func(function), module_of(None, function)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)

"""A copy of float32 from one array to another: the bandwidth that a kernel can reach."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single
from benchmarks.kernels.saxpy import inputs

SKIPPED = {"taichi": "for comparison with saxpy", "numba": "for comparison with saxpy"}


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The source."""
    return {"y": inputs(size["n"])[0]}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One ``wp.copy`` of ``n`` elements."""
    x, y = (wp.array(values, dtype=float) for values in inputs(size["n"]))
    return single(lambda: wp.copy(y, x), lambda: {"y": y.numpy()})


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """One loop."""
    x, y = inputs(size["n"])
    return single(cpp.bound("copy", size["n"], x, y), lambda: {"y": y})

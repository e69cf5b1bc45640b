"""``y = a x + y`` on float32: two loads, one store, nothing else. Measures memory bandwidth."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single

A = 0.5


def inputs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """``x`` and ``y``, float32 in [0, 1), shape ``(n,)``."""
    rng = np.random.default_rng(1)
    return rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """One pass in NumPy."""
    x, y = inputs(size["n"])
    return {"y": np.float32(A) * x + y}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over ``n`` elements."""
    @wp.kernel
    def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    x, y = (wp.array(values, dtype=float) for values in inputs(size["n"]))
    return single(lambda: wp.launch(saxpy, dim=size["n"], inputs=[x, y, A]),
                  lambda: {"y": y.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call over two dense fields."""
    n = size["n"]
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
    for target, values in zip((x, y), inputs(n), strict=True):
        target.from_numpy(values)

    @ti.kernel
    def saxpy(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    return single(lambda: saxpy(A), lambda: {"y": y.to_numpy()})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """One ``prange`` loop."""
    @nb.njit(parallel=True)
    def saxpy(x, y, a):
        for i in nb.prange(x.shape[0]):
            y[i] = a * x[i] + y[i]

    x, y = inputs(size["n"])
    a = np.float32(A)
    return single(lambda: saxpy(x, y, a), lambda: {"y": y})


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """One loop."""
    x, y = inputs(size["n"])
    return single(cpp.bound("saxpy", size["n"], x, y, A), lambda: {"y": y})

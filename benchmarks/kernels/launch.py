"""What one launch of almost no work costs, with three and with six arguments.

``calls`` launches over eight elements are timed together. The sums are of small integers, so every
framework must get the same bits whatever order it adds in.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, single

N = 8


def inputs() -> tuple[np.ndarray, np.ndarray]:
    """``x`` and ``y``: the integers 0..7 and 1..8 as float32."""
    x = np.arange(N, dtype=np.float32)
    return x, x + np.float32(1.0)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The increments of one launch, ``calls`` times."""
    x, y = inputs()
    increment = 2.0 * x if size["arguments"] == 3 else 2.0 * x + 3.0 * y + 4.0
    return {"out": size["calls"] * increment}


def repeated(launch: Any, calls: int) -> Any:
    """A function that launches ``calls`` times."""
    def run() -> None:
        for _ in range(calls):
            launch()
    return run


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """``wp.launch`` with a list of inputs, as scripts write it."""
    @wp.kernel
    def three(x: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
        i = wp.tid()
        out[i] = out[i] + a * x[i]

    @wp.kernel
    def six(
        x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float),
        a: float, b: float, c: int,
    ):
        i = wp.tid()
        out[i] = out[i] + a * x[i] + b * y[i] + float(c)

    x, y = (wp.array(values, dtype=float) for values in inputs())
    out = wp.zeros(N, dtype=float)
    if size["arguments"] == 3:
        launch = lambda: wp.launch(three, dim=N, inputs=[x, out, 2.0])  # noqa: E731
    else:
        launch = lambda: wp.launch(six, dim=N, inputs=[x, y, out, 2.0, 3.0, 4])  # noqa: E731
    return single(repeated(launch, size["calls"]), lambda: {"out": out.numpy()},
                  units=size["calls"], host=True)


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """A call with ``ti.ndarray`` arguments."""
    array = ti.types.ndarray(dtype=ti.f32, ndim=1)

    @ti.kernel
    def three(x: array, out: array, a: ti.f32):
        for i in x:
            out[i] = out[i] + a * x[i]

    @ti.kernel
    def six(x: array, y: array, out: array, a: ti.f32, b: ti.f32, c: ti.i32):
        for i in x:
            out[i] = out[i] + a * x[i] + b * y[i] + c

    x, y, out = (ti.ndarray(ti.f32, N) for _ in range(3))
    for target, values in zip((x, y), inputs(), strict=True):
        target.from_numpy(values)
    launch = (partial(three, x, out, 2.0) if size["arguments"] == 3
              else partial(six, x, y, out, 2.0, 3.0, 4))
    return single(repeated(launch, size["calls"]), lambda: {"out": out.to_numpy()},
                  units=size["calls"], note="ti.ndarray arguments")


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A call of the dispatcher with NumPy arguments."""
    @nb.njit(parallel=True)
    def three(x, out, a):
        for i in nb.prange(x.shape[0]):
            out[i] = out[i] + a * x[i]

    @nb.njit(parallel=True)
    def six(x, y, out, a, b, c):
        for i in nb.prange(x.shape[0]):
            out[i] = out[i] + a * x[i] + b * y[i] + c

    (x, y), out = inputs(), np.zeros(N, np.float32)
    launch = (partial(three, x, out, 2.0) if size["arguments"] == 3
              else partial(six, x, y, out, 2.0, 3.0, 4))
    return single(repeated(launch, size["calls"]), lambda: {"out": out}, units=size["calls"])

"""A loss: ``atomic_add(loss, 0, x[i] * x[i])``, every thread on one address, float32."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single


def inputs(n: int) -> np.ndarray:
    """``x``, float32 in [0, 1), shape ``(n,)``."""
    return np.random.default_rng(4).random(n, dtype=np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The sum in float64."""
    return {"loss": np.sum(inputs(size["n"]).astype(np.float64) ** 2, keepdims=True)}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over ``n`` elements."""
    @wp.kernel
    def uniform_sum(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(loss, 0, x[i] * x[i])

    x, loss = wp.array(inputs(size["n"]), dtype=float), wp.zeros(1, dtype=float)
    return single(lambda: wp.launch(uniform_sum, dim=size["n"], inputs=[x, loss]),
                  lambda: {"loss": loss.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call; Taichi turns this form into a reduction with a sum per thread."""
    x, loss = ti.field(ti.f32, size["n"]), ti.field(ti.f32, ())
    x.from_numpy(inputs(size["n"]))

    @ti.kernel
    def uniform_sum():
        for i in x:
            loss[None] += x[i] * x[i]

    return single(uniform_sum, lambda: {"loss": loss.to_numpy().reshape(1)})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A ``prange`` reduction, Numba's own form of the same sum."""
    @nb.njit(parallel=True)
    def uniform_sum(x, loss):
        total = np.float32(0.0)
        for i in nb.prange(x.shape[0]):
            total += x[i] * x[i]
        loss[0] += total

    x, loss = inputs(size["n"]), np.zeros(1, np.float32)
    return single(lambda: uniform_sum(x, loss), lambda: {"loss": loss}, note="prange reduction")


def cpp_case(cpp: Any, size: dict[str, int]) -> Case:
    """A reduction of OpenMP."""
    x, loss = inputs(size["n"]), np.zeros(1, np.float32)
    run = cpp.bound("uniform_sum", size["n"], x)

    def add() -> None:
        loss[0] += run()

    return single(add, lambda: {"loss": loss}, note="reduction(+)")

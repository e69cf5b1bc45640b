"""Small matrix products, one per thread: ``mat33 * mat33``, or ``mat44 * vec4``; float32."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single


def inputs(size: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Left factors ``(n, k, k)``; right factors ``(n, 3, 3)`` for k = 3 or ``(n, 4)`` for k = 4."""
    n, k = size["n"], size["k"]
    rng = np.random.default_rng(6)
    right = (n, 3, 3) if k == 3 else (n, 4)
    return rng.random((n, k, k), dtype=np.float32), rng.random(right, dtype=np.float32)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """The products by NumPy."""
    a, b = inputs(size)
    return {"c": a @ b if size["k"] == 3 else np.einsum("nij,nj->ni", a, b)}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch over ``n`` products."""
    @wp.kernel
    def multiply33(
        a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)
    ):
        i = wp.tid()
        c[i] = a[i] * b[i]

    @wp.kernel
    def multiply44(
        a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.vec4), c: wp.array(dtype=wp.vec4)
    ):
        i = wp.tid()
        c[i] = a[i] * b[i]

    n, square = size["n"], size["k"] == 3
    kernel, left, right = (
        (multiply33, wp.mat33, wp.mat33) if square else (multiply44, wp.mat44, wp.vec4)
    )
    first, second = inputs(size)
    a, b, c = wp.array(first, dtype=left), wp.array(second, dtype=right), wp.zeros(n, dtype=right)
    return single(lambda: wp.launch(kernel, dim=n, inputs=[a, b, c]), lambda: {"c": c.numpy()})


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call over matrix fields."""
    n, k = size["n"], size["k"]
    first, second = inputs(size)
    a = ti.Matrix.field(k, k, ti.f32, n)
    b, c = (ti.Matrix.field(3, 3, ti.f32, n) if k == 3 else ti.Vector.field(4, ti.f32, n)
            for _ in range(2))
    a.from_numpy(first)
    b.from_numpy(second)

    @ti.kernel
    def multiply():
        for i in a:
            c[i] = a[i] @ b[i]

    return single(multiply, lambda: {"c": c.to_numpy()})


def numba_case(nb: Any, size: dict[str, int]) -> Case:
    """A ``prange`` loop with the product written out in short loops."""
    @nb.njit(parallel=True)
    def multiply33(a, b, c):
        for n in nb.prange(a.shape[0]):
            for i in range(3):
                for j in range(3):
                    c[n, i, j] = (a[n, i, 0] * b[n, 0, j] + a[n, i, 1] * b[n, 1, j]
                                  + a[n, i, 2] * b[n, 2, j])

    @nb.njit(parallel=True)
    def multiply44(a, b, c):
        for n in nb.prange(a.shape[0]):
            for i in range(4):
                c[n, i] = (a[n, i, 0] * b[n, 0] + a[n, i, 1] * b[n, 1]
                           + a[n, i, 2] * b[n, 2] + a[n, i, 3] * b[n, 3])

    a, b = inputs(size)
    c = np.zeros_like(b)
    kernel = multiply33 if size["k"] == 3 else multiply44
    return single(lambda: kernel(a, b, c), lambda: {"c": c})

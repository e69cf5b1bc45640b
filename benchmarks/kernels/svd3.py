"""Singular value decomposition of many 3x3 matrices: long branching arithmetic per thread."""

from typing import Any

import numpy as np

from benchmarks.case import Case, single

SKIPPED = {"numba": "no 3x3 SVD: np.linalg.svd calls LAPACK per matrix, not comparable"}


def inputs(n: int) -> np.ndarray:
    """Random float32 matrices of shape ``(n, 3, 3)``, elements in [-1, 1)."""
    uniform = np.random.default_rng(5).random((n, 3, 3), dtype=np.float32)
    return np.float32(2.0) * uniform - np.float32(1.0)


def expected(size: dict[str, int]) -> dict[str, np.ndarray]:
    """NumPy's singular values, and the matrices that the factors must multiply to."""
    matrices = inputs(size["n"])
    return {"sigma": np.linalg.svd(matrices, compute_uv=False), "product": matrices}


def rebuilt(u: np.ndarray, sigma: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """Order, sign and sign of the vectors are free: compare |sigma| sorted, and U S V^T."""
    magnitudes = -np.sort(-np.abs(sigma), axis=1)
    return {"sigma": magnitudes, "product": np.einsum("nik,nk,njk->nij", u, sigma, v)}


def warp_case(wp: Any, size: dict[str, int]) -> Case:
    """One launch, all three factors stored."""
    @wp.kernel
    def decompose(
        matrices: wp.array(dtype=wp.mat33),
        u: wp.array(dtype=wp.mat33),
        sigma: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.mat33),
    ):
        i = wp.tid()
        left, values, right = wp.svd3(matrices[i])
        u[i] = left
        sigma[i] = values
        v[i] = right

    n = size["n"]
    matrices = wp.array(inputs(n), dtype=wp.mat33)
    u, v = wp.zeros(n, dtype=wp.mat33), wp.zeros(n, dtype=wp.mat33)
    sigma = wp.zeros(n, dtype=wp.vec3)
    return single(lambda: wp.launch(decompose, dim=n, inputs=[matrices], outputs=[u, sigma, v]),
                  lambda: rebuilt(u.numpy(), sigma.numpy(), v.numpy()))


def taichi_case(ti: Any, size: dict[str, int]) -> Case:
    """One kernel call with ``ti.svd``."""
    n = size["n"]
    matrices, u, v = (ti.Matrix.field(3, 3, ti.f32, n) for _ in range(3))
    sigma = ti.Vector.field(3, ti.f32, n)
    matrices.from_numpy(inputs(n))

    @ti.kernel
    def decompose():
        for i in matrices:
            left, values, right = ti.svd(matrices[i])
            u[i] = left
            sigma[i] = ti.Vector([values[0, 0], values[1, 1], values[2, 2]])
            v[i] = right

    return single(decompose, lambda: rebuilt(u.to_numpy(), sigma.to_numpy(), v.to_numpy()))

"""Small matrices in kernels: eigenvalues of symmetric ones, inverses, parts; and sums of arrays.

The functions are differentiable through their steps, as any function of a kernel is, which for eigenvectors is right
where eigenvalues differ.
"""

from __future__ import annotations

from typing import Any

from ..core.language import (
    Float,
    Mat,
    N,
    array,
    func,
    get_diag,
    identity,
    kernel,
    launch,
    sqrt,
    tid,
    trace,
    transpose,
    where,
)
from ..core.language import abs as magnitude
from ..core.types import compounds
from ..core.types.arrays import type_name
from ..errors import ArrayError

_SWEEPS = 24  # of rotations; each squares what is left, and five or six are enough to rounding


@func
def symmetric_eigenvalues_qr(A: Mat[N, N, Float], tol: Float):
    """The eigenvalues of a symmetric matrix, and a matrix with an eigenvector in each row: A = P^T diag(D) P.

    By cyclic Jacobi rotations (Golub and Van Loan 2013, 8.5), until entries beside the diagonal are below `tol` times
    the diagonal, or as small as rounding lets them be.
    """
    B = A
    P = identity(n=len(A), dtype=A.dtype)
    turned = True
    sweep = int(0)
    while turned and sweep < _SWEEPS:
        turned = False
        sweep += 1
        for p in range(len(A) - 1):
            for q in range(p + 1, len(A)):
                beside, smallest = magnitude(B[p, q]), magnitude(B[p, p]) + magnitude(B[q, q])
                if beside > tol * smallest and smallest + beside != smallest:
                    turned = True
                    ratio = (B[q, q] - B[p, p]) / (B[p, q] + B[p, q])
                    tangent = A.dtype(1.0) / (magnitude(ratio) + sqrt(ratio * ratio + A.dtype(1.0)))
                    tangent = where(ratio < A.dtype(0.0), -tangent, tangent)
                    cosine = A.dtype(1.0) / sqrt(tangent * tangent + A.dtype(1.0))
                    sine = tangent * cosine
                    for k in range(len(A)):
                        x, y = B[k, p], B[k, q]
                        B[k, p], B[k, q] = cosine * x - sine * y, sine * x + cosine * y
                    for k in range(len(A)):
                        x, y = B[p, k], B[q, k]
                        B[p, k], B[q, k] = cosine * x - sine * y, sine * x + cosine * y
                        x, y = P[p, k], P[q, k]
                        P[p, k], P[q, k] = cosine * x - sine * y, sine * x + cosine * y
    return get_diag(B), P


@func
def inverse_qr(A: Mat[N, N, Float]):
    """The inverse of a square matrix, by elimination with pivots (Gauss and Jordan); zeros for a singular one."""
    B = A
    inverse = identity(n=len(A), dtype=A.dtype)
    for j in range(len(A)):
        pivot = int(j)
        for i in range(j + 1, len(A)):
            if magnitude(B[i, j]) > magnitude(B[pivot, j]):
                pivot = i
        scale = B[pivot, j]
        if scale == A.dtype(0.0):
            return A - A
        row, other = B[pivot] / scale, inverse[pivot] / scale
        B[pivot], inverse[pivot] = B[j], inverse[j]
        for i in range(len(A)):
            factor = B[i, j]
            B[i], inverse[i] = B[i] - factor * row, inverse[i] - factor * other
        B[j], inverse[j] = row, other
    return inverse


@func
def symmetric_part(A: Mat[N, N, Float]):
    """The symmetric part of a square matrix, (A + A^T) / 2."""
    return A.dtype(0.5) * (A + transpose(A))


@func
def spherical_part(A: Mat[N, N, Float]):
    """The multiple of the identity with the trace of a square matrix."""
    return (trace(A) / A.dtype(len(A))) * identity(n=len(A), dtype=A.dtype)


@kernel
def _add(x: array(dtype=Any), alpha: Any, beta: Any, y: array(dtype=Any)):
    i = tid()
    y[i] = alpha * x[i] + beta * y[i]


def array_axpy(x: array, y: array, alpha: float = 1.0, beta: float = 1.0) -> array:
    """The sum y = alpha x + beta y of arrays of one shape and type of floats, vectors or matrices; differentiable.

    Returns y. Raises `ArrayError` for arrays that are not alike.
    """
    if x.shape != y.shape or x.dtype is not y.dtype:
        raise ArrayError(
            f"x has shape {x.shape} of {type_name(x.dtype)}\nexpected: {y.shape} of {type_name(y.dtype)}, as y"
        )
    kind = compounds.scalar_of(y.dtype)
    flat = [a if a.ndim == 1 else a.flatten() for a in (x, y)]
    launch(_add, y.size, [flat[0], kind(alpha), kind(beta), flat[1]], device=y.device)
    return y

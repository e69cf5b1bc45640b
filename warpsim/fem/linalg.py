"""Small matrices in kernels: eigenvalues of symmetric ones, inverses, parts; and sums of arrays.

All are differentiable. The gradient of eigenvalues and vectors is declared, not derived from the rotations: these are
skipped where a matrix is diagonal already, in which it still depends on the entries beside.
"""

from __future__ import annotations

from typing import Any

from ..core.language import (
    Float,
    Mat,
    N,
    Vec,
    adjoint,
    array,
    func,
    func_grad,
    get_diag,
    identity,
    kernel,
    launch,
    max,
    min,
    sqrt,
    tid,
    trace,
    transpose,
    where,
)
from ..core.language import abs as magnitude
from ..core.lib.decompose import blurred_quotient, size_or_one
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, instance

_SWEEPS = 24  # of rotations; each squares what is left, and five or six are enough to rounding


@func
def symmetric_eigenvalues_qr(A: Mat[N, N, Float], tol: Float) -> tuple[Vec[N, Float], Mat[N, N, Float]]:
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


@func_grad(symmetric_eigenvalues_qr)
def _adj_symmetric_eigenvalues_qr(A: Mat[N, N, Float], tol: Float, dD: Vec[N, Float], dP: Mat[N, N, Float]):
    """adj(A) = P^T M P: M has adj(D) on its diagonal and (G_ij - G_ji) / 2 (D_j - D_i) beside it, G = P adj(P)^T.

    Magnus 1985, On Differentiating Eigenvalues and Eigenvectors. Symmetric, because A's symmetric part counts. Vectors
    to eigenvalues that coincide have no derivative, and get none.
    """
    D, P = symmetric_eigenvalues_qr(A, tol)
    G = P * transpose(dP)
    scale = size_or_one(max(magnitude(min(D)), magnitude(max(D))))
    M = A - A
    for i in range(len(A)):
        M[i, i] = dD[i]
        for j in range(len(A)):
            if i != j:
                M[i, j] = A.dtype(0.5) * blurred_quotient(G[i, j] - G[j, i], D[j] - D[i], scale)
    adjoint[A] += transpose(P) * M * P


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

    Returns y. Raises `ArgumentTypeError` for what are no such arrays, `ArrayError` for arrays that are not alike.
    """
    for a, name in ((x, "x"), (y, "y")):
        if not scalars.is_float(compounds.scalar_of(instance(a, array, name).dtype)):
            raise ArgumentTypeError(f"{name} has dtype {type_name(a.dtype)}\nexpected: floats, or vectors or matrices")
    if x.shape != y.shape or x.dtype is not y.dtype:
        raise ArrayError(
            f"x has shape {x.shape} of {type_name(x.dtype)}\nexpected: {y.shape} of {type_name(y.dtype)}, as y"
        )
    kind = compounds.scalar_of(y.dtype)
    flat = [a if a.ndim == 1 else a.flatten() for a in (x, y)]
    launch(_add, y.size, [flat[0], kind(alpha), kind(beta), flat[1]], device=y.device)
    return y

"""Small dense systems in arrays, each solved by one thread: products, Cholesky factors, substitution.

Matrices lie row by row in arrays of one dimension. Those of a batch lie one behind the other, and thread k of the
launch works on matrix k. The gradient of a factor is that of Murray 2016 (Differentiation of the Cholesky
Decomposition); gradients of solutions are solutions for their gradients, in the memory of these.
"""

from __future__ import annotations

from ..language import Array, Float, adjoint, bool_, func, func_grad, int32, sqrt, tid


@func
def dense_gemm(
    m: int32, n: int32, p: int32, t1: int32, t2: int32, A: Array[Float, 1], B: Array[Float, 1], C: Array[Float, 1]
):
    """C = A B, of m rows and n columns, as sums of p products; t1, t2: whether A, B are stored as their transposes."""
    _product(m, n, p, t1, t2, 0, 0, 0, A, B, C)


@func
def dense_gemm_batched(
    m: Array[int32, 1],
    n: Array[int32, 1],
    p: Array[int32, 1],
    t1: int32,
    t2: int32,
    A_start: Array[int32, 1],
    B_start: Array[int32, 1],
    C_start: Array[int32, 1],
    A: Array[Float, 1],
    B: Array[Float, 1],
    C: Array[Float, 1],
):
    """The product of the thread: its extents, and where its matrices begin in the arrays."""
    k = tid()
    _product(m[k], n[k], p[k], t1, t2, A_start[k], B_start[k], C_start[k], A, B, C)


@func
def dense_chol(n: int32, A: Array[Float, 1], regularization: Float, L: Array[Float, 1]):
    """The lower factor of A + regularization * identity = L L^T, where A is symmetric and positive definite.

    Reads the lower triangle of A and writes that of L.
    """
    _factor(n, 0, A, regularization, L)


@func
def dense_chol_batched(
    A_start: Array[int32, 1], A_dim: Array[int32, 1], A: Array[Float, 1], regularization: Float, L: Array[Float, 1]
):
    """The factor of the thread: where its matrix begins in A and its factor in L, and how many rows they have."""
    k = tid()
    _factor(A_dim[k], A_start[k], A, regularization, L)


@func
def dense_subs(n: int32, L: Array[Float, 1], b: Array[Float, 1], x: Array[Float, 1]):
    """x of L L^T x = b, for the lower factor of a matrix of n rows."""
    _solution(n, 0, 0, False, L, L, b, x)


@func
def dense_solve(n: int32, A: Array[Float, 1], L: Array[Float, 1], b: Array[Float, 1], x: Array[Float, 1]):
    """x of A x = b, where A is symmetric and L its lower factor: the gradient reaches A instead of L."""
    _solution(n, 0, 0, True, A, L, b, x)


@func
def dense_solve_batched(
    b_start: Array[int32, 1],
    A_start: Array[int32, 1],
    A_dim: Array[int32, 1],
    A: Array[Float, 1],
    L: Array[Float, 1],
    b: Array[Float, 1],
    x: Array[Float, 1],
):
    """The solution of the thread: where its vectors begin in b and x, its matrices in A and L, and their rows."""
    k = tid()
    _solution(A_dim[k], A_start[k], b_start[k], True, A, L, b, x)


# ----- products -------------------------------------------------------------------------------


@func
def _product(
    m: int32, n: int32, p: int32, t1: int32, t2: int32, a: int32, b: int32, c: int32,
    A: Array[Float, 1], B: Array[Float, 1], C: Array[Float, 1],
):  # fmt: skip
    """The matrices begin at a, b and c."""
    for i in range(m):
        for j in range(n):
            total = A.dtype(0.0)
            for k in range(p):
                left = A[a + (k * m + i if t1 != 0 else i * p + k)]
                right = B[b + (j * p + k if t2 != 0 else k * n + j)]
                total += left * right
            C[c + i * n + j] = total


# ----- Cholesky factors -----------------------------------------------------------------------


@func
def _factor(n: int32, at: int32, A: Array[Float, 1], regularization: Float, L: Array[Float, 1]):
    """Column by column; the matrices begin at `at`."""
    for j in range(n):
        square = A[at + j * n + j] + regularization
        for k in range(j):
            square -= L[at + j * n + k] * L[at + j * n + k]
        pivot = sqrt(square)
        L[at + j * n + j] = pivot
        for i in range(j + 1, n):
            rest = A[at + i * n + j]
            for k in range(j):
                rest -= L[at + i * n + k] * L[at + j * n + k]
            L[at + i * n + j] = rest / pivot


@func_grad(_factor)
def _adj_factor(n: int32, at: int32, A: Array[Float, 1], regularization: Float, L: Array[Float, 1]):
    """Columns from the last, in the memory of the gradient of L, where that of A comes to stand."""
    for back in range(n):
        j = n - 1 - back
        pivot = L[at + j * n + j]
        for i in range(j + 1, n):
            adjoint[L][at + i * n + j] /= pivot
            adjoint[L][at + j * n + j] -= L[at + i * n + j] * adjoint[L][at + i * n + j]
        adjoint[L][at + j * n + j] /= pivot
        for k in range(j):
            for i in range(j, n):
                adjoint[L][at + j * n + k] -= adjoint[L][at + i * n + j] * L[at + i * n + k]
            for i in range(j + 1, n):
                adjoint[L][at + i * n + k] -= adjoint[L][at + i * n + j] * L[at + j * n + k]
        adjoint[L][at + j * n + j] *= 0.5
    for i in range(n):
        for j in range(i + 1):
            contribution = adjoint[L][at + i * n + j]
            adjoint[L][at + i * n + j] = 0.0  # before the other is added to, which may be the same memory
            adjoint[A][at + i * n + j] += contribution
            if i == j:
                adjoint[regularization] += contribution


# ----- solutions ------------------------------------------------------------------------------


@func
def _solution(
    n: int32,
    at: int32,
    start: int32,
    of_matrix: bool_,
    A: Array[Float, 1],
    L: Array[Float, 1],
    b: Array[Float, 1],
    x: Array[Float, 1],
):
    """L y = b forwards, then L^T x = y backwards; matrices begin at `at`, vectors at `start`.

    of_matrix: whether the gradient is that of A, and L a number as far as it is concerned.
    """
    for i in range(n):
        rest = b[start + i]
        for j in range(i):
            rest -= L[at + i * n + j] * x[start + j]
        x[start + i] = rest / L[at + i * n + i]
    for back in range(n):
        i = n - 1 - back
        rest = x[start + i]
        for j in range(i + 1, n):
            rest -= L[at + j * n + i] * x[start + j]
        x[start + i] = rest / L[at + i * n + i]


@func_grad(_solution)
def _adj_solution(
    n: int32,
    at: int32,
    start: int32,
    of_matrix: bool_,
    A: Array[Float, 1],
    L: Array[Float, 1],
    b: Array[Float, 1],
    x: Array[Float, 1],
):
    """With g = A^-1 adj(x), which is adj(b): adj(A) = -g x^T, or adj(L) = -(g x^T + x g^T) L in the lower triangle."""
    for i in range(n):
        rest = adjoint[x][start + i]
        for j in range(i):
            rest -= L[at + i * n + j] * adjoint[x][start + j]
        adjoint[x][start + i] = rest / L[at + i * n + i]
    for back in range(n):
        i = n - 1 - back
        rest = adjoint[x][start + i]
        for j in range(i + 1, n):
            rest -= L[at + j * n + i] * adjoint[x][start + j]
        adjoint[x][start + i] = rest / L[at + i * n + i]
    for k in range(n):
        if of_matrix:
            for i in range(n):
                adjoint[A][at + i * n + k] -= adjoint[x][start + i] * x[start + k]
        else:
            along_x, along_g = L.dtype(0.0), L.dtype(0.0)
            for j in range(k, n):
                along_x += L[at + j * n + k] * x[start + j]
                along_g += L[at + j * n + k] * adjoint[x][start + j]
            for i in range(k, n):
                adjoint[L][at + i * n + k] -= adjoint[x][start + i] * along_x + x[start + i] * along_g
    for i in range(n):
        contribution = adjoint[x][start + i]
        adjoint[x][start + i] = 0.0  # before the other is added to, which may be the same memory
        adjoint[b][start + i] += contribution

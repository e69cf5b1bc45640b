"""Preconditioners: approximate inverses of matrices, for the argument `M` of iterative solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.language import array, kernel, launch, tid, zeros
from ..errors import ArgumentTypeError
from ..sparse.block_operator import block_diagonal
from ..sparse.expression import Operators
from .operators import CsrMatrix, LinearOperator, aslinearoperator, computes
from .vectors import components, run


@kernel
def _scale(d: array(dtype=Any), x: array(dtype=Any), y: array(dtype=Any), z: array(dtype=Any), alpha: Any, beta: Any):
    i = tid()
    total = alpha * d[i] * x[i]
    if beta != z.dtype(0.0):
        total = total + beta * y[i]
    z[i] = total


def preconditioner(A: Any, ptype: str = "diag") -> LinearOperator | None:
    """An approximate inverse of a matrix, for the argument `M` of a solver.

    ptype "diag": one over the diagonal (Jacobi), 1 where that is infinite; "diag_abs": one over its magnitude, which
    keeps M positive where A is not; "id": none. Raises `ValueError` for another one, `ArgumentTypeError` for an
    operator without entries.
    """
    if ptype == "id":
        return None
    if ptype not in ("diag", "diag_abs"):
        raise ValueError(f"ptype is {ptype!r}\nexpected: 'diag', 'diag_abs' or 'id'")
    if not isinstance(A, array | CsrMatrix | Operators) and hasattr(A, "tocsr"):
        A = CsrMatrix.from_scipy(A)
    if not isinstance(A, array | CsrMatrix | Operators):
        raise ArgumentTypeError(
            f"the entries of {type(A).__name__} are not known\nexpected: a 2-D array or a sparse matrix\n"
            "help: give M a LinearOperator of your own"
        )
    operator = aslinearoperator(A)
    entries = _diagonal_of(A)
    entries = np.abs(entries) if ptype == "diag_abs" else entries
    with np.errstate(divide="ignore", over="ignore"):
        inverse = (1.0 / entries).astype(operator.dtype)
    return scaling(array(np.where(np.isinf(inverse), operator.dtype(1.0), inverse), device=operator.device))


def _diagonal_of(A: Any) -> np.ndarray:
    """The numbers on the diagonal of a matrix, on the host."""
    if isinstance(A, Operators):
        return block_diagonal(A)
    return A.diagonal() if isinstance(A, CsrMatrix) else _dense_diagonal(A)


def _dense_diagonal(a: array) -> np.ndarray:
    """The diagonal of a square array, on the host."""
    if not computes(a):
        return np.diagonal(a.numpy())
    entries = zeros(a.shape[0], a.dtype, a.device)
    run(_diagonal, entries.size, [a, entries], a.device)
    return entries.numpy()


@kernel
def _diagonal(a: array(dtype=Any, ndim=2), out: array(dtype=Any)):
    i = tid()
    out[i] = a[i, i]


def scaling(d: array) -> LinearOperator:
    """The operator that multiplies component i by d[i]."""

    def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        vectors = [components(v) for v in (x, y, z)]
        launch(_scale, d.size, [d, *vectors, d.dtype(alpha), d.dtype(beta)], device=d.device)

    return LinearOperator((d.size, d.size), d.dtype, d.device, matvec, matvec, [d])

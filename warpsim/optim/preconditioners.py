"""Preconditioners: approximate inverses of matrices, for the argument `M` of iterative solvers."""

from __future__ import annotations

from typing import Any

from ..core.language import abs, array, empty, isinf, kernel, launch, tid
from ..errors import ArgumentTypeError
from ..sparse.block_operator import block_diagonal
from ..sparse.expression import Operators
from .operators import LinearOperator, aslinearoperator, sparse_of_blocks
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
    A = sparse_of_blocks(A)
    if not isinstance(A, array | Operators):
        raise ArgumentTypeError(
            f"the entries of {type(A).__name__} are not known\nexpected: a 2-D array or a sparse matrix\n"
            "help: give M a LinearOperator of your own"
        )
    size, device = aslinearoperator(A).shape[0], A.device
    entries = _dense_diagonal(A) if isinstance(A, array) else block_diagonal(A)
    inverse = empty(size, entries.dtype, device)
    run(_invert, size, [entries, ptype == "diag_abs", inverse], device)
    return scaling(inverse)


def _dense_diagonal(a: array) -> array:
    """The diagonal of a square array."""
    entries = empty(a.shape[0], a.dtype, a.device)
    run(_diagonal, entries.size, [a, entries], a.device)
    return entries


@kernel
def _diagonal(a: array(dtype=Any, ndim=2), out: array(dtype=Any)):
    i = tid()
    out[i] = a[i, i]


@kernel
def _invert(entries: array(dtype=Any), positive: bool, out: array(dtype=Any)):
    i = tid()
    inverse = out.dtype(1.0) / entries[i]
    if positive:
        inverse = abs(inverse)
    if isinf(inverse):
        inverse = out.dtype(1.0)
    out[i] = inverse


def scaling(d: array) -> LinearOperator:
    """The operator that multiplies component i by d[i]."""

    def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        vectors = [components(v) for v in (x, y, z)]
        launch(_scale, d.size, [d, *vectors, d.dtype(alpha), d.dtype(beta)], device=d.device)

    return LinearOperator((d.size, d.size), d.dtype, d.device, matvec, matvec, [d])

"""Preconditioners: approximate inverses of matrices, for the argument `M` of iterative solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.language import abs, array, empty, isinf, kernel, tid
from ..core.types import scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError
from ..sparse.block_operator import block_diagonal
from ..sparse.diagonal import bsr_diag, bsr_get_diag
from ..sparse.expression import Operators
from .fsai import FSAI
from .operators import LinearOperator, aslinearoperator, block_operator, diagonal_operator, sparse_of_blocks
from .vectors import run

_BLOCK_JACOBI = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")
_TYPES = ("diag", "diag_abs", *_BLOCK_JACOBI, "fsai", "id")


def preconditioner(A: Any, ptype: str = "diag") -> LinearOperator | None:
    """An approximate inverse of a matrix, for the argument `M` of a solver.

    ptype "diag": one over the diagonal (Jacobi), 1 where that is infinite; "diag_abs": one over its magnitude, which
    keeps M positive where A is not. "block_jacobi_direct": the inverses of the blocks on the diagonal of a sparse
    matrix of square blocks, the identity for singular ones; "block_jacobi_sequential" and "block_jacobi_tile" also for
    those that are not symmetric positive definite, which keeps M so. "fsai": `FSAI(A)`, for symmetric positive definite
    A. "id": none. Blocks of one number are those of "diag".

    Raises `ValueError` for another ptype, and for blocks that are not square or of a type that a ptype does not take;
    `ArgumentTypeError` for an operator without entries.
    """
    if ptype not in _TYPES:
        raise ValueError(f"ptype is {ptype!r}\nexpected: one of {', '.join(map(repr, _TYPES))}")
    if ptype == "id":
        return None
    A = sparse_of_blocks(A)
    if ptype in _BLOCK_JACOBI:
        return _block_jacobi(A, ptype)
    if ptype == "fsai":
        return FSAI(A)
    if not isinstance(A, array | Operators):
        raise ArgumentTypeError(
            f"the entries of {type(A).__name__} are not known\nexpected: a 2-D array or a sparse matrix\n"
            "help: give M a LinearOperator of your own"
        )
    return _jacobi(A, ptype == "diag_abs")


def _jacobi(A: Any, positive: bool) -> LinearOperator:
    """One over the diagonal of a dense or sparse matrix, or over its magnitude."""
    size, device = aslinearoperator(A).shape[0], A.device
    entries = _dense_diagonal(A) if isinstance(A, array) else block_diagonal(A)
    inverse = empty(size, entries.dtype, device)
    run(_invert, size, [entries, positive, inverse], device)
    return diagonal_operator(inverse)


def _block_jacobi(A: Any, ptype: str) -> LinearOperator:
    """The inverses of the blocks on the diagonal of a sparse matrix."""
    if not isinstance(A, Operators):
        raise ValueError(f"ptype is {ptype!r}, and A {type(A).__name__}\nexpected: a sparse matrix with square blocks")
    terms = A.terms()
    (height, width), scalar = terms.block_shape, terms.scalar_type
    if height != width or terms.shape[0] != terms.shape[1]:
        raise ValueError(
            f"A has shape {terms.shape}, in blocks of {height} x {width}\n"
            f"expected: a square matrix with square matrix blocks, for ptype {ptype!r}"
        )
    if ptype == "block_jacobi_tile" and scalar is scalars.float16:
        raise ValueError(
            f"A has blocks of {type_name(scalar)}\nexpected: float32 or float64, for ptype {ptype!r}\n"
            "help: 'block_jacobi_sequential' takes the same blocks of float16"
        )
    if height == 1:
        return _jacobi(A, positive=False)
    blocks = bsr_get_diag(A)
    inverses = inverse_blocks(blocks.numpy(), definite=ptype != "block_jacobi_direct")
    return block_operator(bsr_diag(array(inverses, dtype=blocks.dtype, device=blocks.device)))


def inverse_blocks(blocks: np.ndarray, definite: bool) -> np.ndarray:
    """The inverses of (n, k, k) matrices, rounded to their dtype, and the identity for singular ones.

    Singular is what is so to rounding: a condition above 1 / (k eps) of the dtype. definite: the identity also for
    matrices that are not symmetric positive definite.
    """
    exact, k = blocks.astype(np.float64), blocks.shape[1]
    smallest = k * float(np.finfo(blocks.dtype).eps)
    regular = np.isfinite(exact).all(axis=(1, 2))
    exact[~regular] = np.eye(k)
    if definite:
        size = np.abs(exact).max(axis=(1, 2), initial=0.0)
        regular &= np.abs(exact - exact.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0) <= smallest * size
        values = np.linalg.eigvalsh(exact)
        regular &= values[:, 0] > smallest * values[:, -1]
    else:
        values = np.linalg.svd(exact, compute_uv=False)
        regular &= values[:, -1] > smallest * values[:, 0]
    exact[~regular] = np.eye(k)
    return np.linalg.inv(exact).astype(blocks.dtype)


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

"""Sparse matrices of blocks as what iterative solvers know of a matrix: products, and the numbers on the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.language import array
from ..core.runtime.arrays.saved_contents import Paused
from .blocks import as_vectors, column_type, row_type
from .conversion import bsr_copy
from .diagonal import bsr_get_diag
from .expression import Expression
from .vector_product import multiply


def block_matvec(terms: Expression) -> Callable[[array, array, array, float, float], None]:
    """The product z = alpha A x + beta y of the matrix that an expression stands for now; recorded by tapes.

    x, y, z: contiguous arrays of its numbers, or of vectors of them.
    """
    matrix = terms.matrix.snapshot()
    domain, image = column_type(matrix.dtype), row_type(matrix.dtype)
    domain, image = (image, domain) if terms.turned else (domain, image)

    def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        operand = as_vectors(x, domain, terms.ncol, "x", matrix.device)
        summand, result = (as_vectors(a, image, terms.nrow, "y", matrix.device) for a in (y, z))
        multiply(matrix, terms.turned, operand, summand, result, alpha * terms.scale, beta)

    return matvec


def block_diagonal(A: Any) -> np.ndarray:
    """The numbers on the diagonal of a square matrix, or of an expression of one, on the host."""
    rows, columns = A.terms().block_shape
    with Paused():
        blocks = bsr_get_diag(A if rows == columns else bsr_copy(A, block_shape=(1, 1))).numpy()
    if rows != columns:
        return blocks
    return np.diagonal(blocks.reshape(-1, rows, columns), axis1=1, axis2=2).reshape(-1).copy()

"""Sparse matrices of blocks as what iterative solvers know of a matrix: products, and the numbers on the diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.language import array, empty, kernel, launch, tid
from ..core.runtime.arrays.saved_contents import Paused
from .blocks import as_vectors, column_type, numbers_of, row_type
from .conversion import bsr_copy
from .diagonal import bsr_get_diag
from .expression import Expression, Operators
from .vector_product import multiply


def block_matvec(terms: Expression) -> Callable[[array, array, array, float, float], None]:
    """The product z = alpha A x + beta y of the matrix that an expression stands for; recorded by tapes.

    x, y, z: contiguous arrays of its numbers, or of vectors of them.
    """
    matrix = terms.matrix
    domain, image = column_type(matrix.dtype), row_type(matrix.dtype)
    domain, image = (image, domain) if terms.turned else (domain, image)

    def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        operand = as_vectors(x, domain, terms.ncol, "x", matrix.device)
        summand, result = (as_vectors(a, image, terms.nrow, "y", matrix.device) for a in (y, z))
        multiply(matrix, terms.turned, operand, summand, result, alpha * terms.scale, beta)

    return matvec


def block_diagonal(A: Operators) -> array:
    """The numbers on the diagonal of a square matrix, or of an expression of one: a new array, unknown to tapes."""
    rows, columns = A.terms().block_shape
    with Paused():
        blocks = bsr_get_diag(A if rows == columns else bsr_copy(A, block_shape=(1, 1)))
        numbers = numbers_of(blocks)
        out = empty(numbers.shape[0] * numbers.shape[1], numbers.dtype, numbers.device)
        launch(_take_diagonals, numbers.shape[:2], [numbers, out], device=out.device)
    return out


@kernel
def _take_diagonals(blocks: array(dtype=Any, ndim=3), out: array(dtype=Any)):
    k, i = tid()
    out[k * blocks.shape[1] + i] = blocks[k, i, i]

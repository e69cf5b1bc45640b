"""Transposes of sparse matrices: `bsr_transposed`, `bsr_set_transpose`; and the matrices that expressions stand for."""

from __future__ import annotations

from typing import Any

from ..core.language import array, clone, empty, int32, kernel, launch, tid
from ..core.runtime.arrays.saved_contents import Paused
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError
from .blocks import factor_of, turned
from .expression import Expression, operator, terms_of
from .matrix import BsrMatrix, fill, matrix_of
from .places import check_matrix, check_same_device, check_same_kind, combine, keeps_pattern, places_in, put_values


@kernel
def _turn(order: array(dtype=int32), values: array(dtype=Any), alpha: Any, out: array(dtype=Any)):
    k = tid()
    out[k] = alpha * turned(values[order[k]])


@kernel
def _multiply(x: array(dtype=Any), alpha: Any, out: array(dtype=Any)):
    k = tid()
    out[k] = alpha * x[k]


def private_copy(indices: array) -> array:
    """A copy of offsets or columns."""
    with Paused():
        return clone(indices)


@operator("matrix")
def evaluate(terms: Expression, copied: bool = True) -> BsrMatrix:
    """The matrix that an expression stands for: a new one or, unless it is to be `copied`, the one that is there."""
    matrix, alpha = terms.matrix, terms.scale
    if not terms.turned and alpha == 1.0 and not copied:
        return matrix
    kind, device, grad = matrix.scalar_type, matrix.device, matrix.requires_grad
    if terms.turned:
        index = matrix.transposed_index
        values = empty(index.order.size, terms.dtype, device, requires_grad=grad)
        launch(_turn, values.size, [index.order, matrix.values, factor_of(alpha, kind), values], device=device)
        offsets, columns = index.starts, index.rows
    else:
        values = empty(int(matrix.nnz), matrix.dtype, device, requires_grad=grad)
        launch(_multiply, values.size, [matrix.values, factor_of(alpha, kind), values], device=device)
        offsets, columns = matrix.offsets, matrix.columns[: int(matrix.nnz)]
    return matrix_of((terms.nrow, terms.ncol), private_copy(offsets), private_copy(columns), values)


def bsr_transposed(A: Any) -> BsrMatrix:
    """The transpose of a sparse matrix as a new one; differentiable. `A.transpose()` is one that nobody computes."""
    return evaluate(terms_of(A, "A").turn())


def bsr_set_transpose(dest: BsrMatrix, src: Any, masked: bool = False, topology: str | None = None) -> None:
    """Let `dest` be the transpose of `src`; masked: at the places that it has. Differentiable in the blocks of `src`.

    topology="masked" says the same as masked.
    Raises `ArgumentTypeError` for other types and blocks, `ArrayError` for another device or, masked, other extents.
    """
    terms = terms_of(src, "src").turn()
    if not isinstance(dest, BsrMatrix) or dest.dtype is not terms.dtype:
        what = f"has blocks of {type_name(dest.dtype)}" if isinstance(dest, BsrMatrix) else f"is {type(dest).__name__}"
        raise ArgumentTypeError(f"dest {what}\nexpected: a BsrMatrix with blocks of {type_name(terms.dtype)}")
    check_same_device(terms, dest, "src", "dest")
    result = evaluate(terms)
    if keeps_pattern(topology, masked):
        check_matrix(dest, "dest", used=True)
        check_same_kind(terms, dest, "the transpose of src", "dest")
        at = places_in(dest, result)
        put_values(dest, combine(at, 1.0, result, at, 0.0, result))
    else:
        fill(dest, (int(result.nrow), int(result.ncol)), result.offsets, result.columns, result.values)

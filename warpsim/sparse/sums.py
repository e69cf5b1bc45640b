"""Sums of sparse matrices: `bsr_axpy`, and multiples in place: `bsr_scale`.

A block of a sum is made of one block of each summand, so that nothing is added in an order that threads decide, in
neither direction.
"""

from __future__ import annotations

from typing import Any

from ..core.language import array, kernel, launch, tid
from .expression import Expression, operator, terms_of
from .matrix import BsrMatrix, fill, matrix_of
from .places import check_matrix, check_same_kind, combine, places_in, put_values
from .transposition import evaluate
from .unions import union_of


@kernel
def _scale(x: array(dtype=Any), alpha: Any):
    k = tid()
    x[k] = alpha * x[k]


def bsr_axpy(
    x: Any, y: BsrMatrix | None = None, alpha: float = 1.0, beta: float = 1.0, masked: bool = False,
    work_arrays: Any = None,
) -> BsrMatrix:  # fmt: skip
    """The sum y = alpha x + beta y of sparse matrices; differentiable in the blocks of both.

    x: a `BsrMatrix` or an expression of one; y: a `BsrMatrix`, by default a new one without blocks. masked: y keeps
    its pattern, and blocks of x elsewhere are left out. work_arrays: taken for programs written for Warp.

    Returns y, with a pattern of its own. Raises `ArgumentTypeError` for other types and blocks, `ArrayError` for
    extents and devices that do not fit.
    """
    terms = terms_of(x, "x")
    if y is None:
        x = evaluate(terms.times(alpha))
        return matrix_of((int(x.nrow), int(x.ncol)), x.offsets, x.columns, x.values)
    check_matrix(y, "y")
    check_same_kind(terms, y, "x", "y")
    alpha, x = alpha * terms.scale, evaluate(Expression(terms.matrix, 1.0, terms.turned), copied=False)
    shape = int(y.nrow), int(y.ncol)
    if masked or (x.offsets is y.offsets and x.columns is y.columns):
        put_values(y, combine(places_in(y, x), alpha, x, places_in(y, y), beta, y))
        return y
    union = union_of(x, y)
    values = combine(union.first, alpha, x, union.second, beta, y)
    fill(y, shape, union.offsets, union.columns, values)
    return y


@operator("sum")
def _sum(x: Any, y: Any, sign: float) -> BsrMatrix:
    """x + sign y as a new matrix."""
    first, second = x.terms(), y.terms()
    check_same_kind(first, second, "the first term", "the second term")
    factors = first.scale, sign * second.scale
    left, right = (evaluate(Expression(e.matrix, 1.0, e.turned), copied=False) for e in (first, second))
    offsets, columns, left_at, right_at = union_of(left, right)
    values = combine(left_at, factors[0], left, right_at, factors[1], right)
    return matrix_of((int(left.nrow), int(left.ncol)), offsets, columns, values)


def bsr_scale(x: Any, alpha: float) -> BsrMatrix:
    """The matrix x with its blocks multiplied by alpha, in place; an expression becomes a new matrix."""
    if not isinstance(x, BsrMatrix):
        return evaluate(terms_of(x, "x").times(alpha))
    launch(_scale, int(x.nnz), [x.values, x.scalar_type(alpha)], device=x.device)
    return x

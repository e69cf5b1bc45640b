"""Sums of sparse matrices: `bsr_axpy`, and multiples in place: `bsr_scale`.

A block of a sum is made of one block of each summand, so that nothing is added in an order that threads decide, in
neither direction.
"""

from __future__ import annotations

from typing import Any

from ..core.language import array, kernel, launch, tid
from .blocks import factor_of
from .expression import Expression, operator, terms_of
from .matrix import BsrMatrix, fill, matrix_of
from .places import check_matrix, check_same_kind, combine, keeps_pattern, places_in, put_values
from .transposition import evaluate
from .unions import union_of


@kernel
def _scale(x: array(dtype=Any), alpha: Any):
    k = tid()
    x[k] = alpha * x[k]


class bsr_axpy_work_arrays:
    """Taken for programs written for Warp: sums keep no memory."""


def bsr_axpy(
    x: Any, y: BsrMatrix | None = None, alpha: float = 1.0, beta: float = 1.0, masked: bool = False,
    work_arrays: Any = None, topology: str | None = None,
) -> BsrMatrix:  # fmt: skip
    """The sum y = alpha x + beta y of sparse matrices; differentiable in the blocks of both.

    x: a `BsrMatrix` or an expression of one; y: a `BsrMatrix`, by default a new one without blocks. masked: y keeps
    its pattern, and blocks of x elsewhere are left out; topology="masked" says the same. work_arrays: taken for
    programs written for Warp.

    Returns y, with a pattern of its own. Raises `ArgumentTypeError` for other types and blocks, `ArrayError` for
    extents and devices that do not fit.
    """
    terms = terms_of(x, "x")
    if y is None:
        x = evaluate(terms.times(alpha))
        return matrix_of((int(x.nrow), int(x.ncol)), x.offsets, x.columns, x.values)
    check_matrix(y, "y")
    check_same_kind(terms, y, "x", "y")
    first, second = terms.times(alpha), y.terms().times(beta)
    masked = keeps_pattern(topology, masked)
    x = evaluate(first.unscaled(), copied=False)
    if masked or (x.offsets is y.offsets and x.columns is y.columns):
        put_values(y, combine(places_in(y, x), first.scale, x, places_in(y, y), second.scale, y))
    else:
        added = _sum(Expression(x, first.scale), second)
        fill(y, (int(y.nrow), int(y.ncol)), added.offsets, added.columns, added.values)
    return y


@operator("sum")
def _sum(x: Any, y: Any) -> BsrMatrix:
    """x + y as a new matrix."""
    first, second = x.terms(), y.terms()
    check_same_kind(first, second, "the first term", "the second term")
    left, right = (evaluate(e.unscaled(), copied=False) for e in (first, second))
    offsets, columns, left_at, right_at = union_of(left, right)
    values = combine(left_at, first.scale, left, right_at, second.scale, right)
    return matrix_of((int(left.nrow), int(left.ncol)), offsets, columns, values)


def bsr_scale(x: Any, alpha: float) -> BsrMatrix:
    """The matrix x with its blocks multiplied by alpha, in place; an expression becomes a new matrix."""
    terms = terms_of(x, "x")
    if not isinstance(x, BsrMatrix):
        return evaluate(terms.times(alpha))
    launch(_scale, int(x.nnz), [x.values, factor_of(alpha, x.scalar_type)], device=x.device)
    return x

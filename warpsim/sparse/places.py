"""Blocks of sparse matrices at places of another one, and whether two matrices go together."""

from __future__ import annotations

from typing import Any

from ..core.language import array, empty, int32, kernel, launch, tid
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, shown
from .blocks import factor_of
from .matrix import BsrMatrix
from .queries import bsr_block_index


@kernel(enable_backward=False)
def _find(
    rows: array(dtype=int32),
    columns: array(dtype=int32),
    offsets: array(dtype=int32),
    others: array(dtype=int32),
    at: array(dtype=int32),
):
    k = tid()
    at[k] = bsr_block_index(rows[k], columns[k], offsets, others)


@kernel
def _combine(
    x_at: array(dtype=int32),
    x: array(dtype=Any),
    alpha: Any,
    y_at: array(dtype=int32),
    y: array(dtype=Any),
    beta: Any,
    out: array(dtype=Any),
):
    """Blocks of alpha x + beta y, whose terms stand where `x_at` and `y_at` say; y is not read where beta is 0."""
    k = tid()
    total = out.dtype()
    if x_at[k] >= 0:
        total = alpha * x[x_at[k]]
    if y_at[k] >= 0 and beta != beta - beta:
        total = total + beta * y[y_at[k]]
    out[k] = total


def blocks_at(x: BsrMatrix, rows: array, columns: array) -> array:
    """Where a matrix has the blocks of places, (n,); -1 for none."""
    at = empty(rows.size, int32, x.device)
    launch(_find, at.size, [rows, columns, x.offsets, x.columns[: int(x.nnz)], at], device=x.device, record_tape=False)
    return at


def places_in(place: BsrMatrix, x: BsrMatrix) -> array:
    """Where a matrix has the blocks that stand at the places of another one, -1 for none: (nnz of `place`,)."""
    return blocks_at(x, place.uncompress_rows(), place.columns)


def combine(x_at: array, alpha: float, x: BsrMatrix, y_at: array, beta: float, y: BsrMatrix) -> array:
    """Blocks of alpha x + beta y as a new array; x_at, y_at: where the terms of each stand, -1 for none."""
    kind, grad = x.scalar_type, x.requires_grad or y.requires_grad
    out = empty(x_at.size, x.dtype, x.device, requires_grad=grad)
    inputs = [x_at, x.values, factor_of(alpha, kind), y_at, y.values, factor_of(beta, kind), out]
    launch(_combine, out.size, inputs, device=x.device)
    return out


def put_values(matrix: BsrMatrix, values: array) -> None:
    """Write blocks into those that a matrix has, which get a gradient if these have one."""
    if values.requires_grad and not matrix.requires_grad:
        matrix.requires_grad = True
    if values.size:
        matrix.values[: values.size].assign(values)


def keeps_pattern(topology: str | None, masked: bool) -> bool:
    """Whether a result keeps its pattern, by the two ways to ask for it. Raises `ArrayError` for another topology."""
    if topology not in (None, "compact", "masked"):
        raise ArrayError(
            f"topology is {shown(topology)}\nexpected: 'compact' or 'masked'; rows with room for more blocks "
            "('padded') are not here yet"
        )
    return masked or topology == "masked"


def check_same_kind(x: Any, y: Any, x_name: str, y_name: str) -> None:
    """Raise unless two matrices have blocks of one type, equal extents and one device."""
    if x.dtype is not y.dtype:
        raise ArgumentTypeError(
            f"{y_name} has blocks of {type_name(y.dtype)}\nexpected: {type_name(x.dtype)}, as {x_name}"
        )
    if (int(x.nrow), int(x.ncol)) != (int(y.nrow), int(y.ncol)):
        raise ArrayError(
            f"{y_name} has {int(y.nrow)} x {int(y.ncol)} blocks\nexpected: {int(x.nrow)} x {int(x.ncol)}, as {x_name}"
        )
    check_same_device(x, y, x_name, y_name)


def check_same_device(x: Any, y: Any, x_name: str, y_name: str) -> None:
    """Raise unless two matrices are on one device."""
    if x.device is not y.device:
        raise ArrayError(f"{y_name} is on {y.device}\nexpected: {x.device}, as {x_name}")


def check_matrix(y: Any, name: str, used: bool = False) -> None:
    """Raise `ArgumentTypeError` for what is no sparse matrix, `ArrayError` for a damaged one that is used."""
    if not isinstance(y, BsrMatrix):
        raise ArgumentTypeError(f"{name} is {shown(y)}\nexpected: a BsrMatrix")
    if used:
        y.terms()

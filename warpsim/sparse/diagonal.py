"""Diagonals of sparse matrices: `bsr_get_diag`, `bsr_set_diag`, `bsr_diag`, `bsr_identity`, and none: `bsr_zeros`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.language import array, empty, get_device, int32, kernel, launch, min, tid
from ..core.types import scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError
from .blocks import as_blocks, block_shape, block_type_of, checked_block_type
from .expression import is_number, terms_of
from .matrix import BsrMatrix, checked_extents, empty_matrix, fill
from .places import check_matrix
from .queries import row_begin, row_end
from .transposition import evaluate


@kernel(enable_backward=False)
def _diagonal_pattern(count: int32, offsets: array(dtype=int32), columns: array(dtype=int32)):
    i = tid()
    offsets[i] = min(i, count)
    if i < count:
        columns[i] = i


@kernel
def _get(offsets: array(dtype=int32), columns: array(dtype=int32), values: array(dtype=Any), out: array(dtype=Any)):
    i = tid()
    total = out.dtype()
    for k in range(row_begin(offsets, i), row_end(offsets, columns, i)):
        if columns[k] == i:
            total += values[k]
    out[i] = total


# ----- without blocks -----------------------------------------------------------------------------


def bsr_zeros(rows_of_blocks: int, cols_of_blocks: int, block_type: Any, device: Any = None) -> BsrMatrix:
    """A sparse matrix without blocks. block_type: a scalar type, or a matrix type like `wp.mat33`.

    Raises `ArgumentTypeError` for another type, `ArrayError` for numbers that are no extents.
    """
    return empty_matrix((rows_of_blocks, cols_of_blocks), block_type, device)


def bsr_set_zero(bsr: BsrMatrix, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None) -> None:
    """Take all blocks from a matrix, and give it other extents where they are given."""
    check_matrix(bsr, "bsr")
    extents = zip((bsr.nrow, bsr.ncol), (rows_of_blocks, cols_of_blocks), strict=True)
    rows, columns = (old if new is None else new for old, new in extents)
    bare = empty_matrix((rows, columns), bsr.dtype, bsr.device)
    fill(bsr, (bare.nrow, bare.ncol), bare.offsets, bare.columns, bare.values)


# ----- diagonals ----------------------------------------------------------------------------------


def bsr_get_diag(A: Any, out: array | None = None) -> array:
    """The blocks of the diagonal, zeros where there is none, as (min(nrow, ncol),) blocks; differentiable.

    Raises `ArgumentTypeError` and `ArrayError` for an `out` that does not fit.
    """
    terms = terms_of(A, "A")
    matrix = evaluate(terms, copied=False)
    count = min(int(matrix.nrow), int(matrix.ncol))
    if out is None:
        out = empty(count, matrix.dtype, matrix.device, requires_grad=matrix.requires_grad)
    blocks = as_blocks(out, matrix.dtype, "out", matrix.device)
    if blocks.size != count:
        raise ArrayError(f"out has {blocks.size} blocks\nexpected: {count}, those of the diagonal")
    launch(_get, count, [matrix.offsets, matrix.columns, matrix.values, blocks], device=matrix.device)
    return out


def bsr_set_diag(A: BsrMatrix, diag: Any, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None) -> None:
    """Let a matrix be diagonal. diag: (n,) blocks, differentiable, or one block or number for all.

    A number stands for its multiple of the identity. Extents are those of `A`, or those given, or with an array the
    number of its blocks. Raises `ArgumentTypeError` for another type, `ArrayError` for a number of blocks that does
    not fit.
    """
    check_matrix(A, "A")
    if isinstance(diag, array):
        blocks = as_blocks(diag, A.dtype, "diag", A.device)
        rows_of_blocks = blocks.size if rows_of_blocks is None and cols_of_blocks is None else rows_of_blocks
    rows, columns = _extents(A, rows_of_blocks, cols_of_blocks)
    count = min(rows, columns)
    if not isinstance(diag, array):
        blocks = empty(count, A.dtype, A.device)
        blocks.fill_(_block(diag, A.dtype))
    elif blocks.size != count:
        raise ArrayError(f"diag has {blocks.size} blocks\nexpected: {count}, the diagonal of {rows} x {columns}")
    offsets, indices = empty(rows + 1, int32, A.device), empty(count, int32, A.device)
    launch(_diagonal_pattern, rows + 1, [count, offsets, indices], device=A.device, record_tape=False)
    fill(A, (rows, columns), offsets, indices, blocks.contiguous() if blocks is not diag else _copy_of(blocks))


def _copy_of(blocks: array) -> array:
    copied = empty(blocks.size, blocks.dtype, blocks.device, requires_grad=blocks.requires_grad)
    copied.assign(blocks)
    return copied


def _extents(A: BsrMatrix, rows: int | None, columns: int | None) -> tuple[int, int]:
    """Extents that are given, the one like the other if that is missing, or those of the matrix."""
    if rows is None and columns is None:
        return int(A.nrow), int(A.ncol)
    return checked_extents(columns if rows is None else rows, rows if columns is None else columns)


def _block(value: Any, t: Any) -> Any:
    """A block of a value: of a number, its multiple of the identity."""
    rows, columns = block_shape(t)
    if scalars.is_scalar(t) or not is_number(value):
        try:
            return t(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"diag is {value!r}\nexpected: a block of {type_name(t)}, or a number") from error
    return t(*np.where(np.eye(rows, columns), value, 0).reshape(-1).tolist())


def bsr_diag(
    diag: Any = None, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None, block_type: Any = None,
    device: Any = None,
) -> BsrMatrix:  # fmt: skip
    """A diagonal sparse matrix; differentiable in an array of blocks.

    diag: (n,) blocks, or their numbers in shape (n, rows, columns); or one block for all, for which extents are needed;
    None for blocks of zeros. block_type: of these, by default the type of the block or float32. Raises as
    `bsr_set_diag`.
    """
    if isinstance(diag, array):
        t = block_type_of(diag) if block_type is None else checked_block_type(block_type)
        matrix = empty_matrix((0, 0), t, diag.device)
    else:
        own = type(diag) if diag is not None and not is_number(diag) else float
        t = checked_block_type(own if block_type is None else block_type)
        if rows_of_blocks is None and cols_of_blocks is None:
            raise ArrayError("neither diag is an array, nor are there extents\nexpected: rows_of_blocks")
        matrix = empty_matrix((0, 0), t, get_device(device))
    bsr_set_diag(matrix, 0 if diag is None else diag, rows_of_blocks, cols_of_blocks)
    return matrix


def bsr_set_identity(A: BsrMatrix, rows_of_blocks: int | None = None) -> None:
    """Let a matrix be the identity, of `rows_of_blocks` rows, by default as many as it has.

    Raises `ArgumentTypeError` for blocks that are not square.
    """
    check_matrix(A, "A")
    _check_square(A.dtype)
    rows = int(A.nrow) if rows_of_blocks is None else rows_of_blocks
    bsr_set_diag(A, 1, rows, rows)


def bsr_identity(rows_of_blocks: int, block_type: Any = float, device: Any = None) -> BsrMatrix:
    """The identity as a sparse matrix; raises `ArgumentTypeError` for blocks that are not square."""
    _check_square(checked_block_type(block_type))
    return bsr_diag(1, rows_of_blocks, rows_of_blocks, block_type, device)


def _check_square(t: Any) -> None:
    rows, columns = block_shape(t)
    if rows != columns:
        raise ArgumentTypeError(f"blocks of {type_name(t)}\nexpected: as many rows as columns, for an identity")

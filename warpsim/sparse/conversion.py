"""Copies of sparse matrices, also with other blocks and numbers: `bsr_assign`, `bsr_copy`."""

from __future__ import annotations

from typing import Any

from ..core.language import array, empty, int32, int64, kernel, launch, tid, zeros
from ..errors import ArrayError
from .blocks import block_type, checked_block_shape, checked_scalar_type, numbers_of
from .expression import terms_of
from .lists import Pattern, entry_of, pattern_of, sort_lists, write_lists
from .matrix import BsrMatrix, empty_matrix, fill
from .places import check_matrix, check_same_device, keeps_pattern, put_values
from .queries import bsr_block_index, row_begin, row_end
from .transposition import evaluate, private_copy


@kernel(enable_backward=False)
def _list_blocks(
    offsets: array(dtype=int32), columns: array(dtype=int32), old_rows: int32, old_width: int32, new_rows: int32,
    new_width: int32, ncol: int32, starts: array(dtype=int32), entries: array(dtype=int64), counts: array(dtype=int32),
):  # fmt: skip
    """The columns of new blocks in a row: of each old block that touches it, those that this touches."""
    i = tid()
    slot = starts[i]
    top = int64(i) * int64(new_rows)
    first = int32(top // int64(old_rows))
    last = int32((top + int64(new_rows - 1)) // int64(old_rows))
    for row in range(first, last + 1):
        for k in range(row_begin(offsets, row), row_end(offsets, columns, row)):
            if columns[k] >= 0 and columns[k] < ncol:
                side = int64(columns[k]) * int64(old_width)
                left = int32(side // int64(new_width))
                right = int32((side + int64(old_width - 1)) // int64(new_width))
                for column in range(left, right + 1):
                    if slot < entries.shape[0]:
                        entries[slot] = entry_of(column, int32(0))
                    slot += 1
    counts[i + 1] = slot - starts[i]


@kernel
def _regroup(
    rows: array(dtype=int32),
    columns: array(dtype=int32),
    x_offsets: array(dtype=int32),
    x_columns: array(dtype=int32),
    x: array(dtype=Any, ndim=3),
    out: array(dtype=Any, ndim=3),
):
    """Numbers of blocks at the places (rows[k], columns[k]), from blocks of another shape."""
    k, a, b = tid()
    row = int64(rows[k]) * int64(out.shape[1]) + int64(a)
    column = int64(columns[k]) * int64(out.shape[2]) + int64(b)
    height = int64(x.shape[1])
    width = int64(x.shape[2])
    at = int32(-1)
    if row >= int64(0) and column >= int64(0):
        at = bsr_block_index(int32(row // height), int32(column // width), x_offsets, x_columns)
    if at >= 0:
        out[k, a, b] = out.dtype(x[at, row % height, column % width])
    else:
        out[k, a, b] = out.dtype(0)


def _regrouped_pattern(src: BsrMatrix, shape: tuple[int, int], rows: int) -> Pattern:
    """The places of blocks of another shape that have a number of a block of `src`."""
    inputs = [src.offsets, src.columns, src.block_shape[0], src.block_shape[1], *shape, int(src.ncol)]
    touched = [-(-old // new) + (old % new > 0) for old, new in zip(src.block_shape, shape, strict=True)]
    most = int(src.nnz) * touched[0] * touched[1]
    starts, (entries,) = write_lists(_list_blocks, rows, inputs, most, lambda n: [empty(n, int64, src.device)])
    return pattern_of(sort_lists(starts, entries))


def bsr_assign(
    dest: BsrMatrix, src: Any, structure_only: bool = False, masked: bool = False, topology: str | None = None
) -> None:
    """Copy a sparse matrix into another one, whose blocks and numbers may be of other types; differentiable.

    src: a `BsrMatrix` or an expression of one. Blocks of another shape get the numbers at their places: all blocks that
    have one, with zeros beside it. structure_only: zeros everywhere. masked: dest keeps its pattern, and numbers
    elsewhere are left out; topology="masked" says the same.

    Raises `ArrayError` for extents that blocks of `dest` do not divide, and for another device.
    """
    masked = keeps_pattern(topology, masked)
    check_matrix(dest, "dest", used=masked)
    terms = terms_of(src, "src")
    check_same_device(terms, dest, "src", "dest")
    rows, columns = _extents_in_blocks(terms.shape, dest.block_shape)
    if masked and (rows, columns) != (int(dest.nrow), int(dest.ncol)):
        raise ArrayError(f"dest has {int(dest.nrow)} x {int(dest.ncol)} blocks\nexpected: {rows} x {columns}, as src")
    matrix = evaluate(terms, copied=False)
    place = dest
    if not masked:
        place = empty_matrix((rows, columns), dest.dtype, dest.device)
        if matrix.block_shape == dest.block_shape:
            offsets, indices = (private_copy(a) for a in (matrix.offsets, matrix.columns[: int(matrix.nnz)]))
        else:
            offsets, indices, _ = _regrouped_pattern(matrix, dest.block_shape, rows)
        fill(place, (rows, columns), offsets, indices, place.values)
    values = zeros(int(place.nnz), dest.dtype, dest.device, requires_grad=matrix.requires_grad and not structure_only)
    if not structure_only and values.size:
        patterns = [place.uncompress_rows(), place.columns, matrix.offsets, matrix.columns]
        inputs = [*patterns, numbers_of(matrix.values), numbers_of(values)]
        launch(_regroup, (values.size, *dest.block_shape), inputs, device=dest.device)
    if masked:
        put_values(dest, values)
    else:
        fill(dest, (rows, columns), place.offsets, place.columns, values)


def _extents_in_blocks(shape: tuple[int, int], block: tuple[int, int]) -> tuple[int, int]:
    """Numbers as blocks; raises `ArrayError` where they make no whole ones."""
    if any(extent % size for extent, size in zip(shape, block, strict=True)):
        raise ArrayError(f"src has {shape[0]} x {shape[1]} numbers\nexpected: whole blocks of {block[0]} x {block[1]}")
    return shape[0] // block[0], shape[1] // block[1]


def bsr_copy(
    A: Any, scalar_type: Any = None, block_shape: tuple[int, int] | None = None, structure_only: bool = False
) -> BsrMatrix:
    """A copy of a sparse matrix or of what an expression of one stands for; differentiable.

    scalar_type, block_shape: of the copy, by default those of `A`; (1, 1) makes a matrix of numbers. All else is as in
    `bsr_assign`, which it raises like.
    """
    terms = terms_of(A, "A")
    scalar = terms.scalar_type if scalar_type is None else checked_scalar_type(scalar_type)
    if block_shape is None:
        t = block_type(terms.block_shape, scalar, terms.dtype)
    else:
        t = block_type(checked_block_shape(block_shape), scalar)
    if t is terms.dtype and not structure_only:
        return evaluate(terms)
    copied = empty_matrix((0, 0), t, terms.device)
    bsr_assign(copied, terms, structure_only)
    return copied

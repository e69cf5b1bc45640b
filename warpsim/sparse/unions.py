"""Unions of patterns: the places that one of two matrices has, or both, and where the blocks of each stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.language import array, func, int32, kernel, launch, tid, zeros
from .lists import starts_of, total_of
from .queries import row_begin, row_end

if TYPE_CHECKING:
    from .matrix import BsrMatrix

_LAST = 2**31 - 1


class Union(NamedTuple):
    """offsets, columns: of the union; first, second: (nnz,), where the block of each matrix stands, -1 for none."""

    offsets: array
    columns: array
    first: array
    second: array


@func
def _column_at(k: int32, end: int32, columns: array(dtype=int32)) -> int32:
    """A column, or behind the end of a row one beyond all."""
    if k < end:
        return columns[k]
    return int32(_LAST)


@kernel(enable_backward=False)
def _count(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    i = tid()
    k = row_begin(x_offsets, i)
    m = row_begin(y_offsets, i)
    k_end = row_end(x_offsets, x_columns, i)
    m_end = row_end(y_offsets, y_columns, i)
    count = int32(0)
    while k < k_end or m < m_end:
        x_column = _column_at(k, k_end, x_columns)
        y_column = _column_at(m, m_end, y_columns)
        if k < k_end and x_column <= y_column:
            k += 1
        if m < m_end and y_column <= x_column:
            m += 1
        count += 1
    counts[i + 1] = count


@kernel(enable_backward=False)
def _merge(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), offsets: array(dtype=int32), columns: array(dtype=int32),
    first: array(dtype=int32), second: array(dtype=int32),
):  # fmt: skip
    i = tid()
    k = row_begin(x_offsets, i)
    m = row_begin(y_offsets, i)
    k_end = row_end(x_offsets, x_columns, i)
    m_end = row_end(y_offsets, y_columns, i)
    slot = offsets[i]
    while k < k_end or m < m_end:
        x_column = _column_at(k, k_end, x_columns)
        y_column = _column_at(m, m_end, y_columns)
        columns[slot] = x_column
        first[slot] = -1
        second[slot] = -1
        if k < k_end and x_column <= y_column:
            first[slot] = k
            k += 1
        if m < m_end and y_column <= x_column:
            columns[slot] = y_column
            second[slot] = m
            m += 1
        slot += 1


def union_of(x: BsrMatrix, y: BsrMatrix) -> Union:
    """The union of the patterns of two matrices of one shape, by merging their rows."""
    device, rows = x.device, int(x.nrow)
    patterns = [x.offsets, x.columns, y.offsets, y.columns]
    counts = zeros(rows + 1, int32, device)
    launch(_count, rows, [*patterns, counts], device=device, record_tape=False)
    offsets = starts_of(counts)
    nnz = total_of(offsets, int(x.nnz) + int(y.nnz))
    columns, first, second = (zeros(nnz, int32, device) for _ in range(3))
    for a in (first, second):
        a.fill_(-1)  # a graph has more room than blocks
    launch(_merge, rows, [*patterns, offsets, columns, first, second], device=device, record_tape=False)
    return Union(offsets, columns, first, second)

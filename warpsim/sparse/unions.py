"""Unions of patterns: the places that one of two matrices has, or both, and where the blocks of each stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.language import array, full, func, int32, kernel, min, tid, where, zeros
from .lists import write_lists
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
def _merge(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), starts: array(dtype=int32), columns: array(dtype=int32), first: array(dtype=int32),
    second: array(dtype=int32), counts: array(dtype=int32),
):  # fmt: skip
    """Write the union of every row from `starts` on, as far as there is room, and how many blocks it has."""
    i = tid()
    k = row_begin(x_offsets, i)
    m = row_begin(y_offsets, i)
    k_end = row_end(x_offsets, x_columns, i)
    m_end = row_end(y_offsets, y_columns, i)
    slot = starts[i]
    while k < k_end or m < m_end:
        x_column = _column_at(k, k_end, x_columns)
        y_column = _column_at(m, m_end, y_columns)
        in_first = k < k_end and x_column <= y_column
        in_second = m < m_end and y_column <= x_column
        if slot < columns.shape[0]:
            columns[slot] = min(x_column, y_column)
            first[slot] = where(in_first, k, -1)
            second[slot] = where(in_second, m, -1)
        k += int32(in_first)
        m += int32(in_second)
        slot += 1
    counts[i + 1] = slot - starts[i]


def union_of(x: BsrMatrix, y: BsrMatrix) -> Union:
    """The union of the patterns of two matrices of one shape, by merging their rows."""
    patterns = [x.offsets, x.columns, y.offsets, y.columns]

    def make(nnz: int) -> list[array]:
        return [zeros(nnz, int32, x.device), *(full(nnz, -1, int32, x.device) for _ in range(2))]

    offsets, arrays = write_lists(_merge, int(x.nrow), patterns, int(x.nnz) + int(y.nnz), make)
    return Union(offsets, *arrays)

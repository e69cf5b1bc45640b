"""Places in a sparse matrix, for kernels: `bsr_row_index`, `bsr_block_index`, and where rows begin and end."""

from __future__ import annotations

from ..core.language import Array, func, int32, max, min


@func
def row_begin(offsets: Array[int32, 1], i: int32) -> int32:
    """Where a row of a matrix begins; no block stands before the first."""
    return max(offsets[i], int32(0))


@func
def row_end(offsets: Array[int32, 1], columns: Array[int32, 1], i: int32) -> int32:
    """Where a row of a matrix ends; no block stands behind the last."""
    return min(offsets[i + 1], columns.shape[0])


@func
def bsr_row_index(offsets: Array[int32, 1], row_count: int32, block_index: int32) -> int32:
    """The row of a block, by bisection; -1 for a number that no block has."""
    if block_index < 0 or row_count <= 0 or block_index >= offsets[row_count]:
        return int32(-1)
    low = int32(0)
    high = row_count
    while high - low > 1:  # offsets[low] <= block_index < offsets[high]
        middle = (low + high) // 2
        if offsets[middle] <= block_index:
            low = middle
        else:
            high = middle
    return low


@func
def bsr_block_index(row: int32, col: int32, bsr_offsets: Array[int32, 1], bsr_columns: Array[int32, 1]) -> int32:
    """Where the block of a place stands, by bisection of its row; -1 where the matrix has none there."""
    if row < 0 or row >= bsr_offsets.shape[0] - 1:
        return int32(-1)
    low = row_begin(bsr_offsets, row)
    end = row_end(bsr_offsets, bsr_columns, row)
    high = end
    while low < high:
        middle = (low + high) // 2
        if bsr_columns[middle] < col:
            low = middle + 1
        else:
            high = middle
    if low < end and bsr_columns[low] == col:
        return low
    return int32(-1)

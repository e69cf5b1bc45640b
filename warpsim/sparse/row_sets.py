"""Sets of columns, one for each row of a product of matrices: how its pattern is found.

Columns go into a hash table that a row has to itself (Nagasaka et al. 2018, Parallel Computing 90), with linear
probing; what is in it is then brought together and sorted. Tables have a power of two of places, at least as many as a
row has products, or as there are columns where these are fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.language import array, empty, func, int32, kernel, launch, min, tid, uint32, zeros
from .lists import sort_range, starts_of, total_of
from .queries import row_begin, row_end

if TYPE_CHECKING:
    from .matrix import BsrMatrix


@func
def _table_size(count: int32) -> int32:
    """The least power of two that is no less, 0 for 0."""
    if count <= 0:
        return int32(0)
    size = int32(1)
    while size < count:
        size *= 2
    return size


@func
def _add_to_set(column: int32, table: array(dtype=int32), begin: int32, size: int32):
    """Put a column into a table, where it is not yet."""
    at = int32((uint32(column) * uint32(2654435769)) >> uint32(8)) & (size - 1)  # the golden ratio of 2^32
    while table[begin + at] >= 0 and table[begin + at] != column:
        at = (at + 1) & (size - 1)
    table[begin + at] = column


@kernel(enable_backward=False)
def _size_tables(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), ncol: int32, counts: array(dtype=int32),
):  # fmt: skip
    i = tid()
    count = int32(0)
    for k in range(row_begin(x_offsets, i), row_end(x_offsets, x_columns, i)):
        j = x_columns[k]
        if j >= 0 and j < y_offsets.shape[0] - 1:
            for _ in range(row_begin(y_offsets, j), row_end(y_offsets, y_columns, j)):
                count += 1
    counts[i + 1] = _table_size(min(count, ncol))


@kernel(enable_backward=False)
def _collect(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), ncol: int32, starts: array(dtype=int32), table: array(dtype=int32),
    counts: array(dtype=int32),
):  # fmt: skip
    i = tid()
    begin = starts[i]
    size = starts[i + 1] - begin
    for at in range(begin, begin + size):
        table[at] = -1
    for k in range(row_begin(x_offsets, i), row_end(x_offsets, x_columns, i)):
        j = x_columns[k]
        if j >= 0 and j < y_offsets.shape[0] - 1:
            for m in range(row_begin(y_offsets, j), row_end(y_offsets, y_columns, j)):
                if y_columns[m] >= 0 and y_columns[m] < ncol:
                    _add_to_set(y_columns[m], table, begin, size)
    count = int32(0)
    for at in range(begin, begin + size):
        if table[at] >= 0:
            table[begin + count] = table[at]
            count += 1
    sort_range(table, begin, count)
    counts[i + 1] = count


@kernel(enable_backward=False)
def _copy_sets(
    starts: array(dtype=int32), table: array(dtype=int32), offsets: array(dtype=int32), columns: array(dtype=int32)
):
    i = tid()
    for k in range(offsets[i + 1] - offsets[i]):
        columns[offsets[i] + k] = table[starts[i] + k]


def product_pattern(x: BsrMatrix, y: BsrMatrix) -> tuple[array, array]:
    """Offsets and columns of the product of two matrices. While a graph is captured it cannot be found."""
    device, rows = x.device, int(x.nrow)
    inputs = [x.offsets, x.columns, y.offsets, y.columns, int(y.ncol)]
    sizes, counts = (zeros(rows + 1, int32, device) for _ in range(2))
    launch(_size_tables, rows, [*inputs, sizes], device=device, record_tape=False)
    starts = starts_of(sizes)
    table = empty(total_of(starts, 0), int32, device)
    launch(_collect, rows, [*inputs, starts, table, counts], device=device, record_tape=False)
    offsets = starts_of(counts)
    columns = empty(total_of(offsets, 0), int32, device)
    launch(_copy_sets, rows, [starts, table, offsets, columns], device=device, record_tape=False)
    return offsets, columns

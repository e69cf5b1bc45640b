"""`BsrMatrix`: a sparse matrix of blocks in compressed rows, as kernels and the functions of `wp.sparse` take it.

To kernels a matrix is a struct of its numbers and arrays: `bsr_matrix_t(wp.mat33)` annotates a parameter. Functions
that change the pattern of a matrix give it new arrays of offsets and columns and never write into the old ones, so
that a tape or an operator finds what it was made of.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..core.language import array, array_type, empty, get_device, int32, int64, kernel, launch, tid, zeros
from ..core.runtime.arrays.fixed import read_only
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.devices.device_memory import on_host
from ..core.types import compounds
from ..core.types.arrays import type_name
from ..core.types.structs import Layout, Struct, StructType, set_field
from ..errors import ArrayError, instance
from . import expression
from .blocks import block_shape, checked_block_type
from .lists import column_of, lists_of_places, source_of
from .queries import row_begin, row_end

BSR_STATUS_SUCCESS, BSR_STATUS_ROW_CAPACITY_EXCEEDED = 0, 1


class TransposedIndex:
    """Entries by column. starts: (ncol + 1,), where those of each column start; rows: (n,), the row of each; order:
    (n,), where its block stands."""

    def __init__(self, starts: array, rows: array, order: array):
        self.starts, self.rows, self.order = starts, rows, order


class BsrMatrix(Struct, expression.Operators):
    """A sparse matrix of nrow x ncol blocks in compressed rows, made by `bsr_zeros`, `bsr_from_triplets` and their kin.

    offsets: (nrow + 1,) int32; row i has the blocks from offsets[i] up to offsets[i + 1]. columns: int32, rising along
    each row; values: the blocks. Both have room for nnz blocks at least; values may have a gradient. nnz: how many
    blocks there are or, where that was found while a graph was captured, at most.

    Whoever writes offsets or columns keeps to that, and calls `notify_nnz_changed`. What lies outside of the matrix or
    its arrays is then left out of products.
    """

    nrow: int
    ncol: int
    nnz: int
    offsets: array
    columns: array
    values: array
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # ----- what it is -----------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The type of the blocks."""
        return type(self).fields["values"].dtype

    @property
    def scalar_type(self) -> Any:
        """The type of the numbers in the blocks."""
        return compounds.scalar_of(self.dtype)

    @property
    def block_shape(self) -> tuple[int, int]:
        """Rows and columns of a block; (1, 1) for numbers."""
        return block_shape(self.dtype)

    @property
    def block_size(self) -> int:
        """How many numbers a block has."""
        return compounds.size_of(self.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, in numbers."""
        rows, columns = self.block_shape
        return int(self.nrow) * rows, int(self.ncol) * columns

    @property
    def device(self) -> Any:
        """Where its arrays are."""
        return self.offsets.device

    @property
    def requires_grad(self) -> bool:
        """Whether the blocks have a gradient; may be set."""
        return bool(self.values.requires_grad)

    @property
    def row_counts(self) -> None:
        """None: rows have no room for more blocks than they hold."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "row_counts":
            if value is not None:
                raise ArrayError("row_counts of a BsrMatrix\nexpected: None; rows with room for more are not here yet")
        elif name == "requires_grad":
            self.values.requires_grad = bool(value)
        else:
            super().__setattr__(name, value)
            if name in ("nrow", "ncol", "offsets", "columns"):
                vars(self).pop("_transposed", None)

    def __repr__(self) -> str:
        blocks = f"{int(self.nrow)} x {int(self.ncol)} blocks of {type_name(self.dtype)}"
        return f"BsrMatrix({blocks}, nnz={int(self.nnz)}, device={self.device})"

    # ----- number of blocks -----------------------------------------------------------------------

    def nnz_sync(self) -> int:
        """Set nnz to the number of blocks in offsets, and return it; raises `ArrayError` where they tell of none."""
        if self.offsets.size != int(self.nrow) + 1:
            raise ArrayError(f"{self.offsets.size} offsets of {int(self.nrow)} rows\nexpected: one more than rows")
        count = int(on_host(self.offsets._data[int(self.nrow)]))
        room = min(self.columns.size, self.values.size)
        if not 0 <= count <= room:
            raise ArrayError(f"offsets end at {count}\nexpected: 0 to {room}, for which columns and values have room")
        self.nnz = count
        return count

    def copy_nnz_async(self) -> None:
        """Taken for programs written for Warp: `nnz_sync` reads the number of blocks."""

    def notify_nnz_changed(self, nnz: int | None = None) -> None:
        """Tell that offsets or columns were written to. nnz: the number of blocks, read from offsets by default."""
        vars(self).pop("_transposed", None)
        if nnz is not None:
            self.nnz = nnz
        elif current_graph() is None:
            self.nnz_sync()

    def status_sync(self) -> int:
        """`BSR_STATUS_SUCCESS`: rows have the room that they need, and no operation leaves blocks out."""
        return BSR_STATUS_SUCCESS

    # ----- indices --------------------------------------------------------------------------------

    def uncompress_rows(self, out: array | None = None) -> array:
        """The row of every block, (nnz,) int32; -1 where `out` has room for more."""
        rows = empty(int(self.nnz), int32, self.device) if out is None else out
        with Paused():
            rows.fill_(-1)
        launch(_uncompress, int(self.nrow), [self.offsets, rows], device=self.device, record_tape=False)
        return rows

    @property
    def transposed_index(self) -> TransposedIndex:
        """Its entries by column; found once for a pattern."""
        if current_graph() is not None:
            return _transpose(self)  # holds nothing before the graph runs
        known = self._known_index
        if not known:
            index = _transpose(self)
            for a in (index.starts, index.rows, index.order):
                read_only(a)  # kernels take them for indices
            known.append(index)
        return known[0]

    @property
    def _known_index(self) -> list[TransposedIndex]:
        """The index, once it was asked for; one list for all matrices of one pattern."""
        known: list[TransposedIndex] = vars(self).setdefault("_transposed", [])
        return known

    def snapshot(self) -> BsrMatrix:
        """Another matrix of the same arrays, which keeps the pattern that this one has now."""
        same = matrix_of((int(self.nrow), int(self.ncol)), self.offsets, self.columns[: int(self.nnz)], self.values)
        vars(same)["_transposed"] = self._known_index
        return same

    def terms(self) -> expression.Expression:
        """This matrix as an expression; raises `ArrayError` where its arrays do not go together."""
        room = min(self.columns.size, self.values.size)
        if self.offsets.size != int(self.nrow) + 1 or not 0 <= int(self.nnz) <= room or room < self.columns.size:
            sizes = self.offsets.size, self.columns.size, self.values.size
            raise ArrayError(
                f"offsets, columns and values of a {self!r} have {sizes} elements\n"
                f"expected: {int(self.nrow) + 1} offsets, at least nnz columns, and at least as many values"
            )
        return expression.Expression(self)


def bsr_matrix_t(dtype: Any) -> type[BsrMatrix]:
    """The type of sparse matrices whose blocks have a type, to annotate parameters of kernels and functions.

    dtype: a scalar type, or a matrix type like `wp.mat33`. Raises `ArgumentTypeError` for another one.
    """
    t = checked_block_type(dtype)
    if t not in _types:
        fields = {"nrow": int32, "ncol": int32, "nnz": int32, "offsets": array_type(int32, 1)}
        fields |= {"columns": array_type(int32, 1), "values": array_type(t, 1)}
        body = {"__module__": __name__, "__doc__": BsrMatrix.__doc__, "__struct__": Layout(fields, {})}
        _types[t] = StructType(f"BsrMatrix_{type_name(t)}", (BsrMatrix,), body)
    return _types[t]


_types: dict[Any, Any] = {}


def matrix_of(shape: tuple[int, int], offsets: array, columns: array, values: array) -> BsrMatrix:
    """A matrix of (nrow, ncol) blocks, made of these arrays. Its nnz is what columns have room for."""
    matrix = bsr_matrix_t(values.dtype)()
    fill(matrix, shape, offsets, columns, values)
    return matrix


def fill(matrix: BsrMatrix, shape: tuple[int, int], offsets: array, columns: array, values: array) -> None:
    """Give a matrix another pattern, and blocks."""
    fields = {"nrow": shape[0], "ncol": shape[1], "nnz": columns.size}
    for name, value in (fields | {"offsets": offsets, "columns": columns, "values": values}).items():
        set_field(matrix, name, value)
    vars(matrix).pop("_transposed", None)


def empty_matrix(shape: tuple[int, int], dtype: Any, device: Any) -> BsrMatrix:
    """A matrix of (nrow, ncol) blocks without any; raises as `checked_extents` does."""
    rows, columns = checked_extents(*shape)
    t, place = checked_block_type(dtype), get_device(device)
    return matrix_of((rows, columns), zeros(rows + 1, int32, place), empty(0, int32, place), empty(0, t, place))


def checked_extents(rows: Any, columns: Any) -> tuple[int, int]:
    """Numbers of rows and columns of blocks; raises `ArgumentTypeError` or `ArrayError` for what are none."""
    for name, extent in (("rows_of_blocks", rows), ("cols_of_blocks", columns)):
        if not 0 <= instance(extent, Integral, name) < 2**31:
            raise ArrayError(f"{name} is {extent}\nexpected: 0 to {2**31 - 1}")
    return int(rows), int(columns)


# ----- indices ------------------------------------------------------------------------------------


@kernel(enable_backward=False)
def _uncompress(offsets: array(dtype=int32), rows: array(dtype=int32)):
    i = tid()
    for k in range(row_begin(offsets, i), row_end(offsets, rows, i)):
        rows[k] = i


@kernel(enable_backward=False)
def _split(entries: array(dtype=int64), rows: array(dtype=int32), order: array(dtype=int32)):
    k = tid()
    rows[k] = column_of(entries[k])
    order[k] = source_of(entries[k])


def _transpose(matrix: BsrMatrix) -> TransposedIndex:
    lists = lists_of_places(int(matrix.ncol), matrix.columns[: int(matrix.nnz)], matrix.uncompress_rows())
    rows, order = (zeros(lists.entries.size, int32, matrix.device) for _ in range(2))
    launch(_split, rows.size, [lists.entries, rows, order], device=matrix.device, record_tape=False)
    return TransposedIndex(lists.offsets, rows, order)

"""Attributes of Omniverse's Fabric that are arrays: `fabricarrayarray`, one array of its own length for each prim.

Where the rows lie is read when the array is made. To kernels it is a struct with the array of them: `a[i]` is row i.
"""

from __future__ import annotations

import builtins
from typing import Any

from ..core.runtime.arrays.array import array
from ..core.runtime.arrays.in_pieces import (
    InPieces,
    array_of_pieces,
    selection_table,
    stretches,
    struct_of,
    type_of_piece,
)
from ..core.types.answers import per_type
from ..core.types.arrays import array_type
from ..core.types.scalars import int32, uint64
from ..core.types.structs import StructType
from .fabric import FabricKind, arrays_at, attribute_of


class FabricRows(InPieces):
    """Rows of one element type, each an array; `fabricarrayarray` makes them."""

    located = ()
    ndim = 2

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self._rows.size)

    @property
    def _rows(self) -> array:
        return self.pieces

    def list(self) -> builtins.list:
        """The rows, arrays over Fabric's memory."""
        return stretches(self.pieces)

    def __getitem__(self, indices: Any) -> Any:
        """The row at an index, or the rows at an array of indices."""
        return IndexedFabricRows.of(self, indices) if isinstance(indices, array) else self.list()[indices]


class IndexedFabricRows(FabricRows):
    """Rows at a list of indices."""

    indices: array

    @staticmethod
    def of(fa: FabricRows, indices: Any) -> FabricRows:
        """A selection of rows. Raises `ArrayError` for indices outside."""
        table = selection_table(fa, indices, FabricRows, "fabricarrayarray")
        return selected_rows_type(fa.dtype)(fa.pieces, table)  # type: ignore[return-value]

    @property
    def _rows(self) -> array:
        return self.indices

    def list(self) -> builtins.list:
        """The rows that are selected, arrays over Fabric's memory."""
        every = FabricRows.list(self)
        return [every[k] for k in self.indices.numpy()]


@per_type
def rows_type(dtype: Any) -> StructType:
    """The type of rows of an element type."""
    return struct_of(FabricRows, "fabricarrayarray", dtype, {"pieces": array_type(type_of_piece(dtype))})


@per_type
def selected_rows_type(dtype: Any) -> StructType:
    """The type of selections of rows."""
    fields = {"pieces": array_type(type_of_piece(dtype)), "indices": array_type(int32)}
    return struct_of(IndexedFabricRows, "indexedfabricarrayarray", dtype, fields)


def rows_of_interface(data: Any, attrib: str, requires_grad: bool | None = None) -> FabricRows:
    """The rows of an attribute in a Fabric interface. Raises `ArrayError` for an attribute that has none.

    requires_grad: whether they have gradients, as for `fabricarray`.
    """
    about, element, device = attribute_of(data, attrib, 1)
    words, make, rows = arrays_at(uint64, device, data), arrays_at(element, device, data), []
    for starts, lengths, count in zip(about["pointers"], about["array_lengths"], about["counts"], strict=True):
        tables = [words(int(at), int(count)).numpy().tolist() for at in (starts, lengths)]
        rows += [type_of_piece(element)(make(*row)) for row in zip(*tables, strict=True)]
    whole = rows_type(element)(array_of_pieces(rows, element, device))
    if requires_grad is not None:
        whole.requires_grad = requires_grad
    return whole  # type: ignore[return-value]


fabricarrayarray = FabricKind("fabricarrayarray", FabricRows, rows_type, rows_of_interface)
indexedfabricarrayarray = FabricKind(
    "indexedfabricarrayarray", IndexedFabricRows, selected_rows_type, IndexedFabricRows.of
)

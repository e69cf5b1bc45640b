"""Attributes of Omniverse's Fabric that are arrays: `fabricarrayarray`, one array of its own length for each prim.

Where the rows lie is read when the array is made. To kernels it is a struct with the array of them: `a[i]` is row i.
"""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any

import numpy as np

from ....errors import ArrayError
from ...types.arrays import array_type
from ...types.scalars import int32, uint64
from ...types.structs import Struct, StructType
from ..devices.device import Device
from .array import array
from .fabric import FabricKind, array_at, attribute_of, piece_type, struct_of
from .indexed import indexedarray


class FabricRows(Struct):
    """Rows of one element type, each an array; `fabricarrayarray` makes them. pieces: structs that hold the rows."""

    located = ()
    element: Any
    pieces: array
    ndim = 2

    @property
    def dtype(self) -> Any:
        """The type of the elements of the rows."""
        return type(self).element

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return self.pieces.device

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self._rows.size)

    @property
    def _rows(self) -> array:
        return self.pieces

    def list(self) -> builtins.list:
        """The rows, arrays over Fabric's memory."""
        return [piece.elements for piece in self.pieces.list()]

    def __getitem__(self, indices: Any) -> Any:
        """The row at an index, or the rows at an array of indices."""
        return IndexedFabricRows.of(self, indices) if isinstance(indices, array) else self.list()[indices]

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.size}]"


class IndexedFabricRows(FabricRows):
    """Rows at a list of indices."""

    indices: array

    @staticmethod
    def of(fa: FabricRows, indices: Any) -> FabricRows:
        """A selection of rows. Raises `ArrayError` for indices outside."""
        if not isinstance(fa, FabricRows) or not isinstance(indices, array):
            raise ArrayError(f"{fa!r} at {indices!r}\nexpected: a fabricarrayarray, and an array of int32")
        table = indexedarray(array(np.arange(fa.size), dtype=int32, device=fa.device), indices).indices[0]
        if isinstance(fa, IndexedFabricRows):
            table = indexedarray(fa.indices, table).contiguous()
        return selected_rows_type(fa.dtype)(fa.pieces, table)  # type: ignore[return-value]

    @property
    def _rows(self) -> array:
        return self.indices

    def list(self) -> builtins.list:
        """The rows that are selected, arrays over Fabric's memory."""
        every = FabricRows.list(self)
        return [every[k] for k in self.indices.numpy()]


@cache
def rows_type(dtype: Any) -> StructType:
    """The type of rows of an element type."""
    return struct_of(FabricRows, "fabricarrayarray", dtype, {"pieces": array_type(piece_type(dtype))})


@cache
def selected_rows_type(dtype: Any) -> StructType:
    """The type of selections of rows."""
    fields = {"pieces": array_type(piece_type(dtype)), "indices": array_type(int32)}
    return struct_of(IndexedFabricRows, "indexedfabricarrayarray", dtype, fields)


def rows_of_interface(data: Any, attrib: str) -> FabricRows:
    """The rows of an attribute in a Fabric interface. Raises `ArrayError` for an attribute that has none."""
    about, element, device = attribute_of(data, attrib, 1)
    piece, pieces = piece_type(element), []
    for starts, lengths, count in zip(about["pointers"], about["array_lengths"], about["counts"], strict=True):
        tables = [array_at(int(at), int(count), uint64, device, data).numpy().tolist() for at in (starts, lengths)]
        pieces += [piece(array_at(ptr, n, element, device, data)) for ptr, n in zip(*tables, strict=True)]
    return rows_type(element)(array(pieces, dtype=piece, shape=(len(pieces),), device=device))  # type: ignore[return-value]


fabricarrayarray = FabricKind("fabricarrayarray", FabricRows, rows_type, rows_of_interface)
indexedfabricarrayarray = FabricKind(
    "indexedfabricarrayarray", IndexedFabricRows, selected_rows_type, IndexedFabricRows.of
)

"""Common base of arrays in pieces: the structs that hold the pieces, selections of them, and their gradients.

Kernels reach gradients through the descriptors of the pieces, so all arrays and selections of the same pieces have
the same gradient. Pieces in memory of an array that has a gradient share that. Others get one of their own when it is
asked for, or when a tape records them: they come from outside, where nobody says whether they matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ....errors import ArrayError
from ...types.answers import per_type
from ...types.arrays import array_type, type_name
from ...types.cotangents import has_cotangent
from ...types.scalars import int32
from ...types.structs import Layout, Struct, StructType, members
from ..devices.device import Device
from .array import array
from .indexed import indexedarray


class InPieces(Struct):
    """Elements or rows in pieces that lie apart. pieces: structs that hold them."""

    located: tuple[Any, ...]
    """How kernels find an element, each function of `starts` and an index: from the front, then its piece."""
    element: Any
    pieces: array
    size: int

    def __setattr__(self, name: str, value: object) -> None:
        """Fields are checked; all else is the host's own, like what a program hangs on an array to keep it alive."""
        setter = super().__setattr__ if name in type(self).fields else partial(object.__setattr__, self)
        setter(name, value)

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return type(self).element

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return self.pieces.device

    @property
    def requires_grad(self) -> bool:
        """Whether the pieces have gradients. Setting it counts for all arrays and selections of these pieces."""
        parts = stretches(self.pieces)
        return bool(parts) and all(a.requires_grad for a in parts)

    @requires_grad.setter
    def requires_grad(self, required: bool) -> None:
        require_gradients(self.pieces, stretches(self.pieces), required)

    @property
    def grad(self) -> Any:
        """The gradients in pieces, and selected, as the elements are; or None."""
        if not self.requires_grad:
            return None
        fields = {name: getattr(self, name) for name in type(self).fields}
        gradients = [type_of_piece(self.dtype)(a.grad) for a in stretches(self.pieces)]
        return type(self)(**{**fields, "pieces": array_of_pieces(gradients, self.dtype, self.device)})

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{len(self)}]"


@per_type
def type_of_piece(dtype: type) -> StructType:
    """The struct that holds one piece of an array."""
    layout = Layout({"elements": array_type(dtype)}, {})
    return StructType(f"Piece[{type_name(dtype)}]", (Piece,), {"__struct__": layout})


class Piece(Struct):
    """A struct with one array, `elements`."""


def array_of_pieces(pieces: list[Any], dtype: type, device: Device) -> array:
    """Structs with the pieces of an array, as kernels take them."""
    return array(pieces, dtype=type_of_piece(dtype), shape=(len(pieces),), device=device)


def stretches(pieces: array) -> list[array]:
    """The arrays that pieces hold, in order."""
    return [piece.elements for piece in pieces.list()]


def struct_of(base: type, name: str, dtype: type, fields: dict[str, Any]) -> StructType:
    """A struct type of a class, for an element type."""
    body = {"__struct__": Layout(fields, {}), "element": dtype}
    return StructType(f"{name}[{type_name(dtype)}]", (base,), body)


def selection_table(fa: object, indices: object, base: type[InPieces], name: str) -> array:
    """The table of a selection, of an array or of a selection of one. Raises `ArrayError` for indices outside."""
    if not isinstance(fa, base) or not isinstance(indices, array):
        raise ArrayError(f"{fa!r} at {indices!r}\nexpected: a {name}, and an array of int32")
    table = indexedarray(array(np.arange(len(fa)), dtype=int32, device=fa.device), indices).indices[0]
    assert table is not None
    before = getattr(fa, "indices", None)
    return table if before is None else indexedarray(before, table).contiguous()


# ----- gradients --------------------------------------------------------------------------------


def require_gradients(pieces: array, chosen: Iterable[array], required: bool) -> None:
    """Give the arrays of some pieces gradients, or take them; kernels see it at the next launch."""
    held = pieces._held
    assert held is not None
    every = stretches(pieces)
    owners: dict[bytes, Any] = {}
    for a in chosen:
        a.requires_grad = required
    held.clear()
    held.grads.clear()
    records = [type_of_piece(pieces.dtype.fields["elements"].dtype)(a) for a in every]
    if records:
        pieces._store(pieces._data, pieces._source_of(records, owners), owners)


def give_gradients(values: Iterable[Any]) -> None:
    """Give gradients to the pieces among arguments of a launch about which nobody said anything."""
    for value in values:
        for _, a in members(value):
            held = getattr(a, "_held", None)
            if held is None:
                continue
            if not issubclass(a.dtype, Piece):
                give_gradients(held.arrays())
            elif has_cotangent(a.dtype.fields["elements"].dtype):
                undecided = [b for b in held.arrays() if b._gradient is None and not b._cut]
                if undecided:
                    require_gradients(a, undecided, True)

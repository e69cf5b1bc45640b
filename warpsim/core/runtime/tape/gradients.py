"""Gradients of arrays and of structs with arrays, and all those of a tape by array."""

from __future__ import annotations

from typing import Any

from ...types import structs
from ...types.arrays import ArrayType
from ..arrays.array import array
from ..arrays.in_pieces import InPieces
from ..arrays.indexed import indexedarray


class Gradients(dict[Any, Any]):
    """The gradient arrays by array; of an array that only views of were recorded, its own; of a struct, a struct."""

    def __getitem__(self, key: Any) -> Any:
        return gradients_of(key) if isinstance(key, structs.Struct) else super().__getitem__(key)

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, array) and key.grad is not None and any(a._memory is key._memory for a in self):
            return key.grad
        raise KeyError(f"{key!r} has no gradient on this tape\nhelp: make it with requires_grad=True, before launches")


def gradients_of(a: object) -> Any:
    """The gradient of an array, a struct with the gradients of its arrays, or None."""
    if not isinstance(a, structs.Struct) or isinstance(a, InPieces):
        return a.grad if isinstance(a, array | indexedarray | InPieces) else None
    gradients = type(a)()
    for name, t in type(a).fields.items():
        if isinstance(t, ArrayType) or structs.is_struct(t):
            gradient = gradients_of(getattr(a, name))
            if gradient is not None:
                structs.set_field(gradients, name, gradient)
    return gradients

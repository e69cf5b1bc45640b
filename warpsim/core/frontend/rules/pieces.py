"""Arrays in pieces in kernels: `fa[i]` is an element of the piece that holds it, to be read or written."""

from __future__ import annotations

from typing import Any

from ....errors import KernelAttributeError
from ...ir.nodes import Value
from ...ops import construct, memory
from ...ops.registry import TABLE
from ...types.arrays import type_name
from ..translate.scope import typed_value
from ..translate.translator import Translator
from .array_slices import Shape


def place_in_pieces(tr: Translator, base: Value, index: Value) -> tuple[Value, list[Any]]:
    """The array that holds `base[index]`, and the index there; of rows it is `base[index]`."""
    if "indices" in base.type.fields:
        index = tr.emit(memory.load, tr.emit(construct.field, base, name="indices"), index)
    pieces = tr.emit(construct.field, base, name="pieces")
    if not base.type.located:
        return tr.emit(construct.field, tr.emit(memory.load, pieces, index), name="elements"), []
    counted, piece_at = base.type.located
    starts = tr.emit(construct.field, base, name="starts")
    at = counted.call(tr, [starts, index], {})
    which = piece_at.call(tr, [starts, at], {})
    elements = tr.emit(construct.field, tr.emit(memory.load, pieces, which), name="elements")
    return elements, [tr.emit(TABLE["sub"], at, tr.emit(memory.load, starts, which))]


def pieces_attribute(tr: Translator, base: Value, name: str) -> Any:
    """What kernels may ask of an array in pieces, as of other arrays."""
    if name == "dtype":
        return base.type.element
    if name == "ndim":
        return 1
    if name not in ("shape", "size"):
        message = f"{type_name(base.type)!r} object has no attribute {name!r}"
        raise KernelAttributeError(message, expected="shape, size, ndim, dtype")
    count = _count(tr, base)
    return Shape([count]) if name == "shape" else count


def _count(tr: Translator, base: Value) -> Value:
    line = next(name for name in ("indices", "starts", "pieces") if name in base.type.fields)
    if line != "starts":
        return tr.emit(memory.shape, tr.emit(construct.field, base, name=line), axis=0)
    starts = tr.emit(construct.field, base, name="starts")
    last = tr.emit(TABLE["sub"], tr.emit(memory.shape, starts, axis=0), typed_value(1))
    return tr.emit(memory.load, starts, last)

"""Elements of tiles that lanes write or add to, each where it has a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import KernelTypeError, counted
from ...ir.nodes import Value
from ...ops.registry import TABLE
from ...types.arrays import type_name
from ...types.scalars import bool_
from ..rules.array_slices import Axis, from_start
from ..rules.tile_elements import read_element, tile_operand, tile_shape, tile_type, write_element
from ..translate.branches import either
from ..translate.conversions import convert
from ..translate.scope import typed_value
from ..translate.translator import Translator
from .arguments import integer, static_flag
from .builtin import tile_builtin


@tile_builtin
def tile_scatter_masked(tr: Translator, a: Any, *args: Any, **keywords: Any) -> None:
    """Write a value to an element of a tile, where the lane has one: `tile_scatter_masked(a, i, j, value, has_value)`.

    There is an index for each dimension of the tile. Raises `KernelTypeError` for a value of another type.
    """
    scatter(tr, a, args, keywords, lambda old, value: value)


@tile_builtin
def tile_scatter_add(tr: Translator, a: Any, *args: Any, **keywords: Any) -> None:
    """Add a value to an element of a tile, where the lane has one: `tile_scatter_add(a, i, j, value, has_value)`.

    There is an index for each dimension of the tile. `atomic`, the last argument, is True unless it is given; it has no
    effect on a block of one lane.
    """
    rank = len(tile_shape(tile_operand("what tile_scatter_add adds to", a)))
    static_flag("atomic", args[rank + 2] if len(args) == rank + 3 else keywords.pop("atomic", True))
    scatter(tr, a, args[: rank + 2], keywords, lambda old, value: tr.emit(TABLE["add"], old, value))


def scatter(tr: Translator, a: Any, args: Any, keywords: dict[str, Any], op: Callable[[Value, Value], Value]) -> None:
    tile = tile_operand("what lanes write to", a)
    shape, t = tile_shape(tile), tile_type(tile).dtype
    *indices, value, has_value = scattered(len(shape), args, keywords)
    element = convert(typed_value(value, t), t, f"the value for a tile of {type_name(t)}")
    axes = [Axis(typed_value(0), typed_value(1), typed_value(n)) for n in shape]

    def work() -> None:
        at = [from_start(tr, axis, integer(tr, i)) for axis, i in zip(axes, indices, strict=True)]
        write_element(tr, tile, at, op(read_element(tr, tile, at), element))

    either(tr, convert(has_value, bool_, "has_value"), work, lambda: None)


def scattered(rank: int, args: Any, keywords: dict[str, Any]) -> list[Any]:
    """An index for each dimension, the value, and whether there is one."""
    names = [*"ijkl"[:rank], "value", "has_value"]
    named = [keywords[n] for n in names[len(args) :] if n in keywords]
    if len(args) + len(named) != len(names) or len(keywords) != len(named):
        expected = f"{counted(rank, 'index')}, value and has_value"
        raise KernelTypeError(f"{counted(len(args) + len(keywords), 'argument')} beside the tile", expected=expected)
    return [*args, *named]

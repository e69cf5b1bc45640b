"""Arithmetic of tiles: functions of elements, sums and other reductions, conversions, single elements."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ....errors import KernelTypeError, counted
from ...ir.builder import constant
from ...ir.nodes import Value
from ...ops.registry import TABLE
from ...types.scalars import int32
from ..rules.array_slices import ArraySlice
from ..rules.calls import call_value
from ..rules.constructors import call_type
from ..rules.operators import binary
from ..rules.parts import element_of_slice, index_into
from ..rules.tile_elements import (
    Tile,
    combined,
    filled,
    folded,
    indices_of,
    new_tile,
    read_element,
    tile_operand,
    tile_shape,
    write_element,
)
from ..translate.scope import describe
from ..translate.translator import Translator
from .arguments import element_type, static_axis
from .builtin import tile_builtin


@tile_builtin
def tile_map(tr: Translator, op: Any, a: Any, *args: Any) -> Value:
    """A tile of `op` of each element: a function of the language, an operation or a lambda.

    What stands beside the tile are tiles of its shape, whose elements go along, or values, which go to all elements.
    Raises `KernelTypeError` for other shapes, and for a function that returns no value or several.
    """
    tile_operand("what tile_map maps", a)

    def element(*parts: Any) -> Any:
        value = call_value(tr, op, list(parts))
        if isinstance(value, tuple) or value is None:
            raise KernelTypeError(f"{describe(op)} returns {describe(value)}", expected="one value for an element")
        return value

    return combined(tr, element, a, *args)


@tile_builtin
def tile_astype(tr: Translator, t: Any, dtype: Any) -> Value:
    """A new tile of the elements of another as values of the type `dtype`."""
    to = element_type(dtype)
    return combined(tr, lambda x: call_type(tr, to, [x], {}), tile_operand("what tile_astype converts", t))


# ----- reductions -----------------------------------------------------------------------------


@tile_builtin
def tile_reduce(tr: Translator, op: Any, a: Any, axis: Any = None) -> Value:
    """The elements of a tile combined by `op`, a function of two, in the order of memory: a tile of one element.

    `axis`: along that one alone, into a tile without it.
    """
    return reduced(tr, partial(_call_two, tr, op), tile_operand("what tile_reduce reduces", a), axis)


def _call_two(tr: Translator, op: Any, x: Any, y: Any) -> Any:
    return call_value(tr, op, [x, y])


def reduced(tr: Translator, op: Callable[..., Any], tile: Tile, axis: Any) -> Value:
    shape = tile_shape(tile)
    if axis is None:
        total = folded(tr, op, shape, lambda at: read_element(tr, tile, at))
        return filled(tr, (1,), lambda at: total)
    along = static_axis(axis, len(shape))

    def line(at: list[Value]) -> Any:
        rest = at if len(shape) > 1 else []
        return folded(
            tr, op, shape[along : along + 1], lambda k: read_element(tr, tile, [*rest[:along], *k, *rest[along:]])
        )

    return filled(tr, (*shape[:along], *shape[along + 1 :]) or (1,), line)


@tile_builtin
def tile_sum(tr: Translator, a: Any, axis: Any = None) -> Value:
    """The sum of all elements of a tile, as a tile of one; with `axis` sums along that, as a tile without it."""
    return reduced(tr, partial(binary, tr, ast.Add), tile_operand("what tile_sum adds", a), axis)


@tile_builtin
def tile_min(tr: Translator, a: Any) -> Value:
    """The smallest element of a tile, of vectors by component, as a tile of one element."""
    return reduced(tr, partial(tr.emit, TABLE["min"]), tile_operand("what tile_min compares", a), None)


@tile_builtin
def tile_max(tr: Translator, a: Any) -> Value:
    """The largest element of a tile, of vectors by component, as a tile of one element."""
    return reduced(tr, partial(tr.emit, TABLE["max"]), tile_operand("what tile_max compares", a), None)


@tile_builtin
def tile_argmin(tr: Translator, a: Any) -> Value:
    """The position of the smallest element in the order of memory, the first of equal ones, as a tile of one int32."""
    return position_of(tr, "lt", tile_operand("what tile_argmin compares", a))


@tile_builtin
def tile_argmax(tr: Translator, a: Any) -> Value:
    """The position of the largest element in the order of memory, the first of equal ones, as a tile of one int32."""
    return position_of(tr, "gt", tile_operand("what tile_argmax compares", a))


def position_of(tr: Translator, relation: str, tile: Tile) -> Value:
    """The position of the first element that stands in a relation to all others."""
    shape = tile_shape(tile)

    def better(best: Value, k: Value) -> Value:
        one, other = (read_element(tr, tile, indices_of(tr, at, shape)) for at in (k, best))
        return tr.emit(TABLE["where"], tr.emit(TABLE[relation], one, other), k, best)

    total = folded(tr, better, (math.prod(shape),), lambda at: at[0])
    out = new_tile(tr, (1,), int32)
    write_element(tr, out, [constant(int32, 0)], total)
    return out


# ----- elements -------------------------------------------------------------------------------


@tile_builtin
def tile_extract(tr: Translator, a: Any, *indices: Any) -> Any:
    """An element of a tile, the same for all lanes; further indices select a component of a vector or a matrix."""
    tile = tile_operand("what tile_extract reads", a)
    rank = len(tile_shape(tile))
    if len(indices) < rank:
        raise KernelTypeError(f"{counted(len(indices), 'index')} for a tile of {counted(rank, 'dimension')}")
    at = list(indices)
    return element_of_slice(tr, tile, at) if isinstance(tile, ArraySlice) else index_into(tr, tile, at)

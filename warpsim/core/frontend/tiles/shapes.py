"""Shapes of tiles: views under other indices, which share the elements of the tile, and blocks copied into a tile."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from ....errors import KernelTypeError, counted
from ...ir.builder import constant
from ...ir.nodes import Constant, Value
from ...ops.registry import TABLE
from ...types.arrays import type_name
from ...types.scalars import int32
from ..rules.array_slices import ArraySlice, Axis, from_start, sliced_array
from ..rules.calls import makes
from ..rules.tile_elements import (
    Tile,
    TileView,
    copied,
    each,
    flat_index,
    indices_of,
    read_element,
    tile_operand,
    tile_shape,
    tile_type,
    view_of,
    write_element,
)
from ..rules.tile_indices import gathered
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .arguments import integer, offsets, static_axis, static_number, static_shape
from .builtin import tile_builtin


@tile_builtin
def tile_transpose(tr: Translator, a: Any) -> TileView:
    """The transpose of a tile of two dimensions: a view, what is written to it is written to the tile."""
    tile = tile_operand("what tile_transpose transposes", a)
    shape = tile_shape(tile)
    if len(shape) != 2:
        raise KernelTypeError(f"the transpose of a tile of shape {shape}", expected="a tile of two dimensions")
    return view_of(tr, tile, (shape[1], shape[0]), lambda at: [at[1], at[0]])


@tile_builtin
def tile_view(tr: Translator, t: Any, offset: Any, shape: Any = None) -> ArraySlice:
    """A part of a tile: a view, what is written to it is written to the tile.

    With a constant `shape`, the block of these extents that begins at `offset`. Without, `offset` has indices, for
    which the view has no dimension, and constant slices: row i of a matrix is `tile_view(t, offset=(i,))`. Raises
    `KernelTypeError` for a shape of another rank, and a constant offset outside of the tile.
    """
    tile = tile_operand("what tile_view views", t)
    extents = tile_shape(tile)
    if shape is None:
        parts = offset if isinstance(offset, tuple) else (offset,)
        if all(not isinstance(p, slice) for p in parts) and len(parts) >= len(extents):
            shown = f"{counted(len(parts), 'index')} for a tile of {counted(len(extents), 'dimension')}"
            raise KernelTypeError(shown, expected="fewer indices than dimensions, slices, or a shape")
        return sliced_array(tr, tile, [part_index(tr, p, n) for p, n in zip(parts, extents, strict=False)])
    inner = static_shape(shape)
    if len(inner) != len(extents):
        raise KernelTypeError(
            f"a view of shape {inner} of a tile of shape {extents}", expected="a shape of the same rank"
        )
    start = [inside(tr, o, n, m) for o, n, m in zip(offsets(tr, offset, len(inner)), extents, inner, strict=True)]
    return view_of(tr, tile, inner, lambda at: shifted(tr, start, at))


def part_index(tr: Translator, part: object, extent: int) -> Any:
    """An index, or a slice as syntax, along an axis of a tile."""
    if not isinstance(part, slice):
        return inside(tr, part, extent, 1)
    bounds = [
        None if n is None else ast.copy_location(ast.Constant(n), tr.node) for n in (part.start, part.stop, part.step)
    ]
    return ast.Slice(*bounds)


def inside(tr: Translator, offset: object, extent: int, size: int) -> Value:
    """An offset along an axis, counted from its start; a constant must leave room for `size` elements."""
    number = static_number(offset)
    if isinstance(number, int):
        from_zero = number + extent if number < 0 else number
        if not 0 <= from_zero <= extent - size:
            raise KernelTypeError(
                f"{counted(size, 'element')} from {number} of an axis of {extent}", expected="a part inside"
            )
        return constant(int32, from_zero)
    return from_start(tr, Axis(typed_value(0), typed_value(1), typed_value(extent)), integer(tr, offset))


def shifted(tr: Translator, start: Sequence[Value], at: Sequence[Value]) -> list[Value]:
    is_zero = [isinstance(o, Constant) and int(o.value) == 0 for o in start]
    return [i if zero else tr.emit(TABLE["add"], o, i) for o, i, zero in zip(start, at, is_zero, strict=True)]


@tile_builtin
def tile_reshape(tr: Translator, t: Any, shape: Any) -> TileView:
    """The elements of a tile in the order of memory under another shape: a view. One extent may be -1.

    Raises `KernelTypeError` for a shape of another number of elements.
    """
    tile = tile_operand("what tile_reshape reshapes", t)
    before = tile_shape(tile)
    after = full_shape(shape, math.prod(before))
    if math.prod(after) != math.prod(before):
        raise KernelTypeError(f"shape {after} for a tile of shape {before}", expected=f"{math.prod(before)} elements")
    return reshaped(tr, tile, after)


def reshaped(tr: Translator, tile: Tile, after: tuple[int, ...]) -> TileView:
    """The elements of a tile in the order of memory under another shape of as many."""
    before = tile_shape(tile)
    return view_of(tr, tile, after, lambda at: indices_of(tr, flat_index(tr, at, after), before))


def full_shape(shape: Any, count: int) -> tuple[int, ...]:
    """A shape whose extent -1 is what is left of the elements."""
    parts = [static_number(n) for n in (shape if isinstance(shape, tuple) else (shape,))]
    if parts.count(-1) == 1:
        known = math.prod(n for n in parts if isinstance(n, int) and n > 0)
        parts[parts.index(-1)] = count // max(known, 1)
    return static_shape(tuple(parts))


@tile_builtin
def tile_squeeze(tr: Translator, t: Any, axis: Any = None) -> TileView:
    """A view of a tile without its axes of one element, or without those of them that `axis` names."""
    tile = tile_operand("what tile_squeeze squeezes", t)
    shape = tile_shape(tile)
    if axis is None:
        gone = {k for k, n in enumerate(shape) if n == 1}
    else:
        gone = {static_axis(k, len(shape)) for k in (axis if isinstance(axis, tuple) else (axis,))}
    if any(shape[k] != 1 for k in gone):
        raise KernelTypeError(f"axes {sorted(gone)} of a tile of shape {shape}", expected="axes of one element")
    if len(gone) == len(shape):
        gone -= {0}  # a tile has a dimension
    zero = constant(int32, 0)

    def locate(at: list[Value]) -> list[Value]:
        rest = iter(at)
        return [zero if k in gone else next(rest) for k in range(len(shape))]

    return view_of(tr, tile, tuple(n for k, n in enumerate(shape) if k not in gone), locate)


@tile_builtin
def tile_broadcast(tr: Translator, a: Any, shape: Any) -> TileView:
    """A tile repeated to a larger shape by the rule of NumPy: a view, each element stands at several indices."""
    tile = tile_operand("what tile_broadcast repeats", a)
    before, after = tile_shape(tile), static_shape(shape)
    new = len(after) - len(before)
    if new < 0 or any(n not in (1, m) for n, m in zip(before, after[new:], strict=True)):
        raise KernelTypeError(f"a tile of shape {before} does not broadcast to {after}", expected="equal extents, or 1")
    zero = constant(int32, 0)

    def locate(at: list[Value]) -> list[Value]:
        return [zero if n == 1 else i for n, i in zip(before, at[new:], strict=True)]

    return view_of(tr, tile, after, locate)


@tile_builtin
def tile_assign(tr: Translator, dst: Any, src: Any, offset: Any = None) -> None:
    """Write a tile into the block of another that begins at `offset`, which must lie inside of it."""
    target, source = tile_operand("what tile_assign writes to", dst), tile_operand("what tile_assign writes", src)
    outer, inner = tile_shape(target), tile_shape(source)
    if tile_type(target).dtype is not tile_type(source).dtype:
        shown = f"{type_name(tile_type(source).dtype)} into {type_name(tile_type(target).dtype)}"
        raise KernelTypeError(f"a tile of {shown}", help="wp.tile_astype")
    if len(outer) != len(inner):
        raise KernelTypeError(
            f"a tile of shape {inner} for a tile of shape {outer}", expected="a tile of the same rank"
        )
    start = [inside(tr, o, n, m) for o, n, m in zip(offsets(tr, offset, len(inner)), outer, inner, strict=True)]
    whole = copied(tr, source)  # both may be of the same memory
    each(tr, inner, lambda at: write_element(tr, target, shifted(tr, start, at), read_element(tr, whole, at)))


@tile_builtin
def tile_slice_indexed(tr: Translator, t: Any, indices: Any) -> Value:
    """A new tile of elements of another: `indices` has a tile of numbers for one axis and `slice(None)` for others.

    Negative numbers count from the end. Raises `KernelTypeError` unless there is one tile of integers.
    """
    tile_operand("what tile_slice_indexed reads", t)
    return gathered(tr, t, list(indices if isinstance(indices, tuple) else (indices,)))


@makes(slice)
def slice_object(tr: Translator, args: list[Any], keywords: dict[str, Any]) -> slice:
    """`slice(...)` of constants, an index of `tile_view` and `tile_slice_indexed`."""
    bounds = list(map(static_number, args))
    if keywords or not 1 <= len(bounds) <= 3 or not all(n is None or type(n) is int for n in bounds):
        raise KernelTypeError(f"slice({', '.join(map(describe, args))})", expected="one to three integer constants")
    return slice(*bounds)

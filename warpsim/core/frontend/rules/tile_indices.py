"""Elements of a tile by their numbers: `t[numbers, :]`, where another tile holds the numbers."""

from __future__ import annotations

import ast
from typing import Any

from ....errors import KernelTypeError
from ...ir.nodes import Value
from ...types.arrays import type_name
from ...types.scalars import int32, is_integer
from ..translate.conversions import converted_scalar
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .array_slices import Axis, from_start
from .tile_elements import each, is_tile, new_tile, read_element, tile_operand, tile_shape, tile_type, write_element


def gathered(tr: Translator, base: object, indices: list[Any]) -> Value:
    """A new tile of the elements of a tile whose numbers along one axis another tile holds.

    All other indices are full slices; negative numbers count from the end. Raises `KernelTypeError` otherwise.
    """
    tile = tile_operand("what is indexed by a tile", base)
    shape, axes = tile_shape(tile), [k for k, index in enumerate(indices) if not is_full_slice(index)]
    if len(axes) != 1 or len(indices) > len(shape) or not is_tile(indices[axes[0]]):
        shown = ", ".join(":" if is_full_slice(index) else describe(index) for index in indices)
        raise KernelTypeError(f"indices ({shown})", expected="a tile of numbers for one axis, a full slice for others")
    [axis] = axes
    numbers = tile_operand("an index", indices[axis])
    count = tile_shape(numbers)
    if len(count) != 1 or not is_integer(tile_type(numbers).dtype):
        found_type = type_name(tile_type(numbers))
        raise KernelTypeError(f"an index is {found_type}", expected="a tile of one dimension of integers")
    extents = (*shape[:axis], count[0], *shape[axis + 1 :])
    out = new_tile(tr, extents, tile_type(tile).dtype)
    whole_axis = Axis(typed_value(0), typed_value(1), typed_value(shape[axis]))

    def write(at: list[Value]) -> None:
        number = converted_scalar(tr, read_element(tr, numbers, [at[axis]]), int32)
        place = from_start(tr, whole_axis, number)
        write_element(tr, out, at, read_element(tr, tile, [*at[:axis], place, *at[axis + 1 :]]))

    each(tr, extents, write)
    return out


def is_full_slice(index: object) -> bool:
    """Whether an index takes all of an axis, in syntax or as an object."""
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return isinstance(index, slice) and index == slice(None)

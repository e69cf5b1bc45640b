"""Sorted tiles: keys in ascending order, and values that go along with them."""

from __future__ import annotations

import math
from typing import Any

from ...errors import KernelTypeError
from ..frontend.rules.tile_elements import Tile, copied, tile_operand, tile_shape, tile_type
from ..frontend.tiles.builtin import tile_builtin
from ..frontend.tiles.shapes import reshaped
from ..frontend.translate.translator import Translator
from ..types import scalars
from ..language import func, int32, min


@func
def merge_sort(keys: Any, values: Any, sorted_keys: Any, sorted_values: Any):
    """Merge sort, bottom up, through tiles of the same length (Knuth 1998, volume 3, 5.2.4). Equal keys keep their
    order."""
    n = int32(keys.shape[0])
    width = int32(1)
    while width < n:
        start = int32(0)
        while start < n:
            merge_runs(
                keys, values, sorted_keys, sorted_values, start, min(start + width, n), min(start + 2 * width, n)
            )
            start += 2 * width
        for k in range(n):
            keys[k] = sorted_keys[k]
            values[k] = sorted_values[k]
        width *= 2


@func
def merge_runs(keys: Any, values: Any, sorted_keys: Any, sorted_values: Any, start: int32, middle: int32, end: int32):
    """Two runs next to each other, merged into the other tiles."""
    left, right = start, middle
    for k in range(start, end):
        takes_right = left >= middle
        if not takes_right and right < end:
            takes_right = keys[right] < keys[left]
        if takes_right:
            sorted_keys[k] = keys[right]
            sorted_values[k] = values[right]
            right += 1
        else:
            sorted_keys[k] = keys[left]
            sorted_values[k] = values[left]
            left += 1


@tile_builtin
def tile_sort(tr: Translator, keys: Any, values: Any) -> None:
    """Sort a tile of numbers in place, ascending, and a tile of the same shape along with it; equal keys keep their
    order. Tiles of several dimensions are sorted in the order of memory. Raises `KernelTypeError` for other shapes."""
    first, second = tile_operand("what tile_sort sorts", keys), tile_operand("what goes along", values)
    if not scalars.is_number(tile_type(first).dtype):
        raise KernelTypeError(f"keys are {tile_type(first)!r}", expected="a tile of numbers")
    if tile_shape(first) != tile_shape(second):
        raise KernelTypeError(f"keys of shape {tile_shape(first)} and values of shape {tile_shape(second)}")
    merge_sort.call(tr, [line(tr, t) for t in (first, second, copied(tr, first), copied(tr, second))], {})


def line(tr: Translator, tile: Tile) -> Tile:
    """All elements of a tile along one dimension."""
    shape = tile_shape(tile)
    return tile if len(shape) == 1 else reshaped(tr, tile, (math.prod(shape),))

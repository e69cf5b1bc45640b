"""Elements of tiles: views of tiles, loops over all of their elements, new tiles made of old ones.

A tile is a local array of static shape, or a view of one: the same elements under other indices. A view is no value of
the program: it keeps the array and how an index of the view becomes one of the array, so that whatever is known of
elements of local arrays holds for it, gradients too.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import KernelTypeError
from ...ir.builder import constant
from ...ir.nodes import Constant, Region, Value
from ...ops import memory
from ...types.arrays import ArrayType, array_type, type_name
from ...types.scalars import int32
from ..translate.conversions import convert
from ..translate.fresh_arrays import is_local, note_array
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .array_slices import ArraySlice, Axis, along, from_start, part_of

Index = Value | int
Bounds = tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class TileView(ArraySlice):
    """A view of a tile: its extents, and what turns an index of each axis into those of the array."""

    extents: tuple[int, ...]
    locate: Callable[[list[Value]], list[Value]]

    @property
    def axes(self) -> list[Axis]:
        return [Axis(typed_value(0), typed_value(1), typed_value(n)) for n in self.extents]

    def located(self, tr: Translator, indices: list[Value]) -> list[Value]:
        return self.locate(indices)

    def part(self, tr: Translator, indices: list[Any]) -> TileView:
        of_axes = zip(self.axes, [*indices, *[ast.Slice()] * len(self.axes)], strict=False)
        taken = [part_of(tr, a, i) if isinstance(i, ast.Slice) else from_start(tr, a, i) for a, i in of_axes]
        lengths = [axis.length for axis in taken if isinstance(axis, Axis)]
        if not all(isinstance(n, Constant) and int(n.value) > 0 for n in lengths):
            cure = "wp.tile_view(t, offset=..., shape=...) takes an offset known at run time"
            raise KernelTypeError("a slice of a tile is empty or has no constant bounds", help=cure)

        def locate(at: list[Value]) -> list[Value]:
            rest = iter(at)
            return [along(tr, p, next(rest)) if isinstance(p, Axis) else p for p in taken]

        return view_of(tr, self, tuple(int(n.value) for n in lengths if isinstance(n, Constant)), locate)


Tile = Value | ArraySlice
"""What a tile is: a local array, a view of a tile, or a slice of a local array whose extents are known."""


def is_tile(operand: object) -> bool:
    if isinstance(operand, ArraySlice):
        return operand.view_type.local_shape is not None
    return is_local(operand)


def tile_type(tile: Tile) -> ArrayType:
    """The type of a tile: that of a local array of its elements and shape."""
    return tile.view_type if isinstance(tile, ArraySlice) else tile.type


def tile_shape(tile: Tile) -> tuple[int, ...]:
    shape = tile_type(tile).local_shape
    assert shape is not None
    return shape


def view_of(
    tr: Translator, tile: Tile, extents: tuple[int, ...], locate: Callable[[list[Value]], list[Value]]
) -> TileView:
    """A view of a tile, or of a view of one; `locate` turns its indices into those of the tile."""
    array_type(tile_type(tile).dtype, len(extents))  # refuses too many dimensions
    if isinstance(tile, ArraySlice):
        return TileView(tile.array, (), extents, lambda indices: tile.located(tr, locate(indices)))
    return TileView(tile, (), extents, locate)


def tile_operand(what: str, operand: object) -> Tile:
    """The operand, which must be a tile."""
    if is_tile(operand):
        assert isinstance(operand, Value | ArraySlice)
        return operand
    cure = "load it: wp.tile_load(a, shape=..., offset=...)" if _is_array(operand) else ""
    raise KernelTypeError(f"{what} is {describe(operand)}", expected="a tile", help=cure)


def _is_array(operand: object) -> bool:
    return isinstance(operand, ArraySlice) or (isinstance(operand, Value) and isinstance(operand.type, ArrayType))


# ----- elements -------------------------------------------------------------------------------


def new_tile(tr: Translator, shape: tuple[int, ...], dtype: Any) -> Value:
    """A tile of zeros."""
    tile: Value = tr.emit(memory.local_array, shape=shape, dtype=dtype)
    note_array(tr, tile)
    return tile


def read_element(tr: Translator, tile: Tile, indices: list[Value]) -> Value:
    """An element; no index is negative."""
    if isinstance(tile, ArraySlice):
        return tr.emit(memory.load, tile.array, *tile.located(tr, indices))
    return tr.emit(memory.load, tile, *indices)


def write_element(tr: Translator, tile: Tile, indices: list[Value], value: object) -> None:
    element = convert(value, tile_type(tile).dtype, "an element of the tile")
    if isinstance(tile, ArraySlice):
        tr.emit(memory.store, tile.array, *tile.located(tr, indices), element)
    else:
        tr.emit(memory.store, tile, *indices, element)


# ----- loops ----------------------------------------------------------------------------------


def each(tr: Translator, shape: Sequence[int | Bounds], body: Callable[[list[Value]], None]) -> None:
    """Loops over all indices below some extents, or between bounds; `body` translates what is done at the indices."""

    def level(at: list[Value]) -> None:
        if len(at) == len(shape):
            body(at)
            return
        extent = shape[len(at)]
        start, stop = extent if isinstance(extent, tuple) else (0, extent)
        if start == 0 and stop == 1 and isinstance(stop, int):
            level([*at, constant(int32, 0)])
            return
        index = Value(int32, "ijkl"[len(at)])
        region = Region((index,))
        with tr.builder.inside(region):
            level([*at, index])
        tr.builder.loop(_bound(start), _bound(stop), constant(int32, 1), (), region)

    level([])


def _bound(n: Index) -> Value:
    return n if isinstance(n, Value) else constant(int32, n)


def combined(tr: Translator, op: Callable[..., Any], *operands: object) -> Value:
    """A new tile of `op` of the elements of tiles of one shape; what is no tile goes to every element."""
    shape = common_shape([o for o in operands if is_tile(o)])
    return filled(tr, shape, lambda at: op(*(_part(tr, o, at) for o in operands)))


def filled(tr: Translator, shape: tuple[int, ...], element: Callable[[list[Value]], Any]) -> Value:
    """A new tile of what `element` gives at each index; its type follows from that."""
    outer, out = tr.builder.region, None

    def write(at: list[Value]) -> None:
        nonlocal out
        value = typed_value(element(at))
        if isinstance(value.type, ArrayType):
            elements = "a scalar, vector, matrix or struct"
            raise KernelTypeError(f"an element of a tile is {type_name(value.type)}", expected=elements)
        if out is None:
            with tr.builder.inside(outer):
                out = new_tile(tr, shape, value.type)
        write_element(tr, out, at, value)

    each(tr, shape, write)
    assert out is not None
    return out


def _part(tr: Translator, operand: Any, at: list[Value]) -> Any:
    return read_element(tr, operand, at) if is_tile(operand) else operand


def common_shape(tiles: Sequence[Any]) -> tuple[int, ...]:
    """The one shape of some tiles."""
    shapes = [tile_shape(t) for t in tiles]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            cure = "give both one shape: wp.tile_broadcast, wp.tile_reshape"
            raise KernelTypeError(f"tiles of shapes {shapes[0]} and {shape}", expected="tiles of one shape", help=cure)
    return shapes[0]


def copied(tr: Translator, tile: Tile) -> Value:
    """A new tile with the elements of another."""
    out = new_tile(tr, tile_shape(tile), tile_type(tile).dtype)
    copy_elements(tr, tile, out)
    return out


def copy_elements(tr: Translator, source: Tile, target: Tile) -> None:
    each(tr, tile_shape(target), lambda at: write_element(tr, target, at, read_element(tr, source, at)))


def update_tile(tr: Translator, op: Callable[..., Any], tile: Tile, operand: object) -> None:
    """`tile op= operand`, in place. An operand under other indices is copied first: it may be of the same memory."""
    if is_tile(operand):
        common_shape([tile, operand])
        if isinstance(tile, ArraySlice) or isinstance(operand, ArraySlice):
            operand = copied(tr, operand)  # type: ignore[arg-type]

    def write(at: list[Value]) -> None:
        write_element(tr, tile, at, op(read_element(tr, tile, at), _part(tr, operand, at)))

    each(tr, tile_shape(tile), write)


def assign_tile(tr: Translator, tile: Tile, operand: object) -> None:
    """Write a tile of the same shape, or one value, to all elements of a tile."""
    update_tile(tr, lambda _, value: value, tile, operand)


# ----- sums and their kin ---------------------------------------------------------------------


def folded(
    tr: Translator, op: Callable[..., Any], shape: tuple[int, ...], element: Callable[[list[Value]], Any]
) -> Any:
    """All elements below some extents combined by `op`, a function of two, in the order of memory."""
    first = typed_value(element([constant(int32, 0)] * len(shape)))
    return _fold_rest(tr, op, shape, element, first)


def _fold_rest(tr: Translator, op: Any, shape: tuple[int, ...], element: Callable[..., Any], total: Value) -> Value:
    """The total with all elements but the very first."""
    if not shape:
        return total
    zero = constant(int32, 0)
    total = _fold_rest(tr, op, shape[1:], lambda at: element([zero, *at]), total)
    return _fold_along(tr, op, 1, shape, element, total)


def _fold_along(
    tr: Translator, op: Any, start: int, shape: tuple[int, ...], element: Callable[..., Any], total: Value
) -> Value:
    """The total with the elements whose first index is at least `start`."""
    if not shape:
        return step_of(tr, op, total, element([]))
    if start >= shape[0]:
        return total
    index, before = Value(int32, "k"), Value(total.type)
    region = Region((index, before))
    with tr.builder.inside(region):
        inner = lambda at: element([index, *at])  # noqa: E731 - of the index of this loop
        region.yields = (_fold_along(tr, op, 0, shape[1:], inner, before),)
    [total] = tr.builder.loop(constant(int32, start), constant(int32, shape[0]), constant(int32, 1), (total,), region)
    return total


def step_of(tr: Translator, op: Callable[..., Any], total: Value, element: object) -> Value:
    value = typed_value(op(total, element), total.type)
    if value.type is not total.type:
        raise KernelTypeError(
            f"the operation makes {type_name(value.type)} of elements {type_name(total.type)}",
            expected=f"a function of two {type_name(total.type)} that returns one",
        )
    return value


# ----- indices --------------------------------------------------------------------------------


def flat_index(tr: Translator, at: list[Value], shape: tuple[int, ...]) -> Value:
    """The position of an element in the order of memory, last index fastest."""
    position: Value = constant(int32, 0)
    with tr.builder.active():
        for index, extent in zip(at, shape, strict=True):
            position = index if _is_zero(position) else position * constant(int32, extent) + index
    return position


def indices_of(tr: Translator, position: Value, shape: tuple[int, ...]) -> list[Value]:
    """The indices of the element at a position in the order of memory."""
    at: list[Value] = []
    with tr.builder.active():
        for k in range(len(shape)):
            below = math.prod(shape[k + 1 :])
            index = position // constant(int32, below) if below > 1 else position
            at.append(index % constant(int32, shape[k]) if k else index)
    return at


def _is_zero(index: Value) -> bool:
    return isinstance(index, Constant) and int(index.value) == 0

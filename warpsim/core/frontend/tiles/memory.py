"""Tiles and memory: new tiles, blocks of arrays loaded, stored and added to.

A block of one lane holds a tile on its stack. Where bounds are checked, the loops run over the part of the tile that
lies inside the array, so that what is outside reads as zero and is not written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import KernelTypeError, counted
from ...ir.builder import constant
from ...ir.nodes import Constant, Value
from ...ops import debug, memory
from ...ops.registry import TABLE
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.scalars import int32
from ..rules.array_slices import ArraySlice
from ..rules.tile_elements import (
    Tile,
    each,
    filled,
    is_tile,
    new_tile,
    read_element,
    tile_operand,
    tile_shape,
    tile_type,
    write_element,
)
from ..translate.branches import choose, either
from ..translate.conversions import convert, converted_scalar
from ..translate.scope import describe, fitting, is_number, placeholder, typed_value
from ..translate.translator import Translator
from .arguments import (
    check_storage,
    element_type,
    integer,
    offsets,
    static_axis,
    static_flag,
    static_number,
    static_shape,
)
from .builtin import tile_builtin

# ----- new tiles ------------------------------------------------------------------------------


@tile_builtin
def tile_zeros(tr: Translator, shape: Any, dtype: Any = float, storage: Any = "register") -> Value:
    """A tile of zeros.

    `shape` is an integer or up to four, constants of the kernel; dtype a scalar, vector, matrix or struct type;
    `storage`, "register" or "shared", makes no difference to a block of one lane. Raises `KernelTypeError` for others.
    """
    check_storage(storage)
    return new_tile(tr, static_shape(shape), element_type(dtype))


@tile_builtin
def tile_empty(tr: Translator, shape: Any, dtype: Any = float, storage: Any = "register") -> Value:
    """A tile for others to fill; it holds zeros. Arguments as those of `tile_zeros`."""
    check_storage(storage)
    return new_tile(tr, static_shape(shape), element_type(dtype))


@tile_builtin
def tile_ones(tr: Translator, shape: Any, dtype: Any = float, storage: Any = "register") -> Value:
    """A tile of ones, of vectors and matrices in every component. Arguments as those of `tile_zeros`."""
    check_storage(storage)
    t = element_type(dtype)
    if structs.is_struct(t):
        raise KernelTypeError(f"ones of struct {t.__name__}", expected="a scalar, vector or matrix type")
    one = t(1) if scalars.is_scalar(t) else t.wrap(np.ones(t.shape, t.dtype))
    return filled(tr, static_shape(shape), lambda at: Constant(t, one))


@tile_builtin
def tile_full(tr: Translator, shape: Any, value: Any, dtype: Any = None, storage: Any = "register") -> Value:
    """A tile of one value, which is converted to dtype, or keeps its own type. Arguments as those of `tile_zeros`."""
    check_storage(storage)
    element = as_element(tr, value, None if dtype is None else element_type(dtype))
    return filled(tr, static_shape(shape), lambda at: element)


def as_element(tr: Translator, value: Any, t: Any) -> Value:
    """A value as one of type `t`: numbers are converted."""
    if t is None:
        return typed_value(value)
    is_scalar = is_number(value) or (isinstance(value, Value) and scalars.is_scalar(value.type))
    if scalars.is_scalar(t) and is_scalar:
        return typed_value(converted_scalar(tr, value, t))
    return convert(value, t, "the value of the tile")


@tile_builtin
def tile_arange(tr: Translator, *args: Any, dtype: Any = None, storage: Any = "register") -> Value:
    """A tile of evenly spaced numbers: `tile_arange(stop)`, `(start, stop)` or `(start, stop, step)`, all constants.

    dtype: a type of numbers, float32 unless it is given, in which the numbers are counted. Raises `KernelTypeError`
    for a range without numbers, and one of fractions in a type of integers.
    """
    check_storage(storage)
    shown = f"tile_arange({', '.join(map(describe, args))})"
    numbers = [static_number(a) for a in args]
    t = scalars.float32 if dtype is None else element_type(dtype)
    if not 1 <= len(numbers) <= 3 or not all(map(is_number, numbers)) or not scalars.is_number(t):
        expected = "a stop, a start and a stop, or these and a step: constants, and a dtype of numbers"
        raise KernelTypeError(shown, expected=expected)
    if any(n != n or abs(n) == math.inf for n in numbers):
        raise KernelTypeError(shown, expected="finite numbers")
    if scalars.is_integer(t) and any(n != int(n) for n in numbers):
        raise KernelTypeError(f"{shown} of {type_name(t)}", expected="whole numbers")
    start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    count = count_between(*(fitting(n, t).item() for n in (start, stop, step)))
    if count < 1:
        raise KernelTypeError(f"{shown} is empty", expected="at least one number")
    first, width = as_element(tr, start, t), as_element(tr, step, t)

    def number(at: list[Value]) -> Value:
        along = converted_scalar(tr, at[0], t)
        return tr.emit(TABLE["add"], first, tr.emit(TABLE["mul"], along, width))

    return filled(tr, (count,), number)


def count_between(start: Any, stop: Any, step: Any) -> int:
    """How many numbers a range has; exact for integers, which floats may not hold."""
    if step == 0:
        return 0
    return -((start - stop) // step) if isinstance(step, int) else math.ceil((stop - start) / step)


@tile_builtin
def tile_from_thread(tr: Translator, shape: Any, value: Any, thread_idx: Any, storage: Any = "register") -> Value:
    """A tile of the value that one lane of the block holds; a block has one lane, so `thread_idx` is 0."""
    check_storage(storage)
    is_first = tr.emit(TABLE["eq"], integer(tr, thread_idx), constant(int32, 0))
    tr.emit(
        debug.assert_, is_first, message="a lane that a block of one lane lacks: launch with block_dim=1, thread_idx=0"
    )
    element = typed_value(value)
    return filled(tr, static_shape(shape), lambda at: element)


# ----- blocks of arrays -----------------------------------------------------------------------


@tile_builtin
def tile_load(
    tr: Translator, a: Any, shape: Any, offset: Any = None, storage: Any = "register", bounds_check: Any = True,
    aligned: Any = False,
) -> Value:  # fmt: skip
    """The block of an array that begins at `offset`, as a tile.

    `shape` has an extent for each dimension of the array; `offset` an index for each, zero unless it is given.
    bounds_check: what lies outside of the array reads as zero; without, nothing may. `aligned` has no effect.
    Raises `KernelTypeError` for shapes that are no constants or have another rank.
    """
    check_storage(storage)
    static_flag("aligned", aligned)
    extents = static_shape(shape)
    block = Block(tr, a, extents, offset)
    out = new_tile(tr, extents, block.dtype)
    each(tr, block.inside(bounds_check), lambda at: write_element(tr, out, at, block.load(at)))
    return out


@tile_builtin
def tile_store(
    tr: Translator, a: Any, t: Any, offset: Any = None, bounds_check: Any = True, aligned: Any = False
) -> None:
    """Write a tile to the block of an array that begins at `offset`. Arguments as those of `tile_load`.

    bounds_check: what lies outside of the array is dropped.
    """
    static_flag("aligned", aligned)
    tile = tile_operand("what tile_store writes", t)
    block = Block(tr, a, tile_shape(tile), offset)
    block.check_type(tile)
    each(tr, block.inside(bounds_check), lambda at: block.store(at, read_element(tr, tile, at)))


@tile_builtin
def tile_atomic_add(tr: Translator, a: Any, t: Any, offset: Any = None, bounds_check: Any = True) -> Value | None:
    """Add a tile to the block of an array that begins at `offset`; returns what was there before, zero outside."""
    tile = tile_operand("what tile_atomic_add adds", t)
    block = Block(tr, a, tile_shape(tile), offset)
    block.check_type(tile)
    return added(tr, block, tile, block.inside(bounds_check), lambda at, add: add())


def added(tr: Translator, block: Block, tile: Tile, bounds: list[Any], where: Callable[..., None]) -> Value | None:
    """Atomic sums of a tile into a block, and what was there before, if the program asks for it."""
    before = None if tr.node is tr.unused else new_tile(tr, tile_shape(tile), block.dtype)

    def add(at: list[Value]) -> None:
        old = block.add(at, read_element(tr, tile, at))
        if before is not None:
            write_element(tr, before, at, old)

    each(tr, bounds, lambda at: where(at, lambda: add(at)))
    return before


class Block:
    """A block of an array: where it begins, and its extents."""

    def __init__(self, tr: Translator, array: Any, extents: tuple[int, ...], offset: Any):
        is_array = isinstance(array, ArraySlice) or (isinstance(array, Value) and isinstance(array.type, ArrayType))
        if not is_array or is_tile(array):
            raise KernelTypeError(f"the array of a tile is {describe(array)}", expected="an array")
        self.tr, self.array, self.extents = tr, array, extents
        self.type: ArrayType = array.view_type if isinstance(array, ArraySlice) else array.type
        if len(extents) != self.type.ndim:
            here, there = counted(len(extents), "dimension"), counted(self.type.ndim, "dimension")
            expected = "an extent for each dimension of the array"
            raise KernelTypeError(f"a tile of {here} for an array of {there}", expected=expected)
        self.offset = offsets(tr, offset, len(extents))

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    def check_type(self, tile: Tile) -> None:
        if tile_type(tile).dtype is not self.dtype:
            shown = type_name(tile_type(tile).dtype)
            raise KernelTypeError(f"a tile of {shown} for an array of {type_name(self.dtype)}", help="wp.tile_astype")

    def extent(self, axis: int) -> Value:
        if isinstance(self.array, ArraySlice):
            return self.array.axes[axis].length
        return self.tr.emit(memory.shape, self.array, axis=axis)

    def inside(self, check: Any) -> list[Any]:
        """For each axis the indices of the tile whose elements lie in the array, or all."""
        if not static_flag("bounds_check", check):
            return list(self.extents)
        return [self.bounds(axis) for axis in range(len(self.extents))]

    def bounds(self, axis: int) -> Any:
        tr, at, size = self.tr, self.offset[axis], constant(int32, self.extents[axis])
        rest = tr.emit(TABLE["sub"], self.extent(axis), at)
        start = 0 if _is_zero(at) else tr.emit(TABLE["max"], tr.emit(TABLE["neg"], at), constant(int32, 0))
        return start, tr.emit(TABLE["min"], rest, size)

    def is_within(self, axis: int, index: Value) -> Value:
        """Whether an index of the array lies in it."""
        low = self.tr.emit(TABLE["ge"], index, constant(int32, 0))
        return self.tr.emit(TABLE["bit_and"], low, self.tr.emit(TABLE["lt"], index, self.extent(axis)))

    def place(self, at: list[Value]) -> tuple[Value, list[Any]]:
        """The array, and the indices in it of an element of the tile."""
        where: list[Any] = [
            i if _is_zero(o) else self.tr.emit(TABLE["add"], o, i) for o, i in zip(self.offset, at, strict=True)
        ]
        if isinstance(self.array, ArraySlice):
            return self.array.array, self.array.element(self.tr, where)
        return self.array, where

    def load(self, at: list[Value]) -> Value:
        array, where = self.place(at)
        return self.tr.emit(memory.load, array, *where)

    def store(self, at: list[Value], value: Value) -> None:
        array, where = self.place(at)
        self.tr.emit(memory.store, array, *where, value)

    def add(self, at: list[Value], value: Value) -> Value:
        if not scalars.is_number(compounds.scalar_of(self.dtype)) or structs.is_struct(self.dtype):
            raise KernelTypeError(f"atomic sums of {type_name(self.dtype)}", expected="numbers, vectors or matrices")
        array, where = self.place(at)
        return self.tr.emit(memory.atomic_add, array, *where, value)


def _is_zero(index: Value) -> bool:
    return isinstance(index, Constant) and int(index.value) == 0


# ----- rows by number -------------------------------------------------------------------------


class Gathered(Block):
    """A block of an array, along one axis those elements whose numbers a tile holds: `offset + indices[k]`."""

    def __init__(self, tr: Translator, array: Any, indices: Any, extents: tuple[int, ...], offset: Any, axis: Any):
        super().__init__(tr, array, extents, offset)
        self.axis = static_axis(axis, len(extents))
        self.indices = tile_operand("indices", indices)
        shape, dtype = tile_shape(self.indices), tile_type(self.indices).dtype
        if len(shape) != 1 or dtype is not int32 or shape[0] != extents[self.axis]:
            shown = f"a tile of shape {shape} of {type_name(dtype)}"
            raise KernelTypeError(f"indices are {shown}", expected=f"int32, of shape ({extents[self.axis]},)")

    def bounds_beside(self) -> list[Any]:
        """The indices of the tile inside the array along the other axes, and all along that of the numbers."""
        rank = range(len(self.extents))
        return [self.extents[k] if k == self.axis else self.bounds(k) for k in rank]

    def place(self, at: list[Value]) -> tuple[Value, list[Any]]:
        number = read_element(self.tr, self.indices, [at[self.axis]])
        return super().place([number if k == self.axis else i for k, i in enumerate(at)])

    def is_there(self, at: list[Value]) -> Value:
        number = read_element(self.tr, self.indices, [at[self.axis]])
        return self.is_within(self.axis, self.tr.emit(TABLE["add"], self.offset[self.axis], number))

    def only_there(self, at: list[Value], work: Callable[[], Any]) -> None:
        """Do something where the number at an index is that of an element."""
        either(self.tr, self.is_there(at), work, lambda: None)


@tile_builtin
def tile_load_indexed(
    tr: Translator, a: Any, indices: Any, shape: Any, offset: Any = None, axis: Any = 0, storage: Any = "register"
) -> Value:
    """A tile of elements of an array: along `axis` those whose numbers the tile `indices` of int32 holds.

    An element outside of the array is zero. Along other axes as `tile_load`; `offset` is added to the numbers, too.
    """
    check_storage(storage)
    extents = static_shape(shape)
    block = Gathered(tr, a, indices, extents, offset, axis)
    out, nothing = new_tile(tr, extents, block.dtype), placeholder(block.dtype)

    def write(at: list[Value]) -> None:
        write_element(tr, out, at, choose(tr, block.is_there(at), lambda: block.load(at), lambda: nothing))

    each(tr, block.bounds_beside(), write)
    return out


@tile_builtin
def tile_store_indexed(tr: Translator, a: Any, indices: Any, t: Any, offset: Any = None, axis: Any = 0) -> None:
    """Write a tile to elements of an array that a tile of numbers names along `axis`, as `tile_load_indexed` reads."""
    tile = tile_operand("what tile_store_indexed writes", t)
    block = Gathered(tr, a, indices, tile_shape(tile), offset, axis)
    block.check_type(tile)

    def write(at: list[Value]) -> None:
        block.only_there(at, lambda: block.store(at, read_element(tr, tile, at)))

    each(tr, block.bounds_beside(), write)


@tile_builtin
def tile_atomic_add_indexed(
    tr: Translator, a: Any, indices: Any, t: Any, offset: Any = None, axis: Any = 0
) -> Value | None:
    """Add a tile to elements of an array that a tile of numbers names; returns what was there, zero outside."""
    tile = tile_operand("what tile_atomic_add_indexed adds", t)
    block = Gathered(tr, a, indices, tile_shape(tile), offset, axis)
    block.check_type(tile)
    return added(tr, block, tile, block.bounds_beside(), block.only_there)

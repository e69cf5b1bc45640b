"""Stacks of tiles: values that lanes push and pop, up to a constant number of them.

A stack is a pair of tiles: the values, and how many of them there are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ....errors import KernelTypeError
from ...ir.builder import constant
from ...ir.nodes import Value
from ...ops.registry import TABLE
from ...types.arrays import ArrayType, array_type, type_name
from ...types.scalars import bool_, int32
from ..rules.tile_elements import Tile, is_tile, new_tile, read_element, tile_shape, tile_type, write_element
from ..translate.branches import choose, either
from ..translate.conversions import convert
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .arguments import element_type, static_shape
from .builtin import tile_builtin

Stack = tuple[Tile, Tile]


def stack_type(capacity: int, dtype: Any) -> tuple[ArrayType, ArrayType]:
    """The type of a stack, for annotations."""
    extent = static_shape((capacity,))
    return array_type(element_type(dtype), 1, False, extent), array_type(int32, 1, False, (1,))


@partial(tile_builtin, on_host=stack_type)
def tile_stack(tr: Translator, capacity: Any, dtype: Any) -> Stack:
    """An empty stack of up to `capacity` values, a constant, of the type `dtype`; on the host the type of one."""
    return new_tile(tr, static_shape((capacity,)), element_type(dtype)), new_tile(tr, (1,), int32)


@tile_builtin
def tile_stack_push(tr: Translator, s: Any, value: Any, has_value: Any) -> Value:
    """Push a value where the lane has one; its slot, or -1 where there is no value or no room for it."""
    values, _ = stack(s)
    t = tile_type(values).dtype
    element = convert(typed_value(value, t), t, f"the value for a stack of {type_name(t)}")
    count, zero = size(tr, s), constant(int32, 0)
    has_room = tr.emit(TABLE["lt"], count, constant(int32, tile_shape(values)[0]))
    pushes = tr.emit(TABLE["bit_and"], convert(has_value, bool_, "has_value"), has_room)

    def push() -> None:
        write_element(tr, values, [count], element)
        write_element(tr, s[1], [zero], tr.emit(TABLE["add"], count, constant(int32, 1)))

    either(tr, pushes, push, lambda: None)
    return tr.emit(TABLE["where"], pushes, count, constant(int32, -1))


@tile_builtin
def tile_stack_pop(tr: Translator, s: Any) -> tuple[Value, Value]:
    """Take the value that was pushed last, and its slot: zero and -1 where there is none."""
    values, _ = stack(s)
    slot = tr.emit(TABLE["sub"], size(tr, s), constant(int32, 1))
    has_one = tr.emit(TABLE["ge"], slot, constant(int32, 0))
    place = tr.emit(TABLE["max"], slot, constant(int32, 0))
    write_element(tr, s[1], [constant(int32, 0)], place)
    empty = new_tile(tr, (1,), tile_type(values).dtype)
    nothing = read_element(tr, empty, [constant(int32, 0)])
    value = choose(tr, has_one, lambda: read_element(tr, values, [place]), lambda: nothing)
    return value, slot


@tile_builtin
def tile_stack_clear(tr: Translator, s: Any) -> None:
    """Take all values from a stack."""
    stack(s)
    write_element(tr, s[1], [constant(int32, 0)], constant(int32, 0))


@tile_builtin
def tile_stack_count(tr: Translator, s: Any) -> Value:
    """How many values a stack holds."""
    stack(s)
    return size(tr, s)


def size(tr: Translator, s: Stack) -> Value:
    return read_element(tr, s[1], [constant(int32, 0)])


def stack(operand: Any) -> Stack:
    """The operand, which must be a stack."""
    is_stack = isinstance(operand, tuple) and len(operand) == 2 and all(map(is_tile, operand))
    if not is_stack or tile_shape(operand[1]) != (1,) or tile_type(operand[1]).dtype is not int32:
        expected = "a stack, made by wp.tile_stack(capacity, dtype)"
        raise KernelTypeError(f"{describe(operand)} is not a stack", expected=expected)
    values, count = operand
    return values, count

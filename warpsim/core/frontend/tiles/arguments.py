"""Arguments of the built-ins of tiles: shapes, types, storage, offsets, axes, each checked where it is written."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....errors import KernelTypeError, counted
from ...ir.builder import constant
from ...ir.nodes import Constant, Value
from ...ops.registry import TABLE
from ...types import scalars, structs
from ...types.arrays import MAX_NDIM, ArrayType
from ...types.scalars import int32
from ..rules.constructors import constant_shape
from ..rules.parts import array_index
from ..translate.conversions import converted_scalar
from ..translate.scope import describe
from ..translate.translator import Translator

STORAGES = ("register", "shared")


def static_shape(shape: object) -> tuple[int, ...]:
    """The shape of a tile: one to four extents known when the kernel is compiled."""
    parts = shape if isinstance(shape, tuple) else (shape,)
    extents = constant_shape(tuple(map(static_number, parts)), "tile")
    if not 1 <= len(extents) <= MAX_NDIM:
        raise KernelTypeError(f"the shape of a tile is {extents}", expected=f"1 to {MAX_NDIM} extents")
    return extents


def static_number(operand: object) -> Any:
    """A constant as Python's number; anything else as it is."""
    operand = operand.value if isinstance(operand, Constant) else operand
    return int(operand) if isinstance(operand, np.integer) else operand


def static_axis(axis: object, rank: int) -> int:
    """An axis known when the kernel is compiled; negative ones count from the last."""
    number = static_number(axis)
    if not isinstance(number, int) or isinstance(number, bool) or not -rank <= number < rank:
        shown = f"axis {describe(axis)} of a tile of {counted(rank, 'dimension')}"
        raise KernelTypeError(shown, expected=f"an integer constant from {-rank} to {rank - 1}")
    return operator.index(number) % rank


def element_type(dtype: object) -> Any:
    """The type of the elements of a tile."""
    t = scalars.canonical(dtype)
    if not structs.is_field_type(t) or isinstance(t, ArrayType):
        elements = "a scalar, vector, matrix or struct type"
        raise KernelTypeError(f"dtype of a tile is {describe(dtype)}", expected=elements)
    return t


def check_storage(storage: object) -> None:
    """Refuse what is neither storage; both are the memory of the thread, which is the only lane of its block."""
    if storage not in STORAGES:
        raise KernelTypeError(f"storage of a tile is {describe(storage)}", expected="'register' or 'shared'")


def static_flag(name: str, flag: object) -> bool:
    value = static_number(flag)
    if not isinstance(value, bool | np.bool_):
        raise KernelTypeError(
            f"{name} is {describe(flag)}", expected="True or False, known when the kernel is compiled"
        )
    return bool(value)


def static_choice(name: str, choice: object, options: tuple[str, ...]) -> str:
    if choice not in options:
        raise KernelTypeError(f"{name} is {describe(choice)}", expected=" or ".join(map(repr, options)))
    return str(choice)


def offsets(tr: Translator, offset: object, rank: int) -> list[Value]:
    """An offset along each dimension, as int32; None is zero, and one that int32 does not hold lies as far outside."""
    if offset is None:
        return [constant(int32, 0)] * rank
    parts = offset if isinstance(offset, tuple) else (offset,)
    if len(parts) != rank:
        raise KernelTypeError(f"offset of {counted(len(parts), 'number')} for {counted(rank, 'dimension')}")
    return [integer(tr, within_int32(tr, array_index(part))) for part in parts]


def within_int32(tr: Translator, index: Value) -> Value:
    """An index of a wider type moved to the ends of int32, which no array reaches; a conversion would wrap."""
    least, most = np.iinfo(int32).min, np.iinfo(int32).max
    limits, t = np.iinfo(index.type), index.type
    if isinstance(index, Constant) or (least <= limits.min and limits.max <= most):
        return index
    below = tr.emit(TABLE["min"], index, constant(t, most))
    return below if limits.min >= least else tr.emit(TABLE["max"], below, constant(t, least))


def integer(tr: Translator, operand: object) -> Value:
    """An integer operand as int32."""
    value: Value = converted_scalar(tr, array_index(operand), int32)
    return value

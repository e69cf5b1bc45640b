"""Conversions of operands: to a declared type, to another scalar type, to a condition."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....errors import KernelTypeError
from ...ir.nodes import Value
from ...ops import choice
from ...ops.registry import TABLE
from ...types import scalars
from ...types.arrays import ArrayType, ValueType, type_name
from .scope import describe, fitting, is_number, typed_value
from .translator import Translator


def convert(operand: object, t: ValueType, what: str) -> Value:
    """The operand as a Value of exactly the type `t`."""
    value = typed_value(operand, t)
    if value.type is not t:
        raise KernelTypeError(
            f"{what} is {type_name(value.type)}, not {type_name(t)}",
            found=type_name(value.type),
            expected=type_name(t),
            help=conversion_help(value.type, t),
        )
    return value


def truth(tr: Translator, operand: object) -> Any:
    """An operand as a condition: a Python bool when known, else a bool Value."""
    if isinstance(operand, Value):
        if operand.type is scalars.bool_:
            return operand
        if scalars.is_number(operand.type):
            return tr.emit(TABLE["ne"], operand, 0)
        if isinstance(operand.type, ArrayType):
            return has_elements(tr, operand)
        raise KernelTypeError(
            f"{type_name(operand.type)} is not a condition",
            expected="a bool or a number",
            help="compare it with ==",
        )
    if is_number(operand) or operand is None or isinstance(operand, (str, tuple)):
        return bool(operand)
    raise KernelTypeError(f"{describe(operand)} is not a condition", expected="a bool or a number")


def is_none(tr: Translator, operand: object) -> Any:
    """Whether an operand is None: of an array that was given, only the run can tell."""
    if isinstance(operand, Value) and isinstance(operand.type, ArrayType):
        return tr.emit(TABLE["is_none"], operand)
    return operand is None


def negate(tr: Translator, condition: object) -> Any:
    return (not condition) if isinstance(condition, bool) else tr.emit(TABLE["unot"], condition)


def has_elements(tr: Translator, array: Value) -> Value:
    """Whether there is an array, and something in it."""
    extents = (tr.emit(TABLE["shape"], array, axis=k) for k in range(array.type.ndim))
    parts = [tr.emit(TABLE["ne"], extent, 0) for extent in extents]
    return functools.reduce(lambda a, b: tr.emit(TABLE["bit_and"], a, b), parts)


def converted_scalar(tr: Translator, operand: object, to: type) -> Any:
    """An explicit conversion to a scalar type."""
    if isinstance(operand, Value) and scalars.is_scalar(operand.type):
        return operand if operand.type is to else tr.emit(choice.cast, operand, to=to)
    if not is_number(operand):
        raise KernelTypeError(f"{describe(operand)} cannot become {type_name(to)}", expected="a number")
    if scalars.is_integer(to):
        return typed_value(whole(operand, to))
    return typed_value(fitting(operand, to))


def whole(number: Any, t: type) -> Any:
    """A constant converted to an integer type: integers wrap, as they do at run time, and floats truncate.

    Raises where a float does not fit: `wp.uint8(300)` is 44, `int(1.0e20)` an error.
    """
    limits = np.iinfo(t)
    if isinstance(number, (float, np.floating)) and not limits.min <= np.trunc(number) <= limits.max:
        expected = f"a number from {limits.min} to {limits.max}"
        raise KernelTypeError(f"{number} does not fit {type_name(t)}", expected=expected)
    return t(int(number))


def conversion_help(source: object, target: object) -> str:
    """How to write the conversion between two scalar types."""
    if scalars.is_scalar(source) and scalars.is_scalar(target):
        return f"convert it: {constructor_name(target)}(...)"
    return ""


def constructor_name(t: ValueType) -> str:
    """How kernels write the constructor of a type."""
    return {scalars.float32: "float", scalars.int32: "int"}.get(t, f"wp.{type_name(t)}")

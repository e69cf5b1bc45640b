"""Ranges as operands, forwards and backwards, and what else a loop can run over when it is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import KernelTypeError, KernelValueError
from ...ir.nodes import Constant, Value
from ...ops.registry import TABLE
from ...types import compounds, scalars
from ...types.arrays import type_name
from ..translate.scope import describe, typed_value
from ..translate.translator import Translator
from .calls import makes
from .parts import parts_of


class Range:
    """A range that a kernel makes: first index, end and step."""

    def __init__(self, bounds: tuple[Value, Value, Value]):
        self.bounds = bounds


@makes(range)
def range_object(tr: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
    """`range(...)` by itself: Python's where all is constant."""
    if not keywords and 1 <= len(args) <= 3 and all(type(a) is int for a in args):
        return range(*args)
    return Range(range_bounds(args, keywords))


@makes(reversed)
def reversed_object(tr: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
    """`reversed(x)` of a range, a tuple or a vector."""
    if len(args) != 1 or keywords:
        raise KernelTypeError("reversed takes one range, tuple or vector")
    [operand] = args
    if not isinstance(operand, Range):
        return tuple(items_of(tr, operand))[::-1] if not isinstance(operand, range) else operand[::-1]
    start, stop, step = operand.bounds
    if start.type not in scalars.SIGNED:
        raise KernelTypeError(f"reversed range of {type_name(start.type)}", expected="signed integers", help="int(...)")
    size = length_of_range(tr, start, stop, step)
    last = tr.emit(TABLE["add"], start, tr.emit(TABLE["mul"], tr.emit(TABLE["sub"], size, 1), step))
    back = tr.emit(TABLE["sub"], start, step)
    return Range((last, back, tr.emit(TABLE["neg"], step)))


def length_of_range(tr: Translator, start: Value, stop: Value, step: Value) -> Value:
    """How many indices a range has: the distance over the step, rounded up, and not below zero."""
    distance = tr.emit(TABLE["sub"], stop, start)
    upwards = tr.emit(TABLE["floordiv"], tr.emit(TABLE["neg"], distance), step)
    size: Value = tr.emit(TABLE["max"], tr.emit(TABLE["neg"], upwards), 0)
    return size


def range_bounds(parts: list[Any], keywords: dict[str, Any]) -> tuple[Value, Value, Value]:
    parts = [int(p) if isinstance(p, (bool, np.bool_)) else p for p in parts]
    if not 1 <= len(parts) <= 3 or keywords:
        raise KernelTypeError("range takes one to three integers")
    parts = {1: [0, *parts, 1], 2: [*parts, 1], 3: parts}[len(parts)]
    types = {p.type for p in parts if isinstance(p, Value)}
    types |= {type(p) for p in parts if not isinstance(p, (Value, int))}
    if len(types) > 1 or not all(scalars.is_integer(t) for t in types):
        raise KernelTypeError(
            f"range over {', '.join(map(describe, parts))}", expected="integers of one type", help="int(...)"
        )
    t = types.pop() if types else scalars.int32
    bounds = tuple(typed_value(p, t) for p in parts)
    if isinstance(bounds[2], Constant) and int(bounds[2].value) == 0:
        raise KernelValueError("range() arg 3 must not be zero")
    return bounds  # type: ignore[return-value]


def items_of(tr: Translator, operand: object) -> list[Any]:
    """What a loop runs over, when that is known at compile time."""
    if isinstance(operand, (range, list, tuple)):
        return list(operand)
    t = operand.type if isinstance(operand, Value) else type(operand)
    if not compounds.is_compound(t):
        iterables = "range(...), an array, a tuple, a vector or a query"
        raise KernelTypeError(f"a loop over {describe(operand)}", expected=iterables, help="for i in range(n)")
    return list(parts_of(tr, operand))

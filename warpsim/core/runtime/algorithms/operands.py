"""Operand checks of operations on whole arrays, and NumPy views of the operands.

`primitives` says which exception stands for what.
"""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from ....errors import ArgumentTypeError, ArrayError, DeviceError, OutOfBoundsError, shown
from ...types import compounds, scalars
from ...types.arrays import type_name
from ..arrays.array import array
from ..arrays.host_memory import TypedMemory
from ..devices.device import Device


def flat(a: TypedMemory) -> np.ndarray:
    """All elements in order: extents of elements are trailing axes."""
    return np.asarray(a._contents().reshape((a.size, *inner(a))))


def inner(a: TypedMemory) -> tuple[int, ...]:
    return a.dtype.shape if compounds.is_compound(a.dtype) else ()


def check(
    a: object, name: str, dtype: object = None, *, number: bool = False, ndim: int | None = None
) -> None:
    """Raise unless `a` is an array of the dtype (or of numbers) and the rank."""
    if not isinstance(a, TypedMemory):
        raise ArgumentTypeError(f"{name} is {type(a).__name__}\nexpected: an array\nhelp: wp.array(x) makes one")
    if dtype is not None and a.dtype is not dtype:
        raise ArgumentTypeError(f"{name} has dtype {type_name(a.dtype)}\nexpected: {type_name(dtype)}")
    if number and not scalars.is_number(compounds.scalar_of(a.dtype)):
        raise ArgumentTypeError(f"{name} has dtype {type_name(a.dtype)}\nexpected: numbers, or vectors of numbers")
    if ndim is not None and a.ndim != ndim:
        raise ArgumentTypeError(f"{name} has rank {a.ndim}\nexpected: {ndim}")


def remote_device(**named: TypedMemory) -> Device | None:
    """The device that all arrays are on, or None where NumPy sees them; raises where they are on several devices."""
    (first, one), *others = named.items()
    for name, a in others:
        if a.device.memory_space != one.device.memory_space:
            raise DeviceError(
                f"{name} is on {a.device}\nexpected: {one.device}, where {first} is\nhelp: {name}.to('{one.device}')"
            )
    return None if one.device.shares_host_memory else one.device


def check_output(a: Any, name: str, dtype: object = None) -> None:
    check(a, name, dtype)
    if not isinstance(a, array):
        raise ArgumentTypeError(f"{name} is an indexedarray\nexpected: an array, whose memory is written")
    a._require_writable()


def checked_count(count: Any, limit: int | None, name: str) -> int:
    if count is None and limit is not None:
        return limit
    try:
        number = operator.index(count)
    except TypeError:
        raise ArgumentTypeError(f"{name} is {count!r}\nexpected: an integer") from None
    if number < 0 or (limit is not None and number > limit):
        expected = "at least 0" if limit is None else f"0 to {limit}"
        raise ArrayError(f"{name} is {number}\nexpected: {expected}")
    return number


def checked_axis(axis: SupportsIndex, a: TypedMemory) -> int:
    if not hasattr(type(axis), "__index__"):
        raise ArgumentTypeError(f"axis is {shown(axis)}\nexpected: an integer")
    place = operator.index(axis)
    if not -a.ndim <= place < a.ndim:
        raise OutOfBoundsError(f"axis {place} of an array of rank {a.ndim}\nexpected: {-a.ndim} to {a.ndim - 1}")
    return place % a.ndim

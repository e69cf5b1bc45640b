"""Addresses of local arrays: `a.ptr`, moved by bytes, and `wp.array(ptr=a.ptr + n, shape=..., dtype=...)` there.

Kernels have no addresses as numbers. What is known here of one is the array and the bytes from its start, so that an
array at such an address is a slice of the array.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import KernelLookupError, KernelTypeError
from ...ir.nodes import Constant, Value
from ...types import scalars, structs
from ...types.arrays import type_name
from ..translate.scope import describe, typed_value
from .array_slices import ArraySlice, Axis


@dataclass(frozen=True, eq=False)
class LocalAddress:
    """The address of a place in a local array, counted in bytes from the start."""

    array: Value
    offset: int

    def __repr__(self) -> str:
        return "the address of a local array"


def moved(kind: type[ast.AST], left: object, right: object) -> LocalAddress:
    """An address plus or minus a constant number of bytes."""
    by = left if isinstance(right, LocalAddress) else right
    number: Any = by.value if isinstance(by, Constant) and scalars.is_integer(by.type) else by
    at = left if isinstance(left, LocalAddress) else right
    known = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not (known and (kind is ast.Add or (kind is ast.Sub and at is left))):
        what = f"{kind.__name__.lower()}: {describe(left)}, {describe(right)}"
        raise KernelTypeError(what, expected="an address plus a constant number of bytes")
    assert isinstance(at, LocalAddress)
    return LocalAddress(at.array, at.offset + int(number) * (1 if kind is ast.Add else -1))


def array_at(address: LocalAddress, facts: dict[str, Any]) -> ArraySlice:
    """An array at an address: the elements of the local array from there on.

    Raises `KernelTypeError` for elements of another type and more than one dimension, `KernelLookupError` for
    elements outside of the local array.
    """
    whole, dtype = address.array.type, scalars.canonical(facts.get("dtype", float))
    shape = facts.get("shape")
    extents = shape if isinstance(shape, tuple) else (shape,)
    if set(facts) - {"shape", "dtype"} or dtype is not whole.dtype or len(whole.local_shape) != 1:
        shown = f"shape {shape} of {describe(dtype)} at {address!r}, which is {type_name(whole)}"
        expected = "shape= and dtype=, and both arrays of one dimension and one type"
        raise KernelTypeError(f"wp.array of {shown}", expected=expected)
    if len(extents) != 1 or not isinstance(extents[0], int) or extents[0] < 1:
        raise KernelTypeError(f"wp.array of shape {shape} at {address!r}", expected="a positive integer constant")
    first, rest = divmod(address.offset, structs.numpy_dtype(dtype).itemsize)
    if rest or first < 0 or first + extents[0] > whole.local_shape[0]:
        what = f"{extents[0]} elements at byte {address.offset} of {type_name(whole)}"
        raise KernelLookupError(what, expected="whole elements inside of the array")
    return ArraySlice(address.array, (Axis(typed_value(first), typed_value(1), typed_value(extents[0])),))

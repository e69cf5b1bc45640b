"""Arrays as the interpreter sees them: every access checked, elements as NumPy scalars and arrays.

A struct element is a dict of fields. Views share memory with the array they come from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import OutOfBoundsError
from ..types import structs
from ..types.arrays import ArrayType, ValueType, array_type, type_name
from ..types.compounds import is_compound
from ..types.scalars import is_scalar

ABSENT = "expected: an array, or a test before it: `if array is not None:`"
"""What a message says about an access to an array that is None."""

Follow = Callable[[np.ndarray, ArrayType], "HostArray"]


class HostArray:
    """Checked access to the memory of one array; `data` has the element's extents as trailing axes.

    `grad` is the HostArray of the gradient or None; `lookup` the index arrays of an indexed array.
    """

    def __init__(
        self,
        data: np.ndarray,
        t: ArrayType,
        name: str = "array",
        grad: HostArray | None = None,
        lookup: tuple[np.ndarray | None, ...] = (),
        follow: Follow | None = None,
    ):
        self.data, self.type, self.name, self.grad, self.lookup = data, t, name, grad, lookup
        self.missing = False  # whether None was given for it
        self.follow = follow  # finds the arrays that struct elements refer to, by descriptor

    @property
    def shape(self) -> tuple[int, ...]:
        base = self.data.shape[: self.type.ndim]
        if not self.lookup:
            return base
        return tuple(n if table is None else len(table) for n, table in zip(base, self.lookup, strict=True))

    def position(self, indices: tuple[Any, ...]) -> tuple[int, ...]:
        """Checked indices into the base memory; negative ones count from the end."""
        if self.missing:
            raise OutOfBoundsError(f"{self.name} is None, and is read or written\n{ABSENT}")
        at = [self.check_index(int(i), axis, n) for axis, (i, n) in enumerate(zip(indices, self.shape, strict=False))]
        if not self.lookup:
            return tuple(at)
        return tuple(self.looked_up(axis, i) for axis, i in enumerate(at))

    def check_index(self, i: int, axis: int, extent: int) -> int:
        if not -extent <= i < extent:
            raise OutOfBoundsError(f"index {i} of {self.name} is outside axis {axis} of length {extent}")
        return i + extent if i < 0 else i

    def looked_up(self, axis: int, i: int) -> int:
        """What the index table of an axis says; tables may have changed since they were checked."""
        table, extent = self.lookup[axis], self.data.shape[axis]
        entry = i if table is None else int(table[i])
        if not 0 <= entry < extent:
            raise OutOfBoundsError(
                f"index table {axis} of {self.name} holds {entry} at {i}, outside the array's axis of length {extent}"
            )
        return entry

    def load(self, *indices: object) -> Any:
        return to_value(self.data[self.position(indices)], self.type.dtype, self.follow)

    def store(self, *rest: Any) -> None:
        *indices, value = rest
        write_value(self.data, self.position(tuple(indices)), value, self.type.dtype)

    def view(self, *indices: object) -> HostArray:
        """The sub-array at leading indices."""
        at = self.position(indices)
        t = array_type(self.type.dtype, self.type.ndim - len(indices))
        rest = self.lookup[len(indices) :]
        grad = None if self.grad is None else self.grad.view(*indices)
        return HostArray(self.data[at], t, self.name, grad, rest, self.follow)

    def part(self, select: Any, dtype: ValueType) -> HostArray:
        """The same elements restricted to a field or component."""
        t = array_type(dtype, self.type.ndim, bool(self.lookup))
        grad = None if self.grad is None else self.grad.part(select, dtype)
        at = select if isinstance(select, str) else (..., *select)
        return HostArray(self.data[at], t, self.name, grad, self.lookup, self.follow)

    def descriptor(self) -> np.ndarray:
        """The words that stand for this array in memory, see `types.arrays`."""
        ndim = self.type.ndim
        grad = 0 if self.grad is None else self.grad.data.ctypes.data
        words = (self.data.ctypes.data, grad, *self.shape, *self.data.strides[:ndim])
        return np.array(words, np.uint64)

    def gradient(self) -> HostArray:
        if self.grad is None:
            raise OutOfBoundsError(f"{self.name} has no gradient\nhelp: create it with requires_grad=True")
        return self.grad


def to_value(element: Any, t: Any, follow: Follow | None = None) -> Any:
    """One element of memory as an interpreter value; array fields are found by `follow`."""
    if is_scalar(t):
        return t(element)
    if is_compound(t):
        return np.array(element, t.dtype)
    if structs.is_struct(t):
        return {name: to_value(element[name], field, follow) for name, field in t.fields.items()}
    return array_at(element, t) if follow is None else follow(element, t)


def array_at(words: np.ndarray, t: ArrayType, name: str = "array in a struct") -> HostArray:
    """The array that a descriptor stands for. As in compiled code, nobody knows whether it still exists."""
    n, layout = t.ndim, structs.numpy_dtype(t.dtype)
    shape, strides = ([int(w) for w in words[k : k + n]] for k in (2, 2 + n))
    item = np.empty(1, layout)
    size = item.nbytes + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))

    def lying_at(address: int) -> np.ndarray:
        if not address or 0 in shape:
            return np.zeros((0,) * n, layout)
        memory = memoryview((ctypes.c_char * size).from_address(address))
        view: np.ndarray = np.ndarray((*shape, *item.shape[1:]), item.dtype, memory, 0, (*strides, *item.strides[1:]))
        return view

    grad = HostArray(lying_at(int(words[1])), t, f"{name}.grad") if words[1] else None
    host = HostArray(lying_at(int(words[0])), t, name, grad)
    host.missing = not words[0]
    return host


def write_value(memory: np.ndarray, at: tuple[int, ...], value: Any, t: ValueType) -> None:
    """Write an interpreter value into one element of memory."""
    if structs.is_struct(t):
        for name, field in t.fields.items():
            write_value(memory[name], at, value[name], field)
    elif isinstance(t, ArrayType):
        memory[at] = value.descriptor() if isinstance(value, HostArray) else 0
    else:
        memory[at] = value


def absent_array(t: ArrayType) -> HostArray:
    """What stands for None: no elements, and errors that say so."""
    array = HostArray(np.empty((0,) * t.ndim), t)
    array.missing = True
    return array


def local_array(shape: tuple[int, ...], dtype: Any, cleared: bool = True) -> HostArray:
    """A zeroed array on the thread's stack."""
    layout = structs.numpy_dtype(dtype)
    return HostArray(np.zeros(shape, layout), array_type(dtype, len(shape), False, shape), f"local {type_name(dtype)}")

"""The memory of compound values as C sees it: `ctypes` arrays, so that values are buffers on every version of Python.

`b"".join(values)`, `memoryview(value)` and `ctypes.byref(value)` read a value where it lies. Floats of 16 bits have no
counterpart in C, and NumPy reads `ctypes` arrays before it asks for `__array__`: values of these are no buffers.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import scalars

C_TYPES: dict[type, Any] = {
    scalars.bool_: ctypes.c_bool,
    scalars.float32: ctypes.c_float,
    scalars.float64: ctypes.c_double,
    **{t: getattr(ctypes, f"c_{t.__name__}") for t in scalars.INTEGERS},
}
"""How C passes scalars; floats of 16 bits as their bits."""

Array = ctypes.Array
if TYPE_CHECKING:
    from _ctypes import _PyCArrayType

    ArrayType = _PyCArrayType
else:
    ArrayType = type(ctypes.Array)
"""The class of `ctypes` array classes."""

_from_buffer: Any = ArrayType.from_buffer

T = TypeVar("T")


def c_type(dtype: type) -> Any:
    """How C passes a scalar; floats of 16 bits as their bits."""
    return C_TYPES.get(dtype, ctypes.c_uint16)


def holds(dtype: type) -> bool:
    """Whether values of this scalar type are buffers."""
    return dtype in C_TYPES


def layout(shape: tuple[int, ...], dtype: type) -> dict[str, Any]:
    """What the body of a `ctypes` array class says of its memory: arrays of arrays, as the shape has dimensions."""
    element = c_type(dtype)
    for extent in reversed(shape[1:]):
        element = element * extent
    return {"_length_": shape[0], "_type_": element}


def value_over(cls: type[T], data: np.ndarray) -> T:
    """A new value of a compound class, over the memory of `data` where the class is a buffer. Nothing else is set."""
    if not issubclass(cls, ctypes.Array):
        return object.__new__(cls)
    value: T = _from_buffer(cls, data)
    return value


def components(value: Array[Any], memory: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The components of a value that is a buffer, as NumPy sees them where they lie; they keep the value alive."""
    return np.frombuffer(memoryview(value), memory).reshape(shape)

"""The scalar classes: NumPy's, with `.value`, integers that wrap, and results that stay of these classes.

`wp.float32(x)` is a `numpy.float32`, so NumPy computes, prints and stores it, and `numpy.dtype(wp.float32)` is
NumPy's own. `wp.bool` is `numpy.bool_`, from which nothing can be derived, and `bfloat16` is ml_dtypes' class.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...errors import ComponentCountError, shown


class Number:
    """Base of the scalar classes, beside NumPy's.

    It stands behind NumPy's class, whose methods NumPy's own code takes for granted, so what replaces them is in the
    body of each class, see `_class`.
    """

    __slots__ = ()
    plain: ClassVar[Any]
    """NumPy's class of the same numbers, in which the oracles of kernels compute."""

    _type_: ClassVar[Any]
    """How C passes the number; floats of 16 bits as their bits."""

    _length_: ClassVar[int] = 1
    lowest: ClassVar[Any]
    largest: ClassVar[Any]

    item: Callable[[], Any]

    @property
    def value(self) -> Any:
        """The number as Python's int or float, exactly."""
        return self.item()


OWN: dict[type, type] = {}
"""The class here for each of NumPy's."""


def own(number: object) -> Any:
    """A number of NumPy's as one of the class here; anything else unchanged."""
    cls: Any = OWN.get(type(number))
    return number if cls is None else cls.plain.__new__(cls, number)


def plain(number: object) -> Any:
    """A number of a class here as NumPy's; anything else unchanged."""
    return number.plain(number) if isinstance(number, Number) else number


# ----- the bodies of the classes ------------------------------------------------------------------


def _new_integer(cls: type[Number], value: object = 0) -> Any:
    """An integer of fixed width: what does not fit wraps, as results do in kernels."""
    if isinstance(value, int | np.integer):
        value = int(value)
        if not cls.lowest <= value <= cls.largest:
            value = (value - cls.lowest) % (cls.largest - cls.lowest + 1) + cls.lowest
        return cls.plain.__new__(cls, value)
    return _one(cls, value)


def _new_float(cls: type[Number], value: object = 0) -> Any:
    """A float of fixed width: what is too large is infinite."""
    if not isinstance(value, float):
        return _one(cls, value)
    if cls.lowest <= value <= cls.largest:
        return cls.plain.__new__(cls, value)
    with np.errstate(over="ignore"):  # which takes longer than all else
        return cls.plain.__new__(cls, value)


def _one(cls: type[Number], value: object) -> Any:
    """A number of what NumPy makes one of. Raises `ComponentCountError` for all else."""
    try:
        number = cls.plain.__new__(cls, value)
    except OverflowError:
        raise OverflowError(f"{cls.__name__} got {shown(value)}\nexpected: a number in its range") from None
    except (TypeError, ValueError):
        number = None
    if type(number) is cls:
        return number
    raise ComponentCountError(
        f"{cls.__name__} got {shown(value)} ({type(value).__name__})\nexpected: one number"
        f"\nhelp: wp.array(x, dtype=wp.{cls.__name__}), or a vector such as wp.vec3(x, y, z)"
    )


def _repr(self: Number) -> str:
    return f"{type(self).__name__}({plain(self)!s})"


def _reduce(self: Number) -> tuple[type, tuple[Any]]:
    return type(self), (self.item(),)


def _binary(compute: Callable[[Any, Any], Any], reflected: str) -> Callable[[Any, Any], Any]:
    def forward(self: Number, other: object) -> Any:
        if not isinstance(other, _COMPUTED) and hasattr(other, reflected):
            return NotImplemented  # vectors and arrays know better, on tapes too
        with np.errstate(over="ignore"):
            return own(compute(plain(self), plain(other)))

    return forward


def _reflected_binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def backward(self: Number, other: object) -> Any:
        with np.errstate(over="ignore"):
            return own(compute(plain(other), plain(self)))

    return backward


def _quotient(x: Any, y: Any) -> Any:
    """x / y; of two integers as in kernels: towards zero, 0 for a divisor of zero."""
    if not (isinstance(x, _WHOLE) and isinstance(y, _WHOLE)):
        return x / y
    dtype, quotient = np.result_type(x, y), abs(int(x)) // abs(int(y)) if y else 0
    return OWN[dtype.type](-quotient if (x < 0) != (y < 0) else quotient)


def _remainder(x: Any, y: Any) -> Any:
    """x % y as in kernels: with the sign of x; of integers x for a divisor of zero."""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return x % y
    if isinstance(x, _WHOLE) and isinstance(y, _WHOLE) and y == 0:
        return np.result_type(x, y).type(x)
    return np.fmod(x, y)


def _unary(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def alone(self: Number) -> Any:
        with np.errstate(over="ignore"):
            return own(compute(plain(self)))

    return alone


_COMPUTED = (int, float, np.generic, np.ndarray)
_WHOLE = (int, np.integer)
_NAMES = ("add", "sub", "mul", "floordiv", "pow", "and_", "or_", "xor", "lshift", "rshift")
_BINARY = {name.rstrip("_"): getattr(operator, name) for name in _NAMES} | {"truediv": _quotient, "mod": _remainder}
_METHODS: dict[str, Any] = {
    "__slots__": (),
    "__module__": "warpsim",  # where users find the classes, and pickles
    "__repr__": _repr,
    "__reduce__": _reduce,
    "__copy__": lambda number: number,  # numbers do not change; NumPy 2.2 makes one of its own class
    "__deepcopy__": lambda number, memo: number,
    **{f"__{name}__": _binary(compute, f"__r{name}__") for name, compute in _BINARY.items()},
    **{f"__r{name}__": _reflected_binary(compute) for name, compute in _BINARY.items()},
    **{f"__{name}__": _unary(getattr(operator, name)) for name in ("neg", "pos", "abs", "invert")},
}


def _class(plain: type, new: Callable[..., Any], c_type: type) -> Any:
    """A scalar class, and its entry in `OWN`."""
    limits: Any = np.finfo(plain) if new is _new_float else np.iinfo(plain)
    lowest, largest = (np.asarray(limit).item() for limit in (limits.min, limits.max))
    facts = {"plain": plain, "_type_": c_type, "lowest": lowest, "largest": largest}
    about = f"{new.__doc__} It is NumPy's {plain.__name__}, with `.value`."
    OWN[plain] = type(plain.__name__, (plain, Number), _METHODS | facts | {"__doc__": about, "__new__": new})
    return OWN[plain]


int8 = _class(np.int8, _new_integer, ctypes.c_int8)
int16 = _class(np.int16, _new_integer, ctypes.c_int16)
int32 = _class(np.int32, _new_integer, ctypes.c_int32)
int64 = _class(np.int64, _new_integer, ctypes.c_int64)
uint8 = _class(np.uint8, _new_integer, ctypes.c_uint8)
uint16 = _class(np.uint16, _new_integer, ctypes.c_uint16)
uint32 = _class(np.uint32, _new_integer, ctypes.c_uint32)
uint64 = _class(np.uint64, _new_integer, ctypes.c_uint64)
float16 = _class(np.float16, _new_float, ctypes.c_uint16)
float32 = _class(np.float32, _new_float, ctypes.c_float)
float64 = _class(np.float64, _new_float, ctypes.c_double)

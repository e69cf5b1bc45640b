"""Scalar types: their names, and questions about them.

One class is host value, annotation and kernel type: that of `scalar_classes`, which is NumPy's with `.value`. `bool_`
is `numpy.bool_`; `bfloat16` is ml_dtypes' class, which is imported when somebody first asks for it.
"""

from __future__ import annotations

from operator import index
from typing import Any, TypeGuard

import numpy as np

from .scalar_classes import OWN, Number, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32
from .scalar_classes import uint64

bool_ = np.bool_

FLOATS: tuple[type, ...] = (float16, float32, float64)
SIGNED: tuple[type, ...] = (int8, int16, int32, int64)
UNSIGNED: tuple[type, ...] = (uint8, uint16, uint32, uint64)
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
SCALARS = (bool_, *NUMBERS)

# In kernels and annotations Python's own names mean the 32-bit types.
PYTHON_SCALARS: dict[type, type] = {float: float32, int: int32, bool: bool_}

# What an annotation may say instead of a scalar class.
_NAMES = PYTHON_SCALARS | OWN

# The classes here and NumPy's, in which oracles compute.
_EITHER = {group: {*group, *(t for t in OWN if OWN[t] in group)} for group in (FLOATS, SIGNED, INTEGERS, NUMBERS)}


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        from ml_dtypes import bfloat16  # noqa: PLC0415 - 8 ms that few programs need

        return bfloat16
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# The suffix of a compound type's name: vec3f, mat22d, quath.
SUFFIX: dict[type, str] = {float16: "h", float32: "f", float64: "d", int32: "i", uint32: "ui", int64: "l", uint64: "ul"}
SUFFIX |= {int16: "s", uint16: "us", int8: "b", uint8: "ub", bool_: "bool"}


def canonical(annotation: Any) -> Any:
    """`float`, `int`, `bool`, NumPy's classes and dtypes as scalar classes, annotations of arrays as array types;
    anything else unchanged."""
    if isinstance(annotation, np.dtype) and annotation.names is None and annotation.subdtype is None:
        return scalar_in(annotation)
    if type(annotation).__name__ == "_ArrayAnnotation":
        return annotation.canonical
    try:
        return _NAMES.get(annotation, annotation)
    except TypeError:  # unhashable annotations are reported by whoever asked
        return annotation


def scalar_in(dtype: np.dtype) -> type:
    """The scalar class of the elements of a NumPy dtype; NumPy's own where there is none."""
    return OWN.get(dtype.type, dtype.type)


def numpy_class(t: type) -> Any:
    """The class in which oracles hold numbers of a scalar type: NumPy's, whose arithmetic is the fastest."""
    return t.plain if issubclass(t, Number) else t


def is_scalar(t: object) -> TypeGuard[type[Any]]:
    return (t in SCALARS or is_bfloat16(t)) if isinstance(t, type) else False


def is_number(t: object) -> bool:
    return t in _EITHER[NUMBERS] or is_bfloat16(t)


def is_float(t: object) -> bool:
    return t in _EITHER[FLOATS] or is_bfloat16(t)


def is_bfloat16(t: object) -> bool:
    """Whether a type is bfloat16, without importing it."""
    return getattr(t, "__name__", "") == "bfloat16" and getattr(t, "__module__", "") == "ml_dtypes"


def register_type(t: type) -> type:
    """The type in which kernels hold and compute numbers of type `t`: single precision for bfloat16."""
    return float32 if is_bfloat16(t) else t


def suffix(t: type) -> str:
    """The suffix of compounds of a scalar type."""
    return "bf" if is_bfloat16(t) else SUFFIX[canonical(t)]


def largest(t: type) -> float:
    """The largest finite number of a float type."""
    return 3.3895313892515355e38 if is_bfloat16(t) else float(np.finfo(t).max)


def rounding(t: type) -> float:
    """The distance from 1 to the next number of a float type."""
    return 2.0**-7 if is_bfloat16(t) else float(np.finfo(t).eps)


def holds_floats(dtype: np.dtype) -> bool:
    """Whether memory of a NumPy dtype holds floats; bfloat16 is a stranger to NumPy's kinds."""
    return dtype.kind == "f" or is_bfloat16(dtype.type)


def holds_numbers(dtype: np.dtype) -> bool:
    """Whether memory of a NumPy dtype holds numbers or truth values."""
    return dtype.kind in "biuf" or is_bfloat16(dtype.type)


def as_numbers(data: Any) -> np.ndarray:
    """Any array-like as NumPy; objects that are integers to Python, as members of enumerations, as integers."""
    contents = np.asarray(data)
    if contents.dtype != object or not contents.size or not all(map(is_whole, contents.flat)):
        return contents
    return np.array([index(x) for x in contents.flat]).reshape(contents.shape)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer to Python, as an index is."""
    try:
        index(value)
    except TypeError:
        return False
    return True


def is_integer(t: object) -> bool:
    return t in _EITHER[INTEGERS]


def is_signed(t: object) -> bool:
    return t in _EITHER[SIGNED]


def bits(t: type) -> int:
    """Width in memory; a bool takes eight bits there."""
    return np.dtype(t).itemsize * 8

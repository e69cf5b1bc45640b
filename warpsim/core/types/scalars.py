"""Scalar types are NumPy's scalar classes; this file names them and answers questions about them.

`warpsim.float32 is numpy.float32`: host values, annotations and kernel types are one object, and
NumPy supplies host arithmetic, printing and conversion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64

FLOATS: tuple[type, ...] = (float16, float32, float64)
SIGNED: tuple[type, ...] = (int8, int16, int32, int64)
UNSIGNED: tuple[type, ...] = (uint8, uint16, uint32, uint64)
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS
SCALARS = (bool_, *NUMBERS)

# In kernels and annotations Python's own names mean the 32-bit types.
PYTHON_SCALARS: dict[type, type] = {float: float32, int: int32, bool: bool_}

# The suffix of a compound type's name: vec3f, mat22d, quath.
SUFFIX: dict[type, str] = {
    float16: "h", float32: "f", float64: "d", int32: "i", uint32: "ui", int64: "l", uint64: "ul",
    int16: "s", uint16: "us", int8: "b", uint8: "ub", bool_: "bool",
}  # fmt: skip


def canonical(annotation: Any) -> Any:
    """`float`, `int`, `bool` and NumPy dtypes as scalar classes; anything else unchanged."""
    if isinstance(annotation, np.dtype) and annotation.names is None and annotation.subdtype is None:
        return annotation.type
    try:
        return PYTHON_SCALARS.get(annotation, annotation)
    except TypeError:  # unhashable annotations are reported by whoever asked
        return annotation


def is_scalar(t: Any) -> bool:
    return t in SCALARS if isinstance(t, type) else False


def is_float(t: Any) -> bool:
    return t in FLOATS


def is_integer(t: Any) -> bool:
    return t in INTEGERS


def is_signed(t: Any) -> bool:
    return t in SIGNED


def bits(t: type) -> int:
    """Width in memory; a bool takes eight bits there."""
    return np.dtype(t).itemsize * 8

"""Tables of types, which programs on top of Warp loop over; all else is that of `warpsim.types`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from ..core.runtime.arrays.host_memory import contiguous_strides
from ..core.types.compounds import standard_names
from ..core.types.scalars import bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32
from ..core.types.scalars import uint64
from ..warp.kinds import type_size_in_bytes

int_types = (int8, uint8, int16, uint16, int32, uint32, int64, uint64)
float_types = (float16, bfloat16, float32, float64)
non_atomic_types = (int8, uint8, int16, uint16)
"""Integers without atomic instructions in Warp; kernels here add to them all the same."""

scalar_types = (*int_types, *float_types)
scalar_and_bool_types = (*scalar_types, bool_)
vector_types = tuple(dict.fromkeys(standard_names().values()))
"""Vectors, matrices, quaternions and transforms that have a name."""

np_dtype_to_warp_type = {key: t for t in scalar_and_bool_types for key in (t, np.dtype(t))}
"""The type of elements for a scalar class or a dtype of NumPy."""


def strides_from_shape(shape: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
    """Strides [bytes] of packed memory of elements of `dtype`."""
    return contiguous_strides(shape, type_size_in_bytes(dtype))


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("warpsim.types"), name)

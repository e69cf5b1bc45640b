"""Tables of types, which programs on top of Warp loop over; all else is that of `warpsim.types`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from ..core.types.compounds import standard_names
from ..core.types.scalars import (
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)  # fmt: skip

int_types = (int8, uint8, int16, uint16, int32, uint32, int64, uint64)
float_types = (float16, bfloat16, float32, float64)
scalar_types = (*int_types, *float_types)
scalar_and_bool_types = (*scalar_types, bool_)
vector_types = tuple(dict.fromkeys(standard_names().values()))
"""Vectors, matrices, quaternions and transforms that have a name."""

np_dtype_to_warp_type = {key: t for t in scalar_and_bool_types for key in (t, np.dtype(t))}
"""The type of elements for a scalar class or a dtype of NumPy."""


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("warpsim.types"), name)

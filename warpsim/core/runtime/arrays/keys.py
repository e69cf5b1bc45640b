"""Keys between the brackets of an array: integers, slices and tables of indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import ArrayError, ArrayTypeError, OutOfBoundsError, counted
from .host_memory import TypedMemory


def keys_of(key: object, ndim: int) -> tuple[Any, ...]:
    """The keys of an array of a rank, as a tuple.

    Raises `OutOfBoundsError` for more keys than dimensions, `ArrayTypeError` for other keys, `ArrayError` for a
    negative step.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) > ndim:
        raise OutOfBoundsError(f"{counted(len(keys), 'index')} for an array of rank {ndim}")
    for k in keys:
        if isinstance(k, bool) or not (isinstance(k, slice | int | np.integer) or is_table(k)):
            raise ArrayTypeError(f"index {k!r}\nexpected: integers, slices or arrays of integers")
        if isinstance(k, slice) and k.step is not None and k.step < 0:
            raise ArrayError("negative strides\nhelp: copy the data first: wp.array(a.numpy()[::-1])")
    return keys


def is_table(key: object) -> bool:
    """Whether a key is a list of indices."""
    return isinstance(key, TypedMemory | np.ndarray | list)


def table_of(key: object, extent: int) -> Any:
    """A slice beside tables as a table; None for the whole dimension."""
    if not isinstance(key, slice):
        return key
    return None if key == slice(None) else np.arange(*key.indices(extent))

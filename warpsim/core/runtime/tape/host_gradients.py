"""Cotangents of elements that the host wrote: taken from where they were written, added to where they came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array import array
from ..arrays.indexed import indexedarray


def frozen_picks(a: indexedarray) -> tuple:
    """The selection as it is now."""
    return tuple(np.array(indices) for indices in a._picks)


def last_writes(shape: tuple[int, ...], picks: tuple) -> np.ndarray:
    """Which selected elements were written last: where indices repeat, the others left no trace."""
    writer = np.empty(shape, np.int64)
    order = np.arange(np.broadcast(*picks).size).reshape(np.broadcast(*picks).shape)
    writer[picks] = order
    return writer[picks] == order


def narrowed(share: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum what was broadcast, or give back the shape."""
    if share.size == int(np.prod(shape)):
        return share.reshape(shape)
    share = share.sum(axis=tuple(range(share.ndim - len(shape))))
    wide = tuple(axis for axis, n in enumerate(shape) if n == 1 and share.shape[axis] != 1)
    return share.sum(axis=wide, keepdims=True)


def add_to(target: np.ndarray, share: np.ndarray) -> None:
    """target += share, for floats and for the float fields of records."""
    if target.dtype.names is None:
        if target.dtype.kind == "f":
            target += share if share.dtype == target.dtype else share.astype(target.dtype)
        return
    for name in target.dtype.names:
        add_to(target[name], share[name])


def spent(a: array, count: int | None = None, flat: bool = False) -> np.ndarray:
    """The gradient of the first `count` elements (flat: numbers) of an array, which is zero from now on."""
    assert a._slopes is not None
    memory = a._slopes._data
    part = memory.reshape(-1) if flat else memory
    found = part[:count].copy()
    if flat and not np.shares_memory(part, memory):
        memory[...] = np.where(np.arange(memory.size).reshape(memory.shape) < (count or 0), 0, memory)
    else:
        part[:count] = 0
    return found


def add_gradient(a: Any, share: np.ndarray) -> None:
    """Add to the gradient of an array or indexedarray."""
    slopes = a._array._slopes
    if slopes is None:
        return
    if isinstance(a, indexedarray):
        np.add.at(slopes._data, frozen_picks(a), share)
    else:
        add_to(slopes._data, share)

"""Cotangents of elements that the host wrote: taken from where they were written, added to where they came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..steps.move import add_to


def frozen_picks(a: indexedarray) -> tuple[Any, ...]:
    """The selection as it is now."""
    return tuple(np.array(indices) for indices in a._picks)


def last_writes(shape: tuple[int, ...], picks: tuple[Any, ...]) -> np.ndarray:
    """Which selected elements were written last: where indices repeat, the others left no trace."""
    writer = np.empty(shape, np.int64)
    order = np.arange(np.broadcast(*picks).size).reshape(np.broadcast(*picks).shape)
    writer[picks] = order
    last: np.ndarray = writer[picks] == order
    return last


def sum_broadcast(contribution: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Sum what was broadcast, or give back the shape."""
    if contribution.size == int(np.prod(shape)):
        return contribution.reshape(shape)
    contribution = contribution.sum(axis=tuple(range(contribution.ndim - len(shape))))
    wide = tuple(axis for axis, n in enumerate(shape) if n == 1 and contribution.shape[axis] != 1)
    return contribution.sum(axis=wide, keepdims=True)


def take_gradient(grad: array, count: int | None = None, flat: bool = False) -> np.ndarray:
    """The first `count` elements (flat: numbers) of a gradient, which are zero from now on."""
    memory = grad._data
    part = memory.reshape(-1) if flat else memory
    taken: np.ndarray = part[:count].copy()
    if flat and not np.shares_memory(part, memory):
        memory[...] = np.where(np.arange(memory.size).reshape(memory.shape) < (count or 0), 0, memory)
    else:
        part[:count] = np.zeros((), part.dtype)
    return taken


def add_gradient(grad: array | indexedarray | None, contribution: np.ndarray) -> None:
    """Add to a gradient, or to the elements of one that an indexedarray selects."""
    if isinstance(grad, indexedarray):
        np.add.at(grad.data._data, grad._picks, contribution)
    elif grad is not None:
        add_to(grad._data, contribution)

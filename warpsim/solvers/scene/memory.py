"""`Savable`: what a saved scene asks of an object: the arguments that make it again, and what it remembers besides.

Arrays of integers that kernels use as indices are checked when they come back, as files may come from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...core.language import array
from ...core.types.scalars import is_float
from ...core.types.compounds import scalar_of
from ...errors import StateError

Memory = dict[str, Any]
"""What an object hands on from step to step, by name: numbers, texts, arrays, and tuples and dictionaries of those."""


@runtime_checkable
class Savable(Protocol):
    """An object that `Scene` can save."""

    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor that make such an object now."""

    def memory(self) -> Memory:
        """What it needs besides, to go on as if it had never stopped."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take that over, as an object that was made by `arguments` just now. Raises `StateError` for what does not
        fit."""


class ByObject:
    """Values that belong to other objects: a saved scene keeps those of objects that it holds."""

    def __init__(self, pairs: Sequence[tuple[Any, Any]]):
        self.pairs = list(pairs)


def refill(name: str, target: array, source: object) -> None:
    """Write an array of a file into the one that is there. Raises `StateError` for another layout."""
    same = isinstance(source, array) and source.dtype is target.dtype and source.shape == target.shape
    if not same:
        there = f"{source.dtype.__name__} of shape {source.shape}" if isinstance(source, array) else type(source)
        raise StateError(f"{name} is {there}\nexpected: {target.dtype.__name__} of shape {target.shape}")
    if target.size:
        target.assign(source.numpy())


def refill_all(memory: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """`refill` for several, by name."""
    for name, target in arrays.items():
        refill(name, target, memory[name])


def require(holds: bool, what: str, expected: str) -> None:
    """Raise `StateError` for what a file says and no solver wrote."""
    if not holds:
        raise StateError(f"{what} of a saved scene cannot be\nexpected: {expected}")


def require_permutation(name: str, numbers: array) -> None:
    """Raise `StateError` unless these are all numbers from 0 on, in any order."""
    values = numbers.numpy()
    require(bool((np.sort(values) == np.arange(len(values))).all()), name, "each number once")


def require_range(name: str, values: np.ndarray, count: int, least: int = 0) -> None:
    """Raise `StateError` unless all are from `least` to `count` - 1."""
    inside = not values.size or (values.min() >= least and values.max() < count)
    require(bool(inside), name, f"{least} to {count - 1}")


def has_gradient(a: array) -> bool:
    """Whether elements are floating-point numbers."""
    return is_float(scalar_of(a.dtype))

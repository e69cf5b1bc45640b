"""Mirrors: zeroed shadow memory of arrays, which overlaps where the arrays overlap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np

from .array import array
from .doubles import Doubles
from .indexed import indexedarray


class Mirror:
    """The memory that mirrors some arrays. beside: another mirror, which has those that it knows already."""

    def __init__(self, arrays: Iterable[array | indexedarray], beside: Mirror | None = None):
        known = None if beside is None else beside._doubles
        self._doubles: Doubles = Doubles((a._array._data for a in arrays), beside=known)
        self._known: dict[int, tuple[np.ndarray, array]] = {}
        """The mirrors that were asked for, by the id of the memory; that is held, so that its id stays its own."""

    def set(self, a: array | indexedarray, numbers: np.ndarray) -> None:
        """Write into the mirror of an array."""
        if isinstance(a, indexedarray):
            mirror = self.of(a)
            mirror.data._data[mirror._picks] = numbers
        else:
            self.of(a)._data[...] = numbers

    @overload
    def gather(self, a: array) -> array: ...

    @overload
    def gather(self, a: indexedarray) -> indexedarray: ...

    def gather(self, a: array | indexedarray) -> array | indexedarray:
        """A copy of what the mirror has of an array, and zeros elsewhere; also of one that it has only parts of."""
        if isinstance(a, indexedarray):
            return indexedarray(self.gather(a.data), a.indices)
        return array._wrap(self._doubles.gather(a._data), a.dtype, a.device)

    @overload
    def of(self, a: array) -> array: ...

    @overload
    def of(self, a: indexedarray) -> indexedarray: ...

    def of(self, a: array | indexedarray) -> array | indexedarray:
        """The mirror of one of the arrays, or of a view of one: the same shape, strides and dtype."""
        if isinstance(a, indexedarray):
            return indexedarray(self.of(a.data), a.indices)
        data, mirror = self._known.get(id(a._data), (None, None))
        if mirror is None or mirror.dtype is not a.dtype:
            data, mirror = a._data, array._wrap(self._doubles.of(a._data), a.dtype, a.device)
            self._known[id(data)] = data, mirror
        return mirror

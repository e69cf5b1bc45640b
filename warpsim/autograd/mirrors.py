"""Zeroed memory laid out as that of some arrays: where arrays overlap, their mirrors overlap in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.runtime.array import array
from ..core.runtime.indexed import indexedarray
from ..core.runtime.memory import ALIGNMENT
from ..core.runtime.versions import bounds


class Mirror:
    """The memory that mirrors some arrays."""

    def __init__(self, arrays: Iterable[array | indexedarray]):
        bases = [a.data if isinstance(a, indexedarray) else a for a in arrays]
        self._blocks: list[tuple[int, int, np.ndarray]] = []
        for low, high in sorted(bounds(a._data) for a in bases if a.size):
            if self._blocks and low < self._blocks[-1][1]:
                low, top, _ = self._blocks.pop()
                high = max(high, top)
            self._blocks.append((low, high, np.empty(0)))
        self._blocks = [(low, high, _zeros(low, high)) for low, high, _ in self._blocks]

    def set(self, a: Any, numbers: np.ndarray) -> None:
        """Write into the mirror of an array."""
        found = self.of(a)
        if isinstance(found, indexedarray):
            found.data._data[found._picks] = numbers
        else:
            found._data[...] = numbers

    def of(self, a: Any) -> Any:
        """The mirror of one of the arrays, or of a view of one: the same shape, strides and dtype."""
        if isinstance(a, indexedarray):
            return indexedarray(self.of(a.data), a.indices)
        memory = a._data
        if not memory.size:
            return array._wrap(np.zeros_like(memory), a.dtype, a.device)
        start, end = bounds(memory)
        low, block = next((low, block) for low, high, block in self._blocks if low <= start and end <= high)
        same = np.ndarray(memory.shape, memory.dtype, block.data, start - low, memory.strides)
        return array._wrap(same, a.dtype, a.device)


def _zeros(low: int, high: int) -> np.ndarray:
    """Zeroed bytes that stand as the addresses do to cache lines."""
    raw = np.zeros(high - low + ALIGNMENT, np.uint8)
    start = (low - raw.ctypes.data) % ALIGNMENT
    return raw[start : start + high - low]

"""Launch arguments as private copies: what is done to them never reaches the arrays they were made of.

Guarantees: arrays of the arguments that share memory share it in the copies too, gradients included;
strides and alignment stay as they are; `restore` puts back the contents of the moment of the copy.
Arrays that struct *elements* of an array refer to are not copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.runtime.array import array
from ..core.runtime.indexed import indexedarray
from ..core.runtime.memory import ALIGNMENT
from ..core.runtime.traffic import arrays_in
from ..core.runtime.versions import bounds
from ..core.types import structs


class PrivateCopies:
    """Copies of launch arguments, in `args`."""

    def __init__(self, args: Iterable[Any]):
        originals = list(args)
        arrays = [a for arg in originals for _, a in arrays_in(arg, "")]
        grads = [a.grad for a in arrays if a.grad is not None]
        self._blocks = [_Block(low, high) for low, high in _merged(bounds(a._data) for a in [*arrays, *grads])]
        self._made: dict[int, array] = {}
        self.args = [self._copy(arg) for arg in originals]

    def restore(self) -> None:
        """Contents and gradients as they were when the copies were made."""
        for block in self._blocks:
            block.memory[...] = block.before

    def _copy(self, value: Any) -> Any:
        if isinstance(value, array):
            if id(value) not in self._made:
                self._made[id(value)] = self._copied_array(value)
            return self._made[id(value)]
        if isinstance(value, indexedarray):
            return indexedarray(self._copy(value.data), value.indices)
        if isinstance(value, structs.Struct):
            return type(value)(**{name: self._copy(getattr(value, name)) for name in value.fields})
        return value

    def _copied_array(self, original: array) -> array:
        made = array._wrap(self._same_place(original._data), original.dtype, original.device)
        made._held = original._held
        made.retain_grad = original.retain_grad
        if original.grad is not None:
            made.grad = array._wrap(self._same_place(original.grad._data), original.dtype, original.device)
        return made

    def _same_place(self, memory: np.ndarray) -> np.ndarray:
        """The memory of a block that stands where `memory` stands in the original."""
        low, high = bounds(memory)
        block: _Block | None = next((b for b in self._blocks if b.low <= low and high <= b.high), None)
        if block is None:  # an array without elements
            return np.zeros(memory.shape, memory.dtype)
        place: np.ndarray = np.ndarray(memory.shape, memory.dtype, block.memory, low - block.low, memory.strides)
        return place


class _Block:
    """A range of addresses, copied."""

    def __init__(self, low: int, high: int):
        self.low, self.high = low, high
        source = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))
        raw = np.empty(high - low + ALIGNMENT, np.uint8)
        start = (low - raw.ctypes.data) % ALIGNMENT
        self.memory = raw[start : start + high - low]
        self.memory[...] = source
        self.before = source.copy()


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of addresses with overlapping ones joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(span for span in spans if span[1] > span[0]):
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined

"""Memory beside that of some views: where views overlap, their doubles overlap in the same way.

A double lies on the device of its view and stands as it does to cache lines. It starts at zero, or as a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...types.scalars import uint8
from ..devices.cuda import memory as cuda_memory
from ..devices.cuda.memory import DeviceMemory
from ..devices.device import CPU
from .foreign import memory_at
from .host_memory import ALIGNMENT, allocate, allocate_like
from .saved_contents import bounds

Span = tuple[Any, int, int]
"""A range of addresses, and the device that they are on."""


class Doubles:
    """The memory beside that of some views. contents: whether it starts with what they hold."""

    def __init__(self, views: Iterable[np.ndarray], contents: bool = False):
        self._blocks = [_Block(*span, contents) for span in _merged(_span(view) for view in views if view.size)]

    def of(self, view: np.ndarray) -> np.ndarray:
        """The double of one of the views, or of a part of one: the same shape, strides and dtype."""
        if not view.size:
            return allocate_like(view)
        place, low, high = _span(view)
        block = next(b for b in self._blocks if b.place is place and b.low <= low and high <= b.high)
        found: np.ndarray = np.ndarray(view.shape, view.dtype, block.memory, low - block.low, view.strides)
        return found if place.shares_host_memory else cuda_memory.adopted(found, place)

    def restore(self) -> None:
        """What copies held at the beginning."""
        for block in self._blocks:
            block.memory[...] = block.before


class _Block:
    """The bytes beside a range of addresses of a device."""

    def __init__(self, place: Any, low: int, high: int, contents: bool):
        self.place, self.low, self.high = place, low, high
        raw = allocate((high - low + ALIGNMENT,), uint8, zero=not contents, device=place)
        start = (low - raw.ctypes.data) % ALIGNMENT
        self.memory = raw[start : start + high - low]
        if contents:
            self.before = memory_at(low, uint8, (high - low,), None, None, device=place).copy()
            self.memory[...] = self.before


def _span(view: np.ndarray) -> Span:
    return (view.device if isinstance(view, DeviceMemory) else CPU, *bounds(view))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Ranges with overlapping ones of one device joined."""
    joined: list[Span] = []
    for place, low, high in sorted(spans, key=lambda span: (span[0].alias, *span[1:])):
        if joined and joined[-1][0] is place and low < joined[-1][2]:
            joined[-1] = (place, joined[-1][1], max(high, joined[-1][2]))
        else:
            joined.append((place, low, high))
    return joined

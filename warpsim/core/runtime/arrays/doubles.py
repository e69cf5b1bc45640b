"""Shadow copies of array views: they overlap where their views overlap.

A double lies on the device of its view and stands as it does to cache lines. It starts at zero, or as a copy.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....errors import ArrayError
from ...types.scalars import uint8
from ..devices.device import ALIGNMENT, Device, device_of
from .allocation import bounds
from .foreign import memory_at
from .host_memory import allocate_like

Span = tuple[Device, int, int]
"""A range of addresses, and the device that they are on."""


class Doubles:
    """The memory beside that of some views.

    contents: whether it starts with what they hold. beside: other doubles, which have the views that lie in theirs.
    Raises `ArrayError` for views that overlap memory of those, and do not lie in it.
    """

    def __init__(self, views: Iterable[np.ndarray], contents: bool = False, beside: Doubles | None = None):
        known = [] if beside is None else beside._blocks
        spans = [span for view in views if view.size and not _is_known(span := _span(view), known)]
        self._blocks = [*known, *(_Block(*span, contents) for span in _merged(spans))]

    def of(self, view: np.ndarray) -> np.ndarray:
        """The double of one of the views, or of a part of one: the same shape, strides and dtype."""
        if not view.size:
            return allocate_like(view)
        device, low, high = _span(view)
        block = next(b for b in self._blocks if b.device is device and b.low <= low and high <= b.high)
        return device.view_of(np.ndarray(view.shape, view.dtype, block.memory, low - block.low, view.strides))

    def gathered(self, view: np.ndarray) -> np.ndarray:
        """A copy of what there is beside any view, in its shape; zeros where there is nothing."""
        if not view.size:
            return allocate_like(view)
        whole = _Block(*_span(view), False)
        for b in self._blocks:
            low, high = max(b.low, whole.low), min(b.high, whole.high)
            if b.device is whole.device and low < high:
                whole.memory[low - whole.low : high - whole.low] = b.memory[low - b.low : high - b.low]
        return whole.device.view_of(np.ndarray(view.shape, view.dtype, whole.memory, 0, view.strides))

    def restore(self) -> None:
        """What copies held at the beginning."""
        for block in self._blocks:
            block.memory[...] = block.before


class _Block:
    """The bytes beside a range of addresses of a device."""

    def __init__(self, device: Device, low: int, high: int, contents: bool):
        self.device, self.low, self.high = device, low, high
        raw = (device.empty if contents else device.zeros)((high - low + ALIGNMENT,), uint8)
        start = (low - raw.ctypes.data) % ALIGNMENT
        self.memory = raw[start : start + high - low]
        if contents:
            self.before = memory_at(low, uint8, (high - low,), None, None, device=device).copy()
            self.memory[...] = self.before


def _is_known(span: Span, blocks: list[_Block]) -> bool:
    """Whether a range of addresses lies in one of the blocks."""
    device, low, high = span
    met = [b for b in blocks if b.device is device and b.low < high and low < b.high]
    if any(b.low > low or high > b.high for b in met):
        raise ArrayError(
            f"an array at {low:#x} overlaps another one, and does not lie in it\n"
            "expected: views of one array, or arrays apart from each other\nhelp: make both views of one array"
        )
    return bool(met)


def _span(view: np.ndarray) -> Span:
    return (device_of(view), *bounds(view))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Ranges with overlapping ones of one device joined."""
    joined: list[Span] = []
    for device, low, high in sorted(spans, key=lambda span: (span[0].alias, *span[1:])):
        if joined and joined[-1][0] is device and low < joined[-1][2]:
            joined[-1] = (device, joined[-1][1], max(high, joined[-1][2]))
        else:
            joined.append((device, low, high))
    return joined

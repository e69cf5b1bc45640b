"""Shadow copies of array views: they overlap where their views overlap.

A double lies on the device of its view and stands as it does to cache lines. It starts at zero, or as a copy.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....errors import ArrayError
from ...types.scalars import uint8
from ..devices.device import ALIGNMENT, Device, device_of
from ..devices.memory_range import MemoryRange, bounds, merge_ranges
from .foreign import ArrayLayout, memory_at
from .host_memory import allocate_like


class Doubles:
    """The memory beside that of some views.

    contents: whether it starts with what they hold. beside: other doubles, which have the views that lie in theirs.
    Raises `ArrayError` for views that overlap memory of those, and do not lie in it.
    """

    def __init__(self, views: Iterable[np.ndarray], contents: bool = False, beside: Doubles | None = None):
        known = [] if beside is None else beside._blocks
        ranges: dict[Device, list[MemoryRange]] = {}
        for view in views:
            device, addresses = device_of(view), bounds(view)
            if view.size and not _is_known(device, addresses, known):
                ranges.setdefault(device, []).append(addresses)
        apart = sorted(((d, r) for d, of in ranges.items() for r in merge_ranges(of)), key=lambda pair: pair[0].alias)
        self._blocks: list[_Block] = [*known, *(_Block(device, addresses, contents) for device, addresses in apart)]

    def of(self, view: np.ndarray) -> np.ndarray:
        """The double of one of the views, or of a part of one: the same shape, strides and dtype."""
        if not view.size:
            return allocate_like(view)
        device, addresses = device_of(view), bounds(view)
        block = next(b for b in self._blocks if b.device is device and b.addresses.covers(addresses))
        start = addresses.low - block.addresses.low
        return device.view_of(np.ndarray(view.shape, view.dtype, block.memory, start, view.strides))

    def gather(self, view: np.ndarray) -> np.ndarray:
        """A copy of what there is beside any view, in its shape; zeros where there is nothing."""
        if not view.size:
            return allocate_like(view)
        whole = _Block(device_of(view), bounds(view), False)
        for b in self._blocks:
            if b.device is whole.device and b.addresses.meets(whole.addresses):
                both = b.addresses.common(whole.addresses)
                whole.at(both)[...] = b.at(both)
        return whole.device.view_of(np.ndarray(view.shape, view.dtype, whole.memory, 0, view.strides))

    def restore(self) -> None:
        """What copies held at the beginning."""
        for block in self._blocks:
            block.memory[...] = block.before


class _Block:
    """The bytes beside a range of addresses of a device."""

    def __init__(self, device: Device, addresses: MemoryRange, contents: bool):
        self.device, self.addresses = device, addresses
        size = addresses.size
        raw = (device.empty if contents else device.zeros)((size + ALIGNMENT,), uint8)
        start = (addresses.low - raw.ctypes.data) % ALIGNMENT
        self.memory = raw[start : start + size]
        if contents:
            self.before = memory_at(addresses.low, ArrayLayout(uint8, (size,)), device).copy()
            self.memory[...] = self.before

    def at(self, part: MemoryRange) -> np.ndarray:
        """The bytes beside a part."""
        return self.memory[part.low - self.addresses.low : part.high - self.addresses.low]


def _is_known(device: Device, addresses: MemoryRange, blocks: list[_Block]) -> bool:
    """Whether a range of addresses lies in one of the blocks."""
    met = [b for b in blocks if b.device is device and b.addresses.meets(addresses)]
    if not all(b.addresses.covers(addresses) for b in met):
        raise ArrayError(
            f"an array at {addresses.low:#x} overlaps another one, and does not lie in it\n"
            "expected: views of one array, or arrays apart from each other\nhelp: make both views of one array"
        )
    return bool(met)

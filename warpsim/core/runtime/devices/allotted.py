"""Allocations by address: from a user's allocator, or from a device's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ....errors import DeviceError, DeviceMemoryError


@runtime_checkable
class Allocator(Protocol):
    """Gives memory by addresses and takes it back. Sizes are in bytes."""

    def allocate(self, size_in_bytes: int) -> int: ...

    def deallocate(self, ptr: int, size_in_bytes: int) -> None: ...


class DefaultAllocator:
    """A device's own memory, by address. name: of the device; memory: makes so many bytes of it."""

    def __init__(self, name: str, memory: Callable[[int], Any]):
        self.name, self._memory = name, memory
        self._held: dict[int, Any] = {}

    def allocate(self, size_in_bytes: int) -> int:
        """The address of fresh memory, undefined. Raises `MemoryError`."""
        memory = self._memory(size_in_bytes)
        address = int(memory.__array_interface__["data"][0])
        self._held[address] = memory
        return address

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Give back what `allocate` gave. Raises `DeviceError` for another address."""
        if self._held.pop(ptr, None) is None:
            raise DeviceError(f"address {ptr:#x}\nexpected: one that allocate() of the same allocator gave")

    def __repr__(self) -> str:
        return f"DefaultAllocator({self.name!r})"


class Allotted:
    """Memory from an allocator, which gets it back when nothing refers to it any more."""

    def __init__(self, allocator: Allocator, size: int):
        self.allocator, self.size = allocator, size
        self.address = address_from(allocator, size)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.allocator.deallocate(self.address, max(1, self.size))


def address_from(allocator: Allocator, size: int) -> int:
    """Memory of at least one byte. Raises `DeviceMemoryError` for none, and for a place that arrays cannot begin at."""
    address = allocator.allocate(max(1, size))
    if not isinstance(address, int) or address <= 0:
        raise DeviceMemoryError(f"{allocator!r} gave {address!r} for {size:,} bytes\nexpected: an address")
    if address % 16:
        allocator.deallocate(address, max(1, size))
        raise DeviceMemoryError(f"{allocator!r} gave address {address:#x}\nexpected: a multiple of 16")
    return address


def buffer_from(allocator: Allocator, size: int, zero: bool) -> np.ndarray:
    """Bytes of the host from an allocator."""
    memory = np.asarray(Allotted(allocator, size))
    if zero:
        memory[:] = 0
    return memory

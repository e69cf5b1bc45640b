"""CUDA buffers by address: memory freed with the last reference to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..allotted import Allocator, address_from
from .driver import finalize

if TYPE_CHECKING:
    from .device import CudaDevice


class Buffer:
    """Memory on a device, freed when nothing refers to it any more."""

    __slots__ = ("__weakref__", "address", "device", "lent", "pooled", "size")

    def __init__(self, device: CudaDevice, address: int, size: int, pooled: bool):
        self.device, self.address, self.size, self.pooled = device, address, size, pooled
        self.lent = False
        """Whether another framework uses it on a stream that we do not know."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For NumPy's arithmetic of shapes and strides only, see `memory`."""
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        finalize(self.device, partial(self.device.free, self.address, self.pooled, self.lent))


class Lent(Buffer):
    """Memory from an allocator of the user's, which gets it back once all work that may use it is done."""

    __slots__ = ("allocator",)

    def __init__(self, device: CudaDevice, allocator: Allocator, size: int):
        super().__init__(device, address_from(allocator, size), size, pooled=False)
        self.allocator = allocator

    def __del__(self) -> None:
        if hasattr(self, "allocator"):
            finalize(self.device, partial(self.device.give_back, self.allocator, self.address, self.size))

"""Memory allocators: a user's own in place of that of a device.

An allocator is any object with `allocate(size)`, which gives an address, and `deallocate(address, size)`. It has to
give memory that the device can use; what it gave comes back when the last array over it is gone, on CUDA after all
work that may use it.
"""

from __future__ import annotations

from ....errors import ArgumentTypeError
from .allotted import Allocator
from .device import DeviceLike, get_cuda_devices, get_device


def get_device_allocator(device: DeviceLike = None) -> Allocator:
    """The allocator that new arrays of a device come from: the one that was set, else its own."""
    place = get_device(device)
    return place.default_allocator if place.allocator is None else place.allocator


def set_device_allocator(device: DeviceLike, allocator: Allocator | None) -> None:
    """Let new arrays of a device come from an allocator; None: from the device's own. Arrays that exist stay.

    Raises `ArgumentTypeError` for an object without `allocate` and `deallocate`.
    """
    place = get_device(device)
    if allocator is not None and not isinstance(allocator, Allocator):
        raise ArgumentTypeError(
            f"the allocator is {type(allocator).__name__}\n"
            "expected: an object with allocate(size) and deallocate(address, size), or None"
        )
    place.allocator = None if allocator is place.default_allocator else allocator


def set_cuda_allocator(allocator: Allocator | None) -> None:
    """`set_device_allocator` for every CUDA device."""
    for device in get_cuda_devices():
        set_device_allocator(device, allocator)


class ScopedAllocator:
    """`with ScopedAllocator(device, allocator):` makes arrays of a device with an allocator, for a block."""

    def __init__(self, device: DeviceLike, allocator: Allocator | None):
        self.device, self.allocator = get_device(device), allocator

    def __enter__(self) -> Allocator | None:
        self.before = self.device.allocator
        set_device_allocator(self.device, self.allocator)
        return self.allocator

    def __exit__(self, *error: object) -> None:
        self.device.allocator = self.before

"""Bytes of grids in memory of the user: at an address, as many as the header says, or in a buffer."""

from __future__ import annotations


import numpy as np

from ...core.language import array, uint8
from ...core.runtime.arrays.array import array as Array
from ...core.runtime.arrays.foreign import checked_address
from ...core.runtime.devices.device import Device
from ...errors import VolumeFormatError, VolumeTypeError, shown
from ..nanovdb.layout import GRID, MAGIC_GRID, MAGIC_OLD


def grid_at(address: int, size: int, device: Device) -> Array:
    """The bytes of the grid that begins at an address of a device; the caller keeps the memory alive.

    size: how many bytes there are, 0 for as many as the grid says. Raises `VolumeFormatError` where no grid begins or
    where it is larger, `ArrayError` for what is no address.
    """
    address = checked_address(address, GRID.size)
    start = array(ptr=address, dtype=uint8, shape=GRID.size, device=device)
    header = np.frombuffer(start.numpy().tobytes(), GRID.dtype)[0]
    magic, needed = bytes(header["magic"]), int(header["grid_size"])
    if magic not in (MAGIC_OLD, MAGIC_GRID):
        raise VolumeFormatError("grid magic", magic, f"{MAGIC_OLD!r} or {MAGIC_GRID!r}", "a grid begins at its header")
    if size and needed > size:
        raise VolumeFormatError("grid size", needed, f"at most buffer_size, {size}")
    return array(ptr=address, dtype=uint8, shape=needed, device=device)


def bytes_of(data: bytes | bytearray | memoryview | np.ndarray) -> np.ndarray:
    """The bytes of a buffer. Raises `VolumeTypeError` for what is none."""
    try:
        return np.frombuffer(data, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise VolumeTypeError(f"data of a volume is {shown(data)}: {error}\nexpected: bytes, or an array") from None

"""Exported memory: views held by NumPy and other frameworks, and checksums that detect their writes."""

from __future__ import annotations

import ctypes
import zlib

import numpy as np

from ..devices.device_memory import on_host

_BLOCK = 256  # words in a row of the table whose sums stand for large contents
_SMALL = 1 << 14  # bytes up to which every byte goes into the checksum


class _Buffer(ctypes.c_ubyte * (1 << 62)):  # type: ignore[misc]
    """Memory from an address on, which `owner` keeps alive."""

    owner: np.ndarray


def export_view(view: np.ndarray, address: int) -> np.ndarray:
    """A view of the same memory that lives as long as any view made of it.

    NumPy lets a view of a view hold the array at the end of that chain alone. This one is such an end, as the memory
    below it is no array's.
    """
    memory = _Buffer.from_address(address)
    memory.owner = view
    shared: np.ndarray = np.ndarray(view.shape, view.dtype, memory, 0, view.strides)
    return shared


def fingerprint(view: np.ndarray) -> int:
    """A checksum of the contents: of large ones that of sums over the rows and columns of a table of words."""
    if not view.size:
        return 0
    raw = np.ascontiguousarray(on_host(view)).reshape(-1).view(np.uint8)
    if raw.size <= _SMALL:
        return zlib.crc32(raw.data)
    whole = raw.size - raw.size % (8 * _BLOCK)
    table = raw[:whole].view(np.uint64).reshape(-1, _BLOCK)
    sums = zlib.crc32(np.add.reduce(table, axis=0).data, zlib.crc32(np.add.reduce(table, axis=1).data))
    return zlib.crc32(raw[whole:].data, sums)

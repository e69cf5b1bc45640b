"""Exported memory: views held by NumPy and other frameworks, and checksums that detect their writes."""

from __future__ import annotations

import ctypes
import zlib
from functools import cache

import numpy as np

from ..devices.device_memory import on_host

_BLOCK = 1 << 14  # words that are summed at once: with their factors they fit in a core's second cache
_SHIFT = np.uint64(31)  # no multiple of 8, else the sign bits of two numbers in one word would cancel
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
    """A checksum of the contents, which a write by NumPy leaves alone by chance only.

    Small contents: CRC-32, which sees every change of up to 32 bits side by side, and misses one in 2^32 of others.

    Large ones: words of 8 bytes, mixed by a shift, are summed with an odd factor for each place of a block, and the
    sums of all blocks are hashed. Bare sums would not do: the sign bits of doubles are multiples of 2^63, of which an
    even number adds up to zero, and what is swapped keeps its sum. Mixing is one to one, and so is an odd factor: a
    change inside one word alters the sum of its block. Changes of several words of a block cancel by chance: one in
    2^64 where lowest bits change, one in 2^32 where sign bits alone do, which are mixed into bit 32. They cancel for
    certain where bits 63, 32 and 1 of an even number of words flip and no others: no arithmetic on numbers does that.
    """
    if not view.size:
        return 0
    raw = np.ascontiguousarray(on_host(view)).reshape(-1).view(np.uint8)
    if raw.size <= _SMALL:
        return zlib.crc32(raw.data)
    whole = raw.size - raw.size % 8
    return hash(block_sums(raw[:whole].view(np.uint64)).tobytes() + raw[whole:].tobytes())


def block_sums(words: np.ndarray) -> np.ndarray:
    """The sum of each block of words, mixed and times the factor of their place."""
    odd = factors()
    sums = []
    for start in range(0, words.size, _BLOCK):
        block = words[start : start + _BLOCK]
        mixed = block >> _SHIFT
        mixed ^= block
        mixed *= odd[: block.size]
        sums.append(np.add.reduce(mixed))
    return np.array(sums, np.uint64)


@cache
def factors() -> np.ndarray:
    """Random odd numbers, the same in every process; those of a sequence would let regular changes cancel."""
    return np.asarray(np.random.PCG64(1).random_raw(_BLOCK) | np.uint64(1))

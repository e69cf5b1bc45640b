"""Private copies of arrays: the memory, the commands that let each chunk of a launch add into its own, and their sum.

One call of the pool does all of it: chunks clear their copies where they run, and when all are through the copies are
added up in the order of the chunks, by all cores (`copies.ll`). NumPy adds up what is no row of float32 or float64.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache

import numpy as np

from ..devices.device import ALIGNMENT
from ..devices.float_mode import StandardMode
from ..devices.memory_range import span_of
from . import pool

_MOST_SPARE, _MOST_KEPT = 1 << 25, 4  # bytes, blocks
_LEAST_SUMS, _MOST_PIECES = 4096, 64  # numbers of a piece of a sum that one core takes, and how many there are
_NATIVE = {np.dtype(np.float32): "ws_add_copies_f32", np.dtype(np.float64): "ws_add_copies_f64"}

Layout = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides [bytes] and bytes of a number."""


def run(
    kernel: int,
    block: bytes,
    total: int,
    targets: Sequence[tuple[int, np.ndarray]],
    chunk: int,
    flags: int,
    waves: int = 1,
) -> None:
    """Run chunks in turns, each with an argument block that points at its own copies.

    kernel: its address. targets: the words of the argument block that point at arrays, with the memory of these. The
    first chunk has the arrays themselves.
    """
    count, own = -(-total // chunk), pool.get_pool()
    offsets, size = places(tuple(layout(target) for _, target in targets))
    spare = _take((count - 1) * size)
    arrays = [number for (word, _), offset in zip(targets, offsets, strict=True) for number in (word, offset)]
    numbers = (len(block), spare.first, size, chunk, len(targets), *arrays)
    head = struct.pack(f"{2 + len(numbers)}Q", kernel, pool.address_of(block), *numbers)
    entry = (own.copy_addresses["ws_into_copy"], pool.address_of(head), 0, total, chunk)
    commands = [pool.COMMAND.pack(*entry, flags | pool.every(waves, turn)) for turn in range(waves)]
    alive, left = [], []
    for (_, target), offset in zip(targets, offsets, strict=True):
        name = _NATIVE.get(target.dtype) if target.flags.c_contiguous else None
        if name is None or count == 1:
            left.append((target, offset))
            continue
        alive.append(struct.pack("4Q", target.ctypes.data, spare.first + offset, size, count - 1))
        commands.append(sum_command(name, pool.address_of(alive[-1]), target.size))
    own.run(b"".join(commands), len(commands))
    with StandardMode() if left else nullcontext():
        for target, offset in left:
            _add_up(target, spare.rows(count - 1, size), offset)
    _give_back(spare)


def sum_command(name: str, arguments: int, numbers: int) -> bytes:
    """A launch with a thread for each number, in pieces of whole cache lines."""
    piece = max(_LEAST_SUMS, -(-numbers // (_MOST_PIECES * ALIGNMENT)) * ALIGNMENT)
    return pool.COMMAND.pack(pool.get_pool().copy_addresses[name], arguments, 0, numbers, piece, 0)


# ----- where copies lie ---------------------------------------------------------------------------


def layout(memory: np.ndarray) -> Layout:
    return memory.shape, memory.strides, memory.itemsize


@lru_cache(maxsize=1024)
def places(layouts: tuple[Layout, ...]) -> tuple[list[int], int]:
    """Where in a row each array has its copy [bytes], and how long the row is: no two copies share a cache line."""
    offsets, size = [], 0
    for shape, strides, itemsize in layouts:
        offsets.append(size)
        size += -(-span(shape, strides, itemsize) * itemsize // ALIGNMENT) * ALIGNMENT
    return offsets, size


@lru_cache(maxsize=1024)
def span(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Numbers from the first to the last: copies have the strides of the array, for its gradient has them too."""
    return span_of(shape, strides, itemsize) // itemsize


def _add_up(target: np.ndarray, copies: np.ndarray, offset: int) -> None:
    """target += every copy, in order."""
    count = span(*layout(target))
    for row in copies:
        copy = row[offset : offset + count * target.itemsize].view(target.dtype)
        target += np.lib.stride_tricks.as_strided(copy, target.shape, target.strides)


# ----- memory of copies ---------------------------------------------------------------------------


class Memory:
    """Bytes for copies, with anything in them; `first` is the address of the first, which is aligned."""

    def __init__(self, size: int):
        self.raw = np.empty(size + ALIGNMENT, np.uint8)
        self.size = size
        self.start = -self.raw.ctypes.data % ALIGNMENT
        self.first = self.raw.ctypes.data + self.start

    def rows(self, count: int, size: int) -> np.ndarray:
        return self.raw[self.start : self.start + count * size].reshape(count, size)


class _Spare(threading.local):
    """Memory of copies that a thread keeps from launch to launch: the system gives new memory page by page."""

    def __init__(self) -> None:
        self.memory: list[Memory] = []


_spare = _Spare()


def _take(size: int) -> Memory:
    memory = _spare.memory.pop() if _spare.memory else None
    return memory if memory is not None and memory.size >= size else Memory(size)


def _give_back(memory: Memory) -> None:
    """Keep the memory of copies that are no longer used, unless it is much."""
    if memory.size <= _MOST_SPARE and len(_spare.memory) < _MOST_KEPT:
        _spare.memory.append(memory)

"""Private copies of arrays: the memory, the commands that let each chunk of a launch add into its own, and their sum.

One call of the pool does all of it: chunks clear their copies where they run, and when all are through the copies are
added up in the order of the chunks, by all cores (`copies.ll`). NumPy adds up what is no row of float32 or float64.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...emit.layout import WORD, argument_offsets
from ..devices.device import ALIGNMENT
from . import pool
from .launcher import LaunchCall

_MOST_SPARE, _MOST_KEPT = 1 << 25, 4  # bytes, blocks
_LEAST_SUMS, _MOST_PIECES = 4096, 64  # numbers of a piece of a sum that one core takes, and how many there are
_NATIVE = {np.dtype(np.float32): "ws_add_copies_f32", np.dtype(np.float64): "ws_add_copies_f64"}


def run(call: LaunchCall, targets: Sequence[tuple[int, np.ndarray]], chunk: int, flags: int, waves: int = 1) -> None:
    """Run chunks in turns, each with its own argument block that points at its own copies.

    targets: the words of the argument block that point at arrays, with the memory of these. The first chunk has the
    arrays themselves.
    """
    block, total = call.block, call.total
    count = -(-total // chunk)
    offsets, size = _places([target for _, target in targets])
    copies = _rows(count - 1, size)
    first = copies.ctypes.data
    blocks = np.frombuffer(block * count, np.uint8).reshape(count, len(block)).copy()
    starts = np.uint64(first) + np.arange(count - 1, dtype=np.uint64) * np.uint64(size)
    for (word, _), offset in zip(targets, offsets, strict=True):
        blocks.view(np.uint64)[1:, word] = starts + np.uint64(offset)
    chunks = np.zeros((count, 4), np.uint64)  # arguments of ws_into_copy
    chunks[:, 0] = call.launcher.code.address
    chunks[:, 1] = np.uint64(blocks.ctypes.data) + np.arange(count, dtype=np.uint64) * np.uint64(len(block))
    chunks[1:, 2], chunks[1:, 3] = starts, size
    head = (pool.get_pool().copy_addresses["ws_into_copy"], chunks.ctypes.data, chunks.strides[0], total, chunk)
    commands = [pool.COMMAND.pack(*head, flags | pool.every(waves, turn)) for turn in range(waves)]
    sums = np.empty((len(targets), 4), np.uint64)  # arguments of ws_add_copies
    left = []
    for k, (_, target) in enumerate(targets):
        name = _NATIVE.get(target.dtype) if target.flags.c_contiguous else None
        if name is None or count == 1:
            left.append((target, offsets[k]))
            continue
        sums[k] = target.ctypes.data, first + offsets[k], size, count - 1
        commands.append(_sum_command(name, sums[k].ctypes.data, target.size))
    pool.get_pool().run(b"".join(commands), len(commands))
    for target, offset in left:
        _add_up(target, copies, offset)
    _give_back(copies)


def words_of(launcher: Any, parts: Sequence[tuple[int, bool]]) -> list[int]:
    """The words of an argument block that point at arrays, or at their gradients."""
    offsets, _ = argument_offsets(list(launcher.types))
    return [offsets[k] // WORD + gradient for k, gradient in parts]


def _sum_command(name: str, arguments: int, numbers: int) -> bytes:
    """A launch with a thread for each number, in pieces of whole cache lines."""
    piece = max(_LEAST_SUMS, -(-numbers // (_MOST_PIECES * ALIGNMENT)) * ALIGNMENT)
    return pool.COMMAND.pack(pool.get_pool().copy_addresses[name], arguments, 0, numbers, piece, 0)


def _places(targets: Sequence[np.ndarray]) -> tuple[list[int], int]:
    """Where in a row each array has its copy [bytes], and how long the row is: no two copies share a cache line."""
    places, size = [], 0
    for target in targets:
        places.append(size)
        size += -(-span(target) * target.itemsize // ALIGNMENT) * ALIGNMENT
    return places, size


def span(memory: np.ndarray) -> int:
    """Numbers from the first to the last: copies have the strides of the array, for its gradient has them too."""
    last = sum((n - 1) * stride for n, stride in zip(memory.shape, memory.strides, strict=True))
    return 1 + int(last) // memory.itemsize


def _add_up(target: np.ndarray, copies: np.ndarray, offset: int) -> None:
    """target += every copy, in order."""
    count = span(target)
    for row in copies:
        copy = row[offset : offset + count * target.itemsize].view(target.dtype)
        target += np.lib.stride_tricks.as_strided(copy, target.shape, target.strides)


class _Spare(threading.local):
    """Memory of copies that a thread keeps from launch to launch: the system gives new memory page by page."""

    def __init__(self) -> None:
        self.memory: list[np.ndarray] = []


_spare = _Spare()


def _rows(count: int, size: int) -> np.ndarray:
    """Rows of bytes at aligned addresses, with anything in them."""
    raw = _spare.memory.pop() if _spare.memory else np.empty(0, np.uint8)
    if raw.size < count * size + ALIGNMENT:
        raw = np.empty(count * size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * size].reshape(count, size)


def _give_back(rows: np.ndarray) -> None:
    """Keep the memory of copies that are no longer used, unless it is much."""
    raw = rows
    while isinstance(raw.base, np.ndarray):
        raw = raw.base
    if raw.size <= _MOST_SPARE and len(_spare.memory) < _MOST_KEPT:
        _spare.memory.append(raw)

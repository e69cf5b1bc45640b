"""Launches whose kernel scatters sums: `atomic_add` on floats where threads may meet.

x86 has no float atomic, and the order in which threads meet would show in the sums. So a chunk of
threads adds into a private copy of the array, and the copies are added up in chunk order. The number
of chunks depends on the launch alone, never on the number of cores: equal bits on every machine size.
Copies cost memory traffic, so there are few, and none where the array is much larger than the
launch: then the chunks use real atomics, or, when the launch must be deterministic, run one by one.
Measured on 2 cores with 1 M springs over 260 k vertices: private copies take 0.6 of the serial time,
real atomics 2.4.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..emit.layout import WORD, argument_offsets
from . import pool
from .array import overlap
from .memory import ALIGNMENT

MOST_COPIES = 64
_OVERLAPPING, _PRIVATE = 2, 4  # flags of the kernel ABI, see emit.cpu


def execute(launcher: Any, block: bytes, total: int, size: int, args: list[Any], deterministic: bool) -> None:
    """Run a launch of several chunks whose kernel has atomics."""
    flags = _OVERLAPPING if launcher.injective and _any_overlap(args) else 0
    only_sums = all(not use.atomics or use.summed for use in launcher.program.plan.uses.values() if use.atomics)
    sums = launcher.sums
    copies = copy_count(total, [args[k] for k in sums]) if sums else 0
    if copies > 1 and (only_sums or not deterministic):
        _private(launcher, block, total, args, copies, flags)
    elif deterministic and not _order_free(launcher):
        launcher.call(block, 0, total, 0)
    else:
        holder = ctypes.create_string_buffer(block, len(block))
        command = pool.COMMAND.pack(launcher.code.address, ctypes.addressof(holder), 0, total, size, flags)
        pool.get_pool().run(command, 1)


def copy_count(total: int, arrays: list[Any]) -> int:
    """How many private copies pay for themselves; 0 for none. Depends on sizes only."""
    if any(not a._tag.contiguous for a in arrays):
        return 0
    elements = max(a.size for a in arrays)
    if elements == 0 or elements > 2 * total:
        return 0
    return min(MOST_COPIES, max(4, total // (4 * elements)))


def _order_free(launcher: Any) -> bool:
    """Whether all atomics give the same result in any order: integer sums, extremes, own elements."""
    plan = launcher.program.plan
    for use in plan.uses.values():
        for call in use.atomics:
            kind = call.op.name
            floating = np.issubdtype(np.dtype(getattr(call.args[-1].type, "dtype", call.args[-1].type)), np.floating)
            unused = call.results[0] not in plan.used
            free = kind in ("atomic_min", "atomic_max") or (kind in ("atomic_add", "atomic_sub") and not floating)
            if call not in plan.injective and not (unused and free):
                return False
    return True


def _any_overlap(args: list[Any]) -> bool:
    arrays = [a for a in args if hasattr(a, "_tag")]
    return any(overlap(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def _private(launcher: Any, block: bytes, total: int, args: list[Any], copies: int, flags: int) -> None:
    """Run `copies` chunks, each with its own argument block that points at its own copies."""
    offsets, _ = argument_offsets(list(launcher.types))
    blocks = np.frombuffer(block * copies, np.uint8).reshape(copies, len(block)).copy()
    targets = []
    for k in launcher.sums:
        array = args[k]
        spaces = _zeros((copies, array._data.size), array._data.dtype)
        targets.append((array._data.reshape(-1), spaces))
        addresses = spaces.ctypes.data + np.arange(copies, dtype=np.uint64) * np.uint64(spaces.strides[0])
        blocks[:, offsets[k] : offsets[k] + WORD] = addresses.view(np.uint8).reshape(copies, WORD)
    chunk = -(-total // copies)
    command = pool.COMMAND.pack(launcher.code.address, blocks.ctypes.data, len(block), total, chunk, flags | _PRIVATE)
    pool.get_pool().run(command, 1)
    for target, spaces in targets:
        _merge(target, spaces)


def _zeros(shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Zeroed rows at aligned addresses, so that two chunks never share a cache line."""
    step = -(-shape[1] * dtype.itemsize // ALIGNMENT) * ALIGNMENT // dtype.itemsize
    raw = np.zeros(shape[0] * step + ALIGNMENT // dtype.itemsize, dtype)
    start = (-raw.ctypes.data % ALIGNMENT) // dtype.itemsize
    return raw[start : start + shape[0] * step].reshape(shape[0], step)[:, : shape[1]]


def _merge(target: np.ndarray, spaces: np.ndarray) -> None:
    """target += every copy, in order."""
    for row in spaces:
        target += row

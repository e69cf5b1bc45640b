"""Launches whose kernel scatters sums: `atomic_add` on floats where threads may meet.

x86 has no float atomic, and the order in which threads meet would show in the sums. So a chunk of
threads adds into a private copy of the array, and the copies are added up in chunk order. The number
of chunks depends on the launch alone, never on the number of cores: equal bits on every machine size.
Where threads only add near their own index, as stencils do in reverse, chunks touch their neighbours at
most: then every second chunk runs, and after these the others, on the array itself.
All that takes some 40 us a launch and a pass over the copies, so a launch that one thread is through with in 300 us
is a single chunk, of plain sums. Copies cost memory traffic, so there are few, and none where the array is much
larger than the launch: then the chunks use real atomics, or, when the launch must be deterministic, run one by one.
Sums at addresses that all threads share never depend on scheduling; without copies they are serial.
Measured on 2 cores with 1 M springs over 260 k vertices: private copies take 0.6 of the serial time,
real atomics 2.4.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...emit.layout import GATHERED_PRIVATE, SCATTERED_PRIVATE, WORD, argument_offsets
from ...passes.analysis.atomics import AtomicPlan, Part
from ...types.compounds import scalar_of, size_of
from ...types.scalars import is_float
from ..arrays.array import array
from ..arrays.host_memory import meets_itself
from ..arrays.indexed import indexedarray
from ..arrays.saved_contents import span
from ..devices.device import ALIGNMENT
from . import pool
from .dimensions import as_indexed
from .launcher import LaunchCall

MOST_COPIES = 64
LEAST_WORK = 300_000.0  # estimated time [ns] of a launch whose sums are worth several chunks
_SHORT = 1 << 18  # elements of all copies together
_MOST_SPARE, _MOST_KEPT = 1 << 25, 4  # bytes, blocks
_COMMUTATIVE = ("atomic_add", "atomic_sub", "atomic_and", "atomic_or", "atomic_xor")
_EXTREMES = ("atomic_min", "atomic_max")


def scatters(plan: AtomicPlan) -> bool:
    """Whether threads may meet at elements that they do not all share: each pays for its own atomics then."""
    together = {*plan.uniform, *plan.combined, *plan.gathered}
    return any(call not in together and call not in plan.injective for call in plan.atomics())


class SumsOf:
    """What the program alone says of its sums: which parts scatter, which are gathered, whether order shows."""

    def __init__(self, plan: AtomicPlan):
        parts = plan.summed()
        self.scattered = [part for part in parts if not plan.use(part).gathered]
        self.gathered = [part for part in parts if plan.use(part).gathered]
        self.may_be_near = bool(self.scattered) and not plan.unknown and all(p in plan.reach for p in self.scattered)
        self.is_order_free = order_free(plan)


def run_chunks(call: LaunchCall, size: int) -> None:
    """Run a launch of several chunks whose kernel has atomics."""
    launcher, total, args = call.launcher, call.total, call.args
    plan, sums = launcher.program.plan, launcher.sums
    scattered, gathered = sums.scattered, sums.gathered
    near = sums.may_be_near and not any(meets_itself(memory_of_part(args, part)._data) for part in scattered)
    few, many = (copy_count(total, [memory_of_part(args, part) for part in parts]) for parts in (scattered, gathered))
    exact = (near or few > 0) and sums.is_order_free
    own_elements_meet = bool(plan.injective) and any_overlap(args)
    if many == 0 or own_elements_meet or (call.deterministic and not exact):
        launcher.run_in_order(call)
        return
    flags = (SCATTERED_PRIVATE if near or few else 0) | (GATHERED_PRIVATE if many else 0)
    copied = [*(scattered if few and not near else ()), *gathered]
    private = [part for part in copied if memory_of_part(args, part).size]
    if near:
        reach = max(plan.reach[part] for part in scattered)
        size = max(size, -(-total // (many if private else total)), (2 * reach + 1) * _row(call))
        _private(call, private, size, flags, waves=2)
    elif private:
        _private(call, private, -(-total // min(few or many, many)), flags)
    else:
        command = pool.COMMAND.pack(launcher.code.address, pool.address_of(call.block), 0, total, size, flags)
        pool.get_pool().run(command, 1)


def _row(call: LaunchCall) -> int:
    """Threads with one first index."""
    return 1 if call.launcher.ndim <= 1 else int(call.total // max(1, as_indexed(call.dim, call.launcher.ndim)[0]))


def memory_of_part(args: Sequence[Any], part: tuple[int, bool]) -> Any:
    """The array argument at a position, or its gradient array, which may be None."""
    argument = args[part[0]]
    if not part[1]:
        return argument
    return (argument if isinstance(argument, array) else argument.data)._gradient


def copy_count(total: int, arrays: list[Any]) -> int:
    """How many private copies pay for themselves; 0 for none. Depends on sizes only."""
    if not all(isinstance(a, array) and a._data.dtype.names is None for a in arrays):
        return 0  # an indexedarray, or structs, which NumPy cannot add up
    if any(meets_itself(a._data) for a in arrays):
        return 0  # an element of the copies would not be an element of the array
    elements = max((_span(a._data) // size_of(a.dtype) for a in arrays), default=0)
    if elements > 2 * total:
        return 0
    return min(MOST_COPIES, max(4, total // (4 * max(elements, 1))))


def order_free(plan: Any) -> bool:
    """Whether all atomics but sums give the same result in any order."""
    return all(call in plan.injective or call in plan.sums or _commutes(call, plan) for call in plan.atomics())


def is_ordered(plan: Any) -> bool:
    """Whether the order of threads shows in a result where every atomic is real: sums of floats round."""
    return not all(call in plan.injective or _commutes(call, plan) for call in plan.atomics())


def _commutes(call: Any, plan: Any) -> bool:
    """Integer sums, bits and extremes, when nobody reads what was there before."""
    floating = is_float(scalar_of(call.args[-1].type))
    free = call.op.name in _EXTREMES or (call.op.name in _COMMUTATIVE and not floating)
    return free and call.results[0] not in plan.used


def any_overlap(args: Sequence[Any]) -> bool:
    """Whether two arrays or gradients among the arguments may share memory, or one shares some with itself."""
    arrays = [a if isinstance(a, array) else a.data for a in args if isinstance(a, array | indexedarray)]
    arrays += [a._gradient for a in arrays if a._gradient is not None]
    if not all(a._tag.apart for a in arrays):
        return True
    spans = sorted(span(a) for a in arrays if a.size)
    return any(later[0] < earlier[1] for earlier, later in pairwise(spans))


def _private(call: LaunchCall, private: list[Part], chunk: int, flags: int, waves: int = 1) -> None:
    """Run chunks in turns, each with its own argument block that points at its own copies of `private`.

    The first chunk has the arrays themselves.
    """
    launcher, block, total = call.launcher, call.block, call.total
    offsets, _ = argument_offsets(list(launcher.types))
    copies = -(-total // chunk)
    blocks = np.frombuffer(block * copies, np.uint8).reshape(copies, len(block)).copy()
    words = blocks.view(np.uint64)
    targets = []
    for k, gradient in private:
        target = memory_of_part(call.args, (k, gradient))._data
        spaces = _zeros((copies - 1, _span(target)), target.dtype)
        targets.append((target, spaces))
        at = offsets[k] // WORD + gradient
        words[1:, at] = spaces.ctypes.data + np.arange(copies - 1, dtype=np.uint64) * np.uint64(spaces.strides[0])
    head = (launcher.code.address, blocks.ctypes.data, len(block), total, chunk)
    commands = [pool.COMMAND.pack(*head, flags | pool.every(waves, first)) for first in range(waves)]
    pool.get_pool().run(b"".join(commands), waves)
    for target, spaces in targets:
        _merge(target, spaces)
        _give_back(spaces)


class _Spare(threading.local):
    """Memory of copies that a thread keeps from launch to launch: the system gives new memory page by page."""

    def __init__(self) -> None:
        self.memory: list[np.ndarray] = []


_spare = _Spare()


def _zeros(shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Zeroed rows at aligned addresses, so that two chunks never share a cache line."""
    step = -(-shape[1] * dtype.itemsize // ALIGNMENT) * ALIGNMENT
    size = shape[0] * step + ALIGNMENT
    raw = _spare.memory.pop() if _spare.memory else np.empty(0, np.uint8)
    if raw.size < size:
        raw = np.empty(size, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    rows: np.ndarray = raw[start : start + shape[0] * step].view(dtype).reshape(shape[0], step // dtype.itemsize)
    rows[...] = 0
    return rows[:, : shape[1]]


def _give_back(rows: np.ndarray) -> None:
    """Keep the memory of copies that are no longer used, unless it is much."""
    raw = rows
    while isinstance(raw.base, np.ndarray):
        raw = raw.base
    if raw.size <= _MOST_SPARE and len(_spare.memory) < _MOST_KEPT:
        _spare.memory.append(raw)


def _span(memory: np.ndarray) -> int:
    """Numbers from the first to the last: copies have the strides of the array, for its gradient has them too."""
    last = sum((n - 1) * stride for n, stride in zip(memory.shape, memory.strides, strict=True))
    return 1 + int(last) // memory.itemsize


def _merge(target: np.ndarray, spaces: np.ndarray) -> None:
    """target += every copy, in order. Short copies are added up first: calls would cost more than sums."""
    if 0 < spaces.size <= _SHORT:
        spaces = np.add.reduce(spaces, axis=0)[None]
    for row in spaces:
        target += np.lib.stride_tricks.as_strided(row, target.shape, target.strides)

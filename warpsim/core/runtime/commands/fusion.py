"""Fused launches: neighbours in a graph whose threads need nothing of each other run as one loop over strips.

Where every array that one of them writes is reached at a thread's own element alone, thread `t` of a launch waits for
thread `t` of the one before, and for no other. So each strip of some hundred threads goes through all launches while
its elements are in the cache, and workers are called once (`ws_strips` in pool.ll). The kernels stay as they were
compiled, and each element sees the same operations in the same order: the bits cannot change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...emit.layout import HEADER_WORDS, WORD, argument_offsets
from ...ir.nodes import count
from ...passes.analysis.ownership import Reach
from ..arrays.allocation import span
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..launches import pool
from ..launches.launcher import LaunchCall
from .command import Launch

_LARGEST = 1000  # nodes of a kernel that is looked at: a larger one computes more than it waits for memory
_STRIP_BYTES = 1 << 14  # of the elements of a strip: half of a small first cache
_LEAST_STRIP = 128  # threads: fewer do not pay for the calls
_LINE = 64  # threads, of which strips are multiples: like chunks they begin where vectors do

Memory = dict["Place", str]
"""What launches reach, with the names of their parameters for it."""


class Place(NamedTuple):
    """The bytes of an array, and which of its indices are a thread's own (see `Reach`): none where elements overlap."""

    low: int
    high: int
    strides: tuple[int, ...]
    itemsize: int
    own: frozenset[tuple[int, int]]
    writes: bool

    def joins_threads(self, other: Place, ndim: int) -> bool:
        """Whether a thread may reach here what another one reaches there, and one of them writes it."""
        if not (self.writes or other.writes) or self.high <= other.low or other.high <= self.low:
            return False
        return self[:4] != other[:4] or len({axis for axis, _ in self.own & other.own}) < ndim


@dataclass
class Loop:
    """Launches that run as one."""

    calls: list[LaunchCall]
    apart: str
    """Why they are not in the loop before; empty if there is none."""
    alone: str
    """Why no other launch may join; empty if others may."""
    memory: Memory = field(default_factory=dict)

    def refusal(self, call: LaunchCall, memory: Memory) -> str:
        """Why a launch cannot join; empty if it can."""
        if self.alone:
            return f"the one before stands by itself: {self.alone}"
        if _threads(self.calls[0]) != _threads(call):
            return "the one before has other threads"
        return conflict(self.memory, memory, call.launcher.ndim)

    def add(self, call: LaunchCall, memory: Memory) -> None:
        self.calls.append(call)
        self.memory |= memory

    @property
    def strip(self) -> int:
        """How many threads go through all launches before others begin."""
        own = {place._replace(writes=True) for place in self.memory if place.own}
        size = sum(place.high - place.low for place in own) // self.calls[0].total
        return max(_LEAST_STRIP, _STRIP_BYTES // max(size, 1) // _LINE * _LINE)

    def block(self) -> bytes:
        """The argument block of `ws_strips`; those of the launches must live as long."""
        return block_of_strips([(call.launcher.code.address, call.block) for call in self.calls], self.strip)

    @property
    def chunk(self) -> int:
        """How many threads a core takes at a time."""
        cost = sum(max(0.25, call.launcher.program.nanoseconds) for call in self.calls)
        return pool.chunk_size(self.calls[0].total, cost)

    def command(self, block: bytes) -> bytes:
        """The loop as a command for the pool of threads, with its argument block, which must live as long."""
        return command_of_strips(block, self.calls[0].total, self.chunk)


def block_of_strips(launches: Sequence[tuple[int, bytes]], strip: int) -> bytes:
    """The argument block of `ws_strips` for launches: addresses of machine code, and blocks that live as long."""
    words = [word for address, block in launches for word in (address, pool.address_of(block))]
    return struct.pack(f"@{2 + len(words)}Q", len(launches), strip, *words)


def command_of_strips(block: bytes, total: int, chunk: int) -> bytes:
    """A loop as a command for the pool of threads; chunk: how many of its threads a core takes at a time."""
    return pool.COMMAND.pack(pool.get_pool().strips_address, pool.address_of(block), 0, total, chunk, 0)


def loops(calls: Iterable[LaunchCall]) -> Iterator[Loop]:
    """Native launches one after the other, fused where that changes nothing; those without threads are left out."""
    loop: Loop | None = None
    for call in calls:
        if not call.total:
            continue
        alone = why_alone(call)
        memory = {} if alone else memory_of(call)
        if memory is None:
            alone, memory = "its arguments do not name all memory that it reaches", {}
        alone = alone or conflict(memory, memory, call.launcher.ndim)
        apart = "" if loop is None else alone or loop.refusal(call, memory)
        if loop is not None and not apart:
            loop.add(call, memory)
            continue
        if loop is not None:
            yield loop
        loop = Loop([call], apart, alone, memory)
    if loop is not None:
        yield loop


class Packed:
    """Commands for the pool of threads, one behind the other: one call of the pool."""

    def __init__(self, packed: bytes, count: int):
        self.packed, self.count = packed, count

    def __call__(self) -> None:
        pool.get_pool().run(self.packed, self.count)


class Commands(Packed):
    """Native launches as one call of the pool of threads, fused where that changes nothing."""

    def __init__(self, launches: Sequence[Launch]):
        self.kept: list[bytes] = []
        packed = []
        for loop in loops(launch.ready.call for launch in launches):
            if len(loop.calls) == 1:
                packed.append(loop.calls[0].launcher.command(loop.calls[0]))
            else:
                self.kept.append(loop.block())
                packed.append(loop.command(self.kept[-1]))
        super().__init__(b"".join(filter(None, packed)), len(packed))


def why_alone(call: LaunchCall) -> str:
    """Why a launch can be in no loop with others, as far as the arrays play no part; empty if it can."""
    launcher = call.launcher
    plan = launcher.program.plan
    if not launcher.ndim:
        return "its threads do not ask for their index"
    if launcher.settings.fast_math:
        return "fast_math may round otherwise where a strip ends"
    if count(launcher.program.fn.body) > _LARGEST:
        return "it computes for longer than it waits for memory"
    if not plan.injective.issuperset(plan.atomics()):
        return "its atomics go to elements of other threads"
    return ""


def conflict(one: Memory, other: Memory, ndim: int) -> str:
    """Which array joins threads of two launches, or of one; empty for none."""
    for place, name in other.items():
        for former, former_name in one.items():
            if place.joins_threads(former, ndim):
                arrays = name if name == former_name else f"{former_name}, {name}"
                return f"a thread may reach what another one changes ({arrays})"
    return ""


def memory_of(call: LaunchCall) -> Memory | None:
    """What a launch reaches; None if its arguments do not tell."""
    launcher, memory = call.launcher, {}
    known = None if launcher.program.handle_params else launcher.reaches
    if known is None:
        return None
    names = [*launcher.kernel.patterns, *(f"extra {k}" for k in range(len(launcher.types)))]
    for reach in known:
        held: Any = call.args[reach.position]
        for name in filter(None, reach.path.split(".")):
            held = getattr(held, name)
        places = places_of(call, reach, held)
        if places is None:
            return None
        path = ".".join(filter(None, (names[reach.position], reach.path, "grad" * reach.is_grad)))
        memory.update(dict.fromkeys(places, path))
    return memory


def places_of(call: LaunchCall, reach: Reach, held: Any) -> list[Place] | None:
    """Where an array is that a launch reaches, with the tables through which it is seen; None if nobody knows."""
    if isinstance(held, indexedarray) and not reach.is_grad:
        tables = [Place(*span(t), (), 0, frozenset(), False) for t in held.indices if t is not None]
        return [Place(*span(held.data), (), 0, frozenset(), reach.writes), *tables]
    if not isinstance(held, array):
        return [] if held is None else None
    low, high = span(held)
    if reach.is_grad:
        if reach.path:
            return None
        gradient = _gradient_address(call, reach.position)
        low, high = (gradient, gradient + high - low) if gradient else (0, 0)
    own = reach.own if held._tag.apart else frozenset()
    return [Place(low, high, tuple(held.strides), held._data.itemsize, own, reach.writes)]


def _gradient_address(call: LaunchCall, position: int) -> int:
    """The address of the gradient that an array had when the launch was packed."""
    offsets, _ = argument_offsets(list(call.launcher.types))
    return int(struct.unpack_from("@Q", call.block, offsets[position] + WORD)[0])


def _threads(call: LaunchCall) -> tuple[int, bytes]:
    """The shape of the threads: how many indices they have, and the extents."""
    return call.launcher.ndim, call.block[WORD : HEADER_WORDS * WORD]

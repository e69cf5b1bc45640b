"""Fused launches: neighbours in a graph whose threads need nothing of each other run as one loop over strips.

Where every array that one of them writes is reached at a thread's own element alone, thread `t` of a launch waits for
thread `t` of the one before, and for no other. So each strip of some hundred threads goes through all launches while
its elements are in the cache, and workers are called once (`ws_strips` in pool.ll). The kernels stay as they were
compiled, and each element sees the same operations in the same order: the bits cannot change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...emit.layout import HEADER_WORDS, WORD, argument_offsets
from ...ir.nodes import count
from ...passes.analysis.ownership import Own
from ...types.array_ref import ArrayRef
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.memory_range import MemoryRange, range_of
from ..launches import pool
from ..launches.launcher import LaunchCall
from .fields import Fields
from .launch import LaunchStep
from .refusals import damage_error
from .step import GraphPart, GraphReader, GraphWriter, Json, Step, StepWatcher

_LARGEST = 1000  # nodes of a kernel that is looked at: a larger one computes more than it waits for memory
_STRIP_BYTES = 1 << 14  # of the elements of a strip: half of a small first cache
_LEAST_STRIP = 128  # threads: fewer do not pay for the calls
_LINE = 64  # threads, of which strips are multiples: like chunks they begin where vectors do

Memory = dict["Place", str]
"""What launches reach, with the names of their parameters for it."""


class Place(NamedTuple):
    """The bytes of an array, and which of its indices are a thread's own: none where elements overlap."""

    addresses: MemoryRange
    strides: tuple[int, ...]
    itemsize: int
    own: Own
    writes: bool

    def joins_threads(self, other: Place, ndim: int) -> bool:
        """Whether a thread may reach here what another one reaches there, and one of them writes it."""
        if not (self.writes or other.writes) or not self.addresses.meets(other.addresses):
            return False
        return self[:3] != other[:3] or len({axis for axis, _ in self.own & other.own}) < ndim


class FusedLaunches(Step):
    """Launches of the same threads, strip by strip. strip: how many threads go through all launches before others
    begin; chunk: how many a core takes at a time."""

    def __init__(self, launches: Sequence[LaunchStep], strip: int, chunk: int):
        self.parts = self.launches = launches
        self.strip, self.chunk = strip, chunk
        calls = [launch.call for launch in launches]
        words = [w for call in calls for w in (call.launcher.code.address, pool.address_of(call.block))]
        self.block = struct.pack(f"@{2 + len(words)}Q", len(calls), strip, *words)  # as `ws_strips` takes it
        start = pool.get_pool().strips_address, pool.address_of(self.block)
        self.command = pool.COMMAND.pack(*start, 0, calls[0].total, chunk, 0)

    def run(self) -> None:
        assert self.command is not None
        pool.get_pool().run(self.command, 1)

    def run_watched(self, watcher: StepWatcher) -> None:
        watcher.run_loop(self, [launch.call for launch in self.launches])

    def in_report(self) -> GraphPart:
        launches = [launch.in_report() for launch in self.parts]
        return GraphPart("loop", tuple(k for part in launches for k in part.kernels), launches[0].threads, self.strip)

    def save(self, file: GraphWriter) -> Iterator[Json]:
        yield {"do": "loop", "launches": list(super().save(file)), "strip": self.strip, "size": self.chunk}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Step:
        launches = [LaunchStep.read(p, file) for p in part.parts("launches")]
        if not launches or file.device.has_stream or len({launch.call.total for launch in launches}) > 1:
            raise damage_error(part.place, "a loop over launches that have not the same threads")
        return cls(launches, part.integer("strip", low=1), part.integer("size", low=1))


class Piece(NamedTuple):
    """A step as a graph runs it. apart: why it is not one loop with the piece before; empty where nobody asks."""

    step: Step
    apart: str = ""

    @property
    def part(self) -> GraphPart:
        """The piece in a report."""
        part = self.step.in_report()
        return replace(part, why=self.apart) if self.apart else part


@dataclass
class Loop:
    """Neighbouring launches that are to run as one."""

    launches: list[LaunchStep]
    apart: str
    """Why they are not in the loop before; empty if there is none."""
    alone: str
    """Why no other launch may join; empty if others may."""
    memory: Memory = field(default_factory=dict)

    def refusal(self, call: LaunchCall, memory: Memory) -> str:
        """Why a launch cannot join; empty if it can."""
        if self.alone:
            return f"the one before stands by itself: {self.alone}"
        if _threads(self.launches[0].call) != _threads(call):
            return "the one before has other threads"
        return conflict(self.memory, memory, call.launcher.ndim)

    def add(self, launch: LaunchStep, memory: Memory) -> None:
        self.launches.append(launch)
        self.memory |= memory

    def piece(self) -> Piece:
        """The launches as one step."""
        if len(self.launches) == 1:
            return Piece(self.launches[0], self.apart)
        calls = [launch.call for launch in self.launches]
        own = {place._replace(writes=True) for place in self.memory if place.own}
        size = sum(place.addresses.size for place in own) // calls[0].total
        strip = max(_LEAST_STRIP, _STRIP_BYTES // max(size, 1) // _LINE * _LINE)
        cost = sum(max(0.25, call.launcher.program.nanoseconds) for call in calls)
        return Piece(FusedLaunches(self.launches, strip, pool.chunk_size(calls[0].total, cost)), self.apart)


def pieces(steps: Iterable[Step]) -> Iterator[Piece]:
    """Steps with native launches fused where that changes nothing; launches without threads are left out."""
    loop: Loop | None = None
    for step in steps:
        joined = None
        if isinstance(step, LaunchStep) and step.command is not None:
            if not step.call.total:
                continue
            joined = _join(loop, step)
        if loop is not None and joined is not loop:
            yield loop.piece()
        loop = joined
        if loop is None:
            yield Piece(step)
    if loop is not None:
        yield loop.piece()


def _join(loop: Loop | None, launch: LaunchStep) -> Loop:
    """The loop that a launch joined, or one of its own."""
    call = launch.call
    alone = why_alone(call)
    memory = {} if alone else memory_of(call)
    if memory is None:
        alone, memory = "its arguments do not name all memory that it reaches", {}
    alone = alone or conflict(memory, memory, call.launcher.ndim)
    if loop is None:
        return Loop([launch], "", alone, memory)
    apart = alone or loop.refusal(call, memory)
    if apart:
        return Loop([launch], apart, alone, memory)
    loop.add(launch, memory)
    return loop


def why_alone(call: LaunchCall) -> str:
    """Why a launch can be in no loop with others, as far as the arrays play no part; empty if it can."""
    launcher = call.launcher
    if launcher.program is None:
        return "its program is not in the file"
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
    program = launcher.program
    known = None if program.handle_params else program.own
    if known is None:
        return None
    names = [*launcher.kernel.patterns, *(f"extra {k}" for k in range(len(launcher.types)))]
    for ref, own in known.items():
        places = places_of(call, ref, own, ref in program.uses and program.uses[ref].changes)
        if places is None:
            return None
        memory.update(dict.fromkeys(places, ref.name(names)))
    return memory


def places_of(call: LaunchCall, ref: ArrayRef, own: Own, writes: bool) -> list[Place] | None:
    """Where an array is that a launch reaches, with the tables through which it is seen; None if nobody knows."""
    held = ref.of(call.args)
    if isinstance(held, indexedarray) and not ref.is_grad:
        tables = [Place(range_of(t), (), 0, frozenset(), False) for t in held.indices if t is not None]
        return [Place(range_of(held.data), (), 0, frozenset(), writes), *tables]
    if not isinstance(held, array):
        return [] if held is None else None
    addresses = range_of(held)
    if ref.is_grad:
        if ref.path:
            return None
        gradient = _gradient_address(call, ref.position)
        addresses = MemoryRange(gradient, gradient + addresses.size if gradient else 0)
    own = own if held._tag.apart else frozenset()
    return [Place(addresses, tuple(held.strides), held._data.itemsize, own, writes)]


def _gradient_address(call: LaunchCall, position: int) -> int:
    """The address of the gradient that an array had when the launch was packed."""
    offsets, _ = argument_offsets(list(call.launcher.types))
    return int(struct.unpack_from("@Q", call.block, offsets[position] + WORD)[0])


def _threads(call: LaunchCall) -> tuple[int, bytes]:
    """The shape of the threads: how many indices they have, and the extents."""
    return call.launcher.ndim, call.block[WORD : HEADER_WORDS * WORD]

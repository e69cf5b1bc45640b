"""Steps of a graph out of a file, ready to run: launches of machine code, copies, branches, loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..runtime.commands.conditional import holds
from ..runtime.commands.fusion import Packed, block_of_strips, command_of_strips
from ..runtime.devices.cuda import graphs
from ..runtime.devices.device import Device
from ..runtime.devices.device_memory import DeviceMemory, on_host
from ..runtime.launches import pool
from ..runtime.launches.failed_checks import Report
from ..runtime.launches.handles import Record
from ..runtime.launches.ways import Way
from ..runtime.tape.array_step import ArrayStep
from ..runtime.tape.host_gradients import add_to
from .operations import Transpose


class Named(NamedTuple):
    """What messages call a kernel."""

    key: str


class LoadedKernel(NamedTuple):
    """A kernel as machine code on a device, with what a report of failed checks asks for."""

    kernel: Named
    code: Any
    device: Device


class LoadedLaunch:
    """A launch. dim: its dimensions; checked: whether its threads may report failed checks."""

    def __init__(
        self, loaded: LoadedKernel, way: Way, block: bytes, total: int, dim: tuple[int, ...], checked: bool
    ):  # fmt: skip
        self.loaded, self.way, self.block, self.total = loaded, way, block, total
        self.dim, self.checked = dim, checked

    @property
    def command(self) -> bytes | None:
        """The launch as a command for the pool of threads, if that is all there is to do."""
        command: Callable[..., bytes] | None = getattr(self.way, "command", None)
        return None if self.checked or command is None else command(self.loaded.code, self.block, self.total)

    @property
    def device(self) -> Device | None:
        """The CUDA device that it is nothing but work for."""
        return self.loaded.device if self.loaded.device.has_stream and not self.checked else None

    def __call__(self) -> None:
        if not self.checked:
            self.way.run(self.loaded.code, self.block, self.total)
            return
        report = Report(self.loaded)
        self.way.run(self.loaded.code, report.attached(self.block), self.total)
        report.raise_if_failed()


class LoadedLoop:
    """Launches of the same threads, strip by strip."""

    device = None

    def __init__(self, launches: Sequence[LoadedLaunch], strip: int, size: int):
        self.launches, self.strip = launches, strip
        pairs = [(launch.loaded.code.address, launch.block) for launch in launches]
        self._block = block_of_strips(pairs, strip)
        self.command = command_of_strips(self._block, launches[0].total, size)

    def __call__(self) -> None:
        pool.get_pool().run(self.command, 1)


class Picked(NamedTuple):
    """Elements of memory that index tables pick; None stands for a whole dimension."""

    memory: np.ndarray
    tables: list[np.ndarray | None]

    @property
    def indices(self) -> tuple[np.ndarray, ...]:
        pairs = zip(self.memory.shape, self.tables, strict=False)
        return np.ix_(*[np.arange(n) if t is None else on_host(t) for n, t in pairs])


class LoadedMove:
    """A copy of elements, or a sum into elements."""

    what, command = "copy", None

    def __init__(self, target: Any, source: Any, adds: bool):
        self.target, self.source, self.adds = target, source, adds

    @property
    def device(self) -> Device | None:
        """The CUDA device that it is nothing but work for."""
        there = isinstance(self.target, DeviceMemory) and not isinstance(self.source, Picked)
        return self.target.device if there else None

    def __call__(self) -> None:
        source = self.source.memory[self.source.indices] if isinstance(self.source, Picked) else self.source
        if isinstance(self.target, Picked):
            self.target.memory[self.target.indices] = on_host(source)
            return
        target = self.target
        if source.size == target.size:
            source = source.reshape(target.shape)
        if self.adds:
            add_to(target, source)
            return
        with np.errstate(invalid="ignore", over="ignore"):
            target[...] = source if isinstance(target, DeviceMemory) else on_host(source)


class LoadedOperation:
    """An operation on whole arrays that the host does, or its transpose."""

    command = device = None

    def __init__(self, operation: ArrayStep | Transpose):
        self.operation, self.what = operation, operation.name

    def __call__(self) -> None:
        self.operation.run()


class LoadedPublication:
    """The id of a structure stands for other arrays from here on."""

    what = "new arrays of a structure"
    command = device = None

    def __init__(self, record: Record, content: bytes):
        self.record, self.content = record, content

    def __call__(self) -> None:
        self.record.content[...] = np.frombuffer(self.content, np.uint8)
        self.record.publish()


class LoadedBranch:
    """One of two lists of steps, by what an array holds."""

    what = "capture_if"
    command = device = None

    def __init__(self, condition: np.ndarray, then: Batches, otherwise: Batches):
        self.condition, self.then, self.otherwise = condition, then, otherwise

    def __call__(self) -> None:
        (self.then if holds(self.condition) else self.otherwise)()


class LoadedRepeat:
    """Steps as long as an array holds something else than zero."""

    what = "capture_while"
    command = device = None

    def __init__(self, condition: np.ndarray, body: Batches):
        self.condition, self.body = condition, body

    def __call__(self) -> None:
        while holds(self.condition):
            self.body()


class Batches:
    """Steps in order: neighbouring native launches are one call, neighbouring work for a GPU is one CUDA graph."""

    name = "a graph out of a file"

    def __init__(self, steps: Sequence[Any]):
        self.steps = steps
        self._batches: list[Callable[[], None]] | None = None

    def __call__(self) -> None:
        if self._batches is None:
            self._batches = list(self._batched())
        for batch in self._batches:
            batch()

    def _batched(self) -> Iterator[Callable[[], None]]:
        for kind, group in groupby(self.steps, lambda step: step.command is not None or step.device or False):
            steps = list(group)
            if kind is True:
                yield Packed(b"".join(step.command for step in steps), len(steps))
            else:
                yield from steps if kind is False else graphs.sections(kind, steps)

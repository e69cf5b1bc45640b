"""Recorded launches and captured graphs: lists of commands that replay without Python work.

A `Launch` keeps a packed argument block whose parameters can be exchanged. A graph is what was
launched between `capture_begin` and `capture_end`; on the CPU its kernels run in one native call.
While capturing, launches and array operations are recorded, not run.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from ...errors import LaunchError
from . import pool
from .device import get_device
from .dimensions import extent, normalized

_state = threading.local()


def active() -> Graph | None:
    """The graph that this thread is capturing, or None."""
    return getattr(_state, "graph", None)


def address_of(block: bytes) -> int:
    """The address of the bytes of an argument block, which must outlive its use."""
    return ctypes.cast(ctypes.c_char_p(block), ctypes.c_void_p).value or 0


class Launch:
    """A launch recorded with `record_cmd=True`: change parameters, then `launch()` again."""

    def __init__(self, launcher: Any, dim: Any, args: list[Any], deterministic: bool):
        self.launcher, self.args, self.deterministic = launcher, list(args), deterministic
        self.dim = dim
        self._pack()

    @property
    def kernel(self) -> Any:
        return self.launcher.kernel

    def _pack(self) -> None:
        self.total, header = _extent(self.dim, self.launcher)
        block = self.launcher.pack(self.args, header)
        if block is None:
            from .launch import explain, prepared  # noqa: PLC0415 - launch builds on this file

            self.launcher, self.args = prepared(self.launcher.kernel, self.args, get_device("cpu"))
            block = self.launcher.pack(self.args, header)
            if block is None:
                explain(self.launcher, self.args)
        assert block is not None
        self.block = block
        size = pool.chunk_size(self.total, self.launcher.cost)
        serial = self.total <= self.launcher.serial_limit
        self.native = not self.launcher.reports and (serial or not self.launcher.has_atomics)
        self.command = pool.COMMAND.pack(
            self.launcher.code.address, address_of(self.block), 0, self.total, size, 0
        )

    def set_dim(self, dim: Any) -> None:
        """Change the launch dimensions."""
        self.dim = dim if isinstance(dim, int) else tuple(dim)
        self._pack()

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Change one argument by position."""
        if not 0 <= index < len(self.args):
            raise LaunchError(f"parameter {index} of kernel {self.kernel.key!r}\nexpected: 0 to {len(self.args) - 1}")
        self.args[index] = value
        self._pack()

    def set_param_by_name(self, name: str, value: Any, adjoint: bool = False) -> None:
        """Change one argument by name."""
        names = list(self.kernel.patterns)
        if name not in names:
            raise LaunchError(f"kernel {self.kernel.key!r} has no parameter {name!r}\nexpected: {', '.join(names)}")
        self.set_param_at_index(names.index(name), value)

    def set_param_at_index_from_ctype(self, index: int, value: Any) -> None:
        """Change a number by position, given as a ctypes value."""
        self.set_param_at_index(index, getattr(value, "value", value))

    def set_param_by_name_from_ctype(self, name: str, value: Any) -> None:
        """Change a number by name, given as a ctypes value."""
        self.set_param_by_name(name, getattr(value, "value", value))

    def set_params(self, values: Any) -> None:
        """Change all arguments."""
        if len(values) != len(self.args):
            raise LaunchError(f"{len(values)} values for {len(self.args)} parameters of kernel {self.kernel.key!r}")
        self.args = list(values)
        self._pack()

    def launch(self, stream: Any = None) -> None:
        """Run with the present arguments (or record into the graph being captured)."""
        graph = active()
        if graph is not None:
            graph.add(self)
        else:
            self.run()

    def run(self) -> None:
        if self.native:
            pool.get_pool().run(self.command, 1)
        else:
            from .launch import execute  # noqa: PLC0415 - launch builds on this file

            execute(self.launcher, self.block, self.total, self.args, self.deterministic)


def _extent(dim: Any, launcher: Any) -> tuple[int, bytes]:
    return extent(normalized(dim), launcher.kernel.key, launcher.ndim)


class Graph:
    """Recorded steps; neighbouring native launches are packed into one command list."""

    def __init__(self, device: Any):
        self.device = device
        self.steps: list[Launch | Callable[[], None]] = []
        self.batches: list[tuple[bytes, int] | Callable[[], None]] | None = None

    def add(self, step: Launch | Callable[[], None]) -> None:
        self.steps.append(step)
        self.batches = None

    def launch(self) -> None:
        """Run everything in order."""
        if self.batches is None:
            self.batches = self._batched()
        for batch in self.batches:
            if isinstance(batch, tuple):
                pool.get_pool().run(*batch)
            else:
                batch()

    def _batched(self) -> list[tuple[bytes, int] | Callable[[], None]]:
        batches: list[tuple[bytes, int] | Callable[[], None]] = []
        for step in self.steps:
            if isinstance(step, Launch) and step.native:
                last = batches[-1] if batches else None
                if isinstance(last, tuple):
                    batches[-1] = (last[0] + step.command, last[1] + 1)
                else:
                    batches.append((step.command, 1))
            else:
                batches.append(step.run if isinstance(step, Launch) else step)
        return batches


def capture_begin(device: Any = None, stream: Any = None, **options: Any) -> None:
    """Start recording launches of this thread instead of running them."""
    if active() is not None:
        raise LaunchError("a capture is already running on this thread\nhelp: call capture_end() first")
    _state.graph = Graph(get_device(device))


def capture_end(device: Any = None, stream: Any = None) -> Graph:
    """Stop recording and return the graph."""
    graph = active()
    if graph is None:
        raise LaunchError("no capture is running on this thread\nhelp: call capture_begin() first")
    _state.graph = None
    return graph


def capture_launch(graph: Graph, stream: Any = None) -> None:
    """Run a captured graph."""
    graph.launch()


class ScopedCapture:
    """`with ScopedCapture() as capture:` records the block; run it with `capture_launch(capture.graph)`."""

    def __init__(self, device: Any = None, stream: Any = None, **options: Any):
        self.device = device
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.graph = capture_end(self.device)

"""Recorded launches and captured graphs: lists of commands that replay without Python work.

A `Launch` keeps a packed argument block whose parameters can be exchanged. A graph is what was
launched between `capture_begin` and `capture_end`; on the CPU its kernels run in one native call, and
neighbouring work on a CUDA device in one CUDA graph. While capturing, launches and array operations are
recorded, not run. So tapes that began before see nothing of a capture, and all of it when the graph is launched;
those that begin in it act in the time of the graph (see `frames`).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from ....errors import LaunchError, TapeError
from ..arrays import saved_contents
from ..devices.capture import Work, current_graph, set_current_graph
from ..devices.cuda import graphs
from ..devices.device import Device, get_device
from ..devices.stream import ScopedStream
from . import pool
from .anchors import anchors
from .dimensions import normalized
from .frames import Stay
from .kernel import Kernel
from .launcher import LaunchCall


class Launch:
    """A launch recorded with `record_cmd=True`: change parameters, then `launch()` again.

    A change that does not fit raises what `wp.launch` would raise, and leaves the launch as it was.
    """

    plain: Launch | None = None  # the same without notes, where it notes what its atomics return
    noted: Mapping[int, Any] = MappingProxyType({})  # the arrays for that, by the number of the atomic
    with_gradient: Callable[[list[Any], int, Any], list[Any]] | None = None
    """The arguments with another gradient at a position."""
    watched: ClassVar[Callable[[Any], None]]  # runs a launch while tapes record; bound by `recording`

    def __init__(self, call: LaunchCall):
        self.bound = Bound(call)

    @property
    def kernel(self) -> Kernel:
        return self.bound.call.launcher.kernel

    @property
    def dim(self) -> Any:
        return self.bound.call.dim

    @property
    def args(self) -> list[Any]:
        """The present arguments; structs as they were when they were given."""
        return list(self.bound.call.args)

    def _bind(self, dim: Any, args: list[Any]) -> None:
        """Take other dimensions and arguments, or raise and keep the present ones."""
        self.bound = Bound(self.bound.call.rebound(dim, args))

    def run(self) -> None:
        """Run with the present arguments."""
        self.bound.run()  # as it is now: another thread may set other arguments meanwhile

    @property
    def command(self) -> bytes | None:
        """The launch as a command for the pool of threads, if that is all there is to do."""
        return self.bound.command

    @property
    def device(self) -> Device | None:
        """The device whose current stream is given the launch, if that is all there is to do."""
        return self.bound.call.launcher.stream_device

    def set_dim(self, dim: Any) -> None:
        """Change the launch dimensions."""
        self._bind(normalized(dim), self.args)

    def set_param_at_index(self, index: int, value: Any, adjoint: bool = False) -> None:
        """Change one argument by position; adjoint: its gradient, of an adjoint launch."""
        if not 0 <= index < len(self.args):
            raise LaunchError(f"parameter {index} of kernel {self.kernel.key!r}\nexpected: 0 to {len(self.args) - 1}")
        args = list(self.args)
        if not adjoint:
            args[index] = value
        elif self.with_gradient is None:
            raise LaunchError(
                f"the gradient of parameter {index} of a launch of kernel {self.kernel.key!r}\n"
                "expected: an adjoint launch: wp.launch(..., adjoint=True, record_cmd=True)"
            )
        else:
            args = self.with_gradient(args, index, value)
        self._bind(self.dim, args)

    def set_param_by_name(self, name: str, value: Any, adjoint: bool = False) -> None:
        """Change one argument by name; adjoint: its gradient, of an adjoint launch."""
        names = list(self.kernel.patterns)
        if name not in names:
            raise LaunchError(f"kernel {self.kernel.key!r} has no parameter {name!r}\nexpected: {', '.join(names)}")
        self.set_param_at_index(names.index(name), value, adjoint)

    def set_param_at_index_from_ctype(self, index: int, value: Any) -> None:
        """Change a number by position, given as a ctypes value."""
        self.set_param_at_index(index, getattr(value, "value", value))

    def set_param_by_name_from_ctype(self, name: str, value: Any) -> None:
        """Change a number by name, given as a ctypes value."""
        self.set_param_by_name(name, getattr(value, "value", value))

    def set_params(self, values: Any) -> None:
        """Change all arguments."""
        if len(values) != len(self.args):
            raise LaunchError(
                f"{len(values)} values for kernel {self.kernel.key!r}\nexpected: {len(self.args)}, one per parameter"
            )
        self._bind(self.dim, list(values))

    def launch(self, stream: Any = None) -> None:
        """Run with the present arguments; while a graph is captured, record the launch as it is now."""
        if stream is not None:
            with ScopedStream(stream, sync_enter=False):
                self.launch()
        elif current_graph() is None:
            self.replay()
        else:
            copy.copy(self).replay()  # parameters that are set later belong to later launches

    def submit(self) -> None:
        """Run now or put into a graph, without a word to tapes."""
        capture = current_graph()
        if capture is not None:
            capture.add(self)
        else:
            self.run()

    def replay(self) -> None:
        """Run now or put into a graph; tapes are told, but for adjoints."""
        if saved_contents.alert and self.bound.call.launcher.form.kind != "adjoint":
            self.watched()
        else:
            self.submit()


class Bound:
    """A launch with its present arguments: as a command for the pool if that is all there is to do."""

    def __init__(self, call: LaunchCall):
        self.call, self.command = call, call.launcher.command(call)
        self.anchors = list(anchors(call.args))

    def run(self) -> None:
        guard = self.call.launcher.guard
        if guard is not None:  # elements may refer to other arrays than when it was recorded
            guard(self.call.args)
        if self.command is not None:
            pool.get_pool().run(self.command, 1)
        else:
            self.call.run()


class Graph:
    """Recorded steps; neighbouring native launches are packed into one command list."""

    def __init__(self, device: Any):
        self.device = device
        self.steps: list[Launch | Work] = []
        self.unseen: set[int] = set()  # numbers of steps that tapes are not to record
        self.batches: list[tuple[bytes, int] | Callable[[], None]] | None = None
        self.tapes_outside: tuple[Any, ...] = ()  # those that recorded when the capture began
        self.sessions: list[saved_contents.Session] = []  # of tapes that recorded in the capture
        self.stays: list[Stay] = []
        self.pinned: list[saved_contents.Session] = []
        self.kept: list[Any] = []

    def add(self, step: Launch | Work) -> None:
        if saved_contents.paused():
            self.unseen.add(len(self.steps))
        self.steps.append(step)
        self.batches = None

    def keep(self, things: Any) -> None:
        """Keep alive what steps use without holding it."""
        self.kept.append(things)

    def pin(self, session: saved_contents.Session) -> None:
        """Let what a tape keeps live as long as the graph."""
        session.pin()
        self.pinned.append(session)

    def __del__(self) -> None:
        for session in self.pinned:
            session.unpin()

    def end(self) -> None:
        """The capture is over: nothing that tapes recorded in it is there before the graph runs."""
        self.stays = [Stay(session) for session in self.sessions if session.live]
        for stay in self.stays:
            stay.leave(self)

    def launch(self) -> None:
        """Run everything in order, or add it to the graph that is captured."""
        capture = current_graph()
        for stay in self.stays:
            stay.leave(self)
        others = saved_contents.alert - sum(stay.session.begun and stay.session.live for stay in self.stays)
        if capture is not None or others:
            self._replay()
        else:
            self._run()
        for stay in self.stays:
            stay.enter(capture)
        if capture is not None:
            capture.keep(self)
            capture.sessions += [s.session for s in self.stays if s.session not in capture.sessions]

    def _replay(self) -> None:
        """Step by step, under the eyes of tapes."""
        for number, step in enumerate(self.steps):
            if number in self.unseen:
                with saved_contents.Paused():
                    step.replay()
            else:
                step.replay()

    def _run(self) -> None:
        if self.batches is None:
            self.batches = list(self._batched())
        for batch in self.batches:
            if isinstance(batch, tuple):
                pool.get_pool().run(*batch)
            else:
                batch()

    def _batched(self) -> Iterator[tuple[bytes, int] | Callable[[], None]]:
        for kind, group in itertools.groupby(self.steps, _kind):
            steps = list(group)
            if kind is True:
                yield b"".join(step.command for step in steps), len(steps)  # type: ignore[union-attr, misc]
                continue
            runs = [step.run for step in steps]
            yield from runs if kind is False else graphs.sections(kind, runs)


def _kind(step: Launch | Work) -> Any:
    """What neighbouring steps must have in common to run together: True native, a device, or False for nothing."""
    return step.command is not None or step.device or False


def capture_begin(
    device: Any = None, stream: Any = None, force_module_load: bool | None = None, external: bool = False,
    apic: bool = False, capture_mode: Any = None,
) -> None:  # fmt: skip
    """Start recording launches and array operations of this thread instead of running them.

    The options after `stream` are for CUDA. Raises `LaunchError` when a capture is running already.
    """
    if current_graph() is not None:
        raise LaunchError("a capture is already running on this thread\nhelp: call capture_end() first")
    made = Graph(get_device(device))
    made.tapes_outside = saved_contents.active()
    saved_contents.set_active(())
    set_current_graph(made)


def capture_end(device: Any = None, stream: Any = None) -> Graph:
    """Stop recording and return the graph.

    Raises `LaunchError` when no capture is running, `TapeError` when a tape that began in it records still.
    """
    graph = current_graph()
    if graph is None:
        raise LaunchError("no capture is running on this thread\nhelp: call capture_begin() first")
    open_tapes = saved_contents.active()
    set_current_graph(None)
    saved_contents.set_active(graph.tapes_outside)
    graph.end()
    if open_tapes:
        raise TapeError("a tape that began in the capture records still\nexpected: its end before that of the capture")
    return graph


def capture_launch(graph: Graph, stream: Any = None) -> None:
    """Run a captured graph; while another is captured, add its steps to that one. Tapes record what runs."""
    if not isinstance(graph, Graph):
        raise LaunchError(f"{graph!r} is not a graph\nexpected: what capture_end() returned, or capture.graph")
    with ScopedStream(stream, sync_enter=False):
        graph.launch()


class ScopedCapture:
    """`with ScopedCapture() as capture:` records the block; run it with `capture_launch(capture.graph)`."""

    def __init__(
        self, device: Any = None, stream: Any = None, force_module_load: bool | None = None, external: bool = False,
        apic: bool = False, capture_mode: Any = None,
    ):  # fmt: skip
        self.device = device
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.graph = capture_end(self.device)

"""Captured graphs: lists of commands that replay without Python work.

A graph is what was launched between `capture_begin` and `capture_end`; on the CPU its kernels run in one native call,
neighbours fused to one loop where they can be (see `fusion`), and neighbouring work on a CUDA device in one CUDA
graph. While capturing, launches and array operations are recorded, not run. So tapes that began before see nothing of
a capture, and all of it when the graph is launched; those that begin in it act in the time of the graph (see `frames`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....errors import LaunchError, TapeError
from ..arrays import saved_contents
from ..devices.capture import HostWork, current_graph, set_current_graph
from ..devices.cuda import graphs
from ..devices.device import get_device
from ..devices.stream import ScopedStream
from ..devices.unique import Unique
from ..launches.frames import Stay
from ..launches.launcher import LaunchCall
from .capture_mode import CaptureMode
from .command import Launch
from .fusion import Commands
from .graph_report import GraphReport, parts_of


class Graph(Unique):
    """Recorded steps; neighbouring native launches are packed into one command list."""

    def __init__(self, device: Any):
        self.device = device
        self.steps: list[Launch | HostWork] = []
        self.unseen: set[int] = set()  # numbers of steps that tapes are not to record
        self.batches: list[Callable[[], None]] | None = None
        self.tapes_outside: tuple[Any, ...] = ()  # those that recorded when the capture began
        self.paused_outside = False  # a pause around the capture says nothing of launches of the graph after it
        self.sessions: list[saved_contents.Session] = []  # of tapes that recorded in the capture
        self.stays: list[Stay] = []
        self.pinned: list[saved_contents.Session] = []
        self.kept: list[Any] = []

    def add(self, step: Launch | HostWork) -> None:
        if saved_contents.paused():
            self.unseen.add(len(self.steps))
        self.steps.append(step)
        self.batches = None

    def takes(self, calls: Sequence[LaunchCall]) -> bool:
        """Add launches that no tape is told of, if machine code of the CPU is all that they run; else add nothing."""
        launches = [Launch.of(call) for call in calls]
        native = all(launch.command is not None for launch in launches)
        for launch in launches if native else ():
            self.add(launch)
        return native

    def keep(self, things: Any) -> None:
        """Keep alive what steps use without holding it."""
        self.kept.append(things)

    def pin(self, session: saved_contents.Session) -> None:
        """Let what a tape keeps live as long as the graph."""
        session.pin()
        self.pinned.append(session)

    def __del__(self, process_ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not process_ends():  # see `Tape.__del__`
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
        others = saved_contents.alert - sum(stay.session.started and stay.session.live for stay in self.stays)
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
        """Step by step, while tapes record."""
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
            batch()

    def _batched(self) -> Iterator[Callable[[], None]]:
        for kind, steps in self.groups():
            runs = [step.run for step in steps]
            if kind is True:
                yield Commands(steps)
            else:
                yield from runs if kind is False else graphs.sections(kind, runs)

    # ----- parameters, of graphs out of files alone -------------------------------------------

    is_loaded = False
    """Whether the graph came out of a file, see `capture_load`."""

    @property
    def params(self) -> dict[str, dict[str, int]]:
        """The named arrays of a graph out of a file, each with its `size` [bytes]; of another graph none."""
        return {}

    def set_param(self, name: str, arr: Any) -> None:
        """Copy an array into a named array of a graph out of a file. Raises `LaunchError` for another graph."""
        raise self._has_no_params("set_param")

    def get_param(self, name: str, arr: Any) -> None:
        """Copy a named array of a graph out of a file into an array. Raises `LaunchError` for another graph."""
        raise self._has_no_params("get_param")

    def get_param_ptr(self, name: str) -> int | None:
        """The address of a named array of a graph out of a file. Raises `LaunchError` for another graph."""
        raise self._has_no_params("get_param_ptr")

    def _has_no_params(self, method: str) -> LaunchError:
        return LaunchError(
            f"{method} of a graph that was captured in this process\nexpected: one that capture_load returned\n"
            "help: this graph works on the arrays that it was captured with: write to them, a.assign(values)"
        )

    # ----- what it is -------------------------------------------------------------------------

    def groups(self) -> Iterator[tuple[Any, list[Any]]]:
        """Neighbouring steps that run together, with what they have in common: True native launches, a device that
        all of them are work for, or False for nothing."""
        return ((kind, list(steps)) for kind, steps in itertools.groupby(self.steps, _kind))

    def report(self) -> GraphReport:
        """How the graph runs: which launches are one loop, and why others are not. `print(graph.report())`."""
        return GraphReport(tuple(part for kind, steps in self.groups() for part in parts_of(kind, steps)))


def _kind(step: Launch | HostWork) -> Any:
    """What neighbouring steps must have in common to run together: True native, a device, or False for nothing."""
    return step.command is not None or step.device or False


def capture_begin(
    device: Any = None, stream: Any = None, force_module_load: bool | None = None, external: bool = False,
    apic: bool = False, capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
) -> None:  # fmt: skip
    """Start recording launches and array operations of this thread instead of running them.

    The options after `stream` have no effect: every graph can be written into a file (`apic`, see `capture_save`), and
    calls of other libraries are never in the way of a capture (`capture_mode`). Raises `LaunchError` when a capture is
    running already, `ValueError` for what is no `CaptureMode`.
    """
    CaptureMode(capture_mode)
    if current_graph() is not None:
        raise LaunchError("a capture is already running on this thread\nhelp: call capture_end() first")
    graph = Graph(get_device(device))
    graph.tapes_outside, graph.paused_outside = saved_contents.active(), saved_contents.paused()
    saved_contents.set_active(())
    saved_contents.set_paused(False)
    set_current_graph(graph)


def capture_end(device: Any = None, stream: Any = None) -> Graph:
    """Stop recording and return the graph.

    Raises `LaunchError` when no capture is running, `TapeError` when a tape that began in it records still.
    """
    graph: Graph | None = current_graph()
    if graph is None:
        raise LaunchError("no capture is running on this thread\nhelp: call capture_begin() first")
    open_tapes = saved_contents.active()
    set_current_graph(None)
    saved_contents.set_active(graph.tapes_outside)
    saved_contents.set_paused(graph.paused_outside)
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
        apic: bool = False, capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
    ):  # fmt: skip
        self.device, self.capture_mode = device, CaptureMode(capture_mode)
        self.graph: Graph | None = None
        self.active = False
        """Whether the capture is running."""

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device, capture_mode=self.capture_mode)
        self.active = True
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.active = False
        self.graph = capture_end(self.device)

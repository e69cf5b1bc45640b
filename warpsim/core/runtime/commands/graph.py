"""Captured graphs: lists of commands that replay without Python work.

A graph is what was launched between `capture_begin` and `capture_end`; on the CPU its kernels run in one native call,
neighbours fused to one loop where they can be (see `steps.fusion`), and neighbouring work on a CUDA device in one CUDA
graph. While capturing, launches and array operations are recorded, not run. So tapes that began before see nothing of
a capture, and all of it when the graph is launched; those that begin in it act in the time of the graph (see `frames`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....errors import LaunchError, TapeError, instance
from ..arrays import saved_contents
from ..arrays.array import array
from ..devices.capture import current_graph, set_current_graph
from ..devices.device import Device, DeviceLike, get_device
from ..devices.stream import ScopedStream, Stream
from ..devices.unique import Unique
from ..launches.frames import Stay
from ..steps.batches import parts, runs
from ..steps.fusion import Piece, pieces
from ..steps.host_call import call_or_record
from ..steps.step import Step
from .graph_report import GraphReport
from .parameters import Contents


class Graph(Unique):
    """Recorded steps; neighbouring native launches are packed into one command list.

    contents: of a graph out of a file, what the file brought along. Its memory is its own: nothing that it was captured
    with is shared. While another graph is captured, launches, `set_param` and `get_param` become steps of that one. No
    gradient passes through a launch: what is to be differentiated is captured with its adjoints. Several threads may
    use several graphs, not one at the same time.
    """

    def __init__(self, device: Device, steps: Sequence[Step] = (), contents: Contents | None = None):
        self.device, self.contents = device, contents
        self.steps = list(steps)
        self.unseen: set[int] = set()  # numbers of steps that tapes are not to record
        self.batches: list[Callable[[], None]] | None = None
        self.tapes_outside: tuple[Any, ...] = ()  # those that recorded when the capture began
        self.paused_outside = False  # a pause around the capture says nothing of launches of the graph after it
        self.sessions: list[saved_contents.Session] = []  # of tapes that recorded in the capture
        self.stays: list[Stay] = []
        self.pinned: list[saved_contents.Session] = []
        self.kept: list[Any] = []

    def add(self, step: Step) -> None:
        if saved_contents.is_paused():
            self.unseen.add(len(self.steps))
        self.steps.append(step)
        self.batches = None

    def keep(self, things: object) -> None:
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
        if self.contents is not None:
            self._launch_stored(capture)
            return
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

    def _launch_stored(self, capture: Graph | None) -> None:
        """The same of a graph out of a file, of which tapes know nothing."""
        if saved_contents.active():
            raise TapeError(
                "a graph out of a file is launched while a tape records, and no gradient passes through it\n"
                "help: launch it outside of the tape, or capture the adjoints, too: tape.backward(loss) in the capture"
            )
        if capture is not None:
            capture.keep(self)
        call_or_record(self._run, None, self.launch, "a graph out of a file")

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
            self.batches = list(runs(self.pieces()))
        for batch in self.batches:
            batch()

    # ----- parameters, of graphs out of files alone -------------------------------------------

    @property
    def params(self) -> dict[str, dict[str, int]]:
        """The named arrays of a graph out of a file, each with its `size` [bytes]; of another graph none."""
        named = {} if self.contents is None else self.contents.named
        return {name: {"size": parameter.memory.nbytes} for name, parameter in named.items()}

    def set_param(self, name: str, arr: array) -> None:
        """Copy an array into a named array of a graph out of a file.

        arr: an array on the device of the graph, of the same dtype and number of elements, or of as many numbers of
        the same type. Raises `GraphFileError` for an array that does not fit and a name that the graph does not have,
        `ArgumentTypeError` for what is no array, `DeviceError` for one on another device, `LaunchError` for a graph
        that was captured in this process.
        """
        self._contents("set_param").parameter(name, arr).copied_from(arr)

    def get_param(self, name: str, arr: array) -> None:
        """Copy a named array into an array, as `set_param` does the other way; raises the same."""
        self._contents("get_param").parameter(name, arr).copied_to(arr)

    def get_param_ptr(self, name: str) -> int | None:
        """The address of a named array, which is good as long as the graph lives; None for a name it does not have.

        Raises `LaunchError` for a graph that was captured in this process.
        """
        parameter = self._contents("get_param_ptr").named.get(instance(name, str, "name"))
        return None if parameter is None else int(parameter.memory.ctypes.data)

    def _contents(self, method: str) -> Contents:
        if self.contents is None:
            raise LaunchError(
                f"{method} of a graph that was captured in this process\nexpected: one that capture_load returned\n"
                "help: this graph works on the arrays that it was captured with: write to them, a.assign(values)"
            )
        return self.contents

    def __repr__(self) -> str:
        if self.contents is None:
            return super().__repr__()
        return f"Graph({', '.join(f'{name}: {p}' for name, p in self.contents.named.items())})"

    # ----- what it is -------------------------------------------------------------------------

    def pieces(self) -> Iterator[Piece]:
        """The steps as they run: native launches fused where that changes nothing."""
        return pieces(self.steps)

    def report(self) -> GraphReport:
        """How the graph runs: which launches are one loop, and why others are not. `print(graph.report())`."""
        return GraphReport(tuple(parts(self.pieces())))


def capture_begin(device: DeviceLike = None) -> None:
    """Start recording launches and array operations of this thread instead of running them.

    Raises `LaunchError` when a capture is running already.
    """
    if current_graph() is not None:
        raise LaunchError("a capture is already running on this thread\nhelp: call capture_end() first")
    graph = Graph(get_device(device))
    graph.tapes_outside, graph.paused_outside = saved_contents.active(), saved_contents.is_paused()
    saved_contents.set_active(())
    saved_contents.set_paused(False)
    set_current_graph(graph)


def capture_end() -> Graph:
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


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Run a captured graph; while another is captured, add its steps to that one. Tapes record what runs."""
    if not isinstance(graph, Graph):
        raise LaunchError(f"{graph!r} is not a graph\nexpected: what capture_end() returned, or capture.graph")
    with ScopedStream(stream, sync_enter=False):
        graph.launch()


class ScopedCapture:
    """`with ScopedCapture() as capture:` records the block; run it with `capture_launch(capture.graph)`."""

    def __init__(self, device: DeviceLike = None):
        self.device = device
        self.graph: Graph | None = None
        self.active = False
        """Whether the capture is running."""

    def __enter__(self) -> ScopedCapture:
        capture_begin(self.device)
        self.active = True
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.active = False
        self.graph = capture_end()

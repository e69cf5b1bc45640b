"""Launches, steps and graphs, timed: every launch by itself, and each piece of a graph as the graph runs it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from sys import _getframe
from time import perf_counter_ns as clock
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..core.runtime.devices.capture import current_graph
from ..core.runtime.steps.step import Step
from .device_time import EventPair
from .host import is_inside, site
from .moved import bytes_of, forget_sizes
from .timeline import LAUNCH, CalledAt, OpenSpan, lines, present

STEP, GRAPH, REVERSE = "step", "graph", "reverse"

_pieces: weakref.WeakKeyDictionary[Any, tuple[int, Any, list[Any]]] = weakref.WeakKeyDictionary()
_places: weakref.WeakKeyDictionary[Any, tuple[CodeType | None, int]] = weakref.WeakKeyDictionary()


def forget() -> None:
    """No profile is on any more: what was worked out for launches and graphs may go."""
    forget_sizes()
    _pieces.clear()


# ----- launches ---------------------------------------------------------------------------------


def time_launches(execute: Any) -> Callable[..., Any]:
    """Launches that are done when the call returns."""

    def watched(self: Any, call: Any, in_order: bool = False) -> Any:
        if self.device.has_stream:
            return execute(self, call, in_order)
        now = present()
        start = clock()
        try:
            if call.total > self.serial_limit or self.reports:
                return execute(self, call, in_order)
            return self.function(call.block, 0, call.total, 0)
        finally:
            end = clock()
            code, offset = now.place or called_from(_getframe(2))
            for line in now.lines:
                line.launch(self, code, offset, call, start, end, bytes_of)

    return watched


def called_from(frame: FrameType) -> tuple[CodeType, int]:
    """The call of the program that led to a frame, which is two of the package's below it."""
    outer = frame.f_back
    while outer is not None and is_inside(outer):
        frame, outer = outer, outer.f_back
    return (outer or frame).f_code, (outer or frame).f_lasti


def time_on_device(execute: Any) -> Callable[..., Any]:
    """Launches on a CUDA device: the host is done with them before they run, so that events tell their time."""

    def watched(self: Any, call: Any, in_order: bool = False) -> Any:
        if self.device.is_capturing:
            return execute(self, call, in_order)
        place = site()
        with OpenSpan("submission", str(self.device)), EventPair(self.device) as events:
            result = execute(self, call, in_order)
        events.note(self, place, call)
        return result

    return watched


# ----- steps and graphs -------------------------------------------------------------------------


def show_recorded(submit: Any) -> Callable[..., Any]:
    """Recorded launches: those that were made ready before the profile began call machine code by themselves."""

    def watched(self: Any) -> Any:
        if current_graph() is not None:
            submit(self)
        else:
            self.run_openly()

    return watched


def note_places(add: Any) -> Callable[..., Any]:
    """Steps of a graph that is captured, with their call sites."""

    def watched(self: Any, step: Any) -> Any:
        _places[step] = site()
        return add(self, step)

    return watched


def run_in_pieces(run: Any) -> Callable[..., Any]:
    """A graph, piece by piece: the same pieces that run otherwise, each by a call of its own."""

    def watched(self: Any) -> Any:
        place = site()
        with OpenSpan(GRAPH, f"graph of {len(self.steps)} steps", *place):
            for step, watcher in pieces_of(self, place):
                step.run_watched(watcher)

    return watched


def pieces_of(graph: Any, place: tuple[CodeType | None, int]) -> list[tuple[Step, Visible]]:
    """The pieces of a graph, fused where they are when it runs without a profile, and where to count them.

    place: for those whose call site nobody knows.
    """
    count, where, pieces = _pieces.get(graph, (-1, place, []))
    if (count, where) != (len(graph.steps), place):
        steps = [piece.step for piece in graph.pieces()]
        pieces = [(step, Visible(first_place(step) or place, STEP)) for step in steps]
        _pieces[graph] = len(graph.steps), place, pieces
    return pieces


def first_place(step: Any) -> tuple[CodeType | None, int] | None:
    """The call site of a step, or of the first of its parts, that was captured while a profile was on."""
    return _places.get(step) or next((_places[part] for part in step.parts if part in _places), None)


def run_visibly(step: Step, place: tuple[CodeType | None, int] | None, kind: str = STEP) -> None:
    """Run a step so that every launch in it is counted, at a call site (None: where it is called).

    kind: of the span for a step that is more than launches.
    """
    step.run_watched(Visible(place, kind))


class Visible(NamedTuple):
    """Counts what steps do. place: the call site; kind: of the span for what is no launch."""

    place: tuple[CodeType | None, int] | None
    kind: str

    def run_launch(self, step: Any) -> None:
        now = present()
        before, now.place = now.place, self.place
        try:
            step.run_openly()
        finally:
            now.place = before

    def run_loop(self, step: Step, calls: Sequence[Any]) -> None:
        start = clock()
        step.run()
        end = clock()
        size = sum(map(bytes_of, calls))
        for line in lines():
            row = line.row(LAUNCH, f"{step.name} (one loop)", *(self.place or site()))
            row.bytes, row.threads = row.bytes + size, calls[0].total
            line.add(row, start, end)

    def run_other(self, step: Step) -> None:
        with OpenSpan(self.kind, step.name, *(self.place or site())), CalledAt(None):
            step.run()

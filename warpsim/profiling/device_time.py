"""Times of work on CUDA devices, by events on its stream, once they have happened."""

from __future__ import annotations

from time import perf_counter_ns as clock
from typing import Any

from ..core.runtime.devices.stream import Event, get_event_elapsed_time, get_stream, synchronize_event
from .moved import count_launch
from .timeline import LAUNCH, Book, Row, Timeline, books

_MOST_PENDING = 1024


class DeviceLine:
    """The timeline of a device in one profile, and pairs of events whose times nobody has asked for yet."""

    def __init__(self, device: Any, start: int):
        self.timeline = Timeline(str(device), start)
        self.origin = Event(device, enable_timing=True)
        get_stream(device).record_event(self.origin)
        synchronize_event(self.origin)
        self.moment = clock()  # of the first event
        self.pending: list[tuple[Row, Event, Event]] = []

    def resolve(self) -> None:
        """Wait for the work that is pending, and count it."""
        pending, self.pending = self.pending, []
        for row, first, last in pending:
            start = self.moment + int(1e6 * get_event_elapsed_time(self.origin, first))
            spent = int(1e6 * get_event_elapsed_time(first, last))
            self.timeline.add(row, start, start + max(spent, 0))


class EventPair:
    """The submission of work to a device, between two events: `with EventPair(device):`; then `note` what it was."""

    def __init__(self, device: Any):
        self.device = device

    def __enter__(self) -> EventPair:
        self.lines = [line_of(book, self.device) for book in books()]
        self.first, self.last = Event(self.device, enable_timing=True), Event(self.device, enable_timing=True)
        get_stream(self.device).record_event(self.first)
        return self

    def __exit__(self, *error: object) -> None:
        get_stream(self.device).record_event(self.last)

    def note(self, launcher: Any, place: tuple[Any, int], call: Any) -> None:
        """Count the work as a launch."""
        for line in self.lines:
            row = line.timeline.row(LAUNCH, launcher, *place)
            count_launch(row, call)
            line.pending.append((row, self.first, self.last))
            if len(line.pending) >= _MOST_PENDING:
                line.resolve()


def line_of(book: Book, device: Any) -> DeviceLine:
    """The timeline of a device in a book."""
    line = book.devices.get(device.alias)
    if line is None:
        line = book.devices[device.alias] = DeviceLine(device, book.start)
    return line

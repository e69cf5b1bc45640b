"""Streams and events. CPU launches finish before `launch` returns, so a CPU stream is always idle and
an event is the moment it was recorded."""

from __future__ import annotations

import time
from typing import Any

from .device import Device, get_device


class Stream:
    """An ordered queue of work on a device."""

    def __init__(self, device: Any = None, priority: int = 0):
        self.device: Device = get_device(device)
        self.priority = priority

    def record_event(self, event: Event | None = None) -> Event:
        found = event or Event(self.device, enable_timing=True)
        found.moment = time.perf_counter()
        return found

    def wait_event(self, event: Event) -> None:
        """Later work of this stream waits for the event."""

    def wait_stream(self, other: Stream, event: Event | None = None) -> None:
        """Later work of this stream waits for the present work of another."""

    @property
    def is_complete(self) -> bool:
        return True


class Event:
    """A point in a stream's work."""

    def __init__(self, device: Any = None, enable_timing: bool = False):
        self.device = get_device(device)
        self.enable_timing = enable_timing
        self.moment: float | None = None

    @property
    def is_complete(self) -> bool:
        return True


_streams: dict[Device, Stream] = {}


def get_stream(device: Any = None) -> Stream:
    """The current stream of a device."""
    place = get_device(device)
    return _streams.setdefault(place, Stream(place))


def set_stream(stream: Stream, device: Any = None) -> None:
    """Make a stream the current one of its device."""
    _streams[stream.device if device is None else get_device(device)] = stream


def record_event(event: Event | None = None) -> Event:
    """Record an event in the current stream."""
    return get_stream(event.device if event else None).record_event(event)


def wait_event(event: Event) -> None:
    """Let the current stream wait for an event."""
    get_stream(event.device).wait_event(event)


def wait_stream(other: Stream, event: Event | None = None) -> None:
    """Let the current stream wait for another."""
    get_stream(other.device).wait_stream(other, event)


def synchronize_stream(stream: Any = None) -> None:
    """Wait for a stream's work."""


def synchronize_event(event: Event) -> None:
    """Wait until an event has happened."""


def get_event_elapsed_time(start: Event, end: Event, synchronize: bool = True) -> float:
    """Milliseconds between two recorded events. Raises `RuntimeError` for one that was not recorded."""
    if start.moment is None or end.moment is None:
        raise RuntimeError("an event was not recorded\nhelp: call wp.record_event(event) first")
    return (end.moment - start.moment) * 1000.0


class ScopedStream:
    """`with ScopedStream(stream):` makes a stream current for a block."""

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False):
        self.stream = stream

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self.before = get_stream(self.stream.device)
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            set_stream(self.before)

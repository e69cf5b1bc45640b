"""Timelines: what one thread, or one device, did while a profile was on, as rows of sums and as a list of spans.

A span is a stretch of time [ns]. Spans nest: what happens inside of another is subtracted from the outer one's own
time, so the own times of all spans of a thread add up to no more than the time that has passed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns as clock
from types import CodeType
from typing import Any

from ..core.runtime.arrays.call_site import CallSite

LAUNCH = "launch"
"""The kind of launches, whose subjects are launchers; those of all other kinds are names."""

MOST_SPANS = 200_000
"""Spans that a timeline keeps for the trace and the picture; its sums count those beyond too."""


class Row:
    """The sums of all spans of one kind, subject and call site. Times in nanoseconds.

    subject: a launcher, or a name. block, size: the arguments of the last launch, and the bytes that it moved.
    """

    __slots__ = ("block", "bytes", "code", "count", "kind", "offset", "own", "size", "subject", "threads", "total")

    def __init__(self, kind: str, subject: Any, code: CodeType | None, offset: int):
        self.kind, self.subject, self.code, self.offset = kind, subject, code, offset
        self.count = self.total = self.own = self.bytes = self.threads = self.size = 0
        self.block: Any = None

    @property
    def place(self) -> CallSite:
        """Where it was called, as far as that is known."""
        return CallSite(self.code, self.offset)


Span = tuple[Row, int, int, int]
"""A stretch of time: its row, beginning and end [ns], and how many spans it lies in."""


class Timeline:
    """One thread, or one device, as a profile sees it. start: when the profile began; inside: time in any span [ns]."""

    def __init__(self, name: str, start: int):
        self.name, self.start = name, start
        self.rows: dict[Any, Row] = {}
        self.spans: list[Span] = []
        self.dropped = self.inside = 0
        self.open: list[list[Any]] = []  # row, start, time of the spans inside
        self.ended = False

    def row(self, kind: str, subject: Any, code: CodeType | None, offset: int) -> Row:
        """The row of a kind of span. Code counts by identity: its hash would cost more than all else here."""
        key = (subject, id(code), offset, kind)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(kind, subject, code, offset)
        return row

    def add(self, row: Row, start: int, end: int) -> None:
        """Count a span with nothing inside that is of interest."""
        if self.ended:
            return
        if start < self.start:
            start = self.start
        spent = end - start
        row.count += 1
        row.total += spent
        row.own += spent
        self._end(row, start, end, spent)

    def launch(
        self, launcher: Any, code: CodeType, offset: int, call: Any, start: int, end: int, size_of: Callable[[Any], int]
    ) -> None:
        """Count a launch: `row` and `add` in one, as this is all that a profile costs most programs."""
        if self.ended:  # by another thread, while this one launched
            return
        key = (launcher, id(code), offset)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(LAUNCH, launcher, code, offset)
        if row.block != call.block:
            row.block, row.size = call.block, size_of(call)
        row.bytes += row.size
        if call.total > row.threads:
            row.threads = call.total
        if start < self.start:
            start = self.start
        spent = end - start
        row.count += 1
        row.total += spent
        row.own += spent
        outer = self.open
        if outer:
            outer[-1][2] += spent
        else:
            self.inside += spent
        if len(self.spans) < MOST_SPANS:
            self.spans.append((row, start, end, len(outer)))
        else:
            self.dropped += 1

    def begin(self, row: Row, start: int) -> None:
        """Open a span that others may lie in."""
        self.open.append([row, start, 0])

    def close(self, end: int, count: int = 1) -> None:
        """Close the span that was opened last."""
        row, start, inner = self.open.pop()
        spent = end - start
        row.count += count
        row.total += spent
        row.own += spent - inner
        self._end(row, start, end, spent)

    def _end(self, row: Row, start: int, end: int, spent: int) -> None:
        outer = self.open
        if outer:
            outer[-1][2] += spent
        else:
            self.inside += spent
        if len(self.spans) < MOST_SPANS:
            self.spans.append((row, start, end, len(outer)))
        else:
            self.dropped += 1

    def finish(self, end: int) -> None:
        """The profile is over: what is open ends now, and nothing is counted any more."""
        self.ended = True
        while self.open:
            self.close(end)


class Book:
    """The timelines of one profile, by thread, and those of devices that work by themselves."""

    def __init__(self) -> None:
        self.start = self.end = clock()
        self.threads: list[tuple[int, Timeline]] = []  # a number may come again, once its thread has ended
        self.devices: dict[str, Any] = {}
        self.opening = threading.get_ident()
        self.ended = False

    def finish(self, end: int) -> None:
        """The profile is over: everything that is open ends now, and devices are waited for."""
        self.end = max(end, self.start + 1)
        for device in self.devices.values():
            device.resolve()
            device.timeline.finish(end)
        for _, line in list(self.threads):
            line.finish(end)
        self.ended = True

    def all_lines(self) -> list[Timeline]:
        """All timelines: that of the thread that opened the profile, then other threads, then devices."""
        order = sorted(self.threads, key=lambda pair: pair[0] != self.opening)
        return [*(line for _, line in order), *(device.timeline for device in self.devices.values())]

    def add_thread(self) -> Timeline:
        """A timeline for the calling thread."""
        line = Timeline(threading.current_thread().name, self.start)
        self.threads.append((threading.get_ident(), line))
        return line

    def opening_line(self) -> Timeline | None:
        """The timeline of the thread that opened the profile, if anything happened there."""
        return next((line for thread, line in self.threads if thread == self.opening), None)


class Present:
    """What a thread knows: its timelines for the profiles that were on when it asked last, and where to count.

    place: the call site of what it runs, None for where that is called.
    """

    __slots__ = ("books", "lines", "place")

    def __init__(self) -> None:
        self.lines: tuple[Timeline, ...] = ()
        self.books: tuple[Book, ...] = ()
        self.place: tuple[CodeType | None, int] | None = None


class _Here(threading.local):
    def __init__(self) -> None:
        self.present = Present()


here = _Here()
_books: tuple[Book, ...] = ()


def books() -> tuple[Book, ...]:
    """The books that are open, the outermost first."""
    return _books


def set_books(opened: Sequence[Book]) -> None:
    """Open and close books: timelines of all of them get what happens from now on."""
    global _books
    _books = tuple(opened)


def present() -> Present:
    """What the calling thread knows, up to date."""
    now = here.present
    if now.books is not _books:
        before = dict(zip(now.books, now.lines, strict=True))
        now.books = _books
        now.lines = tuple([before.get(book) or book.add_thread() for book in now.books])
    return now


def lines() -> tuple[Timeline, ...]:
    """The timelines of this thread, one for each profile that is on."""
    return present().lines


class OpenSpan:
    """A block that others may lie in: `with OpenSpan(kind, subject, code, offset):`. counts: 0 for its time alone."""

    def __init__(self, kind: str, subject: Any, code: CodeType | None = None, offset: int = 0):
        self.kind, self.subject, self.code, self.offset, self.counts = kind, subject, code, offset, 1

    def __enter__(self) -> OpenSpan:
        self.lines = lines()
        now = clock()
        for line in self.lines:
            line.begin(line.row(self.kind, self.subject, self.code, self.offset), now)
        return self

    def __exit__(self, *error: object) -> None:
        now = clock()
        for line in self.lines:
            if not line.ended:
                line.close(now, self.counts)


class CalledAt:
    """`with CalledAt(place):` what is launched in the block is counted at another call site than where it is called."""

    def __init__(self, place: tuple[CodeType | None, int] | None):
        self.place = place

    def __enter__(self) -> None:
        now = here.present
        self.before, now.place = now.place, self.place

    def __exit__(self, *error: object) -> None:
        here.present.place = self.before

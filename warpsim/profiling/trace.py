"""Profiles in the Trace Event Format, which chrome://tracing and ui.perfetto.dev show."""

from __future__ import annotations

import os
from typing import Any

from ..core.emit.program import FormKind
from .timeline import LAUNCH, Book, Row, Span, Timeline

_MICROSECOND = 1e3  # [ns]


def events_of(title: str, book: Book) -> dict[str, Any]:
    """All spans of a book as complete events, its threads and devices by names. Times in microseconds."""
    process = os.getpid()
    events: list[dict[str, Any]] = [_named("process_name", process, 0, title)]
    for number, line in enumerate(book.all_lines()):
        events.append(_named("thread_name", process, number, line.name))
        events.append({**_named("thread_sort_index", process, number, ""), "args": {"sort_index": number}})
        events += [_event(span, process, number, book.start) for span in _ordered(line)]
    dropped = sum(line.dropped for line in book.all_lines())
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"title": title, "dropped spans": dropped}}


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _ordered(line: Timeline) -> list[Span]:
    """The spans of a timeline by their beginnings, outer ones first."""
    return sorted(line.spans, key=lambda span: (span[1], span[3]))


def _event(span: Span, process: int, thread: int, origin: int) -> dict[str, Any]:
    row, start, end, _ = span
    place, start = row.place, max(start, origin)
    return {
        "ph": "X",
        "name": label(row),
        "cat": row.kind,
        "ts": (start - origin) / _MICROSECOND,
        "dur": max(end - start, 0) / _MICROSECOND,
        "pid": process,
        "tid": thread,
        "args": {"called from": str(place)} if place.code is not None else {},
    }


def label(row: Row) -> str:
    """What a span is called."""
    subject = row.subject
    if row.kind != LAUNCH:
        return f"{row.kind}: {subject}"
    if isinstance(subject, str):
        return subject
    kind = subject.form.kind
    return str(subject.kernel.key) if kind is FormKind.PRIMAL else f"{subject.kernel.key} ({kind.value})"

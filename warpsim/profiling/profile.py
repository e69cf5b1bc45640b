"""`wp.profile`: where the time of a block, or of a function, goes."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns as clock
from typing import Any

from ..errors import ArgumentTypeError, ArgumentValueError, LaunchError, instance, shown
from . import probes
from .report import Report, report_of
from .table import table
from .timeline import Book
from .trace import events_of

_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
PICTURES = (".png", ".svg", ".pdf", ".webp")
"""Endings of the files that `Profile.picture` writes."""


class Profile:
    """The times of a block: `with wp.profile() as p:`. Once that is over, `print(p)` shows them as a table.

    title: what the table is called. shows: print the table when the block ends. report: the numbers, once the block is
    over; what it was when an exception ended the block.
    """

    def __init__(self, title: str = "profile", shows: bool = False):
        self.title, self.shows = instance(title, str, "title"), instance(shows, bool, "shows")
        self._book: Book | None = None
        self._report: Report | None = None

    def __enter__(self) -> Profile:
        if self._book is not None:
            raise LaunchError("this profile has begun already\nexpected: one block for one profile\nhelp: wp.profile()")
        self._book = Book()
        probes.open_book(self._book)
        self._book.start = self._book.end = clock()
        return self

    def __exit__(self, *error: object) -> None:
        book = self._ended_book(False)
        probes.close_book(book)
        book.finish(clock())
        if self.shows:
            print(self)

    @property
    def report(self) -> Report:
        """The numbers. Raises `LaunchError` for a block that is not over."""
        if self._report is None:
            self._report = report_of(self._ended_book(True))
        return self._report

    def _ended_book(self, ended: bool) -> Book:
        if self._book is None or (ended and not self._book.ended):
            raise LaunchError(
                f"the profile {self.title!r} has not ended\nexpected: to be asked after the block\n"
                "help: with wp.profile() as p: ...; print(p)"
            )
        return self._book

    def __str__(self) -> str:
        """The table, at most 100 columns wide; what is still running says so."""
        if self._book is None or not self._book.ended:
            return f"{self.title}: not over"
        return table(self.title, self.report)

    # ----- files ------------------------------------------------------------------------------

    def json(self, path: str | Path) -> Path:
        """Write the numbers as JSON: times in seconds, memory in bytes, speeds in bytes a second. Returns the path."""
        path = Path(instance(path, (str, Path), "path"))
        path.write_text(json.dumps({"title": self.title, **self.report.words()}, indent=1) + "\n", encoding="utf-8")
        return path

    def trace(self, path: str | Path) -> Path:
        """Write every span in the Trace Event Format, for chrome://tracing and ui.perfetto.dev. Returns the path.

        Source of the format: "Trace Event Format", Google, 2016, sections "Complete Events" and "Metadata Events".
        """
        path = Path(instance(path, (str, Path), "path"))
        path.write_text(json.dumps(events_of(self.title, self._ended_book(True))) + "\n", encoding="utf-8")
        return path

    def picture(self, path: str | Path) -> Path:
        """Draw a flame chart: time from left to right, what lies in what from top to bottom. Returns the path.

        path: a file that ends in one of `PICTURES`. Raises `ArgumentValueError` for another, `ImportError` without
        matplotlib.
        """
        path = Path(instance(path, (str, Path), "path"))
        if path.suffix not in PICTURES:
            raise ArgumentValueError(f"path is {shown(path)}\nexpected: an ending of {', '.join(PICTURES)}")
        from .picture import draw  # noqa: PLC0415 - matplotlib is loaded by a picture

        draw(self.title, self._ended_book(True), self.report, path)
        return path


def profile(function: Callable[..., Any] | None = None, *, title: str = "", print: bool = True) -> Any:
    """Measure where time goes in a block (`with wp.profile() as p:`) or in every call of a function (`@wp.profile`).

    title: of the table. print: print the table at the end; `p` has it as `str(p)`, its numbers as `p.report`, and
    writes `p.json(path)`, `p.trace(path)` and `p.picture(path)`. The profile of the last call of a decorated function
    is its attribute `profile`.

    Counted are launches of all threads of this process, on every device, by kernel and call site; the stages of
    compilation; what tapes cost; graphs step by step; copies, new arrays and operations on whole arrays; blocks of
    `ScopedTimer` by their names. A launch takes about 1.5 us more meanwhile, and nothing more after it.

    Raises `ArgumentTypeError` for what is no function, and for generators and coroutines, which run after their call.
    """
    decorator = _Decorator(instance(title, str, "title"), instance(print, bool, "print"))
    return decorator if function is None else decorator(function)


class _Decorator(Profile):
    """A profile that may stand before a function instead of around a block: each call then has one of its own."""

    def __init__(self, title: str, shows: bool):
        super().__init__(title or "profile", shows)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise ArgumentTypeError(f"a profile of {shown(function)} ({type(function).__name__})\nexpected: a function")
        if any(runs_later(function) for runs_later in _LATER):
            raise ArgumentTypeError(
                f"a profile of {shown(function)}, whose calls return before it runs\nexpected: a function that has run "
                "when it returns\nhelp: with wp.profile(): inside of it, or around what runs it"
            )
        title = self.title if self.title != "profile" else getattr(function, "__qualname__", "profile")

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            one = Profile(title, self.shows)
            call.profile = one  # type: ignore[attr-defined]
            with one:
                return function(*args, **options)

        return call

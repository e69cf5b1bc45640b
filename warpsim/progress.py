"""Progress of long loops: a bar for who watches a terminal, a line now and then for a log.

Both say so while kernels are compiled, and tell how long the rest takes once that can be told.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from tqdm import tqdm

from .core.emit.build import compiling

T = TypeVar("T")
EVERY = 5.0
"""How often a log hears of it [s]."""

_REFRESH = 0.1  # how often a bar changes at most [s]
_PATIENCE = 2.0  # before a bar appears for a loop that is usually short [s]
_UNLIKE = 2  # items that are unlike the others: a first frame takes no step, the next one begins much
_ENOUGH = 1.0  # how long items took together whose mean counts [s]
_ALIKE = 1.5  # means of the earlier half, the later half and the last items, at most, one by another


def progress(
    items: Sequence[T], unit: str = "frame", before: int = 0, note: Callable[[], str] | None = None
) -> Iterator[T]:
    """The items in turn, while stderr tells how far a loop has come, counted in units.

    before: how many others had been done when the loop began. note: what to tell of a loop that ends sooner or later,
    in place of how many items and seconds are left; it is told of only if it takes long.
    """
    loop = _Loop(unit, before, before + len(items), note)
    line = _Bar(loop) if sys.stderr.isatty() else _Log(loop)

    def hear(begins: bool) -> None:
        loop.compiles = begins
        with suppress(OSError, ValueError):  # of a stderr that is closed: a compilation goes on
            line.tell(at_once=True)

    compiling.listeners.append(hear)
    try:
        for item in items:
            begin, compiled = time.monotonic(), compiling.seconds
            yield item
            loop.advance(time.monotonic() - begin, compiling.seconds - compiled)
            line.tell()
    finally:
        compiling.listeners.remove(hear)
        line.close()


class Estimate:
    """What an item of a loop takes, by those that there were."""

    def __init__(self) -> None:
        self._count = 0
        self._seconds: list[float] = []

    def add(self, seconds: float, compiled: float) -> None:
        """Count an item that took so long, of which kernels were compiled so long [s]."""
        self._count += 1
        if self._count > _UNLIKE and compiled < 0.1 * seconds:
            self._seconds.append(seconds)

    def each(self) -> float | None:
        """The mean of the later half [s]; None until items took long enough, or while means of parts differ."""
        count = len(self._seconds)
        if count < 2 or sum(self._seconds) < _ENOUGH:
            return None
        half, last = self._seconds[count // 2 :], self._seconds[-max(2, count // 8) :]
        means = [sum(part) / len(part) for part in (self._seconds[: count // 2], half, last)]
        return means[1] if max(means) <= _ALIKE * min(means) else None


class _Loop:
    """How far a loop is."""

    def __init__(self, unit: str, count: int, total: int, note: Callable[[], str] | None):
        self.unit, self.count, self.total, self.note = unit, count, total, note
        self.begin, self.compiles = time.monotonic(), False
        self._estimate = Estimate()

    def advance(self, seconds: float, compiled: float) -> None:
        """An item is done."""
        self.count += 1
        self._estimate.add(seconds, compiled)

    def words(self) -> str:
        """What there is to tell besides counts."""
        if self.compiles:
            return "compiling"
        if self.note is not None:
            return self.note()
        each = self._estimate.each()
        return "" if each is None else f"about {each * (self.total - self.count):.0f} s left"


class _Bar:
    """A line of a terminal that is written again and again."""

    def __init__(self, loop: _Loop):
        self._loop, self._shown = loop, 0.0
        form, delay = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} {unit}s [{elapsed}{postfix}]", 0.0
        if loop.note:
            form, delay = "{unit} {n_fmt} [{elapsed}{postfix}]", _PATIENCE
        self._bar = tqdm(
            total=loop.total,
            initial=loop.count,
            unit=loop.unit,
            bar_format=form,
            mininterval=0.0,
            miniters=0,
            delay=delay,
            leave=loop.note is None,
        )

    def tell(self, at_once: bool = False) -> None:
        """Write the line, if it is time."""
        now = time.monotonic()
        if at_once or now - self._shown >= _REFRESH:
            self._shown = now
            self._bar.set_postfix_str(self._loop.words(), refresh=False)
            self._bar.update(self._loop.count - self._bar.n)

    def close(self) -> None:
        """Leave the line as it is in the end."""
        self.tell(at_once=True)
        self._bar.close()


class _Log:
    """Lines of a file, few of them."""

    def __init__(self, loop: _Loop):
        self._loop, self._told = loop, loop.begin

    def tell(self, at_once: bool = False) -> None:
        """Write a line, if it is time and the loop goes on."""
        loop, now = self._loop, time.monotonic()
        if at_once and not loop.compiles:
            return  # the end of a compilation says nothing: others follow, or the item ends
        if now - self._told >= EVERY and loop.count < loop.total:
            self._told = now
            of = "" if loop.note else f" of {loop.total}"
            rest = loop.words()
            print(f"{loop.unit} {loop.count}{of}{rest and f', {rest}'}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left to write."""

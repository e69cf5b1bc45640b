"""Progress of long loops: a bar for who watches a terminal, a line now and then for a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
EVERY = 5.0
"""How often a log hears of it [s]."""


def progress(items: Sequence[T], unit: str = "frame") -> Iterator[T]:
    """The items in turn, while stderr tells how far a loop has come, counted in units."""
    yield from tqdm(items, unit=unit) if sys.stderr.isatty() else _log(items, unit)


def _log(items: Sequence[T], unit: str) -> Iterator[T]:
    begin = told = time.monotonic()
    for count, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - told >= EVERY and count < len(items):
            told, left = now, (now - begin) / count * (len(items) - count)
            print(f"{unit} {count} of {len(items)}, about {left:.0f} s left", file=sys.stderr, flush=True)

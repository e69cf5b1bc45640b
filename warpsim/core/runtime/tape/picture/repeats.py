"""Repeated runs of a recording, found and folded: a loop of a thousand launches becomes one round of it.

Guarantees: `fold_repeats` keeps every item, in order; it only puts equal neighbouring runs into a `Repeat`.
Inner loops fold first, so that loops in loops become repeats in repeats. Two items are equal when they come
from the same place in the source, do the same, and hold equal items; which arrays they touch does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FEWEST = 3  # rounds: two are easier to read side by side


@dataclass(eq=False)
class Step:
    """Something recorded: a launch, a copy, a function of the user.

    reads, writes: arrays with the names of the parameters they were given to, in order.
    linked: arrays of which it is not known whether they are read or written.
    """

    name: str
    place: str = ""
    about: str = ""
    reads: list[tuple[str, Any]] = field(default_factory=list)
    writes: list[tuple[str, Any]] = field(default_factory=list)
    linked: list[tuple[str, Any]] = field(default_factory=list)

    def ports(self) -> Iterator[tuple[str, int, Any]]:
        """Every array with its side and its position there."""
        for side in ("reads", "writes", "linked"):
            for k, (_, a) in enumerate(getattr(self, side)):
                yield side, k, a


@dataclass(eq=False)
class Group:
    """Items under a name."""

    name: str
    items: list[Item]


@dataclass(eq=False)
class Repeat:
    """Rounds of equal items; the first one is what is drawn."""

    rounds: list[list[Item]]


Item = Step | Group | Repeat


def fold_repeats(items: Sequence[Item]) -> list[Item]:
    """The items with repeated runs as `Repeat`."""
    return _Folder().fold(items)


def walk(items: Sequence[Item], drawn: Sequence[Item]) -> Iterator[tuple[Step, Step]]:
    """Every step in the order of the recording, with the step that stands for it in the picture."""
    for item, shown in zip(items, drawn, strict=True):
        if isinstance(item, Step) and isinstance(shown, Step):
            yield item, shown
        elif isinstance(item, Group) and isinstance(shown, Group):
            yield from walk(item.items, shown.items)
        elif isinstance(item, Repeat) and isinstance(shown, Repeat):
            for each in item.rounds:
                yield from walk(each, shown.rounds[0])


class _Folder:
    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.known: dict[Item, int] = {}

    def fold(self, items: Sequence[Item]) -> list[Item]:
        now = [Group(item.name, self.fold(item.items)) if isinstance(item, Group) else item for item in items]
        while (shorter := self.once(now)) is not None:
            now = shorter
        return now

    def once(self, items: list[Item]) -> list[Item] | None:
        """Fold the shortest run that repeats, wherever it does; None when nothing repeats."""
        numbers = np.array([self.number(item) for item in items])
        for period in range(1, len(items) // FEWEST + 1):
            starts = _runs(numbers[:-period] == numbers[period:], (FEWEST - 1) * period)
            if starts:
                return _join_runs(items, period, starts)
        return None

    def number(self, item: Item) -> int:
        """Equal items have equal numbers."""
        number = self.known.get(item)
        if number is None:
            key = self.key(item)
            number = self.known[item] = self.numbers.setdefault(key, len(self.numbers))
        return number

    def key(self, item: Item) -> Any:
        if isinstance(item, Step):
            names = [tuple(name for name, _ in side) for side in (item.reads, item.writes, item.linked)]
            return ("step", item.name, item.place, *names)
        if isinstance(item, Group):
            return ("scope", item.name, *(self.number(i) for i in item.items))
        return ("repeat", len(item.rounds), *(self.number(i) for i in item.rounds[0]))


def _runs(same: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Stretches of at least `least` true values: (start, length)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= least]


def _join_runs(items: list[Item], period: int, runs: list[tuple[int, int]]) -> list[Item]:
    out: list[Item] = []
    position = 0
    for start, length in runs:
        first = max(start, position)
        count = (start + length + period - first) // period
        if count < FEWEST:
            continue
        out += items[position:first]
        stop = first + count * period
        out.append(Repeat([items[k : k + period] for k in range(first, stop, period)]))
        position = stop
    return out + items[position:]

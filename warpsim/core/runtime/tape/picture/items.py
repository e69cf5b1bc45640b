"""A recording as nested items: one step for every entry, in the scopes that were open.

A launch reads and writes what its program reads and writes, whichever list its arguments were given in;
an argument that the kernel never touches is tied to it without a direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...arrays.call_site import CallSite
from ..entry import TapeEntry
from .repeats import Group, Item, Step


def items_of(entries: Sequence[TapeEntry], marks: Sequence[Any]) -> list[Item]:
    """Steps and scopes; a mark has the number of entries before it, and a name or None for an end."""
    opened: list[list[Item]] = [[]]
    position = 0
    for mark in marks:
        opened[-1] += [step_of(entry) for entry in entries[position : mark.index]]
        position = mark.index
        if mark.name is None:
            opened.pop()
        else:
            scope = Group(mark.name, [])
            opened[-1].append(scope)
            opened.append(scope.items)
    opened[-1] += [step_of(entry) for entry in entries[position:]]
    return opened[0]


def step_of(entry: TapeEntry) -> Step:
    """One entry with its arrays."""
    step = Step(entry.name, _text(entry.place), entry.about)
    for use in entry.uses():
        sides = [side for side, on in ((step.reads, use.reads), (step.writes, use.writes)) if on]
        for side in (sides or [step.linked]) if use.direct else ():
            side.append((use.name, use.array))
    return step


@lru_cache(1024)
def _text(place: CallSite) -> str:
    """A place as text: its line is found once, however many entries a loop made there."""
    return str(place)

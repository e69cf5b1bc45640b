"""Forward mode of recorded entries: tangents pass from what each read to what it wrote, in the order of the tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..arrays.mirrors import Mirror
from .entry import MovedEntry, TapeEntry


def push(
    entries: Sequence[TapeEntry],
    tangents: Mirror,
    moving: set[Any],
    numbers: Mapping[str, Any] | None = None,
    for_reverse: bool = False,
) -> list[MovedEntry]:
    """Carry tangents through entries; those that no tangent reaches are left out.

    moving: the memory that has tangents; what is written gets into it. numbers: as of `TapeEntry.push`. for_reverse:
    keep, for every entry that a gradient passes through, what its reverse needs, and return that.
    """
    later = _written_later(entries)
    moved = []
    for entry, after in zip(entries, later, strict=True):
        moves = numbers is not None or any(a._memory in moving for a in entry.arrays())
        returns = for_reverse and entry.passes_gradient()
        if moves or returns:
            result = entry.push(tangents, numbers or {}, after if returns else None)
            if result is not None:
                moved.append(result)
        if moves:
            moving.update(use.array._memory for use in entry.uses() if use.writes)  # parameters that are set, too
    return moved


def _written_later(entries: Sequence[TapeEntry]) -> list[set[Any]]:
    """For each entry the memory that entries after it write."""
    after: list[set[Any]] = []
    later: set[Any] = set()
    for entry in reversed(entries):
        after.append(set(later))
        later.update(a._memory for a in entry.written_arrays())
    return after[::-1]

"""Refusal of gradients through unseen writes: those between operations of a tape that it did not record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....errors import TapeOverwriteError
from ..arrays.allocation import about_to_write
from ..arrays.array import array
from ..arrays.saved_contents import Session, UnseenWrite
from ..arrays.seeds import holds_seeds
from ..devices.memory_range import range_of
from .entries import AnnouncedWrite, WriteEntry
from .entry import TapeEntry, UsedArray

Used = tuple[TapeEntry, UsedArray]


def announce(gradients: Iterable[array | None]) -> None:
    """Tell tapes that used gradients as arrays of their own that a backward pass writes to them."""
    for g in gradients:
        if g is not None and (g._memory.known or g._memory.reads):
            about_to_write(g, g._data, "backward of another tape")


def answer(session: Session, arrays: Sequence[array]) -> None:
    """A recorded function answers for the writes to some arrays that `mark_write` announced."""
    for write in list(session.unseen):
        if write.words.startswith("mark_write") and any(meets(write, a) for a in arrays):
            session.unseen.remove(write)
            write.memory.forget_watch(session)


def seeded_arrays(seeds: Iterable[tuple[array, Any]], arrays: Iterable[array]) -> list[array]:
    """The arrays whose gradients a backward pass starts from, given or written to `.grad`."""
    own = [a for a in arrays if (g := a._gradient) is not None and holds_seeds(g)]
    return [*own, *(a for a, _ in seeds)]


def refuse_unseen(writes: Sequence[UnseenWrite], log: Sequence[TapeEntry], starts: Sequence[array]) -> None:
    """Raise `TapeOverwriteError` for a write that a gradient would pass through."""
    for write in writes:
        if write.position >= len(log):
            continue
        before = next(uses_of(write, reversed(log[: write.position])), None)
        if before is None:
            continue
        after = next(uses_of(write, log[write.position :]), None)
        if after is not None and not covers(after, write):
            raise refusal(write, before, after)
        if after is None and any(meets(write, a) for a in starts):
            raise refusal(write, before, None)


def uses_of(write: UnseenWrite, entries: Iterable[TapeEntry]) -> Iterator[Used]:
    """The uses of arrays with gradients that a write may have changed."""
    for entry in entries:
        for use in entry.uses() if not isinstance(entry, AnnouncedWrite) else ():
            if meets(write, use.array) and use.array._gradient is not None:
                yield entry, use


def meets(write: UnseenWrite, a: array) -> bool:
    """Whether a write may have changed an array."""
    return a._memory is write.memory and write.addresses.meets(range_of(a))


def covers(used: Used, write: UnseenWrite) -> bool:
    """Whether an operation sets all that a write changed: no gradient passes through it then."""
    entry, use = used
    if not isinstance(entry, WriteEntry) or not use.writes or entry.name not in ("assign", "fill_", "zero_"):
        return False
    return entry.picks is None and use.array.is_contiguous and range_of(use.array).covers(write.addresses)


def refusal(write: UnseenWrite, before: Used, after: Used | None) -> TapeOverwriteError:
    a = before[1].array
    later = "" if after is None else f", used again by {after[0].title} at {after[0].place}"
    return TapeOverwriteError(
        f"{a!r} was changed between two operations of a tape that did not see it\n"
        f"found: it is {before[0].words(before[1])} {before[0].place}; changed by {write.words}{later}\n"
        "expected: changes that the tape records, as a gradient would pass through others as if they were none\n"
        "help: write inside `with tape:`, by assign, fill_ or a launch that is recorded, or write to another array"
    )

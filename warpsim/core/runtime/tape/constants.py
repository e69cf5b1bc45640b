"""Parameters on a tape: arrays that the host sets inside it and that are only read from then on.

What sets an array first of all is no part of the computation that gradients are asked for: its gradient is that of the
values that were set, as if they had been set before the tape. Arrays that launches write, sums that begin at zero above
all, are set on purpose. For an array that is set again between two reads there is no one gradient to give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...types.arrays import type_name
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..devices.memory_range import overlap
from .entries import WriteEntry
from .entry import TapeEntry, UsedArray

Used = tuple[TapeEntry, UsedArray]


def is_constant(entry: WriteEntry) -> bool:
    """Whether a write gives an array with a gradient values that have none."""
    source = None if entry.source is None else entry.source._array._gradient
    return entry.dest._array._gradient is not None and source is None


def settle(
    constants: Sequence[WriteEntry], log: Sequence[TapeEntry], survey: Callable[[], list[array]]
) -> dict[array, str]:
    """Find out which constant writes count as if they had come before the tape; returns what `take_as_given` does.

    survey: finds the arrays of floats that the entries write which do not count so, as a list to add to.
    """
    for entry in constants:
        entry.is_given = True
    written = survey()
    others = {a._memory for a in written}
    alone = [entry for entry in constants if entry.dest._array._memory not in others]
    for entry in constants:
        entry.is_given = False
    refused = take_as_given(alone, log) if alone else {}
    known = {id(a) for a in written}
    for a in [entry.dest._array for entry in constants if not entry.is_given]:
        if id(a) not in known and has_cotangent(a.dtype):
            known.add(id(a))
            written.append(a)
    return refused


def take_as_given(entries: Sequence[WriteEntry], log: Sequence[TapeEntry]) -> dict[array, str]:
    """Let those of some constant writes that set parameters count as if they had come before the tape.

    entries: writes to memory that nothing else on the tape writes. Returns, by array, why there is no gradient of one
    that is set again after it was read.
    """
    for write in entries:
        write.is_given, write.hidden_by = False, []
    uses: dict[int, list[Used]] = {id(e.dest._array._memory): [] for e in entries}
    for entry in log:
        for use in entry.uses():
            uses.get(id(use.array._memory), []).append((entry, use))
    refused: dict[array, str] = {}
    for used in uses.values():
        refused |= parameters(used)
    return refused


def parameters(used: Sequence[Used]) -> dict[array, str]:
    """The same for what happens to one memory, which only constant writes change."""
    settings: list[WriteEntry] = []
    read: Used | None = None
    refused: dict[array, str] = {}
    earlier: list[array] = []  # what was read, or set so that no gradient passes
    for entry, use in used:
        if not (isinstance(entry, WriteEntry) and use.writes):
            if use.reads or use.depends:  # launches are given arrays that they do not look at, too
                earlier.append(use.array)
                read = (entry, use)
        elif not is_constant(entry):
            continue
        elif not any(overlap(use.array, a) for a in earlier):
            entry.is_given = True
            for before in settings:
                before.hidden_by.append(entry)
            settings.append(entry)
        elif first := next((s for s in settings if overlap(use.array, s.dest._array)), None):
            assert read is not None
            refused[use.array] = refusal(first, entry, *read)
        else:
            earlier.append(use.array)
    return refused


def refusal(first: WriteEntry, again: WriteEntry, reader: TapeEntry, use: UsedArray) -> str:
    a = again.dest._array
    return (
        f"the gradient of an array of {type_name(a.dtype)}, shape {a.shape}, that was set twice inside the tape\n"
        f"found: set by {first.name} at {first.place}, read as {reader.words(use)} {reader.place}, and set again by "
        f"{again.name} at {again.place}\n"
        "expected: values that are set once, so that there is one gradient of them\n"
        "help: an array for each of the values, or one with a row for each"
    )

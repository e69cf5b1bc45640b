"""The warning of arrays that were set inside a tape, and only read from then on.

Such an array is a parameter, as a rule, whose gradient somebody wants. But what set it is on the tape, and the gradient
of what it held before is zero. Arrays that launches write, sums that begin at zero above all, are set on purpose.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ....errors import SetOnTapeWarning
from ...types.arrays import type_name
from .entries import WriteEntry
from .entry import ArrayUse, TapeEntry
from .launch_entry import LaunchEntry


def hides_gradient(entry: WriteEntry) -> bool:
    """Whether a write gives an array with a gradient values that have none."""
    source = None if entry.source is None else entry.source._array._gradient
    whole = entry.name in ("assign", "fill_") and not entry.dest._array.retain_grad
    return whole and entry.dest._array._gradient is not None and source is None


def warn_of_constants(entries: Sequence[WriteEntry], log: Sequence[TapeEntry]) -> None:
    """Warn of each array that one of these entries set first of all, that a launch then reads, and that none writes."""
    uses: dict[int, list[tuple[TapeEntry, ArrayUse]]] = {id(e.dest._array._memory): [] for e in entries}
    for entry in log:
        for use in entry.uses():
            uses.get(id(use.array._memory), []).append((entry, use))
    warned = set()
    for entry in entries:
        memory = id(entry.dest._array._memory)
        if memory in warned or any(use.writes and not isinstance(e, WriteEntry) for e, use in uses[memory]):
            continue
        reader = next(((e, use) for e, use in uses[memory] if isinstance(e, LaunchEntry) and use.reads), None)
        if reader is not None and uses[memory][0][0] is entry:
            warned.add(memory)
            warn_of(entry, *reader)


def warn_of(entry: WriteEntry, reader: TapeEntry, use: ArrayUse) -> None:
    a = entry.dest
    warnings.warn(
        f"array of {type_name(a.dtype)}, shape {a.shape}, which is {reader.words(use)} {reader.place}, was set inside "
        f"the tape by {entry.name} at {entry.place}: its gradient is that of what it held before, which is zero\n"
        "help: set it before the tape begins, or make it with retain_grad=True",
        SetOnTapeWarning, stacklevel=4,
    )  # fmt: skip

"""Schedules of checkpointed loops: which states are kept, and in which order steps are run again in reverse.

A schedule is a sequence of actions that begins with the state before step 0 at hand. Guarantees: every step is
reversed exactly once, the last one first; a step is reversed or run only from the state before it; never more
states are kept than there are slots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Advance(NamedTuple):
    """Run steps start to stop - 1."""

    start: int
    stop: int


class Store(NamedTuple):
    """Keep the state before a step in a slot, in the place of what the slot held."""

    slot: int
    step: int


class Restore(NamedTuple):
    """Take the state before a step from its slot, which keeps it."""

    slot: int
    step: int


class Reverse(NamedTuple):
    """Run steps start to stop - 1 on a tape, then the tape in reverse."""

    start: int
    stop: int


Action = Advance | Store | Restore | Reverse


def even(steps: int, slots: int) -> Iterator[Action]:
    """States at equal distances; each segment between them is recorded as a whole."""
    length = -(-steps // slots)
    starts = range(0, steps, length)
    for slot, start in enumerate(starts):
        yield Store(slot, start)
        yield Advance(start, min(start + length, steps))
    for slot, start in reversed(list(enumerate(starts))):
        yield Restore(slot, start)
        yield Reverse(start, min(start + length, steps))


def binomial(steps: int, slots: int) -> Iterator[Action]:
    """The fewest steps that reverse a loop with a given number of slots, one step recorded at a time.

    Griewank and Walther 2000, "Algorithm 799: Revolve". A segment that begins at a checkpoint is cut in two:
    the second part gets a state of its own and is reversed first, with one slot less; its slot is free again
    for the first part. Where to cut follows from binomial coefficients, see `cut`.
    """
    yield Store(0, 0)
    segments = [(0, steps)]  # still to be reversed, the last one first; number k begins at the state in slot k
    here: int | None = 0
    while segments:
        slot = len(segments) - 1
        start, stop = segments.pop()
        if here != start:
            yield Restore(slot, start)
        middle = start + cut(stop - start, slots - slot)
        if middle > start:
            yield Advance(start, middle)
            segments.append((start, middle))
        here = middle
        if stop - middle == 1:
            yield Reverse(middle, stop)
            here = None  # the arrays hold the state after the step
        else:
            yield Store(len(segments), middle)
            segments.append((middle, stop))


def cut(length: int, slots: int) -> int:
    """After how many steps to keep a state, in a segment whose beginning is in one of `slots` slots.

    With r such that beta(s, r - 1) < length <= beta(s, r), any cut is optimal whose first part has between
    beta(s, r - 2) and beta(s, r - 1) steps, and whose second between beta(s - 1, r - 1) and beta(s - 1, r).
    The longest first part needs the fewest copies of states.
    """
    if slots == 1 or length == 1:
        return length - 1
    r = repetitions(length, slots)
    return min(beta(slots, r - 1), length - beta(slots - 1, r - 1))


def beta(slots: int, repeats: int) -> int:
    """The longest loop that is reversed with so many slots when no step is run forward more often than that."""
    return math.comb(slots + repeats, slots) if repeats >= 0 else 0


def repetitions(steps: int, slots: int) -> int:
    """How often a step is run forward at most, besides being recorded: the least r with steps <= beta(slots, r)."""
    r = 0
    while beta(slots, r) < steps:
        r += 1
    return r


def root_slots(steps: int) -> int:
    """The square root, rounded up."""
    return math.isqrt(steps - 1) + 1


def log_slots(steps: int) -> int:
    """The binary logarithm, rounded up: about as many repetitions as slots, at most."""
    return max(1, (steps - 1).bit_length())


SCHEDULES: dict[str, tuple[Callable[[int, int], Iterator[Action]], Callable[[int], int]]] = {
    "sqrt": (even, root_slots),
    "binomial": (binomial, log_slots),
}
"""By name: the actions for a number of steps and slots, and the number of slots when none is asked for."""

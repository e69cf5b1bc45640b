"""A checkpointed loop on a tape: its reverse, its tangents (jvp) and the tangents of its reverse (hvp).

Forward mode runs the steps again one by one, each on a tape of its own through which tangents pass. Forward over
reverse follows the schedule of the reverse, with states that are contents and their tangents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.mirrors import Mirror
from ..devices.device_memory import on_host
from ..steps.host_call import HostCall
from ..steps.step import Step
from ..tape.adjoint_launch import check_aliases
from ..tape.entry import MovedEntry, TapeEntry, UsedArray
from ..tape.forward_sweep import push
from ..tape.stand_ins import Restored
from .footprint import LoopTape
from .schedules import Advance, Restore, Reverse, Store

if TYPE_CHECKING:
    from .rollout import Rollout


class LoopEntry(TapeEntry):
    """A checkpointed loop on a tape: reads its state, its parameters and all else that steps read."""

    name, title = "checkpoint", "a checkpointed loop"

    def __init__(self, rollout: Rollout, reads: list[tuple[array, Any]]):
        self.rollout, self.reads, self.place = rollout, reads, rollout.place

    def uses(self) -> Iterator[UsedArray]:
        for k, a in enumerate([*self.rollout.state, *(a for a, _ in self.reads)]):
            yield UsedArray(str(k), a, reads=True, depends=True)
        for k, a in enumerate(self.rollout.written):
            yield UsedArray(str(k), a, writes=True)

    def contents(self) -> Restored:
        """While it lasts, arrays that steps only read hold what they held when the loop ran."""
        return Restored([(a._data, read) for a, read in self.reads])

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        return HostCall(self.run, words=f"{self.name} (adjoint)")

    def run(self) -> None:
        """Reverse the loop."""
        with self.contents():
            self.rollout.reverse()

    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        moved = None if later is None else MovedLoop(self, tangents)
        with self.contents(), self.rollout.replaying():
            self.rollout.restore(Restore(0, 0))
            carry(self.rollout, tangents, moving_in(self, tangents), 0, self.rollout.steps)
        return moved


def moving_in(entry: TapeEntry, tangents: Mirror) -> set[Any]:
    """The memory of an entry's arrays that has tangents."""
    return {a._memory for a in entry.arrays() if on_host(tangents.of(a)._data).any()}


def carry(rollout: Rollout, tangents: Mirror, moving: set[Any], start: int, stop: int) -> None:
    """Run steps again from the state before them, and carry tangents through each."""

    def through(tape: LoopTape) -> None:
        push(tape.records, Mirror(tape.arrays(), tangents), moving)

    for k in range(start, stop):
        rollout.segment(k, k + 1, through)


class MovedLoop:
    """A checkpointed loop with the tangents that its arrays had before it."""

    def __init__(self, entry: LoopEntry, tangents: Mirror):
        self.entry, self.rollout = entry, entry.rollout
        self.before = [(a, tangents.of(a)._data.copy()) for a in entry.arrays()]
        self.state = [a for a in self.rollout.state if has_cotangent(a.dtype)]
        self.slots: dict[int, list[np.ndarray]] = {}
        """Tangents of the states that are kept."""

    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        """Reverse the loop, with the tangents of its contents and of the gradients."""
        self.tangents = Mirror(a for a, _ in self.before)
        for a, numbers in self.before:
            self.tangents.set(a, numbers)
        self.moving = moving_in(self.entry, self.tangents)
        with self.entry.contents(), self.rollout.replaying():
            self.rollout.restore(Restore(0, 0))
            for action in self.rollout.actions():
                if isinstance(action, Store):
                    self.rollout.store(action)
                    self.slots[action.slot] = [self.tangents.of(a)._data.copy() for a in self.state]
                elif isinstance(action, Restore):
                    self.rollout.restore(action)
                    for a, numbers in zip(self.state, self.slots[action.slot], strict=True):
                        self.tangents.set(a, numbers)
                elif isinstance(action, Advance):
                    carry(self.rollout, self.tangents, self.moving, action.start, action.stop)
                else:
                    self.reverse_segment(action, gradients, tangents)

    def reverse_segment(self, action: Reverse, gradients: Mirror, tangents: Mirror) -> None:
        """Record a segment, carry tangents through it, and then gradients and their tangents back."""

        def there_and_back(tape: LoopTape) -> None:
            arrays = tape.arrays()
            check_aliases([a for entry in tape.records for a in entry.written_arrays()], arrays)
            moved = push(tape.records, Mirror(arrays, self.tangents), self.moving, for_reverse=True)
            of_gradients = Mirror(arrays, gradients), Mirror(arrays, tangents)
            for entry in reversed(moved):
                entry.reverse(*of_gradients)

        self.rollout.segment(action.start, action.stop, there_and_back)

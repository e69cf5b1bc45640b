"""A loop of steps as one operation of a tape: checkpoints, replays, and their reverse.

Guarantees: the reverse runs the same adjoint launches on the same contents and gradients as a tape that
recorded every step; after it all arrays hold what they held before it, and other tapes saw nothing of it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ....errors import ArgumentTypeError, CheckpointError, GradientError
from ...types.cotangents import has_cotangent
from ..arrays.allocation import about_to_write
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.exports import fingerprint
from ..arrays.host_memory import allocate_like
from ..arrays.saved_contents import Paused
from ..devices.device import ScopedDevice, get_device
from ..devices.memory_range import range_of
from ..tape.adjoint_needs import Always
from ..tape.recording import register
from .footprint import PARAMETERS, STATE, Footprint, LoopTape, Watch, array_in_words, replays
from .loop_entry import LoopEntry
from .schedules import Action, Advance, Restore, Reverse, Store

Result = TypeVar("Result")


@dataclass
class CheckpointReport:
    """What a checkpointed loop keeps, and what its last `backward` did.

    slots: states kept at once, at most. state_bytes: size of one. kept_bytes: of all that were kept in the first run.
    peak_bytes: most memory in the last backward: checkpoints, contents put aside, and copies made by the tape of a
    segment. replayed: steps that it ran forward without recording; each step was recorded once besides.
    """

    steps: int
    slots: int = 0
    state_bytes: int = 0
    kept_bytes: int = 0
    peak_bytes: int = 0
    replayed: int = 0

    @property
    def peak_states(self) -> float:
        """The peak in states."""
        return self.peak_bytes / max(self.state_bytes, 1)


class Loop:
    """A step function and the state that it is given, which must stay the same arrays."""

    def __init__(self, step: Any, state: Any):
        self.step, self.given = step, state
        self.arrays = self._items(state)
        self.own = type(state)(state) if type(state) in (list, dict) else state
        self.takes_state = takes_state(step)

    @staticmethod
    def _items(state: Any) -> list[Any]:
        if isinstance(state, array):
            return [state]
        if not isinstance(state, list | tuple | dict):
            raise ArgumentTypeError(f"state is {type(state).__name__}\nexpected: a list, tuple or dict of arrays")
        return list(state.values()) if isinstance(state, dict) else list(state)

    def run(self, k: int, replayed: bool = False) -> None:
        """Run a step. Raises `CheckpointError` when it put other arrays into the state."""
        if self.takes_state:
            self.step(self.own, k)
        else:
            self.step(k)
        for held in (self.own,) if replayed else (self.own, self.given):
            now = self._items(held)
            if len(now) != len(self.arrays) or any(a is not b for a, b in zip(now, self.arrays, strict=True)):
                raise CheckpointError(
                    f"step {k} replaced arrays of the state\nexpected: the same arrays, overwritten in place\n"
                    "help: end a step in the arrays in which it began, for instance with wp.copy(x, x_next)"
                )


def takes_state(step: Callable[..., Any]) -> bool:
    """Whether a step function is called with (state, k), rather than with (k). Raises `ArgumentTypeError`."""
    if not callable(step):
        raise ArgumentTypeError(f"step is {type(step).__name__}\nexpected: a function step(k) or step(state, k)")
    try:
        parameters = list(inspect.signature(step).parameters.values())
    except (TypeError, ValueError):
        return False  # a function without a signature takes k alone
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if len(needed) not in (1, 2) or keywords:
        names = ", ".join([p.name for p in needed] + keywords)
        raise ArgumentTypeError(f"step takes ({names})\nexpected: step(k) or step(state, k)")
    return len(needed) == 2


class Rollout:
    """A loop that can be reversed: checkpoints, the schedule, and checksums of what the first run came by."""

    def __init__(self, loop: Loop, steps: int, declared: Any, make: Any, slots: int, place: CallSite):
        self.loop, self.steps, self.place, self.device = loop, steps, place, get_device()
        self.state = [a for kind, a in declared.values() if kind == STATE]
        self.written = [a for kind, a in declared.values() if kind != PARAMETERS]
        self.parameters = [a for kind, a in declared.values() if kind == PARAMETERS]
        self.actions: Callable[[], Iterator[Action]] = lambda: make(steps, slots)
        self.kept: list[list[np.ndarray]] = []
        self.steps_kept: list[int] = []  # the step before which the state in a slot was kept
        self.first_kept: list[int] = []  # the same, at the end of the first run
        self.prints: dict[int, list[int]] = {}
        kinds = {memory: kind for memory, (kind, _) in declared.items()}
        self.footprint = Footprint(kinds, loop.step)
        self.reads: list[tuple[Any, list[tuple[array, Any]]]] = []
        self.report = CheckpointReport(steps, slots, sum(a._data.nbytes for a in self.state))

    # ----- the first run --------------------------------------------------------------------------

    def forward(self, tapes: tuple[Any, ...]) -> None:
        """Run all steps, keep states, and put the operation on the tapes."""
        self.reads = [(tape, []) for tape in tapes]
        keeps = not all(isinstance(tape, Watch) for tape in tapes)
        for a in self.written:
            about_to_write(a, a._data, "checkpoint")
        self._need(self.parameters)
        try:
            self._first_steps(keeps)
        except BaseException:  # steps wrote, and no tape will have the loop
            for tape, _ in self.reads:
                for a in self.written:
                    tape.session.note_unseen(a._memory, range_of(a), f"a checkpoint at {self.place} that raised")
            raise
        if not self.footprint.wrote_state:
            names = ", ".join(array_in_words(a, self.loop.step) for a in self.state)
            raise CheckpointError(
                f"no step wrote an array of the state: {names}\nexpected: steps that overwrite the arrays in state="
            )
        if keeps:
            self.prints[self.steps] = self.checksums()
        self.first_kept = list(self.steps_kept)
        self.report.kept_bytes = len(self.kept) * self.report.state_bytes
        for tape, reads in self.reads:
            tape.log.append(LoopEntry(self, reads))
            for a in self.written:
                tape.session.use(a, self.place)
        self.reads = []

    def _first_steps(self, keeps: bool) -> None:
        """Run all steps; `keeps`: and keep states."""
        watch = Watch()
        with Paused(), watch:
            here = 0
            for action in self.actions():
                if isinstance(action, Store) and keeps:
                    self.store(action)
                    self.prints[action.step] = self.checksums()
                elif isinstance(action, Advance):
                    self._first_run(watch, range(action.start, action.stop))
                    here = action.stop
                elif not isinstance(action, Store):
                    break
            self._first_run(watch, range(here, self.steps))

    def _first_run(self, watch: Watch, numbers: range) -> None:
        for k in numbers:
            self.loop.run(k)
            self.footprint.look(k, watch.log)
            watch.log.clear()
            self._need(self.footprint.settle())

    def _need(self, constants: Iterable[array]) -> None:
        """Tell the tapes that the reverse needs the contents of arrays."""
        for a in constants:
            user = Always(f"an array that the steps of a checkpoint at {self.place} read")
            for tape, reads in self.reads:
                reads.append((a, register(a, user, tape.session, self.place)))

    # ----- states -----------------------------------------------------------------------------------

    def store(self, action: Store) -> None:
        """Keep the present state in a slot."""
        if action.slot == len(self.kept):
            self.kept.append([allocate_like(a._data) for a in self.state])
            self.steps_kept.append(0)
        for slot, a in zip(self.kept[action.slot], self.state, strict=True):
            np.copyto(slot, a._data)
        self.steps_kept[action.slot] = action.step

    def restore(self, action: Restore) -> None:
        """Take the state from a slot."""
        for slot, a in zip(self.kept[action.slot], self.state, strict=True):
            np.copyto(a._data, slot)

    def checksums(self) -> list[int]:
        """One for each array of the state, of its present contents."""
        return [fingerprint(a._data) for a in self.state]

    def check_replay(self, number: int) -> None:
        """Raise unless the state before a step is that of the first run, where this is known."""
        known = self.prints.get(number)
        if known is None:
            return
        for a, old, new in zip(self.state, known, self.checksums(), strict=True):
            if old != new:
                name = array_in_words(a, self.loop.step)
                raise CheckpointError(
                    f"array {name} differs from the first run when step {number - 1} is replayed\n"
                    "expected: steps that follow from k and from arrays of the state alone\n"
                    "help: make random seeds and times from k; keep counters in arrays of the state; name in state= "
                    "what one step leaves for the next; launch with deterministic=True what scatters float atomics"
                )

    # ----- the reverse ------------------------------------------------------------------------------

    def reverse(self) -> None:
        """Carry the gradients of the state from the end to the beginning, and add up those of all else."""
        for a in self.state:
            if has_cotangent(a.dtype) and a._gradient is None:
                raise GradientError(
                    f"array {array_in_words(a, self.loop.step)} lost its gradient after the loop was recorded"
                )
        report = self.report
        aside = sum(a._data.nbytes for a in self.written)
        report.peak_bytes, report.replayed = aside + len(self.kept) * report.state_bytes, 0
        with self.replaying():
            for action in self.way_back():
                if isinstance(action, Store):
                    self.store(action)
                elif isinstance(action, Restore):
                    self.restore(action)
                elif isinstance(action, Advance):
                    report.replayed += action.stop - action.start
                    for k in range(action.start, action.stop):
                        self.loop.run(k, replayed=True)
                else:
                    copies = self.segment(action.start, action.stop, run_back)
                    slots_bytes = len(self.kept) * report.state_bytes
                    report.peak_bytes = max(report.peak_bytes, aside + slots_bytes + copies)

    def way_back(self) -> Iterator[Action]:
        """The actions from the state at the end of the first run, or from the beginning when slots were used anew."""
        actions = self.actions()
        if self.steps_kept != self.first_kept:
            yield Restore(0, 0)
            next(actions)  # which keeps that state
            yield from actions
            return
        last = len(self.first_kept) - 1
        for action in actions:
            if isinstance(action, Reverse):
                yield Restore(last, self.first_kept[last])
                if action.start > self.first_kept[last]:
                    yield Advance(self.first_kept[last], action.start)
            if isinstance(action, Restore | Reverse):
                yield action
                break
        yield from actions

    @contextlib.contextmanager
    def replaying(self) -> Iterator[None]:
        """While it lasts, steps may run again: tapes see nothing of it, and after it arrays hold what they held."""
        with Paused(), ScopedDevice(self.device), Unseen(self.written), Preserved(self.written):
            replays.count += 1
            try:
                yield
            finally:
                replays.count -= 1

    def segment(self, start: int, stop: int, use: Callable[[LoopTape], Result]) -> Result:
        """Record steps again and give the tape to `use`, whose result is returned.

        Raises `CheckpointError` for steps that do otherwise than in the first run.
        """
        tape = LoopTape()
        with tape:
            for k in range(start, stop):
                begin = len(tape.log)
                self.loop.run(k, replayed=True)
                self.footprint.look(k, tape.log[begin:])
        self.check_replay(stop)
        tape._check_contents()
        result = use(tape)
        tape.session.end()
        del tape
        for a in self.footprint.settle():
            raise CheckpointError(
                f"step {self.footprint.number} read array {array_in_words(a, self.loop.step)} when it was replayed, "
                "and not before\nexpected: steps that do the same in every run"
            )
        return result


def run_back(tape: LoopTape) -> int:
    """Run a tape in reverse from the gradients that arrays have; returns the bytes that it copied."""
    tape._prepare()
    tape._run(None)
    return sum(read.addresses.size for read in tape.session.copies)


class Preserved:
    """After it, arrays hold what they held before."""

    def __init__(self, arrays: Sequence[array]):
        self.arrays = arrays

    def __enter__(self) -> None:
        self.contents = [a._data.copy() for a in self.arrays]

    def __exit__(self, *error: object) -> None:
        for a, contents in zip(self.arrays, self.contents, strict=True):
            np.copyto(a._data, contents)


class Unseen:
    """While it lasts, tapes do not see that arrays are written, as their contents come back."""

    def __init__(self, arrays: Iterable[array]):
        self.memories = list(dict.fromkeys(a._memory for a in arrays))

    def __enter__(self) -> None:
        self.reads = [(m.reads, m.starts, m.reach, m.known) for m in self.memories]
        for m in self.memories:
            m.reads, m.starts, m.reach, m.known = [], [], 0, None

    def __exit__(self, *error: object) -> None:
        for m, known_reads in zip(self.memories, self.reads, strict=True):
            m.reads, m.starts, m.reach, m.known = known_reads

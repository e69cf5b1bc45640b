"""Read and write sets of a loop's steps: arrays that they write, and outer arrays that they read.

A loop whose steps are run again in reverse must keep all that goes from one step to the next. `Watch` is a
tape that sees every operation and keeps nothing; `Footprint` compares what it saw with what was declared.
Guarantees: after `settle`, every array that the steps wrote and that outlives them is declared, and every
other array that they read is in `constants`. What a step makes for itself, and drops, is its own affair.
"""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....errors import CheckpointError
from ...types.arrays import type_name
from ..arrays import saved_contents
from ..arrays.allocation import Allocation, foreign_allocation
from ..arrays.array import array, root
from ..arrays.call_site import CallSite
from ..arrays.foreign import ArrayLayout, memory_at
from ..arrays.saved_contents import Session
from ..tape.entries import AnnouncedWrite, WriteEntry
from ..tape.entry import TapeEntry, UsedArray
from ..tape.picture.names import caller_names, names_in
from ..tape.tape import Tape

if TYPE_CHECKING:
    pass
    from ..arrays.assignment import Writable


STATE, OUTPUTS, SCRATCH, PARAMETERS = "state", "outputs", "scratch", "parameters"

# ----- seeing -----------------------------------------------------------------------------------


class LoopTape(Tape):
    """A tape of steps that may run again: it notes what structures fill, too, and no parameters are set on it."""

    def note_constant(self, entry: WriteEntry) -> None:
        """What steps set belongs to the loop."""

    def note_filled(self, arrays: Iterable[array]) -> None:
        self.log.extend(AnnouncedWrite(a, CallSite.outside(), "a structure that is built") for a in arrays)


class _Replays(threading.local):
    """How many loops the thread runs again, whether or not a tape records their steps."""

    count = 0


replays = _Replays()


def may_run_again() -> bool:
    """Whether this is a step of a loop with checkpoints, in its first run or a later one."""
    return replays.count > 0 or any(isinstance(tape, LoopTape) for tape in saved_contents.active())


class Watch(LoopTape):
    """A tape that sees every operation, and registers and copies nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.session = _Blind()

    def note_replaced(self, what: str, instead: str) -> None:
        """Refuse what gives a structure arrays that were not there when the loop began."""
        raise CheckpointError(
            f"{what} in a step of a loop with checkpoints, called at {CallSite.outside()}\n"
            f"expected: structures that keep their arrays from step to step\nhelp: {instead}"
        )


class _Known(dict[int, Any]):
    """Says that the contents of every array are registered already."""

    def get(self, key: int, default: object = None) -> Any:
        return _NOTHING


class _Nothing:
    """A read that keeps nothing."""

    last = copy = None

    def add(self, user: object) -> None:
        pass


_NOTHING = _Nothing()


class _Blind(Session):
    """A session in which nothing is ever registered."""

    def __init__(self) -> None:
        super().__init__()
        self.current = _Known()

    def use(self, a: Writable, place: CallSite) -> None:
        """Nothing is to be noted."""

    def watch(self, memory: Allocation, view: np.ndarray) -> None:
        """Nothing is to be noted."""

    def note_unseen(self, *write: object) -> None:
        """Nothing is to be noted."""


def describe(entry: TapeEntry, use: UsedArray) -> tuple[str, CallSite]:
    """The operation in words, and where it was called."""
    return entry.words(use), entry.place


# ----- judging ----------------------------------------------------------------------------------


class _Trace(NamedTuple):
    """An array that was not declared, remembered without keeping it alive."""

    owner: Any
    root: Any
    layout: tuple[Any, ...]
    words: tuple[str, CallSite]


class Footprint:
    """What steps touched, against what was declared. kinds: by memory what it was declared as."""

    def __init__(self, kinds: Mapping[Allocation, str], step: Callable[..., Any]):
        self.kinds, self.step = kinds, step
        self.constants: dict[Allocation, array] = {}
        self.wrote_state = False
        self.number = 0
        self._read: dict[int, _Trace] = {}
        self._wrote: dict[int, _Trace] = {}
        self._filled: set[Allocation] = set()

    def look(self, number: int, entries: list[TapeEntry]) -> None:
        """Look at the operations of a step. Raises `CheckpointError` for those that its replay would not survive."""
        self.number = number
        self._filled.clear()
        for entry in entries:
            for use in entry.uses():
                if (use.depends or use.writes) and use.array.size:  # where there is no element, none is read
                    self._judge(entry, use)

    def _judge(self, entry: TapeEntry, use: UsedArray) -> None:
        kind = self.kinds.get(use.array._memory)
        if kind == STATE:
            self.wrote_state |= use.writes
        elif kind is not None:
            self._judge_declared(kind, entry, use)
        else:
            self._judge_undeclared(entry, use)

    def _judge_declared(self, kind: str, entry: TapeEntry, use: UsedArray) -> None:
        memory = use.array._memory
        if kind == PARAMETERS and use.writes:
            raise self._refusal(
                "writes",
                use.array,
                "parameters",
                describe(entry, use),
                ("expected: parameters that no step changes\nhelp: name it in state= instead"),
            )
        if kind == OUTPUTS and use.depends:
            raise self._refusal(
                "reads",
                use.array,
                "outputs",
                describe(entry, use),
                (
                    "expected: outputs that steps store to or add to (wp.atomic_add), as their contents are not kept\n"
                    "help: name it in state= instead"
                ),
            )
        if kind == SCRATCH and use.depends and memory not in self._filled:
            raise self._refusal(
                "reads",
                use.array,
                "scratch",
                describe(entry, use),
                (
                    "expected: scratch arrays that every step writes before it reads them\n"
                    "help: name it in state= instead"
                ),
            )
        if use.writes:
            self._filled.add(memory)

    def _judge_undeclared(self, entry: TapeEntry, use: UsedArray) -> None:
        memory = use.array._memory
        if memory in self.constants:
            if use.writes:
                raise self._stray(use.array, describe(entry, use))
            return
        key = id(memory)
        if use.writes and key not in self._wrote:
            self._wrote[key] = _trace(entry, use)
        elif key not in self._read:
            self._read[key] = _trace(entry, use)

    def settle(self) -> list[array]:
        """Judge arrays that were not declared, when nothing but the user's program keeps them alive.

        Returns those that were read, and not before. Raises `CheckpointError` for one that was written and is still
        there.
        """
        wrote, read, self._wrote, self._read = self._wrote, self._read, {}, {}
        if any(trace.owner() is not None for trace in wrote.values()):
            gc.collect()  # a step may have left cycles
        for trace in wrote.values():
            a = _found_again(trace)
            if a is not None:
                raise self._stray(a, trace.words)
        arrays = [_found_again(trace) for key, trace in read.items() if key not in wrote]
        fresh = [a for a in arrays if a is not None and a._memory not in self.constants]
        self.constants.update((a._memory, a) for a in fresh)
        return fresh

    def _stray(self, a: array, words: tuple[str, CallSite]) -> CheckpointError:
        return self._refusal(
            "writes",
            a,
            "",
            words,
            (
                "expected: steps that write what is declared, so that replays find it as it was\n"
                "help: state= for what goes from step to step, outputs= for what steps only store or add to, "
                "scratch= for what each step fills anew; make room in structures before the loop (grid.reserve(n))"
            ),
        )

    def _refusal(self, verb: str, a: array, kind: str, words: tuple[str, CallSite], rest: str) -> CheckpointError:
        where = f"which is one of {kind}=" if kind else "which is not declared and outlives the step"
        name = array_in_words(a, self.step)
        return CheckpointError(f"step {self.number} {verb} array {name}, {where}\nfound: {words[0]} {words[1]}\n{rest}")


def array_in_words(a: array, step: Callable[..., Any] | None = None) -> str:
    """An array in words, under the name that the step or the caller knows it by."""
    known = list(_names_of(step)) + caller_names()
    name = next((name for other, name in known if other._memory is a._memory), None)
    shown = f"array(shape={a.shape}, dtype={type_name(a.dtype)})"
    return f"{name!r} ({shown})" if name is not None else shown


def _names_of(step: Callable[..., Any] | None) -> Iterator[tuple[array, str]]:
    """Arrays that a function refers to."""
    function = inspect.unwrap(step) if callable(step) else None
    if inspect.ismethod(function):
        yield from names_in({"self": function.__self__})
    if inspect.isfunction(function) or inspect.ismethod(function):
        known = inspect.getclosurevars(function)
        yield from names_in({**known.globals, **known.nonlocals})


def _trace(entry: TapeEntry, use: UsedArray) -> _Trace:
    a = root(use.array)
    owner = a._data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    layout = (a._address, a.dtype, a.shape, a.strides, a.device)
    return _Trace(weakref.ref(owner), weakref.ref(a), layout, describe(entry, use))


def _found_again(trace: _Trace) -> array | None:
    """The array, if its memory is still there: memory of NumPy's may outlive the array that a launch made of it."""
    owner = trace.owner()
    a: array | None = trace.root()
    if owner is None or a is not None:
        return a
    ptr, dtype, shape, strides, device = trace.layout
    a = array._wrap(memory_at(ptr, ArrayLayout(dtype, shape, strides), device), dtype, device, owner=owner)
    a._memory = foreign_allocation(a._data)
    return a

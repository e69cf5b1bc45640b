"""What the steps of a loop touch: arrays that they write, and arrays from outside that they read.

A loop whose steps are run again in reverse must keep all that goes from one step to the next. `Watch` is a
tape that sees every operation and keeps nothing; `Footprint` compares what it saw with what was declared.
Guarantees: after `settle`, every array that the steps wrote and that outlives them is declared, and every
other array that they read is in `constants`. What a step makes for itself, and drops, is its own affair.
"""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....errors import CheckpointError
from ..arrays.array import array
from ..arrays.call_site import Place
from ..arrays.foreign import memory_at
from ..arrays.saved_contents import Memory, Session, foreign_memory
from ..tape.adjoint_needs import Needs
from ..tape.entries import FuncRecord, LaunchRecord, arrays_at, base
from ..tape.picture.names import caller_names, names_in
from ..tape.tape import Tape

STATE, OUTPUTS, SCRATCH, PARAMETERS = "state", "outputs", "scratch", "parameters"

# ----- seeing -----------------------------------------------------------------------------------


class Watch(Tape):
    """A tape that sees every operation, and registers and copies nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.session = _Blind()

    def mark_write(self, a: array) -> None:
        """An operation of the user's own is about to write."""
        self.log.append(Told(a, Place.outside()))

    def note_filled(self, arrays: Iterable[array]) -> None:
        self.log.extend(Told(a, Place.outside(), "a structure that is built") for a in arrays)

    def note_replaced(self, what: str, instead: str) -> None:
        """Refuse what gives a structure arrays that were not there when the loop began."""
        raise CheckpointError(
            f"{what} in a step of a loop with checkpoints, called at {Place.outside()}\n"
            f"expected: structures that keep their arrays from step to step\nhelp: {instead}"
        )

    def clear(self) -> None:
        """Forget what was seen."""
        release(self.log)
        self.log.clear()


class Replayed(Tape):
    """A tape of steps that are run again; `filled` are the arrays that structures filled in the present step."""

    def __init__(self) -> None:
        super().__init__()
        self.filled: list[Told] = []

    def note_filled(self, arrays: Iterable[array]) -> None:
        self.filled.extend(Told(a, Place.outside(), "a structure that is built") for a in arrays)


class Told(NamedTuple):
    """A write that `mark_write`, or a structure that fills its own arrays, announced."""

    array: array
    place: Place
    what: str = "mark_write"


class _Known(dict[int, Any]):
    """Says that the contents of every array are registered already."""

    def get(self, key: int, default: Any = None) -> Any:
        return _NOTHING


class _Nothing:
    """A read that keeps nothing."""

    last = copy = None

    def add(self, user: Any) -> None:
        pass


_NOTHING = _Nothing()


class _Blind(Session):
    """A session in which nothing is ever registered."""

    def __init__(self) -> None:
        super().__init__()
        self.current = _Known()


def release(log: list[Any]) -> None:
    """Let arrays go when the log goes: records refer to themselves by their steps."""
    for record in log:
        if not isinstance(record, tuple):
            record.step = None


class Access(NamedTuple):
    """An array that an operation touched. what: the name of the argument; about: the entry of the log."""

    array: array
    reads: bool
    writes: bool
    what: str
    about: Any


@lru_cache(maxsize=1024)
def uses(needs: Needs) -> tuple[tuple[Any, str, bool, bool], ...]:
    """The arrays that a kernel touches: path, name, whether it is read, whether it is written."""
    mod_ref = needs.mod_ref
    read = mod_ref.read | mod_ref.extremes | (mod_ref.written if mod_ref.returning else set())
    paths = [*needs.name, *sorted((read | mod_ref.written) - set(needs.name))]
    return tuple((path, needs.name.get(path, "?"), path in read, path in mod_ref.written) for path in paths)


def accesses(entry: Any) -> Iterator[Access]:
    """What one entry of a tape's log touched."""
    needs, args = None, ()
    if entry.__class__ is tuple:
        needs, args = entry[0], entry[3]
    elif isinstance(entry, LaunchRecord):
        needs, args = entry.needs, entry.args
    if needs is not None:
        for path, name, reads, writes in uses(needs):
            if reads or writes:
                if needs.plain:
                    yield Access(args[path[0]], reads, writes, name, entry)
                    continue
                for table, a in arrays_at(args, path):
                    yield Access(a, reads or table is not None, writes and table is None, name, entry)
    elif isinstance(entry, Told):
        yield Access(entry.array, False, True, "", entry)
    elif isinstance(entry, FuncRecord):
        yield from (Access(base(a), True, False, "", entry) for a in entry.given)
        yield from (Access(a, False, True, "", entry) for a in entry.written())
    else:
        if entry.source is not None:
            yield Access(base(entry.source), True, False, "", entry)
        yield Access(base(entry.dest), False, True, "", entry)


def described(access: Access) -> tuple[str, Place]:
    """The operation in words, and where it was called."""
    about = LaunchRecord(*access.about) if access.about.__class__ is tuple else access.about
    if isinstance(about, LaunchRecord):
        return f"argument {access.what!r} of kernel {about.kernel.key!r}, launched at", about.place
    return f"{getattr(about, 'what', 'a recorded function')}, called at", about.place


# ----- judging ----------------------------------------------------------------------------------


class _Trace(NamedTuple):
    """An array that was not declared, remembered without keeping it alive."""

    owner: Any
    root: Any
    layout: tuple[Any, ...]
    words: tuple[str, Place]


class Footprint:
    """What steps touched, against what was declared. kinds: by memory what it was declared as."""

    def __init__(self, kinds: Mapping[Memory, str], step: Any):
        self.kinds, self.step = kinds, step
        self.constants: dict[Memory, array] = {}
        self.wrote_state = False
        self.number = 0
        self._read: dict[int, _Trace] = {}
        self._wrote: dict[int, _Trace] = {}
        self._filled: set[Memory] = set()

    def look(self, number: int, log: list[Any]) -> None:
        """Look at the operations of a step. Raises `CheckpointError` for those that its replay would not survive."""
        self.number = number
        self._filled.clear()
        for entry in log:
            for access in accesses(entry):
                kind = self.kinds.get(access.array._memory)
                if kind == STATE:
                    self.wrote_state |= access.writes
                elif kind is not None:
                    self._declared(kind, access)
                else:
                    self._undeclared(access)

    def _declared(self, kind: str, access: Access) -> None:
        memory = access.array._memory
        if kind == PARAMETERS and access.writes:
            raise self._refusal("writes", access.array, "parameters", described(access), (
                "expected: parameters that no step changes\nhelp: name it in state= instead"
            ))  # fmt: skip
        if kind == OUTPUTS and access.reads:
            raise self._refusal("reads", access.array, "outputs", described(access), (
                "expected: outputs that steps store to or add to (wp.atomic_add), as their contents are not kept\n"
                "help: name it in state= instead"
            ))  # fmt: skip
        if kind == SCRATCH and access.reads and memory not in self._filled:
            raise self._refusal("reads", access.array, "scratch", described(access), (
                "expected: scratch arrays that every step writes before it reads them\n"
                "help: name it in state= instead"
            ))  # fmt: skip
        if access.writes:
            self._filled.add(memory)

    def _undeclared(self, access: Access) -> None:
        memory = access.array._memory
        if memory in self.constants:
            if access.writes:
                raise self._stray(access.array, described(access))
            return
        key = id(memory)
        if access.writes and key not in self._wrote:
            self._wrote[key] = _traced(access)
        elif key not in self._read:
            self._read[key] = _traced(access)

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
        found = [_found_again(trace) for key, trace in read.items() if key not in wrote]
        fresh = [a for a in found if a is not None and a._memory not in self.constants]
        self.constants.update((a._memory, a) for a in fresh)
        return fresh

    def _stray(self, a: array, words: tuple[str, Place]) -> CheckpointError:
        return self._refusal("writes", a, "", words, (
            "expected: steps that write what is declared, so that replays find it as it was\n"
            "help: state= for what goes from step to step, outputs= for what steps only store or add to, "
            "scratch= for what each step fills anew; make room in structures before the loop (grid.reserve(n))"
        ))  # fmt: skip

    def _refusal(self, verb: str, a: array, kind: str, words: tuple[str, Place], rest: str) -> CheckpointError:
        where = f"which is one of {kind}=" if kind else "which is not declared and outlives the step"
        return CheckpointError(
            f"step {self.number} {verb} array {named(a, self.step)}, {where}\nfound: {words[0]} {words[1]}\n{rest}"
        )


def named(a: array, step: Any = None) -> str:
    """An array in words, under the name that the step or the caller knows it by."""
    known = list(_names_of(step)) + caller_names()
    name = next((name for other, name in known if other._memory is a._memory), None)
    return f"{name!r} ({a!r})" if name is not None else repr(a)


def _names_of(step: Any) -> Iterator[tuple[array, str]]:
    """Arrays that a function refers to."""
    function = inspect.unwrap(step) if callable(step) else None
    if inspect.ismethod(function):
        yield from names_in({"self": function.__self__})
    if inspect.isfunction(function) or inspect.ismethod(function):
        known = inspect.getclosurevars(function)
        yield from names_in({**known.globals, **known.nonlocals})


def root(a: array) -> array:
    """The array that a view is a view of."""
    while isinstance(a._owner, array):
        a = a._owner
    return a


def _traced(access: Access) -> _Trace:
    a = root(access.array)
    owner = a._data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    layout = (a.ptr, a.dtype, a.shape, a.strides, a.device)
    return _Trace(weakref.ref(owner), weakref.ref(a), layout, described(access))


def _found_again(trace: _Trace) -> array | None:
    """The array, if its memory is still there: memory of NumPy's may outlive the array that a launch made of it."""
    owner = trace.owner()
    a: array | None = trace.root()
    if owner is None or a is not None:
        return a
    ptr, dtype, shape, strides, device = trace.layout
    a = array._wrap(memory_at(ptr, dtype, shape, strides, None), dtype, device, owner=owner)
    a._memory = foreign_memory(a._data)
    return a

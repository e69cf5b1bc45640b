"""Copies before overwrites: who still needs the contents of which memory, and what a write to it does.

A tape registers a `Read` for every array view whose contents some adjoint may look at. Arrays and their
views share one `Allocation`, which finds the reads that a write is about to destroy. A write that the tape
records saves them first: the read then points at a copy. A write that no tape sees spoils them, and
`Tape.backward` says so. What is written through NumPy is found out by comparing checksums.

Nothing here costs anything while `alert` is zero: no tape records, and none has live reads.
"""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ....config import config
from ....errors import TapeOverwriteError
from ..devices.capture import current_graph
from ..devices.device import span_of
from ..devices.device_memory import DeviceMemory, on_host
from ..devices.transfer import copying
from .call_site import CallSite
from .host_memory import allocate_like

Run = Callable[[Callable[[], None]], None]
"""Runs a step now, or puts it into the graph that is captured."""

alert = 0
"""How many tapes record now, in any thread, or may still need what is in memory."""

_counting = threading.Lock()
lock = threading.RLock()  # launches of other threads may write to what a tape of this one read
_state = threading.local()
_EXACT_WORK = 1000  # how hard to look whether interleaved views share elements before assuming that they do


def active() -> tuple[Any, ...]:
    """The tapes that record this thread, outermost first."""
    return getattr(_state, "tapes", ())


def set_active(tapes: tuple[Any, ...]) -> None:
    """Let these tapes record this thread."""
    _count(len(tapes) - len(active()))
    _state.tapes = tapes


def _count(change: int) -> None:
    global alert
    with _counting:
        alert += change


def paused() -> bool:
    """Whether tapes that began before are to see nothing of what this thread does."""
    return getattr(_state, "paused", False)


def set_paused(paused: bool) -> None:
    """Let this thread be paused or not."""
    _state.paused = paused


class Paused:
    """`with Paused():` nothing that this thread does is recorded."""

    def __enter__(self) -> None:
        self.tapes, self.outer = active(), paused()
        set_active(())
        _state.paused = True

    def __exit__(self, *error: Any) -> None:
        set_active(self.tapes)
        _state.paused = self.outer


class Session:
    """The live reads of one recording of a tape."""

    def __init__(self) -> None:
        self.live = True
        self.current: dict[int, Read] = {}
        """The read of each array object, by `id`, while its contents are unchanged."""
        self.kept: list[Any] = []  # those objects: another one must not get the same `id`
        self.reads: list[Read] = []
        self.copies: list[Read] = []
        self.started = False
        self.frame: Any = None
        """The graph in whose time the reads are valid: the one that is captured, or has still to run; None: now."""
        self.home: Any = None  # the graph in whose capture the tape was recorded
        self._pins = 0
        self._over = False

    def begin(self) -> None:
        """There are live reads from now on."""
        if not self.started:
            self.started = True
            _count(1)

    def pin(self) -> None:
        """Live on until `unpin`, even when the tape goes: a graph holds steps of its reverse."""
        self._pins += 1

    def unpin(self) -> None:
        self._pins -= 1
        if self._over:
            self.end()

    def check(self) -> None:
        """Raise when something that the tape did not see changed what a gradient needs."""
        for read in self.reads:
            if not read.spoiled and read.changed():
                read.spoiled = THROUGH_NUMPY
            if read.spoiled and read.needed():
                raise TapeOverwriteError(
                    f"{read.name} was changed after it was recorded\n"
                    f"found: recorded at {read.place}, changed by {read.spoiled}\n"
                    "expected: arrays that gradients need to stay as they are until backward\n"
                    "help: write inside `with tape:`, which keeps a copy, or write to another array"
                )

    def end(self) -> None:
        """Nothing is needed any more."""
        self._over = True
        if self.live and not self._pins:
            self.live = False
            with lock:  # else arrays would keep the reads of tapes long gone
                for read in self.reads:
                    if read.there:
                        read.memory.drop(read)
            for held in (self.current, self.kept, self.reads, self.copies):
                held.clear()  # type: ignore[attr-defined]
            if self.started:
                _count(-1)


class Read:
    """The contents of one view of memory, which some recorded operations need in reverse."""

    __slots__ = ("copy", "high", "keys", "last", "low", "memory", "owners", "place", "print", "session", "spoiled",
                 "there", "users", "view", "writer")  # fmt: skip

    def __init__(self, view: np.ndarray, reach: tuple[int, int], memory: Allocation, session: Session, place: CallSite):
        self.view, self.memory, self.session, self.place = view, memory, session, place
        self.low, self.high = reach
        self.copy: np.ndarray | None = None
        self.owners: Any = None  # the arrays that elements in the copy refer to
        self.writer: Any = None  # what made the copy necessary
        self.spoiled = ""
        self.there = False  # whether the memory knows of it
        self.keys: list[int] = []
        self.users: dict[Any, None] = {}
        """Objects with a method `needed()`: whether an adjoint really looks at the contents."""
        self.last: Any = None
        self.print: Any = None

    def add(self, user: Any) -> None:
        """Another operation needs this."""
        self.users[user] = None
        self.last = user

    def needed(self) -> bool:
        return any(user.needed() for user in self.users)

    @property
    def name(self) -> str:
        """The array in words: as the argument of a kernel whose adjoint needs it."""
        user = next((user for user in self.users if user.needed()), self.last)
        return f"{user} (shape {self.view.shape}, {self.view.dtype})"

    def forget(self) -> None:
        """Later readers of the array look at other contents."""
        for key in self.keys:
            self.session.current.pop(key, None)

    def save(self, held: Any, writer: Writer, run: Run) -> None:
        """Keep the contents in a copy; `run` runs the copying, or puts it into a graph.

        held: of memory whose elements refer to arrays, those.
        """
        if not self.needed():
            return
        if self.changed():
            self.spoiled = THROUGH_NUMPY
            return
        if config.tape_snapshots == "error":
            raise TapeOverwriteError(
                f"{writer.what} at {writer.place} overwrites {self.name}\n"
                f"found: the launch at {self.place} needs the contents from before for its gradient\n"
                "expected: no overwritten arrays, as config.tape_snapshots = 'error' asks\n"
                "help: write to another array, or set config.tape_snapshots = 'copy'"
            )
        view = self.view
        contents = np.empty_like(view) if view.flags.c_contiguous else allocate_like(view)
        run(copying(contents, view))
        self.copy, self.writer = contents, writer
        if held is not None:
            self.owners = held.arrays()
        self.session.copies.append(self)

    def note_exposed(self) -> None:
        """NumPy may write from now on: remember what is here.

        Of memory on a GPU NumPy has copies alone; other frameworks' writes are not looked for, as that would cost
        more than their work.
        """
        here = self.print is None and self.session.frame is None
        if here and self.copy is None and not isinstance(self.view, DeviceMemory):
            self.print = fingerprint(self.view)

    def changed(self) -> bool:
        """Whether NumPy wrote since the contents were registered."""
        return self.print is not None and self.copy is None and fingerprint(self.view) != self.print


THROUGH_NUMPY = "a NumPy view of its memory"


class Writer:
    """What is about to write: words for messages, and where it was called."""

    __slots__ = ("_place", "what")

    def __init__(self, what: str, place: CallSite | None = None):
        self.what, self._place = what, place

    @property
    def place(self) -> CallSite:
        return self._place or CallSite.unknown()


class Allocation:
    """The memory that an array and its views share, and the live reads of it."""

    __slots__ = ("__weakref__", "exposed", "has_gradient", "left", "reach", "reads", "starts")

    def __init__(self, exposed: bool = False):
        self.exposed = exposed  # whether NumPy may write to it unseen
        self.has_gradient = False  # whether some array over it has, or had, a gradient
        self.left: Any = None  # of gradients: what backward passes left, see `seeds`
        self.reads: list[Read] = []
        self.starts: list[int] = []
        self.reach = 0  # the longest read [bytes]: how far before an address reads of it may start

    def expose(self, view: np.ndarray) -> None:
        """NumPy gets a view of the memory."""
        if not self.exposed:
            self.exposed = True
            _foreign.setdefault(base_address(view), self)
        if self.reads:
            with lock:
                for read in self.reads:
                    if read.session.live:
                        read.note_exposed()

    def lend(self, address: int) -> None:
        """Another framework gets memory at an address. Its writes are not looked for, as its arrays take steps of
        optimisers between two passes of one tape; what we make of its memory again is known for the same memory."""
        _foreign.setdefault(address, self)

    def read(self, a: Any, session: Session, place: CallSite) -> Read:
        """The live read of an array: a new one, or that of an equal view at the same contents."""
        with lock:
            read = self._read(a._data, span(a), session, place)
            read.keys.append(id(a))
            session.current[id(a)] = read
            session.kept.append(a)
            return read

    def _read(self, view: np.ndarray, reach: tuple[int, int], session: Session, place: CallSite) -> Read:
        low, high = reach
        for read in list(self.near(low, high)) if self.reads else ():
            if not read.session.live:
                self.drop(read)  # else arrays that nobody overwrites would collect reads of tapes long gone
                continue
            same = read.low == low and read.view.shape == view.shape and read.view.strides == view.strides
            if same and read.session is session and read.view.dtype == view.dtype:
                break
        else:
            session.begin()
            read = Read(view, reach, self, session, place)
            session.reads.append(read)
            self.add(read)
        return read

    def add(self, read: Read) -> None:
        """Know of a read from now on."""
        at = bisect_right(self.starts, read.low)
        self.starts.insert(at, read.low)
        self.reads.insert(at, read)
        read.there = True
        self.reach = max(self.reach, read.high - read.low)
        if self.exposed:
            read.note_exposed()

    def near(self, low: int, high: int) -> Iterator[Read]:
        """Live reads that may reach into a range of addresses."""
        first = bisect_left(self.starts, low - self.reach)
        for read in self.reads[first : bisect_left(self.starts, max(high, low + 1))]:
            if read.high > low:
                yield read

    def drop(self, read: Read) -> None:
        """A read needs this memory no more."""
        at = bisect_left(self.starts, read.low)
        while at < len(self.reads) and self.reads[at] is not read:
            at += 1
        if at == len(self.reads):
            return  # put aside for the moment
        del self.reads[at], self.starts[at]
        read.there = False
        if not self.reads:
            self.reach = 0
        read.forget()

    def overwrite(self, a: Any, view: np.ndarray, tapes: tuple[Any, ...], writer: Writer, run: Run) -> None:
        """A part of array `a` is about to be written: save or spoil the reads that lose their contents."""
        with lock:
            self._overwrite(a._held, view, span(a) if view is a._data else bounds(view), tapes, writer, run)

    def _overwrite(
        self, held: Any, view: np.ndarray, reach: tuple[int, int], tapes: tuple[Any, ...], writer: Writer, run: Run
    ) -> None:
        low, high = reach
        sessions = [tape.session for tape in tapes]
        now = current_graph()
        for read in list(self.near(low, high)):
            if read.session.frame is not now:
                continue  # what is written in one time leaves contents of another as they are
            if read.session.live and read.view is not view and not meets(read.view, view):
                continue
            if read.session in sessions:
                read.save(held, writer, run)
            elif read.session.live:
                read.spoiled = f"{writer.what} at {writer.place}"
            self.drop(read)


_foreign: WeakValueDictionary[int, Allocation] = WeakValueDictionary()


def foreign_allocation(view: np.ndarray) -> Allocation:
    """The allocation of others that a view lies in, found again by its address."""
    key = base_address(view)
    allocation = _foreign.get(key)
    if allocation is None:
        allocation = _foreign[key] = Allocation(exposed=True)
    return allocation


def shared_allocation(address: int) -> Allocation:
    """The allocation of another framework at an address; see `Allocation.lend`."""
    allocation = _foreign.get(address)
    if allocation is None:
        allocation = _foreign[address] = Allocation()
    return allocation


def base_address(view: np.ndarray) -> int:
    """The address where the memory of a view starts."""
    base = view
    while isinstance(base.base, np.ndarray):
        base = base.base
    return base.ctypes.data


def about_to_write(array: Any, view: np.ndarray, what: str, run: Run) -> None:
    """A host operation is about to write a part of an array: save or spoil the reads of it."""
    if alert and array._memory.reads:
        array._memory.overwrite(array, view, active(), Writer(what, CallSite.outside()), run)


def span(a: Any) -> tuple[int, int]:
    """The bounds of an array."""
    reach: tuple[int, int] | None = a._span
    if reach is None:
        reach = a._span = (a._address, a._address + a._data.nbytes) if a.is_contiguous else bounds(a._data)
    return reach


def bounds(view: np.ndarray) -> tuple[int, int]:
    """The first and one past the last address of a view without negative strides."""
    low = view.ctypes.data
    return low, low + span_of(view.shape, view.strides, view.itemsize)


def meets(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two views share an element; yes where it would take long to find out."""
    try:
        return bool(np.shares_memory(a, b, max_work=_EXACT_WORK))
    except np.exceptions.TooHardError:
        return True


def fingerprint(view: np.ndarray) -> int:
    """A checksum of the contents."""
    return zlib.crc32(np.ascontiguousarray(on_host(view)).view(np.uint8).data if view.size else b"")

"""Saved contents: copies of memory taken before a write, for the tapes that still need what it held.

A tape registers a `Read` for every array view whose contents some adjoint may look at. Arrays and their
views share one `Allocation`, which finds the reads that a write is about to destroy. A write that the tape
records saves them first: the read then points at a copy; so does one that another tape records, for a tape whose
`backward` is still to come. A write that no tape sees spoils them, and `Tape.backward` says so.

A gradient must not pass through a write that its tape does not see either, whether contents are needed or not. So
an allocation knows the sessions that use it (`known`), and such a write becomes an `UnseenWrite` of each. What NumPy
writes is found out by comparing checksums from the last recorded use on, while somebody holds a view (`exports`);
what PyTorch writes by its own counts of writes.

Nothing here costs anything while `alert` is zero: no tape records, and none has live reads.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import ref

import numpy as np

from ....config import config
from ....errors import TapeOverwriteError
from ....forks import fork_safe
from ..devices.device_memory import DeviceMemory
from ..devices.memory_range import MemoryRange
from ..steps.move import copying
from .call_site import CallSite
from .exports import fingerprint
from .host_memory import allocate_like

if TYPE_CHECKING:
    from .allocation import Allocation
    from .assignment import Writable
    from .held import Held

alert = 0
"""How many tapes record now, in any thread, or may still need what is in memory."""

_counting = fork_safe(threading.Lock())
lock = fork_safe(threading.RLock())  # launches of other threads may write to what a tape of this one read
_state = threading.local()


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


def is_paused() -> bool:
    """Whether tapes that began before are to see nothing of what this thread does."""
    return getattr(_state, "paused", False)


def set_paused(paused: bool) -> None:
    """Let this thread be paused or not."""
    _state.paused = paused


class Paused:
    """`with Paused():` nothing that this thread does is recorded. Whoever pauses answers to the tapes for it."""

    def __enter__(self) -> None:
        self.tapes, self.outer, self.behind = active(), is_paused(), suspended_tapes()
        set_active(())
        _state.paused, _state.suspended = True, (*self.behind, *self.tapes)

    def __exit__(self, *error: object) -> None:
        set_active(self.tapes)
        _state.paused, _state.suspended = self.outer, self.behind


def suspended_tapes() -> tuple[Any, ...]:
    """The tapes that would record this thread, were it not paused."""
    return getattr(_state, "suspended", ())


class User(Protocol):
    """What looks at contents in reverse."""

    def is_needed(self) -> bool:
        """Whether it really does."""


class UnseenWrite(NamedTuple):
    """A write between two entries of a tape that is none of them.

    position: of the first entry that comes after it for certain. addresses: between which it wrote.
    """

    position: int
    memory: Allocation
    addresses: MemoryRange
    words: str
    announced: bool = False
    """Whether `mark_write` told of it, so that a recorded function may answer for its derivative."""


class Session:
    """The live reads of one recording of a tape."""

    def __init__(self, tape: Any = None) -> None:
        self.live = True
        self._tape = None if tape is None else ref(tape)  # which holds the session
        self.unseen: list[UnseenWrite] = []
        self.opened = 0
        """How many times `with` holds the tape open now."""
        self.done = False
        """Whether `backward` has run since it recorded last."""
        self.current: dict[int, Read] = {}
        """The read of each array object, by `id`, while its contents are unchanged."""
        self.kept: list[Any] = []  # those objects: another one must not get the same `id`
        self.reads: list[Read] = []
        self.copies: list[Read] = []
        self.watched: list[Read] = []  # reads that others may change whom nobody sees
        self.started = False
        self.frame: Any = None
        """The graph in whose time the reads are valid: the one that is captured, or has still to run; None: now."""
        self.home: Any = None  # the graph in whose capture the tape was recorded
        self._pins = 0
        self._over = False

    @property
    def position(self) -> int:
        """The number of entries of the tape."""
        tape = None if self._tape is None else self._tape()
        return 0 if tape is None else len(tape.log)

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

    def use(self, a: Writable, place: CallSite) -> None:
        """An operation that was just recorded uses an array; gradients may pass from here to later ones."""
        memory = a._memory
        if memory.known is not self:
            with lock:
                memory.join((self,))
        if memory.is_watched():
            memory.read(a, self, place, 0)

    def watch(self, memory: Allocation, view: np.ndarray) -> None:
        """Others get a view of memory that the tape uses."""
        if self.live and self.frame is None and memory.has_gradient:
            memory.read_view(view, self)

    def note_unseen(self, memory: Allocation, addresses: MemoryRange, words: str, position: int | None = None) -> None:
        """Something wrote that the tape did not see. position: None for now."""
        if memory.has_gradient:
            self.unseen.append(UnseenWrite(self.position if position is None else position, memory, addresses, words))

    def look(self) -> None:
        """Notice what others changed since the last recorded use."""
        for read in self.watched:
            if not read.spoiled:
                read.notice_change(counts=self.opened > 0)

    def close(self) -> None:
        """The tape is no longer open: what PyTorch writes from now on are steps of optimisers between passes."""
        self.opened -= 1
        for read in self.watched:
            if not read.spoiled:
                read.notice_change(prints=False)

    def check(self) -> None:
        """Raise when something that the tape did not see changed what a gradient needs."""
        self.look()
        for read in self.reads:
            if read.spoiled and read.is_needed():
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
            for held in (self.current, self.kept, self.reads, self.copies, self.watched, self.unseen):
                held.clear()
            if self.started:
                _count(-1)


class Read:
    """The contents of one view of memory, which some recorded operations need in reverse."""

    __slots__ = ("addresses", "copy", "counts", "keys", "last", "memory", "owners", "place", "print", "session",
                 "since", "spoiled", "there", "users", "view", "writer")  # fmt: skip

    def __init__(self, view: np.ndarray, addresses: MemoryRange, memory: Allocation, session: Session, place: CallSite):
        self.view, self.addresses, self.memory, self.session, self.place = view, addresses, memory, session, place
        self.copy: np.ndarray | None = None
        self.owners: Any = None  # the arrays that elements in the copy refer to
        self.writer: Any = None  # what made the copy necessary
        self.spoiled = ""
        self.there = False  # whether the memory knows of it
        self.keys: list[int] = []
        self.users: dict[User, None] = {}
        self.last: Any = None
        self.print: Any = None
        self.counts: list[int] | None = None  # of writes by PyTorch, one for each of the allocation's tensors
        self.since = 0
        """Of contents that others may change: the entry of the tape that comes first after they were noted."""

    def add(self, user: User) -> None:
        """Another operation needs this."""
        self.users[user] = None
        self.last = user

    def is_needed(self) -> bool:
        return any(user.is_needed() for user in self.users)

    @property
    def name(self) -> str:
        """The array in words: as the argument of a kernel whose adjoint needs it."""
        user = next((user for user in self.users if user.is_needed()), self.last)
        return f"{user} (shape {self.view.shape}, {self.view.dtype})"

    def forget(self) -> None:
        """Later readers of the array look at other contents."""
        for key in self.keys:
            self.session.current.pop(key, None)

    def save(self, held: Held | None, writer: Writer) -> None:
        """Keep the contents in a copy.

        held: of memory whose elements refer to arrays, those.
        """
        if (self.counts is not None and self.notice_change()) or not self.is_needed():
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
        copying(contents, view).submit()
        self.copy, self.writer = contents, writer
        if held is not None:
            self.owners = held.arrays()
        self.session.copies.append(self)

    def watch(self, since: int) -> None:
        """Others may write: remember what is here, and that it was here when the tape had so many entries."""
        if self.session.frame is not None:
            return  # it is about the time of a graph
        self.since = since
        self.session.watched.append(self)
        self.note_exposed()
        self.counts = [tensor._version for tensor in self.memory.tensors.values()]

    def note_exposed(self) -> None:
        """Others may write from now on: remember what is here.

        Of memory on a GPU NumPy has copies alone; other frameworks' writes are not looked for there, as that would
        cost more than their work.
        """
        here = self.print is None and self.session.frame is None and (self.memory.exposed or self.memory.exports)
        if here and self.copy is None and not isinstance(self.view, DeviceMemory):
            self.print = fingerprint(self.view)

    def find_writer(self, prints: bool, counts: bool) -> str:
        """Who wrote since the contents were registered, by checksums NumPy, by counts PyTorch; empty for nobody."""
        if self.copy is not None:
            return ""
        if prints and self.print is not None and fingerprint(self.view) != self.print:
            return THROUGH_NUMPY
        versions = zip(self.memory.tensors.values(), self.counts or (), strict=False)
        return THROUGH_TORCH if counts and any(t._version != n for t, n in versions) else ""

    def notice_change(self, prints: bool = True, counts: bool = True) -> bool:
        """Note it if somebody wrote whom nobody saw, and say whether this is so."""
        by = self.find_writer(prints, counts)
        if by:
            self.spoiled = by
            self.session.note_unseen(self.memory, self.addresses, by, self.since)
        return bool(by)

    def let_go(self) -> None:
        """The memory holds something else from now on."""
        if self.copy is None:
            self.print = self.counts = None


THROUGH_NUMPY = "a NumPy view of its memory"
THROUGH_TORCH = "PyTorch, in a tensor over its memory"


class Writer:
    """What is about to write: words for messages, and where it was called."""

    __slots__ = ("_place", "what")

    def __init__(self, what: str, place: CallSite | None = None):
        self.what, self._place = what, place

    @property
    def place(self) -> CallSite:
        return self._place or CallSite.unknown()

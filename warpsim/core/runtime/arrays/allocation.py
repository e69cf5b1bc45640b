"""`Allocation`: the memory shared by an array and its views, with its pending reads, its users and its foreign writers.

An `Allocation` finds the reads that a write is about to destroy (see `saved_contents`), and tells the sessions that use
the memory of writes that they do not see. Others may write whom nobody sees: NumPy while it holds a view, PyTorch while
it has a tensor. Then recorded operations note what they leave.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ....config import config
from ..devices.capture import current_graph
from ..devices.memory_range import EVERYWHERE, MemoryRange, bounds, range_of, share_elements
from . import saved_contents
from .call_site import CallSite
from .exports import export_view
from .saved_contents import Read, Session, Writer, active, lock, suspended_tapes

if TYPE_CHECKING:
    from .assignment import Writable
    from .held import Held


class Allocation:
    """The memory that an array and its views share, and the live reads of it."""

    __slots__ = ("__weakref__", "aliased", "exports", "exposed", "has_gradient", "known", "left", "reach", "reads",
                 "starts", "tensors")  # fmt: skip

    def __init__(self, exposed: bool = False):
        self.exposed = exposed  # whether NumPy may write to it unseen for ever
        self.exports: list[Any] = []  # weak references to views that NumPy may have
        self.tensors: dict[Any, Any] = {}
        """Tensors of PyTorch's over it, whose writes PyTorch counts."""
        self.known: Session | tuple[Session, ...] | None = None
        """The sessions that use it; one alone, unless others may write whom nobody sees, is no tuple."""
        self.aliased = False  # whether arrays that are no views of each other have it
        self.has_gradient = False  # whether some array over it has, or had, a gradient
        self.left: Any = None  # of gradients: what backward passes left, see `seeds`
        self.reads: list[Read] = []
        self.starts: list[int] = []
        self.reach = 0  # the longest read [bytes]: how far before an address reads of it may start

    def expose(self, view: np.ndarray) -> None:
        """Others get the memory, and nobody can tell for how long."""
        if not self.exposed:
            self.exposed = True
            _foreign.setdefault(base_address(view), self)
        self._note_exposed(view)

    def export(self, view: np.ndarray, address: int) -> np.ndarray:
        """A view for others, who may write while it lives, or any view of it."""
        if self.exposed or not view.size or not view.flags.writeable:
            if self.reads or self.known:
                self._note_exposed(view)
            return view
        shared = export_view(view, address)
        self.exports = [held for held in self.exports if held() is not None]
        self.exports.append(ref(shared))
        if address not in _foreign:
            _foreign[address] = self
        if self.reads or self.known:
            self._note_exposed(view)
        return shared

    def forget_watch(self, session: Session) -> None:
        """What others wrote for a session is answered for: it looks at present contents from now on."""
        with lock:
            for read in [read for read in self.reads if read.session is session and not read.users]:
                read.let_go()
                self.drop(read)

    def _note_exposed(self, view: np.ndarray) -> None:
        with lock:
            self._watch(view)
            for read in self.reads:
                if read.session.live and read.counts is None:
                    read.watch(read.session.position)
                elif read.session.live:
                    read.note_exposed()

    def _watch(self, view: np.ndarray) -> None:
        """Note what the users of the memory find in a view that others get."""
        if self.known:
            self.known = self.users  # even if there is one: recorded writes note what they leave
            for session in self.known:
                session.watch(self, view)

    def count_writes(self, key: object, tensor: Any, view: np.ndarray) -> None:
        """PyTorch has a tensor over the memory, whose `_version` counts what is written by it and by all views of it.

        key: the same for tensors that are counted together.
        """
        known = self.tensors.get(key)
        if known is not None and known._version == tensor._version:
            return
        with lock:
            self.tensors[key if known is None else object()] = tensor
            for read in self.reads:
                if read.counts is None:
                    read.watch(read.session.position)
                else:
                    read.counts.append(tensor._version)
            self._watch(view)

    def is_watched(self) -> bool:
        """Whether others may write whom nobody sees."""
        return self.exposed or bool(self.tensors) or any(held() is not None for held in self.exports)

    # ----- users ------------------------------------------------------------------------------

    @property
    def users(self) -> tuple[Session, ...]:
        """The sessions that use it."""
        known = self.known
        return known if isinstance(known, tuple) else () if known is None else (known,)

    def take(self, session: Session | None) -> bool:
        """One session uses the memory from now on, or none; whether this is all there is to do."""
        known = self.known
        if known is not None and (isinstance(known, tuple) or known.live):
            return False
        if self.exposed or self.exports or self.tensors:
            return False
        if session is not None and not session.started and self.has_gradient:
            session.begin()
        self.known = session
        return True

    def join(self, sessions: tuple[Session, ...]) -> None:
        """Some sessions use the memory from now on."""
        if self.has_gradient:
            for session in sessions:
                session.begin()
        users = (*[s for s in self.users if s.live and s not in sessions], *sessions)
        self.known = users[0] if len(users) == 1 and not self.is_watched() else users

    def meet(self, sessions: tuple[Session, ...], addresses: MemoryRange, writer: Writer, joins: bool = True) -> bool:
        """A write that these sessions see, or none: tell the others. Returns whether to note what it leaves.

        joins: whether they use the memory from now on, as they record it.
        """
        with lock:
            now, stay = current_graph(), []
            trusted = [tape.session for tape in suspended_tapes()]
            for session in self.users:
                sees = session in sessions or session in trusted or session.frame is not now
                if session.live and not sees:
                    somewhere = addresses if session.opened else EVERYWHERE
                    session.note_unseen(self, somewhere, f"{writer.what} at {writer.place}")
                if session.live and (sees or session.opened):
                    stay.append(session)
            self.known = tuple(stay) or None
            if sessions and joins:
                self.join(sessions)
            return joins and bool(sessions) and self.is_watched()

    def lend(self, address: int) -> None:
        """Another framework gets memory at an address: what we make of that again is known for the same memory."""
        _foreign.setdefault(address, self)

    def read(self, a: Writable, session: Session, place: CallSite, later: int = 1) -> Read:
        """The live read of an array: a new one, or that of an equal view at the same contents.

        later: how many entries the tape will have more when somebody else may change them.
        """
        with lock:
            read = self._read(a._data, range_of(a), session, place, later)
            read.keys.append(id(a))
            session.current[id(a)] = read
            session.kept.append(a)
            return read

    def read_view(self, view: np.ndarray, session: Session) -> None:
        """A session looks at present contents of a view that others get."""
        self._read(view, bounds(view), session, CallSite.outside(), 0)

    def _read(self, view: np.ndarray, addresses: MemoryRange, session: Session, place: CallSite, later: int) -> Read:
        for read in list(self.near(addresses)) if self.reads else ():
            if not read.session.live:
                self.drop(read)  # else arrays that nobody overwrites would collect reads of tapes long gone
                continue
            same = read.addresses.low == addresses.low and read.view.dtype == view.dtype and read.session is session
            if same and read.view.shape == view.shape and read.view.strides == view.strides:
                break
        else:
            if not session.started:
                session.begin()
            read = Read(view, addresses, self, session, place)
            session.reads.append(read)
            self.add(read)
            if self.exposed or self.exports or self.tensors:
                read.watch(session.position + later)
        return read

    def add(self, read: Read) -> None:
        """Know of a read from now on."""
        low, size = read.addresses.low, read.addresses.size
        at = bisect_right(self.starts, low) if self.starts else 0
        self.starts.insert(at, low)
        self.reads.insert(at, read)
        read.there = True
        if size > self.reach:
            self.reach = size

    def near(self, addresses: MemoryRange) -> Iterator[Read]:
        """Live reads that may reach into a range of addresses."""
        low, high = addresses
        first = bisect_left(self.starts, low - self.reach)
        for read in self.reads[first : bisect_left(self.starts, max(high, low + 1))]:
            if read.addresses.high > low:
                yield read

    def drop(self, read: Read) -> None:
        """A read needs this memory no more."""
        at = bisect_left(self.starts, read.addresses.low)
        while at < len(self.reads) and self.reads[at] is not read:
            at += 1
        if at == len(self.reads):
            return  # put aside for the moment
        del self.reads[at], self.starts[at]
        read.there = False
        if not self.reads:
            self.reach = 0
        read.forget()

    def overwrite(self, a: Writable, view: np.ndarray, tapes: tuple[Any, ...], writer: Writer) -> None:
        """A part of array `a` is about to be written: save or spoil the reads that lose their contents."""
        with lock:
            self._overwrite(a._held, view, range_of(a) if view is a._data else bounds(view), tapes, writer)

    def _overwrite(
        self, held: Held | None, view: np.ndarray, addresses: MemoryRange, tapes: tuple[Any, ...], writer: Writer
    ) -> None:
        sessions = [tape.session for tape in tapes]
        now = current_graph()
        for read in list(self.near(addresses)):
            session = read.session
            if session.frame is not now:
                continue  # what is written in one time leaves contents of another as they are
            if session.live and read.view is not view and not share_elements(read.view, view):
                continue
            if session in sessions:
                read.save(held, writer)
            elif session.live:
                self._overwrite_unseen(read, addresses.common(read.addresses), held, sessions, writer)
            if read.counts is not None:
                read.let_go()
            self.drop(read)

    def _overwrite_unseen(
        self, read: Read, addresses: MemoryRange, held: Held | None, sessions: list[Session], writer: Writer
    ) -> None:
        """Contents that a tape needs are about to be overwritten, and the tape does not see it."""
        session, trusted = read.session, [tape.session for tape in suspended_tapes()]
        words = f"{writer.what} at {writer.place}"
        if (sessions or trusted) and not session.done and config.tape_snapshots != "error":
            read.save(held, writer)  # its backward is still to come, and another tape's work is in the way
        else:
            read.notice_change()
            read.spoiled = words
        if session not in trusted:
            session.note_unseen(self, addresses, words)


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


def about_to_write(array: Writable, view: np.ndarray, what: str) -> None:
    """A host operation is about to write a part of an array: save or spoil the reads of it."""
    memory = array._memory
    if saved_contents.alert and (memory.reads or memory.known):
        writer, tapes = Writer(what, CallSite.outside()), active()
        if memory.reads:
            memory.overwrite(array, view, tapes, writer)
        if memory.known:
            memory.meet(tuple([tape.session for tape in tapes]), bounds(view), writer)

"""Pages for machine code: many pieces share one mapping, and pages go back to the system piece by piece.

Guarantees: no page is ever writable and executable at once; a page with code that may run is not touched until
its piece is released. A process may hold a limited number of mappings (65,530 on Linux by default) and fails
everywhere once they are used up, so pieces lie side by side in reservations of one protection each.

Callers take turns: `native.py` has the lock.
"""

from __future__ import annotations

import bisect
import ctypes
import errno
import functools
import mmap
import os
from pathlib import Path
from typing import Any

from ....errors import DeviceMemoryError

_RESERVATION = 16 << 20  # [bytes] of addresses; memory is taken page by page
_NOTHING, _READ, _WRITE, _EXECUTE = 0, 1, 2, 4
_FAILED = ctypes.c_void_p(-1).value


class CodeMemory:
    """Reserved addresses, of which `take` hands out whole pages and `give` takes them back."""

    def __init__(self) -> None:
        self._reservations: list[_Reservation] = []

    def take(self, size: int) -> int:
        """The address of `size` writable bytes at the start of a page. Raises `DeviceMemoryError`."""
        length = pages(size)
        for reservation in self._reservations:
            address = reservation.take(length)
            if address is not None:
                return address
        added = _Reservation(max(_RESERVATION, length))
        self._reservations.append(added)
        address = added.take(length)
        assert address is not None
        return address

    def seal(self, address: int, code: bytes, writable_from: int) -> None:
        """Put code into what `take` returned; it can run from now on, what lies at `writable_from` can be changed.

        Raises `DeviceMemoryError`; the pages are then given back.
        """
        ctypes.memmove(address, code, len(code))
        try:
            if writable_from:
                _protect(address, writable_from, _READ | _EXECUTE)
        except DeviceMemoryError:
            self.give(address, len(code))
            raise

    def give(self, address: int, size: int) -> None:
        """Return the memory of a piece that nothing runs or reads any more."""
        owner = next(r for r in self._reservations if r.start <= address < r.start + r.length)
        owner.give(address, pages(size))
        if owner.is_empty and len(self._reservations) > 1:
            self._reservations.remove(owner)
            _libc().munmap(owner.start, owner.length)


class _Reservation:
    """One range of addresses, and which of its pages are free."""

    def __init__(self, length: int):
        self.length = length
        self.start: int = _libc().mmap(None, length, _NOTHING, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if self.start == _FAILED:
            raise _refusal(length)
        self._free: list[tuple[int, int]] = [(self.start, length)]  # apart from each other, in order

    @property
    def is_empty(self) -> bool:
        return self._free == [(self.start, self.length)]

    def take(self, length: int) -> int | None:
        """The first free pages that are enough, made writable, or None."""
        for k, (start, room) in enumerate(self._free):
            if room >= length:
                _protect(start, length, _READ | _WRITE)
                self._free[k : k + 1] = [(start + length, room - length)] if room > length else []
                return start
        return None

    def give(self, start: int, length: int) -> None:
        """Free pages: their memory goes, and their protection is that of code, so that they divide no mapping."""
        _libc().madvise(start, length, mmap.MADV_DONTNEED)
        _libc().mprotect(start, length, _READ | _EXECUTE)  # data among the code; pages of code are so already
        k = bisect.bisect(self._free, (start, 0))
        if k < len(self._free) and self._free[k][0] == start + length:
            length += self._free.pop(k)[1]
        if k and sum(self._free[k - 1]) == start:
            start, before = self._free.pop(k - 1)
            k, length = k - 1, length + before
        self._free.insert(k, (start, length))


def pages(size: int) -> int:
    """The bytes of whole pages that hold `size` bytes."""
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


@functools.cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = (place, size, number, number, number, ctypes.c_long)
    libc.munmap.argtypes = (place, size)
    libc.mprotect.argtypes = libc.madvise.argtypes = (place, size, number)
    return libc


def _protect(start: int, length: int, protection: int) -> None:
    if _libc().mprotect(start, length, protection):
        raise _refusal(length)


def _refusal(length: int) -> DeviceMemoryError:
    """The system's refusal, with the limit that was reached."""
    number = ctypes.get_errno()
    reason = os.strerror(number)
    if number == errno.EACCES:
        return DeviceMemoryError(
            f"no memory for machine code: {reason}\nexpected: a system that lets a process make code while it runs"
        )
    used, most = _mappings()
    if most and used >= most - 8:
        return DeviceMemoryError(
            f"no memory for machine code: this process has {used} memory mappings, and vm.max_map_count is {most}\n"
            "help: let go of what maps memory (libraries, memory-mapped files), or raise the limit: "
            f"sysctl vm.max_map_count={4 * most}"
        )
    return DeviceMemoryError(
        f"no memory for {length} bytes of machine code: {reason}\n"
        "help: keep fewer kernels at a time: code goes when nothing holds its kernel, launches, graphs and tapes"
    )


def _mappings() -> tuple[int, int]:
    """The memory mappings of this process and the most it may have, 0 where that is unknown."""
    try:
        used = Path("/proc/self/maps").read_bytes().count(b"\n")
        return used, int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return 0, 0

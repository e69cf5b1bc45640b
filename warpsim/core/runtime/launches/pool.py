"""Runs compiled kernels on all cores: a list of launches per call, without the GIL.

Guarantees: the commands of one `Pool.run` finish in order; chunk boundaries come from the command alone, so the
thread count never shows in a result; any number of Python threads may run at once, and kernels may call back into
`run`; a forked child starts threads of its own; the threads keep no process alive.

The threads are workers that help the calling one (`workers.ll`). After a launch they turn for a moment, so that the
next one finds them awake, and then sleep; on a busy machine they sleep at once. The caller takes chunks from the
first moment and never waits for a worker that has not begun. One launch at a time has the workers; others run on
their own threads meanwhile. A launch of two empty chunks takes (2 cores of a virtual machine) 0.5 us serially, 0.8 us
with a worker that is awake, and 10 to 20 us with one that must be woken, which gains nothing if it is short. So a
launch uses workers where that took less time than it does without, as earlier launches of the kernel tell
(`forks.ll`); one that has run serially for half a millisecond forks for what is left, and from a millisecond on all
do. `python -m benchmarks.contention` compares with serial launches.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import struct
import sys
import threading
from typing import Any

from ....errors import DeviceError
from ....forks import fork_safe
from ...emit.build import ON_COLD_START
from ..devices.processor import cores
from . import pool_code

KERNEL_PROTOTYPE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
"""`void kernel(args, begin, end, flags)` for a direct call, without the GIL.

`args` may be `bytes` or an address, the rest are `int` (negative ones too, no NumPy integers). All
are c_void_p because ctypes converts it fastest: 0.28 us a call, against 0.48 us with c_int64;
c_char_p for `args` is no faster."""

COMMAND = struct.Struct("@QQqqqq")
"""One launch: kernel address, args address, args_stride [bytes], n, chunk_size, flags.

Chunk c covers threads c*chunk_size to min(n, (c+1)*chunk_size) - 1 and gets the argument block at
args + c*args_stride. A chunk_size below 1 means one chunk. `every` in the flags leaves chunks out."""


def address_of(block: bytes) -> int:
    """The address of the bytes of an argument block, which must outlive its use."""
    return ctypes.cast(ctypes.c_char_p(block), ctypes.c_void_p).value or 0


def every(step: int, first: int) -> int:
    """Flag bits by which a command runs chunk `first` and every `step`-th after it, and no other."""
    return first << 32 | step << 48


SHARED_LAUNCH = 1
"""Flag bit that a kernel sees while several threads run its launch: atomics must be real."""

# What chunk_size weighs, in estimated time [ns]: a second core never pays for less than about 16 us of work.
_SERIAL_WORK = 16_384.0
_CHUNK_WORK = 4_096.0
_DEFAULT_COST = 4.0
_LEAST_COST = 0.25  # a thread that does nothing but add two floats
_MOST_CHUNKS = 128
_STRIP, _STRIPS = 16, 8
"""Threads that run as lanes of vectors, and how many chunks of them a launch has before it has smaller ones."""
_CACHE_LINE = 64  # [bytes]

_THREADS_VARIABLE = "WARPSIM_NUM_THREADS"
_MOST_THREADS = 1024  # that are ever started
_MOST_FORK_COST = 500_000  # [ns], see forks.ll

_COPY_KERNELS = ("ws_into_copy", "ws_add_copies_f32", "ws_add_copies_f64")
_MOVE_KERNELS = ("ws_copy_bytes", "ws_clear_bytes")

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_WANTS_THREADS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_MOST_COST = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_PLAIN = ctypes.CFUNCTYPE(None)
_STATUS = ctypes.CFUNCTYPE(ctypes.c_int32)


def chunk_size(n: int, cost: float = _DEFAULT_COST) -> int:
    """Threads per chunk of a launch of `n` threads; `n` itself (one chunk, serial) when n is small.

    `cost` is the estimated time of one thread [ns]. It must come from the kernel's code and not
    from a clock, because chunk boundaries decide the rounding of sums. The number of cores plays no
    part for the same reason. There are at most 128 chunks; with the default cost one has 1024
    threads or more, and launches of up to 4096 threads are serial. From 128 threads on a chunk has at least 16,
    which are the lanes of a vector.
    """
    cost = max(cost, _LEAST_COST)
    if n * cost <= _SERIAL_WORK:
        return max(n, 1)
    strip = _STRIP if n >= _STRIPS * _STRIP else 1
    size = max(int(_CHUNK_WORK / cost), -(-n // _MOST_CHUNKS), strip)
    # Whole cache lines, of bytes in large chunks and of float32 in small ones: two cores then do
    # not write to one line. Chunks below that are of threads so slow that it does not matter.
    line = _CACHE_LINE if size > _CACHE_LINE else _CACHE_LINE // 4
    return -(-size // line) * line if size >= line else size


class Pool:
    """The threads of this process; use `get_pool()`, the workers of two pools would stand in each other's way."""

    def __init__(self) -> None:
        code = pool_code.load_code()
        self._run = code.function("ws_run", _RUN)
        self.run_address = code.address("ws_run")
        """Where native code calls `ws_run(commands, count, threads)`."""
        self.strips_address = code.address("ws_strips")
        """The kernel that runs several launches by strips of threads."""
        self.copy_addresses = {name: code.address(name) for name in _COPY_KERNELS}
        """The kernels of copies.ll by their names."""
        self.move_addresses = {name: code.address(name) for name in _MOVE_KERNELS}
        """The kernels of moves.ll by their names."""
        self._lent: ctypes.c_int64 | None = None
        self._provided: int  # the number of threads for which workers are there
        self._wants_threads = code.function("ws_wants_threads", _WANTS_THREADS)
        self._most_cost = code.function("ws_most_cost", _MOST_COST)
        self._start_worker = code.function("ws_start_worker", _STATUS)
        self._forget_workers = code.function("ws_forget_workers", _PLAIN)
        self.always_fork(False)
        self._threads = _initial_thread_count()
        self._starting = fork_safe(threading.Lock())
        self.forget_workers()

    @property
    def threads(self) -> int:
        """Threads that a launch may use. Their number never shows in a result."""
        return self._threads

    def set_num_threads(self, count: int) -> None:
        """Use up to `count` >= 1 threads from the next launch on; more than cores is allowed, up to 1024.

        Raises `DeviceError` for anything but a positive integer.
        """
        self._threads = _checked_thread_count(count, "set_num_threads")
        if self._lent is not None:
            self.lend()

    def always_fork(self, always: bool) -> None:
        """Use threads for every launch that can, or only where they pay: to look for races."""
        self._most_cost(-1 if always else _MOST_FORK_COST)

    def run(self, commands: bytes | ctypes.Array[Any] | int, count: int) -> None:
        """Run `count` commands in order and return when all have finished.

        `commands` holds packed `COMMAND` structs: bytes, a ctypes buffer or an address. Their
        argument blocks, and all that these point to, must stay alive meanwhile. Raises `ValueError`
        for fewer bytes than `count` commands have.
        """
        if not isinstance(commands, int):
            _check_length(commands, count)
        if self._threads > self._provided and self._wants_threads(commands, count):
            self._start_workers()
        self._run(commands, count, self._threads)

    def lend(self) -> int:
        """Start the workers for native code that launches on its own: the address of the number of threads it may use.

        The number follows `set_num_threads`. In a forked child such launches are alone until one from Python has
        started workers.
        """
        self._start_workers()
        if self._lent is None:
            self._lent = ctypes.c_int64()
        self._lent.value = self._threads
        return ctypes.addressof(self._lent)

    def _start_workers(self) -> None:
        """Start what is missing, at a launch of more than one chunk. A process that may have no more does without."""
        with self._starting:
            threads = self._threads
            if threads <= self._provided:
                return
            most = min(threads, _MOST_THREADS) - 1
            while self._workers < most and self._start_worker() == 0:  # the system may refuse more
                self._workers += 1
            self._provided = threads

    def forget_workers(self) -> None:
        """Take note that there are none: at first, and in a forked child."""
        self._workers = 0
        self._provided = 1 if pool_code.HAS_THREADS else sys.maxsize
        self._forget_workers()


_pools: list[Pool] = []  # the one pool, once it is made
_creation = fork_safe(threading.Lock())


def get_pool() -> Pool:
    """The pool of this process, made at the first call (about 5 ms); no threads start by it.

    Raises `DeviceError` when WARPSIM_NUM_THREADS is not a positive integer.
    """
    if not _pools:
        with _creation:
            if not _pools:
                _pools.append(Pool())
    return _pools[0]


_cold_starts = itertools.count(1)


def _expect_launches() -> None:
    """Have another core compile the pool while this one compiles kernels: from the second on, lest the first wait."""
    if next(_cold_starts) == 2 and not _pools and cores() > 1:
        pool_code.begin()


ON_COLD_START.append(_expect_launches)


def thread_count() -> int:
    """Threads that launches of this process may use, without making the pool; raises as `get_pool`."""
    return _pools[0].threads if _pools else _initial_thread_count()


def _begin_child() -> None:
    for pool in _pools:
        pool.forget_workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def _initial_thread_count() -> int:
    text = os.environ.get(_THREADS_VARIABLE, "").strip()
    if not text:
        return cores()
    return _checked_thread_count(int(text) if text.isdecimal() else text, _THREADS_VARIABLE)


def _checked_thread_count(count: object, source: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**31:
        raise DeviceError(
            f"{source}: {count!r} is no number of threads\nexpected: an integer of at least 1"
        )
    return count


def _check_length(commands: bytes | ctypes.Array[Any], count: int) -> None:
    length = len(commands) if isinstance(commands, bytes) else ctypes.sizeof(commands)
    if length < count * COMMAND.size:
        raise ValueError(
            f"{count} commands in {length} bytes\nexpected: {COMMAND.size} bytes for each command"
        )

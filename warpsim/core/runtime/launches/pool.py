"""Runs compiled kernels on all cores: a list of launches per call, without the GIL.

Guarantees: the commands of one `Pool.run` finish in order; chunk boundaries come from the command
alone, so the thread count never shows in a result; any number of Python threads may run at once,
and kernels may call back into `run`; a forked child always works, serially where the parent's
threads cannot be had back. Numba is not imported: only the extension module of one of its threading
layers (TBB, OpenMP or its own workqueue) is loaded from its file, at the first launch that wants
threads.

A launch of two empty chunks takes (2 cores, x86-64): tbb 2.4, omp 2.0, workqueue 75 us; one of a
single chunk 0.6 us, 100 of these in one call 1.0 us. That is with threads that are awake: for 10 to 25 us of work
two threads take longer than one with every layer, and on a busy machine a launch may wait for a core for
milliseconds. So a launch uses threads where that took less time than it does serially, as earlier launches of the
kernel tell, and once in a while to see whether that has changed; one that has run serially for half a millisecond
forks for what is left, and from a millisecond on all do. `python -m benchmarks.contention` compares with serial
launches. Threads of omp sleep between launches, or turn in a loop where the user asks for it, which makes launches of
other processes wait.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
import threading
import time
from pathlib import Path
from threading import get_ident
from typing import Any

from ....config import config
from ....errors import DeviceError
from ...emit.cache import ObjectCache, default_directory
from ...emit.linker import NativeObject
from ...emit.native import assemble, host_signature
from .layers import LAYER_VARIABLE, Layer, choose_layer

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
_CACHE_LINE = 64  # [bytes]

_HAS_CLOCK = hasattr(time, "CLOCK_MONOTONIC")
_THREADS_VARIABLE = "WARPSIM_NUM_THREADS"
_MOST_FORK_COST = 500_000  # [ns], see pool.ll
_FORK_PATIENCE = 1.0  # [s] that a fork waits for parallel launches of other threads

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_WANTS_THREADS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_GATE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_MOST_COST = ctypes.CFUNCTYPE(None, ctypes.c_int64)


def chunk_size(n: int, cost: float = _DEFAULT_COST) -> int:
    """Threads per chunk of a launch of `n` threads; `n` itself (one chunk, serial) when n is small.

    `cost` is the estimated time of one thread [ns]. It must come from the kernel's code and not
    from a clock, because chunk boundaries decide the rounding of sums. The number of cores plays no
    part for the same reason. There are at most 128 chunks; with the default cost one has 1024
    threads or more, and launches of up to 4096 threads are serial.
    """
    cost = max(cost, _LEAST_COST)
    if n * cost <= _SERIAL_WORK:
        return max(n, 1)
    size = max(int(_CHUNK_WORK / cost), -(-n // _MOST_CHUNKS), 1)
    # Whole cache lines, of bytes in large chunks and of float32 in small ones: two cores then do
    # not write to one line. Chunks below that are of threads so slow that it does not matter.
    line = _CACHE_LINE if size > _CACHE_LINE else _CACHE_LINE // 4
    return -(-size // line) * line if size >= line else size


class Pool:
    """The threads of this process; use `get_pool()`, two pools would share one threading layer."""

    def __init__(self) -> None:
        launcher = _load_launcher()
        self._run = launcher.function("ws_run", _RUN)
        self.run_address = launcher.address("ws_run")
        """Where native code calls `ws_run(commands, count, parallel_for, threads)`."""
        self._lent: Any = None
        self._wants_threads = launcher.function("ws_wants_threads", _WANTS_THREADS)
        self._gate = launcher.function("ws_gate", _GATE)
        self._most_cost = launcher.function("ws_most_cost", _MOST_COST)
        self.always_fork(not _HAS_CLOCK)
        self._threads = _initial_thread_count()
        self._lock = threading.RLock()
        self._layer: Layer | None = None
        self._layer_chosen = False
        self._layer_users: set[int] = set()  # the threads that loaded, started or used the layer
        self._started = False
        self._parallel_for: int | None = None
        self._most_threads = sys.maxsize
        self._turn: threading.Lock | None = None  # for a layer that stands one launch at a time
        self._gate_is_closed = False
        self._is_quiet = True  # nothing was in flight when the last fork happened
        self._is_child = False

    @property
    def threads(self) -> int:
        """Threads that a launch may use. Their number never shows in a result."""
        return self._threads

    def set_num_threads(self, count: int) -> None:
        """Use up to `count` >= 1 threads from the next launch on; more than cores is allowed.

        A layer may have fewer to give: tbb starts no more threads than there are cores. Raises
        `DeviceError` for anything but a positive integer.
        """
        self._threads = _checked_thread_count(count, "set_num_threads")
        self._tell()

    def always_fork(self, always: bool) -> None:
        """Use threads for every launch that can, or only where they pay: to look for races, and without a clock."""
        self._most_cost(-1 if always else _MOST_FORK_COST)

    @property
    def layer(self) -> str:
        """`"tbb"`, `"omp"`, `"workqueue"`, or `"serial"` when there are no threads to be had.

        Raises `DeviceError` when WARPSIM_THREADING_LAYER names a layer that cannot be loaded.
        """
        self._choose_layer()
        return self._layer.name if self._layer else "serial"

    def run(self, commands: bytes | ctypes.Array[Any] | int, count: int) -> None:
        """Run `count` commands in order and return when all have finished.

        `commands` holds packed `COMMAND` structs: bytes, a ctypes buffer or an address. Their
        argument blocks, and all that these point to, must stay alive meanwhile. Raises `ValueError`
        for fewer bytes than `count` commands have.
        """
        if not isinstance(commands, int):
            _check_length(commands, count)
        if not self._started and self._threads > 1 and self._wants_threads(commands, count):
            self._start()
        self._layer_users.add(get_ident())
        parallel_for = self._parallel_for  # read before _turn, because _start sets it after _turn
        turn = self._turn
        if turn is None:
            self._run(commands, count, parallel_for, self._threads)
        elif turn.acquire(blocking=False):
            try:
                threads = min(self._threads, self._most_threads)
                self._run(commands, count, parallel_for, threads)
            finally:
                turn.release()
        else:
            self._run(commands, count, None, 1)

    def lend(self) -> int:
        """Start the threads for native code that launches on its own: the address of what it passes to `ws_run`.

        There are two words, `parallel_for` and the number of threads, which follow `set_num_threads` and forks; without
        a layer that several launches may use at once there is one thread.
        """
        with self._lock:
            if self._lent is None:
                self._lent = (ctypes.c_uint64 * 2)(0, 1)
                self._layer_users.add(0)  # some thread that is none of Python's
                self._start()
                self._tell()
        return ctypes.addressof(self._lent)

    def _tell(self) -> None:
        """Let native code know of the layer and the number of threads."""
        if self._lent is not None:
            usable = self._parallel_for if self._turn is None else None
            self._lent[:] = usable or 0, self._threads if usable else 1

    def _choose_layer(self) -> None:
        with self._lock:
            if not self._layer_chosen:
                self._layer = choose_layer(os.environ.get(LAYER_VARIABLE, ""), self._is_child)
                self._layer_users.add(get_ident())
                self._layer_chosen = True

    def _start(self) -> None:
        """Start the layer's threads: at the first launch of more than one chunk."""
        with self._lock:
            self._choose_layer()
            if self._started:
                return
            if self._layer is not None:
                # Enough for a later set_num_threads: workqueue never starts more than these.
                count = max(self._threads, _available_cores())
                self._layer.start(count)
                if not self._layer.is_reentrant:
                    self._turn, self._most_threads = threading.Lock(), count
                self._parallel_for = self._layer.parallel_for
            self._started = True

    def before_fork(self) -> None:
        """Let the parallel launches of other threads finish and make new ones serial meanwhile."""
        self._lock.acquire()
        self._gate_is_closed = self._parallel_for is not None
        if self._gate_is_closed:
            deadline = time.monotonic() + _FORK_PATIENCE
            in_flight = self._gate(1)
            while in_flight and time.monotonic() < deadline:
                time.sleep(1e-4)
                in_flight = self._gate(0)
            self._is_quiet = in_flight == 0

    def after_fork_in_parent(self) -> None:
        """Let launches into the thread pool again."""
        if self._gate_is_closed:
            self._gate(-1)
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Only the forking thread lives on here; TBB alone can start its threads anew.

        It can if it was at rest, and if no other thread has ever been in touch with it: one that
        has keeps a hold on its workers. OpenMP is left alone even if this pool never used it:
        something else may have.
        """
        self.after_fork_in_parent()
        self._is_child = True
        if self._layer is None:
            return
        if self._layer.name == "tbb":
            survives = self._is_quiet and self._layer_users == {get_ident()}
        else:
            survives = self._layer.name == "workqueue" and not self._started
        if not survives:
            self._layer = self._parallel_for = self._turn = None
        self._tell()


_pools: list[Pool] = []  # the one pool, once it is made
_creation = threading.Lock()


def get_pool() -> Pool:
    """The pool of this process, made at the first call (about 5 ms); no threads start by it.

    Raises `DeviceError` when WARPSIM_NUM_THREADS is not a positive integer.
    """
    if not _pools:
        with _creation:
            if not _pools:
                _pools.append(Pool())
    return _pools[0]


def _before_fork() -> None:
    _creation.acquire()
    for pool in _pools:
        pool.before_fork()


def _after_fork_in_parent() -> None:
    for pool in _pools:
        pool.after_fork_in_parent()
    _creation.release()


def _after_fork_in_child() -> None:
    for pool in _pools:
        pool.after_fork_in_child()
    _creation.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _load_launcher() -> NativeObject:
    """pool.ll as machine code: from the disk cache, else compiled (20 ms) and kept there."""
    source = Path(__file__).with_name("pool.ll").read_text(encoding="utf-8") + _clock()
    if not config.cache_kernels:
        return NativeObject(assemble(source))
    directory = Path(config.kernel_cache_dir) if config.kernel_cache_dir else default_directory()
    cache = ObjectCache(directory, config.max_cache_bytes)
    key = hashlib.sha256(f"{source}\n{host_signature()}".encode()).hexdigest()
    code = cache.load(key)
    if code is None:
        code = assemble(source)
        cache.store(key, code, "warpsim launcher")
    return NativeObject(code)


def _clock() -> str:
    """The function by which the launcher tells the time [ns]; it stands still where the system has no POSIX clock."""
    if not _HAS_CLOCK:
        return "define internal i64 @now() {\n  ret i64 0\n}\n"
    return f"""
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now() {{
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}
"""


def _initial_thread_count() -> int:
    text = os.environ.get(_THREADS_VARIABLE, "").strip()
    if not text:
        return _available_cores()
    return _checked_thread_count(int(text) if text.isdecimal() else text, _THREADS_VARIABLE)


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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

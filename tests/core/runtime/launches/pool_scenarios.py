"""Scenarios of the thread pool, each of which needs a process of its own.

Threads belong to a process for good, and an exit happens only once. test_pool.py runs
`python pool_scenarios.py <scenario> <way>` for each of them in every way to wait.
"""

import ctypes
import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from warpsim.core.emit.native.linker import NativeObject
from warpsim.core.emit.native.native import assemble
from warpsim.core.runtime.launches import pool_code
from warpsim.core.runtime.launches.pool import COMMAND, KERNEL_PROTOTYPE, SHARED_LAUNCH, get_pool

# How workers sleep: as this system does, or as systems without a futex do; or there are none.
WAYS = ("system", "condition", "serial")
SCENARIOS = {}
SERIAL_SCENARIOS = {}  # those that say something where there are no threads


KERNELS = NativeObject(assemble(Path(__file__).with_name("pool_kernels.ll").read_text()))


def address_of(kernel) -> int:
    return KERNELS.address(kernel) if isinstance(kernel, str) else kernel


class Command:
    """A launch with its argument block and arrays kept alive."""

    def __init__(self, kernel, args: bytes, n: int, size: int, stride: int = 0, flags: int = 0):
        self.args = ctypes.create_string_buffer(args, len(args))
        address = ctypes.addressof(self.args)
        self.bytes = COMMAND.pack(address_of(kernel), address, stride, n, size, flags)

    def run(self) -> None:
        get_pool().run(self.bytes, 1)


def recorded(n: int, size: int, chunks: int, flags: int = 0) -> list[tuple[int, ...]]:
    """What each chunk saw: (begin, end, flags, calls), and one row that none may see."""
    log = (ctypes.c_int64 * (4 * (chunks + 1)))()
    blocks = b"".join(struct.pack("=Qq", ctypes.addressof(log), c) for c in range(chunks + 1))
    Command("record", blocks, n, size, stride=16, flags=flags).run()
    return [tuple(log[4 * c : 4 * c + 4]) for c in range(chunks + 1)]


def sum_launch(n: int, size: int) -> tuple[Command, ctypes.c_int64]:
    total = ctypes.c_int64(0)
    return Command("sum", struct.pack("=Q", ctypes.addressof(total)), n, size), total


def launch_and_check(times: int = 20, n: int = 5000, size: int = 100) -> None:
    command, total = sum_launch(n, size)
    for _ in range(times):
        command.run()
    assert total.value == times * n * (n - 1) // 2


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def serial_scenario(function):
    SERIAL_SCENARIOS[function.__name__] = function
    return scenario(function)


@serial_scenario
def every_chunk_runs_once_with_its_own_block():
    shared = SHARED_LAUNCH if get_pool().threads > 1 else 0
    for n, size in [(2, 1), (100, 7), (1000, 1000), (1001, 1000), (4096, 64), (12345, 13)]:
        chunks = -(-n // size)
        expected = [(c * size, min(n, (c + 1) * size), shared, 1) for c in range(chunks)]
        if chunks == 1:
            expected = [(0, n, 0, 1)]
        for _ in range(8):
            assert recorded(n, size, chunks) == [*expected, (0, 0, 0, 0)]


@serial_scenario
def other_flags_pass_through_and_the_shared_bit_is_ours():
    shared = SHARED_LAUNCH if get_pool().threads > 1 else 0
    assert recorded(10, 10, 1, flags=0b111)[0] == (0, 10, 0b110, 1)
    assert {row[2] for row in recorded(10, 1, 10, flags=0b110)[:10]} == {0b110 | shared}
    get_pool().set_num_threads(1)
    assert {row[2] for row in recorded(10, 1, 10, flags=0b111)[:10]} == {0b110}


@serial_scenario
def commands_run_in_order_whatever_the_thread_count():
    n = 3000
    for threads in (1, 2, 4, 7):
        get_pool().set_num_threads(threads)
        assert get_pool().threads == threads
        x = (ctypes.c_int64 * n)(*range(n))
        args = struct.pack("=Q", ctypes.addressof(x))
        sizes = [100, n, 64, 0, 1, 999, 5000, 10]
        launches = [Command("step", args, n, size) for size in sizes]
        program = b"".join(launch.bytes for launch in launches)
        get_pool().run(program, len(launches))
        expected = list(range(n))
        for _ in sizes:
            expected = [3 * v + 1 for v in expected]
        assert list(x) == expected


@scenario
def two_threads_meet():
    get_pool().set_num_threads(2)
    for _ in range(10):
        arrived = (ctypes.c_int64 * 2)()
        args = struct.pack("=Qqq", ctypes.addressof(arrived), 2, 10**10)
        Command("meet", args, 2, 1).run()
        assert list(arrived) == [2, 2]


def flags_of(seconds: list[Callable[[int], float]]) -> list[list[int]]:
    """Launches of two chunks in a row, whose chunks sleep as long as their flags tell: the flags that each saw."""
    seen: list[int] = []
    current = [seconds[0]]

    @KERNEL_PROTOTYPE
    def sleeping(args, begin, end, flags):
        seen.append(flags or 0)
        if duration := current[0](flags or 0):
            time.sleep(duration)

    def run() -> list[int]:
        seen.clear()
        command.run()
        return sorted(seen)

    command = Command(ctypes.cast(sleeping, ctypes.c_void_p).value, b"\0" * 8, 2, 1)
    return [run() for current[0] in seconds]


@scenario
def long_launches_fork():
    """The first one after its first chunk: nothing is known of it before."""
    get_pool().always_fork(False)
    forked = [SHARED_LAUNCH] * 2
    assert flags_of([lambda flags: 0.01] * 10) == [[0, SHARED_LAUNCH], *[forked] * 9]


@scenario
def launch_that_became_long_forks():
    """After up to three launches, if it was so short before that few were timed."""
    get_pool().always_fork(False)
    found = flags_of([lambda flags: 0.0] * 5 + [lambda flags: 0.01] * 8)
    assert all(SHARED_LAUNCH in flags for flags in found[8:]) and found[-1] == [SHARED_LAUNCH] * 2


@scenario
def short_launches_are_serial():
    """But for some now and then, which tell whether forks have become cheaper; in the calmest of some rounds."""
    get_pool().always_fork(False)
    assert any(flags_of([lambda flags: 0.0] * 2000).count([0, 0]) > 1200 for _ in range(8))
    assert 1 <= sum(recorded(2, 1, 2)[0][2] for _ in range(5000)) < 500


@scenario
def launches_are_serial_for_a_while_after_a_slow_fork():
    get_pool().always_fork(False)
    assert flags_of([lambda flags: 0.02 * flags] * 40).count([0, 0]) > 30


@scenario
def threads_start_at_the_first_launch_that_wants_them():
    pool = get_pool()
    before = thread_count()
    small, total = sum_launch(10, 0)
    pool.run(small.bytes * 5, 5)
    assert total.value == 5 * 45
    assert thread_count() == before
    launch_and_check()
    assert thread_count() > before


@scenario
def more_threads_than_cores_and_than_were_started():
    get_pool().set_num_threads(2)
    launch_and_check()
    get_pool().set_num_threads(64)
    launch_and_check(times=100)
    assert not os.path.isdir("/proc/self/task") or thread_count() >= 64


@scenario
def workers_sleep_between_launches():
    launch_and_check()
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1


@scenario
def launch_waits_for_no_worker_that_another_has():
    """The first one keeps all workers until the second is over, which gets them when the first has let go."""
    second_begins, first_ends, seen = threading.Event(), threading.Event(), []

    @KERNEL_PROTOTYPE
    def hold(args, begin, end, flags):
        assert second_begins.wait(20)

    @KERNEL_PROTOTYPE
    def pass_by(args, begin, end, flags):
        seen.append(flags or 0)
        second_begins.set()
        if len(seen) == 1:
            first_ends.wait(20)

    def first(k):
        Command(ctypes.cast(hold, ctypes.c_void_p).value, bytes(8), 8, 1).run()
        first_ends.set()

    launch_and_check()
    thread = threading.Thread(target=first, args=(0,))
    thread.start()
    time.sleep(0.1)
    Command(ctypes.cast(pass_by, ctypes.c_void_p).value, bytes(8), 8, 1).run()
    thread.join()
    assert seen == [0] + [SHARED_LAUNCH] * 7


@serial_scenario
def many_python_threads_launch_at_once():
    failures = []
    stop = time.monotonic() + 0.8

    def work(k):
        rounds = 0
        while time.monotonic() < stop:
            try:
                launch_and_check(times=5, n=3000 + k, size=50 + k)
            except AssertionError as error:
                failures.append(error)
            rounds += 1
        assert rounds > 0

    run_threads(work, 8)
    assert failures == []


@serial_scenario
def kernels_may_run_launches_themselves():
    """A kernel that is a Python callback launches again, from whatever thread it is on."""
    totals = []

    @KERNEL_PROTOTYPE
    def nested(args, begin, end, flags):
        command, total = sum_launch(1000, 10)
        command.run()
        totals.append(total.value)

    address = ctypes.cast(nested, ctypes.c_void_p).value
    outer = Command(address, b"\0" * 8, 12, 1)
    for _ in range(5):
        outer.run()
    assert totals == [999 * 500] * 60


@scenario
def forked_child_has_threads_of_its_own():
    for work in (launch_and_check, two_threads_meet):
        work()
        in_child(work)
        work()


@scenario
def child_of_a_child_computes():
    launch_and_check()
    in_child(lambda: (launch_and_check(), in_child(launch_and_check), launch_and_check()))
    launch_and_check()


@scenario
def child_forked_before_the_first_launch_computes():
    get_pool()
    in_child(launch_and_check)
    launch_and_check()


@scenario
def child_forked_from_another_thread_computes():
    launch_and_check()
    run_threads(lambda k: in_child(two_threads_meet), 1)
    launch_and_check()


@scenario
def child_forked_while_others_launch_computes():
    stop, busy = threading.Event(), threading.Semaphore(0)

    def work(k):
        while not stop.is_set():
            launch_and_check(times=3)
            busy.release()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    launch_and_check()
    for thread in threads:
        thread.start()
    for _ in range(20):
        busy.acquire()
    for _ in range(12):
        in_child(launch_and_check)
    stop.set()
    for thread in threads:
        thread.join()
    launch_and_check()


@scenario
def child_forked_inside_a_launch_computes():
    @KERNEL_PROTOTYPE
    def forking(args, begin, end, flags):
        if begin == 1:
            in_child(launch_and_check)

    Command(ctypes.cast(forking, ctypes.c_void_p).value, bytes(8), 4, 1).run()
    launch_and_check()


@scenario
def child_forked_inside_a_launch_may_leave_it():
    """By the caller or by a worker: what other threads were running is lost to the child, and nobody waits for it."""
    for where in (None, 3):  # ctypes gives None for 0; the last chunk is a worker's, for which the caller waits
        pids, forked = [], threading.Event()

        @KERNEL_PROTOTYPE
        def forking(args, begin, end, flags, where=where, pids=pids, forked=forked):
            if begin == where:
                pids.append(os.fork())
                forked.set()
            elif begin is None:
                forked.wait(30.0)

        launch_and_check()
        Command(ctypes.cast(forking, ctypes.c_void_p).value, bytes(8), 4, 1).run()
        if pids == [0]:
            launch_and_check()
            sys.exit(7)
        wait_for(pids[0], exit_code=7 if where is None else 0)


@scenario
def forked_child_exits_like_any_process():
    """Not by os._exit: all exit handlers run, with threads of its own and without those of its parent."""
    launch_and_check()
    for starts_elsewhere in (False, True):
        if starts_elsewhere:
            run_threads(lambda k: launch_and_check(), 2)
        pid = os.fork()
        launch_and_check()
        if pid == 0:
            sys.exit(7)
        wait_for(pid, exit_code=7)


@scenario
def workers_forked_by_multiprocessing_compute():
    launch_and_check()
    with multiprocessing.get_context("fork").Pool(3) as workers:
        assert workers.map(sum_in_worker, range(1000, 1020)) == [n * (n - 1) // 2 for n in range(1000, 1020)]
    launch_and_check()


def sum_in_worker(n: int) -> int:
    command, total = sum_launch(n, 10)
    command.run()
    return total.value


@scenario
def process_exits_while_daemon_threads_launch():
    def work():
        while True:
            launch_and_check(times=3)

    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)


def run_threads(work, count: int) -> None:
    failures = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def in_child(work) -> None:
    """Fork, run `work` in the child, and see that it ends well and soon."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    wait_for(pid)


def wait_for(pid: int, exit_code: int = 0) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == exit_code, f"child's status is {status}"
            return
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("child hangs")


if __name__ == "__main__":
    if sys.argv[2] == "condition":
        pool_code._FUTEX_CALL.clear()
    get_pool().always_fork(True)
    SCENARIOS[sys.argv[1]]()
    print(f"{sys.argv[1]} is done", flush=True)

"""The thread pool: every chunk once and in order, the same on every layer, and no way to hang.

A threading layer belongs to a process for good, so what depends on it is written as a scenario: a
function that runs in a process of its own, once per layer (`python test_pool.py <scenario>`).
"""

import ctypes
import multiprocessing
import os
import struct
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsim.config import config
from warpsim.core.emit.cache import ObjectCache
from warpsim.core.emit.native import NativeObject, assemble
from warpsim.core.runtime import pool as pool_module
from warpsim.core.runtime.pool import (
    COMMAND,
    KERNEL_PROTOTYPE,
    SHARED_LAUNCH,
    Pool,
    chunk_size,
    get_pool,
)
from warpsim.errors import DeviceError

ROOT = Path(pool_module.__file__).parents[3]
LAYERS = ("tbb", "omp", "workqueue", "serial")
SCENARIOS = {}
SERIAL_SCENARIOS = {}  # those that say something where there are no threads

KERNELS = """
; args: {ptr log, i64 slot}; writes {begin, end, flags, calls} of the chunk to log[slot]
define void @record(ptr %args, i64 %begin, i64 %end, i64 %flags) {
  %log = load ptr, ptr %args
  %slot.at = getelementptr i64, ptr %args, i64 1
  %slot = load i64, ptr %slot.at
  %row = getelementptr [4 x i64], ptr %log, i64 %slot
  store i64 %begin, ptr %row
  %end.at = getelementptr i64, ptr %row, i64 1
  store i64 %end, ptr %end.at
  %flags.at = getelementptr i64, ptr %row, i64 2
  store i64 %flags, ptr %flags.at
  %calls.at = getelementptr i64, ptr %row, i64 3
  %calls = atomicrmw add ptr %calls.at, i64 1 monotonic
  ret void
}

; args: {ptr sum}; sum += begin + ... + end-1
define void @sum(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %sum = load ptr, ptr %args
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %following, %add ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %add, label %done
add:
  %before = atomicrmw add ptr %sum, i64 %i monotonic
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; args: {ptr x}; x[i] = 3 * x[i] + 1: commands that run out of order give another value
define void @step(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %x = load ptr, ptr %args
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %following, %one ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %one, label %done
one:
  %at = getelementptr i64, ptr %x, i64 %i
  %v = load i64, ptr %at
  %v3 = mul i64 %v, 3
  %v31 = add i64 %v3, 1
  store i64 %v31, ptr %at
  %following = add i64 %i, 1
  br label %next
done:
  ret void
}

; args: {ptr arrived, i64 expected, i64 patience}; a chunk waits until `expected` chunks have begun,
; and gives up after `patience` looks. arrived[1] counts those that met the others.
define void @meet(ptr %args, i64 %begin, i64 %end, i64 %flags) {
entry:
  %arrived = load ptr, ptr %args
  %expected.at = getelementptr i64, ptr %args, i64 1
  %expected = load i64, ptr %expected.at
  %patience.at = getelementptr i64, ptr %args, i64 2
  %patience = load i64, ptr %patience.at
  %mine = atomicrmw add ptr %arrived, i64 1 seq_cst
  br label %wait
wait:
  %looks = phi i64 [ 0, %entry ], [ %looks1, %again ]
  %now = load atomic i64, ptr %arrived seq_cst, align 8
  %met = icmp sge i64 %now, %expected
  br i1 %met, label %success, label %again
again:
  %looks1 = add i64 %looks, 1
  %tired = icmp sgt i64 %looks1, %patience
  br i1 %tired, label %done, label %wait
success:
  %met.at = getelementptr i64, ptr %arrived, i64 1
  %count = atomicrmw add ptr %met.at, i64 1 seq_cst
  br label %done
done:
  ret void
}
"""


@cache
def kernels() -> NativeObject:
    return NativeObject(assemble(KERNELS))


def address_of(kernel) -> int:
    return kernels().address(kernel) if isinstance(kernel, str) else kernel


class Command:
    """A launch with its argument block and arrays kept alive."""

    def __init__(self, kernel, args: bytes, n: int, size: int, stride: int = 0, flags: int = 0):
        self.args = ctypes.create_string_buffer(args, len(args))
        address = ctypes.addressof(self.args)
        self.bytes = COMMAND.pack(address_of(kernel), address, stride, n, size, flags)

    def run(self) -> None:
        get_pool().run(self.bytes, 1)


def recorded(n: int, size: int, chunks: int, flags: int = 0) -> list[tuple[int, ...]]:
    """What each chunk of a launch saw: (begin, end, flags, calls), and one row that none may see."""
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


# ---- Scenarios: each runs in a process of its own, for every layer --------------------------------


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def serial_scenario(function):
    SERIAL_SCENARIOS[function.__name__] = function
    return scenario(function)


@serial_scenario
def every_chunk_runs_once_with_its_own_block():
    shared = SHARED_LAUNCH if get_pool().layer != "serial" else 0
    for n, size in [(2, 1), (100, 7), (1000, 1000), (1001, 1000), (4096, 64), (12345, 13)]:
        chunks = -(-n // size)
        expected = [(c * size, min(n, (c + 1) * size), shared, 1) for c in range(chunks)]
        if chunks == 1:
            expected = [(0, n, 0, 1)]
        for _ in range(20):
            assert recorded(n, size, chunks) == [*expected, (0, 0, 0, 0)]


@serial_scenario
def other_flags_pass_through_and_the_shared_bit_is_ours():
    shared = SHARED_LAUNCH if get_pool().layer != "serial" else 0
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
    if (os.cpu_count() or 1) < 2:
        return  # tbb has a single thread then
    get_pool().set_num_threads(2)
    for _ in range(10):
        arrived = (ctypes.c_int64 * 2)()
        args = struct.pack("=Qqq", ctypes.addressof(arrived), 2, 10**10)
        Command("meet", args, 2, 1).run()
        assert list(arrived) == [2, 2]


@scenario
def threads_start_at_the_first_launch_that_wants_them():
    kernels()
    pool = get_pool()
    before = thread_count()
    assert pool.layer in LAYERS
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


@serial_scenario
def forked_child_computes():
    launch_and_check()
    name = get_pool().layer
    in_child(lambda: (launch_and_check(), check_layer(name if name == "tbb" else "serial")))
    launch_and_check()
    assert get_pool().layer == name


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
    run_threads(lambda k: in_child(lambda: (launch_and_check(), check_layer("serial"))), 1)
    launch_and_check()


@scenario
def child_forked_while_others_launch_computes():
    stop = threading.Event()

    def work(k):
        while not stop.is_set():
            launch_and_check(times=3)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    launch_and_check()
    for thread in threads:
        thread.start()
    while len(get_pool()._layer_users) < 4:
        time.sleep(0.001)
    for _ in range(12):
        in_child(lambda: (launch_and_check(), check_layer("serial")))
    stop.set()
    for thread in threads:
        thread.join()
    launch_and_check()


@scenario
def child_forked_inside_a_launch_computes():
    @KERNEL_PROTOTYPE
    def forking(args, begin, end, flags):
        if begin == 1:
            in_child(lambda: (launch_and_check(), check_layer("serial")))

    Command(ctypes.cast(forking, ctypes.c_void_p).value, bytes(8), 4, 1).run()
    launch_and_check()


@scenario
def forked_child_exits_like_any_process():
    """Not by os._exit: the exit handlers of the threading layer run, without its threads."""
    launch_and_check()
    for starts_elsewhere in (False, True):
        if starts_elsewhere:
            run_threads(lambda k: launch_and_check(), 2)
        pid = os.fork()
        launch_and_check()
        if pid == 0:
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


@scenario
def workers_forked_by_multiprocessing_compute():
    launch_and_check()
    with multiprocessing.get_context("fork").Pool(3) as workers:
        assert workers.map(sum_in_worker, range(1000, 1020)) == [
            n * (n - 1) // 2 for n in range(1000, 1020)
        ]
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


@serial_scenario
def numba_is_not_imported():
    launch_and_check()
    found = [name for name in sys.modules if name == "numba" or name.startswith("numba.")]
    assert found == []


@scenario
def numba_may_come_later():
    get_pool().set_num_threads(1)
    launch_and_check()
    get_pool().set_num_threads(2)
    launch_and_check()
    loop = numba_loop()
    for _ in range(20):
        loop()
        launch_and_check()


@scenario
def numba_may_come_first_and_run_beside():
    loop = numba_loop()
    get_pool().set_num_threads(5)
    launch_and_check()
    stop = time.monotonic() + 0.5

    def work(k):
        while time.monotonic() < stop:
            loop() if k == 0 else launch_and_check(times=3)

    run_threads(work, 3)


def numba_loop():
    """A parallel loop of Numba's own, on the same threading layer."""
    name = get_pool().layer  # before numba: it then finds the same TBB library
    os.environ["NUMBA_THREADING_LAYER"] = name
    os.environ["NUMBA_NUM_THREADS"] = "3"
    # Here, because the scenarios are about the moment of this import.
    import numba
    import numpy as np

    @numba.njit(parallel=True, nogil=True)
    def increment(x):
        for i in numba.prange(x.size):
            x[i] += 1

    def loop():
        x = np.zeros(10_000)
        for _ in range(5):
            increment(x)
        assert (x == 5).all()

    loop()
    return loop


def check_layer(name: str) -> None:
    assert get_pool().layer == name, f"layer {get_pool().layer}, expected {name}"


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
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, f"child ended with status {status}"
            return
        time.sleep(0.002)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("child hangs")


# ---- Tests ---------------------------------------------------------------------------------------


def run_process(arguments: list[str], cache_folder: Path, **variables: str):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "WARPSIM_"))}
    environment |= {"PYTHONPATH": str(ROOT), "WARPSIM_CACHE_PATH": str(cache_folder)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="session")
def loadable_layers(cache_folder):
    script = "from warpsim.core.runtime.pool import get_pool; print(get_pool().layer)"
    found = set()
    for layer in LAYERS:
        done = run_process(["-c", script], cache_folder, WARPSIM_THREADING_LAYER=layer)
        if done.returncode == 0:
            assert done.stdout.strip() == layer
            found.add(layer)
        else:
            assert "cannot be loaded" in done.stderr
    return found


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        (name, layer)
        for layer in LAYERS
        for name in (SERIAL_SCENARIOS if layer == "serial" else SCENARIOS)
    ],
)
def test_scenario(name, layer, loadable_layers, cache_folder):
    if layer not in loadable_layers:
        pytest.skip(f"{layer} cannot be loaded here")
    if ("fork" in name or "child" in name) and not hasattr(os, "fork"):
        pytest.skip("no fork on this platform")
    if name.startswith("threads_start") and not os.path.isdir("/proc/self/task"):
        pytest.skip("threads are counted through /proc")
    done = run_process(
        [__file__, name],
        cache_folder,
        WARPSIM_THREADING_LAYER=layer,
        WARPSIM_NUM_THREADS="4",
        OPENBLAS_NUM_THREADS="1",
    )
    # Numba's TBB module prints a warning when it cannot stop its threads for a fork.
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{name} is done\n")


def test_numba_s_layers_can_be_loaded(loadable_layers):
    assert {"workqueue", "serial"} <= loadable_layers


def test_launcher_is_compiled_once_per_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path))
    Pool()
    assert [entry.label for entry in ObjectCache(tmp_path, 1 << 30).entries()] == [
        "warpsim launcher"
    ]

    def refuse(text):
        raise AssertionError("compiled again")

    monkeypatch.setattr(pool_module, "assemble", refuse)
    Pool()
    monkeypatch.setattr(config, "cache_kernels", False)
    with pytest.raises(AssertionError, match="compiled again"):
        Pool()


def test_one_pool_per_process():
    pools = []
    run_threads(lambda k: pools.append(get_pool()), 8)
    assert len(set(map(id, pools))) == 1


@pytest.mark.parametrize("n", [0, -5])
def test_empty_launch_runs_nothing(n):
    assert recorded(n, 10, 1) == [(0, 0, 0, 0)] * 2


def test_no_commands_is_no_error():
    get_pool().run(b"", 0)


def test_commands_may_be_bytes_a_buffer_or_an_address():
    command, total = sum_launch(10, 0)
    buffer = ctypes.create_string_buffer(command.bytes * 3)
    for commands in (command.bytes * 3, buffer, ctypes.addressof(buffer)):
        total.value = 0
        get_pool().run(commands, 3)
        assert total.value == 3 * 45


def test_too_few_bytes_are_refused():
    command, total = sum_launch(10, 0)
    with pytest.raises(ValueError, match="3 commands in 96 bytes"):
        get_pool().run(command.bytes * 2, 3)
    assert total.value == 0


def test_huge_launch_has_the_right_bounds():
    """The end of the last chunk near 2^63 must not overflow."""
    n = 2**63 - 1
    assert recorded(n, 2**62, 2)[:2] == [(0, 2**62, 1, 1), (2**62, n, 1, 1)] or (
        get_pool().layer == "serial"
    )


def test_kernel_prototype_takes_bytes_addresses_and_negative_numbers():
    log = (ctypes.c_int64 * 4)()
    block = struct.pack("=Qq", ctypes.addressof(log), 0)
    kernel = KERNEL_PROTOTYPE(address_of("record"))
    kernel(block, -7, 2**62, 5)
    assert list(log) == [-7, 2**62, 5, 1]
    buffer = ctypes.create_string_buffer(block)
    kernel(ctypes.addressof(buffer), 1, 2, 3)
    assert list(log) == [1, 2, 3, 2]


@pytest.mark.parametrize("count", [0, -1, 2.0, "2", None, True, 2**31])
def test_wrong_thread_count_is_refused(count):
    before = get_pool().threads
    with pytest.raises(DeviceError, match=r"set_num_threads: .*[\s\S]*at least 1"):
        get_pool().set_num_threads(count)
    assert get_pool().threads == before


@pytest.mark.parametrize("text", ["0", "-2", "many", "1.5"])
def test_wrong_thread_count_in_the_environment_is_refused(text, cache_folder):
    script = "from warpsim.core.runtime.pool import get_pool; get_pool()"
    done = run_process(["-c", script], cache_folder, WARPSIM_NUM_THREADS=text)
    assert done.returncode == 1
    assert "WARPSIM_NUM_THREADS: " in done.stderr


def test_thread_count_defaults_to_the_cores_of_this_process(cache_folder):
    script = "from warpsim.core.runtime.pool import get_pool; print(get_pool().threads)"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert run_process(["-c", script], cache_folder).stdout.strip() == str(cores)
    done = run_process(["-c", script], cache_folder, WARPSIM_NUM_THREADS=" 3 ")
    assert done.stdout.strip() == "3"


def test_unknown_layer_is_refused_with_the_known_ones(cache_folder):
    script = "from warpsim.core.runtime.pool import get_pool; get_pool().layer"
    done = run_process(["-c", script], cache_folder, WARPSIM_THREADING_LAYER="cilk")
    assert "'cilk'" in done.stderr
    assert "expected: tbb, omp, workqueue or serial" in done.stderr


def test_layer_that_cannot_be_loaded_is_an_error_only_when_asked_for(monkeypatch):
    monkeypatch.setattr(pool_module, "_LAYER_FILES", {"omp": "no_such_module"})
    with pytest.raises(DeviceError, match=r"cannot be loaded\nfound: omp: numba has no extension"):
        pool_module._choose_layer("omp", False)
    assert pool_module._choose_layer("", False) is None


def test_without_numba_launches_are_serial(monkeypatch):
    monkeypatch.setattr(pool_module.importlib.util, "find_spec", lambda name: None)
    assert pool_module._choose_layer("", False) is None


def test_old_tbb_is_refused(monkeypatch):
    class OldLibrary:
        @staticmethod
        def TBB_runtime_interface_version():
            return 11000

    monkeypatch.setattr(pool_module.ctypes, "CDLL", lambda name: OldLibrary)
    with pytest.raises(ImportError, match="11000 is older than 12060"):
        pool_module._preload_tbb(Path("/nowhere"))


def test_forked_child_leaves_openmp_alone(monkeypatch):
    tried = []

    def load(name):
        tried.append(name)
        raise ImportError("not here")

    monkeypatch.setattr(pool_module, "_load_layer", load)
    assert pool_module._choose_layer("", True) is None
    assert tried == ["tbb", "workqueue"]


@given(n=st.integers(0, 2**40), cost=st.floats(0, 1e9))
def test_chunk_size_policy(n, cost):
    size = chunk_size(n, cost)
    chunks = -(-n // size)
    assert size >= 1
    assert chunks <= 128
    if chunks > 1:
        assert n * max(cost, 0.25) > 16_000
        assert size == n or size * max(cost, 0.25) >= 2000 or chunks > 64 or cost > 2000
        assert size % (64 if size > 64 else 16) == 0 or size < 16


def test_chunk_size_with_the_default_cost():
    assert [chunk_size(n) for n in (0, 1, 4096)] == [1, 1, 4096]
    assert [chunk_size(n) for n in (4097, 10_000, 131_072)] == [1024, 1024, 1024]
    assert chunk_size(1_000_000) == 7872  # 128 chunks, whole cache lines
    assert chunk_size(2**40) == 2**33


def test_slow_kernels_are_cut_finer():
    assert chunk_size(100, cost=200.0) == 32
    assert chunk_size(8, cost=1e6) == 1
    assert chunk_size(65_536, cost=0.25) == 65_536


if __name__ == "__main__":
    SCENARIOS[sys.argv[1]]()
    print(f"{sys.argv[1]} is done", flush=True)

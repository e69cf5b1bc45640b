"""The thread pool: every chunk once and in order, however workers wait, and no way to hang."""

import ctypes
import errno
import os
import struct
import subprocess
import sys
from pathlib import Path

import pool_scenarios
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_scenarios import SCENARIOS, SERIAL_SCENARIOS, WAYS, recorded, run_threads, sum_launch

from warpsim.config import config
from warpsim.core.emit.disk.cache import ObjectCache
from warpsim.core.emit.native import own_code
from warpsim.core.runtime.devices.processor import cores
from warpsim.core.runtime.launches import pool as pool_module
from warpsim.core.runtime.launches import pool_code
from warpsim.core.runtime.launches.pool import KERNEL_PROTOTYPE, Pool, chunk_size, get_pool
from warpsim.errors import DeviceError

pytestmark = pytest.mark.cpu(reason="the pool of CPU threads")

ROOT = Path(pool_module.__file__).parents[4]


def run_process(arguments: list[str], cache_folder: Path, **variables: str):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "WARPSIM_"))}
    environment |= {"PYTHONPATH": str(ROOT), "WARPSIM_CACHE_PATH": str(cache_folder)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("objects")


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for way in WAYS for name in (SERIAL_SCENARIOS if way == "serial" else SCENARIOS)]
)
def test_scenario(name, way, cache_folder):
    if way != "serial" and not pool_code.HAS_THREADS:
        pytest.skip("launches are serial on this platform")
    if ("fork" in name or "child" in name) and not hasattr(os, "fork"):
        pytest.skip("no fork on this platform")
    if name.startswith("threads_start") and not os.path.isdir("/proc/self/task"):
        pytest.skip("threads are counted through /proc")
    threads = "1" if way == "serial" else "4"
    done = run_process([pool_scenarios.__file__, name, way], cache_folder, WARPSIM_NUM_THREADS=threads)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{name} is done\n")


def test_numba_is_not_imported(cache_folder):
    script = "import sys, pool_scenarios as s; s.launch_and_check(); assert 'numba' not in sys.modules"
    done = run_process(["-c", script], cache_folder, PYTHONPATH=f"{ROOT}{os.pathsep}{Path(__file__).parent}")
    assert done.returncode == 0, done.stderr


def test_process_that_may_have_no_more_threads_launches_with_those_it_has(monkeypatch):
    pool, (command, total) = Pool(), sum_launch(1000, 10)
    monkeypatch.setattr(pool, "_start_worker", lambda: errno.EAGAIN)
    pool.set_num_threads(4)
    pool.always_fork(True)
    for _ in range(3):
        pool.run(command.bytes, 1)
    assert total.value == 3 * 999 * 500


def test_system_of_another_kind_launches_serially(monkeypatch):
    monkeypatch.setattr(pool_code, "HAS_THREADS", False)
    pool, (command, total) = Pool(), sum_launch(1000, 10)
    pool.set_num_threads(4)
    monkeypatch.setattr(pool, "_start_worker", None)
    pool.run(command.bytes, 1)
    assert total.value == 999 * 500


def test_launcher_is_compiled_once_per_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path))
    Pool()
    assert [entry.label for entry in ObjectCache(tmp_path, 1 << 30).entries()] == [
        "warpsim launcher"
    ]

    def refuse(text, opt):
        raise AssertionError("compiled again")

    monkeypatch.setattr(own_code, "assemble", refuse)
    Pool()
    monkeypatch.setattr(config, "cache_kernels", False)
    with pytest.raises(AssertionError, match="compiled again"):
        Pool()


COLD_PROGRAM = """
import os, threading
import numpy as np
import warpsim as wp
from warpsim.core.emit.native import own_code
from warpsim.core.runtime.devices.processor import cores

compiled = []
assemble = own_code.assemble

def seen(text, opt):
    if "@ws_run(" in text:
        compiled.append(threading.current_thread().name)
    return assemble(text, opt)

own_code.assemble = seen

def adder(k):
    @wp.kernel
    def add(x: wp.array(dtype=float)):
        x[wp.tid()] += float(k)
    return add

x = np.zeros(200_000, np.float32)
wp.launch(adder(1), 4, [x])
assert not compiled
wp.launch(adder(2), 4, [x])
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        wp.launch(adder(3), len(x), [x])
        os._exit(0 if x[0] == 6.0 and x[-1] == 3.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
wp.launch(adder(4), len(x), [x])
assert x[0] == 7.0 and x[-1] == 4.0
print(*compiled)
"""


@pytest.mark.skipif(cores() < 2, reason="the only core has kernels to compile")
def test_another_thread_compiles_the_launcher_while_kernels_are_compiled(tmp_path):
    program = tmp_path / "cold.py"
    program.write_text(COLD_PROGRAM)
    done = run_process([str(program)], tmp_path / "cache")
    assert done.stdout.strip() == "warpsim compiles its pool", done.stderr


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
    assert [row[:2] for row in recorded(n, 2**62, 2)[:2]] == [(0, 2**62), (2**62, n)]


def test_kernel_prototype_takes_bytes_addresses_and_negative_numbers():
    log = (ctypes.c_int64 * 4)()
    block = struct.pack("=Qq", ctypes.addressof(log), 0)
    kernel = KERNEL_PROTOTYPE(pool_scenarios.address_of("record"))
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
    script = "from warpsim.core.runtime.launches.pool import get_pool; get_pool()"
    done = run_process(["-c", script], cache_folder, WARPSIM_NUM_THREADS=text)
    assert done.returncode == 1
    assert "WARPSIM_NUM_THREADS: " in done.stderr


def test_thread_count_defaults_to_the_cores_of_this_process(cache_folder):
    script = "from warpsim.core.runtime.launches.pool import get_pool; print(get_pool().threads)"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert run_process(["-c", script], cache_folder).stdout.strip() == str(cores)
    done = run_process(["-c", script], cache_folder, WARPSIM_NUM_THREADS=" 3 ")
    assert done.stdout.strip() == "3"


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


@pytest.mark.parametrize(
    ("step", "first", "want"), [(2, 0, [0, 2, 4]), (2, 1, [1, 3]), (3, 2, [2]), (2, 5, []), (1, 3, [3, 4])]
)
def test_every_second_chunk(step, first, want):
    """Flag bits choose chunks; the kernel does not see them."""
    log = recorded(47, 10, 5, flags=4 | pool_module.every(step, first))
    ran = [c for c, (_, _, _, calls) in enumerate(log) if calls]
    assert ran == want
    assert all(log[c][:2] == (10 * c, min(47, 10 * c + 10)) and log[c][2] & ~1 == 4 for c in want)

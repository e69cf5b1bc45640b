"""The thread pool: every chunk once and in order, the same on every layer, and no way to hang."""

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path

import pool_scenarios
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_scenarios import LAYERS, SCENARIOS, SERIAL_SCENARIOS, recorded, run_threads, sum_launch

from warpsim.config import config
from warpsim.core.emit.cache import ObjectCache
from warpsim.core.runtime.launches import layers
from warpsim.core.runtime.launches import pool as pool_module
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
        timeout=60,
    )


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="session")
def loadable_layers(cache_folder):
    script = "from warpsim.core.runtime.launches.pool import get_pool; print(get_pool().layer)"
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
        [pool_scenarios.__file__, name],
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


def test_unknown_layer_is_refused_with_the_known_ones(cache_folder):
    script = "from warpsim.core.runtime.launches.pool import get_pool; get_pool().layer"
    done = run_process(["-c", script], cache_folder, WARPSIM_THREADING_LAYER="cilk")
    assert "'cilk'" in done.stderr
    assert "expected: tbb, omp, workqueue or serial" in done.stderr


@pytest.mark.parametrize(("chosen", "expected"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "ACTIVE")])
def test_openmp_threads_sleep_unless_the_user_chose(cache_folder, loadable_layers, chosen, expected):
    if "omp" not in loadable_layers or not sys.platform.startswith("linux"):
        pytest.skip("libgomp says what it waits by")
    script = (
        "import os; from warpsim.core.runtime.launches.pool import get_pool; before = dict(os.environ)\n"
        "assert get_pool().layer == 'omp' and dict(os.environ) == before"
    )
    settings = {"WARPSIM_THREADING_LAYER": "omp", "OMP_DISPLAY_ENV": "verbose", **chosen}
    assert f"OMP_WAIT_POLICY = '{expected}'" in run_process(["-c", script], cache_folder, **settings).stderr


def test_layer_that_cannot_be_loaded_is_an_error_only_when_asked_for(monkeypatch):
    monkeypatch.setattr(layers, "_LAYER_FILES", {"omp": "no_such_module"})
    with pytest.raises(DeviceError, match=r"cannot be loaded\nfound: omp: numba has no extension"):
        layers.choose_layer("omp", False)
    assert layers.choose_layer("", False) is None


def test_without_numba_launches_are_serial(monkeypatch):
    monkeypatch.setattr(layers.importlib.util, "find_spec", lambda name: None)
    assert layers.choose_layer("", False) is None


@pytest.fixture
def libraries(monkeypatch, tmp_path):
    """A place beside Python with a TBB in it, and the interfaces of libraries by what they are loaded as."""
    (tmp_path / "lib").mkdir()
    beside = tmp_path / "lib" / "libtbb.so.12"
    beside.touch()
    versions = {}

    class Library:
        def __init__(self, name):
            if name not in versions:
                raise OSError(name)
            self.TBB_runtime_interface_version = lambda: versions[name]

    monkeypatch.setattr(layers.ctypes, "CDLL", Library)
    monkeypatch.setattr(layers.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(layers.sys, "platform", "linux")
    return str(beside), versions


def test_tbb_beside_python_comes_first(monkeypatch, libraries):
    """Debian 12 has TBB 2021.8 for other programs, which pip's is not to give way to."""
    beside, versions = libraries
    versions.update({"libtbb.so.12": 12080, beside: 12200})
    tried = []
    find = layers.ctypes.CDLL

    def loaded(name):
        tried.append(name)
        versions["libtbb.so.12"] = versions[tried[0]]  # the name stands for what was loaded first
        return find(name)

    monkeypatch.setattr(layers.ctypes, "CDLL", loaded)
    layers._preload_tbb(Path("/nowhere"))
    assert tried == [beside, "libtbb.so.12"]


@pytest.mark.parametrize("beside_python", [11000, 12200])
def test_old_tbb_is_refused(libraries, beside_python):
    """Also where another module of the process has loaded it before: the extension would get that one."""
    beside, versions = libraries
    versions.update({"libtbb.so.12": 12080, beside: beside_python})
    with pytest.raises(ImportError, match="12080 is older than 12110"):
        layers._preload_tbb(Path("/nowhere"))


def test_tbb_of_the_system_serves_where_there_is_no_other(libraries):
    versions = libraries[1]
    versions["libtbb.so.12"] = 12110
    layers._preload_tbb(Path("/nowhere"))
    versions.clear()
    with pytest.raises(ImportError, match=r"libtbb\.so\.12 is neither beside Python nor installed"):
        layers._preload_tbb(Path("/nowhere"))


def test_forked_child_leaves_openmp_alone(monkeypatch):
    tried = []

    def load(name):
        tried.append(name)
        raise ImportError("not here")

    monkeypatch.setattr(layers, "_load_layer", load)
    assert layers.choose_layer("", True) is None
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


def test_without_a_clock_launches_fork(monkeypatch):
    monkeypatch.setattr(pool_module, "_HAS_CLOCK", False)
    chosen = []
    monkeypatch.setattr(Pool, "always_fork", lambda self, always: chosen.append(always))
    Pool()
    assert chosen == [True]


@pytest.mark.parametrize(
    ("step", "first", "want"), [(2, 0, [0, 2, 4]), (2, 1, [1, 3]), (3, 2, [2]), (2, 5, []), (1, 3, [3, 4])]
)
def test_every_second_chunk(step, first, want):
    """Flag bits choose chunks; the kernel does not see them."""
    log = recorded(47, 10, 5, flags=4 | pool_module.every(step, first))
    ran = [c for c, (_, _, _, calls) in enumerate(log) if calls]
    assert ran == want
    assert all(log[c][:2] == (10 * c, min(47, 10 * c + 10)) and log[c][2] & ~1 == 4 for c in want)

"""`wp.utils` on CUDA arrays: contents that stay on the device, graphs, streams, and the package `cuda.compute`."""

import ast
import gc
import importlib.util
import logging
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compute_stand_in
import numpy as np
import pytest
from both_devices import assert_same

import warpsim as wp
from warpsim import utils
from warpsim.core.runtime.algorithms.cuda import compute, sums
from warpsim.errors import ArrayError, DeviceError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
rng = np.random.default_rng(13)


# ----- where the work is done -------------------------------------------------------------------------


def test_nothing_is_read_back_that_nobody_asked_for(package, downloads):
    with wp.ScopedDevice("cuda:0"):
        x, y = wp.ones(1000, dtype=float, requires_grad=True), wp.zeros(1000, dtype=float, requires_grad=True)
        keys, values, one = wp.zeros(1000, dtype=int), wp.zeros(1000, dtype=wp.vec3), wp.zeros(1, dtype=float)
        one.requires_grad = True
        with wp.Tape() as tape:
            utils.array_scan(x, y)
            utils.array_sum(x, out=one)
            utils.array_inner(x, y, out=one)
        tape.backward(one)
        utils.array_cast(y, keys)
        utils.radix_sort_pairs(keys, values, 500)
        utils.runlength_encode(keys, wp.zeros_like(keys), wp.zeros_like(keys), run_count=wp.zeros(1, dtype=int))
        assert downloads == []
        assert utils.array_sum(x) == 1000.0
        assert utils.runlength_encode(keys, wp.zeros_like(keys), wp.zeros_like(keys)) == 1000
        assert downloads == [4, 4]


def test_steps_without_the_package_are_work_for_the_stream(nothing):
    """A captured graph of them needs no host: it is one CUDA graph."""
    with wp.ScopedDevice("cuda:0"):
        x, y, one = wp.array(np.arange(3000), dtype=int), wp.zeros(3000, dtype=int), wp.zeros(1, dtype=int)
        keys, values = wp.array(np.arange(3000)[::-1].copy(), dtype=int), wp.array(np.arange(3000), dtype=int)
        columns, runs, lengths = wp.zeros((1, 50), dtype=int), wp.zeros(3000, dtype=int), wp.zeros(3000, dtype=int)
        with wp.ScopedCapture() as capture:
            utils.array_scan(x, y)
            utils.array_sum(x.reshape((30, 100))[:, ::2], out=columns, axis=0)
            utils.array_inner(x, y, out=one)
            utils.radix_sort_pairs(keys, values, 1500)
            utils.array_cast(keys, y)
            utils.runlength_encode(x, runs, lengths, run_count=one)
        for _ in range(2):
            wp.capture_launch(capture.graph)
        assert len(list(capture.graph._batched())) == 1
        assert keys.numpy().tolist() == [*range(1500, 3000), *range(1499, -1, -1)]
        assert columns.numpy().tolist() == [np.arange(3000).reshape(30, 100)[:, ::2].sum(0).tolist()]
        assert one.numpy()[0] == 3000


def test_graphs_with_the_package_ask_the_host_between(package):
    with wp.ScopedDevice("cuda:0"):
        x, y = wp.array(np.arange(100), dtype=int), wp.zeros(100, dtype=int)
        with wp.ScopedCapture() as capture:
            utils.array_scan(x, y)
            utils.array_scan(y, y, inclusive=False)
        before = len(package.calls)
        for k in range(2):
            x.fill_(k + 1)
            wp.capture_launch(capture.graph)
            assert y.numpy().tolist() == [(k + 1) * n * (n + 1) // 2 for n in range(100)]
        assert len(package.calls) == before + 4


def test_work_goes_to_the_current_stream(package):
    stream = wp.Stream("cuda:0")
    with wp.ScopedStream(stream):
        x = wp.array(np.arange(64), dtype=int, device="cuda:0")
        utils.array_scan(x, x)
    assert package.calls[-1][2] == int(stream.handle)
    wp.synchronize()
    assert x.numpy()[-1] == 2016


def test_temporary_memory_is_given_back(package, monkeypatch):
    """Although the package remembers what it was given last."""
    device = wp.get_device("cuda:0")
    keys, values = (wp.zeros(2000, dtype=int, device=device) for _ in range(2))
    taken, allocate = [], device.allocate

    def noted(size):
        made = allocate(size)
        taken.append(weakref.ref(made))
        return made

    monkeypatch.setattr(device, "allocate", noted)
    utils.radix_sort_pairs(keys, values, 1000)
    utils.array_scan(keys, keys)
    gc.collect()
    assert taken and [held for held in taken if held() is not None] == []


# ----- the package ------------------------------------------------------------------------------------


def test_the_package_computes_what_it_should(package):
    n = 300
    given = rng.integers(-(2**31), 2**31, n).astype(np.int32)

    def run(x, sums_, keys, values):
        utils.array_scan(x, sums_)
        utils.array_scan(x, x, inclusive=False)
        utils.radix_sort_pairs(keys, values, n, 4, 21)
        utils.segmented_sort_pairs(keys, values, n, wp.array([5, 100, 280], dtype=int))
        return utils.array_sum(sums_)

    def build():
        pair = np.concatenate([given, given])
        return wp.array(given), wp.zeros(n, dtype=int), wp.array(pair), wp.array(np.arange(2 * n), dtype=int)

    assert_same(build, run)
    assert [name for name, *_ in package.calls] == ["Scan", "Scan", "RadixSort", "RadixSort", "RadixSort", "Reduce"]
    assert package.made == 4  # each is compiled once: two scans, one sort for all, one sum
    with ThreadPoolExecutor(1) as other:  # another thread has objects of its own, from the kernel cache
        other.submit(assert_same, build, run).result()
    assert (package.made, len(package.kept)) == (4, 4)


@pytest.mark.parametrize("missing", ["serialize", "cache"])
def test_algorithms_need_no_cache(package, monkeypatch, missing):
    if missing == "cache":
        wp.config.cache_kernels = False
    else:
        package.serialize = None
    x = wp.array(np.arange(50), dtype=wp.uint16, device="cuda:0")
    utils.array_scan(x, x)
    assert (x.numpy()[-1], package.made, len(package.kept)) == (1225, 1, 0)


def test_sums_of_floats_in_the_package_are_wide(package):
    for t in (wp.float32, wp.float64):
        x = wp.array(rng.normal(size=1000), dtype=t, device="cuda:0")
        assert utils.array_sum(x) == t(x.numpy().sum(dtype=np.float64))
    utils.array_scan(x, x)  # in an order of our own: that of the package depends on scheduling
    assert [name for name, *_ in package.calls] == ["Reduce", "Reduce"]


def test_small_arrays_do_not_wait_for_a_compiler(monkeypatch):
    package = compute_stand_in.installed(monkeypatch)
    x = wp.zeros(2000, dtype=int, device="cuda:0")
    utils.array_scan(x, x)
    utils.radix_sort_pairs(x, x, 500)
    assert utils.array_sum(x) == 0
    assert package.calls == []


def test_a_package_that_does_not_work_is_named_once(package, caplog):
    def broken(**given):
        raise RuntimeError("nvrtc: no such header")

    package.make_inclusive_scan = broken
    x = wp.array(np.arange(5), dtype=int, device="cuda:0")
    with caplog.at_level(logging.WARNING, "warpsim"):
        for _ in range(2):
            utils.array_scan(x, x)
    [message] = [r.getMessage() for r in caplog.records]
    assert x.numpy().tolist() == [0, 1, 4, 10, 20]
    assert "cuda.compute is not used: RuntimeError: nvrtc: no such header" in message
    assert message.endswith("help: pip install 'warpsim[cuda]'")


@pytest.mark.parametrize("loaded", [None, compute_stand_in.Package()])
def test_a_package_that_does_not_load_is_named_once(monkeypatch, caplog, loaded):
    monkeypatch.setattr(compute, "_found", None)
    monkeypatch.setitem(compute.importlib.sys.modules, "cuda.compute", loaded)
    monkeypatch.setattr(sums, "LARGE", 2)
    if loaded:
        loaded._BINDINGS_AVAILABLE = False
    with caplog.at_level(logging.WARNING, "warpsim"):
        for _ in range(2):
            assert utils.array_sum(wp.ones(10, dtype=int, device="cuda:0")) == 10
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("cuda.compute is not used: ")


def test_a_failure_while_it_runs_is_an_error(package, monkeypatch):
    def failing(self, *, temp_storage, **given):
        if temp_storage is not None:
            raise RuntimeError("launch failed")
        return 1

    monkeypatch.setattr(compute_stand_in.Scan, "__call__", failing)
    x = wp.zeros(5, dtype=int, device="cuda:0")
    with pytest.raises(DeviceError, match=r"cuda\.compute fails in 'inclusive scan' on cuda:0"):
        utils.array_scan(x, x)


def test_segments_that_do_not_fit_change_nothing(package):
    keys, values = (wp.array(np.arange(8)[::-1].copy(), dtype=int, device="cuda:0") for _ in range(2))
    with pytest.raises(ArrayError, match="segments 0 and 1 overlap"):
        utils.segmented_sort_pairs(
            keys, values, 4, wp.array([0, 1], dtype=int, device="cuda:0"), wp.array([2, 3], dtype=int, device="cuda:0")
        )
    assert keys.numpy().tolist() == values.numpy().tolist() == list(range(8))[::-1]


# ----- the stand-in and the installed package ---------------------------------------------------------


def keywords(function):
    """The keyword-only parameters that a function of the package takes, and whether it takes any others."""
    arguments = function.args
    return {a.arg: d is not None for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}


def found_in(path, name):
    """A function, or the call of a class, in a source file."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name)
    if isinstance(node, ast.ClassDef):
        node = next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__call__")
    return node


@pytest.mark.parametrize(
    ("file", "theirs", "ours"),
    [
        ("_scan.py", "make_inclusive_scan", ""),
        ("_scan.py", "make_exclusive_scan", ""),
        ("_scan.py", "_Scan", "Scan"),
        ("_reduce.py", "make_reduce_into", ""),
        ("_reduce.py", "_Reduce", "Reduce"),
        ("_sort/_radix_sort.py", "make_radix_sort", ""),
        ("_sort/_radix_sort.py", "_RadixSort", "RadixSort"),
    ],
)
def test_the_stand_in_has_the_keywords_of_the_package(file, theirs, ours):
    home = importlib.util.find_spec("cuda.cccl")
    if home is None:
        pytest.skip("cuda-cccl is not installed")
    algorithms = Path(home.submodule_search_locations[0]).parent / "compute" / "algorithms"
    expected = keywords(found_in(algorithms / file, theirs))
    assert keywords(found_in(compute_stand_in.__file__, ours or theirs)) == expected

"""`wp.utils` on CUDA arrays: results as on the CPU, contents that stay on the device, the package `cuda.compute`."""

import ast
import gc
import importlib.util
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compute_stand_in
import numpy as np
import pytest

import warpsim as wp
from warpsim import utils
from warpsim.core.runtime import operands
from warpsim.core.runtime.cuda import compute, memory, sums
from warpsim.errors import ArrayError, DeviceError

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="needs a GPU, or --simulated-cuda"),
    pytest.mark.device,
]
INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.float32, wp.float64)
KEYS = (wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64)
rng = np.random.default_rng(11)


@pytest.fixture
def package(monkeypatch):
    """A package `cuda.compute` that takes arrays of any size."""
    monkeypatch.setattr(sums, "LARGE", 2)
    monkeypatch.setattr(sums, "LARGE_SORT", 2)
    return compute_stand_in.installed(monkeypatch)


@pytest.fixture
def nothing(monkeypatch):
    """No such package."""
    monkeypatch.setattr(compute, "_found", compute._Found(None))


@pytest.fixture
def downloads(monkeypatch):
    """The sizes [bytes] of all copies from the device to the host."""
    sizes, host = [], memory.DeviceMemory.host

    def counted(self):
        sizes.append(self.nbytes)
        return host(self)

    monkeypatch.setattr(memory.DeviceMemory, "host", counted)
    return sizes


def both(build, run):
    """What a run leaves in the arrays that `build()` makes: on the device, and on the CPU."""
    found = []
    for device in ("cuda:0", "cpu"):
        with wp.ScopedDevice(device):
            made = build()
            result = run(*made)
            found.append([a.numpy() for a in made if hasattr(a, "numpy")] + [result])
    return found


def assert_same(build, run, rtol=0.0):
    device, cpu = both(build, run)
    for a, b in zip(device, cpu, strict=True):
        if isinstance(b, np.ndarray | np.generic):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=0.0) if rtol else np.testing.assert_array_equal(a, b)
        elif not hasattr(b, "numpy"):
            assert a == b


# ----- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n", [0, 1, 31, 33, 3000])
def test_integers_as_on_the_cpu(nothing, dtype, n):
    given = rng.integers(0, 100, n).astype(dtype)

    def run(x, before, after, squares):
        utils.array_scan(x, before, inclusive=False)
        utils.array_scan(x, after)
        utils.array_inner(x, x, out=squares)
        return utils.array_sum(x)

    assert_same(lambda: (wp.array(given), wp.zeros(n, dtype), wp.zeros(n, dtype), wp.zeros(1, dtype)), run)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_accumulated_in_float64(nothing, dtype):
    given = rng.normal(size=5000).astype(dtype)
    x, out = wp.array(given, device="cuda:0"), wp.zeros(5000, dtype, device="cuda:0")
    wide = given.astype(np.float64)
    utils.array_scan(x, out)
    rounding = 1e-11 if dtype is wp.float64 else 0.0  # of sums near zero; narrow ones are rounded from them
    np.testing.assert_allclose(out.numpy(), np.cumsum(wide).astype(dtype), rtol=0, atol=rounding)
    assert utils.array_sum(x) == pytest.approx(dtype(wide.sum()), rel=1e-13)
    assert utils.array_inner(x, x) == pytest.approx(dtype((wide * wide).sum()), rel=1e-13)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [wp.float64, wp.vec3d, wp.mat22d, wp.vec2i])
def test_every_axis_layout_and_compound(nothing, dtype, turned, axis):
    shape = (3, 70, 5)
    inner = operands.inner(wp.zeros(1, dtype, device="cpu"))
    given = rng.integers(-9, 9, (*shape, *inner))

    def build():
        x = wp.array(given, dtype=dtype)
        return (x.transpose() if turned else x,)

    def run(x):
        found = [utils.array_sum(x, axis=axis), utils.array_sum(x, value_count=2, axis=axis)]
        found += [utils.array_inner(x, x, axis=axis), utils.array_inner(x, x, count=3, axis=axis)]
        return np.concatenate([np.ravel(a.numpy() if hasattr(a, "numpy") else a) for a in found])

    assert_same(build, run)


@pytest.mark.parametrize("t", KEYS)
@pytest.mark.parametrize("value", [wp.int32, wp.uint8, wp.vec3, wp.float64])
def test_sorts_as_on_the_cpu(nothing, t, value):
    n = 500
    keys = (rng.normal(size=n) * 30).round().astype(np.int64).astype(t)
    if np.dtype(t).kind == "f":
        keys[:6] = [np.nan, -0.0, 0.0, -np.nan, np.inf, -np.inf]
    inner = operands.inner(wp.zeros(1, value, device="cpu"))
    values = rng.integers(0, 200, (2 * n, *inner)).astype(np.float64)

    def build():
        k = wp.zeros(2 * n, dtype=t)
        k[:n] = keys
        return k, wp.array(values, dtype=value)

    width = 8 * np.dtype(t).itemsize
    for begin, end in ((0, None), (3, 9), (width - 1, width), (5, 5)):
        assert_same(build, lambda k, v, bits=(begin, end): utils.radix_sort_pairs(k, v, n - 7, *bits))


def test_segments_sort_as_on_the_cpu(nothing):
    n = 700
    keys, cuts = rng.integers(-5, 5, 2 * n), np.sort(rng.integers(0, n, 40))
    order = rng.permutation(20)
    starts, ends = cuts[::2][order], cuts[1::2][order]  # with gaps, in any order
    for t in (wp.int32, wp.float32, wp.uint64):
        build = lambda t=t: (  # noqa: E731
            wp.array(keys, dtype=t), wp.array(np.arange(2 * n), dtype=int), wp.array(starts, dtype=int),
            wp.array(ends, dtype=int),
        )  # fmt: skip
        assert_same(build, lambda k, v, s, e: utils.segmented_sort_pairs(k, v, n, s, e))
        assert_same(build, lambda k, v, s, e: utils.segmented_sort_pairs(k, v, n, wp.array([3, 90, n], dtype=int)))


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32, wp.vec2, wp.bool, wp.uint64])
@pytest.mark.parametrize("n", [0, 1, 2, 900])
def test_run_lengths_as_on_the_cpu(nothing, dtype, n):
    inner = operands.inner(wp.zeros(1, dtype, device="cpu"))
    given = np.repeat(rng.integers(0, 2, (n, *inner)), rng.integers(1, 4, n), axis=0)[:n].astype(float)
    if n > 100 and dtype is wp.float32:
        given[7:9], given[20:22] = np.nan, [0.0, -0.0]  # NaN equals nothing, zeros are equal
    fill = [(given[:1] * 0 + 1).repeat(n, 0), np.full(n, 9)]

    def build():
        return wp.array(given, dtype=dtype), wp.array(fill[0], dtype=dtype), wp.array(fill[1], dtype=int)

    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, r, lengths))
    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, x, lengths))
    assert_same(build, lambda x, r, lengths: utils.runlength_encode(x, r, lengths, value_count=n // 2))


def test_run_lengths_of_structs():
    @wp.struct
    class Pair:
        a: int
        b: float

    pairs = [Pair(), Pair(), Pair()]
    for pair, b in zip(pairs, (2.0, 2.0, 3.0), strict=True):
        pair.a, pair.b = 1, b
    with wp.ScopedDevice("cuda:0"):
        values, runs, lengths = wp.array(pairs, dtype=Pair), wp.zeros(3, dtype=Pair), wp.zeros(3, dtype=int)
        assert utils.runlength_encode(values, runs, lengths) == 2
        assert [(int(p.a), float(p.b)) for p in runs.list()[:2]] == [(1, 2.0), (1, 3.0)]
        assert lengths.numpy()[:2].tolist() == [2, 1]


@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, wp.bool])
def test_casts_as_on_the_cpu(target):
    numbers = np.array([0.0, -0.0, 1.5, -1.5, 300.0, -300.0, 70000.0, 1e10, -1e10, 1e20, np.inf, -np.inf, np.nan])
    for source in (wp.float16, wp.float32, wp.float64, wp.int8, wp.uint32, wp.int64, wp.bool):
        with np.errstate(all="ignore"):
            given = numbers.astype(source) if np.dtype(source).kind != "b" else numbers > 1
        if np.dtype(source).kind in "iu":
            given = np.array([0, 1, 100, np.iinfo(source).max, np.iinfo(source).min], source)
        assert_same(lambda g=given: (wp.array(g), wp.zeros(g.size, target)), lambda x, y: utils.array_cast(x, y))


def test_casts_between_shapes_and_strides():
    given = rng.normal(size=(4, 6, 3))
    make = lambda: (wp.array(given, dtype=wp.vec3d), wp.ones((6, 4), dtype=wp.vec3), wp.ones(80, dtype=wp.float16))  # noqa: E731

    def run(x, turned, line):
        utils.array_cast(x.transpose(), turned)
        utils.array_cast(x, line)
        utils.array_cast(line[::2], turned, count=35)

    assert_same(make, run)


def test_indexed_and_strided_operands(package):
    given = rng.integers(0, 50, (8, 9))

    def run(x, out, line, total, wide):
        some = x[[6, 0, 3], [1, 2]]
        utils.array_scan(some, line[::2])
        utils.array_sum(some, out=total[2:3])
        utils.array_sum(x.transpose(), out=out.transpose(), axis=1)
        utils.array_inner(some, some, out=total[1:2])
        utils.array_cast(some, wide)
        return utils.array_sum(some)

    build = lambda: (  # noqa: E731
        wp.array(given, dtype=int), wp.zeros((1, 9), dtype=int), wp.zeros(12, dtype=int), wp.zeros(4, dtype=int),
        wp.zeros((3, 2), dtype=wp.float64),
    )  # fmt: skip
    assert_same(build, run)


def test_operands_that_overlap(nothing):
    given = rng.integers(0, 50, 400)

    def run(x):
        utils.array_scan(x[:399], x[1:])
        utils.array_cast(x[1:], x[:399])
        utils.array_sum(x[:20], out=x[3:4])

    assert_same(lambda: (wp.array(given, dtype=int),), run)


# ----- gradients --------------------------------------------------------------------------------------


def leaf(values, dtype=wp.float64):
    return wp.array(values, dtype=dtype, requires_grad=True)


def gradients(run, *arrays, seed):
    """Gradients of arrays after a run that writes to the last of them."""
    with wp.Tape() as tape:
        run(*arrays)
    tape.backward(grads={arrays[-1]: seed})
    return [a.grad.numpy() for a in arrays]


CASES = {
    "scan": lambda x, y, out: utils.array_scan(x, out),
    "exclusive": lambda x, y, out: utils.array_scan(x, out, inclusive=False),
    "turned": lambda x, y, out: utils.array_scan(x.transpose(), out),
    "cast": lambda x, y, out: utils.array_cast(x, out),
    "indexed": lambda x, y, out: utils.array_cast(x[:, [4, 1, 4, 0, 2]], out),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_arrays_as_on_the_cpu(nothing, case):
    values, seeds = rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    shape = (5, 40) if case == "turned" else (40, 5)

    def found(device):
        with wp.ScopedDevice(device):
            x, y, out = leaf(values), leaf(values), wp.zeros(shape, dtype=wp.float64, requires_grad=True)
            return gradients(CASES[case], x, y, out, seed=wp.array(seeds.reshape(shape)))

    for a, b in zip(found("cuda:0"), found("cpu"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", [wp.float64, wp.vec3d])
def test_gradients_of_sums_as_on_the_cpu(nothing, axis, dtype):
    shape = (7, 9) if dtype is wp.float64 else (7, 9, 3)
    values = rng.normal(size=(2, *shape))
    result = {0: (1, 9), 1: (7, 1), None: (1,)}[axis]
    seeds = rng.normal(size=(*result, 3)[: len(result) + (dtype is not wp.float64)])

    def found(device):
        with wp.ScopedDevice(device):
            x, y = leaf(values[0], dtype), leaf(values[1], dtype)
            total = wp.zeros(result, dtype=dtype, requires_grad=True)
            product = wp.zeros(result, dtype=wp.float64, requires_grad=True)
            with wp.Tape() as tape:
                utils.array_sum(x, out=total, axis=axis, value_count=5)
                utils.array_inner(x, y, out=product, axis=axis, count=6)
                y.zero_()  # its contents were needed
            slopes = seeds if dtype is wp.float64 else seeds[..., 0]
            tape.backward(grads={total: wp.array(seeds, dtype=dtype), product: wp.array(slopes)})
            return [a.grad.numpy() for a in (x, y, total, product)]

    for a, b in zip(found("cuda:0"), found("cpu"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


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


def test_temporary_memory_is_given_back(package):
    device = wp.get_device("cuda:0")
    keys, values = (wp.zeros(2000, dtype=int, device=device) for _ in range(2))
    utils.radix_sort_pairs(keys, values, 1000)
    wp.synchronize()
    gc.collect()
    before = device.free_memory
    for _ in range(5):
        utils.radix_sort_pairs(keys, values, 1000)
    wp.synchronize()
    gc.collect()
    assert device.free_memory == before


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
    with pytest.raises(DeviceError, match=r"cuda\.compute fails in 'inclusive' on cuda:0"):
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

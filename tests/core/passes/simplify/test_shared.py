"""Functions that are compiled once and called: which are, what they compute, what is kept of them."""

import importlib
import inspect
import re

import numpy as np
import pytest
from shared_kernels import TABLE, X, arrays, bend_eight_times, bend_long, bent, functions, program

import warpsim as wp
from warpsim.config import config
from warpsim.core.emit.cuda import tools as cuda_tools
from warpsim.core.emit.disk import stored_programs
from warpsim.core.emit.target import Options
from warpsim.core.ir.nodes import Call, callees, count, walk
from warpsim.errors import OutOfBoundsError, WarpsimError

device = pytest.fixture(params=[None, "interp"], ids=["compiled", "interp"])(lambda request: request.param)

STEPS = np.array([0.0, 0.1, 0.2, 0.3, 0.4], np.float32)
SHIFTS = np.array([0.0, 0.5, 1.0, 1.5], np.float32)[:, None] + STEPS


@wp.struct
class Place:
    index: int
    value: float


@wp.func(nondiff="a place in a table is a number")
def nearest(table: wp.array(dtype=float), x: float) -> Place:
    """What the table holds next to a number: distances are kept in a local array, and compared in a loop."""
    distances = wp.zeros(shape=9, dtype=float)
    y = bend_long(x)
    place = Place()
    for k in range(table.shape[0]):
        distances[k] = wp.abs(table[k] - y)
        if distances[k] < distances[place.index]:
            place.index = k
    place.value = table[place.index]
    return place


@wp.func
def pull(table: wp.array(dtype=float), x: float, shift: float):
    place = nearest(table, x + shift)
    return (place.value - x) * x * (1.0 + shift) + 0.001 * float(place.index)


@wp.func
def pull_five(table: wp.array(dtype=float), x: float, first: float):
    return (
        pull(table, x, first) + pull(table, x, first + 0.1) + pull(table, x, first + 0.2)
        + pull(table, x, first + 0.3) + pull(table, x, first + 0.4)
    )  # fmt: skip


@wp.kernel
def pulled(table: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = (
        pull_five(table, x[i], 0.0) + pull_five(table, x[i], 0.5) + pull_five(table, x[i], 1.0)
        + pull_five(table, x[i], 1.5)
    )  # fmt: skip


@wp.kernel
def pulled_in_a_loop(
    table: wp.array(dtype=float), shifts: wp.array2d(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)
):
    """The same, with one call: it is inlined."""
    i = wp.tid()
    total = float(0.0)
    for a in range(shifts.shape[0]):
        five = pull(table, x[i], shifts[a, 0])
        for b in range(1, shifts.shape[1]):
            five = five + pull(table, x[i], shifts[a, b])
        total = total + five
    y[i] = total


def test_a_large_function_that_is_called_often_stays_one():
    [fn] = functions(pulled)
    calls = [n for n in walk(program(pulled).fn.body) if isinstance(n, Call) and n.op is fn]
    assert re.fullmatch("nearest_[0-9a-f]{16}", fn.name)
    assert len(calls) == SHIFTS.size
    assert count(program(pulled).fn.body) < count(fn.body) < 1000
    assert not callees(fn.body)  # what it calls is inlined in it


def test_one_that_is_called_once_is_inlined():
    assert functions(pulled_in_a_loop) == []


def test_results_are_those_of_inlined_functions_bit_for_bit(device):
    (table, x, y), (_, _, z) = arrays(device), arrays(device)
    wp.launch(pulled, len(X), [table, x, y], device=device)
    wp.launch(pulled_in_a_loop, len(X), [table, wp.array(SHIFTS, device=device), x, z], device=device)
    np.testing.assert_array_equal(y.numpy().view(np.int32), z.numpy().view(np.int32))
    assert len(set(y.numpy())) > 3


def test_the_cpu_agrees_with_the_interpreter():
    results = []
    for where in ("cpu", "interp"):
        table, x, y = arrays(where)
        wp.launch(pulled, len(X), [table, x, y], device=where)
        results.append(y.numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_gradients_and_tangents_take_its_results_for_constants(device):
    x64, shifts = X.astype(np.float64), SHIFTS.ravel().tolist()
    table, x, y = arrays(device, requires_grad=True)
    wp.launch(pulled, len(X), [table, x, y], device=device)
    places = np.array([[_nearest(v + s) for s in shifts] for v in x64])
    slopes = sum((TABLE[places[:, k]] - 2.0 * x64) * (1.0 + s) for k, s in enumerate(shifts))
    tape = wp.Tape()
    with tape:
        wp.launch(pulled, len(X), [table, x, y], device=device)
    tape.backward(grads={y: wp.array(np.ones_like(X), dtype=float, device=device)})
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=2e-5)
    np.testing.assert_array_equal(table.grad.numpy(), 0.0)
    moved = wp.autograd.jvp(pulled, len(X), [table, x], [y], tangents={"x": np.ones(len(X))}, device=device)
    np.testing.assert_allclose(moved["y"].numpy(), slopes, rtol=2e-5)
    ones = np.ones(len(X))
    curved = wp.autograd.hvp(pulled, len(X), [table, x], [y], vector={"x": ones}, cotangents={"y": ones}, device=device)
    np.testing.assert_allclose(curved["x"].numpy(), -2.0 * sum(1.0 + s for s in shifts), rtol=2e-5)


def _nearest(x):
    return np.argmin(np.abs(TABLE - bent(x)))


def test_fast_math_compiles_and_agrees():
    @wp.kernel(fast_math=True)
    def fast(table: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = (
            pull_five(table, x[i], 0.0) + pull_five(table, x[i], 0.5) + pull_five(table, x[i], 1.0)
            + pull_five(table, x[i], 1.5)
        )  # fmt: skip

    (table, x, y), (_, _, z) = arrays("cpu"), arrays("cpu")
    wp.launch(fast, len(X), [table, x, y], device="cpu")
    wp.launch(pulled, len(X), [table, x, z], device="cpu")
    assert functions(fast)
    np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-5)


def test_a_failed_check_is_reported_with_its_line_in_the_function(monkeypatch):
    monkeypatch.setattr(config, "verify", True)
    table, x, y = arrays("cpu")
    longer = wp.array(np.zeros(10, np.float32), dtype=float, device="cpu")  # the local array has nine elements
    with pytest.raises(OutOfBoundsError, match="distances") as caught:
        wp.launch(pulled, len(X), [longer, x, y], device="cpu")
    lines, first = inspect.getsourcelines(nearest.func)
    at = first + next(k for k, line in enumerate(lines) if "distances[k] = " in line)
    assert f"test_shared.py:{at}" in str(caught.value)
    wp.launch(pulled, len(X), [table, x, y], device="cpu")


def test_an_array_that_it_reads_must_be_given():
    _, x, y = arrays("cpu")
    with pytest.raises(WarpsimError, match="table"):
        wp.launch(pulled, len(X), [None, x, y], device="cpu")


Long = wp.types.vector(length=20, dtype=float)


@wp.func(nondiff="a guess")
def spread(long: Long, x: float) -> Long:
    return long * bend_long(x)


@wp.func
def spread_five(long: Long, x: float):
    return spread(spread(spread(spread(spread(long, x), x + 0.1), x + 0.2), x + 0.3), x + 0.4)


@wp.kernel
def spreads(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    long = Long(1.0)
    long[i] = 2.0  # at a computed place: the vector is kept in memory
    long = spread_five(spread_five(spread_five(spread_five(long, x[i]), x[i] + 1.0), x[i] + 2.0), x[i] + 3.0)
    y[i] = long[i] / long[i + 1]


def test_a_large_vector_in_memory_goes_through_it(device):
    assert functions(spreads)
    _, x, y = arrays(device)
    x.fill_(4.0)
    wp.launch(spreads, len(X), [x, y], device=device)
    np.testing.assert_array_equal(y.numpy(), 2.0)


@wp.func
def bend_long_differently(x: float):
    return bend_eight_times(bend_eight_times(bend_eight_times(bend_eight_times(x + 0.5))))


def _kernel_of(inner):
    @wp.func(nondiff="a count is a number")
    def look(x: float) -> float:
        return inner(x)

    @wp.func
    def look_five(x: float):
        return look(x) + look(x + 0.1) + look(x + 0.2) + look(x + 0.3) + look(x + 0.4)

    @wp.kernel(module="unique")
    def looked(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = look_five(x[i]) + look_five(x[i] + 1.0) + look_five(x[i] + 2.0) + look_five(x[i] + 3.0)

    return looked


def test_keys_of_the_cache_tell_kernels_apart_by_what_their_functions_do():
    one, other, again = (_kernel_of(f) for f in (bend_long, bend_long_differently, bend_long))
    assert functions(one)[0].name != functions(other)[0].name
    digests = [program(kernel).text.digest for kernel in (one, other, again)]
    assert digests[0] == digests[2] != digests[1]
    results = []
    for kernel in (one, other, again):
        _, x, y = arrays("cpu")
        wp.launch(kernel, len(X), [x, y], device="cpu")
        results.append(y.numpy())
    np.testing.assert_array_equal(results[0], results[2])
    assert (results[0] != results[1]).all()


@wp.func(nondiff="a count is a number")
def counted(total: wp.array(dtype=int), x: float) -> float:
    wp.atomic_add(total, 0, 1)
    return bend_long(x)


@wp.func
def counted_five(total: wp.array(dtype=int), x: float):
    return counted(total, x) + counted(total, x) + counted(total, x) + counted(total, x) + counted(total, x)


@wp.kernel
def counting(total: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = counted_five(total, x[i]) + counted_five(total, x[i]) + counted_five(total, x[i]) + counted_five(total, x[i])


def test_one_that_changes_memory_is_inlined(device):
    assert functions(counting) == []
    total, (_, x, y) = wp.zeros(1, dtype=int, device=device), arrays(device)
    wp.launch(counting, len(X), [total, x, y], device=device)
    assert total.numpy()[0] == SHIFTS.size * len(X)


def test_a_sum_into_an_array_that_it_reads_is_a_real_one():
    @wp.kernel
    def fed(table: wp.array(dtype=float), x: wp.array(dtype=float)):
        i = wp.tid()
        t = 0.0 * (pull_five(table, x[i], 0.0) + pull_five(table, x[i], 0.5) + pull_five(table, x[i], 1.0))
        wp.atomic_add(table, 0, 1.0 + t + 0.0 * pull_five(table, x[i], 1.5))

    assert functions(fed)
    assert not any(use.summed for use in program(fed).uses.values())
    table, _, _ = arrays("cpu")
    many = wp.array(np.resize(X, 100_000), dtype=float, device="cpu")
    wp.launch(fed, 100_000, [table, many], device="cpu")
    assert table.numpy()[0] == TABLE[0] + 100_000


def test_a_program_on_disk_has_its_functions(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path))
    stored_programs.save("program-test", stored_programs.Entry(program(pulled), ()), [Place])
    loaded = stored_programs.load("program-test", [Place]).program
    assert loaded.text.digest == program(pulled).text.digest
    assert [fn.name for fn in callees(loaded.fn.body)] == [fn.name for fn in functions(pulled)]


def test_a_graph_of_it_is_saved_and_loaded(tmp_path):
    table, x, y = arrays("cpu")
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(pulled, len(X), [table, x, y], device="cpu")
    wp.launch(pulled, len(X), [table, x, y], device="cpu")
    wp.capture_save(capture.graph, tmp_path / "graph", {"x": x}, {"y": y})
    graph, loaded = wp.capture_load(tmp_path / "graph", device="cpu"), wp.zeros_like(y)
    wp.capture_launch(graph)
    graph.get_param("y", loaded)
    np.testing.assert_array_equal(loaded.numpy(), y.numpy())


@wp.struct
class Parts:
    turn: wp.mat44
    half: wp.vec3h
    wide: wp.int64
    near: bool
    narrow: wp.bfloat16


@wp.func(nondiff="a guess")
def guess(x: float, h: wp.vec3h, q: wp.quatd, near: bool, b: wp.bfloat16) -> Parts:
    y = bend_long(x) + float(h[1]) + float(q[3]) + float(b)
    parts = Parts()
    parts.turn = wp.mat44(y) * y
    parts.half = h * wp.float16(y)
    parts.wide = wp.int64(1000.0 * y) << wp.int64(40)
    parts.near = near != (y > 0.5)
    parts.narrow = wp.bfloat16(y)
    return parts


@wp.func
def guessed(x: float, k: int):
    h, q = wp.vec3h(wp.float16(x), wp.float16(0.5), wp.float16(k)), wp.quatd(wp.float64(x), 0.0, 0.0, 1.0)
    p = guess(x + 0.1 * float(k), h, q, k % 2 == 0, wp.bfloat16(x))
    wide = float(p.wide >> wp.int64(40))
    return p.turn[3, 1] + float(p.half[0]) + 0.001 * wide + wp.where(p.near, 1.0, 0.0) + float(p.narrow)


@wp.func
def guessed_five(x: float, k: int):
    return guessed(x, k) + guessed(x, k + 1) + guessed(x, k + 2) + guessed(x, k + 3) + guessed(x, k + 4)


@wp.kernel
def guesses(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = guessed_five(x[i], 0) + guessed_five(x[i], 5) + guessed_five(x[i], 10) + guessed_five(x[i], 15)


@wp.kernel
def guesses_in_a_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for a in range(4):
        five = guessed(x[i], 5 * a)
        for b in range(1, 5):
            five = five + guessed(x[i], 5 * a + b)
        total = total + five
    y[i] = total


def test_values_of_all_types_are_passed_and_returned(device):
    assert functions(guesses) and not functions(guesses_in_a_loop)
    (_, x, y), (_, _, z) = arrays(device), arrays(device)
    wp.launch(guesses, len(X), [x, y], device=device)
    wp.launch(guesses_in_a_loop, len(X), [x, z], device=device)
    np.testing.assert_array_equal(y.numpy(), z.numpy())
    assert np.isfinite(y.numpy()).all() and len(set(y.numpy())) == len(X)


@pytest.mark.skipif(bool(cuda_tools.missing()), reason=f"without {', '.join(cuda_tools.missing())}")
@pytest.mark.parametrize("options", [Options(), Options(verify=True)], ids=["plain", "verify"])
def test_it_is_assembled_for_gpus(options):
    cuda = importlib.import_module("warpsim.core.emit.cuda.cuda")  # without the extra `cuda` there is none
    made = program(pulled)
    assert cuda.machine_code(made.fn, made.ndim, options, made.plan, (9, 0)).code.startswith(b"\x7fELF")

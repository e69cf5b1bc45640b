"""Fused launches in graphs: random sequences leave the bits that the same launches leave one by one, and what is
fused is what may be.

Launches are small, so that each runs its threads in order: a launch that reads a neighbour's element finds another
number there if it is fused. 250 sequences every day; WARPSIM_FUSED_GRAPHS=20000 runs that many others.
"""

import os
import random
import threading

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches.pool import get_pool
from warpsim.core.runtime.steps import fusion

pytestmark = pytest.mark.cpu(reason="graphs of the CPU are fused")

MORE = int(os.environ.get("WARPSIM_FUSED_GRAPHS", "0"))
N, ROWS, COLUMNS = 600, 30, 20
Floats, Ints, Grid = wp.array(dtype=float), wp.array(dtype=int), wp.array(dtype=float, ndim=2)


@wp.struct
class Pair:
    x: Floats
    y: Floats
    a: float


@wp.kernel
def own(x: Floats, y: Floats, a: float):
    i = wp.tid()
    y[i] = a * x[i] + 0.5 * y[i]


@wp.kernel
def halved(x: Floats):
    i = wp.tid()
    x[i] = 0.5 * x[i] + 0.25


@wp.kernel
def next_one(x: Floats, y: Floats, a: float):
    i = wp.tid()
    y[i] = a * x[i + 1] + 0.5 * y[i]


@wp.kernel
def to_next_one(x: Floats, y: Floats, a: float):
    i = wp.tid()
    y[i + 1] = a * x[i]


@wp.kernel
def picked(x: Floats, at: Ints, y: Floats):
    i = wp.tid()
    y[i] = 0.5 * x[at[i]] + 0.25 * y[i]


@wp.kernel
def scattered(x: Floats, at: Ints, y: Floats):
    i = wp.tid()
    y[at[i]] = 0.5 * x[i]


@wp.kernel
def added_to_own(x: Floats, y: Floats):
    i = wp.tid()
    wp.atomic_add(y, i, 0.125 * x[i])


@wp.kernel
def added_anywhere(x: Floats, at: Ints, y: Floats):
    i = wp.tid()
    wp.atomic_add(y, at[i], 0.125 * x[i])


@wp.kernel
def added_to_one(x: Floats, y: Floats):
    wp.atomic_add(y, 3, 0.001 * x[wp.tid()])


@wp.kernel
def guarded(x: Floats, z: Floats, y: Floats, first: int):
    i = wp.tid()
    if i < first:
        return
    if z:
        y[i] = y[i] - 0.5 * z[i]
    y[i] = wp.sin(x[i]) + 0.5 * y[i]


@wp.kernel
def of_struct(p: Pair):
    i = wp.tid()
    p.y[i] = p.a * p.x[i] + 0.5 * p.y[i]


@wp.kernel
def from_picked(x: wp.indexedarray(dtype=float), y: Floats):
    i = wp.tid()
    y[i] = 0.5 * x[i] + 0.25 * y[i]


@wp.kernel
def into_picked(x: Floats, y: wp.indexedarray(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * x[i]


@wp.kernel
def other_indices(at: Ints, steps: int):
    i = wp.tid()
    at[i] = (at[i] + steps) % 600


@wp.kernel
def cells(x: Grid, y: Grid, a: float):
    i, j = wp.tid()
    y[i, j] = a * x[i, j] + 0.5 * y[i, j]


@wp.kernel
def transposed(x: Grid, y: Grid, a: float):
    i, j = wp.tid()
    y[j, i] = a * x[i, j] + 0.5 * y[j, i]


@wp.kernel
def next_cell(x: Grid, y: Grid, a: float):
    i, j = wp.tid()
    y[i, j] = a * x[i, j + 1] + 0.5 * y[i, j]


@wp.kernel
def rows(x: Grid, y: Grid, a: float):
    i = wp.tid()
    for k in range(COLUMNS):
        y[i, k] = a * x[i, COLUMNS - 1 - k] + 0.5 * y[i, k]


LINES = (own, next_one, to_next_one)
GRIDS = (cells, transposed, next_cell)


class Memory:
    """Arrays that overlap in many ways, and their contents as they were first."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        numbers = np.random.default_rng(rng.randrange(1 << 30))
        self.floats = wp.array(numbers.random(2 * N + 64, dtype=np.float32))
        self.ints = wp.array(numbers.integers(0, N, N + 64).astype(np.int32))
        self.square = wp.array(numbers.random((2 * ROWS, 2 * ROWS), dtype=np.float32))
        self.whole = (self.floats, self.ints, self.square)
        self.before = [a.numpy().copy() for a in self.whole]
        self.lines = [self.line() for _ in range(3)]
        self.tables = [self.ints, self.ints[1:]]
        self.grids = [self.square, self.square[:, 3:], self.square[ROWS:], self.square[ROWS:], self.square.transpose()]

    def line(self):
        kind, first = self.rng.randrange(10), self.rng.randrange(3)
        if kind == 0:
            return self.floats[first::2][: N + 8]
        return self.floats[first:] if kind == 1 else self.floats[kind % 2 * (N + 8) :][: N + 8]

    def contents(self):
        return [a.numpy().tobytes() for a in self.whole]

    def restore(self):
        for a, before in zip(self.whole, self.before, strict=True):
            a.assign(before)

    def launch(self):
        """One launch, of a kernel and arrays at random."""
        rng = self.rng
        x, y, z = (rng.choice(self.lines) for _ in range(3))
        at, a = rng.choice(self.tables), rng.choice([0.25, 0.5])
        if rng.random() < 0.25:
            g, h = rng.choice(self.grids), rng.choice(self.grids)
            if rng.random() < 0.3:
                wp.launch(rows, ROWS, inputs=[g, h, a])
            else:
                wp.launch(rng.choice(GRIDS), (ROWS, COLUMNS), inputs=[g, h, a])
            return
        pair = Pair()
        pair.x, pair.y, pair.a = x, y, a
        kernel, args = rng.choice([
            *((k, [x, y, a]) for k in (own, own, own, *LINES)),
            *((k, [x, at, y]) for k in (picked, scattered, added_anywhere)),
            (halved, [y]), (halved, [x]), (halved, [z]), (added_to_own, [x, y]), (added_to_one, [x, y]),
            (guarded, [x, None, y, 7]), (guarded, [x, z, y, 7]), (of_struct, [pair]),
            (from_picked, [wp.indexedarray(x, self.ints), y]), (into_picked, [x, wp.indexedarray(y, self.ints)]),
            (other_indices, [at, 7]),
        ])  # fmt: skip
        wp.launch(kernel, rng.choice([N, N, N, N, N, N - 100, 0]), inputs=args)


@pytest.fixture(autouse=True)
def short_strips(monkeypatch):
    wp.config.verify = False
    monkeypatch.setattr(fusion, "_STRIP_BYTES", 64)
    monkeypatch.setattr(fusion, "_LEAST_STRIP", 64)


def captured(work):
    with wp.ScopedCapture() as capture:
        work()
    return capture.graph


def one_by_one(graph):
    for step in graph.steps:
        step.run()


def test_random_sequences_leave_the_bits_of_single_launches():
    fused = launches = 0
    for seed in range(1 << 20, (1 << 20) + MORE) if MORE else range(250):
        memory = Memory(random.Random(seed))
        graph = captured(lambda memory=memory: [memory.launch() for _ in range(memory.rng.randrange(2, 9))])
        one_by_one(graph)
        expected = memory.contents()
        memory.restore()
        graph.launch()
        assert memory.contents() == expected, f"seed {seed}\n{graph.report()}"
        fused, launches = fused + graph.report().fused, launches + len(graph.steps)
    print(f"{fused} of {launches} launches were fused")
    assert fused > 0.08 * launches


def floats(n=N + 8):
    return wp.array(np.random.default_rng(n).random(n, dtype=np.float32))


def test_swapped_arrays_are_fused():
    x, y = floats(), floats()

    def swaps():
        a, b = x, y
        for _ in range(4):
            wp.launch(own, N, inputs=[a, b, 0.5])
            a, b = b, a

    graph = captured(swaps)
    assert graph.report().fused == 4
    a, b = x.numpy()[:N].copy(), y.numpy()[:N].copy()
    for _ in range(4):
        a, b = b, np.float32(0.5) * a + np.float32(0.5) * b
    graph.launch()
    assert np.array_equal(x.numpy()[:N], a) and np.array_equal(y.numpy()[:N], b)


def test_the_report_says_what_is_one_loop_and_why_not():
    x, y, at = floats(), floats(), wp.zeros(N, dtype=int)

    def work():
        wp.launch(own, N, inputs=[x, y, 0.5])
        wp.launch(halved, N, inputs=[x])
        wp.launch(next_one, N, inputs=[x, y, 0.5])
        wp.launch(halved, N - 1, inputs=[y])
        wp.launch(added_anywhere, N, inputs=[x, at, y])
        wp.launch(halved, N, inputs=[y])
        y.zero_()

    report = captured(work).report()
    assert [part.kernels for part in report.parts] == [
        ("own", "halved"),
        ("next_one",),
        ("halved",),
        ("added_anywhere",),
        ("halved",),
        (),
    ]
    assert [part.why for part in report.parts] == [
        "",
        "a thread may reach what another one changes (x)",
        "the one before has other threads",
        "its atomics go to elements of other threads",
        "the one before stands by itself: its atomics go to elements of other threads",
        "",
    ]
    assert report.fused == 2
    assert str(report).startswith(
        "6 parts, 6 launches, 2 of them in 1 loop\n  loop over 600 threads, 64 at a time: own, halved\n"
        "  launch over 600 threads: next_one\n    apart: a thread may reach what another one changes (x)\n"
    )


def test_broadcast_elements_are_not_a_threads_own():
    line = wp.array(np.ones(1, dtype=np.float32))
    same = wp.array(ptr=line.ptr, shape=(N,), strides=(0,), dtype=float)
    graph = captured(lambda: [wp.launch(halved, N, inputs=[same]) for _ in range(2)])
    assert graph.report().fused == 0


def test_an_array_that_nobody_writes_is_read_anywhere():
    table, x, at = floats(), floats(), wp.zeros(N, dtype=int)
    graph = captured(lambda: [wp.launch(picked, N, inputs=[table, at, x]) for _ in range(3)])
    assert graph.report().fused == 3


def test_parameters_set_after_the_capture_change_nothing():
    x, y = floats(), floats()
    command = wp.launch(own, N, inputs=[x, y, 0.5], record_cmd=True)
    graph = captured(lambda: [command.launch(), command.launch()])
    graph.launch()
    once = y.numpy().copy()
    y.assign(floats())
    command.set_param_by_name("a", 100.0)
    command.set_dim(3)
    graph.launch()
    assert np.array_equal(y.numpy(), once)


def test_loops_fork_and_keep_their_bits():
    n = 50_000
    x, y = floats(n), floats(n)
    graph = captured(lambda: [wp.launch(k, n, inputs=[x, y, 0.5]) for k in (own, of_lines, own)])
    assert graph.report().fused == 3
    one_by_one(graph)
    expected = y.numpy().copy()
    pool = get_pool()
    pool.always_fork(True)
    try:
        for _ in range(3):
            y.assign(floats(n))
            graph.launch()
            assert np.array_equal(y.numpy(), expected)
    finally:
        pool.always_fork(False)


@wp.kernel
def of_lines(x: Floats, y: Floats, a: float):
    i = wp.tid()
    y[i] = wp.exp(-a * y[i]) + x[i]


def test_python_threads_launch_graphs_of_their_own():
    def work(k, into):
        x, y = floats(5000 + k), floats(5000 + k)
        graph = captured(lambda: [wp.launch(own, 5000, inputs=[x, y, 0.5]) for _ in range(3)])
        for _ in range(20):
            graph.launch()
        into[k] = y.numpy().copy()

    results, expected = {}, {}
    for k in range(3):
        work(k, expected)
    threads = [threading.Thread(target=work, args=(k, results)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(results[k], expected[k]) for k in range(3))


def test_a_training_step_is_fused_with_its_gradients():
    x, y = (wp.array(np.linspace(0.1, 1.0, 9000, dtype=np.float32), requires_grad=True) for _ in range(2))
    z = wp.zeros(9000, dtype=float, requires_grad=True)

    def step():
        with wp.Tape() as tape:
            wp.launch(product, 9000, inputs=[x, y, z])
            wp.launch(product, 9000, inputs=[x, z, y])
        tape.backward(grads={y: wp.ones(9000, dtype=float)})

    graph = captured(step)
    assert max(len(part.kernels) for part in graph.report().parts) >= 2
    one_by_one(graph)
    expected = [a.grad.numpy().copy() for a in (x, y, z)]
    for a in (x, y, z):
        a.grad.zero_()
    y.assign(np.linspace(0.1, 1.0, 9000, dtype=np.float32))
    graph.launch()
    assert all(np.array_equal(a.grad.numpy(), e) for a, e in zip((x, y, z), expected, strict=True))


@wp.kernel
def product(x: Floats, y: Floats, out: Floats):
    i = wp.tid()
    out[i] = wp.sin(x[i]) * y[i]


def test_checked_launches_stay_single():
    wp.config.verify = True
    x = floats()
    report = captured(lambda: [wp.launch(halved, N, inputs=[x]) for _ in range(2)]).report()
    assert report.fused == 0
    assert report.parts[0].why.startswith("more than machine code is to run")


def test_graphs_of_other_devices_report_single_launches():
    x = wp.zeros(4, dtype=float, device="interp")
    graph = captured(lambda: [wp.launch(halved, 4, inputs=[x], device="interp") for _ in range(2)])
    assert [part.kernels for part in graph.report().parts] == [("halved",), ("halved",)]
    graph.launch()
    assert x.numpy().tolist() == [0.375] * 4


def test_branches_of_graphs_are_fused_by_themselves():
    x, go = floats(), wp.array([1], dtype=int)

    def work():
        wp.launch(halved, N, inputs=[x])
        wp.capture_if(go, lambda: [wp.launch(halved, N, inputs=[x]) for _ in range(2)])
        wp.launch(halved, N, inputs=[x])

    graph = captured(work)
    branches = [kept for kept in graph.kept if hasattr(kept, "report")]
    assert [b.report().fused for b in branches] == [2]
    assert [part.what for part in graph.report().parts] == ["launch", "capture_if", "launch"]
    expected = x.numpy().copy()
    for _ in range(4):
        expected[:N] = np.float32(0.5) * expected[:N] + np.float32(0.25)
    graph.launch()
    assert np.array_equal(x.numpy(), expected)

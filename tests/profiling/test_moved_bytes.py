"""Bytes of launches, and how many cores and lanes they have: numbers that the shapes of arrays and the code tell."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.emit.native import native
from warpsim.core.runtime.launches import pool

pytestmark = pytest.mark.cpu
N = 3000


@wp.struct
class Pair:
    a: wp.array(dtype=wp.vec3)
    b: wp.array(dtype=wp.float64)
    k: float


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def update(x: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(s, 0, x[i])


@wp.kernel
def pick(x: wp.array(dtype=float), order: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[order[i]]


@wp.kernel
def fields(p: Pair):
    i = wp.tid()
    p.b[i] = wp.float64(p.a[i][0] * p.k)


@wp.kernel
def grid(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = 1.0


@wp.kernel
def constant(x: wp.array(dtype=float)):
    x[0] = 1.0


@wp.kernel
def trail(x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    for k in range(i % 5):
        y[i, k] = x[i]


def floats(n=N, grad=False):
    return wp.full(n, 1.0, dtype=float, requires_grad=grad)


def profiled(kernel, dim, *args, device="cpu"):
    with wp.profile(print=False) as profile:
        wp.launch(kernel, dim, inputs=list(args), device=device)
    [one] = profile.report.launches
    return one


def pair():
    p = Pair()
    p.a, p.b, p.k = wp.zeros(N, dtype=wp.vec3), wp.zeros(N, dtype=wp.float64), 2.0
    return p


ORDER = np.random.default_rng(0).integers(0, N, N)
CASES = {
    "read and written": (scale, N, lambda: (floats(), floats()), 2 * 4 * N),
    "both": (update, N, lambda: (wp.zeros(N, dtype=wp.vec3),), 2 * 12 * N),
    "an atomic counts twice": (total, N, lambda: (floats(), floats(1)), 4 * N + 2 * 4),
    "as many elements as threads": (scale, 100, lambda: (floats(), floats()), 2 * 4 * 100),
    "all of what is picked from": (pick, 100, lambda: (floats(), wp.array(ORDER, dtype=int), floats()), 4 * N + 800),
    "fields of a struct": (fields, N, lambda: (pair(),), (12 + 8) * N),
    "two dimensions": (grid, (30, 40), lambda: (wp.zeros((30, 40), dtype=float),), 4 * 1200),
    "a view": (scale, N // 2, lambda: (floats()[::2], floats()[::2]), 2 * 4 * (N // 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_bytes_are_the_sizes_of_arrays(case):
    kernel, dim, make, expected = CASES[case]
    assert profiled(kernel, dim, *make()).bytes == expected


def test_the_interpreter_counts_the_same():
    kernel, dim, make, expected = CASES["as many elements as threads"]
    one = profiled(kernel, dim, *(a.to("interp") for a in make()), device="interp")
    assert (one.bytes, one.copy, one.lanes, one.cores) == (expected, 0.0, 0, 1)


def test_bytes_of_several_launches_add_up():
    sizes = (10, 200, 3000)
    with wp.profile(print=False) as profile:
        for n in sizes:
            wp.launch(scale, n, inputs=[floats(n), floats(n)])
    [one] = profile.report.launches
    assert (one.count, one.bytes, one.threads) == (3, 8 * sum(sizes), max(sizes))
    assert one.speed == pytest.approx(one.bytes / one.total) and one.mean == pytest.approx(one.total / 3)


def test_an_adjoint_moves_gradients_too():
    x, y, loss = floats(grad=True), floats(grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, N, inputs=[x, y])
        wp.launch(total, N, inputs=[y, loss])
    with wp.profile(print=False) as profile:
        tape.backward(loss)
    sizes = {one.kernel: one.bytes for one in profile.report.launches}
    assert sizes["scale (adjoint)"] == 4 * N * (2 + 2)  # reads and clears that of y, adds to that of x


# ----- cores and lanes ------------------------------------------------------------------------------


def test_cores_are_those_that_chunks_are_enough_for():
    wp.set_num_threads(2)
    assert profiled(scale, 8, floats(8), floats(8)).cores == 1
    assert profiled(scale, 200_000, floats(200_000), floats(200_000)).cores == 2
    wp.set_num_threads(1)
    assert profiled(scale, 200_000, floats(200_000), floats(200_000)).cores == 1
    assert pool.thread_count() == 1


def test_lanes_or_why_there_are_none():
    order, x, y = wp.array(ORDER, dtype=int), floats(), floats()
    assert (profiled(scale, N, x, y).lanes, profiled(scale, N, x, y).why) == (native.lanes(), "vectors by LLVM")
    alone = profiled(constant, N, x)
    assert (alone.lanes, alone.why) == (1, "its threads do not ask for their index")
    assert profiled(trail, N, x, wp.zeros((N, 5), dtype=float)).why == "it writes in a loop"
    assert profiled(pick, N, x, order, y).lanes == 1
    assert profiled(scale, 50, x, y, device="cpu").lanes == native.lanes()
    wp.config.lanes = "always"
    assert profiled(pick, N, x, order, y).why == "lanes"
    wp.config.verify = True
    assert profiled(scale, N, x, y).why == "indices are checked"

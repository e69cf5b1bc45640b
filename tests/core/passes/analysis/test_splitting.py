"""Threads whose indices count from the end apart from the others, and those near borders: which kernels are split, and
what they compute.

20 random kernels full of tests every day; WARPSIM_ROW_TESTS=1000 runs that many others.
"""

import os
import random
import re

import numpy as np
import pytest
from kernel_text import module
from pass_runs import lowered

import warpsim as wp
from warpsim.core.emit.cpu.cpu import CpuTarget
from warpsim.core.emit.target import Options
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.passes.analysis.splitting import affine_indices, row_tests
from warpsim.core.passes.simplify.dce import dce
from warpsim.core.passes.simplify.fold import fold
from warpsim.core.passes.simplify.inline import inline

Floats, Grid = wp.array(dtype=float), wp.array2d(dtype=float)


@wp.kernel
def left(u: Floats, v: Floats, n: int):
    i = wp.tid()
    v[i] = u[i - 1]


@wp.kernel
def shifted(u: Floats, v: Floats, n: int):
    i = wp.tid()
    v[i] = u[i * 2 + n - 3]


@wp.kernel
def mirrored(u: Floats, v: Floats, n: int):
    i = wp.tid()
    v[i] = u[u.shape[0] - 16 - i - n]


@wp.kernel
def both(u: Floats, v: Floats, n: int):
    i = wp.tid()
    v[i] = u[i - 3] + 10.0 * u[4 - i]


@wp.kernel
def guarded(u: Floats, v: Floats, n: int):
    i = wp.tid()
    if i > 0:
        v[i] = u[i - 1]


@wp.kernel
def from_memory(u: Floats, v: Floats, n: int):
    i = wp.tid()
    v[i] = u[int(v[i])]


def program(kernel):
    return dce(fold(inline(lowered(kernel))))


@pytest.mark.parametrize(
    ("kernel", "split"), [(left, 1), (shifted, 1), (mirrored, 1), (both, 2), (guarded, 0), (from_memory, 0)]
)
def test_which_threads_get_a_loop_of_their_own(kernel, split):
    fn = program(kernel)
    plan = analyse(fn)
    assert sum(index.factor != 0 for index in affine_indices(fn, plan).values()) == split
    text = str(CpuTarget(fn, 1, Options(), plan).module())
    assert loops(text) == (3 if split else 1)
    assert loops(str(CpuTarget(fn, 1, Options(verify=True), plan).module())) == 1


def test_neighbours_behind_a_guard_are_found_in_64_bits():
    """Of 32 bits LLVM asks at run time whether `i - 1` wraps, and takes 0 - 1 for that: no vectors then."""
    fn = program(guarded)
    text = str(CpuTarget(fn, 1, Options(), analyse(fn)).module())
    assert re.search(r'add nsw i64 %"[.\d]+", -1', text)


def loops(text):
    """How many loops over threads a module has."""
    return len(re.findall(r'%"tid[.\d]*" = phi', text))


@pytest.mark.cpu(reason="compares the two devices of the host")
@pytest.mark.parametrize("kernel", [left, shifted, mirrored, both])
@pytest.mark.parametrize("n", [-4, -1, 0, 2])
@pytest.mark.parametrize("threads", [1, 5, 8])
def test_threads_on_either_side_read_the_same_elements(kernel, n, threads):
    u = wp.array(np.arange(20), dtype=float)
    found = {}
    for device in ("cpu", "interp"):
        v = wp.zeros(threads, dtype=float)
        wp.launch(kernel, threads, [u, v, n], device=device)
        found[device] = v.list()
    assert found["cpu"] == found["interp"]
    i = np.arange(threads)
    index = {left: i - 1, shifted: 2 * i + n - 3, mirrored: 4 - i - n}.get(kernel)
    want = u.numpy()[index] if index is not None else u.numpy()[i - 3] + 10 * u.numpy()[4 - i]
    if index is None or np.abs(index).max() < 20:
        assert found["cpu"] == want.tolist()


def test_rows_and_columns():
    @wp.kernel
    def periodic(u: Grid, v: Grid):
        i, j = wp.tid()
        v[i, j] = u[i - 1, j] + 100.0 * u[i, j - 1]

    u, v = np.arange(35, dtype=np.float32).reshape(5, 7), wp.zeros((5, 7), dtype=float)
    wp.launch(periodic, (5, 7), [wp.array(u), v])
    np.testing.assert_array_equal(v.numpy(), np.roll(u, 1, 0) + 100 * np.roll(u, 1, 1))


# ----- tests for borders --------------------------------------------------------------------------------


@wp.kernel
def three_borders(u: Floats, v: Floats, n: int):
    i = wp.tid()
    if i > 0 and i + 1 < u.shape[0] and i <= n - 2:
        v[i] = u[i]


@wp.kernel
def two_borders(u: Floats, v: Floats, n: int):
    i = wp.tid()
    if i > 0 and i < n:
        v[i] = u[i]


@wp.kernel
def no_borders(u: Floats, v: Floats, n: int):
    i = wp.tid()
    if i > 400 and i + n < 7 and i < n + 1 and 2 * i < n and wp.uint32(i) < wp.uint32(3) and i - 20 < 0:
        v[i] = u[i]


@pytest.mark.parametrize(("kernel", "likely"), [(three_borders, [True] * 3), (two_borders, []), (no_borders, [])])
def test_which_tests_are_taken_out_of_the_row(kernel, likely):
    fn = program(kernel)
    plan = analyse(fn)
    assert [test.likely for test in row_tests(fn, plan).values()] == likely
    assert loops(str(CpuTarget(fn, 1, Options(), plan).module())) == (3 if likely else 1)
    assert loops(str(CpuTarget(fn, 1, Options(verify=True), plan).module())) == 1


def random_test(rng):
    """A comparison of an index with a border, of any kind and direction."""
    index = rng.choice(["i", "j", "j", f"(j + {rng.randrange(3)})", f"(j - {rng.randrange(3)})"])
    axis = 0 if index == "i" else 1
    end = rng.choice([f"u.shape[{axis}]", "n", f"(u.shape[{axis}] - {rng.randrange(3)})", f"(n - {rng.randrange(3)})"])
    sides = [index, rng.choice([end, str(rng.randrange(-2, 4))])]
    rng.shuffle(sides)
    return f"{sides[0]} {rng.choice(['<', '<=', '>', '>='])} {sides[1]}"


def random_program(rng):
    head = "@wp.kernel\ndef k(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float), n: int):\n    i, j = wp.tid()"
    lines = [head, "    s = 0.5 * u[i, j]"]
    for number in range(rng.randrange(4, 8)):
        tests = rng.choice([" and ", " or "]).join(random_test(rng) for _ in range(rng.randrange(1, 4)))
        lines.append(f"    if {tests}:\n        s = s * 0.75 + {number + 1}.0")
    return "\n".join([*lines, "    v[i, j] = s", ""])


@pytest.mark.cpu(reason="compares the two devices of the host")
@pytest.mark.assembled_one_in(10)
def test_random_tests_say_what_they_say_without_loops_of_their_own():
    more, split = int(os.environ.get("WARPSIM_ROW_TESTS", "0")), 0
    seeds = range(10_000, 10_000 + more) if more else range(20)
    for seed in seeds:
        rng = random.Random(seed)
        text = random_program(rng)
        kernel = module(text, {"wp": wp})["k"]
        p = kernel.program(tuple(kernel.patterns.values()))
        split += bool(row_tests(p.fn, p.plan))
        for shape, n in (((3, 7), 7), ((2, 70), 65), ((1, 2), -5), ((5, 1), 0)):
            u = np.random.default_rng(seed).random(shape, dtype=np.float32)
            found = {}
            for device in ("cpu", "interp"):
                v = wp.zeros(shape, dtype=float)
                wp.launch(kernel, shape, [wp.array(u), v, n], device=device)
                found[device] = v.numpy()
            assert np.array_equal(found["cpu"], found["interp"]), f"seed {seed}, {shape}, n = {n}\n{text}"
    assert split > 0.5 * len(seeds)


@pytest.mark.cpu(reason="chunks are those of the pool")
def test_chunks_that_begin_inside_a_row():
    @wp.kernel
    def inner(u: Grid, v: Grid):
        i, j = wp.tid()
        if j > 0 and j < u.shape[1] - 1 and j >= 2 and i > 0 and i < u.shape[0] - 1:
            v[i, j] = u[i, j] + 1.0

    u = np.random.default_rng(0).random((70, 1000), dtype=np.float32)
    v = wp.zeros(u.shape, dtype=float)
    wp.launch(inner, u.shape, [wp.array(u), v])
    want = np.zeros_like(u)
    want[1:-1, 2:-1] = u[1:-1, 2:-1] + 1
    assert np.array_equal(v.numpy(), want)

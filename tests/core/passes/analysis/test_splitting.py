"""Threads whose indices count from the end apart from the others: which kernels are split, and what they compute."""

import re

import numpy as np
import pytest
from pass_runs import lowered

import warpsim as wp
from warpsim.core.emit.cpu import CpuTarget
from warpsim.core.emit.target import Options
from warpsim.core.passes.analysis.atomics import analyse
from warpsim.core.passes.analysis.splitting import affine_indices
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

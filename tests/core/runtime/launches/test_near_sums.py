"""Sums into elements near the thread's own: every second chunk runs, then the others, on the array itself."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.core.runtime.launches import pool, private_sums
from warpsim.core.types.array_ref import ArrayRef

pytestmark = pytest.mark.cpu(reason="chunks of CPU launches")

Floats, Grid = wp.array(dtype=float), wp.array(dtype=float, ndim=2)


@wp.kernel
def chain(x: Floats, y: Floats):
    i = wp.tid()
    wp.atomic_add(y, i + 1, 0.1 * x[i])
    wp.atomic_sub(y, i + 3, 0.3 * x[i])
    wp.atomic_add(y, i, x[i] * x[i])


@wp.kernel
def stencil(x: Grid, y: Grid, total: Floats):
    i, j = wp.tid()
    v = x[i, j]
    row = y[i + 2]
    wp.atomic_add(row, j, v)
    wp.atomic_add(y, i, j + 1, 0.1 * v)
    wp.atomic_add(y, 1 + i, x.shape[1] - j, 0.7 * v)
    wp.atomic_add(total, 0, v)


@wp.kernel
def far(x: Floats, y: Floats, at: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(y, i + at[0], x[i])
    wp.atomic_add(y, 2 * i, x[i])


@pytest.fixture(params=[1, 2, 3])
def threads(request, monkeypatch):
    monkeypatch.setattr(private_sums, "LEAST_WORK", 0.0)
    before = pool.get_pool().threads
    wp.set_num_threads(request.param)
    yield request.param
    wp.set_num_threads(before)


numbers = np.random.default_rng(0).random(40_000, dtype=np.float32)
seen = {}


def plan(kernel):
    return kernel.program(tuple(kernel.patterns.values())).plan


def near(kernel):
    """How near the thread's own index the arrays are summed into that are only summed near it."""
    return {ref: use.near for ref, use in plan(kernel).uses.items() if use.near is not None}


@wp.kernel
def ring(x: Floats, y: Floats):
    i = wp.tid()
    wp.atomic_add(y, i - 1, x[i])
    wp.atomic_add(y, i, 0.5 * x[i])


@wp.kernel
def guarded(x: Floats, y: Floats):
    i = wp.tid()
    if i > 0:
        wp.atomic_add(y, i - 1, x[i])


def test_a_sum_from_the_end_is_not_near(threads):
    """Thread 0 adds to the last element, which another chunk has."""
    assert near(ring) == {}
    assert near(guarded) == {ArrayRef(1): 1}
    y = wp.zeros(len(numbers), dtype=float)
    wp.launch(ring, len(numbers), [numbers, y])
    np.testing.assert_allclose(y.numpy(), np.roll(numbers, -1) + 0.5 * numbers, atol=1e-6)
    assert seen.setdefault("ring", y.numpy().tobytes()) == y.numpy().tobytes()


def test_which_sums_are_near():
    assert near(chain) == {ArrayRef(1): 3}
    assert near(stencil) == {ArrayRef(1): 2}
    assert near(far) == {}


def test_a_chain(threads):
    y = wp.zeros(len(numbers) + 3, dtype=float)
    wp.launch(chain, len(numbers), [numbers, y])
    want = np.zeros(len(numbers) + 3)
    want[1:-2] += 0.1 * numbers
    want[3:] -= 0.3 * numbers
    want[:-3] += numbers * numbers
    np.testing.assert_allclose(y.numpy(), want, atol=1e-6)
    assert seen.setdefault("chain", y.numpy().tobytes()) == y.numpy().tobytes()


@pytest.mark.parametrize("shape", [(200, 200), (2, 20_000), (20_000, 2), (7, 3000)])
def test_a_stencil(threads, shape):
    """Of long and of short rows: with two rows nothing can run beside anything."""
    x = numbers[: shape[0] * shape[1]].reshape(shape)
    y, total = wp.zeros((shape[0] + 2, shape[1] + 1), dtype=float), wp.zeros(1, dtype=float)
    wp.launch(stencil, shape, [x, y, total])
    want = np.zeros((shape[0] + 2, shape[1] + 1))
    want[2:, :-1] += x
    want[:-2, 1:] += 0.1 * x
    want[1:-1, 1:] += 0.7 * x[:, ::-1]
    np.testing.assert_allclose(y.numpy(), want, atol=1e-5)
    np.testing.assert_allclose(total.numpy(), x.sum(dtype=np.float64), rtol=1e-5)
    bits = y.numpy().tobytes() + total.numpy().tobytes()
    assert seen.setdefault(shape, bits) == bits


def test_elements_that_share_memory_are_not_near():
    """Every row of the array is one and the same: then the rows of two chunks meet."""
    base = np.zeros(400, np.float32)
    y = wp.array(np.lib.stride_tricks.as_strided(base, (202, 201), (0, 4)), dtype=float, copy=False)
    x = numbers.reshape(200, 200)
    wp.launch(stencil, x.shape, [x, y, wp.zeros(1, dtype=float)])
    want = np.zeros(400)
    want[:200] += x.sum(axis=0)
    want[1:201] += 0.1 * x.sum(axis=0)
    want[1:201] += 0.7 * x[:, ::-1].sum(axis=0)
    np.testing.assert_allclose(base, want, rtol=1e-4)

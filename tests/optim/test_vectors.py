"""Flat views and sums: shared memory, float64 accuracy, independence of threads, NaN that is seen."""

import math

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim.vectors import BLOCK, combine, components, inner, largest, norm

SIZES = (0, 1, 3, 4, 5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_of_every_size(size, dtype):
    rng = np.random.default_rng(size)
    x, y = (rng.standard_normal(size).astype(dtype) for _ in range(2))
    a, b = wp.array(x), wp.array(y)
    exact = math.fsum(x.astype(np.float64) * y.astype(np.float64))
    assert inner(a, b) == pytest.approx(exact, rel=1e-13, abs=1e-12)
    assert norm(a) == pytest.approx(float(np.linalg.norm(x.astype(np.float64))), rel=1e-13)
    assert largest(a) == float(np.abs(x).max(initial=0.0))


def test_a_sum_of_float32_is_not_rounded_to_float32():
    x = wp.full(100_000, 0.1, wp.float32)
    assert inner(x, x) == pytest.approx(100_000 * float(np.float32(0.1)) ** 2, rel=1e-12)


@pytest.mark.parametrize("at", [0, 2, BLOCK + 5, 2 * BLOCK])
def test_the_largest_magnitude_is_nan_if_there_is_one(at):
    x = np.ones(2 * BLOCK + 1, dtype=np.float32)
    x[at] = np.nan
    assert math.isnan(largest(wp.array(x)))
    x[at] = -np.inf
    assert largest(wp.array(x)) == math.inf


def test_sums_do_not_depend_on_threads():
    x = wp.array(np.random.default_rng(0).standard_normal(300_001).astype(np.float32))
    found = set()
    for threads in (1, 2):
        wp.set_num_threads(threads)
        found.add(inner(x, x))
    assert len(found) == 1


def test_components_share_memory_and_gradients():
    x = wp.zeros((2, 3), dtype=wp.vec3, requires_grad=True)
    flat = components(x)
    assert flat.shape == (18,) and flat.dtype is wp.float32
    flat.fill_(2.0)
    assert (x.numpy() == 2.0).all()
    flat.grad.fill_(1.0)
    assert (x.grad.numpy() == 1.0).all()


def test_combinations_may_write_to_their_operands():
    x, y = wp.array([1.0, 2.0]), wp.array([10.0, 20.0])
    combine(x, 2.0, x, -1.0, y)
    assert x.numpy().tolist() == [-8.0, -16.0]
    combine(y, 1.0, x, 0.5, y)
    assert y.numpy().tolist() == [-3.0, -6.0]


def test_what_is_done_here_is_not_recorded():
    """A tape sees these launches no more than it sees NumPy: callers bring their own derivative."""
    x = wp.ones(5000, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        combine(x, norm(x), x, largest(x), x)
    assert tape.records == []

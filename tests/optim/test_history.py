"""The memory of L-BFGS: its direction is that of the two-loop recursion, written down as in the book."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim.history import History
from warpsim.optim.vectors import BLOCK


def two_loops(pairs, gradient):
    """Algorithm 7.4 of Nocedal and Wright 2006, on vectors; returns minus its result."""
    q, alphas = gradient.copy(), []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (y @ s))
        q = q - alphas[-1] * y
    if pairs:
        s, y = pairs[-1]
        q = q * (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + s * (alpha - y @ q / (y @ s))
    return -q


def fill(history, s, y, g):
    history.rows[history.slot].assign(s)
    history.rows[history.pairs + history.slot].assign(y)
    history.gradient.assign(g)
    history.refresh()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize(("dtype", "rtol"), [(wp.float64, 1e-9), (wp.float32, 1e-3)])
def test_directions_are_those_of_the_two_loop_recursion(device, dtype, rtol):
    rng = np.random.default_rng(0)
    size = 2 * BLOCK + 3 if device != "interp" else 20
    history, out = History(size, 4, dtype, device), wp.zeros(size, dtype=dtype, device=device)
    pairs = []
    for _ in range(9):  # more than it keeps
        s, g = rng.standard_normal((2, size)).astype(dtype)
        y = (s * rng.uniform(0.5, 2.0, size)).astype(dtype)
        fill(history, s, y, g)
        assert history.accept()
        pairs = [*pairs, (s.astype(np.float64), y.astype(np.float64))][-4:]
        slope = history.direction(out)
        expected = two_loops(pairs, g.astype(np.float64))
        np.testing.assert_allclose(out.numpy(), expected, rtol=rtol, atol=rtol)
        assert slope == pytest.approx(float(expected @ g), rel=rtol) and slope < 0.0


def test_without_pairs_it_goes_down_the_gradient():
    history, out = History(3, 2, wp.float64, None), wp.zeros(3, dtype=wp.float64)
    history.gradient.assign([1.0, -2.0, 2.0])
    history.refresh()
    assert history.direction(out) == -9.0
    assert out.numpy().tolist() == [-1.0, 2.0, -2.0]


@pytest.mark.parametrize("y", [[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [np.nan, 0.0]])
def test_pairs_without_upward_curvature_are_not_kept(y):
    history = History(2, 3, wp.float64, None)
    fill(history, [1.0, 0.0], [2.0, 0.0], [1.0, 1.0])
    assert history.accept() and history.order == [0]
    fill(history, [1.0, 0.0], y, [1.0, 1.0])
    assert not history.accept()
    assert history.order == [0] and history.slot == 1
    out = wp.zeros(2, dtype=wp.float64)
    if not np.isnan(y).any():
        assert history.direction(out) < 0.0


def test_a_pair_that_is_overwritten_and_refused_is_gone():
    history = History(2, 1, wp.float64, None)
    fill(history, [1.0, 0.0], [2.0, 0.0], [1.0, 1.0])
    assert history.accept()
    fill(history, [1.0, 0.0], [-2.0, 0.0], [1.0, 1.0])
    assert not history.accept() and history.order == []

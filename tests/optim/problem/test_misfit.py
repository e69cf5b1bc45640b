"""Misfits: sums of squares and residuals of arrays, trajectories and grids; their gradients; what is refused."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim import ProblemError, add_squares, set_residuals

KINDS = [(wp.vec3, (5,), 3), (wp.float64, (5,), 1), (wp.vec2d, (5,), 2), (float, (4, 3), 1), (wp.vec3, (2, 3), 3)]


def drawn(shape, dtype, width, seed):
    numbers = np.random.default_rng(seed).normal(size=(*shape, width) if width > 1 else shape)
    return wp.array(numbers, dtype=dtype, requires_grad=True), numbers


@pytest.mark.parametrize("dtype, shape, width", KINDS)
def test_squares_and_their_gradient(dtype, shape, width):
    (a, x), (b, y) = drawn(shape, dtype, width, 0), drawn(shape, dtype, width, 1)
    scalar = wp.float64 if dtype in (wp.float64, wp.vec2d) else wp.float32
    loss = wp.array([1.0], dtype=scalar, requires_grad=True)
    with wp.Tape() as tape:
        add_squares(loss, a, b, 0.25)
    tape.backward(loss)
    assert loss.numpy()[0] == pytest.approx(1.0 + 0.25 * ((x - y) ** 2).sum(), rel=1e-5)
    np.testing.assert_allclose(a.grad.numpy(), 0.5 * (x - y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), -0.5 * (x - y), rtol=1e-5, atol=1e-6)


def test_a_trajectory_is_a_list():
    path, x = zip(*(drawn((4,), wp.vec3, 3, k) for k in range(3)), strict=True)
    measured, y = drawn((3, 4), wp.vec3, 3, 9)
    loss, residuals = wp.zeros(1, dtype=float, requires_grad=True), wp.zeros_like(measured, requires_grad=True)
    with wp.Tape() as tape:
        add_squares(loss, list(path), measured)
        set_residuals(residuals, list(path), measured, 2.0)
    expected = np.array(x) - y
    assert loss.numpy()[0] == pytest.approx((expected**2).sum(), rel=1e-5)
    np.testing.assert_allclose(residuals.numpy(), 2.0 * expected, rtol=1e-5, atol=1e-6)
    tape.backward(grads={residuals: wp.ones_like(measured)})
    np.testing.assert_allclose(path[1].grad.numpy(), 2.0)


@pytest.mark.parametrize(
    "values, targets, text",
    [
        (wp.zeros(3), wp.zeros(4), r"targets are float32\(4,\)"),
        (wp.zeros(3), [1.0], "targets are list"),
        ([wp.zeros(3)], wp.zeros((2, 3)), "1 arrays of values, 2 of targets"),
        (wp.zeros(3, dtype=wp.float64), wp.zeros(3, dtype=wp.float64), r"expected: \(1,\) of float64"),
    ],
)
def test_refusals(values, targets, text):
    with pytest.raises(ProblemError, match=text):
        add_squares(wp.zeros(1, dtype=float), values, targets)


def test_residuals_are_like_targets():
    with pytest.raises(ProblemError, match="expected: an array like the targets"):
        set_residuals(wp.zeros(2, dtype=float), wp.zeros(3, dtype=float), wp.zeros(3, dtype=float))

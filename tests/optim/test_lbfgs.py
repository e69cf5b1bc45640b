"""L-BFGS: known minima, exact accounts of how it went, and ends that are not minima."""

import math

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError, GradientError
from warpsim.optim import LBFGS


def parameter(start, dtype=wp.float64, device=None):
    return wp.array(start, dtype=dtype, device=device, requires_grad=True)


def closure_of(params, loss, gradient):
    """A closure over NumPy functions of the parameters in float64; `closure.calls` counts."""

    def closure():
        closure.calls += 1
        values = [x.numpy().astype(np.float64) for x in params]
        with np.errstate(all="ignore"):
            for x, g in zip(params, gradient(*values), strict=True):
                x.grad.assign(x.grad.numpy() + g)  # adds, as a tape does: gradients must come in zeroed
            return loss(*values)

    closure.calls = 0
    return closure


def rosenbrock(x):
    a, b = x[::2], x[1::2]
    return float((100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2).sum())


def rosenbrock_gradient(x):
    a, b = x[::2], x[1::2]
    g = np.empty_like(x)
    g[::2], g[1::2] = -400.0 * a * (b - a * a) - 2.0 * (1.0 - a), 200.0 * (b - a * a)
    return [g]


@pytest.mark.parametrize("size", [2, 10, 5000])
@pytest.mark.parametrize(("dtype", "atol"), [(wp.float64, 1e-8), (wp.float32, 1e-5)])
def test_rosenbrock(size, dtype, atol):
    x = parameter(np.tile([-1.2, 1.0], size // 2), dtype)
    closure = closure_of([x], rosenbrock, rosenbrock_gradient)
    result = LBFGS([x]).minimize(closure, max_iterations=200)
    np.testing.assert_allclose(x.numpy(), 1.0, atol=atol)
    assert result.converged and result.iterations < 60
    assert result.evaluations == closure.calls
    assert len(result.losses) == result.iterations + 1 and result.losses[-1] == result.loss
    assert (np.diff(result.losses) <= 0.0).all()


@pytest.mark.parametrize("history", [1, 3, 20])
def test_a_quadratic_of_condition_1000(history):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    matrix, goal = turn @ np.diag(np.geomspace(1.0, 1000.0, 40)) @ turn.T, rng.standard_normal(40)
    x = parameter(np.zeros(40))
    closure = closure_of([x], lambda v: 0.5 * (v - goal) @ matrix @ (v - goal), lambda v: [matrix @ (v - goal)])
    result = LBFGS([x], history=history).minimize(closure, max_iterations=2000)
    assert result.reason == "gradient" and result.gradient <= 1e-7
    np.testing.assert_allclose(x.numpy(), goal, atol=1e-6)


def test_parameters_of_several_kinds_are_one_vector():
    a, b, c = parameter(np.zeros(3)), parameter(np.zeros((2, 3)), wp.vec3), parameter(np.zeros((2, 2)), wp.float32)
    goals = [np.arange(3.0), np.full((2, 3), 2.0), np.eye(2)]
    closure = closure_of(
        [a, b, c],
        lambda *v: sum(float((k + 1.0) * ((x - g) ** 2).sum()) for k, (x, g) in enumerate(zip(v, goals, strict=True))),
        lambda *v: [2.0 * (k + 1.0) * (x - g) for k, (x, g) in enumerate(zip(v, goals, strict=True))],
    )
    assert LBFGS([a, b, c]).minimize(closure).converged
    for x, goal in zip((a, b, c), goals, strict=True):
        np.testing.assert_allclose(x.numpy(), goal, atol=1e-6)


def test_runs_on_the_interpreter():
    x = parameter(np.array([-1.2, 1.0]), device="interp")
    assert LBFGS([x], history=3).minimize(closure_of([x], rosenbrock, rosenbrock_gradient)).converged
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-8)


def test_a_loss_on_the_device_is_read():
    x = parameter(np.array([3.0]))

    def closure():
        x.grad.assign(2.0 * x.numpy())
        return wp.array(x.numpy() ** 2)

    result = LBFGS([x]).minimize(closure)
    assert result.converged and isinstance(result.loss, float) and abs(x.numpy()[0]) < 1e-7


def test_what_is_not_finite_is_too_far():
    """x - log(x) ends at a wall of NaN, and the first step jumps over it."""
    x = parameter(np.full(4, 0.3))
    closure = closure_of([x], lambda v: float((v - np.log(v)).sum()), lambda v: [1.0 - 1.0 / v])
    assert LBFGS([x], first_step=100.0).minimize(closure).converged
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-6)


def test_the_callback_sees_every_iteration_and_may_stop():
    x = parameter(np.tile([-1.2, 1.0], 3))
    closure, seen = closure_of([x], rosenbrock, rosenbrock_gradient), []

    def callback(result):
        seen.append((result.iterations, result.loss))
        assert rosenbrock(x.numpy()) == pytest.approx(result.loss, rel=1e-12)
        return result.iterations == 5

    result = LBFGS([x]).minimize(closure, callback=callback)
    assert [k for k, _ in seen] == [1, 2, 3, 4, 5] and result.reason == "callback"
    assert not result.converged and result.losses[1:] == [loss for _, loss in seen]


def test_limits_stop():
    x = parameter(np.tile([-1.2, 1.0], 3))
    closure = closure_of([x], rosenbrock, rosenbrock_gradient)
    result = LBFGS([x]).minimize(closure, max_iterations=3)
    assert (result.reason, result.iterations) == ("iterations", 3)
    result = LBFGS([x]).minimize(closure, max_evaluations=4)
    assert result.reason == "evaluations" and 4 <= result.evaluations < 4 + 25


def test_a_minimum_is_left_alone():
    x = parameter(np.ones(2))
    result = LBFGS([x]).minimize(closure_of([x], rosenbrock, rosenbrock_gradient))
    assert (result.reason, result.iterations, result.evaluations) == ("gradient", 0, 1)
    assert x.numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("loss", "slope", "reason"),
    [
        (lambda v: -float(v.sum()), -1.0, "unbounded"),
        (lambda v: float(v.sum()), -1.0, "flat"),  # the gradient is wrong
        (lambda v: math.nan, 1.0, "not finite"),
        (lambda v: 1.0, math.inf, "not finite"),
    ],
)
def test_ends_that_are_no_minimum(loss, slope, reason):
    x = parameter(np.array([1.0, 2.0]))
    result = LBFGS([x]).minimize(closure_of([x], loss, lambda v: [np.full(2, slope)]))
    assert result.reason == reason and not result.converged
    if reason != "unbounded":
        assert x.numpy().tolist() == [1.0, 2.0]


def test_step_by_step_is_minimize():
    x, y = (parameter(np.tile([-1.2, 1.0], 3)) for _ in range(2))
    optimizer = LBFGS([x])
    losses = [optimizer.step(closure_of([x], rosenbrock, rosenbrock_gradient)) for _ in range(8)]
    result = LBFGS([y]).minimize(closure_of([y], rosenbrock, rosenbrock_gradient), max_iterations=8)
    assert losses == result.losses[1:] and x.numpy().tobytes() == y.numpy().tobytes()


def test_the_same_bits_on_any_number_of_threads():
    ends = []
    for threads in (1, 2):
        wp.set_num_threads(threads)
        x = parameter(np.random.default_rng(1).standard_normal(50_000), wp.float32)
        LBFGS([x]).minimize(closure_of([x], rosenbrock, rosenbrock_gradient), max_iterations=6)
        ends.append(x.numpy().tobytes())
    assert ends[0] == ends[1]


def test_what_does_not_fit_is_refused():
    with pytest.raises(GradientError, match=r"shape \(3,\) has no gradient\nhelp: make it with requires_grad=True"):
        LBFGS([wp.zeros(3, dtype=float)])
    with pytest.raises(ArgumentTypeError, match=r"params\[0\] has dtype int32"):
        LBFGS([wp.zeros(3, dtype=int)])
    with pytest.raises(ValueError, match="0 parameters"):
        LBFGS([])
    with pytest.raises(ValueError, match="history=0"):
        LBFGS([parameter(np.zeros(2))], history=0)
    x = parameter(np.ones(2))
    with pytest.raises(ArrayError, match=r"loss of shape \(2,\)\nexpected: a number, or one element"):
        LBFGS([x]).minimize(lambda: x)

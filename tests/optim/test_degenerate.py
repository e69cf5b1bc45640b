"""Optimisers and solvers where there is nothing to do or nothing to be done: a reason, never an arithmetic error."""

import math
import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.optim import LBFGS, SGD, Adam, linear
from warpsim.optim.solve import REASONS

EXTREMES = [0.0, 1e-320, 1e-200, 1e-30, 1e-22, 1.0, 1e18, 1e30, 1e200, 1e308, math.inf, -math.inf, math.nan]
FLOATS = [wp.float16, wp.float32, wp.float64]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def parameters(dtype, size):
    return wp.array(np.ones(size), dtype=dtype, requires_grad=True)


def rounded(values, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(values, dtype=np.float64).astype(dtype)


class Loss:
    """offset + scale |x|^2 / 2, or, with `wrong`, a constant whose gradient is said to be `scale`."""

    def __init__(self, x, scale, offset, wrong):
        self.x, self.scale, self.offset, self.wrong, self.calls = x, scale, offset, wrong, 0

    def __call__(self):
        self.calls += 1
        at = self.x.numpy().astype(np.float64)
        with np.errstate(all="ignore"):
            self.x.grad.assign(rounded(np.full_like(at, self.scale) if self.wrong else self.scale * at, self.x.dtype))
            return self.offset if self.wrong else float(self.offset + 0.5 * self.scale * np.sum(at * at))


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("tolerance", [1e-7, 0.0])
def test_lbfgs_ends_with_a_reason(dtype, size, wrong, tolerance):
    for scale in EXTREMES:
        x = parameters(dtype, size)
        optimizer = LBFGS([x], tolerance_grad=tolerance, tolerance_loss=tolerance)
        closure = Loss(x, scale, 1.0, wrong)
        for _ in range(3):
            optimizer.step(closure)
        found = optimizer.minimize(closure)
        assert found.reason, scale
        assert np.isfinite(x.numpy()).all(), scale


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_steps_after_the_last_change_nothing_and_call_nothing(offset):
    x = parameters(wp.float32, 3)
    optimizer, closure = LBFGS([x]), Loss(x, 1.0, offset, False)
    found = optimizer.minimize(closure)
    assert found.converged
    calls, losses, kept = closure.calls, list(found.losses), x.numpy().copy()
    assert [optimizer.step(closure) for _ in range(3)] == [found.loss] * 3
    assert (closure.calls, optimizer.result.losses) == (calls, losses)
    np.testing.assert_array_equal(x.numpy(), kept)


def test_steps_after_a_limit_go_on():
    x = parameters(wp.float64, 3)
    optimizer, closure = LBFGS([x], first_step=1e-3), Loss(x, 1.0, 0.0, False)
    found = optimizer.minimize(closure, max_iterations=1)
    assert found.reason == "iterations"
    before = found.loss
    assert optimizer.step(closure) < before
    assert optimizer.result.reason != "iterations"


def test_a_reset_begins_anew_after_convergence():
    x = parameters(wp.float32, 3)
    optimizer, closure = LBFGS([x]), Loss(x, 1.0, 0.0, False)
    optimizer.minimize(closure)
    x.fill_(2.0)
    optimizer.reset_internal_state()
    assert optimizer.step(closure) < 6.0
    np.testing.assert_allclose(x.numpy() < 2.0, True)


SETTINGS = [{"history": 0}, {"history": 2.5}, {"first_step": math.nan}, {"first_step": math.inf}, {"first_step": 0.0}]
SETTINGS += [{"tolerance_grad": math.nan}, {"tolerance_grad": -1.0}, {"tolerance_loss": math.nan}]
SETTINGS += [{"tolerance_loss": -1.0}]


@pytest.mark.parametrize("wrong", SETTINGS, ids=str)
def test_lbfgs_refuses_settings_that_mean_nothing(wrong):
    with pytest.raises(ValueError, match="expected: "):
        LBFGS([parameters(wp.float32, 2)], **wrong)


def test_no_iterations_are_refused():
    x = parameters(wp.float32, 2)
    with pytest.raises(ValueError, match="max_iterations is 0\nexpected: at least 1"):
        LBFGS([x]).minimize(Loss(x, 1.0, 0.0, False), max_iterations=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [SGD, Adam])
@pytest.mark.parametrize("size", [0, 2])
def test_first_order_steps_follow_any_gradient(dtype, kind, size):
    """A gradient of zero moves nothing, one that is not finite shows in the parameters."""
    for value in EXTREMES:
        x = parameters(dtype, size)
        gradient = rounded(np.full(size, value), dtype)
        optimizer = kind([x])
        for _ in range(2):
            optimizer.step([wp.array(gradient, dtype=dtype)])
        if value == 0.0:
            np.testing.assert_array_equal(x.numpy(), 1.0)
        if math.isnan(value):
            assert np.isnan(x.numpy()).all()


def test_adam_without_eps_stays_where_there_is_no_gradient():
    x = parameters(wp.float32, 3)
    optimizer = Adam([x], lr=0.5, eps=0.0)
    optimizer.step([wp.array([0.0, 2.0, math.nan], dtype=float)])
    np.testing.assert_allclose(x.numpy(), [1.0, 0.5, math.nan], rtol=1e-5)


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_an_empty_list_of_parameters_is_no_work_and_none_at_all_an_error(kind):
    kind([]).step([])
    with pytest.raises(TypeError, match="a step without parameters"):
        kind().step([])


# ----- linear solvers ----------------------------------------------------------------------------

METHODS = ["cg", "cr", "bicgstab", "gmres"]


def matrices(size, scale):
    """Diagonal, singular and skew, scaled."""
    with np.errstate(all="ignore"):
        upper = np.triu(np.ones((size, size)), 1)
        found = {"diagonal": np.eye(size), "singular": np.ones((size, size)), "skew": upper - upper.T}
        return {k: np.where(m == 0.0, 0.0, m * scale) for k, m in found.items()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", FLOATS[1:])
@pytest.mark.parametrize("size, guess", [(0, 0.0), (1, 0.0), (3, 0.0), (3, math.nan), (3, 1.0)])
def test_solves_end_with_a_reason_that_is_true(method, dtype, size, guess):
    for scale in EXTREMES:
        for right in EXTREMES[::4]:
            for kind, matrix in matrices(size, scale).items():
                A = wp.array(rounded(matrix, dtype), dtype=dtype)
                b = wp.array(rounded(np.full(size, right), dtype), dtype=dtype)
                x = wp.array(np.full(size, guess), dtype=dtype)
                M = linear.preconditioner(A) if kind == "diagonal" else None
                found = getattr(linear, method)(A, b, x, maxiter=10, M=M)
                assert found.reason in REASONS
                if found.converged:
                    assert np.isfinite(x.numpy()).all()
                    assert found.residual <= found.tolerance
                elif size == 0 or (right == guess == 0.0 and np.isfinite(A.numpy()).all()):
                    raise AssertionError(f"{kind} of {scale}: {found}")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "wrong", [{"tol": math.nan}, {"tol": -1.0}, {"atol": math.nan}, {"atol": math.inf}, {"maxiter": -3}], ids=str
)
def test_solvers_refuse_settings_that_mean_nothing(method, wrong):
    A, b, x = wp.array(np.eye(2), dtype=float), wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    with pytest.raises(ValueError, match="expected: finite and not negative"):
        getattr(linear, method)(A, b, x, **wrong)


def test_preconditioners_of_extreme_diagonals_are_finite():
    A = wp.array(np.diag([0.0, 1e-40, 2.0, -1e38]), dtype=wp.float32)
    d, one = wp.zeros(4, dtype=wp.float32), wp.ones(4, dtype=wp.float32)
    linear.preconditioner(A).matvec(one, d, d, 1.0, 0.0)
    np.testing.assert_allclose(d.numpy(), [1.0, 1.0, 0.5, -1e-38], rtol=1e-5)

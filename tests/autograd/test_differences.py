"""Central differences against known derivatives: in every precision, for small and large numbers, at kinks."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import jacobian_fd
from warpsim.autograd.differences import central_differences
from warpsim.autograd.subjects import subject_of
from warpsim.errors import JacobianError


@wp.kernel
def root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i])


@wp.kernel
def square_sum(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.atomic_add(y, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def magnitude(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.abs(x[i])


def precise(t):
    @wp.kernel
    def wave(x: wp.array(dtype=t), y: wp.array(dtype=t)):
        i = wp.tid()
        y[i] = wp.sin(x[i]) * wp.exp(x[i])

    return wave


def differences(kernel, x, dtype=wp.float32, outputs=None, **options):
    source = wp.array(x, dtype=dtype, requires_grad=True)
    target = wp.zeros(outputs or len(x), dtype=dtype, requires_grad=True)
    return jacobian_fd(kernel, dim=len(x), inputs=[source], outputs=[target], **options)["x", "y"].numpy()


@pytest.mark.parametrize(("dtype", "error"), [(wp.float16, 3e-2), (wp.float32, 1e-3), (wp.float64, 1e-8)])
def test_precisions(dtype, error):
    x = np.linspace(-2.0, 1.5, 7)
    found = differences(precise(dtype), x, dtype)
    wanted = np.diag(np.exp(x) * (np.sin(x) + np.cos(x)))
    np.testing.assert_allclose(found, wanted, rtol=error, atol=error)
    assert found.dtype == (np.float64 if dtype is wp.float64 else np.float32)


def test_small_arguments_get_small_steps():
    x = np.float32([1e-4, 1e-3, 1e-2, 1.0, 100.0])
    np.testing.assert_allclose(np.diag(differences(root, x)), 0.5 / np.sqrt(x), rtol=2e-2)


def test_a_kink_close_by():
    x = np.float32([0.01, -0.003, 2.0])
    np.testing.assert_allclose(np.diag(differences(magnitude, x)), np.sign(x), rtol=1e-3)


def test_a_given_step_is_used_as_it_is():
    found = differences(magnitude, np.float32([0.25]), eps=0.75)
    assert found[0, 0] == pytest.approx((1.0 - 0.5) / 1.5)


@pytest.mark.parametrize("eps", [0.0, -1e-3, float("nan")])
def test_a_step_that_is_none(eps):
    with pytest.raises(JacobianError, match=r"eps is .*\nexpected: a positive step"):
        differences(magnitude, np.float32([0.25]), eps=eps)


def test_columns_that_were_not_evaluated_are_nan():
    found = differences(root, np.float32([1.0, 4.0, 9.0]), max_inputs_per_var=2)
    assert np.isnan(found[:, 2]).all() and not np.isnan(found[:, :2]).any()


def test_outputs_start_from_the_same_contents_every_time():
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.array([10.0], dtype=float, requires_grad=True)
    found = jacobian_fd(square_sum, dim=2, inputs=[x], outputs=[y])
    np.testing.assert_allclose(found["x", "y"].numpy(), [[2.0, 4.0]], rtol=1e-3)
    np.testing.assert_array_equal(y.numpy(), [10.0])


@wp.kernel
def offset_sine(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 1.0e6 + wp.sin(10.0 * x[i])


def test_the_estimated_error_covers_what_rounding_hides():
    x = wp.array(np.linspace(-1.0, 1.0, 40), dtype=float, requires_grad=True)
    subject = subject_of(offset_sine, 40, [x], [wp.zeros(40, dtype=float, requires_grad=True)], {})
    found = central_differences(subject, [("x", "y")], -1, None)["x", "y"]
    error = np.abs(np.diag(found.values) - 10.0 * np.cos(10.0 * x.numpy()))
    assert (error <= np.diag(found.errors)).all() and error.max() > 0.1
    assert not (found.values - np.diag(np.diag(found.values))).any()

"""Operators of arrays on the host: against NumPy, on tapes, of views and index tables, with everything they meet."""

import operator

import numpy as np
import pytest

import warpsim as wp

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]


def numbers(seed, shape=(5,)):
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(np.float32)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (0,)], ids=str)
def test_operators_of_arrays_and_numbers_are_those_of_numpy(op, shape):
    x, y = numbers(1, shape), numbers(2, shape)
    a, b = wp.array(x, dtype=float), wp.array(y, dtype=float)
    for found, wanted in ((op(a, b), op(x, y)), (op(a, 1.5), op(x, np.float32(1.5))), (op(3, a), op(np.float32(3), x))):
        assert isinstance(found, wp.array)
        assert found.dtype is wp.float32
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_remainders_and_quotients_of_integers_are_those_of_kernels():
    a = wp.array([7, -7, 8], dtype=int)
    assert (a % 3).list() == [1, -1, 2]
    assert (a // 2).list() == [3, -4, 4]
    assert (a / 2).list() == [3, -3, 4]
    assert (100 - a).list() == [93, 107, 92]
    assert (-a).list() == [-7, 7, -8]
    assert (+a).list() == a.list()


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
def test_in_place_operators_write_the_same_memory(op):
    x, y = numbers(3), numbers(4)
    a = wp.array(x, dtype=float)
    view = a[1:4]
    again = op(view, wp.array(y[1:4], dtype=float))
    assert again is view
    np.testing.assert_allclose(a.numpy()[1:4], op(x[1:4].copy(), y[1:4]), rtol=1e-6)
    assert a.numpy()[0] == x[0]


def test_vectors_and_matrices_are_scaled_summed_and_applied():
    x = numbers(5, (4, 3))
    v = wp.array(x, dtype=wp.vec3)
    np.testing.assert_allclose((2 * v + v / 2).numpy(), 2.5 * x, rtol=1e-6)
    np.testing.assert_allclose((v - wp.vec3(1.0, 2.0, 3.0)).numpy(), x - np.float32([1, 2, 3]), rtol=1e-6)
    np.testing.assert_allclose((wp.vec3(1.0, 2.0, 3.0) - v).numpy(), np.float32([1, 2, 3]) - x, rtol=1e-6)
    m = wp.mat33(*range(9))
    np.testing.assert_allclose((m * v).numpy(), x @ np.arange(9, dtype=np.float32).reshape(3, 3).T, rtol=1e-6)
    np.testing.assert_allclose((wp.vec3(1.0, 2.0, 3.0) * wp.ones(2, dtype=float)).numpy(), [[1, 2, 3]] * 2)


def test_shapes_are_broadcast():
    x, y = numbers(6, (3, 4)), numbers(7, (4,))
    np.testing.assert_allclose((wp.array(x, dtype=float) * wp.array(y, dtype=float)).numpy(), x * y, rtol=1e-6)
    with pytest.raises(wp.errors.ArrayError, match="shape"):
        row = wp.array(y, dtype=float)
        row += wp.array(x, dtype=float)


def test_gradients_pass_through_every_form():
    x, y = numbers(8), numbers(9)
    a, b = (wp.array(z, dtype=float, requires_grad=True) for z in (x, y))
    with wp.Tape() as tape:
        c = (2.0 * a - b) / b + a**2.0
        c *= a
        c[1:3] *= 3.0
        c += 1.0
    assert c.requires_grad
    tape.backward(grads={c: wp.ones(5, dtype=float)})
    weight = np.float32([1, 3, 3, 1, 1])
    np.testing.assert_allclose(a.grad.numpy(), weight * (4 * x / y - 1 + 3 * x**2), rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), weight * -2 * x * x / y**2, rtol=1e-5)


def test_results_require_gradients_as_operands_do():
    a, b = wp.ones(3, dtype=float), wp.ones(3, dtype=float, requires_grad=True)
    assert not (a + a).requires_grad
    assert (a + b).requires_grad
    assert (b + a).requires_grad


def test_index_tables_read_and_write_what_they_pick():
    a = wp.array(np.arange(5), dtype=float, requires_grad=True)
    picked = a[[0, 3]]
    assert (picked * 2).list() == [0.0, 6.0]
    picked += 10.0
    assert a.list() == [10.0, 1.0, 2.0, 13.0, 4.0]
    with wp.Tape() as tape:
        twice = picked + picked
    tape.backward(grads={twice: wp.ones(2, dtype=float)})
    assert a.grad.list() == [2.0, 0.0, 0.0, 2.0, 0.0]


def test_strided_views_are_operands_like_others():
    x = numbers(10, (4, 6))
    a = wp.array(x, dtype=float)
    np.testing.assert_allclose((a[:, 1::2] + a[:, ::2]).numpy(), x[:, 1::2] + x[:, ::2], rtol=1e-6)
    np.testing.assert_allclose((a.T - 1.0).numpy(), x.T - 1, rtol=1e-6)


def test_arrays_of_numpy_on_the_right_are_read_and_those_on_the_left_calculate_themselves():
    a = wp.ones(3, dtype=float)
    assert isinstance(a + np.ones(3, np.float32), wp.array)
    assert isinstance(np.ones(3, np.float32) + a, np.ndarray)


@pytest.mark.parametrize("other", [None, "text", [1.0, 2.0], wp.array([1, 2], dtype=int), np.float64(2)], ids=str)
def test_types_that_do_not_fit_are_refused(other):
    with pytest.raises((TypeError, wp.errors.KernelError)):
        wp.ones(2, dtype=float) + other


def test_captured_arithmetic_is_replayed():
    a, out = wp.ones(3, dtype=float), wp.zeros(3, dtype=float)
    with wp.ScopedCapture() as capture:
        out += a
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert out.list() == [2.0] * 3


def test_forward_derivatives_of_arithmetic():
    a = wp.array([3.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        cube = a * a * a
    tangents = wp.autograd.jvp(tape, tangents={a: [1.0]})
    assert tangents[cube].list() == [27.0]


@pytest.mark.parametrize("device", ["interp"])
def test_results_are_on_the_device_of_the_operands(device):
    a = wp.array([1.0, 2.0], dtype=float, device=device)
    found = 2 * a + a
    assert str(found.device) == device
    assert found.list() == [3.0, 6.0]

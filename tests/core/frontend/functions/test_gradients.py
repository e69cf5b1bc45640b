"""Gradients and replays that users wrote: which function uses them, at which types, and from when on."""

from typing import Any

import numpy as np
import pytest
from custom_gradient_runs import array, backward

import warpsim as wp

DEVICES = ("interp", "cpu")
Floats = wp.array(dtype=float)


# ----- the examples of the documents ----------------------------------------------------------


@wp.func
def safe_sqrt(x: float):
    return wp.sqrt(x)


@wp.func_grad(safe_sqrt)
def adj_safe_sqrt(x: float, adj_ret: float):
    if x > 0.0:
        wp.adjoint[x] += 1.0 / (2.0 * wp.sqrt(x)) * adj_ret


@wp.kernel
def run_safe_sqrt(xs: Floats, output: Floats):
    i = wp.tid()
    output[i] = safe_sqrt(xs[i])


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_replaces_the_derived_one(device):
    xs, ys = array([1.0, 2.0, 0.0], device=device), array(np.zeros(3), device=device)
    backward(run_safe_sqrt, 3, [xs], [ys], device=device)
    np.testing.assert_allclose(ys.numpy(), [1.0, 2.0**0.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(xs.grad.numpy(), [0.5, 0.5 / 2.0**0.5, 0.0], rtol=1e-6)


@wp.func
def reversible_increment(
    buf: wp.array(dtype=int), buf_index: int, value: int, thread_values: wp.array(dtype=int), tid: int
):
    next_index = wp.atomic_add(buf, buf_index, value)
    thread_values[tid] = next_index
    return next_index


@wp.func_replay(reversible_increment)
def replay_reversible_increment(
    buf: wp.array(dtype=int), buf_index: int, value: int, thread_values: wp.array(dtype=int), tid: int
):
    return thread_values[tid]


@wp.kernel
def compacted(counter: wp.array(dtype=int), ids: wp.array(dtype=int), values: Floats, output: Floats):
    tid = wp.tid()
    idx = reversible_increment(counter, 0, 1, ids, tid)
    output[idx] = wp.sqrt(values[idx])


@pytest.mark.parametrize("device", DEVICES)
def test_a_replay_runs_instead_of_the_function(device):
    values, output = array(np.arange(1.0, 9.0), device=device), array(np.zeros(8), device=device)
    counter, ids = array([0], int, False, device), array(np.zeros(8), int, False, device)
    backward(compacted, 8, [counter, ids, values], [output], device=device)
    assert counter.numpy().tolist() == [8]
    assert sorted(ids.numpy().tolist()) == list(range(8))
    np.testing.assert_allclose(values.grad.numpy(), 0.5 / np.sqrt(np.arange(1.0, 9.0)), rtol=1e-6)


@wp.func
def claimed(counter: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int, x: float):
    slot = wp.atomic_add(counter, 0, 1)
    slots[tid] = slot
    return x * x, slot


@wp.func_replay(claimed)
def replay_claimed(counter: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int, x: float):
    return x * x, slots[tid]


@wp.func_grad(claimed)
def adj_claimed(
    counter: wp.array(dtype=int), slots: wp.array(dtype=int), tid: int, x: float, adj_square: float, adj_slot: int
):
    wp.adjoint[x] += 3.0 * x * adj_square


@wp.kernel
def claim(counter: wp.array(dtype=int), slots: wp.array(dtype=int), x: Floats, weights: Floats, out: Floats):
    i = wp.tid()
    square, slot = claimed(counter, slots, i, x[i])
    out[slot] = square * weights[slot]


@pytest.mark.parametrize("device", DEVICES)
def test_a_function_may_have_both_a_gradient_and_a_replay(device):
    x, weights, out = (array(v, device=device) for v in ([1.0, 2.0, 3.0], [1.0, 10.0, 100.0], np.zeros(3)))
    counter, slots = array([0], int, False, device), array(np.zeros(3), int, False, device)
    backward(claim, 3, [counter, slots, x, weights], [out], device=device)
    taken = slots.numpy()
    assert counter.numpy().tolist() == [3]
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * x.numpy() * weights.numpy()[taken])
    np.testing.assert_allclose(weights.grad.numpy()[taken], x.numpy() ** 2)


# ----- which gradient is used: checked through wp.grad --------------------------------------------


def test_several_outputs_have_an_adjoint_each():
    @wp.func
    def f(x: float, n: int):
        return x, n, wp.vec2(x, x)

    @wp.func_grad(f)
    def _(x: float, n: int, adj_x: float, adj_n: int, adj_v: wp.vec2):
        wp.adjoint[x] += 2.0 * adj_x + 3.0 * adj_v[0] + 5.0 * adj_v[1] + float(adj_n)

    assert wp.grad(f)(1.0, 2)[0] == 10.0
    assert wp.grad(f)(1.0, 2, 1.0, wp.vec2(0.0, 10.0))[0] == 52.0


def test_a_generic_gradient_serves_every_type():
    @wp.func
    def f(x: Any, y: Any):
        return wp.dot(x, y)

    @wp.func_grad(f)
    def _(x: Any, y: Any, adj: Any):
        wp.adjoint[x] += y * adj * x.dtype(10.0)

    for t in (wp.vec3, wp.vec2d):
        ones = t(*[1.0] * t.size)
        x, y = wp.grad(f)(ones, ones)
        assert type(x) is t
        assert tuple(x) == (10.0,) * t.size
        assert tuple(y) == (0.0,) * t.size


def test_every_overload_takes_the_gradient_that_fits():
    @wp.func
    def g(x: float):
        return x

    @wp.func(overload_of=g)
    def _(x: wp.vec2):
        return x

    @wp.func(overload_of=g)
    def _(x: wp.float64):
        return x

    @wp.func_grad(g)
    def _(x: float, adj: float):
        wp.adjoint[x] += 2.0 * adj

    @wp.func_grad(g)
    def _(x: wp.vec2, adj: wp.vec2):
        wp.adjoint[x] += 3.0 * adj

    assert wp.grad(g)(1.0) == 2.0
    assert tuple(wp.grad(g)(wp.vec2(1.0, 1.0))) == (3.0, 3.0)
    assert wp.grad(g)(wp.float64(1.0)) == 1.0  # derived


def test_of_a_generic_and_an_exact_gradient_the_exact_one_is_taken():
    @wp.func
    def f(x: Any):
        return x

    @wp.func_grad(f)
    def _(x: float, adj: float):
        wp.adjoint[x] += 2.0 * adj

    @wp.func_grad(f)
    def _(x: Any, adj: Any):
        wp.adjoint[x] += adj * x

    assert wp.grad(f)(5.0) == 2.0
    assert wp.grad(f)(wp.float64(5.0)) == 5.0


def test_factories_make_functions_with_gradients_of_their_own():
    def made(k):
        @wp.func
        def f(x: float):
            return x

        @wp.func_grad(f)
        def _(x: float, adj: float):
            wp.adjoint[x] += k * adj

        return f

    first, second = made(2.0), made(3.0)
    assert (wp.grad(first)(1.0), wp.grad(second)(1.0)) == (2.0, 3.0)


# ----- second derivatives ---------------------------------------------------------------------


def test_a_gradient_is_differentiated_again():
    @wp.func
    def softplus(x: wp.float64):
        return wp.log(wp.float64(1.0) + wp.exp(x))

    @wp.func
    def sigmoid(x: wp.float64):
        return wp.float64(1.0) / (wp.float64(1.0) + wp.exp(-x))

    @wp.func_grad(softplus)
    def _(x: wp.float64, adj: wp.float64):
        wp.adjoint[x] += sigmoid(x) * adj

    @wp.func
    def slope(x: wp.float64):
        return wp.grad(softplus)(x)

    s = 1.0 / (1.0 + np.exp(-0.7))
    np.testing.assert_allclose(wp.grad(softplus)(wp.float64(0.7)), s, rtol=1e-14)
    np.testing.assert_allclose(wp.grad(slope)(wp.float64(0.7)), s * (1 - s), rtol=1e-13)


# ----- declared after a launch ----------------------------------------------------------------


def test_a_gradient_declared_after_a_backward_pass_counts_from_then_on():
    @wp.func
    def root(x: float):
        return wp.sqrt(x)

    @wp.kernel
    def k(x: Floats, y: Floats):
        i = wp.tid()
        y[i] = root(x[i])

    def slope_at_zero():
        x, y = array([0.0]), array([0.0])
        backward(k, 1, [x], [y])
        return x.grad.numpy()[0]

    assert np.isinf(slope_at_zero())

    @wp.func_grad(root)
    def _(x: float, adj: float):
        if x > 0.0:
            wp.adjoint[x] += 0.5 / wp.sqrt(x) * adj

    assert slope_at_zero() == 0.0


def test_a_later_declaration_replaces_one_with_the_same_parameters():
    @wp.func
    def f(x: float):
        return x

    for k in (2.0, 3.0):

        @wp.func_grad(f)
        def _(x: float, adj: float):
            wp.adjoint[x] += k * adj  # noqa: B023

        assert wp.grad(f)(1.0) == k


def test_a_launch_without_backward_translates_no_gradient():
    @wp.func
    def f(x: float):
        return x + 1.0

    @wp.func_grad(f)
    def _(x: float, adj: float):
        wp.adjoint[x] += no_such_name  # noqa: F821

    @wp.kernel
    def k(y: Floats):
        y[0] = f(y[0])

    y = array([1.0], grad=False)
    wp.launch(k, dim=1, inputs=[y])
    with wp.Tape():
        wp.launch(k, dim=1, inputs=[y])
    assert y.numpy().tolist() == [3.0]
    with pytest.raises(NameError, match="no_such_name"):
        wp.grad(f)(1.0)

"""Fourteen small programs of the kind that other systems differentiate wrongly without a word.

Loops with carried products, `break` and `continue`, nested loops, in-place updates, re-assigned components,
overwritten arrays: each has a gradient that follows by hand, and each is also measured by differences.
"""

import numpy as np
import pytest
from gradient_runs import assert_gradient, by_tape, f64, ints, new_loss

import warpsim as wp
from warpsim.errors import TapeOverwriteError

Numbers = wp.array(dtype=wp.float64)


def launched(kernel, dim=1):
    """The program that launches `kernel` once on its inputs and the loss."""

    def program(*arrays):
        loss = new_loss()
        wp.launch(kernel, dim=dim, inputs=[*arrays, loss])
        return loss

    return program


# ----- loops ------------------------------------------------------------------------------


@wp.kernel
def product_loop(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    p = wp.float64(1.0)
    for i in range(n[0]):
        p *= x[i]
    wp.atomic_add(loss, 0, p)


def test_product_in_a_dynamic_loop(device):
    assert_gradient(launched(product_loop), [f64(2.0, 2.0, 2.0), ints(3)], [[4.0, 4.0, 4.0]])


@wp.kernel
def value_from_before_the_loop(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    square = x[0] * x[0]
    total = wp.float64(0.0)
    for _ in range(n[0]):
        total += x[0]
    wp.atomic_add(loss, 0, square * total)


def test_value_from_before_a_loop_used_after_it(device):
    # n x^3, so 3 n x^2
    assert_gradient(launched(value_from_before_the_loop), [f64(2.0), ints(3)], [[36.0]])


@wp.func
def inverse_of_sum(x: Numbers, n: int):
    total = wp.float64(0.0)
    for i in range(n):
        total += x[i]
    return wp.float64(1.0) / total


@wp.kernel
def nonlinear_after_loop(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    wp.atomic_add(loss, 0, inverse_of_sum(x, n[0]))


def test_nonlinear_operation_after_the_loop_of_a_function(device):
    assert_gradient(launched(nonlinear_after_loop), [f64(1.0, 5.0, 2.0), ints(3)], [[-1.0 / 64.0] * 3])


@wp.kernel
def squares_while_small(x: Numbers, loss: Numbers):
    v = x[0]
    while v < 100.0:
        v = v * v
    wp.atomic_add(loss, 0, v)


def test_while_loop_that_squares(device):
    # 2, 4, 16, 256 = x^8
    assert_gradient(launched(squares_while_small), [f64(2.0)], [[1024.0]])


@wp.kernel
def first_times_largest(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    largest = x[0]
    for i in range(1, n[0]):
        if x[i] <= largest:
            continue
        largest = x[i]
    wp.atomic_add(loss, 0, x[0] * largest)


@pytest.mark.parametrize("x, expected", [((1.0, 5.0), (5.0, 1.0)), ((1.0, 5.0, 3.0, 4.0), (5.0, 1.0, 0.0, 0.0))])
def test_largest_element_with_continue(device, x, expected):
    assert_gradient(launched(first_times_largest), [f64(*x), ints(len(x))], [expected])


@wp.kernel
def power_until_five(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    p = wp.float64(1.0)
    for _ in range(n[0]):
        p *= x[0]
        if p > 5.0:
            break
    wp.atomic_add(loss, 0, p)


def test_power_with_break(device):
    # 3, 9 = x^2
    assert_gradient(launched(power_until_five), [f64(3.0), ints(12)], [[6.0]])


@wp.kernel
def sum_of_products(x: Numbers, n: wp.array(dtype=int), loss: Numbers):
    total = wp.float64(0.0)
    for _ in range(n[0]):
        p = wp.float64(1.0)
        for j in range(n[1]):
            p *= x[j]
        total += p
    wp.atomic_add(loss, 0, total)


def test_nested_dynamic_loops(device):
    assert_gradient(launched(sum_of_products), [f64(2.0, 3.0), ints(4, 2)], [[12.0, 8.0]])


# ----- updates in place --------------------------------------------------------------------


@wp.kernel
def scale_in_place(a: Numbers, b: Numbers):
    i = wp.tid()
    a[i] *= b[i]


@wp.kernel
def square_in_place(a: Numbers):
    i = wp.tid()
    a[i] = a[i] * a[i]


@wp.kernel
def add_up(a: Numbers, loss: Numbers):
    wp.atomic_add(loss, 0, a[wp.tid()])


def test_element_multiplied_in_place(device):
    def program(a, b):
        work, loss = wp.clone(a, requires_grad=a.requires_grad), new_loss()
        wp.launch(scale_in_place, dim=1, inputs=[work, b])
        wp.launch(add_up, dim=1, inputs=[work, loss])
        return loss

    assert_gradient(program, [f64(3.0), f64(5.0)], [[5.0], [3.0]])


@pytest.mark.parametrize("copied", [False, True])
def test_element_squared_in_place(device, copied):
    """With or without a copy between: `a.grad` is that of what `a` held first."""

    def program(a):
        work, loss = wp.clone(a, requires_grad=a.requires_grad) if copied else a, new_loss()
        wp.launch(square_in_place, dim=3, inputs=[work])
        wp.launch(add_up, dim=3, inputs=[work, loss])
        return loss

    assert_gradient(program, [f64(1.0, 2.0, 3.0)], [[2.0, 4.0, 6.0]])


@wp.kernel
def square(x: Numbers, loss: Numbers):
    wp.atomic_add(loss, 0, x[0] * x[0])


@wp.kernel
def set_to_hundred(x: Numbers):
    x[wp.tid()] = wp.float64(100.0)


CHANGES = {
    "assign": lambda x: x.assign(np.array([100.0])),
    "fill_": lambda x: x.fill_(100.0),
    "zero_": lambda x: x.zero_(),
    "copy": lambda x: wp.copy(x, wp.array([100.0], dtype=wp.float64)),
    "launch": lambda x: wp.launch(set_to_hundred, dim=1, inputs=[x]),
    "launch through a view": lambda x: wp.launch(set_to_hundred, dim=1, inputs=[x[0:1]]),
    "numpy": lambda x: x.numpy().__setitem__(0, 100.0),
}


@pytest.mark.parametrize("change", [pytest.param(c, marks=[pytest.mark.cpu] * (c == "numpy")) for c in CHANGES])
def test_input_changed_after_recording_is_an_error(device, change):
    """Never 200: the gradient belongs to the 3 that the forward launch read."""
    x = wp.array([3.0], dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        loss = new_loss()
        wp.launch(square, dim=1, inputs=[x, loss])
    CHANGES[change](x)
    with pytest.raises(TapeOverwriteError):
        tape.backward(loss)


def test_input_left_alone_has_its_gradient(device):
    assert_gradient(launched(square), [f64(3.0)], [[6.0]])


@wp.kernel
def step(x: Numbers, v: Numbers, dt: wp.float64):
    i = wp.tid()
    v[i] = v[i] - dt * wp.sin(x[i]) * x[i]
    x[i] = x[i] + dt * v[i]


def integrated_by_hand(x, v, dt, steps):
    """Loss `sum x^2` after the steps, and its gradients for x and v, by carrying derivatives along."""
    xx, xv, vx, vv = np.ones_like(x), np.zeros_like(x), np.zeros_like(x), np.ones_like(x)
    for _ in range(steps):
        slope = np.sin(x) + x * np.cos(x)
        v, vx, vv = v - dt * np.sin(x) * x, vx - dt * slope * xx, vv - dt * slope * xv
        x, xx, xv = x + dt * v, xx + dt * vx, xv + dt * vv
    return [2.0 * x * xx, 2.0 * x * xv]


@wp.kernel
def add_up_squares(a: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, a[i] * a[i])


def test_integrator_that_reuses_its_state(device):
    def program(x, v):
        loss = new_loss()
        for _ in range(3):
            wp.launch(step, dim=2, inputs=[x, v, 0.5])
        wp.launch(add_up_squares, dim=2, inputs=[x, loss])
        return loss

    x, v = f64(1.0, 2.0), f64(0.5, -0.25)
    assert_gradient(program, [x, v], integrated_by_hand(x[0], v[0], 0.5, 3))


# ----- parts of values, structs and sums ----------------------------------------------------


@wp.kernel
def component_twice(x: Numbers, loss: Numbers):
    v = wp.vec3d()
    v[0] = x[0]
    v[0] = v[0] * x[0] + x[0]
    wp.atomic_add(loss, 0, v[0])


def test_component_assigned_again(device):
    # x^2 + x
    assert_gradient(launched(component_twice), [f64(3.0)], [[7.0]])


@wp.struct
class Particle:
    mass: wp.float64
    position: wp.vec3d


@wp.kernel
def write_fields(x: Numbers, particles: wp.array(dtype=Particle)):
    i = wp.tid()
    particles[i].mass = x[i] * x[i]
    particles[i].position = wp.vec3d(x[i], wp.float64(1.0), x[i] * x[i] * x[i])


@wp.kernel
def read_fields(particles: wp.array(dtype=Particle), loss: Numbers):
    p = particles[wp.tid()]
    wp.atomic_add(loss, 0, p.mass + p.position[2] * p.position[0])


def test_fields_of_an_array_of_structs(device):
    def program(x):
        loss = new_loss()
        particles = wp.zeros(3, dtype=Particle, requires_grad=True)
        wp.launch(write_fields, dim=3, inputs=[x, particles])
        wp.launch(read_fields, dim=3, inputs=[particles, loss])
        return loss

    # x^2 + x^4
    assert_gradient(program, [f64(1.0, 2.0, -1.0)], [[6.0, 36.0, -6.0]])


@wp.kernel
def weighted_sum(x: Numbers, w: Numbers, loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, w[i] * x[i] * x[i])


def test_sum_by_atomic_add(device):
    x, w = f64(1.0, 2.0, 3.0), f64(1.0, 10.0, 100.0)
    assert_gradient(launched(weighted_sum, dim=3), [x, w], [[2.0, 40.0, 600.0], [1.0, 4.0, 9.0]])


def test_the_loss_itself_is_not_disturbed(device):
    value, _ = by_tape(launched(weighted_sum, dim=3), [f64(1.0, 2.0, 3.0), f64(1.0, 10.0, 100.0)])
    assert value == 941.0

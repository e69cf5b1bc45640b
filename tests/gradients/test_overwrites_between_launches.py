"""Gradients through launches that overwrite what earlier ones read: ping-pong, scratch, copies, views, extremes.

Each case is measured by differences.
"""

import numpy as np
import pytest
from element_updates import in_place, multiply, several_updates, weigh
from gradient_runs import assert_gradient, compound, f64, new_loss, random_f64

import warpsim as wp

Numbers = wp.array(dtype=wp.float64)


@wp.kernel
def smooth_into(a: Numbers, b: Numbers):
    i = wp.tid()
    n = a.shape[0]
    b[i] = a[i] * wp.sin(a[(i + 1) % n]) + 0.1 * a[(i + n - 1) % n]


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_ping_pong(device, steps):
    def program(a):
        b = wp.zeros_like(a)
        loss = new_loss()
        for _ in range(steps):
            wp.launch(smooth_into, dim=5, inputs=[a, b])
            a, b = b, a
        wp.launch(weigh, dim=5, inputs=[a, loss])
        return loss

    assert_gradient(program, [random_f64(4, 5)])


def test_scratch_that_is_reused(device):
    def program(a):
        scratch = wp.zeros_like(a)
        loss = new_loss()
        for _ in range(3):
            scratch.zero_()
            wp.launch(smooth_into, dim=5, inputs=[a, scratch])
            wp.launch(multiply, dim=5, inputs=[a, scratch])
        wp.launch(weigh, dim=5, inputs=[a, loss])
        return loss

    a, dtype = random_f64(4, 5)
    assert_gradient(program, [(a * 0.6, dtype)])


def test_copies_over_what_was_read(device):
    def program(a, b):
        loss = new_loss()
        wp.launch(multiply, dim=5, inputs=[a, b])
        kept = wp.clone(a, requires_grad=a.requires_grad)
        wp.copy(a, b)
        wp.launch(multiply, dim=5, inputs=[a, kept])
        b.assign(a)
        a.fill_(0.5)
        wp.launch(multiply, dim=5, inputs=[a, b])
        wp.launch(weigh, dim=5, inputs=[a, loss])
        return loss

    assert_gradient(program, [random_f64(4, 5), random_f64(5, 5)])


def test_one_array_as_two_arguments(device):
    def program(a):
        loss = new_loss()
        wp.launch(multiply, dim=5, inputs=[a, a])
        wp.launch(several_updates, dim=5, inputs=[a, a])
        wp.launch(weigh, dim=5, inputs=[a, loss])
        return loss

    a, dtype = random_f64(4, 5)
    assert_gradient(program, [(a * 0.6, dtype)])


def test_views_of_one_array(device):
    """The halves of an array, and the array: they share memory and gradient."""

    def program(a):
        loss = new_loss()
        wp.launch(multiply, dim=3, inputs=[a[0:3], a[3:6]])
        wp.launch(smooth_into, dim=2, inputs=[a[4:6], a[0:2]])
        wp.launch(multiply, dim=2, inputs=[a[::3], a[1::3]])
        wp.launch(weigh, dim=6, inputs=[a, loss])
        return loss

    assert_gradient(program, [random_f64(4, 6)])


@wp.kernel
def move(x: wp.array(dtype=wp.vec3d), v: wp.array(dtype=wp.vec3d), dt: wp.float64):
    i = wp.tid()
    v[i] = v[i] * 0.99 - x[i] * wp.length_sq(x[i]) * dt
    x[i] += v[i] * dt
    if x[i][1] < 0.0:
        x[i].y = -x[i].y * 0.5
        v[i][1] *= -0.5


@wp.kernel
def weigh_vectors(x: wp.array(dtype=wp.vec3d), loss: Numbers):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i] - wp.vec3d(wp.float64(i), wp.float64(0.5), wp.float64(0.1))))


def test_particles_in_place(device):
    def program(x, v):
        loss = new_loss()
        for _ in range(8):
            wp.launch(move, dim=2, inputs=[x, v, 0.2])
        wp.launch(weigh_vectors, dim=2, inputs=[x, loss])
        return loss

    x = compound(wp.vec3d, [[0.1, 0.3, 0.2], [1.0, -0.2, 0.5]])
    v = compound(wp.vec3d, [[0.5, -0.8, 0.1], [0.2, -0.7, -0.3]])
    assert_gradient(program, [x, v])


def test_contents_after_backward_are_those_after_forward(device):
    a = wp.array([0.5, 1.5, 2.0], dtype=wp.float64, requires_grad=True)
    b = wp.array([1.0, 2.0, 3.0], dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        loss = in_place(several_updates, 3, 3)(a, b)
    kept = [x.numpy().copy() for x in (a, b, loss)]
    tape.backward(loss)
    for array, contents in zip((a, b, loss), kept, strict=True):
        np.testing.assert_array_equal(array.numpy(), contents)


@wp.kernel
def largest(a: Numbers, top: Numbers):
    wp.atomic_max(top, 0, a[wp.tid()])


@wp.kernel
def smallest(a: Numbers, top: Numbers):
    wp.atomic_min(top, 0, a[wp.tid()])


@pytest.mark.parametrize("kernel, winner", [(largest, 2), (smallest, 1)], ids=["max", "min"])
def test_extremes_belong_to_one_element(device, kernel, winner):
    def program(a, start):
        loss = new_loss()
        wp.launch(kernel, dim=4, inputs=[a, start])
        wp.launch(weigh, dim=1, inputs=[start, loss])
        return loss

    a = f64(0.5, -1.0, 2.0, 1.5)
    slope = np.zeros(4)
    slope[winner] = np.cos(a[0][winner])
    assert_gradient(program, [a, f64(0.7)], [slope, [0.0]])

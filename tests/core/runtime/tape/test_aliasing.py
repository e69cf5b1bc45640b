"""One array under two parameter names: sums must not hide in registers or private copies."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import NotDifferentiableError


@wp.kernel
def add_then_set(c: wp.array(dtype=float), d: wp.array(dtype=float), place: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(c, place[i], 1.0)
    d[place[i]] = 10.0


@wp.kernel
def add_then_read(c: wp.array(dtype=float), d: wp.array(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(c, 0, 1.0)
    seen[i] = d[0]


@pytest.mark.parametrize("n", [100, 1_000_000])
def test_a_store_under_the_other_name_comes_after_the_sum(n):
    c = wp.zeros(n)
    place = wp.array(np.random.default_rng(0).permutation(n).astype(np.int32))
    wp.launch(add_then_set, n, inputs=[c, c, place])
    assert set(c.numpy().tolist()) == {10.0}


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("n", [100, 1_000_000])
def test_a_read_under_the_other_name_sees_the_sum(n, deterministic):
    c, seen = wp.zeros(n), wp.zeros(n)
    wp.launch(add_then_read, n, inputs=[c, c, seen], deterministic=deterministic)
    assert seen.numpy().min() >= 1.0
    assert c.numpy()[0] == n


def test_the_same_kernel_goes_back_to_sums_for_separate_arrays():
    n = 1_000_000
    c, d, seen = wp.zeros(n), wp.zeros(n), wp.zeros(n)
    for _ in range(2):
        wp.launch(add_then_read, n, inputs=[c, c, seen])
        wp.launch(add_then_read, n, inputs=[c, d, seen])
    assert c.numpy()[0] == 4 * n
    assert seen.numpy().max() == 0.0


@wp.kernel
def count_then_read(c: wp.array(dtype=int), d: wp.array(dtype=int), seen: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(c, 0, 1)
    seen[i] = d[0]


@wp.kernel
def raise_then_add(c: wp.array(dtype=int), d: wp.array(dtype=int), low: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_max(c, 0, 2)
    wp.atomic_add(d, 0, -3)
    wp.atomic_min(low, 0, i)


def test_numbers_that_are_counted_are_seen_under_the_other_name():
    n = 1000
    c, d, seen = wp.zeros(1, dtype=int), wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    for _ in range(2):
        wp.launch(count_then_read, n, inputs=[c, c, seen])
        assert seen.numpy().min() >= 1
        wp.launch(count_then_read, n, inputs=[c, d, seen])
        assert seen.numpy().max() == 0
    assert c.numpy()[0] == 4 * n


@pytest.mark.parametrize("start, wanted", [(-5, -1), (7, 4)])
def test_an_extreme_and_a_sum_of_one_number_keep_their_order(start, wanted):
    c, low = wp.array([start], dtype=int), wp.array([4], dtype=int)
    wp.launch(raise_then_add, 1, inputs=[c, c, low])
    assert (c.numpy()[0], low.numpy()[0]) == (wanted, 0)


def test_a_misspelt_keyword_of_launch_names_the_right_one():
    with pytest.raises(TypeError, match="launch has no keyword 'inputz'\nhelp: did you mean 'inputs'"):
        wp.launch(add_then_read, 1, inputz=[])
    with pytest.raises(TypeError, match="inputs is array\nexpected: a list"):
        wp.launch(add_then_read, 1, inputs=wp.zeros(3))


# ----- one memory, with a gradient under one name only -------------------------------------------------


def without_gradient(a):
    """A view of all of an array that has no gradient."""
    view = a[:]
    view.requires_grad = False
    return view


@wp.kernel
def adds_squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i] * x[i]


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("first", [False, True])
def test_one_array_under_two_names_of_which_one_has_a_gradient(device, first):
    with wp.ScopedDevice(device):
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        names = [x, without_gradient(x)]
        with wp.Tape() as tape:
            wp.launch(adds_squares, 2, inputs=names if first else names[::-1])
        with pytest.raises(NotDifferentiableError, match=r"are one array in a launch|without gradient was written"):
            tape.backward(grads={x: wp.ones_like(x)})


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_view_without_gradient_stops_gradients(device):
    with wp.ScopedDevice(device):
        x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        y = wp.zeros(2, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(adds_squares, 2, inputs=[without_gradient(x), y])
            wp.launch(adds_squares, 2, inputs=[x, y])
        tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("write", ["launch", "fill"])
def test_a_write_through_a_view_without_gradient_is_refused(write):
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(4, dtype=float, requires_grad=True)
    part, loss = without_gradient(y[1:3]), wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(adds_squares, 2, inputs=[x, y])
        if write == "launch":
            wp.launch(adds_squares, 2, inputs=[x, part])
        else:
            part.fill_(1.0)
        wp.copy(loss, y)
    with pytest.raises(NotDifferentiableError, match=r"without gradient was written .* shares memory with"):
        tape.backward(grads={loss: wp.ones_like(loss)})
    part.requires_grad = True
    tape.backward(grads={loss: wp.ones_like(loss)})
    assert x.grad.numpy().tolist() == ([4.0, 8.0] if write == "launch" else [2.0, 0.0])

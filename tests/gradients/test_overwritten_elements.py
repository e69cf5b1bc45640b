"""Gradients where kernels overwrite what they read: element updates, recurrences in place, guarded writes.

Each case is measured by differences, through one launch and through several on the same memory.
"""

import numpy as np
import pytest
from element_updates import UPDATES, in_place
from gradient_runs import assert_gradient, assert_gradient_or_refusal, ints, random_f64

import warpsim as wp

Numbers = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("kernel", UPDATES, ids=lambda k: k.key)
def test_element_updates(device, kernel, times):
    assert_gradient(in_place(kernel, 4, times), [random_f64(1, 4), random_f64(2, 4)])


# ----- updates in loops ---------------------------------------------------------------------------


@wp.kernel
def multiply_in_loop(a: Numbers, x: Numbers):
    t = wp.tid()
    for k in range(x.shape[0]):
        a[t] *= x[k]


@wp.kernel
def divide_in_loop(a: Numbers, x: Numbers):
    t = wp.tid()
    for k in range(x.shape[0]):
        a[t] /= x[k] + 0.1 * a[t]


@wp.kernel
def every_element(a: Numbers, b: Numbers):
    for k in range(a.shape[0]):
        a[k] = a[k] * b[k]


@wp.kernel
def backwards(a: Numbers, b: Numbers):
    for k in range(a.shape[0] - 1, -1, -1):
        a[k] *= wp.sin(b[k]) * a[k]


@wp.kernel
def every_element_twice(a: Numbers, b: Numbers):
    for sweep in range(2):
        for k in range(a.shape[0]):
            a[k] = a[k] * b[k] + 0.1 * wp.float64(sweep)


@wp.kernel
def state_and_memory(a: Numbers, b: Numbers):
    """A carried value and the memory depend on each other."""
    v = b[0]
    for k in range(a.shape[0]):
        a[k] *= v
        v = wp.sin(a[k] + b[k])
    a[0] = a[0] * v


@wp.kernel
def while_updates(a: Numbers, b: Numbers):
    k = int(0)
    while k < a.shape[0]:
        if k == 2:
            k += 1
            continue
        a[k] = a[k] * b[k] * a[k]
        k += 1


IN_LOOPS = [multiply_in_loop, divide_in_loop, every_element, backwards]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kernel", IN_LOOPS, ids=lambda k: k.key)
def test_updates_in_loops(device, kernel, times):
    dim = 5 if kernel in (multiply_in_loop, divide_in_loop) else 1
    assert_gradient(in_place(kernel, dim, times), [random_f64(1, 5), random_f64(2, 5)])


# ----- recurrences in place -------------------------------------------------------------------------


@wp.kernel
def prefix(a: Numbers, b: Numbers):
    for k in range(1, a.shape[0]):
        a[k] = a[k] + 0.5 * a[k - 1]


@wp.kernel
def nonlinear_prefix(a: Numbers, b: Numbers):
    for k in range(1, a.shape[0]):
        a[k] = a[k] * wp.sin(a[k - 1]) + b[k]


@wp.kernel
def suffix_and_prefix(a: Numbers, b: Numbers):
    """Forwards, then backwards, as a tridiagonal solver goes."""
    n = a.shape[0]
    for k in range(1, n):
        a[k] = a[k] - a[k - 1] * b[k] * 0.3
    for i in range(n - 1):
        k = n - 2 - i
        a[k] = (a[k] - a[k + 1] * b[k]) / (1.0 + a[k] * a[k])


@wp.kernel
def rotate(a: Numbers, b: Numbers):
    """Every element moves on by one; the last goes first."""
    last = a[a.shape[0] - 1]
    for i in range(a.shape[0] - 1):
        k = a.shape[0] - 1 - i
        a[k] = a[k - 1] * b[k]
    a[0] = last * b[0]


@wp.kernel
def relax(a: Numbers, b: Numbers):
    """Gauss-Seidel sweeps: neighbours of which one side is new."""
    for _ in range(3):
        for k in range(1, a.shape[0] - 1):
            a[k] = 0.5 * wp.sin(a[k - 1] + a[k + 1]) + b[k] * a[k]


RECURRENCES = [prefix, nonlinear_prefix]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kernel", RECURRENCES, ids=lambda k: k.key)
def test_recurrences_in_place(device, kernel, times):
    assert_gradient(in_place(kernel, 1, times), [random_f64(1, 6), random_f64(2, 6)])


HARD = [every_element_twice, state_and_memory, while_updates, suffix_and_prefix, rotate, relax]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kernel", HARD, ids=lambda k: k.key)
def test_elements_written_again_and_again(device, kernel, times):
    """What an element held between two writes is in no array after the launch."""
    assert_gradient_or_refusal(in_place(kernel, 1, times), [random_f64(1, 6), random_f64(2, 6)])


@pytest.mark.parametrize("n", [63, 64, 65, 300, 5000])
def test_long_prefix_in_place(n):
    a = random_f64(1, n)
    seeds = np.cos(prefix_by_hand(a[0])) * (1.0 + 0.5 * np.arange(n))
    expected = np.zeros(n)
    carried = 0.0
    for k in range(n - 1, -1, -1):
        carried = seeds[k] + 0.5 * carried
        expected[k] = carried
    arrays = [wp.array(a[0], dtype=wp.float64, requires_grad=True), wp.zeros(n, dtype=wp.float64)]
    with wp.Tape() as tape:
        loss = in_place(prefix, 1)(*arrays)
    tape.backward(loss)
    np.testing.assert_allclose(arrays[0].grad.numpy(), expected, rtol=1e-10)


def prefix_by_hand(a):
    a = a.copy()
    for k in range(1, len(a)):
        a[k] += 0.5 * a[k - 1]
    return a


# ----- guarded writes, elements that are set and read -------------------------------------------------


@wp.kernel
def guarded(a: Numbers, b: Numbers, sides: Ints):
    i = wp.tid()
    if sides[i] == 1:
        a[i] *= b[i]
    elif sides[i] == 2:
        b[i] = a[i] * a[i]
        a[i] = 0.5
    if sides[i] > 0:
        a[i] = a[i] + b[i] * b[i]


@wp.kernel
def early_return(a: Numbers, b: Numbers, sides: Ints):
    i = wp.tid()
    a[i] = wp.sin(a[i]) * b[i]
    if sides[i] == 1:
        return
    a[i] *= a[i]
    if sides[i] == 2:
        b[i] *= a[i]
        return
    a[i] = a[i] * b[i]


@wp.kernel
def chosen_element(a: Numbers, b: Numbers, sides: Ints):
    """Which element is overwritten is data."""
    for k in range(sides.shape[0]):
        a[sides[k]] = a[k] * b[k] + 0.1


@wp.kernel
def set_then_read(a: Numbers, b: Numbers, sides: Ints):
    i = wp.tid()
    old = a[i]
    a[i] = 2.0
    b[i] = wp.sin(b[i] * a[i] * old)
    a[i] = b[i] * old


@wp.func
def damp(x: Numbers, at: int, factor: wp.float64):
    x[at] = wp.sin(x[at] * factor)
    return x[at] * x[at]


@wp.kernel
def through_functions(a: Numbers, b: Numbers, sides: Ints):
    i = wp.tid()
    first = damp(a, i, b[i])
    second = damp(a, i, first)
    b[i] = first + second
    damp(b, i, a[i])
    a[i] += b[i]


GUARDED = [guarded, early_return, set_then_read, through_functions]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kernel", GUARDED, ids=lambda k: k.key)
def test_guarded_writes(device, kernel, times):
    assert_gradient(in_place(kernel, 4, times), [random_f64(1, 4), random_f64(2, 4), ints(0, 1, 2, 3)])


@pytest.mark.parametrize("places", [(0, 0, 0, 0), (3, 2, 1, 0), (1, 2, 3, 0), (1, 1, 2, 2)])
def test_elements_chosen_by_data(device, places):
    assert_gradient_or_refusal(in_place(chosen_element, 1, 2), [random_f64(1, 4), random_f64(2, 4), ints(*places)])

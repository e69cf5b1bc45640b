"""Gradients where memory is not what it seems: elements with two names, integers that change, loops that test memory.

Each case is right by differences, or refused; none may be wrong.
"""

import numpy as np
import pytest
from element_updates import in_place, weigh
from gradient_runs import assert_gradient, assert_gradient_or_refusal, f64, ints, new_loss, random_f64

import warpsim as wp
from warpsim.errors import NotDifferentiableError

Numbers = wp.array(dtype=wp.float64)
Ints = wp.array(dtype=int)


# ----- one element, two names -----------------------------------------------------------------------


@wp.kernel
def last_by_two_names(a: Numbers, b: Numbers):
    n = a.shape[0]
    x = a[n - 1]
    a[-1] = b[0] * x
    b[0] = x * a[n - 1]
    a[n - 1] = a[-1] * a[-1] + b[0]


@wp.kernel
def neighbours_in_turn(p: Numbers, q: Numbers):
    for k in range(p.shape[0]):
        p[k] = wp.sin(q[k]) * p[k]


@wp.kernel
def both_ends(p: Numbers, q: Numbers):
    p[0] = p[0] * q[1]
    q[0] = p[1] * p[0]
    p[1] = wp.sin(p[1] + q[0])


def through(views, kernel):
    """The program that launches the kernel on views of one array, twice."""

    def program(a):
        loss = new_loss()
        for _ in range(2):
            wp.launch(kernel, dim=1, inputs=views(a))
        wp.launch(weigh, dim=a.shape[0], inputs=[a, loss])
        return loss

    return program


VIEWS = {
    "shifted up": lambda a: [a[0:4], a[1:5]],
    "shifted down": lambda a: [a[1:5], a[0:4]],
    "the same": lambda a: [a, a],
    "a part and the whole": lambda a: [a[2:5], a],
    "interleaved": lambda a: [a[0:5:2], a[0:3]],
}


def test_last_element_by_a_negative_index(device):
    assert_gradient_or_refusal(in_place(last_by_two_names, 1, 2), [random_f64(1, 4), random_f64(2, 2)])


@pytest.mark.parametrize("kernel", [neighbours_in_turn, both_ends], ids=lambda k: k.key)
@pytest.mark.parametrize("views", list(VIEWS))
def test_overlapping_views(device, views, kernel):
    a, dtype = random_f64(1, 5)
    program = through(VIEWS[views], kernel)
    if kernel is neighbours_in_turn and views == "a part and the whole":
        program = through(lambda a: [a[2:5], a[1:4]], kernel)
    assert_gradient_or_refusal(program, [(a * 0.8, dtype)])


@wp.kernel
def two_places(a: wp.indexedarray(dtype=wp.float64)):
    a[0] = a[0] * a[1]
    a[1] = wp.sin(a[1]) * a[0]


@pytest.mark.parametrize("table", [(0, 1), (2, 2), (1, 0)])
def test_index_table_that_names_an_element_twice(device, table):
    def program(a):
        loss = new_loss()
        places = wp.indexedarray(a, [wp.array(table, dtype=int)])
        for _ in range(2):
            wp.launch(two_places, dim=1, inputs=[places])
        wp.launch(weigh, dim=3, inputs=[a, loss])
        return loss

    assert_gradient_or_refusal(program, [random_f64(1, 3)])


@wp.kernel
def first_and_second(a: Numbers, loss: Numbers):
    a[0] = a[0] * a[1]
    a[1] = wp.sin(a[1]) * a[0]
    wp.atomic_add(loss, 0, a[0] * a[2])


def test_array_whose_elements_are_one(device):
    """With a stride of zero: x -> x^2 -> sin(x^2) x^2 -> its square."""
    memory = wp.array([0.8], dtype=wp.float64)
    a = wp.array(ptr=memory.ptr, shape=3, strides=(0,), dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        loss = new_loss()
        wp.launch(first_and_second, dim=1, inputs=[a, loss])
    q = 0.8**2
    assert abs(loss.numpy()[0] - (np.sin(q) * q) ** 2) < 1e-12
    try:
        tape.backward(loss)
    except NotDifferentiableError as refused:
        assert "help:" in str(refused)
        return
    expected = 2.0 * np.sin(q) * q * (np.cos(q) * q + np.sin(q)) * 2.0 * 0.8
    np.testing.assert_allclose(a.grad.numpy()[0], expected, rtol=1e-12)


@wp.struct
class Pair:
    first: Numbers
    second: Numbers


@wp.kernel
def through_struct(pair: Pair, third: Numbers):
    pair.first[0] = pair.second[0] * third[0]
    third[1] = pair.first[0] * pair.second[1]
    pair.second[0] = wp.sin(third[1])


@pytest.mark.parametrize("shared", ["none", "in the struct", "with the argument"])
def test_arrays_that_a_struct_shares(device, shared):
    def program(a, b, c):
        pair, loss = Pair(), new_loss()
        pair.first, pair.second = a, a if shared == "in the struct" else b
        third = b if shared == "with the argument" else c
        wp.launch(through_struct, dim=1, inputs=[pair, third])
        for x in (a, b, c):
            wp.launch(weigh, dim=2, inputs=[x, loss])
        return loss

    assert_gradient_or_refusal(program, [random_f64(s, 2) for s in (1, 2, 3)])


@wp.kernel
def chosen_array(a: Numbers, b: Numbers, sides: Ints):
    i = wp.tid()
    if sides[i] == 0:
        chosen = a
    else:
        chosen = b
    chosen[i] = chosen[i] * a[i]
    b[i] = wp.sin(chosen[i]) * b[i]


def test_array_chosen_by_a_branch(device):
    assert_gradient_or_refusal(in_place(chosen_array, 3, 2), [random_f64(1, 3), random_f64(2, 3), ints(0, 1, 0)])


# ----- integers in memory -------------------------------------------------------------------------------


@wp.kernel
def counted(a: Numbers, b: Numbers, n: Ints):
    """The counter decides the trips, the place and the branch, and changes on the way."""
    i = wp.tid()
    for _ in range(n[i]):
        a[i] *= b[i]
    n[i] = n[i] + 1
    if n[i] % 2 == 0:
        b[i] = wp.sin(b[i])
    a[i] += b[n[i] % 3]
    n[i] += 1


@wp.kernel
def by_counter(a: Numbers, b: Numbers, n: Ints):
    i = wp.tid()
    a[i] = a[i] * wp.sin(b[n[i] % 3] * wp.float64(n[i]))
    n[i] += 1


@wp.kernel
def next_place(n: Ints):
    i = wp.tid()
    n[i] = (n[i] * 2 + 1) % 5


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("kernel", [counted, by_counter], ids=lambda k: k.key)
def test_integers_that_change(device, kernel, times):
    def program(a, b, n):
        loss, n = new_loss(), wp.clone(n)
        for _ in range(times):
            wp.launch(kernel, dim=1, inputs=[a, b, n])
            wp.launch(next_place, dim=1, inputs=[n])
        wp.launch(weigh, dim=3, inputs=[a, loss])
        wp.launch(weigh, dim=3, inputs=[b, loss])
        return loss

    assert_gradient_or_refusal(program, [random_f64(1, 3), random_f64(2, 3), ints(2)])


@wp.kernel
def while_memory_says(a: Numbers, flags: Ints, loss: Numbers):
    i = wp.tid()
    x = a[i]
    while flags[i] > 0:
        flags[i] = flags[i] - 1
        x = wp.sin(x) * a[i]
    wp.atomic_add(loss, 0, x)


def test_loop_whose_test_reads_what_it_writes(device):
    def program(a, flags):
        loss = new_loss()
        wp.launch(while_memory_says, dim=3, inputs=[a, wp.clone(flags), loss])
        return loss

    assert_gradient_or_refusal(program, [random_f64(1, 3), ints(0, 1, 4)])


# ----- places that atomics give ------------------------------------------------------------------------------


@wp.kernel
def compacted(a: Numbers, counter: Ints, out: Numbers):
    i = wp.tid()
    if a[i] > 1.0:
        slot = wp.atomic_add(counter, 0, 1)
        out[slot] = a[i] * a[i]


@wp.kernel
def compacted_twice(a: Numbers, counter: Ints, out: Numbers):
    i = wp.tid()
    for k in range(2):
        slot = wp.atomic_add(counter, 0, 1)
        out[slot] = a[i] * wp.float64(k + 1)


@wp.kernel
def square_weights(out: Numbers, loss: Numbers):
    x = out[wp.tid()]
    wp.atomic_add(loss, 0, x * x)


@pytest.mark.parametrize("kernel", [compacted, compacted_twice], ids=lambda k: k.key)
def test_slots_from_a_counter(device, kernel):
    """The loss does not depend on the order of the slots, the gradient needs to know it."""

    def program(a):
        loss, out = new_loss(), wp.zeros(12, dtype=wp.float64, requires_grad=True)
        counter = wp.zeros(1, dtype=int)
        for _ in range(2):
            counter.zero_()
            wp.launch(kernel, dim=6, inputs=[a, counter, out])
        wp.launch(square_weights, dim=12, inputs=[out, loss])
        return loss

    try:
        assert_gradient(program, [random_f64(3, 6)])
    except NotDifferentiableError as refused:
        assert (kernel is compacted_twice and "order of threads" in str(refused)) or "atomic_add" in str(refused)


@wp.kernel
def float_slot(a: Numbers, total: Numbers, loss: Numbers):
    before = wp.atomic_add(total, 0, a[wp.tid()])
    wp.atomic_add(loss, 0, before * before)


@wp.kernel
def decided_by_two_atomics(a: Numbers, b: Numbers):
    i = wp.tid()
    before = wp.atomic_add(a, i, wp.float64(-0.1))
    other = wp.atomic_max(b, i, wp.sin(before))
    if other >= before:
        a[i] = a[i] * 0.25


def test_of_two_atomics_that_decide_each_is_found_again(device):
    """The first is a variable of the thread by the time the adjoint is made, the second is looked up."""
    a = wp.array([0.3, 0.9, 0.6, -0.5], dtype=wp.float64, requires_grad=True)
    b = wp.array([0.2, 0.95, 0.1, 0.9], dtype=wp.float64)
    with wp.Tape() as tape:
        wp.launch(decided_by_two_atomics, dim=4, inputs=[a, b])
    tape.backward(grads={a: wp.ones(4, dtype=wp.float64)})
    assert a.grad.list() == [1.0, 0.25, 1.0, 0.25]


def test_sum_that_an_atomic_returns_is_refused(device):
    def program(a, total):
        loss = new_loss()
        wp.launch(float_slot, dim=3, inputs=[a, total, loss])
        return loss

    with pytest.raises(NotDifferentiableError, match="atomic_add"):
        assert_gradient(program, [random_f64(1, 3), f64(0.0)])


@wp.kernel
def exchanged(a: Numbers, out: Numbers):
    i = wp.tid()
    wp.atomic_exch(out, i, a[i] * a[i])


def test_exchange_is_refused(device):
    def program(a, out):
        loss = new_loss()
        wp.launch(exchanged, dim=3, inputs=[a, out])
        wp.launch(weigh, dim=3, inputs=[out, loss])
        return loss

    with pytest.raises(NotDifferentiableError, match="atomic_exch"):
        assert_gradient(program, [random_f64(1, 3), random_f64(2, 3)])


# ----- what is done again and what is not ------------------------------------------------------------------------


@wp.kernel
def chatty(a: Numbers, loss: Numbers):
    x = a[0]
    for _ in range(3):
        x = x * x
    print(x)
    wp.atomic_add(loss, 0, x)


def test_backward_prints_the_adjoint_and_not_the_value_again(device, capfd):
    a = wp.array([1.5], dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        loss = new_loss()
        wp.launch(chatty, dim=1, inputs=[a, loss])
    wp.synchronize()
    assert capfd.readouterr().out.strip()
    tape.backward(loss)
    wp.synchronize()
    assert capfd.readouterr().out == "adj: 1\n"
    np.testing.assert_allclose(a.grad.numpy(), [8.0 * 1.5**7], rtol=1e-12)


@wp.kernel
def random_walk(a: Numbers, loss: Numbers):
    i = wp.tid()
    state = wp.rand_init(42, i)
    x = a[i]
    for _ in range(wp.randi(state, 3, 9)):
        if wp.randf(state) < 0.5:
            x = x * wp.float64(wp.randf(state) + 0.5)
        else:
            x = wp.sin(x)
    wp.atomic_add(loss, 0, x)


def test_random_numbers_are_drawn_again_alike(device):
    def program(a):
        loss = new_loss()
        wp.launch(random_walk, dim=8, inputs=[a, loss])
        return loss

    assert_gradient(program, [random_f64(1, 8)])


@wp.kernel
def root_if_positive(a: Numbers, loss: Numbers):
    i = wp.tid()
    if a[i] > 0.0:
        wp.atomic_add(loss, 0, wp.sqrt(a[i]) + wp.log(a[i]))
    y = wp.sqrt(a[i]) if a[i] > 0.0 else a[i] * 3.0
    wp.atomic_add(loss, 0, y)


def test_branches_not_taken_add_nothing():
    """Not even a NaN: 0 and -1 are outside the domain of the other side."""
    a = wp.array([0.0, -1.0, 4.0], dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        loss = new_loss()
        wp.launch(root_if_positive, dim=3, inputs=[a, loss])
    tape.backward(loss)
    np.testing.assert_allclose(a.grad.numpy(), [3.0, 3.0, 0.75], rtol=1e-12)

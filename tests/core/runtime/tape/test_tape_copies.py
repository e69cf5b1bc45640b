"""Copies, fills and item assignments on a tape: gradients go where the values came from."""

import numpy as np
from tape_programs import double, grad, leaf, scalar, total

import warpsim as wp


def test_copy_is_differentiable():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y, z = wp.zeros_like(x), wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(double, dim=3, inputs=[x, y])
        wp.copy(z, y)
    tape.backward(grads={z: wp.ones_like(x)})
    assert grad(x) == [2.0, 2.0, 2.0]
    assert grad(z) == [0.0, 0.0, 0.0]


def test_clone_is_differentiable():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(double, dim=3, inputs=[x, y])
        z = wp.clone(y, requires_grad=True)
    tape.backward(grads={z: wp.ones_like(x)})
    assert grad(x) == [2.0, 2.0, 2.0]


def test_a_clone_without_gradient_is_cut_off():
    x, loss = leaf(1, 2), scalar()
    with wp.Tape() as tape:
        y = wp.clone(x, requires_grad=False)
        wp.launch(total, 2, inputs=[y, loss])
        wp.launch(total, 2, inputs=[x, loss])
    tape.backward(loss)
    assert grad(x) == [1.0, 1.0]


def test_assign_is_differentiable():
    x = wp.array(np.arange(3), dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    z = wp.zeros_like(y)
    with wp.Tape() as tape:
        wp.launch(double, dim=3, inputs=[x], outputs=[y])
        z.assign(y)
    tape.backward(grads={z: wp.ones_like(x)})
    assert grad(x) == [2.0, 2.0, 2.0]


def test_copy_between_offsets_and_shapes():
    x, y = leaf(1, 2, 3, 4), wp.zeros((2, 2), dtype=float, requires_grad=True)
    z = wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y.assign(x)
        wp.copy(z, y, dest_offset=1, src_offset=0, count=2)
    tape.backward(grads={z: wp.array([1.0, 10.0, 100.0, 1000.0], dtype=float)})
    assert grad(x) == [10.0, 100.0, 0.0, 0.0]
    assert grad(z) == [1.0, 0.0, 0.0, 1000.0]


def test_fill_and_zero_cut_off_what_was_there():
    for method in ("zero_", "fill_"):
        x, y, loss = leaf(1, 2), leaf(0, 0), scalar()
        with wp.Tape() as tape:
            wp.launch(double, 2, inputs=[x], outputs=[y])
            wp.launch(total, 2, inputs=[y, loss])
            y.zero_() if method == "zero_" else y.fill_(3.0)
            wp.launch(total, 2, inputs=[y, loss])
        tape.backward(loss)
        assert grad(x) == [2.0, 2.0], method


def test_items_set_to_numbers_cut_off_and_set_to_arrays_copy():
    x, y, loss = leaf(1, 2, 3), leaf(0, 0, 0), scalar()
    with wp.Tape() as tape:
        wp.launch(double, 3, inputs=[x], outputs=[y])
        y[1] = 5.0
        y[2:] = x[:1]
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    assert loss.numpy().tolist() == [8.0]
    assert grad(x) == [3.0, 0.0, 0.0]


def test_a_broadcast_source_gets_the_sum():
    x = leaf(1)
    y = wp.zeros((2, 3), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y[0] = x
    tape.backward(grads={y: wp.full((2, 3), 2.0, dtype=float)})
    assert grad(x) == [6.0]
    assert grad(y) == [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]


def test_overlapping_parts_of_one_array_are_copied_exactly():
    x = leaf(1, 2, 3)
    with wp.Tape() as tape:
        x[1:] = x[:2]
    tape.backward(grads={x: wp.array([1.0, 10.0, 100.0], dtype=float)})
    assert x.numpy().tolist() == [1.0, 1.0, 2.0]
    assert grad(x) == [11.0, 100.0, 0.0]


def test_indexed_arrays_as_source_and_destination():
    x, y = leaf(1, 2, 3, 4), leaf(0, 0, 0, 0)
    z = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.indexedarray(y, [wp.array([3, 0], dtype=int)]).assign(wp.indexedarray(x, [wp.array([1, 1], dtype=int)]))
        z.assign(wp.indexedarray(y, [wp.array([0, 3, 3], dtype=int)]))
    tape.backward(grads={z: wp.array([1.0, 10.0, 100.0], dtype=float)})
    assert z.numpy().tolist() == [2.0, 2.0, 2.0]
    assert grad(x) == [0.0, 111.0, 0.0, 0.0]


def test_of_repeated_indices_the_last_one_was_written():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.indexedarray(y, [wp.array([0, 0], dtype=int)]).assign(x)
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.numpy().tolist() == [2.0, 0.0]
    assert (grad(x), grad(y)) == ([0.0, 1.0], [0.0, 1.0])


def test_structs_are_copied_field_by_field():
    @wp.struct
    class Body:
        mass: float
        place: wp.vec2
        name: int

    @wp.kernel
    def moment(b: wp.array(dtype=Body), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = b[i].mass * b[i].place[0] * float(b[i].name)

    first = Body()
    first.mass, first.place, first.name = 2.0, wp.vec2(3.0, 4.0), 5
    x = wp.array([first], dtype=Body, requires_grad=True)
    out = scalar()
    with wp.Tape() as tape:
        y = wp.clone(x)
        wp.launch(moment, 1, inputs=[y, out])
        y.zero_()
    tape.backward(out)
    slopes = x.grad.list()[0]
    assert (slopes.mass, list(slopes.place), slopes.name) == (15.0, [10.0, 0.0], 0)


def test_copies_of_integers_are_no_concern_of_gradients():
    a, b = wp.array([1, 2], dtype=int, requires_grad=True), wp.zeros(2, dtype=int)
    x, loss = leaf(1, 2), scalar()
    with wp.Tape() as tape:
        wp.copy(b, a)
        wp.launch(total, 2, inputs=[x, loss])
    tape.backward(loss)
    assert (grad(x), grad(a)) == ([1.0, 1.0], [0, 0])

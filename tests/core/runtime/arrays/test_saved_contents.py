"""Overwrites: what a tape copies, when it need not, and how it notices what it did not see."""

import numpy as np
import pytest
from tape_programs import double, grad, leaf, ones, square, square_in_place, total

import warpsim as wp
from warpsim.errors import NotDifferentiableError

# ----- overwrites by recorded operations ------------------------------------------------------------


def test_overwritten_by_a_launch():
    a, b, c = leaf(1, 2, 3), leaf(0, 0, 0), leaf(-1, -2, -3)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[a], outputs=[b])
        wp.launch(double, 3, inputs=[c], outputs=[a])
        wp.launch(total, 3, inputs=[a, loss])
        wp.launch(total, 3, inputs=[b, loss])
    tape.backward(loss)
    assert (grad(a), grad(c)) == ([2.0, 4.0, 6.0], [2.0, 2.0, 2.0])
    assert a.numpy().tolist() == [-2.0, -4.0, -6.0]
    assert (tape.report().count, tape.report().bytes) == (1, 12)


@wp.kernel
def use_and_overwrite(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = a[i] * a[i]
    a[i] = 1.0


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_overwritten_by_the_launch_itself(device):
    with wp.ScopedDevice(device):
        a, b = leaf(1, 2, 3), leaf(0, 0, 0)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(use_and_overwrite, 3, inputs=[a, b])
            wp.launch(total, 3, inputs=[b, loss])
        for times in (1, 1):  # the tape wrote a: its gradient starts from zero
            tape.backward(loss)
            assert grad(a) == [2.0 * times, 4.0 * times, 6.0 * times]
    assert a.numpy().tolist() == [1.0, 1.0, 1.0]
    assert tape.report().count == 1


def test_in_place_over_several_launches():
    x = leaf(1.5, 2.0)
    with wp.Tape() as tape:
        for _ in range(3):
            wp.launch(square_in_place, 2, inputs=[x])
    tape.backward(grads={x: ones(2)})
    assert grad(x) == [8 * 1.5**7, 8 * 2.0**7]
    assert tape.report().count == 3


@pytest.mark.parametrize(
    "overwrite",
    [
        lambda a: a.fill_(9.0),
        lambda a: a.zero_(),
        lambda a: a.assign([7.0, 8.0]),
        lambda a: a.__setitem__(0, 5.0),
        lambda a: wp.copy(a, wp.array([3.0, 4.0], dtype=float)),
    ],
)
def test_overwritten_from_the_host(overwrite):
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
        overwrite(a)
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 4.0]
    assert tape.report().count == 1


def test_a_launch_that_is_not_recorded_inside_the_tape_saves_too():
    a, b = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
        wp.launch(square_in_place, 2, inputs=[a], record_tape=False)
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [2.0, 4.0]


def test_a_linear_kernel_needs_no_copy():
    x = leaf(1, 2)
    y = leaf(0, 0)
    with wp.Tape() as tape:
        for _ in range(3):
            wp.launch(double, 2, inputs=[x], outputs=[y])
            wp.launch(double, 2, inputs=[y], outputs=[x])
    tape.backward(grads={x: ones(2)})
    assert grad(x) == [64.0, 64.0]
    assert (tape.report().count, str(tape.report())) == (0, "0 snapshots, 0 bytes")


def test_arrays_without_gradients_are_not_copied():
    x = wp.ones(2, dtype=float)
    with wp.Tape() as tape:
        for _ in range(3):
            wp.launch(square_in_place, 2, inputs=[x])
    assert tape.report().count == 0


def test_readers_of_one_version_share_a_copy():
    a, b, c = leaf(1, 2), leaf(0, 0), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[a], outputs=[b])
        wp.launch(square, 2, inputs=[a[:]], outputs=[c])
        a.fill_(0.0)
    tape.backward(grads={b: ones(2), c: ones(2)})
    assert grad(a) == [4.0, 8.0]
    assert tape.report().count == 1


def test_each_version_has_its_own_copy():
    a, b = leaf(1, 2), [leaf(0, 0) for _ in range(3)]
    with wp.Tape() as tape:
        for k in range(3):
            wp.launch(square, 2, inputs=[a], outputs=[b[k]])
            wp.launch(double, 2, inputs=[b[k]], outputs=[a])
    tape.backward(grads={b[0]: ones(2)})
    assert grad(a) == [2.0, 4.0]
    tape.backward(grads={b[2]: ones(2)})
    # b2 = a2^2, a2 = 2 a1^2, a1 = 2 a0^2: d/da0 of 64 a0^8
    assert grad(a) == [512.0, 512.0 * 128.0]


def test_integers_that_choose_elements_are_copied():
    @wp.kernel
    def pick(x: wp.array(dtype=float), k: wp.array(dtype=int), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[k[i]]

    x, y = leaf(1, 2, 3), leaf(0, 0)
    k = wp.array([2, 0], dtype=int)
    with wp.Tape() as tape:
        wp.launch(pick, 2, inputs=[x, k], outputs=[y])
        k.zero_()
    tape.backward(grads={y: wp.array([1.0, 10.0], dtype=float)})
    assert grad(x) == [10.0, 0.0, 1.0]


# ----- views ------------------------------------------------------------------------------------------


def test_partial_overlaps_of_views():
    a, b = leaf(1, 2, 3, 4), leaf(0, 0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[a[:3]], outputs=[b])
        a[2:].fill_(0.0)
    tape.backward(grads={b: ones(3)})
    assert grad(a) == [2.0, 4.0, 6.0, 0.0]
    assert (tape.report().count, tape.report().bytes) == (1, 12)


def test_views_that_do_not_meet_are_left_alone():
    a, b = wp.zeros((3, 2), dtype=float, requires_grad=True), leaf(0, 0, 0)
    a.assign(np.arange(6))
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[a[:, 0]], outputs=[b])
        a[:, 1].fill_(9.0)
        a[1, 1:] = 3.0
    tape.backward(grads={b: ones(3)})
    assert grad(a) == [[0.0, 0.0], [4.0, 0.0], [8.0, 0.0]]
    assert tape.report().count == 0


def test_steps_in_rows_of_one_array():
    rows = wp.zeros((5, 2), dtype=float, requires_grad=True)
    rows[0].assign([1.0, 1.1])
    with wp.Tape() as tape:
        for k in range(4):
            wp.launch(square, 2, inputs=[rows[k]], outputs=[rows[k + 1]])
    seed = wp.zeros((5, 2), dtype=float)
    seed[4].fill_(1.0)
    tape.backward(grads={rows: seed})
    assert rows.grad.numpy()[0].tolist() == pytest.approx([16.0, 16.0 * 1.1**15])
    assert tape.report().count == 0


def test_strided_views_keep_their_layout_in_the_copy():
    a, b = wp.zeros((3, 2), dtype=float, requires_grad=True), leaf(0, 0, 0)
    a.assign(np.arange(1, 7))
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[a[:, 1]], outputs=[b])
        a.zero_()
    tape.backward(grads={b: ones(3)})
    assert grad(a) == [[0.0, 4.0], [0.0, 8.0], [0.0, 12.0]]


def test_a_gradient_asked_of_a_view_is_that_of_the_whole():
    a, b = wp.array([1.0, 2.0, 3.0], dtype=float), leaf(0, 0)
    part = a[1:]
    part.requires_grad = True
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[part], outputs=[b])
        wp.launch(square, 1, inputs=[a[1:2]], outputs=[b[:1]])
    tape.backward(grads={b: ones(2)})
    assert grad(a) == [0.0, 4.0, 6.0]
    assert part.grad.ptr == a.grad.ptr + 4


# ----- one array under two names ------------------------------------------------------------------------


def test_input_and_output_are_one_array():
    a = leaf(1, 2, 3)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[a], outputs=[a])
    tape.backward(grads={a: ones(3)})
    assert grad(a) == [2.0, 4.0, 6.0]
    assert a.numpy().tolist() == [1.0, 4.0, 9.0]


def test_a_read_under_the_other_name_after_the_write():
    @wp.kernel
    def write_then_read(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = 3.0 * z[i]
        z[i] = x[i] * x[i]

    a, z = leaf(1, 2), leaf(5, 7)
    with wp.Tape() as tape:
        wp.launch(write_then_read, 2, inputs=[a, a, z])
    tape.backward(grads={z: ones(2)})
    assert z.numpy().tolist() == [225.0, 441.0]
    assert grad(z) == [2 * 15.0 * 3.0, 2 * 21.0 * 3.0]
    assert grad(a) == [0.0, 0.0]


def test_overlapping_views_in_one_launch():
    a = leaf(1, 2, 3)

    @wp.kernel
    def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[0] * x[0]
        # one thread: the next read sees what was stored
        y[1] = 2.0

    with wp.Tape() as tape:
        wp.launch(shift, 1, inputs=[a[:2], a[1:]])
    tape.backward(grads={a: wp.array([1.0, 10.0, 100.0], dtype=float)})
    assert a.numpy().tolist() == [1.0, 1.0, 2.0]
    assert grad(a) == [21.0, 0.0, 0.0]


def test_overlapping_views_read_after_they_were_written_are_refused():
    @wp.kernel
    def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        for k in range(2):
            y[k] = x[k] * x[k]

    a = leaf(2, 0, 0)
    with wp.Tape() as tape:
        wp.launch(shift, 1, inputs=[a[:2], a[1:]])
    assert a.numpy().tolist() == [2.0, 4.0, 16.0]
    with pytest.raises(NotDifferentiableError) as error:
        tape.backward(grads={a: ones(3)})
    assert "arrays 'x' and 'y' of kernel " in str(error.value)
    assert f"overlap in the launch at {__file__}:" in str(error.value)
    assert "help: pass a copy: wp.clone(x)" in str(error.value)


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    y: wp.array(dtype=float)


@wp.kernel
def triple_and_square(s: Pair):
    i = wp.tid()
    s.x[i] = s.x[i] * 3.0
    s.y[i] = s.x[i] * s.x[i]


def test_one_array_in_two_fields_of_a_struct():
    s = Pair()
    s.x, s.y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(triple_and_square, 2, inputs=[s])
    tape.backward(grads={s.y: ones(2)})
    assert grad(s.x) == [18.0, 36.0]
    s.y = s.x
    with wp.Tape() as tape:
        wp.launch(triple_and_square, 2, inputs=[s])
    with pytest.raises(NotDifferentiableError, match=r"arrays 's\.x' and 's\.y' of kernel 'triple_and_square' overlap"):
        tape.backward(grads={s.x: ones(2)})


# ----- structs and indexed arrays -------------------------------------------------------------------------


@wp.struct
class Body:
    x: wp.array(dtype=float)
    k: float


@wp.kernel
def energy(body: Body, e: wp.array(dtype=float)):
    i = wp.tid()
    e[i] = body.k * body.x[i] * body.x[i]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_arrays_in_structs(device):
    with wp.ScopedDevice(device):
        body, e = Body(), leaf(0, 0)
        body.x, body.k = leaf(1, 2), 3.0
        with wp.Tape() as tape:
            wp.launch(energy, 2, inputs=[body], outputs=[e])
            body.x.fill_(100.0)
            body.k = 50.0
        tape.backward(grads={e: ones(2)})
        assert grad(body.x) == [6.0, 12.0]
        assert tape.gradients[body.x] is body.x.grad
        assert grad(tape.get_adjoint(body).x if False else body.x) == [6.0, 12.0]
        assert tape.get_adjoint(body).x is body.x.grad
        assert tape.report().count == 1


def test_a_struct_that_is_only_read_causes_no_copies():
    body, e = Body(), [leaf(0, 0) for _ in range(3)]
    body.x, body.k = leaf(1, 2), 3.0
    with wp.Tape() as tape:
        for k in range(3):
            wp.launch(energy, 2, inputs=[body], outputs=[e[k]])
    tape.backward(grads={a: ones(2) for a in e})
    assert grad(body.x) == [18.0, 36.0]
    assert tape.report().count == 0


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_indexed_arrays_and_their_tables(device):
    @wp.kernel
    def squares(x: wp.indexedarray(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    with wp.ScopedDevice(device):
        a, b, table = leaf(1, 2, 3), leaf(0, 0), wp.array([2, 0], dtype=int)
        with wp.Tape() as tape:
            wp.launch(squares, 2, inputs=[wp.indexedarray(a, [table])], outputs=[b])
            a.zero_()
            table.fill_(1)
        tape.backward(grads={b: ones(2)})
        assert b.numpy().tolist() == [9.0, 1.0]
        assert grad(a) == [2.0, 0.0, 6.0]
        assert tape.report().count == 2


def test_extremes_look_at_what_is_there_afterwards():
    @wp.kernel
    def largest(x: wp.array(dtype=float), m: wp.array(dtype=float)):
        wp.atomic_max(m, 0, x[wp.tid()])

    x, m = leaf(1, 5, 3), wp.full(1, -1.0, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(largest, 3, inputs=[x, m])
        y = wp.clone(m)
        m.zero_()
    tape.backward(grads={y: ones(1)})
    assert grad(x) == [0.0, 1.0, 0.0]

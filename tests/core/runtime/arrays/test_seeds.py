"""Seeds that users write to gradient arrays count, what a backward pass left there does not count twice."""

import numpy as np
import pytest
from tape_programs import double, grad, leaf, ones, scalar, square, total

import warpsim as wp
from warpsim.errors import GradientError


@wp.kernel
def squares_and_sum(x: wp.array(dtype=float), y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    wp.atomic_add(loss, 0, x[i] * 3.0)


@wp.kernel
def scatter(x: wp.array(dtype=float), sums: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(sums, i % 2, x[i])


@wp.kernel
def seed(slopes: wp.array(dtype=float), value: float):
    slopes[wp.tid()] = value


@pytest.fixture(params=["cpu", "interp"])
def recorded(request):
    with wp.ScopedDevice(request.param):
        x, y, loss = leaf(2, 3), leaf(0, 0), scalar()
        with wp.Tape() as tape:
            wp.launch(squares_and_sum, 2, inputs=[x, y, loss])
        yield tape, x, y, loss


def by_fill(a, value):
    a.grad.fill_(value)


def by_item(a, value):
    a.grad[:] = value


def by_numpy(a, value):
    a.grad.numpy()[...] = value


def by_launch(a, value):
    wp.launch(seed, a.size, inputs=[a.grad, value])


def by_array(a, value):
    a.grad = wp.full(a.size, value, dtype=float)


WAYS = pytest.mark.parametrize("write", [by_fill, by_item, by_numpy, by_launch, by_array])


@WAYS
def test_seeds_count_beside_a_loss(recorded, write):
    tape, x, y, loss = recorded
    write(y, 1.0)
    tape.backward(loss)
    assert (grad(x), grad(y), grad(loss)) == ([7.0, 9.0], [0.0, 0.0], [1.0])


@WAYS
def test_the_gradient_of_the_loss_is_one(recorded, write):
    tape, x, _, loss = recorded
    write(loss, 5.0)
    tape.backward(loss)
    assert (grad(x), grad(loss)) == ([3.0, 3.0], [1.0])


@WAYS
def test_seeds_count_beside_given_gradients(recorded, write):
    tape, x, y, loss = recorded
    write(y, 7.0)
    tape.backward(grads={loss: wp.array([10.0], dtype=float)})
    assert grad(x) == [58.0, 72.0]


def test_a_given_gradient_takes_the_place_of_seeds(recorded):
    tape, x, y, loss = recorded
    y.grad.fill_(1.0)
    tape.backward(loss, grads={y: wp.full(2, 10.0, dtype=float)})
    assert grad(x) == [43.0, 63.0]


@WAYS
def test_without_loss_and_gradients_everything_held_counts(recorded, write):
    tape, x, y, loss = recorded
    write(loss, 5.0)
    write(y, 1.0)
    tape.backward()
    assert (grad(x), grad(y), grad(loss)) == ([19.0, 21.0], [0.0, 0.0], [5.0])
    tape.backward()  # the gradient of a sum stays, as nothing overwrote it
    assert grad(x) == [34.0, 36.0]


def test_seeds_of_views_and_structs_of_a_second_launch():
    x, y, z = leaf(1, 2, 3, 4), leaf(0, 0, 0, 0), leaf(0, 0, 0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x[2:]], outputs=[y[2:]])
        wp.launch(double, 4, inputs=[y], outputs=[z])
    y[2:].grad.fill_(10.0)
    z.grad[3:].fill_(1.0)
    tape.backward()
    assert grad(x) == [0.0, 0.0, 60.0, 96.0]


def test_nothing_on_the_tape_has_a_gradient():
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[wp.ones(2, dtype=float)], outputs=[wp.ones(2, dtype=float)])
    with pytest.raises(GradientError, match="neither a loss nor gradients"):
        tape.backward()


# ----- what a backward pass left --------------------------------------------------------------------


def sums_of_squares(looked_at):
    x, sums, squares, loss = leaf(1, 2, 3, 4), scalar(), leaf(0, 0), scalar()
    sums = leaf(0, 0)
    if looked_at:
        assert not sums.grad.numpy().any()
    with wp.Tape() as tape:
        wp.launch(scatter, 4, inputs=[x, sums])
        wp.launch(square, 2, inputs=[sums], outputs=[squares])
        wp.launch(total, 2, inputs=[squares, loss])
    return tape, x, sums, loss


@pytest.mark.parametrize("looked_at", ["before", "between", "never"])
def test_what_was_left_does_not_count_again(looked_at):
    tape, x, sums, loss = sums_of_squares(looked_at == "before")
    for times in (1.0, 2.0, 3.0):
        tape.backward(loss)
        assert grad(x) == [8.0 * times, 12.0 * times] * 2
        if looked_at == "between":
            assert grad(sums) == [8.0, 12.0]


def test_what_was_left_of_an_earlier_tape_does_not_count():
    x, sums, loss = leaf(1, 2, 3, 4), leaf(0, 0), scalar()
    for times in (1.0, 2.0, 3.0):
        sums.zero_()
        with wp.Tape() as tape:
            wp.launch(scatter, 4, inputs=[x, sums])
            wp.launch(total, 2, inputs=[sums, loss])
        tape.backward(loss)
        assert (grad(x), grad(sums)) == ([times] * 4, [1.0, 1.0])


@pytest.mark.parametrize("write", [by_fill, by_item, by_launch])
def test_seeds_that_differ_from_what_was_left_count(write):
    tape, x, sums, loss = sums_of_squares(looked_at=False)
    tape.backward(loss)
    tape.zero()
    write(sums, 1.0)
    tape.backward(loss)
    assert grad(x) == [9.0, 13.0] * 2
    x.grad.zero_()
    write(sums, 2.0)
    tape.backward(loss)
    assert grad(x) == [10.0, 14.0] * 2


def test_seeds_written_through_methods_count_even_if_they_are_what_was_left():
    x, sums, loss = leaf(1, 2, 3, 4), leaf(0, 0), scalar()
    with wp.Tape() as tape:
        wp.launch(scatter, 4, inputs=[x, sums])
        wp.launch(total, 4, inputs=[x, loss])
    for times in (1.0, 2.0):
        sums.grad.fill_(1.0)
        tape.backward(loss)
        assert (grad(x), grad(sums)) == ([2.0 * times] * 4, [1.0, 1.0])


def test_left_gradients_that_are_no_numbers_do_not_count():
    x, sums, loss = leaf(1, 2, 3, 4), leaf(0, 0), scalar()
    with wp.Tape() as tape:
        wp.launch(scatter, 4, inputs=[x, sums])
        wp.launch(total, 2, inputs=[sums, loss])
    tape.backward(grads={sums: wp.full(2, np.nan, dtype=float)})
    assert np.isnan(grad(sums)).all()
    x.grad.zero_()
    tape.backward(loss)
    assert grad(x) == [1.0] * 4


def test_gradients_left_in_a_view_of_a_gradient():
    x, y, loss = leaf(1, 2), leaf(0, 0, 0, 0), scalar()
    part = y[1:3]
    with wp.Tape() as tape:
        wp.launch(scatter, 2, inputs=[x, part])
        wp.launch(total, 2, inputs=[part, loss])
    for times in (1.0, 2.0, 3.0):
        tape.backward(loss)
        assert (grad(x), grad(y)) == ([times] * 2, [0.0, 1.0, 1.0, 0.0])


@wp.struct
class Sample:
    value: float
    count: int


@wp.kernel
def gather(x: wp.array(dtype=float), samples: wp.array(dtype=Sample), loss: wp.array(dtype=float)):
    i = wp.tid()
    s = samples[i]
    s.value = s.value + x[i]
    wp.atomic_add(loss, 0, s.value)


def test_gradients_of_structs():
    x, loss = leaf(1, 2), scalar()
    samples = wp.zeros(2, dtype=Sample, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(gather, 2, inputs=[x, samples, loss])
        samples.mark_write()
    for times in (1.0, 2.0):
        tape.backward(loss)
        assert grad(x) == [times] * 2
        assert samples.grad.numpy()["value"].tolist() == [1.0, 1.0]


# ----- graphs ---------------------------------------------------------------------------------------


def test_a_captured_backward_starts_from_what_is_held_in_every_run():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: ones(2)})
    x.grad.zero_()
    with wp.ScopedCapture() as capture:
        tape.backward()
    for times in (1.0, 2.0, 3.0):
        y.grad.fill_(1.0)
        wp.capture_launch(capture.graph)
        assert grad(x) == [2.0 * times, 4.0 * times]


def test_a_captured_backward_of_a_loss_does_not_count_what_its_last_run_left():
    tape, x, _, loss = sums_of_squares(looked_at=True)
    tape.backward(loss)
    x.grad.zero_()
    with wp.ScopedCapture() as capture:
        tape.backward(loss)
    for times in (1.0, 2.0):
        wp.capture_launch(capture.graph)
        assert grad(x) == [8.0 * times, 12.0 * times] * 2
    tape.backward(loss)
    assert grad(x) == [24.0, 36.0] * 2


def test_seeds_that_a_graph_could_not_tell_are_refused():
    tape, _, sums, loss = sums_of_squares(looked_at=True)
    tape.backward(loss)
    sums.grad.fill_(1.0)
    with pytest.raises(GradientError, match="holds seeds while a graph captures backward"), wp.ScopedCapture():
        tape.backward(loss)

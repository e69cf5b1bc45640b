"""Parameters that are set inside a tape: their gradients are those of the values that were set."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import GradientError


@wp.kernel
def squares(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def grow(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]


@wp.struct
class Part:
    x: wp.array(dtype=float)
    n: int


@wp.kernel
def squares_of_part(part: Part, loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, part.x[wp.tid()] * part.x[wp.tid()])


def parameters(**options):
    options = {"requires_grad": True, **options}
    return wp.ones(3, dtype=float, **options), wp.zeros(1, dtype=float, requires_grad=True)


SETTERS = {
    "assign": lambda x: x.assign([1.0, 2.0, 3.0]),
    "fill_": lambda x: x.fill_(2.0),
    "zero_": lambda x: x.zero_(),
    "part": lambda x: x[:2].assign([1.0, 2.0]),
    "item": lambda x: x.__setitem__(1, 5.0),
    "constant array": lambda x: wp.copy(x, wp.array([1.0, 2.0, 3.0], dtype=float)),
    "twice": lambda x: (x.fill_(7.0), x.assign([1.0, 2.0, 3.0])),
}


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("kernel", [squares, squares_of_part])
def test_the_gradient_is_that_of_the_values_that_were_set(setter, kernel):
    x, loss = parameters()
    with wp.Tape() as tape:
        loss.zero_()
        SETTERS[setter](x)
        wp.launch(kernel, 3, [x if kernel is squares else Part(x, 3), loss])
    for times in (1, 2):  # it adds up until `zero`, as gradients do of arrays that the tape only reads
        tape.backward(loss)
        assert x.grad.numpy().tolist() == (times * 2.0 * x.numpy()).tolist()
    tape.zero()
    tape.backward(loss)
    assert x.grad.numpy().tolist() == (2.0 * x.numpy()).tolist()


def test_a_loop_of_gradient_descent_that_sets_its_parameter_on_each_tape():
    x, loss = parameters()
    values = np.array([1.0, 2.0, 3.0])
    for _ in range(25):
        with wp.Tape() as tape:
            loss.zero_()
            x.assign(values)
            wp.launch(squares, 3, [x, loss])
        tape.backward(loss)
        values = values - 0.1 * x.grad.numpy()
        tape.zero()
    assert values == pytest.approx(np.array([1.0, 2.0, 3.0]) * 0.8**25, rel=1e-4)


def test_tangents_of_a_parameter_that_is_set_are_kept():
    x, loss = parameters()
    with wp.Tape() as tape:
        x.assign([1.0, 2.0, 3.0])
        wp.launch(squares, 3, [x, loss])
    assert wp.autograd.jvp(tape, tangents={x: np.array([1.0, 0.0, 1.0])})[loss].numpy()[0] == 8.0


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = 2.0 * x[wp.tid()]


def test_tangents_pass_through_a_copy_of_an_array_without_gradient_that_sets_a_parameter():
    start, values = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True), wp.zeros(3, dtype=float)
    x, loss = parameters()
    with wp.Tape() as tape:
        wp.launch(double, 3, [start, values])
        wp.copy(x, values)
        wp.launch(squares, 3, [x, loss])
    for along, expected in (({}, 16.0), ({x: np.array([1.0, 0.0, 0.0])}, 20.0)):  # x holds 2, 4, 6
        tangents = {start: np.array([0.0, 1.0, 0.0]), **along}
        assert wp.autograd.jvp(tape, tangents=tangents)[loss].numpy()[0] == expected
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [4.0, 8.0, 12.0] and not start.grad.numpy().any()


@wp.kernel
def squares_of_one(x: wp.array(dtype=float), other: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])


def test_a_launch_that_does_not_read_an_argument_does_not_use_it():
    x, loss = parameters()
    with wp.Tape() as tape:
        wp.launch(squares_of_one, 3, [wp.ones(3, dtype=float), x, loss])
        x.assign([1.0, 2.0, 3.0])
        wp.launch(squares_of_one, 3, [wp.ones(3, dtype=float), x, loss])
        x.assign([2.0, 3.0, 4.0])
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [4.0, 6.0, 8.0]


def test_a_part_that_is_read_and_the_rest_that_is_set():
    x, loss = parameters()
    with wp.Tape() as tape:
        wp.launch(squares, 2, [x[:2], loss])
        x[2:].fill_(5.0)
        x[:2].fill_(7.0)
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [2.0, 2.0, 10.0]


def test_a_part_that_is_set_after_a_constant_that_counts_has_no_gradient():
    x, loss = parameters()
    with wp.Tape() as tape:
        wp.launch(squares, 2, [x[:2], loss])
        x.fill_(5.0)
        x[2:].fill_(7.0)
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [2.0, 2.0, 0.0]
    assert wp.autograd.jvp(tape, tangents={x: np.array([0.0, 0.0, 1.0])})[loss].numpy()[0] == 0.0


def test_what_launches_write_is_set_on_purpose():
    """States that steps change in place."""
    x, loss = parameters()
    with wp.Tape() as tape:
        loss.fill_(0.0)
        x.assign([1.0, 2.0, 3.0])
        wp.launch(grow, 3, [x])
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert not x.grad.numpy().any() and not loss.grad.numpy().any()


def test_a_launch_that_is_not_recorded_sets_an_array_first_of_all_on_an_inner_tape_alone():
    x, loss = parameters()
    with wp.Tape() as outer:
        wp.launch(grow, 3, [x])
        with wp.Tape() as inner:
            wp.launch(grow, 3, [x], record_tape=False)
            wp.launch(squares, 3, [x, loss])
    inner.backward(loss)
    assert x.grad.numpy().tolist() == [8.0, 8.0, 8.0]
    inner.zero()
    outer.backward(loss)
    assert not x.grad.numpy().any()


def test_a_parameter_that_is_launched_on_later_is_none():
    x, loss = parameters()
    with wp.Tape() as tape:
        x.assign([1.0, 2.0, 3.0])
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    tape.zero()
    with tape:
        wp.launch(grow, 3, [x])
    tape.backward(loss)
    assert not x.grad.numpy().any()


def set_twice():
    x, loss = parameters()
    with wp.Tape() as tape:
        for value in (1.0, 2.0):
            x.fill_(value)
            wp.launch(squares, 3, [x, loss])
    return tape, x, loss


def test_a_gradient_of_several_values_is_refused_when_it_is_read():
    tape, x, loss = set_twice()
    tape.backward(loss)
    text = "(?s)set twice inside the tape.*test_constants.*an array for each"
    with pytest.raises(GradientError, match=text):
        x.grad  # noqa: B018 - reading it raises
    assert x not in tape.gradients
    tape.zero()
    assert not x.grad.numpy().any()


def test_a_gradient_of_several_values_is_refused_at_once_where_somebody_has_it():
    tape, x, loss = set_twice()
    x.grad.zero_()
    with pytest.raises(GradientError, match="set twice inside the tape"):
        tape.backward(loss)


def test_an_array_that_is_read_before_it_is_set_has_the_gradient_of_what_it_held():
    x, loss = parameters()
    with wp.Tape() as tape:
        wp.launch(squares, 3, [x, loss])
        x.assign([1.0, 2.0, 3.0])
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [2.0, 2.0, 2.0]


def test_an_array_that_gets_the_values_of_another_passes_the_gradient_on():
    x, loss = parameters()
    other = wp.array(np.arange(3.0), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        x.assign(other)
        wp.launch(squares, 3, [x, loss])
    tape.backward(loss)
    assert other.grad.numpy().tolist() == [0.0, 2.0, 4.0]

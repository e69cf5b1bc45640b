"""The warning of parameters that were set inside a tape, whose gradient is zero, and where there is none."""

import warnings

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import SetOnTapeWarning


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


def silent(tape, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SetOnTapeWarning)
        tape.backward(loss)


@pytest.mark.parametrize("method, value", (("assign", [1.0, 2.0, 3.0]), ("fill_", 2.0)))
def test_a_parameter_that_is_set_on_the_tape_is_told(method, value):
    x, loss = parameters()
    with wp.Tape() as tape:
        getattr(x, method)(value)
        wp.launch(squares, 3, [x, loss])
    text = r"(?s)argument 'x' of .*'squares'.*test_constants.*before the tape"
    with pytest.warns(SetOnTapeWarning, match=text) as caught:
        tape.backward(loss)
    assert len(caught) == 1 and not x.grad.numpy().any()
    tape.zero()
    silent(tape, loss)  # it is said once


def test_fields_and_views_are_told():
    x, loss = parameters()
    part = Part(x, 3)
    with wp.Tape() as tape:
        x[:2].assign([1.0, 2.0])
        wp.launch(squares_of_part, 3, [part, loss])
    with pytest.warns(SetOnTapeWarning, match="squares_of_part"):
        tape.backward(loss)
    assert x.grad.numpy().tolist() == [0.0, 0.0, 2.0]


def test_what_launches_write_is_set_on_purpose():
    """Sums that begin at zero, states that steps change in place."""
    x, loss = parameters()
    with wp.Tape() as tape:
        loss.fill_(0.0)
        x.assign([1.0, 2.0, 3.0])
        wp.launch(grow, 3, [x])
        wp.launch(squares, 3, [x, loss])
    silent(tape, loss)


@pytest.mark.parametrize("case", (
    "no gradient", "retain", "from an array", "read before", "unread", "outside", "empty",
))  # fmt: skip
def test_nothing_is_said_where_no_gradient_is_lost(case):
    options = {"no gradient": {"requires_grad": False}, "retain": {"retain_grad": True}}.get(case, {})
    x, loss = parameters(**options)
    other = wp.array(np.arange(3.0), dtype=float, requires_grad=True)
    if case == "outside":
        x.assign([1.0, 2.0, 3.0])
    with wp.Tape() as tape:
        if case in ("read before", "unread"):
            wp.launch(squares, 3, [x if case == "read before" else other, loss])
        if case != "outside":
            x.assign(other if case == "from an array" else [1.0, 2.0, 3.0])
        if case not in ("read before", "unread"):
            wp.launch(squares, 3, [x, loss])
            wp.launch(squares, 0 if case == "empty" else 3, [other, loss])
    if case == "empty":
        with pytest.warns(SetOnTapeWarning):
            tape.backward(loss)
    else:
        silent(tape, loss)
    if case == "from an array":
        assert other.grad.numpy().tolist() == [0.0, 4.0, 8.0]

"""Arrays made of arrays inside a tape: their gradient goes on, is shared, or is refused."""

import copy
import pickle

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import GradientError


@wp.kernel
def squares(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def double(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] * 2.0


@wp.struct
class Holder:
    x: wp.array(dtype=float)


def leaf():
    return wp.array([2.0, 3.0], dtype=float, requires_grad=True)


def gradient(make, x=None):
    """The gradient of x of the sum of squares of what is made of it on a tape."""
    x, loss = leaf() if x is None else x, wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        line = make(x).contiguous().flatten()
        wp.launch(squares, line.size, [line, loss])
    tape.backward(loss)
    return x.grad.numpy().tolist()


def shared(x):
    return wp.array(x, copy=False, requires_grad=True)


def given_a_gradient(x):
    y = wp.array(x, copy=False)
    y.requires_grad = True
    return y


def stored(store):
    """Into an array of three rows, from a list of x and a constant."""

    def make(x):
        y = wp.zeros((3, 2), dtype=float, requires_grad=True)
        store(y, [x, np.ones(2, np.float32)])
        return y

    return make


MAKERS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy in a dictionary": lambda x: copy.deepcopy({"x": x})["x"],
    "deepcopy of a view": lambda x: copy.deepcopy(x.reshape((2, 1)).T),
    "deepcopy of a selection": lambda x: copy.deepcopy(x[[0, 1]]),
    "copy of a struct": lambda x: copy.copy(Holder(x=x)).x,
    "deepcopy of a struct": lambda x: copy.deepcopy(Holder(x=x)).x,
    "constructor": lambda x: wp.array(x, requires_grad=True),
    "constructor of a selection": lambda x: wp.array(x[[0, 1]], requires_grad=True),
    "constructor of a list": lambda x: wp.array([x, np.ones(2, np.float32)], dtype=float, requires_grad=True),
    "constructor of nested lists": lambda x: wp.array([[x], [np.ones(2, np.float32)]], dtype=float, requires_grad=True),
    "same memory": shared,
    "same memory twice": lambda x: shared(shared(x)),
    "same memory, gradient later": given_a_gradient,
    "from_numpy": lambda x: wp.from_numpy(x, requires_grad=True),
    "to another device": lambda x: x.to("interp").to(x.device),
    "assigned list": stored(lambda y, parts: y[:2].assign(parts)),
    "set list": stored(lambda y, parts: y.__setitem__(slice(0, 2), parts)),
    "list into a selection": stored(lambda y, parts: y[[2, 0]].assign(parts)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_the_gradient_reaches_the_array(make):
    assert gradient(make) == [4.0, 6.0]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_a_copy_on_a_tape_starts_with_a_gradient_of_zeros(again):
    x = leaf()
    x.grad.fill_(5.0)
    assert again(x).grad.numpy().tolist() == [5.0, 5.0]
    with wp.Tape():
        assert again(x).grad.numpy().tolist() == [0.0, 0.0]
    assert gradient(again, x) == [9.0, 11.0]


def test_copies_go_their_own_ways():
    x, loss = leaf(), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y = copy.deepcopy(x)
        wp.launch(double, 2, [x])
        wp.launch(squares, 2, [y, loss])
    assert y.numpy().tolist() == [2.0, 3.0] and x.numpy().tolist() == [4.0, 6.0]
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [4.0, 6.0]


def test_the_same_memory_has_one_gradient():
    x = leaf()
    y = shared(x)
    assert (y.ptr, y.grad.ptr) == (x.ptr, x.grad.ptr)
    x.grad = wp.array([7.0, 8.0], dtype=float)
    assert y.grad.ptr == x.grad.ptr
    assert wp.array(x, copy=False).grad is None
    plain = wp.zeros(2, dtype=float)
    assert shared(plain).grad.ptr == plain.grad.ptr


def test_writes_through_the_same_memory_are_recorded():
    x, loss = leaf(), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(double, 2, [shared(x)])
        wp.launch(squares, 2, [x, loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [16.0, 24.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: wp.array(x, dtype=wp.float64, requires_grad=True),
        lambda x: wp.array([x], dtype=wp.vec2, requires_grad=True),
        lambda x: wp.from_numpy(x.reshape((1, 2)), requires_grad=True),
    ],
    ids=["conversion", "elements of lists", "vectors"],
)
def test_another_dtype_is_refused(make):
    with wp.Tape(), pytest.raises(GradientError, match="made of one of float32"):
        make(leaf())


CONSTANTS = {
    "numpy": lambda x: wp.from_numpy(x.numpy(), requires_grad=True),
    "elements": lambda x: wp.array([x[0], x[1]], dtype=float, requires_grad=True),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "no gradient": lambda x: wp.array(x),
}


@pytest.mark.cpu(reason="NumPy sees the memory")
@pytest.mark.parametrize("make", CONSTANTS.values(), ids=list(CONSTANTS))
def test_what_left_the_arrays_is_a_constant(make):
    assert gradient(make) == [0.0, 0.0]


def test_a_graph_copies_each_time():
    x, last = leaf(), wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.copy(last, copy.copy(x))
    x.assign([8.0, 9.0])
    wp.capture_launch(capture.graph)
    assert last.numpy().tolist() == [8.0, 9.0]

"""What a tape refuses, in which words."""

import threading

import pytest
from tape_programs import leaf, square

import warpsim as wp
from warpsim.errors import GradientError, TapeError


@pytest.fixture
def recorded():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    return tape, x, y


def refused(tape, kind, *texts, **arguments):
    with pytest.raises(kind) as error:
        tape.backward(**arguments)
    for text in texts:
        assert text in str(error.value)


def test_neither_loss_nor_gradients():
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[wp.ones(2, dtype=float), wp.ones(2, dtype=float)])
    refused(tape, GradientError, "backward got neither a loss nor gradients\nexpected: tape.backward(loss), ")


def test_a_loss_of_several_elements(recorded):
    cure = "help: sum into an array of one element"
    text = "loss has shape (2,)\nexpected: an array of one element\n"
    refused(recorded[0], GradientError, text, cure, loss=leaf(1, 2))


def test_a_loss_without_gradient(recorded):
    loss = wp.zeros(1, dtype=float)
    text = "loss has no gradient\nexpected: requires_grad=True\nhelp: wp.zeros(1, dtype=float, requires_grad=True)"
    refused(recorded[0], GradientError, text, loss=loss)


@pytest.mark.parametrize("dtype", [int, wp.vec3])
def test_a_loss_that_is_no_float(recorded, dtype):
    loss = wp.zeros(1, dtype=dtype, requires_grad=True)
    refused(recorded[0], GradientError, "loss has dtype ", "\nexpected: one float\n", loss=loss)


def test_a_loss_that_is_no_array(recorded):
    refused(recorded[0], GradientError, "loss is float\nexpected: an array of one float", loss=1.0)


def test_gradients_of_another_shape_or_dtype(recorded):
    tape, _, y = recorded
    text = "the gradient for array(shape=(2,), dtype=float32, device=cpu, requires_grad=True) is array(shape=(3,)"
    refused(tape, GradientError, text, "expected: the same shape and dtype", grads={y: wp.ones(3, dtype=float)})
    text = "is array(shape=(2,), dtype=float64, device=cpu)\nexpected: the same shape and dtype"
    refused(tape, GradientError, text, grads={y: wp.ones(2, dtype=wp.float64)})


def test_gradients_that_are_no_arrays(recorded):
    tape, _, y = recorded
    refused(tape, GradientError, "requires_grad=True) is list\nexpected: an array", grads={y: [1.0, 2.0]})
    refused(tape, GradientError, "grads has a key of type str\nexpected: arrays", grads={"y": y})
    refused(tape, GradientError, "grads is list\nexpected: a dict of arrays", grads=[y])


def test_gradients_of_integers(recorded):
    k = wp.zeros(2, dtype=int)
    refused(recorded[0], GradientError, "expected: an array of floats", grads={k: wp.zeros(2, dtype=int)})


def test_an_empty_tape():
    text = "nothing is recorded on this tape\nexpected: launches inside `with tape:`"
    refused(wp.Tape(), TapeError, text, loss=leaf(1))


def test_a_tape_inside_itself():
    tape = wp.Tape()
    with tape, pytest.raises(TapeError, match="this tape records already"):
        tape.__enter__()
    with pytest.raises(TapeError, match="a tape ends that does not record"):
        tape.__exit__(None, None, None)


def test_tapes_end_in_order():
    outer, inner = wp.Tape(), wp.Tape()
    with outer:
        inner.__enter__()
        with pytest.raises(TapeError, match="a tape ends that is not the innermost one\nexpected: "):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)


@pytest.mark.cpu(reason="other threads have the CPU as their device")
def test_a_tape_records_its_own_thread():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        worker = threading.Thread(target=lambda: wp.launch(square, 2, inputs=[x], outputs=[y]))
        worker.start()
        worker.join()
    assert tape.records == []


def test_a_kernel_without_backward():
    @wp.kernel(enable_backward=False)
    def fixed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i]

    x, y = leaf(1, 2), leaf(0, 0)
    with wp.Tape() as tape:
        wp.launch(fixed, 2, inputs=[x], outputs=[y])
    with pytest.warns(UserWarning, match="has enable_backward=False: backward passes it by") as told:
        tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert len(told) == 1 and f"launched at {__file__}:" in str(told[0].message)
    assert list(x.grad.numpy()) == [0, 0] and list(y.grad.numpy()) == [1, 1]


def test_gradients_that_came_after_the_launch():
    x, y = wp.ones(2, dtype=float), wp.zeros(2, dtype=float)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    x.requires_grad = True
    refused(
        tape,
        GradientError,
        "the arguments of kernel 'square' had no gradients when it was launched at ",
        "has one now\nexpected: requires_grad=True before the launch",
        grads={y: wp.ones(2, dtype=float)},
    )


def test_functions_and_arrays_of_record_func():
    tape = wp.Tape()
    with pytest.raises(TapeError, match="backward is int\nexpected: a function without arguments"):
        tape.record_func(3, [])
    with pytest.raises(TapeError, match="arrays holds str\nexpected: a list of arrays"):
        tape.record_func(lambda: None, ["x"])


def test_a_launch_recorded_afterwards_that_overwrote_what_it_needs():
    @wp.kernel
    def in_place(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * x[i]

    with pytest.raises(TapeError, match="overwrites what its gradient needs") as error:
        wp.Tape().record_launch(in_place, 2, 0, [leaf(1, 2)], [])
    assert "expected: a launch inside `with tape:`" in str(error.value)


def test_gradients_ask_for_arrays_of_the_tape(recorded):
    with pytest.raises(KeyError, match="has no gradient on this tape"):
        recorded[0].gradients[leaf(1)]


def test_gradients_of_a_struct_are_a_struct():
    @wp.struct
    class Inner:
        a: wp.array(dtype=float)

    @wp.struct
    class Outer:
        inner: Inner
        b: wp.array(dtype=float)
        scale: float

    @wp.kernel
    def product(s: Outer, out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = s.inner.a[i] * s.b[i] * s.scale

    s, out = Outer(scale=2.0), leaf(0, 0)
    s.inner.a, s.b = leaf(1, 2), leaf(3, 4)
    with wp.Tape() as tape:
        wp.launch(product, 2, [s], [out])
    tape.backward(grads={out: wp.ones(2, dtype=float)})
    assert list(tape.gradients[s].inner.a.numpy()) == [6, 8] and list(tape.gradients[s].b.numpy()) == [2, 4]
    tape.reset()
    assert list(tape.gradients[s].b.numpy()) == [0, 0]

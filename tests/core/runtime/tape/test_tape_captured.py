"""Tapes with recorded commands and captured graphs."""

import pytest
from tape_programs import grad, leaf, ones, square, square_in_place

import warpsim as wp
from warpsim.errors import TapeOverwriteError


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_commands_are_recorded_when_they_run(device):
    with wp.ScopedDevice(device):
        x, y = leaf(1, 2), leaf(0, 0)
        command = wp.launch(square, 2, inputs=[x, y], record_cmd=True)
        in_place = wp.launch(square_in_place, 2, inputs=[y], record_cmd=True)
        with wp.Tape() as tape:
            command.launch()
            in_place.launch()
        assert [r.kernel for r in tape.launches] == [square, square_in_place]
        assert tape.launches[0].place.file == __file__
        tape.backward(grads={y: ones(2)})
        assert grad(x) == [4.0, 32.0]


def test_a_graph_is_recorded_when_it_runs():
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.ScopedCapture() as capture:
        wp.copy(y, x)
        wp.launch(square_in_place, 2, inputs=[y])
        y[1:] = 3.0
    with wp.Tape() as tape:
        wp.capture_launch(capture.graph)
        wp.launch(square_in_place, 2, inputs=[y])
    assert y.numpy().tolist() == [1.0, 9.0]
    tape.backward(grads={y: ones(2)})
    assert grad(x) == [4.0, 0.0]


@pytest.mark.parametrize("what", ["launch of kernel 'square_in_place'", "fill_", "wp.utils.array_scan"])
def test_a_graph_that_overwrites_outside_the_tape_is_noticed(what):
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.ScopedCapture() as capture:
        if what == "fill_":
            x.fill_(3.0)
        elif what.startswith("wp"):
            wp.utils.array_scan(x, x)
        else:
            wp.launch(square_in_place, 2, inputs=[x])
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    wp.capture_launch(capture.graph)
    with pytest.raises(TapeOverwriteError, match=f"changed by {what} at {__file__}:"):
        tape.backward(grads={y: ones(2)})


def test_a_command_that_overwrites_outside_the_tape_is_noticed():
    x, y = leaf(1, 2), leaf(0, 0)
    command = wp.launch(square_in_place, 2, inputs=[x], record_cmd=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    command.launch()
    with pytest.raises(TapeOverwriteError, match="launch of kernel 'square_in_place'"):
        tape.backward(grads={y: ones(2)})


def test_adjoint_commands_are_no_concern_of_tapes():
    x, y = leaf(1, 2), leaf(0, 0)
    command = wp.launch(square, 2, inputs=[x, y], adjoint=True, record_cmd=True)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
        y.grad.fill_(1.0)
        command.launch()
    assert len(tape.launches) == 1
    assert grad(x) == [2.0, 4.0]


def test_a_captured_backward_runs_again():
    x, y = leaf(1, 2), leaf(0, 0)
    seed = ones(2)
    with wp.Tape() as tape:
        wp.launch(square, 2, inputs=[x], outputs=[y])
    tape.backward(grads={y: seed})
    with wp.ScopedCapture() as capture:
        tape.backward(grads={y: seed})
    assert grad(x) == [2.0, 4.0]
    seed.fill_(10.0)
    wp.capture_launch(capture.graph)
    assert grad(x) == [22.0, 44.0]

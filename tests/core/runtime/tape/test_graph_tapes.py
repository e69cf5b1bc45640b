"""Tapes and graphs in each other: what is captured where, launched where, and reversed where."""

import gc

import numpy as np
import pytest
from graph_programs import check
from tape_programs import grad, leaf, ones, square, square_in_place, total

import warpsim as wp
from warpsim.errors import TapeError, TapeOverwriteError

SAMPLE = 250


def seeded(y):
    return {y: ones(y.size)}


def test_a_capture_inside_a_tape_is_recorded_when_it_is_launched():
    x, y = leaf(3), leaf(0)
    with wp.Tape() as tape:
        with wp.ScopedCapture() as capture:
            wp.copy(y, x)
            wp.launch(square_in_place, 1, inputs=[y])
        assert tape.records == []
        wp.capture_launch(capture.graph)
    assert len(tape.records) == 2
    tape.backward(grads=seeded(y))
    assert (y.numpy()[0], grad(x)) == (9.0, [6.0])


def test_a_graph_that_is_launched_twice_is_recorded_twice():
    x = leaf(3)
    with wp.Tape() as tape:
        with wp.ScopedCapture() as capture:
            wp.launch(square_in_place, 1, inputs=[x])
        for _ in range(2):
            wp.capture_launch(capture.graph)
    tape.backward(grads=seeded(x))
    assert (x.numpy()[0], grad(x)) == (81.0, [108.0])


def test_a_tape_that_saw_only_the_capture_is_empty():
    x, y = leaf(3), leaf(0)
    with wp.Tape() as tape, wp.ScopedCapture() as capture:
        wp.copy(y, x)
        wp.launch(square_in_place, 1, inputs=[y])
    wp.capture_launch(capture.graph)
    assert y.numpy()[0] == 9.0
    with pytest.raises(TapeError, match="help: a graph is recorded when it is launched there"):
        tape.backward(grads=seeded(y))


@pytest.mark.parametrize("times", [1, 3])
def test_a_tape_and_its_backward_in_a_capture(times):
    """The usual form of a training step."""
    x, y, loss = leaf(1, 2), leaf(0, 0), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.ScopedCapture() as capture:
        tape = wp.Tape()
        with tape:
            loss.zero_()
            wp.copy(y, x)
            wp.launch(square_in_place, 2, inputs=[y])
            wp.launch(square_in_place, 2, inputs=[y])
            wp.launch(total, 2, inputs=[y, loss])
        tape.backward(loss)
    for k in range(times):
        x.assign([1.0 + k, 2.0])
        tape.zero()
        wp.capture_launch(capture.graph)
        assert grad(x) == [4.0 * (1.0 + k) ** 3, 32.0]
        assert loss.numpy()[0] == (1.0 + k) ** 4 + 16.0
    tape.zero()
    tape.backward(loss)  # of the last launch
    assert grad(x) == [4.0 * times**3, 32.0]


def test_a_graph_with_its_own_tape_runs_in_one_piece():
    gc.collect()  # tapes of other tests, while they live, want to be told of every step
    x, y = leaf(1, 2), leaf(0, 0)
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            wp.launch(square, 2, inputs=[x, y])
            wp.launch(square_in_place, 2, inputs=[y])
        tape.backward(grads=seeded(y))
    wp.capture_launch(capture.graph)
    assert capture.graph.batches is not None
    assert grad(x) == [4.0, 32.0]


def test_a_tape_of_a_capture_holds_nothing_before_the_graph_runs():
    x, y = leaf(3), leaf(0)
    with wp.ScopedCapture() as capture, wp.Tape() as tape:
        wp.launch(square, 1, inputs=[x, y])
    with pytest.raises(TapeError, match="and the graph has not run since"):
        tape.backward(grads=seeded(y))
    x.fill_(4.0)  # before the launch: no matter
    wp.capture_launch(capture.graph)
    tape.backward(grads=seeded(y))
    assert grad(x) == [8.0]
    x.fill_(5.0)
    with pytest.raises(TapeOverwriteError, match="changed by fill_"):
        tape.backward(grads=seeded(y))
    tape.zero()
    wp.capture_launch(capture.graph)
    tape.backward(grads=seeded(y))
    assert grad(x) == [10.0]


def test_what_a_capture_overwrites_before_its_backward_is_noticed():
    x, y = leaf(3), leaf(0)
    with wp.ScopedCapture():
        with wp.Tape() as tape:
            wp.launch(square, 1, inputs=[x, y])
        x.fill_(1.0)
        with pytest.raises(TapeOverwriteError, match="changed by fill_"):
            tape.backward(grads=seeded(y))


@pytest.mark.parametrize("inside", [False, True])
def test_what_is_overwritten_before_a_captured_backward_runs_is_noticed(inside):
    x, y = leaf(3), leaf(0)
    with wp.Tape() as tape:
        wp.launch(square, 1, inputs=[x, y])
    with wp.ScopedCapture() as capture:
        if inside:
            x.fill_(1.0)
        tape.backward(grads=seeded(y))
    if not inside:
        wp.capture_launch(capture.graph)
        assert grad(x) == [6.0]
        x.fill_(1.0)
    with pytest.raises(TapeOverwriteError, match="changed by fill_"):
        wp.capture_launch(capture.graph)


def test_a_captured_backward_outlives_its_tape_and_arrays():
    result = wp.zeros(1000, dtype=float)

    def captured():
        x, y, z = (wp.full(1000, 3.0, requires_grad=True) for _ in range(3))
        with wp.Tape() as tape:
            wp.launch(square, 1000, inputs=[x, y])
            wp.launch(square_in_place, 1000, inputs=[y])
            wp.launch(square, 1000, inputs=[y, z])
            y.fill_(1.0)
        with wp.ScopedCapture() as capture:
            tape.backward(grads={z: ones(1000)})
            wp.copy(result, x.grad)
        return capture.graph

    graph = captured()
    gc.collect()
    junk = [wp.full(1000, -1.0) for _ in range(100)]
    wp.capture_launch(graph)
    assert (result.numpy() == 8.0 * 3.0**7).all()
    assert len(junk) == 100


def test_one_tape_is_for_one_time():
    x, y = leaf(3), leaf(0)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y])
    with wp.ScopedCapture(), pytest.raises(TapeError, match="recorded outside of this capture"), tape:
        pass
    tape.reset()
    with wp.ScopedCapture(), tape:
        wp.launch(square, 1, inputs=[x, y])
    with pytest.raises(TapeError, match="recorded while a graph was captured"), tape:
        pass
    tape.reset()
    with tape, wp.ScopedCapture(), pytest.raises(TapeError, match="records already"), tape:
        pass


def test_a_tape_ends_before_the_capture_it_began_in():
    wp.capture_begin()
    tape = wp.Tape()
    tape.__enter__()
    with pytest.raises(TapeError, match="a tape that began in the capture records still"):
        wp.capture_end()
    with pytest.raises(TapeError, match="does not record"):
        tape.__exit__(None, None, None)
    with wp.ScopedCapture() as capture:
        pass
    assert capture.graph.steps == []


def test_launches_that_tapes_are_not_to_record_stay_so_in_graphs():
    x, y, z = leaf(3), leaf(0), leaf(0)
    command = wp.launch(square, 1, inputs=[x, z], record_cmd=True, record_tape=False)
    with wp.ScopedCapture() as capture:
        wp.launch(square, 1, inputs=[x, y], record_tape=False)
        command.launch()
    with wp.Tape() as tape:
        wp.capture_launch(capture.graph)
        command.launch()
    assert tape.records == []
    assert (y.numpy()[0], z.numpy()[0]) == (9.0, 9.0)


def test_a_command_on_a_tape_of_a_capture():
    x, y = leaf(3), leaf(0)
    command = wp.launch(square, 1, inputs=[x, y], record_cmd=True)
    with wp.ScopedCapture() as inner:
        wp.launch(square_in_place, 1, inputs=[y])
    with wp.ScopedCapture() as capture:
        with wp.Tape() as tape:
            command.launch()
            wp.capture_launch(inner.graph)
        tape.backward(grads=seeded(y))
    wp.capture_launch(capture.graph)
    assert (y.numpy()[0], grad(x)) == (81.0, [108.0])


def test_an_array_made_of_another_in_a_capture_is_made_by_the_graph():
    x, out = leaf(1, 2), wp.zeros(2, dtype=float)
    with wp.ScopedCapture() as capture:
        made = wp.array(x, dtype=float)
        wp.copy(out, made)
    x.fill_(5.0)
    wp.capture_launch(capture.graph)
    assert out.numpy().tolist() == [5.0, 5.0]


@pytest.mark.cpu(reason="chooses its devices")
@pytest.mark.parametrize(("device", "share"), [("cpu", 1), ("interp", 8)])
def test_random_programs(device, share, capsys):
    with wp.ScopedDevice(device):
        refused = sum(check(seed) for seed in range(0, SAMPLE, share))
    assert 0 < refused < SAMPLE // share // 3
    with capsys.disabled():
        print(f" {SAMPLE // share} programs of graphs and tapes on {device}, {refused} refused")


def test_random_programs_on_the_current_device():
    assert np.mean([check(seed) for seed in range(1000, 1040)]) < 0.25

"""Branches and loops by what arrays hold: at once, in graphs, in graphs of graphs, and under tapes."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError, LaunchError

DEVICES = ("cpu", "interp")


@wp.kernel
def scale(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] = by * x[i]


@wp.kernel
def count_down(n: wp.array(dtype=int)):
    n[0] = n[0] - 1


def choose(n, x, device):
    wp.capture_if(
        n, lambda: wp.launch(scale, 2, [x, 2.0], device=device), lambda: wp.launch(scale, 2, [x, 10.0], device=device)
    )


def run_down(n, x, device):
    def body(by):
        wp.launch(scale, 2, [x, by], device=device)
        wp.launch(count_down, 1, [n], device=device)

    wp.capture_while(n, body, by=3.0)


@pytest.mark.parametrize("device", DEVICES)
def test_at_once(device):
    n, x = wp.array([1], dtype=int, device=device), wp.array([1.0, 2.0], dtype=float, device=device)
    choose(n, x, device)
    n.zero_()
    choose(n, x, device)
    assert list(x.numpy()) == [20, 40]
    n.fill_(3)
    run_down(n, x, device)
    assert list(x.numpy()) == [540, 1080] and n.numpy()[0] == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("nested", [False, True])
def test_a_graph_decides_each_time_it_runs(device, nested):
    n, x = wp.array([0], dtype=int, device=device), wp.array([1.0, 2.0], dtype=float, device=device)
    with wp.ScopedCapture(device=device) as capture:
        choose(n, x, device)
        run_down(n, x, device)
    graph = capture.graph
    if nested:
        with wp.ScopedCapture(device=device) as outer:
            wp.capture_launch(graph)
        graph = outer.graph
    assert list(x.numpy()) == [1, 2], "nothing runs while it is captured"
    for count, factor in ((0, 10), (1, 6), (3, 54)):
        x.assign([1.0, 2.0])
        n.fill_(count)
        wp.capture_launch(graph)
        assert list(x.numpy()) == [factor, 2 * factor]


@pytest.mark.parametrize("device", DEVICES)
def test_branches_may_be_graphs_and_hold_branches(device):
    n, m = (wp.array([1], dtype=int, device=device) for _ in range(2))
    x = wp.array([1.0, 2.0], dtype=float, device=device)
    with wp.ScopedCapture(device=device) as doubled:
        wp.launch(scale, 2, [x, 2.0], device=device)
    with wp.ScopedCapture(device=device) as capture:
        wp.capture_if(n, lambda: wp.capture_if(m, doubled.graph, lambda: x.fill_(5.0)))
    wp.capture_launch(capture.graph)
    assert list(x.numpy()) == [2, 4]
    m.zero_()
    wp.capture_launch(capture.graph)
    assert list(x.numpy()) == [5, 5]
    n.zero_()
    wp.capture_launch(capture.graph)
    assert list(x.numpy()) == [5, 5]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("captured", [False, True])
def test_gradients_follow_the_branch_that_ran(device, captured):
    n = wp.array([2], dtype=int, device=device)
    x = wp.array([1.0, 2.0], dtype=float, device=device, requires_grad=True)
    with wp.ScopedCapture(device=device) as capture:
        run_down(n, x, device)
        choose(n, x, device)
    with wp.Tape() as tape:
        if captured:
            wp.capture_launch(capture.graph)
        else:
            run_down(n, x, device)
            choose(n, x, device)
    tape.backward(grads={x: wp.ones(2, dtype=float, device=device)})
    assert list(x.numpy()) == [90, 180] and list(x.grad.numpy()) == [90, 90]


def test_a_tape_in_the_capture_is_refused():
    n, x = wp.array([1], dtype=int), wp.array([1.0, 2.0], dtype=float)
    with pytest.raises(LaunchError, match="a branch of a graph inside a tape"), wp.ScopedCapture(), wp.Tape():
        choose(n, x, None)


def test_conditions_are_arrays_of_integers():
    for wrong in (True, None, np.ones(1), wp.ones(1, dtype=float), wp.zeros(0, dtype=int)):
        with pytest.raises(ArgumentTypeError, match="an array of one integer"):
            wp.capture_if(wrong, None)
    assert wp.is_conditional_graph_supported()

"""Profiles of tapes and graphs: adjoints by the launches that they reverse, steps of graphs, and the same results."""

import inspect
import itertools

import numpy as np
import pytest

import warpsim as wp
from warpsim.autograd import hvp

pytestmark = pytest.mark.cpu
N = 2000


@wp.kernel
def advance(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 0.1 * wp.sin(x[i])


@wp.kernel
def energy(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def gather(x: wp.array(dtype=float), order: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[order[i]]


def floats(value=0.5, grad=True):
    return wp.full(N, value, dtype=float, requires_grad=grad)


def counts(profile):
    totals = {}
    for one in profile.report.launches:
        totals[one.kernel] = totals.get(one.kernel, 0) + one.count
    return totals


def block(profile, kind):
    return [one for one in profile.report.blocks if one.kind == kind]


def chain(steps):
    """States of a chain of launches, and a loss."""
    return [floats() for _ in range(steps + 1)], wp.zeros(1, dtype=float, requires_grad=True)


def record(states, loss):
    with wp.Tape() as tape:
        for x, y in itertools.pairwise(states):
            wp.launch(advance, N, inputs=[x, y])
        wp.launch(energy, N, inputs=[states[-1], loss])
    return tape


def test_adjoints_stand_where_their_launches_were_called():
    states, loss = chain(6)
    first = inspect.getsourcelines(record)[1]
    with wp.profile(print=False) as profile:
        tape = record(states, loss)
        tape.backward(loss)
    assert counts(profile) == {"advance": 6, "energy": 1, "advance (adjoint)": 6, "energy (adjoint)": 1}
    lines = {one.kernel: one.line - first for one in profile.report.launches}
    assert lines == {"advance": 3, "advance (adjoint)": 3, "energy": 4, "energy (adjoint)": 4}
    assert sum(one.count for one in block(profile, "recording")) == 7
    [backward] = block(profile, "backward")
    adjoints = sum(one.total for one in profile.report.launches if "adjoint" in one.kernel)
    assert backward.count == 1 and backward.own + adjoints <= backward.total + 1e-9
    assert profile.report.parts["adjoint launches"] == pytest.approx(adjoints)


def test_a_backward_that_was_prepared_before_is_counted_too():
    states, loss = chain(3)
    tape = record(states, loss)
    tape.backward(loss)
    expected = states[0].grad.numpy().copy()
    tape.zero()
    with wp.profile(print=False) as profile:
        tape.backward(loss)
    assert counts(profile) == {"advance (adjoint)": 3, "energy (adjoint)": 1}
    assert states[0].grad.numpy().tobytes() == expected.tobytes()


def test_checkpointed_loops_are_counted_step_by_step():
    x, y, loss = floats(), floats(), wp.zeros(1, dtype=float, requires_grad=True)
    steps = 12

    def step(k):
        wp.launch(advance, N, inputs=[x, y])
        wp.copy(x, y)

    with wp.profile(print=False) as profile:
        with wp.Tape() as tape:
            wp.checkpoint(step, [x, y], steps)
            wp.launch(energy, N, inputs=[x, loss])
        tape.backward(loss)
    launches = counts(profile)
    assert launches["advance (adjoint)"] == steps and launches["energy (adjoint)"] == 1
    assert launches["advance"] >= 2 * steps  # once forward, and at least once again


def test_second_order_is_counted():
    x, loss = floats(), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(energy, N, inputs=[x, loss])
    with wp.profile(print=False) as profile:
        products = hvp(tape, loss=loss, vector={x: wp.ones(N, dtype=float)})
    assert np.allclose(products[x].numpy(), 2.0)
    assert sum(counts(profile).values()) >= 2 and all(name.startswith("energy (") for name in counts(profile))


# ----- graphs ---------------------------------------------------------------------------------------


def graph_of(x, y, z, order):
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(advance, N, inputs=[x, y])
        wp.launch(advance, N, inputs=[y, x])
        wp.launch(gather, N, inputs=[x, order, z])
        wp.copy(y, z)
        wp.launch(advance, N, inputs=[y, x])
    return capture.graph


@pytest.mark.parametrize("captured_inside", [False, True])
def test_graphs_are_timed_step_by_step_without_changing_results(captured_inside):
    order = wp.array(np.random.default_rng(0).permutation(N), dtype=int)
    plain, watched = ([floats(0.1, False), floats(0.2, False), floats(0.3, False)] for _ in range(2))
    other = graph_of(*plain, order)
    for _ in range(5):
        wp.capture_launch(other)
    graph = None if captured_inside else graph_of(*watched, order)
    with wp.profile(print=False) as profile:
        graph = graph or graph_of(*watched, order)
        for _ in range(5):
            wp.capture_launch(graph)
    for a, b in zip(plain, watched, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()
    [whole] = block(profile, "graph")
    assert whole.count == 5 and whole.total >= sum(one.total for one in profile.report.launches)
    loops = {one.kernel: one.count for one in profile.report.launches if "one loop" in one.kernel}
    assert loops == {"2 x advance (one loop)": 5}  # as `graph.report` says
    assert {n: c for n, c in counts(profile).items() if n not in loops} == {"gather": 5, "advance": 5}
    assert [one.count for one in block(profile, "step")] == [5]
    first = inspect.getsourcelines(graph_of)[1]
    if captured_inside:
        assert {one.line - first for one in profile.report.launches if one.kernel != "advance"} == {2, 4}


def test_a_graph_runs_as_before_after_a_profile():
    x, y, z = floats(0.1, False), floats(0.2, False), floats(0.3, False)
    graph = graph_of(x, y, z, wp.array(np.arange(N), dtype=int))
    with wp.profile(print=False):
        wp.capture_launch(graph)
    wp.capture_launch(graph)
    assert graph.batches is not None and len(graph.batches) == 1  # all of it is native


def test_a_graph_with_a_loop_in_it_is_counted():
    x, y = floats(0.1, False), floats(0.2, False)
    left = wp.array([3], dtype=int)

    @wp.kernel
    def count_down(n: wp.array(dtype=int)):
        n[0] = n[0] - 1

    def body():
        wp.launch(advance, N, inputs=[x, y])
        wp.launch(count_down, 1, inputs=[left])

    with wp.ScopedCapture(device="cpu") as capture:
        wp.capture_while(left, body)
    with wp.profile(print=False) as profile:
        wp.capture_launch(capture.graph)
    assert left.numpy()[0] == 0
    assert sum(one.count for one in profile.report.launches if one.kernel.startswith("advance")) == 3
    assert [one.name for one in block(profile, "step")] == ["capture_while"]

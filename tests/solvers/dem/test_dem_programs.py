"""Grains inside larger programs: steps in graphs, with tapes around them, and in loops with checkpoints."""

import numpy as np
import pytest
from grain_scenes import heap

import warpsim as wp
from warpsim.errors import CheckpointError, KernelAssertionError, StateError

OPTIONS = {"rolling": "spring", "skin": 1.0e-3}  # short margins: lists are built anew within few steps
DT, STEPS = 2.0e-4, 20


def numbers(state):
    return {name: a.numpy() for name, a in state.arrays.items()}


def stepped(model, solver, steps=STEPS):
    """A state after steps that the host makes one by one."""
    state = model.state()
    for _ in range(steps):
        solver.step(state, state, dt=DT)
    return state


def test_steps_of_a_graph_have_the_bits_of_steps_by_the_host():
    model, solver = heap(**OPTIONS)
    expected = numbers(stepped(model, solver))
    assert solver.neighbours.builds > 2
    solver.reset()
    state = model.state()
    with wp.ScopedCapture() as capture:
        solver.step(state, state, dt=DT)
    for _ in range(STEPS):
        wp.capture_launch(capture.graph)
    for name, values in numbers(state).items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def test_a_graph_that_needs_longer_lists_fails_and_reads_nothing_outside():
    model, solver = heap(**OPTIONS)
    state = model.state()
    with pytest.raises(StateError, match=r"no room\nhelp: call solver.reserve\(pairs\) before"), wp.ScopedCapture():
        solver.step(state, state, dt=DT)
    solver.reserve(10)
    with wp.ScopedCapture() as capture:
        solver.step(state, state, dt=DT)
    with pytest.raises(KernelAssertionError, match=r"more neighbours than a graph has room for; help: solver.reserve"):
        wp.capture_launch(capture.graph)
    assert (solver.neighbours.rows.offsets.numpy() <= solver.neighbours.rows.capacity).all()
    with pytest.raises(StateError, match=r"lists of 10 pairs are too short for 100, and a graph holds them"):
        solver.reserve(100)
    del capture
    solver.reset()
    solver.reserve(100)
    solver.step(state, state, dt=DT)
    assert solver.contact_count > 10


class Rollout:
    """Gradients of the grains' height after some steps, by `way`: "tape", "graph" or "checkpoint"."""

    def __init__(self, way, **options):
        model, solver = heap(requires_grad=True, **OPTIONS)
        state, control = model.state(), solver.resting
        solver.reserve(400)
        loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)

        def step(k):
            solver.step(state, state, dt=DT)

        if way == "graph":
            with wp.ScopedCapture() as capture:
                step(0)
        with wp.Tape() as tape:
            if way == "checkpoint":
                kept = [*state.arrays.values(), *solver.history]
                self.report = wp.checkpoint(step, kept, STEPS, scratch=solver.scratch, **options)
            for k in range(STEPS if way != "checkpoint" else 0):
                wp.capture_launch(capture.graph) if way == "graph" else step(k)
            wp.launch(add_heights, model.particle_count, [state.particle_q, loss])
        self.end = state.particle_q.numpy()
        tape.backward(loss)
        inputs = [state.particle_q, state.particle_qd, control.gravity, model.shape_mu, solver.materials.friction]
        self.gradients = [a.grad.numpy() for a in inputs]
        self.bytes = sum(a._data.nbytes for a in (*state.arrays.values(), *solver.history))


@wp.kernel
def add_heights(q: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, q[i][1] * q[i][1] + q[i][0])


@pytest.fixture(scope="module")
def full_tape():
    return Rollout("tape")


@pytest.mark.parametrize(
    ("way", "options"), [("graph", {}), ("checkpoint", {}), ("checkpoint", {"schedule": "binomial", "slots": 3})]
)
def test_graphs_and_checkpoints_have_the_gradients_of_full_tapes(full_tape, way, options):
    """Lists are built anew on the way, so the replays must build them at the same steps."""
    found = Rollout(way, **options)
    np.testing.assert_array_equal(found.end, full_tape.end)
    for mine, expected in zip(found.gradients, full_tape.gradients, strict=True):
        np.testing.assert_array_equal(mine, expected)
        assert np.abs(expected).max() > 0.0


def test_a_checkpointed_loop_keeps_few_states():
    report = Rollout("checkpoint", schedule="binomial", slots=3).report
    assert report.state_bytes > 0 and report.slots == 3
    assert report.peak_states < 3 + 12  # three that are kept, and what a tape copies of one step of two substeps


def test_lists_do_not_grow_in_a_loop_with_checkpoints():
    model, solver = heap(requires_grad=True, **OPTIONS)
    state = model.state()
    kept = [*state.arrays.values(), *solver.history]
    with pytest.raises(CheckpointError, match=r"make room with solver.reserve\(\) before the loop"), wp.Tape():
        wp.checkpoint(lambda k: solver.step(state, state, dt=DT), kept, 3, scratch=solver.scratch)

"""How much memory a checkpointed loop takes: what its report says, and what the allocator saw."""

import gc
import tracemalloc

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, equal, floats, loss_array, square_sum, swing

import warpsim as wp
from warpsim.core.runtime.rollout.schedules import Store, binomial

pytestmark = pytest.mark.cpu(reason="counts memory of the host")


def long_loop(steps, schedule=None, **options):
    """Gradients after a loop with a loss at its end, and the report."""
    x, v, stiffness, loss, report = floats(8), floats(8, 1), floats(8, 2), loss_array(), None
    step = lambda k: wp.launch(swing, 8, inputs=[x, v, stiffness, 0.01])  # noqa: E731
    with wp.Tape() as tape:
        if schedule is None:
            for k in range(steps):
                step(k)
        else:
            report = wp.checkpoint(step, [x, v], steps, parameters=[stiffness], schedule=schedule, **options)
        wp.launch(square_sum, 8, inputs=[x, loss])
    tape.backward(loss)
    return [a.grad.numpy().copy() for a in (x, v, stiffness)], report


@pytest.fixture(scope="module")
def ten_thousand():
    """Gradients of 10,000 steps, from a tape that recorded them all."""
    return long_loop(10_000)[0]


@pytest.mark.parametrize(
    ("schedule", "slots", "states", "replayed"),
    [("sqrt", None, 202, 0), ("binomial", None, 17, 36_129), ("binomial", 140, 143, 9_860)],
)
def test_ten_thousand_steps(ten_thousand, schedule, slots, states, replayed):
    gradients, report = long_loop(10_000, schedule, slots=slots)
    assert equal(gradients, ten_thousand)
    assert all(np.isfinite(g).all() and np.any(g) for g in gradients)
    assert report.peak_states <= states < 250
    assert report.replayed <= replayed
    assert report.state_bytes == 2 * 8 * 4
    assert report.kept_bytes == report.slots * report.state_bytes


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_allocator_agrees(schedule):
    long_loop(4, schedule)  # compiles
    system = Pendulums(4096)
    tracemalloc.start()
    try:
        with wp.Tape() as tape:
            report = system.run(400, schedule)
        first = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        tape.backward(system.loss)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    state = 2 * 4096 * 4
    assert report.slots * state <= first <= report.slots * state + 2 * state
    # What Python itself allocates meanwhile, modules among it, depends on the tests before; another state a step or
    # a slot more would be 20 to 400 states.
    assert report.peak_bytes <= peak <= 1.2 * report.peak_bytes + 4 * state


def test_the_report_counts_steps_and_states():
    _, report = long_loop(20, "binomial", slots=3)
    # kept, put aside, and one array of two copied while a step is recorded
    assert (report.steps, report.slots, report.peak_states) == (20, 3, 3 + 1 + 0.5)
    # 3 * 20 - beta(4, 2) in all, 19 of them in the first run, and again from the last kept state to the last step
    last = [action.step for action in binomial(20, 3) if isinstance(action, Store)][2]
    assert report.replayed == 60 - 15 - 19 + (19 - last)


def test_memory_is_free_after_reset():
    """At once, without the garbage collector."""
    system = Pendulums(4096)
    gc.disable()
    tracemalloc.start()
    try:
        with wp.Tape() as tape:
            report = system.run(100, "sqrt")
        tape.backward(system.loss)
        held = tracemalloc.get_traced_memory()[0]
        tape.reset()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held - left >= 0.95 * report.kept_bytes

"""What steps of a checkpointed loop may do: gradients stay those of a tape that recorded every step."""

import gc

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, curve, equal, floats, loss_array, nudge, square_sum, swing

import warpsim as wp
from warpsim.optim.linear import cg

both_schedules = pytest.mark.parametrize("schedule", SCHEDULES)


def there_and_back(schedule, make_step, steps=12, **declared):
    """Gradient of x after a loop of steps with a loss at the end."""
    x, loss = floats(4), loss_array()
    step = make_step(x, loss)
    with wp.Tape() as tape:
        if schedule is None:
            for k in range(steps):
                step(k)
        else:
            wp.checkpoint(step, [x], steps, schedule=schedule, **declared)
        wp.launch(square_sum, 4, inputs=[x, loss])
    tape.backward(loss)
    return [x.grad.numpy().copy(), x.numpy().copy(), loss.numpy().copy()]


@both_schedules
def test_scratch_arrays(schedule):
    y = floats(4, requires_grad=True)

    def make(x, loss):
        def step(k):
            wp.launch(curve, 4, inputs=[x], outputs=[y])
            wp.launch(nudge, 4, inputs=[y], outputs=[x])

        return step

    assert equal(there_and_back(schedule, make, scratch=[y]), there_and_back(None, make))


@both_schedules
def test_copies_and_assignments(schedule):
    y = floats(4)

    def make(x, loss):
        def step(k):
            wp.launch(curve, 4, inputs=[x], outputs=[y])
            wp.copy(x, y)
            x[0:1].fill_(0.5)

        return step

    assert equal(there_and_back(schedule, make, scratch=[y]), there_and_back(None, make))


@both_schedules
@pytest.mark.parametrize("first", [0, 1, 5])
def test_a_graph_captured_in_a_step_and_launched_in_later_ones(schedule, first):
    """As solvers do that replay what they have done before."""
    y = floats(4, requires_grad=True)

    def make(x, loss):
        graphs = []

        def launches():
            wp.launch(curve, 4, inputs=[x], outputs=[y])
            wp.launch(nudge, 4, inputs=[y], outputs=[x])

        def step(k):
            if k < first and not graphs:
                return launches()
            if not graphs:
                with wp.ScopedCapture() as capture:
                    launches()
                graphs.append(capture.graph)
            return wp.capture_launch(graphs[0])

        return step

    made = there_and_back(None, make)
    assert np.abs(made[0]).max() > 0.0
    assert equal(there_and_back(schedule, make, scratch=[y]), made)


@both_schedules
def test_arrays_made_in_a_step_and_dropped(schedule, monkeypatch):
    def make(x, loss):
        def step(k):
            y = wp.zeros_like(x)
            wp.launch(curve, 4, inputs=[x], outputs=[y])
            wp.launch(nudge, 4, inputs=[y], outputs=[x])

        return step

    expected = there_and_back(None, make)
    collected = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(1))
    assert equal(there_and_back(schedule, make), expected)
    assert collected == []  # they go at once


@wp.kernel
def trace(x: wp.array(dtype=float), k: int, path: wp.array(dtype=float)):
    path[k] = x[0] * x[0]


@both_schedules
def test_a_trajectory_as_output(schedule):
    def run(schedule):
        x, path = floats(4), wp.zeros(10, dtype=float, requires_grad=True)

        def step(k):
            wp.launch(curve, 4, inputs=[x], outputs=[x])
            wp.launch(trace, 1, inputs=[x, k], outputs=[path])

        with wp.Tape() as tape:
            if schedule is None:
                for k in range(10):
                    step(k)
            else:
                wp.checkpoint(step, [x], 10, outputs=[path], schedule=schedule)
        before = path.numpy().copy()
        tape.backward(grads={path: wp.array(np.arange(10.0), dtype=float)})
        assert equal([path.numpy()], [before])
        return [x.grad.numpy().copy(), path.grad.numpy().copy(), before]

    assert equal(run(schedule), run(None))


@both_schedules
def test_other_arrays_of_every_step(schedule):
    """Arrays that steps read reach their gradients without being named, also when each step has its own."""

    def run(schedule):
        x, v = floats(4), floats(4, 1)
        controls = [floats(4, k) for k in range(9)]
        step = lambda k: wp.launch(swing, 4, inputs=[x, v, controls[k], 0.1])  # noqa: E731
        loss = loss_array()
        with wp.Tape() as tape:
            if schedule is None:
                for k in range(9):
                    step(k)
            else:
                wp.checkpoint(step, [x, v], 9, schedule=schedule)
            wp.launch(square_sum, 4, inputs=[x, loss])
        tape.backward(loss)
        return [c.grad.numpy().copy() for c in controls]

    assert equal(run(schedule), run(None))


@wp.kernel
def count_up(x: wp.array(dtype=float), ticks: wp.array(dtype=int)):
    ticks[0] = ticks[0] + 1
    x[0] = x[0] * x[0] * float(ticks[0]) * 0.1


@both_schedules
def test_counters_in_the_state(schedule):
    def run(schedule):
        x, ticks, loss = floats(4), wp.zeros(1, dtype=int), loss_array()
        step = lambda k: wp.launch(count_up, 1, inputs=[x, ticks])  # noqa: E731
        with wp.Tape() as tape:
            if schedule is None:
                for k in range(7):
                    step(k)
            else:
                wp.checkpoint(step, [x, ticks], 7, schedule=schedule)
            wp.launch(square_sum, 4, inputs=[x, loss])
        tape.backward(loss)
        return [x.grad.numpy().copy(), ticks.numpy().copy()]

    assert equal(run(schedule), run(None))
    assert run(schedule)[1].tolist() == [7]


@pytest.mark.parametrize("inner", SCHEDULES)
@both_schedules
def test_loops_in_loops(schedule, inner):
    def run(schedule):
        system = Pendulums()
        with wp.Tape() as tape:
            if schedule is None:
                for _ in range(6):
                    system.run(5)
            else:
                wp.checkpoint(
                    lambda k: system.run(5, inner), [system.x, system.v], 6, outputs=[system.loss], schedule=schedule
                )
        tape.backward(system.loss)
        return [*system.contents(), *system.gradients()]

    assert equal(run(schedule), run(None))


def test_a_step_that_takes_the_state():
    seen = []

    def step(state, k):
        seen.append((type(state), k))
        wp.launch(curve, 4, inputs=[state["x"]], outputs=[state["x"]])

    x = floats(4)
    with wp.Tape() as tape:
        wp.checkpoint(step, {"x": x}, 2)
    assert seen == [(dict, 0), (dict, 1)]
    tape.backward(grads={x: wp.ones(4, dtype=float)})
    assert seen[2:] == [(dict, 1), (dict, 0)]


def test_views_in_the_state_stand_for_their_arrays():
    def make(x, loss):
        return lambda k: wp.launch(curve, 4, inputs=[x], outputs=[x])

    x, whole = floats(4), floats(4)
    with wp.Tape() as tape:
        wp.checkpoint(make(whole, None), [whole[1:3]], 5)
    tape.backward(grads={whole: wp.ones(4, dtype=float)})
    with wp.Tape() as tape:
        for k in range(5):
            make(x, None)(k)
    tape.backward(grads={x: wp.ones(4, dtype=float)})
    assert equal([whole.grad.numpy()], [x.grad.numpy()])


@wp.kernel
def pull(x: wp.array(dtype=wp.vec3), ends: wp.array(dtype=wp.vec2i), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a, b = ends[i][0], ends[i][1]
    d = x[b] - x[a]
    wp.atomic_add(f, a, d * wp.length(d))
    wp.atomic_sub(f, b, d * wp.length(d))


@wp.kernel
def move(f: wp.array(dtype=wp.vec3), x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = v[i] * 0.99 + f[i] * 0.01
    x[i] = x[i] + v[i] * 0.01
    f[i] = wp.vec3()


@both_schedules
def test_scattered_forces_on_many_threads(schedule):
    """Launches of several chunks, whose sums go through private copies."""
    count, springs = 4000, 20_000
    random = np.random.default_rng(3)
    start, ends = random.random((count, 3)), wp.array(random.integers(0, count, (springs, 2)), dtype=wp.vec2i)

    def run(schedule):
        x = wp.array(start, dtype=wp.vec3, requires_grad=True)
        v, f = wp.zeros_like(x), wp.zeros_like(x)

        def step(k):
            wp.launch(pull, springs, inputs=[x, ends], outputs=[f])
            wp.launch(move, count, inputs=[f], outputs=[x, v])

        with wp.Tape() as tape:
            if schedule is None:
                for k in range(8):
                    step(k)
            else:
                wp.checkpoint(step, [x, v], 8, scratch=[f], schedule=schedule)
        tape.backward(grads={x: wp.ones(count, dtype=wp.vec3)})
        return [x.grad.numpy().copy(), v.grad.numpy().copy(), x.numpy().copy()]

    assert equal(run(schedule), run(None))


@wp.kernel
def relax(x: wp.array(dtype=wp.float64), target: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.sin(target[i]) + x[i] * x[i] * wp.float64(0.5)


@both_schedules
def test_a_linear_solve_in_every_step(schedule):
    def run(schedule):
        random = np.random.default_rng(4)
        rows = random.random((5, 5))
        matrix = wp.array(rows @ rows.T + np.eye(5), dtype=wp.float64, requires_grad=True)
        x = wp.array(random.random(5), dtype=wp.float64, requires_grad=True)

        def step(k):
            solution = wp.zeros_like(x)
            cg(matrix, x, solution, tol=1e-10)
            wp.launch(relax, 5, inputs=[x, solution])

        with wp.Tape() as tape:
            if schedule is None:
                for k in range(5):
                    step(k)
            else:
                wp.checkpoint(step, [x], 5, schedule=schedule)
        tape.backward(grads={x: wp.ones(5, dtype=wp.float64)})
        return [x.grad.numpy().copy(), matrix.grad.numpy().copy()]

    assert equal(run(schedule), run(None))
    assert np.any(run(schedule)[1])

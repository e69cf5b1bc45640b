"""`checkpoint`: gradients of long loops, compared bit for bit with those of a tape that recorded every step."""

import gc

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, curve, equal, floats, loss_array, nudge, square_sum, swing

import warpsim as wp
from warpsim.optim.linear import cg

both_schedules = pytest.mark.parametrize("schedule", SCHEDULES)


def differentiated(steps, schedule=None, backwards=1, **options):
    """Contents and gradients after a loop and some calls of backward."""
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(steps, schedule, **options)
    before = system.contents()
    for _ in range(backwards):
        tape.backward(system.loss)
    assert equal(system.contents(), before)
    return [*system.contents(), *system.gradients()]


# ----- equal to the full tape -----------------------------------------------------------------------


@both_schedules
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 100, 1000])
def test_gradients_are_those_of_the_full_tape(steps, schedule):
    expected = differentiated(steps)
    assert all(np.any(g) for g in expected[4:7])
    assert equal(differentiated(steps, schedule), expected)


@both_schedules
@pytest.mark.parametrize("slots", [1, 2, 5, 29, 30, 1000])
def test_any_number_of_slots(slots, schedule):
    assert equal(differentiated(30, schedule, slots=slots), differentiated(30))


@both_schedules
@pytest.mark.parametrize("backwards", [2, 3])
def test_several_backwards(backwards, schedule):
    assert equal(differentiated(20, schedule, backwards), differentiated(20, backwards=backwards))


def test_counts_may_be_numpy_integers():
    assert equal(differentiated(np.int64(9), "binomial", slots=np.int32(3)), differentiated(9))


@both_schedules
def test_two_runs_give_equal_bits(schedule):
    assert equal(differentiated(50, schedule), differentiated(50, schedule))


def test_the_gradient_is_a_finite_difference():
    def loss(offset):
        system = Pendulums()
        system.x[0] = system.x.numpy()[0] + offset
        with wp.Tape() as tape:
            system.run(40, "binomial")
        tape.backward(system.loss)
        return float(system.loss.numpy()[0]), float(system.x.grad.numpy()[0])

    middle = loss(0.0)[1]
    assert middle == pytest.approx((loss(1e-2)[0] - loss(-1e-2)[0]) / 2e-2, rel=2e-3)


@both_schedules
def test_on_the_interpreter(schedule):
    with wp.ScopedDevice("interp"):
        expected = differentiated(6)
        assert equal(differentiated(6, schedule), expected)


def test_backward_runs_steps_where_the_loop_ran():
    with wp.ScopedDevice("interp"):
        system = Pendulums()
        with wp.Tape() as tape:
            system.run(6, "sqrt")
    tape.backward(system.loss)
    with wp.ScopedDevice("interp"):
        assert equal(system.gradients(), differentiated(6)[4:])


# ----- what steps may do ----------------------------------------------------------------------------


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


# ----- on a tape with other things ------------------------------------------------------------------


def before_and_after(schedule, backwards):
    system, start = Pendulums(), floats(5, 9)
    with wp.Tape() as tape:
        wp.launch(curve, 5, inputs=[start], outputs=[system.x])
        wp.launch(square_sum, 5, inputs=[system.x, system.loss])  # needs what the loop overwrites
        system.run(11, schedule)
        wp.launch(curve, 5, inputs=[system.x], outputs=[system.v])
        wp.launch(square_sum, 5, inputs=[system.v, system.loss])
        system.stiffness.fill_(0.25)  # overwrites what the loop reads
        system.run(4, schedule)
    for _ in range(backwards):
        tape.backward(system.loss)
    return [start.grad.numpy().copy(), *system.contents(), *system.gradients()]


@both_schedules
@pytest.mark.parametrize("backwards", [1, 2])
def test_state_and_parameters_are_used_before_and_after(schedule, backwards):
    assert equal(before_and_after(schedule, backwards), before_and_after(None, backwards))


@both_schedules
def test_state_may_be_overwritten_after_the_loop(schedule):
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(8, schedule)
    system.x.fill_(7.0)  # no tape sees it, and no gradient needs what was there
    tape.backward(system.loss)
    assert system.x.numpy().tolist() == [7.0] * 5
    assert equal(system.gradients(), differentiated(8)[4:])


@both_schedules
def test_nested_tapes_get_the_same(schedule):
    system = Pendulums()
    with wp.Tape() as outer, wp.Tape() as inner:
        system.run(9, schedule)
    inner.backward(system.loss)
    first = system.gradients()
    for a in (system.x, system.v, system.stiffness):
        a.grad.zero_()
    outer.backward(system.loss)
    assert equal(system.gradients(), first)
    assert equal(first, differentiated(9)[4:])


def test_other_tapes_do_not_mind_a_backward():
    """Replays write over arrays that another tape needs, and put them back."""
    system, loss = Pendulums(), loss_array()
    with wp.Tape() as tape:
        system.run(9, "sqrt")
    with wp.Tape() as other:
        wp.launch(square_sum, 5, inputs=[system.x, loss])
    tape.backward(system.loss)
    other.backward(loss)
    assert system.x.grad.numpy() == pytest.approx(2.0 * system.x.numpy() + differentiated(9)[4], rel=1e-6)


def test_a_loop_in_a_captured_backward():
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(9, "binomial")
    with wp.ScopedCapture() as capture:
        tape.backward(system.loss)
    assert not np.any(system.x.grad.numpy())
    wp.capture_launch(capture.graph)
    assert equal(system.gradients(), differentiated(9)[4:])


@pytest.mark.parametrize("steps", [0, 5])
def test_without_a_tape_the_steps_are_run(steps):
    system, other = Pendulums(), Pendulums()
    report = system.run(steps, "sqrt")
    other.run(steps)
    assert equal(system.contents(), other.contents())
    assert (report.steps, report.slots, report.kept_bytes) == (steps, 0, 0)


def test_no_steps_leave_nothing_on_the_tape():
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(0, "sqrt")
    assert tape.records == []


def test_the_tape_knows_the_arrays():
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(5, "sqrt")
    known = {id(a) for a in tape.gradients}
    assert known == {id(a) for a in (system.x, system.v, system.stiffness, system.loss)}
    picture = tape.visualize()
    assert "<b>checkpoint</b>" in picture
    assert picture.count("-> step0:reads") == picture.count("  step0:writes") == 3  # x, v and stiffness; x, v and loss
    tape.backward(system.loss)
    tape.zero()
    assert not any(np.any(g) for g in system.gradients())

"""`checkpoint`: gradients of long loops, compared bit for bit with those of a tape that recorded every step."""

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, curve, equal, floats, loss_array, square_sum

import warpsim as wp

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


@pytest.mark.cpu(reason="names its devices")
def test_backward_runs_steps_where_the_loop_ran():
    x, seen = floats(4), []

    def step(k):
        seen.append(str(wp.get_device()))
        wp.launch(curve, 4, inputs=[x], outputs=[x])

    with wp.ScopedDevice("interp"), wp.Tape() as tape:
        wp.checkpoint(step, [x], 6)
    tape.backward(grads={x: wp.ones(4, dtype=float)})
    assert seen == ["interp"] * 12
    assert str(wp.get_device()) == "cpu"


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

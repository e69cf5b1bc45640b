"""What `checkpoint` refuses, in which words; above all loops whose replay would not be what ran first."""

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, curve, equal, floats, loss_array, nudge, square_sum, swing

import warpsim as wp
from warpsim.errors import ArgumentTypeError, CheckpointError, GradientError, TapeOverwriteError


def refused(kind, step, state, *texts, steps=5, **options):
    """Run a loop on a tape, which raises."""
    with wp.Tape() as tape, pytest.raises(kind) as error:
        wp.checkpoint(step, state, steps, **options)
    said(error, *texts)
    assert tape.records == []


def said(error, *texts):
    for text in texts:
        assert text in str(error.value)


def idle(k):
    pass


# ----- arguments ------------------------------------------------------------------------------------


def test_negative_steps():
    refused(CheckpointError, idle, [floats(2)], "steps is -1\nexpected: at least 0", steps=-1)


@pytest.mark.parametrize("steps", [2.0, True, "10"])
def test_steps_that_are_no_integer(steps):
    refused(ArgumentTypeError, idle, [floats(2)], f"steps is {type(steps).__name__}\nexpected: an integer", steps=steps)


def test_an_unknown_schedule():
    text = "schedule is 'log'\nexpected: one of 'sqrt', 'binomial'"
    refused(CheckpointError, idle, [floats(2)], text, schedule="log")


def test_no_slots():
    refused(CheckpointError, idle, [floats(2)], "slots is 0\nexpected: at least 1", slots=0)


def test_a_step_that_cannot_be_called():
    refused(ArgumentTypeError, 7, [floats(2)], "step is int\nexpected: a function step(k) or step(state, k)")


@pytest.mark.parametrize(
    ("step", "names"), [(lambda: None, ""), (lambda a, b, c: None, "a, b, c"), (lambda k, *, dt: None, "k, dt")]
)
def test_a_step_with_other_parameters(step, names):
    refused(ArgumentTypeError, step, [floats(2)], f"step takes ({names})\nexpected: step(k) or step(state, k)")


def test_a_state_that_is_no_list_of_arrays():
    refused(ArgumentTypeError, idle, "x", "state is str\nexpected: a list, tuple or dict of arrays")
    refused(ArgumentTypeError, idle, [np.zeros(3)], "state holds ndarray\nexpected: arrays")
    refused(CheckpointError, idle, [], "state is empty\nexpected: the arrays that go from step to step")


def test_parameters_that_are_no_list():
    text = "parameters is array\nexpected: a list of arrays"
    refused(ArgumentTypeError, idle, [floats(2)], text, parameters=floats(2))


def test_an_array_with_two_parts():
    x = floats(2)
    text = "'state[0]' (array(shape=(2,), dtype=float32)) is in state= and in outputs=\nexpected: every array in one"
    refused(CheckpointError, idle, [x], text, outputs=[x])


def test_a_state_without_gradient():
    state = [floats(2), floats(2, requires_grad=False)]
    refused(
        GradientError,
        idle,
        state,
        "array 'state[1]' (array(shape=(2,), dtype=float32)) of the state has no gradient",
        "expected: requires_grad=True",
        "help: set requires_grad before the loop",
    )


def test_a_parameter_without_gradient():
    x, mass = floats(2), floats(2, requires_grad=False)
    step = lambda k: wp.launch(curve, 2, inputs=[mass], outputs=[x])  # noqa: E731
    text = "array 'mass' (array(shape=(2,), dtype=float32)) of parameters has no gradient\nexpected: requires_grad=True"
    refused(GradientError, step, [x], text, "help: leave constants out", parameters=[mass])


def test_capture():
    system = Pendulums()
    with wp.ScopedCapture(), wp.Tape(), pytest.raises(CheckpointError) as error:
        system.run(3, "sqrt")
    said(error, "checkpoint while a graph is captured\nhelp: capture the steps")


# ----- steps that leave undeclared traces -------------------------------------------------------------


def test_a_step_that_does_not_write_the_state():
    x, y = floats(4), floats(4)
    step = lambda k: wp.launch(curve, 4, inputs=[y], outputs=[y])  # noqa: E731
    refused(CheckpointError, step, [x], "step 0 writes array 'y'")
    refused(
        CheckpointError,
        idle,
        [x],
        "no step wrote an array of the state: 'state[0]' (array(shape=(4,), dtype=f",
        "expected: steps that overwrite the arrays in state=",
    )


def test_a_write_that_is_not_declared():
    x, force = floats(4), floats(4)

    def step(k):
        wp.launch(curve, 4, inputs=[x], outputs=[force])
        wp.launch(nudge, 4, inputs=[force], outputs=[x])

    refused(
        CheckpointError,
        step,
        [x],
        "step 0 writes array 'force' (array(shape=(4,), dtype=float32)), which is not declared and outlives the step\n",
        f"found: argument 'y' of kernel 'curve', launched at {__file__}:",
        "expected: steps that write what is declared",
        "help: state= for what goes from step to step, outputs= for",
    )


def test_a_late_write_that_is_not_declared():
    x, force = floats(4), floats(4)

    def step(k):
        wp.launch(curve, 4, inputs=[x], outputs=[x if k < 3 else force])

    refused(CheckpointError, step, [x], "step 3 writes array 'force'")


def test_a_write_to_what_earlier_steps_read():
    x, v, table = floats(4), floats(4), floats(4)

    def step(k):
        wp.launch(swing, 4, inputs=[x, v, table, 0.1])
        if k == 2:
            table.fill_(0.5)

    refused(CheckpointError, step, [x, v], "step 2 writes array 'table'", f"found: fill_, called at {__file__}:")


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_a_write_through_a_view_or_a_struct_or_numpy():
    x, force = floats(4), floats(4)
    refused(CheckpointError, lambda k: wp.copy(force[1:3], x[1:3]), [x], "step 0 writes array 'force'", "found: assign")
    numbers = np.zeros(4, np.float32)
    step = lambda k: wp.launch(curve, 4, inputs=[x], outputs=[numbers])  # noqa: E731
    refused(CheckpointError, step, [x], "step 0 writes array array(shape=(4,), dtype=float32), which is not declared")


def test_an_array_made_in_a_step_that_outlives_it():
    x, kept = floats(4), []

    def step(k):
        kept.append(wp.zeros_like(x))
        wp.launch(curve, 4, inputs=[x], outputs=[kept[-1]])
        wp.launch(nudge, 4, inputs=[kept[-1]], outputs=[x])

    refused(CheckpointError, step, [x], "step 0 writes array 'kept[0]'", "which is not declared and outlives the step")


def test_a_write_to_a_parameter():
    system = Pendulums()

    def step(k):
        system.step(k)
        system.stiffness.assign(system.x)

    refused(
        CheckpointError,
        step,
        [system.x, system.v],
        "step 0 writes array 'system.stiffness'",
        "which is one of parameters=\nfound: assign, called at",
        "help: name it in state= instead",
        parameters=[system.stiffness],
        outputs=[system.loss],
    )


@wp.kernel
def grow(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    x[0] = x[0] * loss[0]
    loss[0] = loss[0] + x[0]


def test_an_output_that_is_read():
    x, loss = floats(4), loss_array()
    refused(
        CheckpointError,
        lambda k: wp.launch(grow, 1, inputs=[x, loss]),
        [x],
        "step 0 reads array 'loss' (array(shape=(1,), dtype=float32)), which is one of outputs=\n",
        "found: argument 'loss' of kernel 'grow'",
        "expected: outputs that steps store to or add to (wp.atomic_add)",
        outputs=[loss],
    )


@wp.kernel
def largest(x: wp.array(dtype=float), top: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 0.5
    wp.atomic_max(top, 0, x[i])


def test_an_output_whose_gradient_looks_at_what_is_there():
    x, top = floats(4), loss_array()
    step = lambda k: wp.launch(largest, 4, inputs=[x, top])  # noqa: E731
    refused(CheckpointError, step, [x], "step 0 reads array 'top'", outputs=[top])


def test_scratch_that_is_read_first():
    x, force = floats(4), floats(4)

    def step(k):
        wp.launch(nudge, 4, inputs=[force], outputs=[x])
        wp.launch(curve, 4, inputs=[x], outputs=[force])

    refused(
        CheckpointError,
        step,
        [x],
        "step 0 reads array 'force'",
        "is one of scratch=\nfound: argument 'y' of kernel",
        "expected: scratch arrays that every step writes before it reads them",
        scratch=[force],
    )


def test_scratch_that_a_later_step_reads_first():
    x, force = floats(4), floats(4)

    def step(k):
        if k == 0:
            force.zero_()
        wp.launch(nudge, 4, inputs=[force], outputs=[x])

    refused(CheckpointError, step, [x], "step 1 reads array 'force'", scratch=[force])


@pytest.mark.parametrize("kind", [list, dict])
def test_a_step_that_swaps_arrays(kind):
    x, y = floats(4), floats(4)
    state = [x, y] if kind is list else {0: x, 1: y}

    def step(state, k):
        wp.launch(curve, 4, inputs=[state[0]], outputs=[state[1]])
        state[0], state[1] = state[1], state[0]

    def swap(k):
        step(state, k)

    text = "step 0 replaced arrays of the state\nexpected: the same arrays, overwritten in place\nhelp: end a step in"
    refused(CheckpointError, step, state, text)
    refused(CheckpointError, swap, state, text)


# ----- replays that differ ----------------------------------------------------------------------------


def backward_refused(kind, tape, loss, *texts):
    with pytest.raises(kind) as error:
        tape.backward(loss)
    said(error, *texts)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_step_that_depends_on_python(schedule):
    system, clock = Pendulums(), [0.0]

    def step(k):
        clock[0] += 0.01
        wp.launch(swing, 5, inputs=[system.x, system.v, system.stiffness, clock[0]])

    with wp.Tape() as tape:
        wp.checkpoint(step, [system.x, system.v], 20, schedule=schedule)
        wp.launch(square_sum, 5, inputs=[system.x, system.loss])
    before = system.contents()
    backward_refused(
        CheckpointError,
        tape,
        system.loss,
        "'system.x' (array(shape=(5,), dtype=float32)) differs from the first run",
        "when step 19 is replayed",
        "help: make random seeds and times from k",
    )
    assert equal(system.contents(), before)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_scratch_that_carries_over(schedule):
    """Every step writes to it, but not to all of it."""
    x, force, loss = floats(4), floats(4), loss_array()

    def step(k):
        wp.launch(curve, 2, inputs=[x], outputs=[force[k % 2 : k % 2 + 2]])
        wp.launch(nudge, 4, inputs=[force], outputs=[x])

    with wp.Tape() as tape:
        wp.checkpoint(step, [x], 10, scratch=[force], schedule=schedule)
        wp.launch(square_sum, 4, inputs=[x, loss])
    backward_refused(CheckpointError, tape, loss, "array 'x'", "name in state= what one step leaves for the next")


def test_a_replay_that_does_something_else():
    x, extra, loss, again = floats(4), floats(4), loss_array(), []

    def step(k):
        wp.launch(curve, 4, inputs=[x], outputs=[x])
        if again:
            wp.launch(curve, 4, inputs=[x], outputs=[extra])

    with wp.Tape() as tape:
        wp.checkpoint(step, [x], 4)
        wp.launch(square_sum, 4, inputs=[x, loss])
    again.append(True)
    backward_refused(CheckpointError, tape, loss, "step 3 writes array 'extra'", "which is not declared")


def test_a_replay_that_reads_something_else():
    x, v, loss, tables = floats(4), floats(4), loss_array(), [floats(4), floats(4)]

    def step(k):
        wp.launch(swing, 4, inputs=[x, v, tables[0], 0.0])

    with wp.Tape() as tape:
        wp.checkpoint(step, [x, v], 4)
        wp.launch(square_sum, 4, inputs=[x, loss])
    tables.reverse()
    text = "step 3 read array 'tables[0]' (array(shape=(4,), dtype=float32)) when it was replayed, and not before"
    backward_refused(CheckpointError, tape, loss, text, "expected: steps that do the same in every run")


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_a_step_that_writes_through_numpy():
    x, y, loss = floats(4), floats(4), loss_array()

    def step(k):
        wp.launch(curve, 4, inputs=[x], outputs=[y])
        x.numpy()[...] = 0.5
        wp.launch(nudge, 4, inputs=[y], outputs=[x])

    with wp.Tape() as tape:
        wp.checkpoint(step, [x], 4, scratch=[y])
        wp.launch(square_sum, 4, inputs=[x, loss])
    backward_refused(TapeOverwriteError, tape, loss, "argument 'x' of kernel 'curve'", "a NumPy view of its memory")


def test_a_parameter_that_changed_since():
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(4, "sqrt")
    system.stiffness.fill_(2.0)
    backward_refused(
        TapeOverwriteError,
        tape,
        system.loss,
        "an array that the steps of a checkpoint at",
        "read (shape (5,), float3",
        "was changed after it was recorded",
        "changed by fill_ at",
    )


@pytest.mark.cpu(reason="shares memory with NumPy")
def test_a_constant_that_changed_since_through_numpy():
    x, v, table, loss = floats(4), floats(4), floats(4, requires_grad=False), loss_array()
    numbers = table.numpy()
    with wp.Tape() as tape:
        wp.checkpoint(lambda k: wp.launch(swing, 4, inputs=[x, v, table, 0.1]), [x, v], 4)
        wp.launch(square_sum, 4, inputs=[x, loss])
    numbers[0] = 3.0
    backward_refused(TapeOverwriteError, tape, loss, "was changed after it was recorded", "a NumPy view of its memory")


def test_a_gradient_that_was_taken_away():
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(4, "sqrt")
    system.v.requires_grad = False
    text = "array 'self.v' (array(shape=(5,), dtype=float32)) lost its gradient after the loop was recorded"
    backward_refused(GradientError, tape, system.loss, text)


def test_an_error_in_a_step_leaves_arrays_alone_in_backward():
    system, broken = Pendulums(), []

    def step(k):
        system.step(k)
        if broken:
            raise ZeroDivisionError

    with wp.Tape() as tape:
        wp.checkpoint(step, [system.x, system.v], 9, outputs=[system.loss])
    before = system.contents()
    broken.append(True)
    with pytest.raises(ZeroDivisionError):
        tape.backward(system.loss)
    assert equal(system.contents(), before)
    broken.clear()
    tape.zero()
    tape.backward(system.loss)
    expected = Pendulums()
    with wp.Tape() as tape:
        expected.run(9)
    tape.backward(expected.loss)
    assert equal(system.gradients(), expected.gradients())

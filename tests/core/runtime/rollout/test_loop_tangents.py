"""Derivatives along a direction through loops with checkpoints equal those through a tape of every step."""

import numpy as np
import pytest
from checkpoint_loops import SCHEDULES, Pendulums, curve, equal, floats, loss_array, nudge, square_sum

import warpsim as wp
from warpsim.autograd import hvp, jvp
from warpsim.errors import ArrayError

PATHS = [None, *SCHEDULES]


def looped(step, state, steps, schedule, **declared):
    """Run steps on a tape of their own, or under `checkpoint`."""
    with wp.Tape() as tape:
        if schedule is None:
            for k in range(steps):
                step(k)
        else:
            wp.checkpoint(step, state, steps, schedule=schedule, **declared)
    return tape


def pendulums(schedule, steps=7):
    system = Pendulums()
    with wp.Tape() as tape:
        system.run(steps, schedule)
    return tape, system


def along(seed, count=5):
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("moved", ["x", "v", "stiffness", "x v stiffness"])
def test_tangents_of_state_and_parameters(schedule, moved):
    found = []
    for path in (None, schedule):
        tape, system = pendulums(path)
        start = system.contents()
        tangents = {getattr(system, name): along(k) for k, name in enumerate(moved.split())}
        found.append([jvp(tape, tangents=tangents)[a].numpy() for a in (system.x, system.v, system.loss)])
        assert equal(start, system.contents())
    assert equal(*found) and found[0][2].any()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_products_with_the_hessian(schedule):
    found = []
    for path in (None, schedule):
        tape, system = pendulums(path)
        start = system.contents()
        products = hvp(tape, loss=system.loss, vector={system.x: along(0), system.stiffness: along(1)})
        found.append([products[a].numpy() for a in (system.x, system.v, system.stiffness)])
        assert equal(start, system.contents())
    for whole, kept in zip(*found, strict=True):
        np.testing.assert_allclose(kept, whole, rtol=1e-5, atol=1e-6)
        assert whole.any()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_directions_before_and_after_backward(schedule):
    tape, system = pendulums(schedule)
    vector = {system.x: along(0)}
    first, product = jvp(tape, tangents=vector)[system.loss].numpy(), hvp(tape, loss=system.loss, vector=vector)
    tape.backward(system.loss)
    gradients = system.gradients()
    assert np.dot(gradients[0], vector[system.x]) == pytest.approx(first[0], rel=1e-4)
    again = hvp(tape, loss=system.loss, vector=vector)
    assert equal([product[system.x].numpy()], [again[system.x].numpy()])
    assert equal(gradients, system.gradients())


@pytest.mark.parametrize("derivative", ["jvp", "hvp"])
def test_arrays_that_steps_make_and_arrays_that_they_read(derivative):
    found = []
    for path in PATHS:
        x, table, loss = floats(6), floats(6, 1), loss_array()

        def step(k, x=x, table=table):
            y = wp.zeros(6, dtype=float, requires_grad=True)
            wp.launch(curve, 6, inputs=[table, y])
            wp.launch(nudge, 6, inputs=[y, x])

        with wp.Tape() as tape:
            wp.launch(curve, 6, inputs=[x, table])
            if path is None:
                for k in range(5):
                    step(k)
            else:
                wp.checkpoint(step, [x], 5, schedule=path)
            wp.launch(square_sum, 6, inputs=[x, loss])
            table.zero_()
        if derivative == "jvp":
            found.append([jvp(tape, tangents={x: along(2, 6)})[loss].numpy()])
        else:
            found.append([hvp(tape, loss=loss, vector={x: along(2, 6)})[x].numpy()])
    assert all(f[0].any() for f in found)
    for other in found[1:]:
        np.testing.assert_allclose(other[0], found[0][0], rtol=1e-5)


@pytest.mark.parametrize("derivative", ["jvp", "hvp"])
def test_loops_in_loops_and_views_of_the_state(derivative):
    found = []
    for nested in (False, True):
        x, y, loss = floats(8), floats(8, 1), loss_array()
        low, high = x[:4], x[4:]

        def inner(k, x=x, y=y, low=low, high=high):
            wp.launch(nudge, 4, inputs=[high, low])
            wp.launch(nudge, 8, inputs=[x, y])

        def outer(k, x=x, y=y, nested=nested, inner=inner):
            if nested:
                wp.checkpoint(inner, [x, y], 3)
            else:
                for j in range(3):
                    inner(j)
            wp.launch(nudge, 8, inputs=[y, x])

        tape = looped(outer, [x, y], 4, "binomial" if nested else None)
        with tape:
            wp.launch(square_sum, 8, inputs=[x, loss])
        vector = {x: along(3, 8)}
        if derivative == "jvp":
            found.append(jvp(tape, tangents=vector)[loss].numpy())
        else:
            found.append(hvp(tape, loss=loss, vector=vector)[x].numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert found[0].any()


def test_a_direction_that_does_not_reach_the_loop_costs_no_step():
    calls, x, other, y = [], floats(4), floats(4, 1), floats(4, 2)

    def step(k):
        calls.append(k)
        wp.launch(nudge, 4, inputs=[x, x])

    with wp.Tape() as tape:
        wp.checkpoint(step, [x], 3)
        wp.launch(curve, 4, inputs=[other, y])
    calls.clear()
    tangent = jvp(tape, tangents={other: np.ones(4)})
    assert calls == [] and tangent[y].numpy().any() and not tangent[x].numpy().any()
    jvp(tape, tangents={x: np.ones(4)})
    assert calls == [0, 1, 2]


def test_arrays_that_overlap_the_state_without_being_views_of_it_are_refused():
    memory = np.random.default_rng(0).random(8).astype(np.float32)
    x, across = (wp.array(part, copy=False, requires_grad=True, device="cpu") for part in (memory[:6], memory[2:]))

    def step(k):
        wp.launch(nudge, 6, inputs=[x, x], device="cpu")
        wp.launch(nudge, 6, inputs=[across, across], device="cpu")

    tape = looped(step, [x], 2, "sqrt")
    with pytest.raises(ArrayError, match="overlaps another one"):
        jvp(tape, tangents={x: np.ones(6)})

"""`Problem.plan`: what a rollout takes in memory, by dry runs, and checkpoints that keep a budget."""

import numpy as np
import pytest

import warpsim as wp
from warpsim.errors import ArgumentTypeError
from warpsim.optim import Problem, ProblemError, loop
from warpsim.optim.problem.plan import bytes_of, measure

COUNT = 20_000


@wp.kernel
def swing(x: wp.array[wp.vec3], v: wp.array[wp.vec3], stiffness: wp.array[float], dt: float):
    """A spring that hardens, so that the reverse needs what is overwritten."""
    i = wp.tid()
    v[i] = v[i] - (stiffness[0] * dt) * wp.length_sq(x[i]) * x[i]
    x[i] = x[i] + v[i] * dt


@wp.kernel
def rate(x: wp.array[wp.vec3], loss: wp.array[float]):
    wp.atomic_add(loss, 0, wp.length_sq(x[wp.tid()]) / float(x.shape[0]))


def springs(steps, with_state=False):
    """The problem of the stiffness of springs whose rollout is a loop."""
    start = wp.array(np.random.default_rng(0).random((COUNT, 3)), dtype=wp.vec3)
    x, v = (wp.zeros(COUNT, wp.vec3, requires_grad=True) for _ in range(2))
    stiffness = wp.array([2.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, float, requires_grad=True)

    def step(k):
        wp.launch(swing, COUNT, [x, v, stiffness, 0.01])

    def step_of(state, k):
        wp.launch(swing, COUNT, [state[0], state[1], stiffness, 0.01])

    def rollout():
        wp.copy(x, start)
        v.zero_()
        loop(step_of if with_state else step, [x, v], steps, parameters=[stiffness])
        wp.launch(rate, COUNT, [x, loss])

    return Problem(rollout, {"stiffness": stiffness}, loss)


@pytest.mark.parametrize("steps", [60, 200])
def test_the_memory_of_a_rollout_is_known_before(steps):
    problem = springs(steps)
    plan = problem.plan()
    assert plan.choice is None and plan.steps == steps
    assert measure(problem) == pytest.approx(plan.full, rel=0.1)


@pytest.mark.parametrize("budget, schedule", [(0.3, "sqrt"), (0.05, "binomial")])
@pytest.mark.parametrize("with_state", [False, True])
def test_a_budget_is_kept(budget, schedule, with_state):
    problem = springs(200, with_state)
    z = problem.start()
    loss, gradient = problem.value_and_gradient(z)
    allowed = budget * problem.plan().full
    plan = problem.plan(allowed)
    assert plan.choice.schedule == schedule and plan.expected <= allowed
    taken = measure(problem)
    assert taken == pytest.approx(plan.expected, rel=0.1) and taken < 1.05 * allowed
    assert (loss, *gradient) == (pytest.approx(problem.value_and_gradient(z)[0]), *problem.value_and_gradient(z)[1])
    assert "chosen: schedule" in str(plan)
    problem.plan("1 TB")
    assert problem.planned is None


def test_budgets_that_cannot_be_kept():
    with pytest.raises(ProblemError, match="one checkpoint and one step take"):
        springs(50).plan("10 kB")
    x, loss = (wp.zeros(1, wp.vec3, requires_grad=True) for _ in range(2))
    loss = wp.zeros(1, float, requires_grad=True)
    problem = Problem(lambda: wp.launch(rate, 1, [x, loss]), x, loss)
    assert problem.plan().full > 0
    with pytest.raises(ProblemError, match=r"optim\.loop"):
        problem.plan(1.0)


def test_texts_of_budgets():
    assert bytes_of("2 GB") == 2e9 and bytes_of("1.5MB") == 1.5e6 and bytes_of(7) == 7.0
    with pytest.raises(ProblemError, match="'500 MB'"):
        bytes_of("much")
    with pytest.raises(ArgumentTypeError, match="budget is list"):
        bytes_of([1])


def test_a_loop_outside_of_a_problem_just_runs():
    seen = []
    loop(seen.append, [], 3)
    loop(lambda state, k: seen.append((state, k)), "s", 1)
    assert seen == [0, 1, 2, ("s", 0)]

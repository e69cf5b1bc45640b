"""`Problem.report`: warns where gradients mislead, says nothing where they help; sampled and mixed gradients."""

import numpy as np
import pytest
from paper_scenes import doubles, ground_and_wall, over_wall, robot

import warpsim as wp
from warpsim.optim import Problem, Sampling


@pytest.mark.parametrize("angle", [0.6, 0.7, 0.8])
def test_jumps_are_reported(angle):
    report = over_wall(angle).report(noise=0.1)
    assert not report and "jumps" in report.kinds and "sampled" in str(report)


def test_impacts_at_their_moment_are_fine():
    report = ground_and_wall().report()
    assert report and report.kinds == [] and report.zeros == {"throw": 0.0}
    np.testing.assert_allclose(report.slopes[:, 0], report.slopes[:, 1], rtol=1e-6)
    assert "nothing speaks against" in str(report) and report.scatter < 0.01


def test_the_throw_at_ground_and_wall_is_found_in_the_right_branch():
    problem = ground_and_wall()
    solution = problem.minimize()
    assert solution.loss < 1e-8 and solution.evaluations <= 60 and solution.values["throw"][0, 0] > 0.0


def test_resting_contact_with_moments_of_impact_is_steep():
    report = robot(impact=1).report(samples=0, directions=1)
    factor, passage = report.norms.largest
    assert "steep" in report.kinds and passage.name == "move" and factor > 10.0
    assert "grazing" in str(report)


def test_resting_contact_at_the_end_of_the_step_is_fine():
    report = robot(impact=0).report(samples=0, directions=1)
    assert report.kinds == [] and report.norms.largest[0] < 3.0


@pytest.mark.parametrize("kind, angle", [("sampled", 0.861), ("mixed", 0.85)])
def test_sampled_gradients_see_jumps(kind, angle):
    """Suh et al. mark 0.833 for zero-order gradients and 0.835 for mixed ones; the smoothed optimum is 0.86132."""
    problem = over_wall(0.7)
    sampling = Sampling(kind, noise=0.1, samples=100, tolerance=0.005)
    solution = problem.minimize("gradient", 60, gradient=sampling, lr=1.0)
    assert solution.values["angle"][0] == pytest.approx(angle, abs=0.03)


def test_first_order_descent_stalls_at_the_wall():
    problem = over_wall(0.7)
    slopes = [problem.value_and_gradient(np.array([0.7 + w]))[1] for w in np.random.default_rng(0).normal(0, 0.1, 4000)]
    assert np.mean(slopes) == pytest.approx(-0.000447, abs=4e-4)


@wp.kernel
def decay(x: wp.array[wp.float64], factor: wp.float64):
    x[0] = factor * x[0]


@wp.kernel
def take(x: wp.array[wp.float64], loss: wp.array[wp.float64]):
    loss[0] = x[0] * x[0]


def chain(factor, again=True, steps=40):
    x, start, loss = doubles(), doubles(), doubles()
    start.fill_(1.0)

    def rollout():
        if again:
            wp.copy(x, start)
        else:
            wp.launch(add, 1, [start, x])
        for _ in range(steps):
            wp.launch(decay, 1, [x, wp.float64(factor)])
        wp.launch(take, 1, [x, loss])

    return Problem(rollout, {"start": start}, loss)


@wp.kernel
def add(start: wp.array[wp.float64], x: wp.array[wp.float64]):
    x[0] = x[0] + start[0]


@pytest.mark.parametrize("factor, kind", [(1.5, "explodes"), (0.5, "dies"), (1.0, None)])
def test_growth_along_the_rollout(factor, kind):
    report = chain(factor).report(samples=0)
    assert report.kinds == ([kind] if kind else [])
    assert report.norms.rest == pytest.approx(factor**39, rel=1e-6)
    assert report.norms.largest[0] == pytest.approx(factor) and report.norms.largest[1].name == "decay"


def test_a_rollout_that_goes_on_from_the_last_one():
    assert "memory" in chain(1.0, again=False).report(samples=0).kinds


@wp.kernel
def bowl(x: wp.array[wp.float64], loss: wp.array[wp.float64]):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


def test_zeros_are_counted_and_arrays_left_alone():
    x, loss = wp.array([0.0, 2.0, 0.0, 1.0], dtype=wp.float64, requires_grad=True), doubles()
    report = Problem(lambda: wp.launch(bowl, 4, [x, loss]), x, loss).report()
    assert report.zeros == {"the unknown": 0.5} and report.kinds == []
    np.testing.assert_array_equal(x.numpy(), [0.0, 2.0, 0.0, 1.0])

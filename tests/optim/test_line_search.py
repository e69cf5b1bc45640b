"""The line search: both Wolfe conditions hold where it says so, and it says when they cannot."""

import math

import numpy as np
import pytest

from warpsim.optim.line_search import CURVATURE, DECREASE, Point, cubic_minimum, strong_wolfe

FUNCTIONS = {
    "quadratic": (lambda t: (t - 3.0) ** 2, lambda t: 2.0 * (t - 3.0)),
    "far": (lambda t: (t - 5e5) ** 2, lambda t: 2.0 * (t - 5e5)),
    "quartic": (lambda t: (t - 1.0) ** 4, lambda t: 4.0 * (t - 1.0) ** 3),
    "wavy": (lambda t: -t / 10.0 + 0.3 * math.sin(7.0 * t) ** 2, lambda t: -0.1 + 2.1 * math.sin(14.0 * t)),
    "steep": (lambda t: math.exp(min(5.0 * t, 700.0)) - 50.0 * t, lambda t: 5.0 * math.exp(min(5.0 * t, 700.0)) - 50.0),
}


@pytest.mark.parametrize("name", ["quadratic", "far", "quartic", "wavy", "steep"])
@pytest.mark.parametrize("first", [1e-3, 0.3, 1.0, 40.0])
def test_the_conditions_hold(name, first):
    value, slope = FUNCTIONS[name]
    found = strong_wolfe(lambda t: (value(t), slope(t)), value(0.0), slope(0.0), first, 0.0)
    point = found.point
    assert not found.problem and point.length > 0.0
    assert (point.value, point.slope) == (value(point.length), slope(point.length))
    assert point.value <= value(0.0) + DECREASE * point.length * slope(0.0)
    assert abs(point.slope) <= CURVATURE * abs(slope(0.0))


def test_a_wall_of_nan_is_too_far():
    calls = []

    def phi(t):
        calls.append(t)
        return (-math.log(1.0 - t) - 2.0 * t, 1.0 / (1.0 - t) - 2.0) if t < 1.0 else (math.nan, math.nan)

    found = strong_wolfe(phi, 0.0, -1.0, 64.0, 0.0)
    assert not found.problem and 0.0 < found.point.length < 1.0
    assert found.evaluations == len(calls) < 10


def test_a_function_without_a_minimum_is_unbounded():
    found = strong_wolfe(lambda t: (-t, -1.0), 0.0, -1.0, 1.0, 0.0, limit=100)
    assert found.problem == "unbounded" and found.point.value < -1e11


def test_a_wrong_slope_finds_nothing_lower():
    found = strong_wolfe(lambda t: (t, 1.0), 0.0, -1.0, 1.0, 0.0, limit=100)
    assert found.problem in ("flat", "limit") and found.point.length == 0.0


def test_the_limit_returns_the_best_point():
    seen = {}

    def phi(t):
        seen[t] = abs(t - 0.37) - 0.37
        return seen[t], math.copysign(1.0, t - 0.37)  # a kink: no slope is small

    found = strong_wolfe(phi, 0.0, -1.0, 1.0, 0.0, limit=7)
    assert found.problem == "limit" and found.evaluations == len(seen) == 7
    assert found.point.value == min(seen.values())


def test_slopes_decide_where_values_are_noise():
    """A minimum of depth 1e-6 under errors of 5e-4: no decrease can be seen."""

    def phi(t):
        return 5.0005 + (1e-3 * (t - 1.0)) ** 2, 2e-6 * (t - 1.0)

    blind = strong_wolfe(phi, 5.0, -2e-6, 1.0, 0.0)
    seeing = strong_wolfe(phi, 5.0, -2e-6, 1.0, 1e-3)
    assert blind.problem and blind.point.length == 0.0
    assert not seeing.problem and seeing.point.length == 1.0


def test_the_cubic_has_its_minimum_there():
    rng = np.random.default_rng(0)
    for _ in range(100):
        c = np.polynomial.Polynomial(rng.standard_normal(4))
        a, b = (Point(t, c(t), c.deriv()(t)) for t in rng.uniform(-2.0, 2.0, 2))
        found = cubic_minimum(a, b)
        stationary = np.roots(c.deriv().coef[::-1])
        if np.iscomplex(stationary).any():
            assert found is None
        else:
            lowest = next(t for t in stationary.real if c.deriv(2)(t) > 0.0)
            assert found == pytest.approx(lowest, rel=1e-6, abs=1e-6)

"""Drag and lift: parts of a force along and across a flow, coefficients, a stream on a plate, what is refused."""

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers.sph.gauges import drag_and_lift, force_coefficient


def test_a_force_is_parted_along_and_across_the_flow():
    drag, lift = drag_and_lift([3.0, 4.0, 5.0], flow=(2.0, 0.0, 0.0))
    assert (drag, lift) == (3.0, 4.0)
    drag, lift = drag_and_lift([3.0, 4.0, 5.0], flow=(0.0, 0.0, -1.0), lift=(2.0, 0.0, 7.0))
    assert (drag, lift) == (-5.0, 3.0)


def test_of_many_moments_there_is_one_each():
    drag, lift = drag_and_lift(np.random.default_rng(0).normal(size=(7, 2, 3)), flow=(1.0, 1.0, 0.0))
    assert drag.shape == lift.shape == (7, 2)


def test_the_coefficient_of_a_jet_that_a_plate_stops():
    """A jet of area A that leaves sideways gives up rho A v^2: a coefficient of 2."""
    force = 1000.0 * 0.1 * 3.0**2
    assert force_coefficient(force, 1000.0, 3.0, 0.1) == pytest.approx(2.0)
    np.testing.assert_allclose(force_coefficient([force, 0.5 * force], 1000.0, 3.0, 0.1), [2.0, 1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: drag_and_lift([1.0, 0.0, 0.0], (0.0, 0.0, 0.0)), "flow is"),
        (lambda: drag_and_lift([1.0, 0.0, 0.0], (0.0, 2.0, 0.0)), "a direction across it"),
        (lambda: drag_and_lift([1.0, 0.0], (1.0, 0.0, 0.0)), r"\(\.\.\., 3\)"),
        (lambda: force_coefficient(1.0, 1000.0, 0.0, 1.0), "speed is 0"),
    ],
)
def test_what_has_no_drag_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call()

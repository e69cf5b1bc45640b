"""Spectra, spreadings and dispersion: against SciPy and differences, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.special import gamma

import warpsim as wp
from warpsim.errors import ArgumentTypeError, ArrayError
from warpsim.solvers.ocean import (
    JONSWAP,
    TMA,
    CosinePower,
    CustomSpectrum,
    Ocean,
    Phillips,
    PiersonMoskowitz,
    Sea,
    SeaState,
    Spreading,
    angular_frequency,
    group_velocity,
    sea_statistics,
)
from warpsim.solvers.ocean.spreading import gamma_ratio, integral
from warpsim.solvers.ocean.statistics import sample_spectrum, wavenumbers


@pytest.mark.parametrize("depth", [0.5, 10.0, 1e6])
@pytest.mark.parametrize("tension", [0.0, 7.4e-5])
def test_group_velocity_is_the_derivative_of_frequency(depth, tension):
    for k in np.geomspace(1e-3, 1e3, 13):
        h = 1e-5 * k
        difference = (angular_frequency(k + h, depth, tension) - angular_frequency(k - h, depth, tension)) / (2.0 * h)
        assert group_velocity(k, depth, tension) == pytest.approx(difference, rel=1e-7)
        assert wavenumbers(angular_frequency(k, depth, tension), depth, tension)[0] == pytest.approx(k, rel=1e-10)


def test_the_ratio_of_gamma_functions():
    for s in np.concatenate([[0.0], np.geomspace(1e-3, 100.0, 20)]):
        assert gamma_ratio(s) == pytest.approx(gamma(s + 1.0) / gamma(s + 0.5), rel=1e-13)


def test_a_sea_state_has_the_height_and_period_that_were_asked_for():
    for height, period, peakedness in ((2.0, 8.0, 3.3), (0.5, 3.0, 1.0), (6.0, 12.0, 7.0)):
        found = sea_statistics(SeaState(height, period, peakedness))
        assert found.significant_height == pytest.approx(height, rel=1e-3)
        assert found.peak_period == pytest.approx(period, rel=1e-3)


def test_phillips_is_tessendorfs_spectrum_of_wavenumbers():
    """S(omega) d omega = k dk times the integral over directions of A exp(-1 / (k L)^2) / k^4, L = U^2 / g."""
    omega, density = sample_spectrum(Phillips(8.0))
    k, length = omega**2 / 9.81, 8.0**2 / 9.81
    shape = np.exp(-1.0 / (k * length) ** 2) / k**4 * k * (2.0 * omega / 9.81)
    seen = density > 1e-6 * density.max()
    ratio = density[seen] / shape[seen]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@wp.func
def white(omega: wp.float64, k: wp.float64, depth: wp.float64, p: wp.vec4d) -> wp.float64:
    return p[0] / (omega * omega * omega)


def test_a_spectrum_of_ones_own_has_parameters_with_gradients():
    level = wp.array([0.3], dtype=wp.float64, requires_grad=True)
    ocean = Ocean(CustomSpectrum(white, 1.0, level=level), 300.0, 32, dtype=wp.float64)
    total = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        ocean.update()
        wp.launch(sum_of_variances, ocean.variance.shape, [ocean.variance, total])
    tape.backward(total)
    assert level.grad.numpy()[0] == pytest.approx(total.numpy()[0] / 0.3, rel=1e-12)


@wp.kernel
def sum_of_variances(v: wp.array3d(dtype=wp.vec2d), total: wp.array(dtype=wp.float64)):
    c, i, j = wp.tid()
    wp.atomic_add(total, 0, v[c, i, j][0] + v[c, i, j][1])


KINDS = {
    "JONSWAP": (JONSWAP, {"wind_speed": 9.0, "fetch": 60e3, "gamma": 3.0}),
    "TMA": (TMA, {"wind_speed": 9.0, "fetch": 60e3, "gamma": 3.0}),
    "PiersonMoskowitz": (PiersonMoskowitz, {"wind_speed": 9.0}),
    "Phillips": (Phillips, {"wind_speed": 9.0, "alpha": 0.01}),
    "SeaState": (SeaState, {"significant_height": 1.5, "peak_period": 6.0, "gamma": 2.5}),
}


def total_variance(kind, values, extra, grads=None):
    """The variance of a sea in 15 m of water, with what wants a gradient as arrays."""
    make, _ = KINDS[kind]
    arrays = {n: wp.array([v], dtype=wp.float64, requires_grad=True) for n, v in {**values, **extra}.items()}
    sea = Sea(make(**{n: arrays[n] for n in values}), CosinePower(arrays["s"]), arrays["direction"], arrays["swell"])
    ocean = Ocean(sea, 400.0, 24, dtype=wp.float64, depth=arrays["depth"])
    loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        ocean.update()
        field = ocean.evaluate(2.0)
        wp.launch(squares, field.height.shape, [field.height, field.jacobian, loss])
    if grads is not None:
        tape.backward(loss)
        grads.update({n: float(a.grad.numpy()[0]) for n, a in arrays.items()})
    return float(loss.numpy()[0])


@wp.kernel
def squares(h: wp.array2d(dtype=wp.float64), jacobian: wp.array2d(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, h[i, j] * h[i, j] * wp.float64(1 + i) + jacobian[i, j] * wp.float64(j) * wp.float64(0.1))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_to_every_parameter_are_those_of_differences(kind):
    values = KINDS[kind][1]
    extra = {"s": 4.0, "direction": 0.4, "swell": 0.3, "depth": 15.0}
    grads = {}
    total_variance(kind, values, extra, grads)
    for name, value in {**values, **extra}.items():
        h = 1e-5 * value
        ends = []
        for sign in (1.0, -1.0):
            moved = [{n: v + sign * h * (n == name) for n, v in d.items()} for d in (values, extra)]
            ends.append(total_variance(kind, *moved))
        assert grads[name] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-5, abs=1e-7), name


@wp.func
def too_much(theta: wp.float64, x: wp.float64, age: wp.float64, q: wp.float64) -> wp.float64:
    return wp.float64(0.2)


@wp.func
def even(theta: wp.float64, x: wp.float64, age: wp.float64, q: wp.float64) -> wp.float64:
    return wp.float64(0.5 / math.pi)


def test_a_spreading_of_ones_own_must_integrate_to_one():
    assert integral(Spreading(even), 1.0, 1.0) == pytest.approx(1.0)
    with pytest.raises(ArrayError, match=r"integrates to 1.25664.*\nexpected: 1, from -pi to pi"):
        Spreading(too_much)


@pytest.mark.parametrize("swell", [0.0, 0.5, 1.0])
def test_elongated_spreading_keeps_the_variance(swell):
    seas = [Sea(JONSWAP(10.0, 1e5), CosinePower(4.0), swell=s) for s in (0.0, swell)]
    totals = [Ocean(sea, 1000.0, 64).variances()[0] for sea in seas]
    assert totals[1] == pytest.approx(totals[0], rel=2e-2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: JONSWAP(0.0, 1e5), ArrayError, "wind_speed is 0\nexpected: a finite number above zero"),
        (lambda: JONSWAP(10.0, -1.0), ArrayError, "fetch is -1"),
        (lambda: PiersonMoskowitz(math.nan), ArrayError, "wind_speed is nan"),
        (lambda: SeaState("high", 5.0), ArgumentTypeError, "significant_height is str"),
        (lambda: JONSWAP(wp.zeros(2), 1e5), ArgumentTypeError, r"wind_speed is an array of \(2,\) float32"),
        (lambda: CosinePower(-1.0), ArrayError, "parameter of a spreading is -1"),
        (lambda: Sea("JONSWAP"), ArgumentTypeError, "spectrum is str"),
        (lambda: CustomSpectrum(white, 1.0, a=1, b=2, c=3, d=4), ArrayError, "4 parameters"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()

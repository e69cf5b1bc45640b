"""Wave records: sums of sines of known spectra, single waves, a random sea and its spectrum, what is refused."""

import math

import numpy as np
import pytest

from warpsim.errors import ModelError
from warpsim.solvers.ocean import Ocean, SeaState, sea_statistics
from warpsim.solvers.ocean.gauges import highest_third, record_spectrum, record_waves, spectrum_statistics

DT = 0.25
TIMES = DT * np.arange(16384)


def test_a_sine_has_its_height_and_all_periods_are_its_own():
    statistics = spectrum_statistics(*record_spectrum(0.7 * np.sin(2.0 * np.pi * TIMES / 8.0), DT))
    assert statistics.significant_height == pytest.approx(4.0 * 0.7 / math.sqrt(2.0), rel=1e-3)
    for period in (statistics.peak_period, statistics.mean_period, statistics.zero_crossing_period):
        assert period == pytest.approx(8.0, rel=1e-3)


def test_two_sines_have_the_moments_of_two_lines():
    lines = np.array([[0.5, 0.10], [0.3, 0.16]])  # amplitudes [m], frequencies [Hz]
    record = sum(a * np.cos(2.0 * np.pi * f * TIMES + 40.0 * f) for a, f in lines)
    m0, m1, m2 = (float((0.5 * lines[:, 0] ** 2 * lines[:, 1] ** n).sum()) for n in range(3))
    statistics = spectrum_statistics(*record_spectrum(record, DT, segment=800.0))
    assert statistics.significant_height == pytest.approx(4.0 * math.sqrt(m0), rel=2e-3)
    assert statistics.mean_period == pytest.approx(m0 / m1, rel=2e-3)
    assert statistics.zero_crossing_period == pytest.approx(math.sqrt(m0 / m2), rel=2e-3)
    assert statistics.peak_period == pytest.approx(10.0, rel=0.03)
    high = spectrum_statistics(*record_spectrum(record, DT, segment=800.0), low=0.13)
    assert high.significant_height == pytest.approx(4.0 * 0.3 / math.sqrt(2.0), rel=2e-3)


def test_white_noise_has_an_even_density_of_its_variance():
    noise = np.random.default_rng(0).normal(0.0, 0.2, (65536, 4))
    frequency, density = record_spectrum(noise, 0.5, segment=128.0)
    assert density.shape == (len(frequency), 4) and frequency[-1] == 1.0
    np.testing.assert_allclose(density[3:-3].mean(axis=1), 0.04 / 1.0, rtol=0.12)


def test_trends_and_means_are_no_waves():
    wave = 0.7 * np.sin(2.0 * np.pi * TIMES / 8.0)
    _, plain = record_spectrum(wave, DT)
    _, tilted = record_spectrum(wave + 3.0 + 0.01 * TIMES, DT)
    np.testing.assert_allclose(tilted, plain, atol=2e-3 * plain.max())


def test_waves_of_a_sine_are_as_high_and_as_long_as_it():
    heights, periods = record_waves(2.0 + 0.7 * np.sin(2.0 * np.pi * TIMES[:400] / 8.0 + 0.3), DT)
    assert len(heights) == len(periods) == 11
    np.testing.assert_allclose(heights, 1.4, rtol=5e-3)
    np.testing.assert_allclose(periods, 8.0, rtol=1e-3)


def test_the_highest_third_is_the_mean_of_the_highest():
    assert highest_third([1.0, 6.0, 2.0, 5.0, 3.0, 4.0]) == 5.5
    assert highest_third([1.0, 2.0, 3.0, 4.0]) == 3.5
    assert math.isnan(highest_third([]))


def test_waves_of_a_narrow_gaussian_sea_are_as_high_as_its_spectrum_says():
    rng = np.random.default_rng(3)
    frequency = rng.uniform(0.095, 0.105, 300)
    phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, 300), math.sqrt(2.0 * 0.25 / 300)
    times = 0.5 * np.arange(60_000)
    record = sum(amplitude * np.cos(2.0 * np.pi * f * times + p) for f, p in zip(frequency, phase, strict=True))
    heights, periods = record_waves(record, 0.5)
    expected = 4.0 * record.std()
    assert highest_third(heights) == pytest.approx(expected, rel=0.03)
    assert periods.mean() == pytest.approx(10.0, rel=0.01)
    assert spectrum_statistics(*record_spectrum(record, 0.5)).significant_height == pytest.approx(expected, rel=0.03)


def test_probes_in_a_sea_read_the_spectrum_that_it_was_made_of():
    spectrum = SeaState(significant_height=2.0, peak_period=8.0)
    ocean = Ocean(spectrum, size=600.0, cells=64, seed=1)
    record = np.array([ocean.evaluate(float(n)).height.numpy()[::8, ::8].ravel() for n in range(480)])
    statistics = spectrum_statistics(*record_spectrum(record, 1.0, segment=80.0))
    assert statistics.significant_height == pytest.approx(4.0 * record.std(axis=0).mean(), rel=0.06)
    assert statistics.significant_height == pytest.approx(ocean.significant_height, rel=0.08)
    assert statistics.peak_period == pytest.approx(sea_statistics(spectrum).peak_period, rel=0.05)
    assert highest_third(record_waves(record[:, 0], 1.0)[0]) == pytest.approx(statistics.significant_height, rel=0.25)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: record_spectrum(np.zeros(4), 1.0), "8 times or more"),
        (lambda: record_spectrum(np.zeros((2, 16, 16)), 1.0), "probes"),
        (lambda: record_spectrum(np.append(np.zeros(20), np.nan), 1.0), "not finite at sample 20"),
        (lambda: record_spectrum(np.zeros(64), 0.0), "dt is 0"),
        (lambda: record_spectrum(np.zeros(64), 1.0, segment=100.0), "segment is 100"),
        (lambda: record_spectrum(np.zeros(64), 1.0, segment=np.nan), "nan samples"),
        (lambda: record_spectrum(np.zeros(64), 1.0, segment=np.inf), "inf samples"),
        (lambda: record_waves(np.zeros((64, 2)), 1.0), "one probe"),
        (lambda: spectrum_statistics([0.0, 0.1, 0.2, 0.3], np.zeros(4)), "a variance of 0"),
        (lambda: spectrum_statistics([0.0, 0.1, 0.2, 0.3], np.ones(3)), "density has shape"),
        (lambda: spectrum_statistics([0.0, 0.1, 0.2], np.ones((3, 0))), "density has shape"),
        (lambda: spectrum_statistics([], []), "0 frequencies"),
        (lambda: spectrum_statistics([0.3, 0.2, 0.1, 0.0], np.ones(4)), "do not rise"),
        (lambda: spectrum_statistics([0.0, 0.1, np.nan, 0.3], np.ones(4)), "finite numbers"),
        (lambda: spectrum_statistics([0.0, 0.1, 0.2, 0.3], np.ones(4), low=0.2), "2 frequencies"),
    ],
)
def test_what_is_no_record_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call()


def test_a_calm_record_has_no_waves():
    heights, periods = record_waves(np.zeros(64), 1.0)
    assert len(heights) == len(periods) == 0

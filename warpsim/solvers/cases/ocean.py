"""Ocean waves against linear theory and published spectra: O1 to O8, and O10."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from ...core.language import array, array2d, atomic_add, clone, float32, float64, kernel, launch, tid, zeros
from ...core.runtime.tape.tape import Tape
from ...optim import LBFGS
from ..ocean import DEEP, JONSWAP, TMA, WATER_TENSION, CosinePower, CosineSquared, DonelanBanner, Hasselmann, Mitsuyasu
from ..ocean import Ocean, PiersonMoskowitz, Sea, angular_frequency, group_velocity, sea_statistics
from ..ocean.field import Field
from ..ocean.spreading import integral, sample_spreading
from ..validate import FULL, Measurement, at_least, at_most, case, near

WIND, FETCH = 10.0, 100.0e3


@case("O1", "ocean", "dispersion: frequency, phase and group speed, and the crest of one wave")
def dispersion() -> Iterator[Measurement]:
    """Airy's theory at g = 9.81 (Lamb 1932), deep, in 10 m and in 1 m of water; the slowest ripple; a moving crest."""
    rows = [
        (10.0, DEEP, 2.48270, 3.95134, None),
        (100.0, 10.0, 0.58588, 9.32461, 8.29121),
        (10.0, 1.0, 1.85272, 2.94870, 2.62191),
        (200.0, DEEP, 0.55515, 17.67094, None),
        (200.0, 1.0, 0.09838, 3.13158, 3.13055),
    ]
    for length, depth, omega, speed, group in rows:
        k = 2.0 * math.pi / length
        where = "deep" if depth == DEEP else f"{depth:g} m deep"
        yield near(f"omega of {length:g} m, {where} [rad/s]", omega, angular_frequency(k, depth, 0.0), relative=1e-4)
        yield near(f"phase speed of {length:g} m, {where} [m/s]", speed, angular_frequency(k, depth, 0.0) / k, 1e-4)
        if group:
            yield near(f"group speed of {length:g} m, {where} [m/s]", group, group_velocity(k, depth, 0.0), 1e-4)
    ripples = 2.0 * math.pi / np.linspace(0.012, 0.024, 1201)
    speeds = [angular_frequency(k, DEEP, WATER_TENSION) / k for k in ripples]
    yield near("slowest wave [m/s]", 0.23213, min(speeds), relative=1e-3)
    yield near("its length [mm]", 17.26, 2e3 * math.pi / ripples[int(np.argmin(speeds))], relative=5e-3)
    omega = angular_frequency(2.0 * math.pi / 0.1, DEEP, WATER_TENSION)
    yield near("omega of 0.1 m with tension [rad/s]", 25.194, omega, relative=1e-4)
    for depth, speed in ((DEEP, 12.49524), (10.0, 9.32461)):
        yield near(f"zero crossing of 100 m at depth {depth:g} [m/s]", speed, tracked_speed(depth), relative=1e-3)


def single_mode(m: int, n: int, amplitude: float, **options: object) -> Ocean:
    """One wave a cos(k x - omega t) on 64 cells."""
    ocean = Ocean(JONSWAP(WIND, FETCH), cells=64, dtype=float64, **options)
    noise = np.zeros((1, 64, 64, 2))
    row = float(np.sqrt(ocean.variance.numpy()[0, m, abs(n), 0]))
    noise[0, m, n, 0] = amplitude / row
    ocean.noise.assign(noise)
    ocean.update()
    return ocean


def tracked_speed(depth: float) -> float:
    """The speed of a zero of a wave of 100 m along x, over 2 s."""
    ocean = single_mode(4, 0, 1.0, size=400.0, depth=None if depth == DEEP else depth)
    phases = []
    for time in (0.0, 2.0):
        line = ocean.evaluate(time).height.numpy()[:, 0]
        phases.append(float(np.angle(np.fft.fft(line)[4])))
    return float((phases[0] - phases[1]) % (2.0 * math.pi)) / (2.0 * math.pi / 100.0) / 2.0


@case("O2", "ocean", "spectra: significant height and periods")
def spectra() -> Iterator[Measurement]:
    """Pierson and Moskowitz 1964; JONSWAP 1973 and TMA 1985: quadrature of the published forms.

    The peak period of Pierson-Moskowitz is the one of the formula; the rounded 0.87 g / U makes it 0.8 % longer.
    """
    for wind, height, period in ((5.0, 0.533, 3.681), (10.0, 2.133, 7.362), (15.0, 4.80, 11.043), (20.0, 8.53, 14.724)):
        sea = sea_statistics(PiersonMoskowitz(wind))
        yield near(f"Hs, Pierson-Moskowitz, {wind:g} m/s [m]", height, sea.significant_height, relative=5e-3)
        yield near(f"Tp, Pierson-Moskowitz, {wind:g} m/s [s]", period, sea.peak_period, relative=1e-2)
    rows = [
        (10.0, 100e3, 2.0131, 6.047, 5.045, 4.701),
        (17.0, 300e3, 5.9386, 10.407, 8.683, 8.091),
        (10.0, 20e3, 0.8307, 3.555, 2.966, 2.765),
        (20.0, 100e3, 3.7566, 7.654, 6.386, 5.950),
        (5.0, 10e3, 0.3040, 2.234, 1.864, 1.739),
    ]
    for wind, fetch, *expected in rows:
        sea = sea_statistics(JONSWAP(wind, fetch))
        measured = (sea.significant_height, sea.peak_period, sea.mean_period, sea.zero_crossing_period)
        for name, right, value in zip(("Hs", "Tp", "Tm01", "Tz"), expected, measured, strict=True):
            yield near(f"{name}, JONSWAP, {wind:g} m/s, {fetch / 1e3:g} km", right, value, relative=5e-3)
    peaked, flat = (sea_statistics(JONSWAP(WIND, FETCH, g)).significant_height ** 2 for g in (3.3, 1.0))
    yield near("m0 of gamma = 3.3 over that of 1", 1.525, peaked / flat, relative=5e-3)
    for wind, fetch, heights in (
        (10.0, 100e3, (1.2399, 1.6035, 1.9043, 2.0111)),
        (17.0, 300e3, (2.2576, 3.0956, 4.1184, 5.4467)),
    ):
        for depth, height in zip((5.0, 10.0, 20.0, 50.0), heights, strict=True):
            sea = sea_statistics(TMA(wind, fetch), depth)
            yield near(f"Hs, TMA, {wind:g} m/s, {depth:g} m deep [m]", height, sea.significant_height, relative=5e-3)


@cache
def wind_sea(cells: int = 256, seed: int = 0, choppiness: float = 1.0, double: bool = True) -> Ocean:
    """The sea that most cases look at: JONSWAP, 10 m/s over 100 km, cos^2, 1000 m."""
    return Ocean(
        JONSWAP(WIND, FETCH), 1000.0, cells, choppiness=choppiness, seed=seed, dtype=float64 if double else float32
    )


def height_of(field: Field) -> np.ndarray:
    return field.height.numpy().astype(np.float64)


@case("O3", "ocean", "realised field: the height of the sea is that of its spectrum")
def sea_height() -> Iterator[Measurement]:
    """H_s = 4 sqrt(m0): the sum over modes against the integral over the band of the grid, and 20 seeds."""
    ocean = wind_sea()
    yield near("Hs of the modes [m]", 1.9978, ocean.significant_height, relative=5e-3)
    heights = [4.0 * height_of(wind_sea(128, seed).evaluate(0.0)).std() for seed in range(20)]
    expected = wind_sea(128).significant_height
    yield near("mean Hs of 20 seeds [m]", expected, float(np.mean(heights)), relative=2e-2)
    yield near("Hs of one seed [m]", expected, heights[0], absolute=4.0 * float(np.std(heights)))


@case("O4", "ocean", "transforms: real, without a mean, Parseval, periodic")
def hygiene() -> Iterator[Measurement]:
    """Fourier series: heights and displacements are real, modes orthogonal; even and odd numbers of cells."""
    for cells, double in ((128, True), (125, True), (128, False)):
        tolerance, kind = (1e-12, "float64") if double else (1e-5, "float32")
        ocean = wind_sea(cells, 1, 1.0, double)
        for time in (0.0, 17.3):
            spectra = ocean.spectra(time).numpy()[..., 0] + 1j * ocean.spectra(time).numpy()[..., 1]
            field = ocean.evaluate(time)
            height = height_of(field)
            mirrored = np.roll(spectra[:, 0, ::-1, ::-1], (1, 1), (1, 2))
            h = 0.5 * (spectra[1, 0] + np.conj(mirrored[1]))
            parseval = abs((np.abs(h) ** 2).sum() / (height**2).mean() - 1.0)
            label = f"{cells} cells, t = {time:g}, {kind}"
            yield at_most(f"|mean height| / std, {label}", tolerance, abs(height.mean()) / height.std())
            yield at_most(f"Parseval, {label}", tolerance * 10.0, parseval)
            residue = np.abs(np.fft.ifft2(h, norm="forward").imag).max() / height.std()
            yield at_most(f"imaginary residue / std, {label}", tolerance, residue)


@case("O5", "ocean", "loop: the sea repeats itself")
def loop() -> Iterator[Measurement]:
    """Frequencies are multiples of 2 pi / T0: height and velocity return; the peak moves by at most pi / (T0 w_p)."""
    ocean = Ocean(JONSWAP(WIND, FETCH), 1000.0, 128, loop_period=60.0, dtype=float64)
    first, last = ocean.evaluate(0.0, velocity=True), ocean.evaluate(60.0, velocity=True)
    yield at_most("height after a period [m]", 1e-12, float(np.abs(height_of(first) - height_of(last)).max()))
    rate = float(np.abs(first.velocity.numpy() - last.velocity.numpy()).max())
    yield at_most("velocity after a period [m/s]", 1e-12, rate)
    free = Ocean(JONSWAP(WIND, FETCH), 1000.0, 128, dtype=float64)
    peak = np.unravel_index(np.argmax(free.variance.numpy()[0, ..., 0]), free.frequency.shape[1:])
    shift = abs(ocean.frequency.numpy()[0][peak] / 60.0 / free.frequency.numpy()[0][peak] - 1.0)
    yield at_most("relative change of the peak", 0.5 / 60.0 / free.frequency.numpy()[0][peak], shift)


@case("O6", "ocean", "periodogram: what a probe records", FULL)
def periodogram() -> Iterator[Measurement]:
    """64 probes over 600 s, every 0.5 s: the peak of the mean periodogram, over 5 bins, and H_s of the records."""
    ocean = wind_sea(256, 3, 0.0)
    records = np.array([height_of(ocean.evaluate(0.5 * n))[::32, ::32].ravel() for n in range(1200)])
    power = (np.abs(np.fft.rfft(records * np.hanning(1200)[:, None], axis=0)) ** 2).mean(1)
    smooth = np.convolve(power, np.ones(5) / 5.0, "same")
    frequency = np.fft.rfftfreq(1200, 0.5)
    weights = smooth**4
    yield near("peak frequency [1/s]", 0.16538, float((frequency * weights).sum() / weights.sum()), relative=3e-2)
    yield near(
        "Hs of the records [m]", ocean.significant_height, 4.0 * float(np.sqrt(records.var(0).mean())), relative=4e-2
    )


@case("O7", "ocean", "choppiness: the Jacobian, folding, normals")
def choppiness() -> Iterator[Measurement]:
    """Tessendorf 2001: the displacement maps the tile onto itself, so its Jacobian has mean 1; crests are narrow."""
    lowest = []
    for chop in (0.0, 0.5, 1.0, 1.5):
        field = wind_sea(256, 0, chop).evaluate(0.0)
        jacobian, height = field.jacobian.numpy(), height_of(field)
        lowest.append(float(jacobian.min()))
        yield near(f"mean Jacobian, choppiness {chop:g}", 1.0, float(jacobian.mean()), absolute=1e-4)
        if chop:
            correlation = float(np.corrcoef(jacobian.ravel(), height.ravel())[0, 1])
            yield at_most(f"correlation with height, choppiness {chop:g}", -0.7, correlation, expected=-0.82)
            yield at_least(f"smallest Jacobian, choppiness {chop:g}", 0.0, lowest[-1])
    yield at_most("largest step of the smallest Jacobian", 0.0, float(np.diff(lowest).max()), expected=-0.1)
    folded = wind_sea(256, 0, 4.0).evaluate(0.0)
    yield at_least("folded part, choppiness 4", 1e-4, folded.folded())
    wave = single_mode(3, 0, 0.5, size=100.0).evaluate(0.7)
    across = float(wave.displacement.numpy()[..., 0].max() / wave.height.numpy().max())
    yield near("horizontal over vertical amplitude, deep", 1.0, across, relative=1e-2)
    yield at_most("normals against differences", 1e-3, normal_error(wind_sea(256, 0, 1.0)))


def normal_error(ocean: Ocean) -> float:
    """Largest difference of the normals from those of the exactly interpolated surface, by differences over 1 mm."""
    field = ocean.evaluate(0.0)
    spectra = [np.fft.fft2(a) for a in (*np.moveaxis(field.displacement.numpy(), -1, 0), field.height.numpy())]
    m = np.fft.fftfreq(ocean.cells, 1.0 / ocean.cells) * 2.0 * math.pi / ocean.size
    sides = []
    for axis in (0, 1):
        k = m[:, None] if axis == 0 else m[None, :]
        ends = [np.stack([np.fft.ifft2(s * np.exp(1j * k * e)).real for s in spectra], -1) for e in (5e-4, -5e-4)]
        sides.append((ends[0] - ends[1]) / 1e-3 + np.eye(3)[axis])
    normal = np.cross(*sides)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return float(np.abs(normal - field.normals.numpy()).max())


@case("O8", "ocean", "statistics: Gaussian heights, directions, spreadings")
def statistics() -> Iterator[Measurement]:
    """Linear waves are Gaussian, and their heights Rayleigh (Longuet-Higgins 1952): P(H > Hs) = exp(-2); spreadings
    integrate to 1."""
    height = np.concatenate([height_of(wind_sea(256, seed).evaluate(0.0)).ravel() for seed in range(4)])
    height = (height - height.mean()) / height.std()
    yield at_most("|skewness|", 0.1, abs(float((height**3).mean())))
    yield at_most("|excess kurtosis|", 0.2, abs(float((height**4).mean()) - 3.0))
    yield near("P(H > Hs)", math.exp(-2.0), exceedance(), absolute=0.03)
    ocean = Ocean([Sea(JONSWAP(WIND, FETCH), CosineSquared(), direction=0.6)], 1000.0, 128, dtype=float64)
    yield near("mean direction [deg]", math.degrees(0.6), mean_direction(ocean), absolute=2.0)
    kinds = (CosineSquared(), CosinePower(5.0), Mitsuyasu(), Hasselmann(), DonelanBanner())
    for name, kind in zip(("cos^2", "cos^2s", "Mitsuyasu", "Hasselmann", "Donelan-Banner"), kinds, strict=True):
        worst = max(
            (integral(kind, x, age) for x in (0.6, 1.0, 2.0, 5.0) for age in (0.8, 2.0)), key=lambda v: abs(v - 1.0)
        )
        yield near(f"integral of {name}", 1.0, worst, absolute=1e-3)
    for s, norm, spread in ((1, 0.31831, 57.3), (5, 0.64672, 33.1), (10, 0.90328, 24.4), (20, 1.26947, 17.7)):
        angle, density = sample_spreading(CosinePower(float(s)), 1.0, 1.0)
        yield near(f"cos^2s at its peak, s = {s}", norm, float(density.max()), relative=1e-3)
        width = math.degrees(math.sqrt(2.0 - 2.0 * float((density * np.cos(angle)).mean() * 2.0 * math.pi)))
        yield near(f"circular spread, s = {s} [deg]", spread, width, relative=1e-2)


def exceedance() -> float:
    """The part of waves between zero up-crossings along x that are higher than sqrt(2) times their rms."""
    heights: list[float] = []
    for seed in range(4):
        for line in height_of(wind_sea(256, seed).evaluate(0.0))[:, ::4].T:
            ups = np.flatnonzero((line[:-1] < 0.0) & (line[1:] >= 0.0)) + 1
            heights += [np.ptp(part) for part in np.split(line, ups)[1:-1]]
    return float((np.array(heights) > math.sqrt(2.0 * np.square(heights).mean())).mean())


def mean_direction(ocean: Ocean) -> float:
    """The direction [deg] of the sum of variance times unit wavevector."""
    v = ocean.variance.numpy()[0]
    m, n = np.fft.fftfreq(ocean.cells)[:, None], np.arange(v.shape[1]) / ocean.cells
    k = np.hypot(m, n)
    k[0, 0] = 1.0
    signed = (v[..., 0] - v[..., 1]) / k
    return math.degrees(
        math.atan2(float((signed * n).sum()), float((signed * m)[:, 1:].sum() + (v[:, 0, 0] * m[:, 0] / k[:, 0]).sum()))
    )


@case("O10", "ocean", "derivatives: the adjoint of a field, and what a height map says of the wind")
def derivatives() -> Iterator[Measurement]:
    """<F x, y> = <x, F* y> for the map from amplitudes to heights, and L-BFGS from another wind than the right one."""
    ocean = Ocean(JONSWAP(WIND, FETCH), 500.0, 32, dtype=float64)
    ocean.noise.requires_grad = True
    with Tape() as tape:
        ocean.update()
        height = ocean.evaluate(3.0).height
    weights = np.random.default_rng(0).standard_normal(height.shape)
    tape.backward(grads={height: array(weights, dtype=float64)})
    forth = float((height.numpy() * weights).sum())
    back = float((ocean.noise.numpy() * ocean.noise.grad.numpy()).sum())
    yield at_most("adjoint dot test, relative", 1e-10, abs(forth / back - 1.0))
    yield near("wind speed found from a height map [m/s]", 12.0, recovered_wind(12.0, 9.0), relative=1e-3)
    expected, recovered = recovered_amplitudes()
    yield at_most(
        "error of 16 amplitudes, relative", 1e-3, float(np.linalg.norm(recovered - expected) / np.linalg.norm(expected))
    )


@kernel
def _misfit(height: array2d(dtype=float64), target: array2d(dtype=float64), loss: array(dtype=float64)):
    i, j = tid()
    miss = height[i, j] - target[i, j]
    atomic_add(loss, 0, miss * miss)


def fit(ocean: Ocean, target: array, parameters: list[array]) -> None:
    """Minimise the squared difference of the heights from a map."""
    loss = zeros(1, float64, requires_grad=True)

    def closure() -> array:
        loss.zero_()
        with Tape() as tape:
            ocean.update()
            launch(_misfit, target.shape, [ocean.evaluate(0.0).height, target], [loss])
        tape.backward(loss)
        return loss

    LBFGS(parameters).minimize(closure, 60)


def recovered_wind(right: float, start: float) -> float:
    target = Ocean(JONSWAP(right, FETCH), 500.0, 64, dtype=float64).evaluate(0.0).height
    wind = array([start], dtype=float64, requires_grad=True)
    fit(Ocean(JONSWAP(wind, FETCH), 500.0, 64, dtype=float64), target, [wind])
    return float(wind.numpy()[0])


def recovered_amplitudes() -> tuple[np.ndarray, np.ndarray]:
    """Sixteen modes of a sea, found again from none."""
    ocean = Ocean(JONSWAP(WIND, FETCH), 500.0, 64, dtype=float64, longest=500.0 / 3.0, shortest=500.0 / 6.0)
    original = ocean.noise.numpy().copy()
    chosen = np.argsort(-ocean.variance.numpy()[0, :, 1:, 0].ravel())[:16]
    rows, columns = np.unravel_index(chosen, (64, 32))
    isolated = np.zeros_like(original)
    isolated[0, rows, columns + 1] = original[0, rows, columns + 1]
    ocean.noise.assign(isolated)
    ocean.update()
    target = clone(ocean.evaluate(0.0).height)
    ocean.noise.zero_()
    ocean.noise.requires_grad = True
    fit(ocean, target, [ocean.noise])
    return isolated[0, rows, columns + 1], ocean.noise.numpy()[0, rows, columns + 1]

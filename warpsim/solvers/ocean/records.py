"""What a wave record says: the spectrum of heights over time at probes, and heights and periods of its waves.

A record is the elevation of the water at one place, or several, at even steps of time, (times,) or (times, probes) [m].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import welch

from ...arguments import checked, numbers
from ...errors import ModelError
from ..scene.checks import finite_numbers, refuse
from .statistics import SeaStatistics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_PEAKED = 4  # power of the density whose centre is the peak


@checked
def record_spectrum(elevation: ArrayLike, dt: float, segment: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz], (n,), and the one-sided density of the elevation there [m^2/Hz], (n,) or (n, probes).

    dt: between samples [s]. segment [s]: of the parts over which spectra are averaged, each under Hann's window, half
    over the one before and without its straight trend (P. Welch 1967, IEEE Trans. Audio Electroacoust. 15, 70); None:
    an eighth of the record. Frequencies are 1 / segment apart; 16 parts scatter by about a third of the density.
    Divide by 2 pi for a density over angular frequencies.

    Raises `ModelError` for records with numbers that are not finite, and for segments that a record does not hold.
    """
    record = _record(elevation, dt)
    times = len(record)
    samples = max(times // 8, 8) if segment is None else segment / dt
    good = 3.5 <= samples < times + 0.5
    refuse(((not good, f"segment is {segment} s, {samples:.6g} samples", f"4 to {times} samples"),))
    count = round(samples)
    frequency, density = welch(record, 1.0 / dt, "hann", count, detrend="linear", axis=0)
    return frequency, density


@checked
def spectrum_statistics(
    frequency: ArrayLike, density: ArrayLike, low: float = 0.0, high: float = math.inf
) -> SeaStatistics:  # fmt: skip
    """Heights and periods from moments of a measured spectrum, m_n = integral of f^n S(f) from `low` to `high` [Hz].

    frequency [Hz] and density [m^2/Hz], (n,) as of `record_spectrum`, or (n, probes), whose mean is taken. Significant
    height H_m0 = 4 sqrt(m0), mean period m0 / m1, zero-crossing period sqrt(m0 / m2) (Longuet-Higgins 1952). Peak
    period: by the centre of S^4, which no single bin decides (I. Young 1995, Ocean Eng. 22, 669). sqrt(m0 / m2) grows
    with noise at high frequencies: set `high` where the record has only noise.

    Raises `ModelError` for frequencies that do not rise, for fewer than 3 in that range, and for a spectrum without
    energy.
    """
    f, s = finite_numbers(frequency, "frequency", (-1,)), numbers(density, "density")
    fits = s.ndim in (1, 2) and len(s) == len(f) and (s.size or not len(f))
    within = (f > 0.0) & (f >= low) & (f <= high)
    refuse(
        (
            (not fits, f"density has shape {s.shape}, for {len(f)} frequencies", f"({len(f)},) or ({len(f)}, probes)"),
            (bool((np.diff(f) <= 0.0).any()), "frequencies do not rise from each to the next", "ascending order"),
            (np.count_nonzero(within) < 3, f"{np.count_nonzero(within)} frequencies are in the range", "3 or more"),
        )
    )
    f, s = f[within], s[within] if s.ndim == 1 else s[within].mean(axis=1)
    m0, m1, m2 = (float(np.trapezoid(f**n * s, f)) for n in range(3))
    refuse(((not (m0 > 0.0 and math.isfinite(m2)), f"the spectrum has a variance of {m0:g} m^2", "above 0, finite"),))
    sharp = (s / s.max()) ** _PEAKED
    return SeaStatistics(4.0 * math.sqrt(m0), float(sharp.sum() / (f * sharp).sum()), m0 / m1, math.sqrt(m0 / m2))


@checked
def record_waves(elevation: ArrayLike, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Heights [m] and periods [s] of the waves of one record (times,), both (waves,).

    A wave lies between two crossings of the mean upwards; its height is its highest sample less its lowest (IAHR 1989,
    J. Waterway, Port, Coastal, Ocean Eng. 115, 6). Crossings are found between samples, crests are not: with 20 samples
    in a period heights are up to 1.2 % low.

    Raises `ModelError` for records with numbers that are not finite, and for several at once.
    """
    record = _record(elevation, dt)
    refuse(((record.ndim != 1, f"the record has shape {record.shape}", "one probe, (times,)"),))
    level = record - record.mean()
    ups = np.flatnonzero((level[:-1] < 0.0) & (level[1:] >= 0.0))
    times = (ups + level[ups] / (level[ups] - level[ups + 1])) * dt
    heights = [np.ptp(part) for part in np.split(level, ups + 1)[1:-1]]
    return np.array(heights), np.diff(times)


@checked
def highest_third(heights: ArrayLike) -> float:
    """H_1/3, the mean height of the highest third of waves [m]; NaN of none.

    In a narrow spectrum with Rayleigh's distribution it is H_m0 (M. Longuet-Higgins 1952); seas measure some 5 % less.
    """
    ordered = np.sort(numbers(heights, "heights", (-1,)))[::-1]
    return float(ordered[: math.ceil(len(ordered) / 3)].mean()) if len(ordered) else float("nan")


def _record(elevation: ArrayLike, dt: float) -> np.ndarray:
    """A record as numbers. Raises `ModelError` for what is none."""
    record = numbers(elevation, "elevation")
    refuse(((not 0.0 < dt < math.inf, f"dt is {dt}", "above 0 [s]"),))
    if record.ndim not in (1, 2) or len(record) < 8 or not record.size:
        raise ModelError(f"a record has shape {record.shape}\nexpected: (times,) or (times, probes), 8 times or more")
    if not np.isfinite(record).all():
        first = int(np.flatnonzero(~np.isfinite(record.reshape(len(record), -1)).all(axis=1))[0])
        raise ModelError(f"the record is not finite at sample {first}\nexpected: gaps filled, or the part before")
    return record

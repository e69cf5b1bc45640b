"""Statistics of a sea: heights and periods from moments of its spectrum, m_n = integral of omega^n S(omega).

H_s = 4 sqrt(m0), T_m01 = 2 pi m0 / m1, T_z = 2 pi sqrt(m0 / m2) (Longuet-Higgins 1952), T_p of the largest S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import checked
from ...core.language import array, float64, kernel, launch, pow, standard_names, tid, zeros
from .dispersion import DEEP, GRAVITY, angular_frequency, group_velocity
from .spectrum import Spectrum

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

vec4d = standard_names()["vec4d"]
_COUNT = 20000
_LOWEST, _HIGHEST = 0.2, 60.0  # times the peak frequency


@dataclass(frozen=True)
class SeaStatistics:
    """Significant height [m], and peak, mean and zero-crossing period [s]."""

    significant_height: float
    peak_period: float
    mean_period: float
    zero_crossing_period: float


@checked
def sea_statistics(spectrum: Spectrum, depth: float = DEEP) -> SeaStatistics:
    """What a spectrum says of the sea at a depth [m], integrated from 0.2 to 60 times its peak frequency."""
    omega, density = sample_spectrum(spectrum, depth)
    m0, m1, m2 = (float(np.trapezoid(omega ** (n + 1) * density, np.log(omega))) for n in range(3))
    top = omega[np.argmax(density)]
    turn = 2.0 * math.pi
    return SeaStatistics(4.0 * math.sqrt(m0), turn / float(top), turn * m0 / m1, turn * math.sqrt(m0 / m2))


def sample_spectrum(spectrum: Spectrum, depth: float = DEEP) -> tuple[np.ndarray, np.ndarray]:
    """Angular frequencies [rad/s], evenly in their logarithm, and the density [m^2 s/rad] there."""
    p = spectrum.arrays("cpu")
    peak = float(spectrum.peak(vec4d(*(float(a.numpy()[0]) for a in p)))[0])
    omega = np.geomspace(_LOWEST * peak, _HIGHEST * peak, _COUNT)
    k = wavenumbers(omega, depth)
    density = zeros(_COUNT, float64, "cpu")
    inputs = [*p, array(omega, dtype=float64, device="cpu"), array(k, dtype=float64, device="cpu"), float64(depth)]
    launch(_sampler(spectrum.density), _COUNT, inputs, [density], device="cpu")
    return omega, density.numpy()


def wavenumbers(omega: np.ndarray, depth: float, tension: float = 0.0) -> np.ndarray:
    """The wavenumbers [rad/m] of angular frequencies [rad/s], by Newton's method from the deep ones."""
    omega = np.atleast_1d(np.asarray(omega, float))
    k = zeros(len(omega), float64, "cpu")
    frequencies = array(omega, dtype=float64, device="cpu")
    launch(_invert_dispersion, len(omega), [frequencies, float64(depth), float64(tension)], [k], device="cpu")
    return k.numpy()


@kernel
def _invert_dispersion(omega: array(dtype=float64), depth: float64, tension: float64, k: array(dtype=float64)):
    """omega(k) is concave or, with tension, convex from somewhere on: Newton in log k converges from anywhere."""
    i = tid()
    x = omega[i] * omega[i] / GRAVITY
    for _ in range(60):
        frequency = angular_frequency(x, depth, tension)
        slope = group_velocity(x, depth, tension) * x / frequency
        x = x * pow(omega[i] / frequency, 1.0 / slope)
    k[i] = x


@cache
def _sampler(density: Func) -> Any:
    @kernel
    def sample(
        p0: array(dtype=float64), p1: array(dtype=float64), p2: array(dtype=float64), p3: array(dtype=float64),
        omega: array(dtype=float64), k: array(dtype=float64), depth: float64, out: array(dtype=float64),
    ):  # fmt: skip
        i = tid()
        out[i] = density(omega[i], k[i], depth, vec4d(p0[0], p1[0], p2[0], p3[0]))

    return sample

"""Directional spreading: how the variance of one frequency is shared out among directions, D(theta) [1/rad].

A spreading is a kernel function `density(theta, x, age, q)` of the angle from the mean direction in [-pi, pi], of x =
omega / omega_p, of the wind speed over the phase speed of the peak, and of one parameter. It integrates to 1 over all
directions, at every frequency. Swell elongation multiplies it by cos^2s(theta / 2) with s = 16 tanh(1 / x) xi^2
(Horvath 2015) and scales the product to integrate to 1 again.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.language import abs, array, cos, cosh, exp, float64, func, kernel, launch, log, max, sqrt, tanh, tid, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ArgumentTypeError, ArrayError, shown
from .spectrum import as_number

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func

_PI = math.pi
_LOG_TEN = math.log(10.0)
_TWO_ROOT_PI = 2.0 * math.sqrt(math.pi)
_SHIFT = 16  # the ratio of gamma functions is expanded around arguments at least as large
_SMALLEST = 1.0e-300


# ----- densities ----------------------------------------------------------------------------------


@func
def cosine_squared(theta: float64, x: float64, age: float64, q: float64) -> float64:
    """2/pi cos^2(theta) within 90 degrees of the wind, at all frequencies (Pierson, Neumann and James 1955)."""
    c = cos(theta)
    return 2.0 / _PI * c * c if c > 0.0 else float64(0.0)


@func
def cosine_power(theta: float64, x: float64, age: float64, q: float64) -> float64:
    """cos^2s(theta / 2) with s = q at all frequencies (Longuet-Higgins, Cartwright and Smith 1963)."""
    return cosine_2s(theta, q)


@func
def mitsuyasu(theta: float64, x: float64, age: float64, q: float64) -> float64:
    """cos^2s with s = 11.5 age^-2.5 x^5 up to the peak, x^-2.5 above it (Mitsuyasu et al. 1975). q: unused."""
    return cosine_2s(theta, mitsuyasu_power(x, age))


@func
def hasselmann(theta: float64, x: float64, age: float64, q: float64) -> float64:
    """cos^2s with s = 6.97 x^4.06 up to the peak, 9.77 x^(-2.33 - 1.45 (age - 1.17)) above (Hasselmann et al. 1980)."""
    return cosine_2s(theta, hasselmann_power(x, age))


@func
def donelan_banner(theta: float64, x: float64, age: float64, q: float64) -> float64:
    """beta / (2 tanh(beta pi)) sech^2(beta theta) (Donelan et al. 1985, above 1.6 omega_p Banner 1990). q: unused."""
    beta = donelan_banner_width(x)
    c = cosh(beta * theta)
    return beta / (2.0 * tanh(beta * _PI) * c * c)


@func
def mitsuyasu_power(x: float64, age: float64) -> float64:
    peak = 11.5 * exp(-2.5 * log(age))
    return peak * exp((float64(5.0) if x <= 1.0 else float64(-2.5)) * log(x))


@func
def hasselmann_power(x: float64, age: float64) -> float64:
    if x <= 1.0:
        return 6.97 * exp(4.06 * log(x))
    return 9.77 * exp((-2.33 - 1.45 * (age - 1.17)) * log(x))


@func
def donelan_banner_width(x: float64) -> float64:
    if x < 0.95:
        return 2.61 * exp(1.3 * log(max(x, 0.56)))
    if x < 1.6:
        return 2.28 * exp(-1.3 * log(x))
    return exp(_LOG_TEN * (-0.4 + 0.8393 * exp(-0.567 * 2.0 * log(x))))


# ----- cos^2s -------------------------------------------------------------------------------------


@func
def cosine_2s(theta: float64, s: float64) -> float64:
    """Gamma(s + 1) / (2 sqrt(pi) Gamma(s + 1/2)) cos^2s(theta / 2)."""
    return gamma_ratio(s) / _TWO_ROOT_PI * half_cosine_power(theta, s)


@func
def half_cosine_power(theta: float64, s: float64) -> float64:
    """cos^2s(theta / 2); zero against the wind."""
    c = abs(cos(0.5 * theta))
    return exp(2.0 * s * log(max(c, _SMALLEST)))


@func
def gamma_ratio(s: float64) -> float64:
    """Gamma(s + 1) / Gamma(s + 1/2) for s >= 0, to 1e-14: the recurrence, then Stirling's series of the ratio."""
    z = s + 0.5 + float64(_SHIFT)
    i = 1.0 / z
    far = -21.0 / 32768.0 + i * (-399.0 / 262144.0 + i * (869.0 / 4194304.0 + i * (39325.0 / 33554432.0)))
    ratio = sqrt(z) * (1.0 + i * (-1.0 / 8.0 + i * (1.0 / 128.0 + i * (5.0 / 1024.0 + i * far))))
    for j in range(_SHIFT):
        ratio = ratio * (s + 0.5 + float64(j)) / (s + 1.0 + float64(j))
    return ratio


# ----- spreadings ---------------------------------------------------------------------------------


class Spreading(Fixed):
    """A density and its parameter, an array of one float64. Raises `ArrayError` unless it integrates to 1."""

    replaceable = ("parameter",)

    def __init__(self, density: Func, parameter: float | array = 1.0, checked: bool = False):
        if not callable(density):
            raise ArgumentTypeError(f"the density of a spreading is {shown(density)}\nexpected: a function of wp.func")
        self.density, self.parameter = density, as_number(parameter, "the parameter of a spreading")
        if not checked:
            self._check()

    def _check(self) -> None:
        for x in (0.5, 1.0, 3.0):
            total = integral(self, x, 1.0)
            if abs_difference(total, 1.0) > 1.0e-3:
                raise ArrayError(
                    f"a spreading integrates to {total:.6g} over all directions, at {x:g} times the peak frequency\n"
                    "expected: 1, from -pi to pi, at every frequency\nhelp: divide it by its integral"
                )


def abs_difference(a: float, b: float) -> float:
    """NaN counts as infinitely far."""
    return math.inf if a != a else math.fabs(a - b)


def CosineSquared() -> Spreading:
    """2/pi cos^2(theta), which most pictures of the sea have: the same at all frequencies, nothing against the wind."""
    return Spreading(cosine_squared, checked=True)


def CosinePower(s: float | array) -> Spreading:
    """cos^2s(theta / 2) of one power s > 0 at all frequencies: s = 1 is broad, 10 wind sea, 75 swell."""
    return Spreading(cosine_power, s, checked=True)


def Mitsuyasu() -> Spreading:
    """cos^2s, narrow at the peak and the narrower the older the sea."""
    return Spreading(mitsuyasu, checked=True)


def Hasselmann() -> Spreading:
    """cos^2s as measured in the JONSWAP experiment."""
    return Spreading(hasselmann, checked=True)


def DonelanBanner() -> Spreading:
    """sech^2, narrow at the peak."""
    return Spreading(donelan_banner, checked=True)


def integral(spreading: Spreading, x: float, age: float) -> float:
    """The integral over all directions at x times the peak frequency, by the trapezoidal rule."""
    return float(sample_spreading(spreading, x, age)[1].mean()) * 2.0 * _PI


def sample_spreading(spreading: Spreading, x: float, age: float, count: int = 4096) -> tuple[np.ndarray, np.ndarray]:
    """Angles [rad] all around, and the density [1/rad] there."""
    values = zeros(count, float64, "cpu")
    inputs = [float64(x), float64(age), spreading.parameter.to("cpu")]
    launch(_sampler(spreading.density), count, inputs, [values], device="cpu")
    return 2.0 * _PI * (np.arange(count) + 0.5) / count - _PI, values.numpy()


@cache
def _sampler(density: Func) -> Any:
    @kernel
    def sample(x: float64, age: float64, q: array(dtype=float64), out: array(dtype=float64)):
        i = tid()
        out[i] = density(2.0 * _PI * (float64(i) + 0.5) / float64(out.shape[0]) - _PI, x, age, q[0])

    return sample

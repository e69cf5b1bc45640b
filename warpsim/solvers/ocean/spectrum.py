"""Frequency spectra: how much variance of the height S(omega) [m^2 s/rad] waves of each frequency have.

A spectrum is a kernel function `density(omega, k, depth, p)` of the angular frequency [rad/s], the wavenumber [rad/m]
that belongs to it, the depth [m] and four parameters, and the parameters themselves. Each of these is a number, or an
array of one float64: with `requires_grad=True` it gets a gradient from everything that is computed of the sea.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...arguments import is_number
from ...core.language import array, exp, float64, func, kernel, launch, log, min, sinh, standard_names, tanh, zeros
from ...core.runtime.arrays.creation import copy
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ArgumentTypeError, ArrayError
from .dispersion import GRAVITY

if TYPE_CHECKING:
    from ...core.frontend.functions.functions import Func
    from ...core.runtime.devices.device import Device

vec2d, vec4d = standard_names()["vec2d"], standard_names()["vec4d"]
Number = array(dtype=float64)

_TWO_PI = 6.283185307179586
_FLAT = 20.0


# ----- densities ----------------------------------------------------------------------------------


@func
def phillips(omega: float64, k: float64, depth: float64, p: vec4d) -> float64:
    """p: wind speed U [m/s], Phillips' constant. Tessendorf 2001: exp(-1/(k L)^2) / k^4 with L = U^2 / g.

    Integrated over directions and written in the frequency, in deep water, that is alpha g^2 omega^-5
    exp(-(g / (U omega))^4).
    """
    x = GRAVITY / (p[0] * omega)
    return p[1] * GRAVITY * GRAVITY / _fifth(omega) * exp(-_fourth(x))


@func
def pierson_moskowitz(omega: float64, k: float64, depth: float64, p: vec4d) -> float64:
    """p: wind speed U [m/s] 19.5 m above the sea. alpha g^2 omega^-5 exp(-0.74 (g / (U omega))^4), alpha = 0.0081.

    Pierson and Moskowitz 1964: a sea that the wind has fully developed.
    """
    x = GRAVITY / (p[0] * omega)
    return 0.0081 * GRAVITY * GRAVITY / _fifth(omega) * exp(-0.74 * _fourth(x))


@func
def jonswap(omega: float64, k: float64, depth: float64, p: vec4d) -> float64:
    """p: wind speed U [m/s] at 10 m, fetch F [m], peak enhancement gamma. Hasselmann et al. 1973: a growing sea.

    With X = g F / U^2: alpha = 0.076 X^-0.22, omega_p = 2 pi 3.5 (g / U) X^-0.33. (Texts that write omega_p =
    22 (g^2 / (U F))^(1/3) get a peak up to 3 % lower.)
    """
    peak = jonswap_peak(p)[0]
    alpha = 0.076 * exp(-0.22 * log(GRAVITY * p[1] / (p[0] * p[0])))
    return alpha * GRAVITY * GRAVITY / _fifth(peak) * peaked_shape(omega / peak, p[2])


@func
def tma(omega: float64, k: float64, depth: float64, p: vec4d) -> float64:
    """JONSWAP in finite depth: Bouws et al. 1985, with the factor of Kitaigorodskii in full."""
    return jonswap(omega, k, depth, p) * kitaigorodskii(k * depth)


@func
def sea_state(omega: float64, k: float64, depth: float64, p: vec4d) -> float64:
    """p: significant height [m], peak period [s], gamma, the integral of the shape: JONSWAP's shape, scaled."""
    peak = _TWO_PI / p[1]
    return p[0] * p[0] / (16.0 * peak * p[3]) * peaked_shape(omega / peak, p[2])


@func
def peaked_shape(x: float64, gamma: float64) -> float64:
    """x^-5 exp(-1.25 x^-4) gamma^r of x = omega / omega_p, r = exp(-(x - 1)^2 / (2 sigma^2)), sigma 0.07 or 0.09."""
    width = float64(0.07) if x <= 1.0 else float64(0.09)
    away = (x - 1.0) / width
    return exp(-1.25 / _fourth(x) + log(gamma) * exp(-0.5 * away * away)) / _fifth(x)


@func
def kitaigorodskii(kh: float64) -> float64:
    """tanh^2(kh) / (1 + 2 kh / sinh(2 kh)): what depth leaves of a deep spectrum (Kitaigorodskii et al. 1975)."""
    q = min(kh, _FLAT)
    return tanh(q) * tanh(q) / (1.0 + 2.0 * q / sinh(2.0 * q))


@func
def _fourth(x: float64) -> float64:
    return x * x * x * x


@func
def _fifth(x: float64) -> float64:
    return x * x * x * x * x


# ----- peaks: the peak frequency [rad/s], and the wind speed over the phase speed there ---------------


@func
def phillips_peak(p: vec4d) -> vec2d:
    """Of omega^-5 exp(-(g / (U omega))^4): (4/5)^(1/4) g / U."""
    return vec2d(0.9457416090031758 * GRAVITY / p[0], 0.9457416090031758)


@func
def pierson_moskowitz_peak(p: vec4d) -> vec2d:
    """(4 * 0.74 / 5)^(1/4) g / U; the literature rounds it to 0.87 or 0.88 g / U."""
    return vec2d(0.8771632473301956 * GRAVITY / p[0], 0.8771632473301956)


@func
def jonswap_peak(p: vec4d) -> vec2d:
    x = GRAVITY * p[1] / (p[0] * p[0])
    age = _TWO_PI * 3.5 * exp(-0.33 * log(x))
    return vec2d(age * GRAVITY / p[0], age)


@func
def sea_state_peak(p: vec4d) -> vec2d:
    """The wind is not known: that of a fully developed sea."""
    return vec2d(_TWO_PI / p[1], float64(0.87))


@func
def given_peak(p: vec4d) -> vec2d:
    """Of a user's own spectrum: its last parameter."""
    return vec2d(p[3], float64(0.87))


# ----- spectra ------------------------------------------------------------------------------------


class Spectrum(Fixed):
    """A density, the peak that spreading refers to, and parameters by name."""

    def __init__(self, density: Func, peak: Func, **parameters: float | array):
        self.density, self.peak = density, peak
        numbers = {name: as_number(value, name) for name, value in parameters.items()}
        self.parameters = MappingProxyType(numbers)

    def arrays(self, device: Device | str) -> list[Any]:
        """Four arrays of one float64: the parameters, then as many ones as are missing."""
        parameters = [on_device(a, device) for a in self.parameters.values()]
        return parameters + [array([1.0], dtype=float64, device=device) for _ in range(4 - len(parameters))]


def Phillips(wind_speed: float | array, alpha: float | array = 0.0081) -> Spectrum:
    """The spectrum of most pictures of the sea (Tessendorf 2001): wind speed [m/s] and Phillips' constant."""
    return Spectrum(phillips, phillips_peak, wind_speed=wind_speed, alpha=alpha)


def PiersonMoskowitz(wind_speed: float | array) -> Spectrum:
    """A fully developed sea: wind speed [m/s] 19.5 m above it."""
    return Spectrum(pierson_moskowitz, pierson_moskowitz_peak, wind_speed=wind_speed)


def JONSWAP(wind_speed: float | array, fetch: float | array, gamma: float | array = 3.3) -> Spectrum:
    """A sea that grows along the fetch [m] under a wind [m/s], with the peak enhancement gamma."""
    return Spectrum(jonswap, jonswap_peak, wind_speed=wind_speed, fetch=fetch, gamma=gamma)


def TMA(wind_speed: float | array, fetch: float | array, gamma: float | array = 3.3) -> Spectrum:
    """JONSWAP over a bottom: the depth is that of the ocean it is given to."""
    return Spectrum(tma, jonswap_peak, wind_speed=wind_speed, fetch=fetch, gamma=gamma)


def CustomSpectrum(density: Func, peak_frequency: float | array, **parameters: float | array) -> Spectrum:
    """A user's own `@wp.func` density(omega, k, depth, p), with up to three named parameters p[0], p[1], p[2].

    omega, k and depth are float64, p is a vec4d, and so is the result [m^2 s/rad]. peak_frequency [rad/s] is what
    spreading refers to.
    """
    if len(parameters) > 3:
        raise ArrayError(f"{len(parameters)} parameters: {', '.join(parameters)}\nexpected: up to three")
    filled = parameters | {f"unused {k}": 1.0 for k in range(3 - len(parameters))}
    return Spectrum(density, given_peak, **filled, peak_frequency=peak_frequency)


class SeaState(Spectrum):
    """A sea known by its significant height [m] and peak period [s], with the shape of JONSWAP for gamma."""

    def __init__(self, significant_height: float | array, peak_period: float | array, gamma: float | array = 3.3):
        known = {"significant_height": significant_height, "peak_period": peak_period, "gamma": gamma}
        super().__init__(sea_state, sea_state_peak, **known)

    def arrays(self, device: Device | str) -> list[Any]:
        height, period, gamma, _ = super().arrays(device)
        integral = zeros(1, float64, device, requires_grad=gamma.requires_grad)
        launch(_integrate_shape, 1, [gamma], [integral], device=device)
        return [height, period, gamma, integral]


@kernel
def _integrate_shape(gamma: Number, integral: Number):
    """The integral of `peaked_shape` over all x, in u = x^-4, by Simpson's rule on both sides of the peak."""
    below = _simpson(float64(1.0), float64(33.0), 2048, gamma[0])
    integral[0] = 0.25 * (_simpson(float64(0.0), float64(1.0), 512, gamma[0]) + below)


@func
def _simpson(low: float64, high: float64, count: int, gamma: float64) -> float64:
    step = (high - low) / float64(count)
    total = float64(0.0)
    for i in range(count + 1):
        weight = 1.0 if i == 0 or i == count else (4.0 if i % 2 == 1 else 2.0)
        total += float64(weight) * _shape_of_u(low + float64(i) * step, low, gamma)
    return total * step / 3.0


@func
def _shape_of_u(u: float64, low: float64, gamma: float64) -> float64:
    """exp(-1.25 u) gamma^r; low tells the side of the peak, as both meet at u = 1."""
    if u == 0.0:
        return float64(1.0)
    width = float64(0.07) if low >= 1.0 else float64(0.09)
    away = (exp(-0.25 * log(u)) - 1.0) / width
    return exp(-1.25 * u + log(gamma) * exp(-0.5 * away * away))


def as_number(value: float | array, name: str, positive: bool = True) -> Any:
    """An array of one float64; raises `ArgumentTypeError` for something else, `ArrayError` for bad numbers."""
    if isinstance(value, array):
        if value.dtype is not float64 or value.shape != (1,):
            raise ArgumentTypeError(
                f"{name} is an array of {value.shape} {value.dtype.__name__}\nexpected: a number, or one float64"
            )
        number = value
    elif is_number(value):
        number = array([float(value)], dtype=float64)
    else:
        raise ArgumentTypeError(f"{name} is {type(value).__name__}\nexpected: a number, or an array of one float64")
    content = float(number.numpy()[0])
    if not (0.0 < content if positive else True) or content != content or abs(content) == float("inf"):
        raise ArrayError(f"{name} is {content:g}\nexpected: a finite number{' above zero' if positive else ''}")
    return number


def on_device(number: array, device: Device | str) -> Any:
    """The array itself, or a copy on the device, through which gradients go."""
    if number.device == device:
        return number
    moved = zeros(1, float64, device, requires_grad=number.requires_grad)
    copy(moved, number)
    return moved

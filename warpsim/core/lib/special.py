"""Inverse error functions, within a few units of rounding of float32 and float64.

erfinv(x) and erfcinv(x) are the normal quantile in other variables. Both go through the rational
approximations of Wichura 1988 (Algorithm AS 241, PPND16; relative error 1e-16), entered with the
distance to the nearer end given separately, so that nothing cancels in either tail.
"""

from __future__ import annotations

import math

from ..language import Float, abs, copysign, float16, float32, func, log, min, sqrt

_INFINITY = math.inf
_LOG_2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476


@func
def erfinv(x: Float) -> Float:
    """The y with erf(y) = x; infinite at -1 and 1, NaN outside."""
    return _inverse(x, 1.0 - abs(x))


@func(overload_of=erfinv)
def erfinv(x: float16) -> float16:
    """In float32, whose range the coefficients need."""
    return float16(erfinv(float32(x)))


@func
def erfcinv(x: Float) -> Float:
    """The y with erfc(y) = x; infinite at 0 and 2, NaN outside. Accurate for the smallest x."""
    return _inverse(1.0 - x, min(x, 2.0 - x))


@func(overload_of=erfcinv)
def erfcinv(x: float16) -> float16:
    """In float32, whose range the coefficients need."""
    return float16(erfcinv(float32(x)))


@func
def _inverse(x: Float, tail: Float) -> Float:
    """erfinv(x), where `tail` is 1 - |x| to full relative accuracy."""
    if abs(x) <= 0.85:
        return _SQRT_HALF * _central(0.5 * x)
    if tail == 0.0:
        return x * _INFINITY
    r = sqrt(_LOG_2 - log(tail))  # of tail / 2, which may be no number any more; NaN where |x| > 1
    quantile = _middle(r - 1.6) if r <= 5.0 else _far(r - 5.0)
    return copysign(_SQRT_HALF * quantile, x)


@func
def _central(q: Float) -> Float:
    """The normal quantile of 1/2 + q, |q| <= 0.425."""
    r = 0.180625 - q * q
    p = 3.3430575583588128105e4 + r * 2.5090809287301226727e3
    p = 1.3731693765509461125e4 + r * (4.5921953931549871457e4 + r * (6.7265770927008700853e4 + r * p))
    p = 3.3871328727963666080e0 + r * (1.3314166789178437745e2 + r * (1.9715909503065514427e3 + r * p))
    d = 2.8729085735721942674e4 + r * 5.2264952788528545610e3
    d = 5.3941960214247511077e3 + r * (2.1213794301586595867e4 + r * (3.9307895800092710610e4 + r * d))
    d = 1.0 + r * (4.2313330701600911252e1 + r * (6.8718700749205790830e2 + r * d))
    return q * p / d


@func
def _middle(r: Float) -> Float:
    """The quantile's size where sqrt(-log tail) = 1.6 + r, r <= 3.4."""
    p = 2.27238449892691845833e-2 + r * 7.74545014278341407640e-4
    p = 3.64784832476320460504e0 + r * (1.27045825245236838258e0 + r * (2.41780725177450611770e-1 + r * p))
    p = 1.42343711074968357734e0 + r * (4.63033784615654529590e0 + r * (5.76949722146069140550e0 + r * p))
    d = 5.47593808499534494600e-4 + r * 1.05075007164441684324e-9
    d = 6.89767334985100004550e-1 + r * (1.48103976427480074590e-1 + r * (1.51986665636164571966e-2 + r * d))
    d = 1.0 + r * (2.05319162663775882187e0 + r * (1.67638483018380384940e0 + r * d))
    return p / d


@func
def _far(r: Float) -> Float:
    """The quantile's size where sqrt(-log tail) = 5 + r."""
    p = 2.71155556874348757815e-5 + r * 2.01033439929228813265e-7
    p = 2.96560571828504891230e-1 + r * (2.65321895265761230930e-2 + r * (1.24266094738807843860e-3 + r * p))
    p = 6.65790464350110377720e0 + r * (5.46378491116411436990e0 + r * (1.78482653991729133580e0 + r * p))
    d = 1.42151175831644588870e-7 + r * 2.04426310338993978564e-15
    d = 1.48753612908506148525e-2 + r * (7.86869131145613259100e-4 + r * (1.84631831751005468180e-5 + r * d))
    d = 1.0 + r * (5.99832206555887937690e-1 + r * (1.36929880922735805310e-1 + r * d))
    return p / d

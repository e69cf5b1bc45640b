"""Dispersion: the angular frequency of a wave of given wavenumber, in deep and finite depth, with surface tension.

omega^2 = (g k + tau k^3) tanh(k h): Airy's linear theory (Lamb 1932, Hydrodynamics, articles 229 and 267), with the
wavenumber k [rad/m], the depth h [m] and the kinematic surface tension tau = sigma / rho [m^3/s^2].
"""

from __future__ import annotations

from ...core.language import Float, cosh, func, min, sqrt, tanh

GRAVITY = 9.81
"""Standard of this package [m/s^2]."""
DEEP = 1.0e6
"""A depth [m] at which no wave feels the bottom."""
WATER_TENSION = 7.4e-5
"""Kinematic surface tension of clean water at 10 degrees C [m^3/s^2]."""

_FLAT = 20.0  # tanh of more is 1 in float64


@func
def angular_frequency(k: Float, depth: Float, tension: Float) -> Float:
    """omega [rad/s] of wavenumber k > 0."""
    return sqrt((GRAVITY * k + tension * k * k * k) * tanh(min(k * depth, _FLAT)))


@func
def group_velocity(k: Float, depth: Float, tension: Float) -> Float:
    """d omega / d k [m/s] of wavenumber k > 0: the speed of energy."""
    q = min(k * depth, _FLAT)
    bottom = q / (cosh(q) * cosh(q))
    restoring, stiffening = GRAVITY + tension * k * k, GRAVITY + 3.0 * tension * k * k
    return (stiffening * tanh(q) + restoring * bottom) / (2.0 * angular_frequency(k, depth, tension))

"""Stable time steps for grains: bounds by Rayleigh waves and by the shortest impact."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ...errors import WarpsimError

WARN_ABOVE = 0.2  # of the Rayleigh time, or of the time of an impact by Hertz


class TimeStepWarning(UserWarning):
    """A time step that is longer than grains are simulated well with."""


class TimeStepError(WarpsimError, ValueError):
    """A time step with which grains cannot be simulated at all."""


def rayleigh_time(radius: float, density: float, youngs_modulus: float, poissons_ratio: float) -> float:
    """How long a surface wave takes over half a grain [s]: pi R sqrt(rho / G) / (0.1631 nu + 0.8766)."""
    shear = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    return math.pi * radius * math.sqrt(density / shear) / (0.1631 * poissons_ratio + 0.8766)


def impact_time(radius: float, density: float, youngs_modulus: float, poissons_ratio: float, speed: float) -> float:
    """How long equal grains touch that meet at a speed [m/s]: 2.87 (m*^2 / (R* E*^2 v))^(1/5) [s]; infinite at rest."""
    if speed == 0.0:
        return math.inf
    mass = 0.5 * density * 4.0 / 3.0 * math.pi * radius**3
    young = youngs_modulus / (2.0 * (1.0 - poissons_ratio**2))
    return 2.87 * (mass * mass / (0.5 * radius * young * young * speed)) ** 0.2


def linear_time(mass: float, stiffness: float) -> float:
    """Half a period of two equal grains on a spring [s]."""
    return math.pi * math.sqrt(0.5 * mass / stiffness)


def check(dt: float, limit: float, what: str) -> None:
    """Warn above a fifth of a limit [s]; raise `TimeStepError` above the limit."""
    if dt > limit:
        raise TimeStepError(
            f"a substep of {dt:.3g} s is longer than {what}, {limit:.3g} s\n"
            f"help: {math.ceil(dt / (WARN_ABOVE * limit))} times as many substeps, or a softer material"
        )
    if dt > WARN_ABOVE * limit:
        warnings.warn(
            f"a substep of {dt:.3g} s is {dt / limit:.0%} of {what}, {limit:.3g} s; up to {WARN_ABOVE:.0%} is safe",
            TimeStepWarning,
            stacklevel=4,
        )


def densities(mass: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Of balls [kg/m^3]."""
    return mass / (4.0 / 3.0 * math.pi * radius**3)

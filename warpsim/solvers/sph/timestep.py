"""Stable time steps for fluids: bounds by sound, forces and viscosity (J. Monaghan 1992, J. Morris 1997)."""

from __future__ import annotations

import math
import warnings

from ...errors import WarpsimError

COURANT, FORCE, DIFFUSE = 0.25, 0.25, 0.125
TRAVEL, LAUNCH = 0.16, 0.1  # incompressible fluids: of a spacing, how far particles go in a substep; as FORCE
WARN_ABOVE = 1.75  # times the limit, which leaves room: dams broke with the right energy up to 2.25 times it
UNSTABLE = 2.5  # times the limit: a substep that no fluid survives


class TimeStepWarning(UserWarning):
    """A time step with which a fluid may become unstable."""


class TimeStepError(WarpsimError, ValueError):
    """A time step with which a fluid cannot be simulated."""


def limits(h: float, sound: float, speed: float, acceleration: float, viscosity: float) -> dict[str, float]:
    """Longest time steps [s] by reason."""
    return {
        "sound": COURANT * h / (sound + speed),
        "forces": FORCE * math.sqrt(h / acceleration) if acceleration > 0.0 else math.inf,
        "viscosity": DIFFUSE * h * h / viscosity if viscosity > 0.0 else math.inf,
    }


def incompressible_limits(
    h: float, spacing: float, speed: float, acceleration: float, viscosity: float
) -> dict[str, float]:
    """Longest time steps [s] by reason, without sound."""
    return {
        "speed": TRAVEL * spacing / speed if speed > 0.0 else math.inf,
        "forces": LAUNCH * math.sqrt(h / acceleration) if acceleration > 0.0 else math.inf,
        "viscosity": DIFFUSE * h * h / viscosity if viscosity > 0.0 else math.inf,
    }


def check(dt: float, longest: dict[str, float]) -> None:
    """Warn of a substep [s] well above a limit; raise `TimeStepError` for one that is far above."""
    reason = min(longest, key=lambda name: longest[name])
    if dt <= longest[reason] * WARN_ABOVE:
        return
    problem = (
        f"a substep of {dt:.3g} s is longer than {reason} allows, {longest[reason]:.3g} s\n"
        f"help: {math.ceil(dt / longest[reason])} times as many substeps, or substeps=None to have them chosen"
    )
    if dt > UNSTABLE * longest[reason]:
        raise TimeStepError(problem)
    warnings.warn(problem, TimeStepWarning, stacklevel=4)

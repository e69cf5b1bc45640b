"""Inverse mass: what solvers divide forces and corrections by, from the masses that a model has now."""

from __future__ import annotations

from ...core.language import Float, func


@func
def inverse_mass(mass: Float) -> Float:
    """1 / mass [1/kg]; 0 for what has no mass, which is held."""
    if mass > 0.0:
        return 1.0 / mass
    return mass * 0.0

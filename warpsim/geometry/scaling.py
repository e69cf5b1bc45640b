"""Powers of two that lengths are multiplied by, so that their squares neither overflow nor underflow."""

from __future__ import annotations

from ..core.language import float32, float64, func


@func
def unit_for(length: float32) -> float32:
    """A power of two that makes the square of a length a number with full precision."""
    if length > 2.0**60:
        return float32(2.0**-70)
    if length < 2.0**-40:
        return float32(2.0**100)
    return float32(1.0)


@func(overload_of=unit_for)
def unit_for(length: float64) -> float64:
    if length > 2.0**400:
        return float64(2.0**-600)
    if length < 2.0**-400:
        return float64(2.0**600)
    return float64(1.0)

"""Bits of numbers: masks of candidates, and powers of two that keep squares of lengths in range."""

from __future__ import annotations

from ..language import bit_count, float32, float64, func, int32


@func
def lowest_bit(mask: int32) -> int32:
    """The number of the lowest bit that is set: the first of the candidates that are left."""
    return bit_count(~mask & (mask - 1))


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

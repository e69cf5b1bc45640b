"""Bits of numbers: masks of candidates, and powers of two that keep squares of lengths in range."""

from __future__ import annotations

from ..frontend.translate.forms import cast
from ..language import bit_count, float32, float64, func, int32, max, min, uint32, uint64


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


@func
def power_of_two(x: float32) -> float32:
    """The power of two at or below x >= 0, between 2^-126 and 2^126: what divides by it rounds nothing."""
    return min(max(cast(cast(x, uint32) & uint32(0x7F800000), float32), 2.0**-126), 2.0**126)


@func(overload_of=power_of_two)
def power_of_two(x: float64) -> float64:
    """The same between 2^-1022 and 2^1022."""
    power = cast(cast(x, uint64) & uint64(0x7FF0000000000000), float64)
    return min(max(power, float64(2.0**-1022)), float64(2.0**1022))

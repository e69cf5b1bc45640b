"""Masks: integers with a bit for each of the candidates that were tested together."""

from __future__ import annotations

from ..core.language import bit_count, func, int32


@func
def lowest_bit(mask: int32) -> int32:
    """The number of the lowest bit that is set: the first of the candidates that are left."""
    return bit_count(~mask & (mask - 1))

"""Stable sorting orders of numeric keys by their bits.

A key is mapped to an unsigned integer of equal width whose order is that of the numbers: the sign
bit of integers is flipped; of floats, all bits of negative ones and the sign of the others. Then
sixteen bits at a time, from the least significant, are sorted by NumPy's stable sort, which is a
radix sort for 16-bit integers: three times as fast as its sort of 32-bit keys for a million.
"""

from __future__ import annotations

import numpy as np

from ...types.scalars import float32, float64, int32, int64, uint32, uint64

KEYS: tuple[type, ...] = (int32, uint32, int64, uint64, float32, float64)
_DIGIT = 16


def sort_order(keys: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Indices that sort `keys` (rank 1) by bits `begin` to `end` - 1 of their ordered form."""
    bits = ordered_bits(keys)
    one = bits.dtype.type
    order = None
    for low in range(begin, end, _DIGIT):
        width = min(_DIGIT, end - low)
        digits = ((bits >> one(low)) & one((1 << width) - 1)).astype(np.uint16)
        if digits.size and digits.min() == digits.max():
            continue
        ranks = np.argsort(digits if order is None else digits[order], kind="stable")
        order = ranks if order is None else order[ranks]
    return np.arange(keys.size) if order is None else order


def ordered_bits(keys: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the keys."""
    unsigned = np.dtype(f"u{keys.dtype.itemsize}")
    bits = np.ascontiguousarray(keys).view(unsigned)
    sign = unsigned.type(1 << (8 * keys.dtype.itemsize - 1))
    if keys.dtype.kind == "u":
        return bits
    if keys.dtype.kind == "i":
        return bits ^ sign
    return np.where(bits & sign, ~bits, bits | sign)

"""Interval arithmetic: between which limits the result of an operation on integers lies.

Machine integers wrap around where they overflow. Sums and products of *sizes* (thread indices, extents, loop
counters, small constants) are taken not to, since arrays are addressed with them; hashes and other numbers that
grow beyond `TAME` bits times a size are taken to lie anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

TAME = 16
"""Bits by which a size may be multiplied before its product counts as one that overflows."""
_WILD = 1 << 20
_LARGEST_OFFSET = 1 << 26  # constants that are added to sizes without an overflow
_SMALLEST_OF_SIZES = (1 << 31) - 1  # narrower integers overflow


class Interval(NamedTuple):
    """Whole numbers from `lo` to `hi`; `bits`: by how many bits they may exceed a size."""

    lo: int
    hi: int
    bits: int = _WILD

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi), max(self.bits, other.bits))

    def meet(self, other: Interval) -> Interval:
        """What lies in both; where nothing does, the code is not reached and either limit is true."""
        return Interval(max(self.lo, other.lo), min(self.hi, other.hi), min(self.bits, other.bits))


@cache
def full(t: type) -> Interval:
    """All numbers of an integer type."""
    if t is np.bool_:
        return Interval(0, 1, 0)
    info = np.iinfo(t)
    return Interval(int(info.min), int(info.max))


def size_of_type(t: type) -> Interval:
    """What counts something that is in memory."""
    return Interval(0, full(t).hi, 0)


def exact(value: int) -> Interval:
    return Interval(value, value, abs(value).bit_length())


def fit(lo: int, hi: int, bits: int, t: type) -> Interval:
    """The result of arithmetic in a type: sizes do not overflow, other numbers do."""
    limits = full(t)
    if limits.lo <= lo and hi <= limits.hi:
        return Interval(lo, hi, bits)
    if bits > TAME or limits.hi < _SMALLEST_OF_SIZES or (limits.lo == 0 and lo < 0):
        return limits
    return Interval(min(max(lo, limits.lo), limits.hi), max(min(hi, limits.hi), limits.lo), bits)


def _add(t: type, a: Interval, b: Interval) -> Interval:
    return fit(a.lo + b.lo, a.hi + b.hi, max(_bits_of_term(a), _bits_of_term(b)), t)


def _sub(t: type, a: Interval, b: Interval) -> Interval:
    return fit(a.lo - b.hi, a.hi - b.lo, max(_bits_of_term(a), _bits_of_term(b)), t)


def _bits_of_term(a: Interval) -> int:
    return 0 if -_LARGEST_OFFSET < a.lo <= a.hi < _LARGEST_OFFSET else a.bits


def _mul(t: type, a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a[:2] for y in b[:2]]
    return fit(min(corners), max(corners), a.bits + b.bits, t)


def _div(t: type, a: Interval, b: Interval) -> Interval:
    """A quotient, 0 for division by zero: never larger than the dividend."""
    if a.lo >= 0 and b.lo >= 0:
        return Interval(0, a.hi, a.bits)
    return full(t)


def _mod(t: type, a: Interval, b: Interval) -> Interval:
    """The remainder has the sign of the dividend, and is the dividend where the divisor is zero."""
    largest = max(abs(b.lo), abs(b.hi)) - 1 if b.lo > 0 or b.hi < 0 else max(abs(a.lo), abs(a.hi))
    return Interval(max(min(a.lo, 0), -largest), min(max(a.hi, 0), largest), min(a.bits, b.bits))


def _min(t: type, a: Interval, b: Interval) -> Interval:
    bits = min(a.bits, b.bits) if a.lo >= 0 and b.lo >= 0 else max(a.bits, b.bits)
    return Interval(min(a.lo, b.lo), min(a.hi, b.hi), bits)


def _max(t: type, a: Interval, b: Interval) -> Interval:
    return Interval(max(a.lo, b.lo), max(a.hi, b.hi), max(a.bits, b.bits))


def _bit_and(t: type, a: Interval, b: Interval) -> Interval:
    limits = [x for x in (a, b) if x.lo >= 0]
    return min((Interval(0, x.hi, x.bits) for x in limits), key=lambda x: x.hi) if limits else full(t)


def _bit_or(t: type, a: Interval, b: Interval) -> Interval:
    if a.lo < 0 or b.lo < 0:
        return full(t)
    return Interval(0, (1 << max(a.hi, b.hi).bit_length()) - 1, max(a.bits, b.bits))


def _lshift(t: type, a: Interval, n: Interval) -> Interval:
    if a.lo < 0 or n.lo < 0 or n.hi >= full(t).hi.bit_length():
        return full(t)
    return fit(a.lo << n.lo, a.hi << n.hi, a.bits + n.hi, t)


def _rshift(t: type, a: Interval, n: Interval) -> Interval:
    if a.lo < 0:
        return full(t)
    in_range = 0 <= n.lo <= n.hi < full(t).hi.bit_length()  # of others the low bits count
    return Interval(0, a.hi >> n.lo if in_range else a.hi, a.bits)


def _neg(t: type, a: Interval) -> Interval:
    return fit(-a.hi, -a.lo, a.bits, t)


def _abs(t: type, a: Interval) -> Interval:
    """The smallest number of a type has no absolute value in it."""
    return fit(0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi)), max(abs(a.lo), abs(a.hi)), a.bits, t)


def _cast(t: type, a: Interval) -> Interval:
    return fit(*a, t)


def _count(t: type, a: Interval) -> Interval:
    return Interval(0, 64, 0)


TRANSFER: dict[str, Callable[..., Interval]] = {"add": _add, "sub": _sub, "mul": _mul, "div": _div, "floordiv": _div}
TRANSFER |= {"mod": _mod, "min": _min, "max": _max, "lesser": _min, "greater": _max, "bit_and": _bit_and}
TRANSFER |= {"bit_or": _bit_or, "bit_xor": _bit_or, "lshift": _lshift, "rshift": _rshift, "neg": _neg, "abs": _abs}
TRANSFER |= {"cast": _cast, "bit_count": _count}
"""The limits of a result, from its type and the limits of the operands."""


Limits = tuple[Interval, Interval]


def limits_after(name: str, a: Interval, b: Interval) -> Limits:
    """What is known of two numbers once the comparison `name` of them holds."""
    if name in ("gt", "ge"):
        return limits_after({"gt": "lt", "ge": "le"}[name], b, a)[::-1]
    if name in ("lt", "le"):
        strict = int(name == "lt")
        return a._replace(hi=min(a.hi, b.hi - strict)), b._replace(lo=max(b.lo, a.lo + strict))
    if name == "eq":
        return a.meet(b), b.meet(a)
    return _unequal(a, b), _unequal(b, a)


def _unequal(a: Interval, b: Interval) -> Interval:
    """The first without an only number of the second, if that is at one of its ends."""
    if b.lo != b.hi:
        return a
    return a._replace(lo=a.lo + (a.lo == b.lo), hi=a.hi - (a.hi == b.hi))


OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}

"""Extents of launches and of arrays, as users write them: an integer, or a sequence of integers."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_EXTENT = 2**31 - 1
"""The largest extent."""

_NO_LISTS = (str, bytes, bytearray, range, Mapping)


def integers(written: Any) -> tuple[int, ...] | None:
    """Extents as integers of Python; None for all else: truth values, texts, ranges, sets, sequences in sequences."""
    if written.__class__ is not tuple:
        try:
            return (_integer(written),)
        except TypeError:
            pass
        if isinstance(written, _NO_LISTS) or not hasattr(written, "__getitem__"):
            return None
    try:
        return tuple([n if n.__class__ is int else _integer(n) for n in written])
    except TypeError:  # what is no integer, or an array without dimensions
        return None


def _integer(n: Any) -> int:
    """The integer that `n` is. Raises `TypeError` for all else, as for arrays, which have an index method too."""
    if isinstance(n, bool | np.bool_):
        raise TypeError
    return operator.index(n)

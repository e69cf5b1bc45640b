"""Launch dimensions: checked once, then remembered with the header of the argument block."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any

from ....errors import DimensionError
from ...emit.layout import MAX_DIM, header


@lru_cache(maxsize=4096)
def extent(dim: int | tuple[int, ...], kernel: str, ndim: int) -> tuple[int, bytes]:
    """The number of threads and the header of the argument block; checks the dimensions."""
    extents = (dim,) if isinstance(dim, int) else dim
    if not 1 <= len(extents) <= 4:
        raise DimensionError(f"kernel {kernel!r} is launched over {len(extents)} dimensions\nexpected: 1 to 4")
    total = 1
    for n in extents:
        if not isinstance(n, int) or n < 0:
            raise DimensionError(f"launch dimension {n!r} of kernel {kernel!r}\nexpected: an integer of at least 0")
        total *= n
    if total >= 2**63:
        raise DimensionError(f"kernel {kernel!r} is launched over {total} threads\nexpected: fewer than 2**63")
    dims = as_indexed(dim, ndim)
    if ndim and len(dims) != ndim:
        names = ", ".join("ijkl"[: len(dims)])
        raise DimensionError(
            f"kernel {kernel!r} unpacks tid() into {ndim} indices, launched over dim={dim}\n"
            f"expected: {ndim} launch dimensions\nhelp: write `{names} = wp.tid()`, or launch with another dim"
        )
    if max(dims) > MAX_DIM:
        raise DimensionError(f"launch dimension {max(dims)} of kernel {kernel!r}\nexpected: at most 2**31 - 1 each")
    return total, header(dims)


def as_indexed(dim: int | tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Launch dimensions as a kernel whose `tid()` has so many indices sees them.

    Dimensions that are not given have one thread; one index counts all threads, the last dimension fastest.
    """
    dims = (dim,) if isinstance(dim, int) else dim
    return (math.prod(dims),) if ndim == 1 else (*dims, *(1,) * (ndim - len(dims)))


def normalized(dim: Any) -> int | tuple[int, ...]:
    """Launch dimensions as an int or a tuple of ints."""
    try:
        return operator.index(dim)
    except TypeError:  # arrays of integers have an index method too
        pass
    try:
        if not isinstance(dim, bytes | bytearray):
            return tuple(operator.index(n) for n in dim)
    except TypeError:
        pass
    raise DimensionError(f"launch dimensions {dim!r}\nexpected: an integer or up to four integers")

"""Launch dimensions: checked once, then remembered with the header of the argument block."""

from __future__ import annotations

import math
import operator
from functools import cache, lru_cache
from typing import SupportsIndex

from ....config import config
from ....errors import DimensionError, DimensionTypeError, counted
from ...emit.layout import header
from ...types.extents import MAX_EXTENT, integers
from ..devices.device import Device

MOST_THREADS = 1024
"""The most threads of a block on devices whose blocks are no matter of theirs, as on GPUs."""


class Threads:
    """What a launcher knows of its threads: how many indices they have, for launches of at least which rank, and how
    many are a block. Equal ones are one object, as every launch looks its dimensions up by it."""

    __slots__ = ("block_dim", "least", "ndim")

    def __init__(self, ndim: int, least: int, block_dim: int):
        self.ndim, self.least, self.block_dim = ndim, least, block_dim

    def in_blocks(self, block_dim: int) -> Threads:
        """The same in blocks of so many."""
        return threads_with(self.ndim, self.least, block_dim)


@cache
def threads_with(ndim: int, least: int = 0, block_dim: int = 1) -> Threads:
    """The one description of threads with these numbers."""
    return Threads(ndim, least, block_dim)


@lru_cache(maxsize=4096)
def extent(dim: int | tuple[int, ...], kernel: str, threads: Threads) -> tuple[int, bytes]:
    """The number of threads and the header of the argument block; checks the dimensions.

    The number is -1 where a launcher for another rank is wanted.
    """
    extents = (dim,) if isinstance(dim, int) else dim
    if not 1 <= len(extents) <= 4:
        cure = "" if extents else "\nhelp: dim=1 runs one thread"
        number = counted(len(extents), "dimension")
        raise DimensionError(f"kernel {kernel!r} is launched over {number}\nexpected: 1 to 4{cure}")
    for n in extents:
        if not 0 <= n <= MAX_EXTENT:
            raise DimensionError(f"launch dimension {n} of kernel {kernel!r}\nexpected: 0 to 2**31 - 1")
    total = math.prod(extents)
    if total >= 2**63:
        raise DimensionError(f"kernel {kernel!r} is launched over {total} threads\nexpected: fewer than 2**63")
    dims = as_indexed(dim, threads.ndim)
    if threads.ndim and not threads.least <= len(extents) <= threads.ndim:
        return -1, b""
    return total, header(dims, threads.block_dim)


def rank(dim: int | tuple[int, ...]) -> int:
    """How many launch dimensions there are."""
    return 1 if isinstance(dim, int) else len(dim)


def as_indexed(dim: int | tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Launch dimensions as a kernel whose threads have so many indices sees them: what is not given is one thread."""
    dims = (dim,) if isinstance(dim, int) else dim
    return (*dims, *(1,) * (ndim - len(dims)))


def threads_of_block(block_dim: SupportsIndex | None, device: Device) -> int:
    """Threads of a block on a device whose blocks are no matter of its own: 1 unless `config.enable_cpu_blocks` is on.

    None, zero and less ask for what is usual. Raises `DimensionError` for what is no number, or one above 1024.
    """
    try:
        asked = 0 if block_dim is None else operator.index(block_dim)
    except TypeError:
        asked = MOST_THREADS + 1
    if asked > MOST_THREADS:
        expected = f"an integer, at most {MOST_THREADS} on CPUs"
        raise DimensionError(f"block_dim={block_dim!r} on {device}\nexpected: {expected}")
    return asked if asked > 0 and config.enable_cpu_blocks else 1


def normalize_dim(dim: object) -> int | tuple[int, ...]:
    """Launch dimensions as an int or a tuple of ints. Raises `DimensionTypeError`."""
    extents = integers(dim)
    if extents is None:
        raise DimensionTypeError(f"launch dimensions {dim!r}\nexpected: an integer or up to four integers")
    return extents[0] if len(extents) == 1 else extents

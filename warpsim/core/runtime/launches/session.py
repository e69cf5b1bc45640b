"""Process-wide conveniences: `init`, thread count, clearing the kernel cache."""

from __future__ import annotations

from ...emit.disk.cache import object_cache
from . import pool


def init() -> None:
    """Does nothing: warpsim is ready when imported. Kept so that scripts may call it."""


def set_num_threads(count: int) -> None:
    """Use up to `count` threads for CPU launches. Results do not depend on it.

    Raises `DeviceError` for anything but a positive integer.
    """
    pool.get_pool().set_num_threads(count)


def clear_kernel_cache() -> int:
    """Delete all compiled kernels on disk; returns how many there were."""
    cache = object_cache()
    return cache.clear() if cache is not None else 0

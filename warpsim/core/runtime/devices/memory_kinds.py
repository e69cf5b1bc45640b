"""Memory kinds of arrays: host, pinned, device, memory pool, managed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from .cuda.addresses import kind_of
from .device import device_of, get_cuda_devices


class MemoryKind(IntEnum):
    """What memory an array lies in, as CUDA tells it; not where its contents are now, nor who may use them."""

    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    CUDA_DEVICE = 3
    CUDA_MEMPOOL = 4
    CUDA_MANAGED = 5


def memory_kind(memory: np.ndarray) -> MemoryKind:
    """The kind of memory that NumPy's view of it lies in."""
    if device_of(memory).is_cuda or get_cuda_devices():
        return MemoryKind[kind_of(memory)]
    return MemoryKind.HOST

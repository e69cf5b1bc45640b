"""CUDA machine code of a kernel, with the facts that a launch needs. Importing this needs nothing of CUDA."""

from __future__ import annotations

from dataclasses import dataclass

from ..target import Site

KERNEL = "warpsim_kernel"
"""The name of every kernel in its machine code."""


@dataclass(frozen=True)
class CudaCode:
    """A cubin whose one kernel takes `block_bytes` bytes of argument block by value, then a 64-bit thread count.

    `sites` are the places whose checks it may report. `reduces`: each thread sums what it adds at shared
    addresses first, so a smaller grid means less to combine. max_threads: blocks may not be larger, 0 where
    that is only the hardware's limit.
    """

    code: bytes
    sites: tuple[Site, ...]
    block_bytes: int
    reduces: bool
    max_threads: int = 0

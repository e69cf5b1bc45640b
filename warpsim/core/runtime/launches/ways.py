"""Launch schedules: on the CPU in order, in chunks, or in chunks with private sums; on CUDA in a grid.

Which one it is follows from the program and the arguments (see `private_sums`); what is left to do needs only the
machine code and the argument block. So a launch that is stored with its way runs the same without its program.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import pool, private_copies


class InOrder(NamedTuple):
    """One thread after the other."""

    def command(self, code: Any, block: bytes, total: int) -> bytes:
        """The launch as a command for the pool of threads; the block must live as long."""
        return InChunks(total).command(code, block, total)

    def run(self, code: Any, block: bytes, total: int) -> None:
        """Run `total` threads of machine code."""
        InChunks(total).run(code, block, total)


class InChunks(NamedTuple):
    """Chunks of `size` threads, in any order. flags: what the kernel is told, see `emit.layout`."""

    size: int
    flags: int = 0

    def command(self, code: Any, block: bytes, total: int) -> bytes:
        """The launch as a command for the pool of threads; the block must live as long."""
        return pool.COMMAND.pack(code.address, pool.address_of(block), 0, total, self.size, self.flags)

    def run(self, code: Any, block: bytes, total: int) -> None:
        """Run `total` threads of machine code."""
        pool.get_pool().run(self.command(code, block, total), 1)


class InCopies(NamedTuple):
    """Chunks that add into copies of arrays of their own, see `private_copies.run`."""

    targets: list[tuple[int, np.ndarray]]
    chunk: int
    flags: int
    waves: int = 1

    def run(self, code: Any, block: bytes, total: int) -> None:
        """Run `total` threads of machine code."""
        private_copies.run(code.address, block, total, self.targets, self.chunk, self.flags, self.waves)


class InGrid(NamedTuple):
    """Blocks of a GPU: their threads, and how many blocks there are at most (0: as many as the threads fill)."""

    block_dim: int
    max_blocks: int

    def run(self, code: Any, block: bytes, total: int) -> None:
        """Run `total` threads of machine code."""
        code.run(block, total, self.block_dim, self.max_blocks)


ONE_THREAD = InGrid(1, 1)
"""One thread of a GPU, which does all."""

Way = InOrder | InChunks | InCopies | InGrid

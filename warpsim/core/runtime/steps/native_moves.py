"""Bytes moved between pieces of host memory as commands for the pool of threads, which stops for no Python then."""

from __future__ import annotations

import struct

from ..launches import pool
from .step import Moved

_LEAST_CHUNK, _MOST_CHUNKS, _LINE = 1 << 16, 128, 64  # [bytes], chunks, [bytes]


class NativeMove:
    """command: the launch with a thread for each byte; it points at arguments that live as long as this."""

    def __init__(self, moved: Moved):
        self._memory = moved
        size = moved.target.nbytes
        kernel = "ws_clear_bytes" if moved.source is None else "ws_copy_bytes"
        self._arguments = b"".join(struct.pack("@Q", m.ctypes.data) for m in moved if m is not None)
        chunk = max(_LEAST_CHUNK, -(-size // (_MOST_CHUNKS * _LINE)) * _LINE)
        start = pool.get_pool().move_addresses[kernel], pool.address_of(self._arguments)
        self.command = pool.COMMAND.pack(*start, 0, size, chunk, 0)

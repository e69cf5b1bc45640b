"""A kernel loaded on a device, and the call that launches it.

A launch writes its argument block and thread count into a buffer of the calling thread, which the driver
reads before the call returns. Any grid covers any number of threads (kernels stride over the grid), so
the grid is the number of blocks that the threads fill, up to what `max_blocks` or the kernel asks for.
"""

from __future__ import annotations

import ctypes
import struct
import threading

from ....errors import LaunchError
from ...emit.cuda_code import KERNEL, CudaCode
from . import driver
from .device import CudaDevice
from .driver import call

BLOCK_DIM = 256
_MOST_BLOCKS = 2**31 - 1
_WAVES = 8  # blocks per multiprocessor of kernels that sum in registers: each thread sums as much as it can
_COUNT = struct.Struct("<q")


class _Parameters(threading.local):
    """Where a thread puts the parameters of its launches: the block, then the count."""

    def __init__(self) -> None:
        self.grow(4096)

    def grow(self, size: int) -> None:
        self.size = size
        self.room = ctypes.create_string_buffer(size)
        self.bytes = memoryview(self.room).cast("B")
        self.count = ctypes.c_int64()
        self.pointers = (ctypes.c_void_p * 2)(ctypes.addressof(self.room), ctypes.addressof(self.count))
        self.address = ctypes.addressof(self.pointers)


_parameters = _Parameters()


class CudaFunction:
    """A kernel on a device. sites: the places whose checks it may report."""

    def __init__(self, code: CudaCode, device: CudaDevice):
        device.enter()
        self.device, self.sites, self.reduces, self.max_threads = device, code.sites, code.reduces, code.max_threads
        self._module = call("cuModuleLoadData", code.code)
        self._function = call("cuModuleGetFunction", self._module, KERNEL.encode())
        self._launch = driver.api().cuLaunchKernel

    def checked_block_dim(self, block_dim: int | None, kernel: str) -> int:
        """The threads of a block for a launch. Raises `LaunchError` for a number that cannot be."""
        most = self.max_threads or self.device.max_block_dim
        if block_dim is None:
            return min(BLOCK_DIM, most)
        if not 1 <= block_dim <= most:
            raise LaunchError(f"block_dim={block_dim} of kernel {kernel!r}\nexpected: 1 to {most} on {self.device}")
        return block_dim

    def run(self, block: bytes, total: int, block_dim: int, max_blocks: int) -> None:
        """Launch `total` threads on the current stream; raises `DeviceError`."""
        if not total:
            return
        device, room = self.device, _parameters
        stream = device.stream_handle
        device.enter()
        if len(block) > room.size:
            room.grow(2 * len(block))
        room.bytes[: len(block)] = block
        room.count.value = total
        blocks = min(-(-total // block_dim), max_blocks or _MOST_BLOCKS)
        if self.reduces and not max_blocks:
            blocks = min(blocks, _WAVES * device.sm_count)
        [status] = self._launch(self._function, blocks, 1, 1, block_dim, 1, 1, 0, stream, room.address, 0)
        if status:
            raise driver.failure("cuLaunchKernel", status)

"""A kernel loaded on a device, and the call that launches it.

A launch writes its argument block and thread count into a buffer of the calling thread, which the driver
reads before the call returns. Any grid covers any number of threads (kernels stride over the grid), so
the grid is the number of blocks that the threads fill, up to what `max_blocks` or the kernel asks for.
"""

from __future__ import annotations

import ctypes
import threading
from functools import partial
from typing import TYPE_CHECKING

from .....errors import LaunchError
from ....emit.cuda.code import KERNEL, CudaCode
from ....emit.native.lifetime import Owned
from . import driver
from .driver import call, finalize

if TYPE_CHECKING:
    from .device import CudaDevice

BLOCK_DIM = 256
MOST_BLOCKS = 2**31 - 1
_WAVES = 8  # blocks per multiprocessor of kernels that sum in registers: each thread sums as much as it can
_STRAYED = (201, 400)  # CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE


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
        self.device, self.sites, self.reduces = device, code.sites, code.reduces
        module = device.call("cuModuleLoadData", code.code)
        self._owned = Owned(partial(finalize, device, partial(_unload, module)))
        self._function = call("cuModuleGetFunction", module, KERNEL.encode())
        most = driver.api().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        held = int(call("cuFuncGetAttribute", most, self._function))
        self.max_threads = min(held, code.max_threads or held)
        """The most threads of a block: what registers and launch bounds of the kernel leave of the device's."""
        self._launch = driver.api().cuLaunchKernel
        self._most_reducing = _WAVES * device.sm_count

    def checked_block_dim(self, block_dim: int | None, kernel: str) -> int:
        """The threads of a block for a launch, by default for None and what is not above 0.

        Raises `LaunchError` for a number that cannot be.
        """
        most = self.max_threads
        if block_dim is None or (isinstance(block_dim, int) and block_dim <= 0):
            return min(BLOCK_DIM, most)
        if not isinstance(block_dim, int) or not 1 <= block_dim <= most:
            raise LaunchError(
                f"block_dim={block_dim!r} of kernel {kernel!r}\nexpected: an integer from 1 to {most}, which is what "
                f"{self.device} allows for the registers and the launch bounds of this kernel"
            )
        return block_dim

    def suggested_block(self) -> tuple[int, int]:
        """Threads of a block that let the most of them run at a time, and the least blocks that fill the device."""
        self.device.enter()
        least_blocks, threads = call("cuOccupancyMaxPotentialBlockSize", self._function, None, 0, self.max_threads)
        return int(threads), int(least_blocks)

    def properties(self) -> dict[str, int]:
        """Registers, and bytes of local memory, of each thread."""
        names = driver.api().CUfunction_attribute
        asked = {
            "register_count": names.CU_FUNC_ATTRIBUTE_NUM_REGS,
            "local_memory_size": names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        }
        return {name: int(call("cuFuncGetAttribute", which, self._function)) for name, which in asked.items()}

    def run(self, block: bytes, total: int, block_dim: int, max_blocks: int) -> None:
        """Launch `total` threads on the current stream; raises `DeviceError`."""
        if not total:
            return
        device, room = self.device, _parameters
        stream = device.local.stream
        if stream is None or not device.alone:
            device.enter()
            stream = device.local.stream
        if len(block) > room.size:
            room.grow(2 * len(block))
        room.bytes[: len(block)] = block
        room.count.value = total
        blocks = -(-total // block_dim)
        most = max_blocks or (self._most_reducing if self.reduces else MOST_BLOCKS)
        grid_and_block = (blocks if blocks < most else most, 1, 1, block_dim, 1, 1, 0, stream, room.address, 0)
        (status,) = self._launch(self._function, *grid_and_block)
        if status in _STRAYED:  # other code made another context current in this thread
            device.enter()
            (status,) = self._launch(self._function, *grid_and_block)
        if status:
            raise driver.failure("cuLaunchKernel", status)


def _unload(module: object) -> None:
    call("cuCtxSynchronize")  # a launch may be on its way
    call("cuModuleUnload", module)

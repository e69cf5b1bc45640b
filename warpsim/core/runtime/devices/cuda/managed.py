"""Managed memory: pages that move between the host and GPUs as they are used."""

from __future__ import annotations

from .driver import api, call


class CudaManagedAllocator:
    """An allocator of managed memory, for `wp.set_cuda_allocator` and `wp.ScopedAllocator` of any CUDA device.

    Arrays may be larger than the memory of a GPU, whose pages come and go. Kernels use them as other arrays of their
    device. They cannot be made while a graph is captured. Calls of one's own need a current context.
    """

    def allocate(self, size_in_bytes: int) -> int:
        """The address of fresh memory. Raises `DeviceError` where no device is in use, or it has no managed memory."""
        return int(call("cuMemAllocManaged", size_in_bytes, api().CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL))

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Give back what `allocate` gave."""
        call("cuMemFree", ptr)

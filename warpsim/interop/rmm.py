"""Memory for arrays from RAPIDS' memory manager, which other packages of RAPIDS, CuPy and PyTorch can share."""

from __future__ import annotations

from typing import Any

from ..errors import MissingPackageError


class AllocatorRmm:
    """An allocator for `wp.set_cuda_allocator`: memory is what `rmm.DeviceBuffer` gives at the time.

    `rmm.reinitialize` and `rmm.mr.set_current_device_resource` say where that comes from. One allocator serves all
    devices. It waits for the default stream, so that all streams may use the memory; arrays are not made with it while
    a graph is captured. Raises `MissingPackageError`, an ImportError, without the package `rmm`.
    """

    def __init__(self) -> None:
        try:
            import rmm  # noqa: PLC0415
        except ImportError as error:
            raise MissingPackageError(
                f"AllocatorRmm needs the package rmm ({error})\nhelp: pip install rmm-cu13 (rmm-cu12 for CUDA 12)"
            ) from error
        self._make = rmm.DeviceBuffer
        self._buffers: dict[int, Any] = {}

    def allocate(self, size_in_bytes: int) -> int:
        """The address of fresh memory of the current device."""
        buffer = self._make(size=size_in_bytes)
        buffer.stream.synchronize()
        self._buffers[buffer.ptr] = buffer
        return int(buffer.ptr)

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Give back what `allocate` gave."""
        del self._buffers[ptr]

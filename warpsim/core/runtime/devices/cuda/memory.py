"""Memory of CUDA devices, whose contents move through the driver, and page-locked memory of the host."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .....errors import DeviceMemoryError
from ..device_memory import DeviceMemory
from . import driver, strided
from .driver import call, finalize

if TYPE_CHECKING:
    from .buffers import Buffer
    from .device import CudaDevice

_SET = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}


class CudaMemory(DeviceMemory):
    """A view of memory on a CUDA device."""

    device: CudaDevice

    @property
    def address(self) -> int:
        return self.ctypes.data

    def host(self) -> np.ndarray:
        """A copy of the contents on the host; waits for the work that makes them."""
        self.device.needs_host()
        contents = np.empty(self.shape, self.dtype)
        if contents.size:
            source = self if self.flags.c_contiguous else self.copy()
            self.device.synchronize_for_host()
            call("cuMemcpyDtoH", contents.ctypes.data, source.address, contents.nbytes)
        return contents

    def copy(self, order: Literal["K", "A", "C", "F"] | None = "C") -> CudaMemory:
        """The same contents in fresh memory of the device, packed."""
        self.device.needs_host()  # where the copy goes would be forgotten
        memory: CudaMemory = super().copy()  # type: ignore[assignment]
        return memory

    def put(self, value: object) -> None:  # type: ignore[override]
        """Copy a value, of any shape that NumPy would broadcast, into this memory, in order of the current stream."""
        if not self.size:
            return
        if isinstance(value, CudaMemory) and (value.dtype != self.dtype or value.device is not self.device):
            if value.dtype == self.dtype and value.size == self.size:
                self._put_peer(value)
                return
            value = value.host()
        if isinstance(value, CudaMemory):
            self._put_here(_broadcast(value, self.shape))
        else:
            self._put_host(np.asarray(value))

    def _put_here(self, source: CudaMemory) -> None:
        """From memory of the same device, with the same shape and dtype."""
        if np.may_share_memory(self, source):
            if self.address == source.address and self.strides == source.strides:
                return
            source = source.copy()
        if self.flags.c_contiguous and source.flags.c_contiguous:
            call("cuMemcpyDtoDAsync", self.address, source.address, self.nbytes, self.device.stream_handle)
        else:
            strided.copy(self, source)

    def _put_peer(self, source: CudaMemory) -> None:
        """From memory of another device."""
        self.device.needs_host()
        packed = source if source.flags.c_contiguous else source.copy()
        target = self if self.flags.c_contiguous else self.device.empty(self.shape, self.dtype)
        source.device.synchronize_for_host()
        self.device.enter()
        ends = (target.address, self.device.context, packed.address, source.device.context)
        call("cuMemcpyPeerAsync", *ends, target.nbytes, self.device.stream_handle)
        call("cuStreamSynchronize", self.device.stream_handle)  # the source may be freed on its own device
        if target is not self:
            self._put_here(target)

    def _put_host(self, source: np.ndarray) -> None:
        """From memory of the host."""
        if source.dtype != self.dtype:
            source = source.astype(self.dtype)
        if source.size == 1:
            self._put_one(source)
            return
        self.device.needs_host()
        packed = np.ascontiguousarray(np.broadcast_to(source, self.shape))
        target = self if self.flags.c_contiguous else self.device.empty(self.shape, self.dtype)
        self.device.enter()
        target._upload(packed)
        if target is not self:
            self._put_here(target)

    def _upload(self, packed: np.ndarray) -> None:
        """Copy from the host, which may change its memory when this returns."""
        call("cuMemcpyHtoDAsync", self.address, packed.ctypes.data, packed.nbytes, self.device.stream_handle)
        if self.device.reads_host_late or is_pinned(packed):  # else the driver has taken its copy
            call("cuStreamSynchronize", self.device.stream_handle)

    def _put_one(self, source: np.ndarray) -> None:
        """One element everywhere."""
        element = source.tobytes()
        pattern = next((n for n in _SET if not len(element) % n and element == element[:n] * (len(element) // n)), 0)
        self.device.enter()
        if pattern and self.flags.c_contiguous and not self.address % pattern:
            word = int.from_bytes(element[:pattern], "little")
            call(_SET[pattern], self.address, word, self.nbytes // pattern, self.device.stream_handle)
            return
        self.device.needs_host()
        one = self.device.empty((1,), self.dtype)
        one._upload(source)
        strided.copy(self, _broadcast(one, self.shape))

    def add(self, value: object) -> bool:
        """Sums of floats of one shape on one device."""
        if not isinstance(value, CudaMemory) or value.device is not self.device:
            return False
        alike = value.shape == self.shape and value.dtype == self.dtype and self.dtype.char in strided.SUMMED
        if not alike or not self.size or np.may_share_memory(self, value):
            return False
        strided.add(self, value)
        return True


# ----- making -----------------------------------------------------------------------------------


def view_buffer(
    held: Buffer | Any, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None, device: CudaDevice
) -> CudaMemory:
    """The memory of an object with `__array_interface__`, kept alive by the view."""
    memory: CudaMemory = np.ndarray(shape, dtype, np.asarray(held), 0, strides).view(CudaMemory)
    memory.device = device
    return memory


def _broadcast(memory: CudaMemory, shape: tuple[int, ...]) -> CudaMemory:
    """A view of another shape, with stride 0 where elements are repeated. Raises `ValueError` as NumPy does."""
    if memory.shape == shape:
        return memory
    if np.broadcast_shapes(memory.shape, shape) != shape:
        if memory.size == math.prod(shape):
            reshaped: CudaMemory = memory.reshape(shape)
            return reshaped
        raise ValueError(f"shape {memory.shape} does not fit shape {shape}")
    missing = len(shape) - memory.ndim
    steps = [0 if n == 1 else s for n, s in zip(memory.shape, memory.strides, strict=True)]
    view = np.lib.stride_tricks.as_strided(memory, shape, [0] * missing + steps, subok=True)
    assert isinstance(view, CudaMemory)
    return view


def is_pinned(memory: np.ndarray) -> bool:
    """Whether host memory is page-locked, by whomever, so that the device reads it when a copy runs."""
    kinds = driver.api().CUpointer_attribute
    status, _ = driver.api().cuPointerGetAttribute(kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory.ctypes.data)
    return not status  # pageable memory is nothing that the driver knows


class Pinned:
    """Page-locked host memory: copies to and from devices need no detour."""

    def __init__(self, size: int, device: CudaDevice, zero: bool):
        device.enter()
        portable = 1  # CU_MEMHOSTALLOC_PORTABLE: for all devices
        self.device, self.size = device, size
        try:
            self.address = int(call("cuMemHostAlloc", max(1, size), portable))
        except DeviceMemoryError:
            raise DeviceMemoryError(
                f"no room for {size:,} bytes of page-locked memory of the host\nhelp: leave out pinned=True"
            ) from None
        if zero:
            np.asarray(self)[:] = 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if hasattr(self, "address"):
            finalize(self.device, partial(_free_host, self.address))


def _free_host(address: int) -> None:
    call("cuCtxSynchronize")  # a kernel may be using it
    call("cuMemFreeHost", address)

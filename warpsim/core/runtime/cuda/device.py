"""CUDA devices: the primary context of each, its memory, and the stream that work goes to.

Nothing of a device is touched before something is asked of it. Other frameworks in the process use the
same primary context. Work goes to the current stream of the calling thread; the stream that is current to
begin with waits for the legacy default stream and is waited for, so that frameworks which use that one
see finished work without a word.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from ....errors import DeviceMemoryError
from .. import device as devices
from ..device import Device
from . import driver
from .driver import call

_ALIGNMENT = 256  # [bytes] of every allocation


class NeedsHost(Exception):
    """An operation that waits, or whose source is on the host, while a graph is made of a device's work."""


class CudaDevice(Device):
    """One GPU. arch: its compute capability; sm_count: its multiprocessors."""

    def __init__(self, ordinal: int):
        attribute = driver.api().CUdevice_attribute
        self.handle = call("cuDeviceGet", ordinal)
        super().__init__(f"cuda:{ordinal}", call("cuDeviceGetName", 256, self.handle).partition(b"\0")[0].decode())
        self.arch = (
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        )
        self.sm_count = self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        self.max_block_dim = self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        self.is_uva = bool(self._attribute(attribute.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
        self.is_mempool_supported = bool(self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        self.context: Any = None
        self.streams: weakref.WeakSet[Any] = weakref.WeakSet()
        """Streams beside the first one, which may still be using memory that is given back."""
        self.building = 0
        """How many graphs are being made of work on this device: what is freed meanwhile waits."""
        self._waiting: list[Any] = []
        self._opening = threading.Lock()
        self._local = threading.local()
        self._alone = driver.found().count == 1

    def _attribute(self, which: Any) -> int:
        return int(call("cuDeviceGetAttribute", which, self.handle))

    # ----- context and streams ----------------------------------------------------------------

    def enter(self) -> None:
        """Make the context current in this thread."""
        if self._alone and getattr(self._local, "entered", False):
            return  # only other contexts of other devices could have taken its place
        if self.context is None:
            self._open()
        call("cuCtxSetCurrent", self.context)
        self._local.entered = True

    def _open(self) -> None:
        with self._opening:
            if self.context is not None:
                return
            context = call("cuDevicePrimaryCtxRetain", self.handle)
            call("cuCtxSetCurrent", context)
            self.first_stream = call("cuStreamCreate", 0)
            if self.is_mempool_supported:
                self._pool = call("cuDeviceGetDefaultMemPool", self.handle)
                self.set_mempool_release_threshold(1.0)
            self.context = context

    @property
    def stream_handle(self) -> Any:
        """The driver's stream that work of this thread goes to."""
        found = getattr(self._local, "stream", None)
        if found is None:
            self.enter()
            found = self._local.stream = self.first_stream
        return found

    @contextlib.contextmanager
    def using(self, stream: Any) -> Iterator[None]:
        """Let work of this thread go to another stream of the driver for a while."""
        before = self.stream_handle
        self.set_stream_handle(stream)
        try:
            yield
        finally:
            self.set_stream_handle(before)

    def set_stream_handle(self, stream: Any) -> None:
        """Let work of this thread go to a stream from now on."""
        self.enter()
        self._local.stream = stream

    @contextlib.contextmanager
    def building_graph(self) -> Iterator[None]:
        """While it lasts, work of this thread is recorded by the driver, not run, and nothing is freed."""
        self.building += 1
        self._local.building = True
        try:
            yield
        finally:
            self._local.building = False
            self.building -= 1
        if not self.building:
            self.release_waiting()

    def needs_host(self) -> None:
        """Say that what follows cannot be recorded. Raises `NeedsHost` while a graph is made by this thread."""
        if self.building and getattr(self._local, "building", False):
            raise NeedsHost

    def synchronize(self) -> None:
        """Wait for all work on the device."""
        self.enter()
        call("cuCtxSynchronize")

    def synchronize_for_host(self) -> None:
        """Wait until the host may look at memory: for the current stream, or for all where there are several."""
        if len(self.streams):
            self.synchronize()
        else:
            call("cuStreamSynchronize", self.stream_handle)

    # ----- memory -----------------------------------------------------------------------------

    def allocate(self, size: int) -> Allocation:
        """Memory of undefined contents. Raises `DeviceMemoryError`, after which the program may go on."""
        self.enter()
        stream = self.first_stream if self.building else self.stream_handle
        wanted = max(1, size)
        try:
            return Allocation(self, self._taken(wanted, stream), size, stream)
        except DeviceMemoryError:
            gc.collect()  # arrays in cycles of references
            self.synchronize()
            self.trim()
        try:
            return Allocation(self, self._taken(wanted, stream), size, stream)
        except DeviceMemoryError:
            free, total = self.memory_info()
            raise DeviceMemoryError(
                f"{self} ({self.name}) has no room for {size:,} bytes\nfound: {free:,} of {total:,} bytes free\n"
                "help: let go of arrays that are not needed any more, or work in smaller parts"
            ) from None

    def _taken(self, size: int, stream: Any) -> int:
        if self.is_mempool_supported:
            return int(call("cuMemAllocAsync", size, stream))
        return int(call("cuMemAlloc", size))

    def give_back(self, address: int, stream: Any, lent: bool = False) -> None:
        """Free memory once all work that may use it is done; lent: also work on streams that we do not know."""
        if self.building:
            self._waiting.append((address, stream, lent))
            return
        self.enter()
        if lent:
            self.synchronize()
        if not self.is_mempool_supported:
            call("cuMemFree", address)
            return
        for other in list(self.streams):
            wait_for(stream, other.handle)
        call("cuMemFreeAsync", address, stream)

    def release_waiting(self) -> None:
        """Free what was let go while graphs were made."""
        waiting, self._waiting = self._waiting, []
        for given in waiting:
            self.give_back(*given)

    def trim(self) -> None:
        """Give memory that the pool keeps for later back to the driver."""
        if self.is_mempool_supported:
            call("cuMemPoolTrimTo", self._pool, 0)

    def memory_info(self) -> tuple[int, int]:
        """Free and total memory [bytes]."""
        self.enter()
        free, total = call("cuMemGetInfo")
        return int(free), int(total)

    @property
    def free_memory(self) -> int:
        """[bytes]"""
        return self.memory_info()[0]

    @property
    def total_memory(self) -> int:
        """[bytes]"""
        return self.memory_info()[1]

    def set_mempool_release_threshold(self, share: float) -> None:
        """How much freed memory the pool keeps: a share of the device's memory up to 1, or bytes."""
        limit = int(share * int(call("cuDeviceTotalMem", self.handle)) if share <= 1.0 else share)
        kind = driver.api().CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        call("cuMemPoolSetAttribute", self._pool, kind, driver.api().cuuint64_t(limit))

    def can_reach(self, other: CudaDevice) -> bool:
        """Whether kernels here may use memory of another device."""
        return self is other or bool(call("cuDeviceCanAccessPeer", self.handle, other.handle))


class Allocation:
    """Memory on a device, freed when nothing refers to it any more."""

    __slots__ = ("__weakref__", "address", "device", "lent", "size", "stream")

    def __init__(self, device: CudaDevice, address: int, size: int, stream: Any):
        self.device, self.address, self.size, self.stream = device, address, size, stream
        self.lent = False
        """Whether another framework uses it on a stream that we do not know."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For NumPy's arithmetic of shapes and strides only, see `memory`."""
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if sys is not None and not sys.is_finalizing() and not driver.reason():
            with contextlib.suppress(Exception):  # a dead context: there is nobody to tell
                self.device.give_back(self.address, self.stream, self.lent)


def wait_for(waiting: Any, awaited: Any) -> None:
    """Let later work of one stream wait for the present work of another."""
    event = call("cuEventCreate", driver.api().CUevent_flags.CU_EVENT_DISABLE_TIMING)
    call("cuEventRecord", event, awaited)
    call("cuStreamWaitEvent", waiting, event, 0)
    call("cuEventDestroy", event)


_listing = threading.Lock()
_devices: list[CudaDevice] = []


def cuda_devices() -> list[Device]:
    """All GPUs that the driver shows; none without a driver."""
    if driver.reason():
        return []
    with _listing:
        if not _devices:
            _devices.extend(CudaDevice(k) for k in range(driver.found().count))
    return list(_devices)


devices.find_cuda = cuda_devices

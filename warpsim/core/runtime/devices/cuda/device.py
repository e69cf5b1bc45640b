"""CUDA devices: the primary context of each, its memory, and the stream that work goes to.

Nothing of a device is touched before something is asked of it. Other frameworks in the process use the same primary
context. Work goes to the current stream of the calling thread; the stream that is current to begin with waits for the
legacy default stream and is waited for, so that frameworks which use that one see finished work without a word.

Memory is freed in the order of streams: after all work that was given to any stream that we know of. What finalizers
do may come in the midst of anything, so it goes through `CudaDevice.finish`, which leaves the current context of the
thread as it was, and waits while a graph is made.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .....errors import DeviceError, DeviceMemoryError
from .....forks import fork_safe
from ....emit import build as builder
from ....emit import portable
from ....emit.program import Program
from ....emit.target import Options
from .. import device as devices
from ..allotted import Allocator
from ..device import Device
from ..memory_range import span_of
from . import addresses, driver
from .buffers import Buffer, Lent
from .driver import call
from .function import BLOCK_DIM, CudaFunction
from .memory import CudaMemory, Pinned, view_buffer

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy.typing as npt

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: the legacy default stream does not wait for it


class NeedsHost(Exception):
    """An operation that waits, or whose source is on the host, while a graph is made of a device's work."""


class CudaDevice(Device):
    """One GPU. arch: its compute capability; sm_count: its multiprocessors."""

    shares_host_memory = False
    block_threads = BLOCK_DIM
    runs_many_threads = True

    def __init__(self, ordinal: int):
        attribute = driver.api().CUdevice_attribute
        self.handle = call("cuDeviceGet", ordinal)
        super().__init__(f"cuda:{ordinal}", call("cuDeviceGetName", 256, self.handle).partition(b"\0")[0].decode())
        self.memory_space = self.alias
        self.arch = (
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        )
        self.sm_count = self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        self.max_shared_memory_per_block = self._attribute(
            attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        )
        self.is_managed_memory_supported = bool(self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY))
        self.is_concurrent_managed_access_supported = bool(
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)
        )
        self.is_cpu_memory_access_from_gpu_supported = bool(
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
        )
        self.max_block_dim = self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        self.is_uva = bool(self._attribute(attribute.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
        self.is_mempool_supported = bool(self._attribute(attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        self.is_mempool_enabled = self.is_mempool_supported
        """Whether new arrays lie in the memory pool."""
        self.reads_host_late = bool(
            self._attribute(attribute.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)
        )
        """Whether copies read any memory of the host when they run; else only what is page-locked."""
        self.alone = driver.find_driver().count == 1
        """Whether no context of another device can take the place of the one here."""
        self.context: Any = None
        self.streams: dict[int, Any] = {}
        """Streams beside the first one, which may still be using memory that is given back, by number."""
        self.readers: list[CudaDevice] = []
        """Other devices whose kernels may use memory of this one."""
        self.local = _OfThread()
        self.building = False
        """Whether a graph is being made of work on this device: what is freed meanwhile waits."""
        self.unread: Any = None
        """What checks of launches reported, which the next call that waits raises; made by `report`."""
        self._making = fork_safe(threading.RLock())
        self._waiting: list[Callable[[], None]] = []
        self._opening = fork_safe(threading.Lock())

    def _attribute(self, which: object) -> int:
        return int(call("cuDeviceGetAttribute", which, self.handle))

    # ----- context and streams ----------------------------------------------------------------

    def enter(self) -> None:
        """Make the context current in this thread."""
        if self.context is None:
            self._open()
        call("cuCtxSetCurrent", self.context)
        if self.local.stream is None:
            self.local.stream = self.first_stream

    def _open(self) -> None:
        with self._opening:
            if self.context is not None:
                return
            context = call("cuDevicePrimaryCtxRetain", self.handle)
            call("cuCtxSetCurrent", context)
            self.first_stream = call("cuStreamCreate", 0)
            self._last_stream = call("cuStreamCreate", NON_BLOCKING)
            if self.is_mempool_supported:
                self.pool = call("cuDeviceGetDefaultMemPool", self.handle)
                self.set_mempool_release_threshold(1.0)
            self.context = context

    def call(self, name: str, *args: object) -> Any:
        """`driver.call` in the context of the device."""
        self.enter()
        return call(name, *args)

    @property
    def stream_handle(self) -> Any:
        """The driver's stream that work of this thread goes to; the context becomes current."""
        self.enter()
        return self.local.stream

    @contextlib.contextmanager
    def using(self, stream: object) -> Iterator[None]:
        """Let work of this thread go to another stream of the driver for a while."""
        before = self.stream_handle
        self.set_stream_handle(stream)
        try:
            yield
        finally:
            self.set_stream_handle(before)

    def set_stream_handle(self, stream: object) -> None:
        """Let work of this thread go to a stream from now on."""
        self.enter()
        self.local.stream = stream

    def forget_stream(self, number: int, owned: bool) -> None:
        """A stream is not used any more: what it has to do comes before what the first stream does from now on."""
        handle = self.streams.pop(number)
        wait_for(self.first_stream, handle)
        if owned:
            call("cuStreamDestroy", handle)

    @contextlib.contextmanager
    def building_graph(self) -> Iterator[None]:
        """While it lasts, work of this thread is recorded by the driver, not run, and nothing is freed."""
        outside = self.stream_handle
        with self._making:
            self.building, self.local.outside = True, outside
            try:
                yield
            finally:
                self.building, self.local.outside = False, None
        self.release_waiting()

    def needs_host(self) -> None:
        """Say that what follows cannot be recorded. Raises `NeedsHost` while a graph is made by this thread."""
        if self.building and self.local.outside is not None:
            raise NeedsHost

    def synchronize(self) -> None:
        """Wait for all work on the device; nothing, where it was never used. Raises what checks of launches found."""
        if self.context is None:
            return
        self.needs_host()
        with self._making:  # a context cannot be waited for while one of its streams records a graph
            self.call("cuCtxSynchronize")
        self.release_waiting()
        self.look()

    def look(self) -> None:
        """Raise what checks of launches found that nobody has looked at yet."""
        if self.unread is not None:
            self.unread.look()

    def synchronize_for_host(self) -> None:
        """Wait until the host may look at memory: for the current stream, or for all where there are several."""
        if self.streams:
            self.synchronize()
        else:
            call("cuStreamSynchronize", self.stream_handle)
            self.look()

    def finish(self, action: Callable[[], None]) -> None:
        """Do what a finalizer wants done: now, or when no thread makes a graph or waits for the device."""
        if self.building or not self._making.acquire(blocking=False):
            self._waiting.append(action)
            return
        try:
            with self._in_context():
                action()
        finally:
            self._making.release()
        if self._waiting:
            self.release_waiting()

    def release_waiting(self) -> None:
        """Do what finalizers wanted done while a graph was made."""
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            with contextlib.suppress(DeviceError):  # there is nobody to tell
                self.finish(action)

    @contextlib.contextmanager
    def _in_context(self) -> Iterator[None]:
        """Be in the context for a while: code around a finalizer has its own idea of the current device."""
        before = None if self.alone else call("cuCtxGetCurrent")
        self.enter()
        try:
            yield
        finally:
            if before is not None:
                call("cuCtxSetCurrent", before)

    # ----- code -------------------------------------------------------------------------------

    def build(self, program: Program, options: Options) -> CudaFunction:
        """Machine code of a program on this device, ready to be launched."""
        return CudaFunction(builder.build_cuda(program, options, self.arch), self)

    def begin(self, program: Program, options: Options, threads: Executor) -> None:
        """Nothing: NVIDIA's compilers take one program at a time, in `build`."""

    def serialize(self, program: Program, options: Options) -> bytes:
        """What `build` loads, as bytes that `deserialize` loads in another process."""
        return portable.serialize_cuda(builder.build_cuda(program, options, self.arch))

    def deserialize(self, payload: bytes) -> CudaFunction:
        """Machine code out of bytes, ready to be launched. Raises `CompilerError` for what is none."""
        return CudaFunction(portable.deserialize_cuda(payload), self)

    def requirements(self) -> dict[str, Any]:
        """The compute capability that code is made for."""
        return {"arch": list(self.arch)}

    def unmet(self, requirements: dict[str, Any]) -> str:
        """Code runs on GPUs of its own generation from its own revision on."""
        major, minor = requirements["arch"]
        if major == self.arch[0] and minor <= self.arch[1]:
            return ""
        return f"code for compute capability {major}.{minor}, and {self} has {self.arch[0]}.{self.arch[1]}"

    # ----- memory -----------------------------------------------------------------------------

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> CudaMemory:
        """Fresh packed memory; its contents are undefined. Raises `DeviceMemoryError`."""
        layout = np.dtype(dtype)
        return view_buffer(self.allocate(span_of(shape, None, layout.itemsize)), shape, layout, None, self)

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike, strides: tuple[int, ...] | None = None) -> CudaMemory:
        """Fresh memory, zero from the first byte of its elements to the last; packed without `strides`."""
        layout = np.dtype(dtype)
        span = span_of(shape, strides, layout.itemsize)
        memory = view_buffer(self.allocate(span), shape, layout, strides, self)
        if span:
            self.call("cuMemsetD8Async", memory.address, 0, span, self.stream_handle)
        return memory

    def view_of(self, addresses: np.ndarray) -> CudaMemory:
        """A NumPy array over addresses of the device as memory of it."""
        memory = addresses.view(CudaMemory)
        memory.device = self
        return memory

    def allocate_pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike, zero: bool) -> np.ndarray:
        """Page-locked memory of the host: copies to and from devices need no detour."""
        layout = np.dtype(dtype)
        held = Pinned(span_of(shape, None, layout.itemsize), self, zero)
        memory: np.ndarray = np.ndarray(shape, layout, np.asarray(held))
        return memory

    def check_address(self, address: int, span: int) -> None:
        """Raise `DeviceError` unless kernels here may use the bytes at an address in place."""
        if span and (home := addresses.place_of(address, span, self)) is not self:
            raise DeviceError(f"address {address:#x} is memory of {home}\nexpected: {self}")

    def allocate(self, size: int) -> Buffer:
        """Memory of undefined contents. Raises `DeviceMemoryError`, after which the program may go on."""
        if self.allocator is not None and size:
            self.enter()
            return Lent(self, self.allocator, size)
        return self._own_memory(size)

    def _own_memory(self, size: int) -> Buffer:
        self.enter()
        # Memory of a graph that is being made is taken outside of it, and stays as long as the graph.
        stream = self.local.stream if self.local.outside is None else self.local.outside
        length, pooled = max(1, size), self.is_mempool_enabled
        try:
            return Buffer(self, self._allocate_raw(length, stream, pooled), size, pooled)
        except DeviceMemoryError:
            gc.collect()  # arrays in cycles of references
            self.synchronize()
            self.trim()
        try:
            return Buffer(self, self._allocate_raw(length, stream, pooled), size, pooled)
        except DeviceMemoryError:
            free, total = self.memory_info()
            raise DeviceMemoryError(
                f"{self} ({self.name}) has no room for {size:,} bytes\nfound: {free:,} of {total:,} bytes free\n"
                "help: let go of arrays that are not needed any more, or work in smaller parts"
            ) from None

    def _allocate_raw(self, size: int, stream: object, pooled: bool) -> int:
        if pooled:
            return int(call("cuMemAllocAsync", size, stream))
        return int(call("cuMemAlloc", size))

    def _wait_for_users(self) -> None:
        for device in (self, *self.readers):
            device.call("cuCtxSynchronize")
        self.enter()

    def give_back(self, allocator: Allocator, address: int, size: int) -> None:
        """Give memory back to the allocator that it is from, once all work that may use it is done."""
        self._wait_for_users()
        allocator.deallocate(address, size)

    def free(self, address: int, pooled: bool, lent: bool) -> None:
        """Free memory once all work that may use it is done; lent: also work on streams that we do not know."""
        if lent or not pooled:
            self._wait_for_users()
        if not pooled:
            call("cuMemFree", address)
        elif not self.streams and not self.readers:
            call("cuMemFreeAsync", address, self.first_stream)
        else:  # on a stream of its own, so that nothing else has to wait
            for device in (*self.readers, self):
                device.enter()
                for stream in (device.first_stream, *list(device.streams.values())):
                    wait_for(self._last_stream, stream)
            call("cuMemFreeAsync", address, self._last_stream)

    def trim(self) -> None:
        """Give memory that the pool keeps for later back to the driver."""
        if self.is_mempool_supported:
            self.call("cuMemPoolTrimTo", self.pool, 0)

    def memory_info(self) -> tuple[int, int]:
        """Free and total memory [bytes]."""
        free, total = self.call("cuMemGetInfo")
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
        call("cuMemPoolSetAttribute", self.pool, kind, driver.api().cuuint64_t(limit))

    # ----- what programs ask ----------------------------------------------------------------------

    is_cubin_supported = True
    is_primary = True  # whether the context is the one that other frameworks use as well

    def can_access(self, other: Device) -> bool:
        """Whether kernels here may use memory of another device now."""
        return self is other or (isinstance(other, CudaDevice) and self in other.readers)

    @property
    def has_context(self) -> bool:
        """Whether the device was used already."""
        return self.context is not None

    @property
    def context_guard(self) -> Any:
        """`with device.context_guard:` makes the context current for a block of calls of other code."""
        return self._in_context()

    @property
    def uuid(self) -> str:
        """The name of the GPU among all GPUs, as `nvidia-smi -L` prints it."""
        digits = bytes(call("cuDeviceGetUuid", self.handle).bytes).hex()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    @property
    def pci_bus_id(self) -> str:
        """Domain, bus and device on the PCI bus, in hexadecimal digits."""
        return str(call("cuDeviceGetPCIBusId", 32, self.handle).partition(b"\0")[0].decode())


class _OfThread(threading.local):
    """What each thread has of its own. stream: where its work goes, once it has given some."""

    stream: Any = None
    outside: Any = None
    """While the thread makes a graph: the stream that its work went to before."""


def wait_for(waiting: object, awaited: object) -> None:
    """Let later work of one stream wait for the present work of another."""
    event = call("cuEventCreate", driver.api().CUevent_flags.CU_EVENT_DISABLE_TIMING)
    call("cuEventRecord", event, awaited)
    call("cuStreamWaitEvent", waiting, event, 0)
    call("cuEventDestroy", event)


_listing = fork_safe(threading.Lock())
_devices: list[CudaDevice] = []


def cuda_devices() -> list[Device]:
    """All GPUs that the driver shows; none without a driver."""
    if driver.reason():
        return []
    with _listing:
        if not _devices:
            _devices.extend(CudaDevice(k) for k in range(driver.find_driver().count))
            devices.listed.extend(_devices)
    return list(_devices)


devices.find_cuda = cuda_devices


def _after_fork() -> None:
    """In a new process: no launch may pass by `enter`, which says what is wrong."""
    for device in _devices:
        device.alone = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

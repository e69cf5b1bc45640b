"""Devices: `cpu` (compiled, all cores) and `interp` (the interpreter); `cuda:N` where a driver is found.

The default device is the CPU. A device is its own name: `str(device) == "cpu"`. `Device` is the interface: memory,
machine code, waiting. What CUDA devices make of it stands in `cuda.device`; the driver is looked for when somebody
asks for one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import DeviceError, instance
from ....forks import cached_property
from ...emit import build as builder
from ...emit import portable
from ...emit.native import native
from ...emit.program import Program
from ...emit.target import Options
from .allotted import Allocator, DefaultAllocator, buffer_from
from .cuda import driver
from .device_memory import DeviceMemory
from .memory_range import span_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy.typing as npt

    from .stream import Stream

ALIGNMENT = 64  # [bytes] of fresh memory: a cache line, and the widest vector register


class Device:
    """Where arrays live and kernels run; what is said here holds for devices of the host.

    Code elsewhere asks what it wants to know of a device, and never which device it is.
    """

    shares_host_memory = True
    """Whether NumPy can see the memory: `cpu` and `interp` share arrays."""
    block_threads = 1
    """Threads of a block unless a launch says otherwise; 1 where there are no blocks."""
    memory_space = "host"
    """The name of the memory that arrays of the device lie in."""
    runs_many_threads = False
    """Whether launches of many short threads are the fast ones: work of few long ones is divided further."""

    # What programs ask of a GPU, and what that is on the host.
    arch: Any = 0
    sm_count = 0
    max_shared_memory_per_block = 0
    is_primary = False
    is_uva = is_mempool_supported = is_mempool_enabled = is_ipc_supported = is_cubin_supported = False
    is_managed_memory_supported = is_concurrent_managed_access_supported = False
    is_cpu_memory_access_from_gpu_supported = is_gpu_memory_access_from_cpu_supported = False
    is_cpu_gpu_atomic_supported = False
    context: Any = None
    uuid: Any = None
    pci_bus_id: Any = None

    def __init__(self, alias: str, name: str):
        self.alias, self.name = alias, name
        self.kind = alias.partition(":")[0]
        """What stands in the tables of what devices can do."""
        self.is_cpu, self.is_cuda, self.is_interp = (self.kind == kind for kind in ("cpu", "cuda", "interp"))
        self.ordinal = int(alias.partition(":")[2] or 0)

    @property
    def has_context(self) -> bool:
        """Whether a context of the driver was made for it."""
        return False

    @property
    def has_stream(self) -> bool:
        """Whether work is queued, so that streams order it: on CUDA."""
        return self.is_cuda

    @property
    def stream(self) -> Stream:
        """The current stream of the device in this thread, see `wp.get_stream`; what is assigned becomes that."""
        from . import stream  # noqa: PLC0415

        return stream.get_stream(self)

    @stream.setter
    def stream(self, stream: Stream) -> None:
        self.set_stream(stream)

    def set_stream(self, stream: Stream, sync: bool = True) -> None:
        """Make a stream the current one of the device in this thread. sync: its work waits for that of the last one.

        Raises `DeviceError` for a stream of another device.
        """
        from .stream import set_stream  # noqa: PLC0415

        set_stream(stream, self, sync)

    def make_current(self) -> None:
        """Make this the device of this thread, see `wp.set_device`."""
        set_device(self)

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f"Device({self.alias!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.alias == other or (self.is_cuda and other == "cuda" and self.ordinal == 0)
        return self is other

    def __hash__(self) -> int:
        return hash(self.alias)

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle` and `copy`: the one device of the name."""
        return get_device, (self.alias,)

    def can_access(self, other: Device) -> bool:
        """Whether kernels here may use memory of another device now."""
        instance(other, Device, "other")
        return self.memory_space == other.memory_space

    def synchronize(self) -> None:
        """Wait for all work on the device: on the CPU it has finished when `launch` returns."""

    def finish(self, action: Callable[[], None]) -> None:
        """Do what a finalizer wants done: at once, for devices of the host."""
        action()

    @property
    def is_capturing(self) -> bool:
        """Whether this thread captures a graph of work on the device."""
        return captures(self)

    @property
    def total_memory(self) -> int:
        """[bytes]"""
        return _system_memory("SC_PHYS_PAGES")

    @property
    def free_memory(self) -> int:
        """[bytes] that nobody uses now."""
        return _system_memory("SC_AVPHYS_PAGES")

    # ----- memory -----------------------------------------------------------------------------

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
        """Fresh packed memory, aligned; its contents are undefined. Raises `MemoryError` when there is no room."""
        layout = np.dtype(dtype)
        memory: np.ndarray = np.ndarray(shape, layout, *self._room(span_of(shape, None, layout.itemsize), zero=False))
        return memory

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike, strides: tuple[int, ...] | None = None) -> np.ndarray:
        """Fresh aligned memory, zero from the first byte of its elements to the last; packed without `strides`."""
        layout = np.dtype(dtype)
        room = self._room(span_of(shape, strides, layout.itemsize), zero=True)
        memory: np.ndarray = np.ndarray(shape, layout, *room, strides)
        return memory

    @property
    def allocator(self) -> Allocator | None:
        """Where new arrays come from, if not from the device's own memory: one for all devices that share memory."""
        return _allocators.get(self.memory_space)

    @allocator.setter
    def allocator(self, allocator: Allocator | None) -> None:
        _allocators[self.memory_space] = allocator

    def _room(self, size: int, zero: bool) -> tuple[Any, int]:
        """A buffer, and the place in it where memory begins."""
        allocator = self.allocator
        return _aligned_buffer(size, zero) if allocator is None or not size else (buffer_from(allocator, size, zero), 0)

    @cached_property
    def default_allocator(self) -> Allocator:
        """The device's own memory as an allocator."""
        return DefaultAllocator(self.alias, self._own_memory)

    @cached_property
    def pinned_allocator(self) -> Allocator:
        """Memory of the host for copies to and from devices, page-locked where there is one that gains by it."""
        return DefaultAllocator(f"{self.alias} pinned", self._pinned_bytes)

    def _pinned_bytes(self, size: int) -> Any:
        gpu = next(iter(find_cuda()), None)
        return self._own_memory(size) if gpu is None else gpu.allocate_pinned((size,), np.uint8, False)

    def _own_memory(self, size: int) -> Any:
        return np.ndarray((size,), np.uint8, *_aligned_buffer(size, zero=False))

    def view_of(self, addresses: np.ndarray) -> np.ndarray:
        """A NumPy array over addresses of the device as memory of it."""
        return addresses

    def allocate_pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike, zero: bool) -> np.ndarray:
        """Memory of the host that copies to and from this device need no detour for; any, for devices of the host."""
        return (self.zeros if zero else self.empty)(shape, dtype)

    def check_address(self, address: int, span: int) -> None:
        """Raise `DeviceError` unless kernels here may use the bytes at an address in place, as far as that is known."""

    # ----- code -------------------------------------------------------------------------------

    def build(self, program: Program, options: Options) -> Any:
        """Machine code of a program in this process, ready to be launched."""
        return builder.build(program, options)

    def begin(self, program: Program, options: Options, threads: Executor) -> None:
        """Let other threads do their part of `build`, which is to follow."""
        builder.begin(program, options, threads)

    def serialize(self, program: Program, options: Options) -> bytes:
        """What `build` makes, as bytes that `deserialize` makes machine code of in another process."""
        return portable.serialize(program, options)

    def deserialize(self, payload: bytes) -> Any:
        """Machine code out of bytes, ready to be launched. Raises `CompilerError` for what is none."""
        return portable.deserialize(payload)

    def requirements(self) -> dict[str, Any]:
        """What code of this device asks of one that is to run it, see `unmet`."""
        return native.requirements()

    def unmet(self, requirements: dict[str, Any]) -> str:
        """What is missing here to run code with these requirements, nothing if it runs. Raises `TypeError`."""
        return native.unmet(**requirements)


def _system_memory(pages: str) -> int:
    """[bytes]; 0 where the system does not tell."""
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


DeviceLike = Device | str | None
"""What names a device in annotations: itself, its name, or None for the current one."""


def _aligned_buffer(size: int, zero: bool) -> tuple[Any, int]:
    """A buffer, and the first aligned place in it."""
    raw = (np.zeros if zero else np.empty)(size + ALIGNMENT, np.uint8)
    return raw.data, -raw.ctypes.data % ALIGNMENT


_allocators: dict[str, Allocator | None] = {}  # by memory spaces
CPU = Device("cpu", "CPU")
INTERP = Device("interp", "Interpreter")
_DEVICES = {"cpu": CPU, "interp": INTERP}
_current = threading.local()
listed: list[Device] = [CPU, INTERP]
"""All devices that anybody has asked for."""
captures: Callable[[Device], bool] = lambda device: False  # noqa: E731
"""Whether this thread captures a graph of a device's work; bound by `devices.capture`."""


def _look_for_cuda() -> list[Device]:
    """Load what lists CUDA devices, which takes the place of this, and ask it."""
    import_module("warpsim.core.runtime.devices.cuda.device")
    return find_cuda()


find_cuda: Callable[[], list[Device]] = _look_for_cuda
"""Lists the CUDA devices; bound by `cuda.device`, which is loaded when somebody first asks."""


def get_device(ident: DeviceLike = None) -> Device:
    """The device of a name, a Device, or None for the current one. Raises `DeviceError`."""
    if ident is None:
        return getattr(_current, "device", CPU)
    if isinstance(ident, Device):
        return ident
    device = _DEVICES.get(str(ident))
    return device if device is not None else _cuda_device(str(ident))


def _cuda_device(name: str) -> Device:
    """The CUDA device of a name: `cuda` is the current one if that is a GPU, else the first."""
    kind, _, number = name.partition(":")
    if kind != "cuda" or not (number.isdigit() or name == "cuda"):
        known = dict.fromkeys([*_DEVICES, "cuda", "cuda:0"])
        raise DeviceError(f"unknown device {name!r}\nexpected: {', '.join(known)}")
    devices = find_cuda()
    if not devices:
        raise DeviceError(
            f"device {name!r} is not available: {driver.reason()}\nexpected: {', '.join(_DEVICES)}\n"
            'help: leave device out, or use device="cpu"; `warpsim info` says what CUDA needs'
        )
    if not number and get_device().is_cuda:
        return get_device()
    if int(number or 0) >= len(devices):
        raise DeviceError(f"device {name!r} does not exist\nexpected: {', '.join(map(str, devices))}")
    return _DEVICES.setdefault(name, devices[int(number)]) if number else devices[0]


def device_of(memory: np.ndarray) -> Device:
    """The device that memory lies on; the CPU for all that the host sees."""
    return memory.device if isinstance(memory, DeviceMemory) else CPU


def get_devices() -> list[Device]:
    """All devices that kernels can run on for production work."""
    return [CPU, *find_cuda()]


def get_preferred_device() -> Device:
    """The first CUDA device, else the CPU."""
    return next(iter(find_cuda()), CPU)


def set_device(ident: DeviceLike) -> None:
    """Make a device the current one of this thread."""
    _current.device = get_device(ident)


def is_device_available(device: DeviceLike) -> bool:
    """Whether a device, or the name of one, can be used here."""
    try:
        get_device(device)
    except DeviceError:
        return False
    return True


def is_cpu_available() -> bool:
    """Whether kernels can run on the CPU: always."""
    return True


def is_cuda_available() -> bool:
    """Whether kernels can be launched on CUDA here."""
    return bool(find_cuda())


def get_cuda_devices() -> list[Device]:
    """The GPUs, in the order of their numbers."""
    return find_cuda()


def get_cuda_device_count() -> int:
    """How many GPUs there are."""
    return len(find_cuda())


def get_cuda_device(ordinal: int | None = None) -> Device:
    """The GPU of a number; without one the current GPU, else the first. Raises `DeviceError`."""
    return get_device("cuda" if ordinal is None else f"cuda:{ordinal}")


class ScopedDevice:
    """`with ScopedDevice("cpu"):` makes a device current for a block."""

    def __init__(self, device: DeviceLike):
        self.device = get_device(device)

    def __enter__(self) -> Device:
        self.before = get_device()
        set_device(self.device)
        return self.device

    def __exit__(self, *error: object) -> None:
        set_device(self.before)


def synchronize() -> None:
    """Wait for all work on all devices."""
    for device in list(listed):
        device.synchronize()


def synchronize_device(device: DeviceLike = None) -> None:
    """Wait for all work on a device."""
    get_device(device).synchronize()

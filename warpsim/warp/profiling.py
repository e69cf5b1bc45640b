"""Profilers of CUDA, and times of work on it, under the names that Warp gives them.

`timing_begin` and `timing_end` enclose work whose pieces are timed; pieces on CUDA devices are not told apart here, so
the list is empty, and `nsys` or `ScopedTimer(synchronize=True)` tell more.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

from ..arguments import checked
from ..core.runtime.arrays.host_memory import TypedMemory
from ..core.runtime.arrays.in_pieces import InPieces
from ..core.runtime.devices.cuda.device import CudaDevice
from ..core.runtime.devices.device import Device, get_device, get_devices, synchronize
from ..errors import ArgumentTypeError, DeviceError, LaunchError, instance, shown

if TYPE_CHECKING:
    from ..core.runtime.devices.device import DeviceLike

TIMING_KERNEL, TIMING_KERNEL_BUILTIN, TIMING_MEMCPY, TIMING_MEMSET, TIMING_GRAPH = 1, 2, 4, 8, 16
TIMING_ALL = 0xFFFFFFFF


class TimingResult(NamedTuple):
    """A piece of work that was timed. elapsed: milliseconds."""

    device: Device
    name: str
    filter: int
    elapsed: float


_begun: list[bool] = []


def timing_begin(cuda_filter: int = TIMING_ALL, synchronize: bool = True) -> None:
    """Begin to time work on CUDA devices, of the kinds in `cuda_filter`."""
    _wait(synchronize)
    _begun.append(True)


def timing_end(synchronize: bool = True) -> list[TimingResult]:
    """What was timed since `timing_begin`. Raises `LaunchError` where that was not called."""
    if not _begun:
        raise LaunchError("no timing has begun\nhelp: call timing_begin() first")
    _begun.pop()
    _wait(synchronize)
    return []


@checked
def timing_print(results: list[TimingResult], indent: str = "") -> None:
    """Print times, one a line, and their sum by device. Raises `ArgumentTypeError` for anything but such times."""
    for result in results:
        instance(result, TimingResult, "one of the results")
        print(f"{indent}{result.elapsed:12.6f} ms  {result.device!s:8s}  {result.name}")
    for device in dict.fromkeys(result.device for result in results):
        print(f"{indent}{sum(r.elapsed for r in results if r.device is device):12.6f} ms  {device!s:8s}  in all")


def _wait(waits: bool) -> None:
    if waits:
        synchronize()


def cuda_profiler_start(device: DeviceLike = None) -> None:
    """Let a profiler that waits for it (`nsys profile -c cudaProfilerApi`) begin; nothing on the CPU."""
    _profiler("cuProfilerStart", device)


def cuda_profiler_stop(device: DeviceLike = None) -> None:
    """Let the profiler end."""
    _profiler("cuProfilerStop", device)


def _profiler(name: str, device: DeviceLike) -> None:
    profiled = get_device(device)
    if isinstance(profiled, CudaDevice):
        profiled.call(name)


class ScopedCudaProfiler:
    """`with ScopedCudaProfiler():` profiles a block. active: whether to."""

    def __init__(self, device: DeviceLike = None, active: bool = True):
        self.device, self.active = device, active

    def __enter__(self) -> ScopedCudaProfiler:
        if self.active:
            cuda_profiler_start(self.device)
        return self

    def __exit__(self, *error: object) -> None:
        if self.active:
            cuda_profiler_stop(self.device)


def get_cuda_supported_archs() -> list[int]:
    """The compute capabilities, as 90 for 9.0, of the GPUs that are here; code for others is made when asked for."""
    return sorted({10 * d.arch[0] + d.arch[1] for d in get_devices() if isinstance(d, CudaDevice)})


def get_cuda_toolkit_version() -> tuple[int, int] | None:
    """The version of CUDA that its compilers are of, as (major, minor); None where they are not installed."""
    try:
        parts = version("nvidia-nvvm").split(".")
    except PackageNotFoundError:
        return None
    return int(parts[0]), int(parts[1])


def map_cuda_device(alias: str, context: object = None) -> Device:
    """The device of a name; other names for a device, and contexts of others, are not known here.

    Raises `DeviceError` for them.
    """
    device = get_device(alias)
    if context is not None:
        raise DeviceError(f"{alias!r} with a context of its own\nexpected: the primary context of the device")
    return device


def unmap_cuda_device(alias: str) -> None:
    """Nothing was mapped, so nothing can be forgotten. Raises `DeviceError` always."""
    raise DeviceError(f"{alias!r} was not made by map_cuda_device\nexpected: an alias that it made")


def is_cubql_available() -> bool:
    """Whether trees are built by the cuBQL library: no, by ours."""
    return False


def can_access(device: DeviceLike, resource: object) -> bool:
    """Whether kernels on a device may use an array where it is; `Device.can_access` tells it of all memory of another.

    Raises `ArgumentTypeError` for what is no array.
    """
    place = get_device(device)
    if not isinstance(resource, TypedMemory | InPieces):
        raise ArgumentTypeError(f"resource is {shown(resource)} ({type(resource).__name__})\nexpected: an array")
    return place.can_access(resource.device)

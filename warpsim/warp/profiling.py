"""Profilers of CUDA, and times of work on all devices, under the names that Warp gives them.

`timing_begin` and `timing_end` enclose work whose pieces are timed one by one, on the CPU as well; `wp.profile` sums
them by kernel and call site.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from ..arguments import checked
from ..core.runtime.arrays.host_memory import TypedMemory
from ..core.runtime.arrays.in_pieces import InPieces
from ..core.runtime.devices.cuda.device import CudaDevice
from ..core.runtime.devices.device import CPU, Device, get_device, get_devices, synchronize
from ..errors import ArgumentTypeError, DeviceError, LaunchError, instance, shown
from ..profiling.probes import close_book, open_book
from ..profiling.report import stage_of
from ..profiling.timeline import LAUNCH, Book, Row
from ..profiling.trace import label

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


_begun: list[tuple[int, Book]] = []


@checked
def timing_begin(cuda_filter: int = TIMING_ALL, synchronize: bool = True) -> None:
    """Begin to time work on all devices, of the kinds in `cuda_filter`."""
    _wait(synchronize)
    book = Book()
    open_book(book)
    _begun.append((cuda_filter, book))


@checked
def timing_end(synchronize: bool = True) -> list[TimingResult]:
    """The pieces of work since the `timing_begin` before, in order. Raises `LaunchError` where that was not called."""
    if not _begun:
        raise LaunchError("no timing has begun\nhelp: call timing_begin() first")
    _wait(synchronize)
    mask, book = _begun.pop()
    close_book(book)
    book.finish(perf_counter_ns())
    spans = sorted((span for line in book.all_lines() for span in line.spans), key=lambda span: span[1])
    return [_result(row, start, end) for row, start, end, _ in spans if _kind_of(row) & mask]


def _result(row: Row, start: int, end: int) -> TimingResult:
    device = CPU if isinstance(row.subject, str) else row.subject.device
    return TimingResult(device, label(row), _kind_of(row), (end - start) / 1e6)


def _kind_of(row: Row) -> int:
    """The kind of a piece of work; 0 for what is none."""
    if row.kind == LAUNCH:
        return TIMING_KERNEL_BUILTIN if stage_of(getattr(row.subject, "kernel", None)) else TIMING_KERNEL
    if row.kind == "copy":
        return TIMING_MEMSET if row.subject in ("fill_", "zero_") else TIMING_MEMCPY
    return TIMING_GRAPH if row.kind == "graph" else 0


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

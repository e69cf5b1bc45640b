"""Streams and events: queues of work on a device, and points in them.

CPU launches finish before `launch` returns, so a CPU stream is always idle and an event is the moment it
was recorded. The current stream of a CUDA device is each thread's own choice.
"""

from __future__ import annotations

import itertools
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ....errors import DeviceError, instance
from .cuda import driver
from .cuda.addresses import is_gpu
from .cuda.driver import finalize
from .device import Device, DeviceLike, get_device, set_device
from .unique import Unique

if TYPE_CHECKING:
    from .cuda.device import CudaDevice


_local = threading.local()
_numbers = itertools.count()


class Stream(Unique):
    """An ordered queue of work on a device. priority: below 0 is more urgent, on CUDA.

    cuda_stream: the address of a stream of another framework, which must outlive this object, to use instead
    of a new one.
    """

    def __init__(self, device: DeviceLike = None, priority: int = 0, cuda_stream: int | None = None):
        self.device: Device = get_device(device)
        self.priority = priority
        self.handle: Any = None
        self._owned = self.device.is_cuda and cuda_stream is None
        if not is_gpu(self.device):
            return
        if cuda_stream is not None:
            self.handle = driver.api().CUstream(cuda_stream)
        else:
            self.handle = self.device.call("cuStreamCreateWithPriority", 0, priority)
        number = next(_numbers)
        self.device.streams[number] = self.handle
        self._forget = partial(self.device.forget_stream, number, self._owned)

    @property
    def cuda_stream(self) -> int:
        """The address of the driver's stream, for other frameworks. Raises `DeviceError` for a queue of the CPU."""
        if self.handle is None:
            raise DeviceError(f"{self.device} has no stream of CUDA's\nexpected: a stream of a GPU")
        return int(self.handle)

    def record_event(self, event: Event | None = None, external: bool = False) -> Event:
        """Note the present end of the queue. external: in a captured graph, for those outside of it too."""
        noted = Event(self.device, enable_timing=True) if event is None else instance(event, Event, "event")
        noted._record(self, external)
        return noted

    def wait_event(self, event: Event, external: bool = False) -> None:
        """Later work of this stream waits for the event. external: in a captured graph, for one from outside of it."""
        if instance(event, Event, "event").handle is None:
            return
        if is_gpu(self.device):
            self.device.call("cuStreamWaitEvent", self.handle, event.handle, int(external))
        else:  # its work is done by the calling thread
            synchronize_event(event)

    def wait_stream(self, other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
        """Later work of this stream waits for the present work of another."""
        other = instance(other_stream, Stream, "other_stream")
        if self.device.is_cuda or other.device.is_cuda:
            self.wait_event(other.record_event(event or Event(other.device), external), external)

    def synchronize(self) -> None:
        """Wait for the work of this stream."""
        if is_gpu(self.device):
            self.device.call("cuStreamSynchronize", self.handle)
            self.device.look()

    @property
    def is_capturing(self) -> bool:
        """Whether this thread captures a graph of work on its device."""
        return self.device.is_capturing

    @property
    def is_complete(self) -> bool:
        """Whether all work has been done."""
        return not is_gpu(self.device) or _is_done(self.device, "cuStreamQuery", self.handle)

    def __del__(self) -> None:
        if hasattr(self, "_forget"):
            finalize(self.device, self._forget)


class Event(Unique):
    """A point in a stream's work. enable_timing: whether times between it and others can be asked for."""

    def __init__(self, device: DeviceLike = None, enable_timing: bool = False):
        self.device = get_device(device)
        self.enable_timing = enable_timing
        self.moment: float | None = None
        self.handle: Any = None
        if is_gpu(self.device):
            flags = driver.api().CUevent_flags
            kind = flags.CU_EVENT_DEFAULT if enable_timing else flags.CU_EVENT_DISABLE_TIMING
            self.handle = self.device.call("cuEventCreate", kind)

    def _record(self, stream: Stream, external: bool) -> None:
        if stream.device is not self.device:
            raise DeviceError(f"the event is one of {self.device}\nexpected: {stream.device}, as the stream")
        self.moment = time.perf_counter()
        if is_gpu(self.device) and external:
            self.device.call("cuEventRecordWithFlags", self.handle, stream.handle, 1)
        elif is_gpu(self.device):
            self.device.call("cuEventRecord", self.handle, stream.handle)

    @property
    def is_complete(self) -> bool:
        """Whether the work before it has been done."""
        return not is_gpu(self.device) or _is_done(self.device, "cuEventQuery", self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None:
            finalize(self.device, partial(driver.call, "cuEventDestroy", self.handle))


def _is_done(device: CudaDevice, question: str, handle: object) -> bool:
    """Ask the driver whether something has happened. Raises `DeviceError` for failed work."""
    device.enter()
    [status] = getattr(driver.api(), question)(handle)
    if status == driver.api().CUresult.CUDA_ERROR_NOT_READY:
        return False
    if status:
        raise driver.failure(question, status)
    return True


def get_stream(device: DeviceLike = None) -> Stream:
    """The current stream of a device in this thread."""
    device = get_device(device)
    streams = _streams()
    if device.alias not in streams:
        streams[device.alias] = _first(device)
    return streams[device.alias]


def _first(device: Device) -> Stream:
    """The stream that is current to begin with: a CUDA device's own, which is no reason to look for work of others."""
    stream = object.__new__(Stream)
    stream.device, stream.priority, stream._owned = device, 0, False
    stream.handle = device.stream_handle if is_gpu(device) else None
    return stream


def _streams() -> dict[str, Stream]:
    streams: dict[str, Stream] = _local.__dict__.setdefault("streams", {})
    return streams


def set_stream(stream: Stream, device: DeviceLike = None, sync: bool = False) -> None:
    """Make a stream the current one of its device in this thread; sync: once the present one is idle."""
    instance(stream, Stream, "stream")
    device = stream.device if device is None else get_device(device)
    if stream.device is not device:
        raise DeviceError(f"the stream is one of {stream.device}\nexpected: {device}")
    if sync:
        stream.wait_stream(get_stream(device))
    get_stream(device)
    _streams()[device.alias] = stream
    if is_gpu(device):
        device.set_stream_handle(stream.handle)


def record_event(event: Event | None = None, external: bool = False) -> Event:
    """Record an event in the current stream. external: in a captured graph, for those outside of it too."""
    device = None if event is None else instance(event, Event, "event").device
    return get_stream(device).record_event(event, external)


def wait_event(event: Event, external: bool = False) -> None:
    """Let the current stream wait for an event. external: in a captured graph, for one from outside of it."""
    get_stream(instance(event, Event, "event").device).wait_event(event, external)


def wait_stream(other_stream: Stream, event: Event | None = None, external: bool = False) -> None:
    """Let the current stream wait for another."""
    device = instance(other_stream, Stream, "other_stream").device
    get_stream(device).wait_stream(other_stream, event, external)


def synchronize_stream(stream_or_device: Stream | DeviceLike = None) -> None:
    """Wait for a stream's work; a device stands for its current stream."""
    one = stream_or_device
    (one if isinstance(one, Stream) else get_stream(one)).synchronize()


def synchronize_event(event: Event) -> None:
    """Wait until an event has happened."""
    device = instance(event, Event, "event").device
    if is_gpu(device):
        device.call("cuEventSynchronize", event.handle)


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two recorded events, made with `enable_timing=True` on CUDA.

    Raises `RuntimeError` for one that was not recorded, `DeviceError` for one without a time.
    """
    start: Event = instance(start_event, Event, "start_event")
    end: Event = instance(end_event, Event, "end_event")
    if start.moment is None or end.moment is None:
        raise RuntimeError("an event was not recorded\nhelp: call wp.record_event(event) first")
    if not is_gpu(start.device) or end.handle is None:
        return (end.moment - start.moment) * 1000.0
    if not (start.enable_timing and end.enable_timing):
        raise DeviceError("an event has no time\nexpected: wp.Event(enable_timing=True), for both")
    if synchronize:
        synchronize_event(end)
    return float(start.device.call("cuEventElapsedTime", start.handle, end.handle))


class ScopedStream:
    """`with ScopedStream(stream):` makes a stream and its device current for a block; None changes nothing.

    sync_enter: its work waits for that of the stream that was current before; sync_exit: the other way round
    when the block ends.
    """

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False):
        if stream is not None:
            instance(stream, Stream, "stream")
        self.stream, self.sync_enter, self.sync_exit = stream, sync_enter, sync_exit

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self.before = get_stream(self.stream.device)
            if self.sync_enter:
                self.stream.wait_stream(self.before)
            set_stream(self.stream)
            self.device_before = get_device()
            set_device(self.stream.device)
        return self.stream

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            set_device(self.device_before)
            set_stream(self.before)
            if self.sync_exit:
                self.before.wait_stream(self.stream)

"""CUDA graphs: consecutive steps of a captured graph on one device, launched together.

A step only puts work on the current stream: a launch, a fill, a copy on the device. Steps that turn out to
need the host (an upload, say) raise `NeedsHost` before they did anything, and stand between two graphs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .....errors import DeviceError
from . import driver
from .device import NON_BLOCKING, CudaDevice, NeedsHost
from .driver import call, finalize

Step = Callable[[], None]


def sections(device: CudaDevice, steps: Sequence[Step]) -> list[Step]:
    """What runs the steps in order, with as few calls as can be."""
    runs: list[Step] = []
    rest = list(steps)
    while rest:
        graph, count = _capture(device, rest)
        if count:
            runs.append(_Section(device, graph, rest[:count]))
        runs.extend(rest[count : count + 1])
        rest = rest[count + 1 :]
    return runs


class _Section:
    """A CUDA graph that is ready to run. It keeps the steps, whose memory it uses."""

    def __init__(self, device: CudaDevice, graph: object, steps: list[Step]):
        self.device, self.steps = device, steps
        try:
            self.handle = call("cuGraphInstantiate", graph, 0)
        finally:
            call("cuGraphDestroy", graph)

    def __call__(self) -> None:
        self.device.call("cuGraphLaunch", self.handle, self.device.stream_handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            finalize(self.device, partial(call, "cuGraphExecDestroy", self.handle))


def _capture(device: CudaDevice, steps: list[Step]) -> tuple[Any, int]:
    """A graph of the first steps, and how many of them it holds: all up to one that needs the host."""
    # Nothing that other threads give to the legacy default stream may touch the one that records.
    stream = device.call("cuStreamCreate", NON_BLOCKING)
    graph, count = None, 0
    try:
        with device.building_graph(), device.using(stream):
            call("cuStreamBeginCapture", stream, driver.api().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
            try:
                for step in steps:
                    step()
                    count += 1
            except NeedsHost:
                pass
            except BaseException:
                with contextlib.suppress(DeviceError):  # the step has spoken
                    call("cuGraphDestroy", call("cuStreamEndCapture", stream))
                raise
            graph = call("cuStreamEndCapture", stream)
    finally:
        call("cuStreamDestroy", stream)
    if not count:
        call("cuGraphDestroy", graph)
    return graph, count

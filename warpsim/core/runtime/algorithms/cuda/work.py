"""Multi-launch algorithms: run at once, or appended to the graph under capture.

Code that computes something with several kernels is written once, as a function that is given a `Now` or a
`Later`. `make_step` turns it into one step: it does the work when the step runs or, while a graph is captured,
gets scratch memory and argument blocks ready, so that the step is work for the device's stream and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.array import array
from ...devices.capture import current_graph
from ...devices.device import Device
from ...devices.device_memory import DeviceMemory
from ...launch import launch
from ...launches.kernel import Kernel
from ...steps.host_call import HostCall
from ...steps.in_turn import InTurn
from ...steps.move import Move, Piece
from ...steps.step import Step

_launchers: dict[tuple[Any, ...], Any] = {}
"""Compiled forms used last by kernel, device and dtypes: the same kernel is launched with many dtypes in turn."""


class Now:
    """Does everything when it is told."""

    def __init__(self, device: Device):
        self.device = device

    def new(self, size: int, dtype: type) -> array:
        """Scratch memory: a flat array of scalars, whose contents are undefined."""
        return self.wrap(self.device.empty((size,), dtype), dtype)

    def wrap(self, flat: DeviceMemory, dtype: type) -> array:
        """Memory of scalars, of rank 1, as kernels want it."""
        return array._wrap(flat, dtype, self.device)

    def launch(self, kernel: Kernel, dim: int, *inputs: object) -> None:
        """Run a kernel, without a word to tapes."""
        if not dim:
            return
        place = self.device.alias
        key = (kernel, place, *[a.dtype for a in inputs if isinstance(a, array)])
        if key in _launchers:
            kernel.latest[place] = _launchers[key]  # what the fast path tries; if it does not fit, nothing is lost
        launch(kernel, dim, inputs, device=self.device, record_tape=False)
        _launchers[key] = kernel.latest[place]

    def copy(self, target: DeviceMemory, source: np.ndarray) -> None:
        """target[...] = source: memory of one shape and dtype that shares no element, or a number."""
        target.put(source)

    def zero(self, a: array) -> None:
        """Every element becomes zero."""
        self.copy(a._data, np.zeros((), a._data.dtype))

    def on_host(self, work: Callable[[], None]) -> None:
        """Something that is not work for the device's stream alone."""
        work()


class Later(Now):
    """Gets everything ready, as steps that can be run as often as wanted."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.parts: list[Step] = []

    def launch(self, kernel: Kernel, dim: int, *inputs: object) -> None:
        if dim:
            command = launch(kernel, dim, inputs, device=self.device, record_tape=False, record_cmd=True)
            self.parts.append(command.ready)

    def copy(self, target: DeviceMemory, source: np.ndarray) -> None:
        values = source if isinstance(source, np.ndarray) else np.asarray(source)
        self.parts.append(Move(lambda: target.put(source), lambda: [Piece(target, values)], device=self.device))

    def on_host(self, work: Callable[[], None]) -> None:
        self.parts.append(HostCall(work))


def make_step(device: Device, build: Callable[[Now], None]) -> Step:
    """A step that does what `build` says: later, if a graph is captured now, with memory that it has already."""
    if current_graph() is None:
        return HostCall(lambda: build(Now(device)), device)
    prepared = Later(device)
    build(prepared)
    return InTurn(prepared.parts, device)

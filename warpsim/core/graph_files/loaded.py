"""`LoadedGraph`: a graph out of a file, whose named arrays are set and read by name."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...errors import ArgumentTypeError, DeviceError, GraphFileError, TapeError, instance
from ..emit.program import full_name
from ..runtime.arrays import saved_contents
from ..runtime.arrays.array import array
from ..runtime.commands.graph import Graph
from ..runtime.commands.graph_report import GraphPart, GraphReport
from ..runtime.devices.capture import current_graph, recorded
from ..runtime.devices.device import Device, device_of
from ..runtime.devices.transfer import copying
from ..types.arrays import type_name
from .steps import Batches, LoadedLaunch, LoadedLoop


class Parameter:
    """A named array of a graph. element: its dtype in words, structs with their fields; shape: of the array."""

    def __init__(self, name: str, memory: np.ndarray, element: str, shape: tuple[int, ...]):
        self.name, self.memory, self.element, self.shape = name, memory, element, shape

    def check(self, a: Any) -> None:
        """Raise unless an array can be copied from or to this one."""
        if not isinstance(a, array):
            raise ArgumentTypeError(f"parameter {self.name!r} is given {type(a).__name__}\nexpected: an array")
        home = device_of(self.memory)
        if a.device.memory_space != home.memory_space:
            raise DeviceError(f"parameter {self.name!r} is given an array on {a.device}\nexpected: one on {home}")
        if not self._fits(a):
            raise GraphFileError(
                f"parameter {self.name!r} is given {type_name(a.dtype)} of shape {a.shape}\n"
                f"expected: {self}, or as many numbers of the same type in another shape"
            )

    def _fits(self, a: array) -> bool:
        """Whether the elements are the same, or the numbers that they are made of."""
        memory = self.memory
        same = full_name(a.dtype) == self.element
        alike = a._data.dtype == memory.dtype and memory.dtype.kind != "V"
        return (same or alike) and a._data.nbytes == memory.nbytes

    def copied_to(self, a: array) -> None:
        """Copy into an array; tapes see a constant written."""
        a._require_writable()
        values = self.memory.view(a._data.dtype) if self.memory.dtype.kind == "V" else self.memory
        store = partial(_copy, a._data, values)
        a._change(store, values, a._data, "get_param", lambda gradient: gradient)

    def copied_from(self, a: array) -> None:
        """Copy from an array."""
        values = a._data.view(self.memory.dtype) if self.memory.dtype.kind == "V" else a._data
        if values.shape != self.memory.shape:
            values = values.reshape(self.memory.shape)
        recorded(copying(self.memory, values), a.device)

    def __str__(self) -> str:
        return f"{self.element.partition('{')[0]} of shape {self.shape}"


def _copy(target: np.ndarray, values: np.ndarray) -> None:
    target[...] = values.reshape(target.shape)


class LoadedGraph(Graph):
    """A graph out of a file, see `capture_load`. Its memory is its own: nothing that it was captured with is shared.

    `set_param` and `get_param` copy into and out of named arrays, `capture_launch` runs it. While another graph is
    captured, all three become steps of that one. No gradient passes through a launch: what is to be differentiated is
    captured with its adjoints. Several threads may use several graphs, not one at the same time.
    """

    is_loaded = True

    def __init__(self, device: Device, batches: Batches, named: dict[str, Parameter], memory: Any):
        super().__init__(device)
        self._run_all, self._named, self._memory = batches, named, memory

    @property
    def params(self) -> dict[str, dict[str, int]]:
        return {name: {"size": p.memory.nbytes} for name, p in self._named.items()}

    def set_param(self, name: str, arr: Any) -> None:
        """Copy an array into a named one.

        arr: an array on the device of the graph, of the same dtype and number of elements, or of as many numbers of
        the same type. Raises `GraphFileError` for an array that does not fit and a name that the graph does not have,
        `ArgumentTypeError` for what is no array, `DeviceError` for one on another device.
        """
        parameter = self._param(name)
        parameter.check(arr)
        parameter.copied_from(arr)

    def get_param(self, name: str, arr: Any) -> None:
        """Copy a named array into an array, as `set_param` does the other way; raises the same."""
        parameter = self._param(name)
        parameter.check(arr)
        parameter.copied_to(arr)

    def get_param_ptr(self, name: str) -> int | None:
        """The address of a named array, which is good as long as the graph lives; None for a name it does not have."""
        parameter = self._named.get(instance(name, str, "name"))
        return None if parameter is None else int(parameter.memory.ctypes.data)

    def _param(self, name: str) -> Parameter:
        if instance(name, str, "name") not in self._named:
            names = ", ".join(map(repr, self._named)) or "none: inputs= and outputs= of capture_save name arrays"
            raise GraphFileError(f"the graph has no parameter {name!r}\nexpected: {names}")
        return self._named[name]

    # ----- launches ---------------------------------------------------------------------------

    def launch(self) -> None:
        if saved_contents.active():
            raise TapeError(
                "a graph out of a file is launched while a tape records, and no gradient passes through it\n"
                "help: launch it outside of the tape, or capture the adjoints, too: tape.backward(loss) in the capture"
            )
        capture = current_graph()
        if capture is not None:
            capture.keep(self)
        recorded(self._run_all, None, self.launch)

    def report(self) -> GraphReport:
        return GraphReport(tuple(_part(step) for step in self._run_all.steps))

    def __repr__(self) -> str:
        return f"LoadedGraph({', '.join(f'{name}: {p}' for name, p in self._named.items())})"


def _part(step: Any) -> GraphPart:
    if isinstance(step, LoadedLoop):
        names = tuple(launch.loaded.kernel.key for launch in step.launches)
        return GraphPart("loop", names, step.launches[0].total, step.strip)
    if isinstance(step, LoadedLaunch):
        return GraphPart("launch", (step.loaded.kernel.key,), step.total)
    return GraphPart(step.what)

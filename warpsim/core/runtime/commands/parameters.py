"""What a graph out of a file has beside its steps: memory of its own, of which some arrays have names."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....errors import ArgumentTypeError, DeviceError, GraphFileError, instance
from ...types.arrays import type_name
from ...types.structs import full_name
from ..arrays.array import array
from ..devices.device import device_of
from ..steps.move import copying


class Parameter:
    """A named array of a graph. element: its dtype in words, structs with their fields; shape: of the array."""

    def __init__(self, name: str, memory: np.ndarray, element: str, shape: tuple[int, ...]):
        self.name, self.memory, self.element, self.shape = name, memory, element, shape

    def check(self, a: array) -> None:
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
        copying(self.memory, values, a.device).submit()

    def __str__(self) -> str:
        return f"{self.element.partition('{')[0]} of shape {self.shape}"


def _copy(target: np.ndarray, values: np.ndarray) -> None:
    target[...] = values.reshape(target.shape)


class Contents:
    """The named arrays of a graph, and the memory that lives as long as it. Graphs in it, of branches, share them."""

    def __init__(self) -> None:
        self.named: dict[str, Parameter] = {}
        self.memory: Any = None

    def parameter(self, name: str, a: array) -> Parameter:
        """The array of a name, if `a` can be copied from or to it; raises what `set_param` raises."""
        if instance(name, str, "name") not in self.named:
            names = ", ".join(map(repr, self.named)) or "none: inputs= and outputs= of capture_save name arrays"
            raise GraphFileError(f"the graph has no parameter {name!r}\nexpected: {names}")
        self.named[name].check(a)
        return self.named[name]

"""Launches on the device `interp`: every thread in Python, checked, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....config import config
from ...ir.host_arrays import Follow, HostArray, array_at
from ...ir.interpret import Interpreter, host_value
from ...types import compounds, structs
from ...types.arrays import ArrayType
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.device import INTERP
from ..devices.float_mode import StandardMode
from .arguments import empty_array, is_missing
from .dimensions import as_indexed
from .launcher import LaunchCall, Launcher


class InterpLauncher(Launcher):
    """One form of a kernel for the interpreter, whose argument block is a list of values."""

    def load(self, layouts: tuple[str, ...]) -> None:
        hints = [p.hint or "extra" for p in self.program.fn.params]
        self.names = [*self.kernel.patterns, *hints[len(self.own_types) :]]

    def pack(self, args: Sequence[Any], header: bytes) -> Any:
        """The values of the arguments; None when one does not fit, as in compiled launches."""
        if super().pack(args, header) is None:
            return None
        return [interpreter_value(a, t, n) for a, t, n in zip(args, self.types, self.names, strict=True)]

    def run(self, call: LaunchCall) -> None:
        machine = Interpreter(config.check_numbers, self.block_dim)
        with StandardMode():
            for thread in threads(as_indexed(call.dim, self.ndim)):
                machine.thread = thread
                machine.run(self.program.fn.body, call.block)

    run_in_order = run


def threads(dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every thread index, the last one fastest; unlike `itertools.product`, it keeps no list of them."""
    for flat in range(math.prod(dims)):
        index = []
        for n in reversed(dims):
            flat, i = divmod(flat, n)
            index.append(i)
        yield tuple(reversed(index))


def interpreter_value(value: Any, t: Any, name: str) -> Any:
    """A launch argument, known to fit, as the interpreter holds it."""
    if isinstance(t, ArrayType):
        return host_array(empty_array(t, INTERP) if value is None else value, name)
    if structs.is_struct(t):
        return {
            field: interpreter_value(getattr(value, field), ft, f"{name}.{field}") for field, ft in t.fields.items()
        }
    if compounds.is_compound(t):
        return host_value(value if isinstance(value, t) else t(*value), t)
    return host_value(t(value), t)


def host_array(value: object, name: str) -> HostArray:
    """An array as the interpreter holds it."""
    if isinstance(value, indexedarray):
        tables = tuple(None if table is None else table._data for table in value.indices)
        gradient = value.data._gradient
        grad = None if gradient is None else HostArray(gradient._data, value.type, f"{name}.grad", None, tables)
        return HostArray(value.data._data, value.type, name, grad, tables, follower(value, name))
    assert isinstance(value, array)
    grad = None if value._gradient is None else HostArray(value._gradient._data, value.type, f"{name}.grad")
    host = HostArray(value._data, value.type, name, grad, (), follower(value, name))
    host.missing = is_missing(value)
    return host


def follower(value: array | indexedarray, name: str) -> Follow:
    """Finds the arrays that the struct elements of `value` refer to."""

    def follow(words: np.ndarray, t: ArrayType) -> HostArray:
        element = None if value._held is None else value._held.find(words.tobytes())
        # What this launch stored is held by its arguments: it is taken from where it lies.
        return array_at(words, t, f"{name}[].array") if element is None else host_array(element, f"{name}[].array")

    return follow

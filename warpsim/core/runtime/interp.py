"""Launches on the device `interp`: every thread in Python, checked, one after the other."""

from __future__ import annotations

import itertools
from typing import Any

from ...config import config
from ...errors import WarpsimError
from ..ir.interpret import Interpreter, host_value
from ..ops.host_memory import HostArray
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType
from .arguments import adapted
from .array import array
from .device import Device
from .dimensions import extent
from .indexed import indexedarray
from .kernel import Kernel


def launch(kernel: Kernel, dim: Any, args: list[Any], place: Device) -> None:
    """Run a kernel in the interpreter."""
    types = kernel.types_for(args)
    names = list(kernel.patterns)
    ready = [adapted(a, t, n, kernel.key, place) for a, t, n in zip(args, types, names, strict=True)]
    program = kernel.program(types)
    extent(dim, kernel.key, program.ndim)
    values = [interpreted(a, t, n, kernel.key) for a, t, n in zip(ready, types, names, strict=True)]
    machine = Interpreter(config.check_numbers)
    dims = (dim,) if isinstance(dim, int) else dim
    for thread in itertools.product(*(range(n) for n in dims)):
        machine.thread = thread
        machine.run(program.fn.body, values)


def interpreted(value: Any, t: Any, name: str, kernel: str) -> Any:
    """A launch argument as the interpreter holds it."""
    if isinstance(t, ArrayType):
        return host_array(value, name)
    if structs.is_struct(t):
        return {f: interpreted(getattr(value, f), ft, f"{name}.{f}", kernel) for f, ft in t.fields.items()}
    if compounds.is_compound(t):
        return host_value(value if isinstance(value, t) else t(*value), t)
    try:
        return t(value) if scalars.is_float(t) or value == t(value) else _refuse(value, t)
    except (TypeError, ValueError, OverflowError) as error:
        raise WarpsimError(f"argument {name!r} of kernel {kernel!r} is {value!r}\nexpected: {t.__name__}") from error


def _refuse(value: Any, t: type) -> Any:
    raise ValueError(value)


def host_array(value: Any, name: str) -> HostArray:
    if isinstance(value, indexedarray):
        tables = tuple(None if table is None else table.numpy() for table in value.indices)
        return HostArray(value.data.numpy(), value.type, name, None, tables, value)
    assert isinstance(value, array)
    grad = None if value.grad is None else HostArray(value.grad.numpy(), value.type, f"{name}.grad")
    return HostArray(value.numpy(), value.type, name, grad, (), value)

"""Launches on the device `interp`: every thread in Python, checked, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ....config import config
from ...compile import FORWARD, Form
from ...ir.interpret import Interpreter, host_value
from ...ops.host_memory import Follow, HostArray, described
from ...passes.analysis.demanded import demanded
from ...types import compounds, structs
from ...types.arrays import ArrayType
from ..arrays.array import array
from ..arrays.indexed import indexedarray
from ..devices.device import INTERP, Device
from .arguments import (
    UNFIT,
    adapted,
    check_writable,
    empty_array,
    is_missing,
    packer,
    refuse_missing,
    unfit,
    written_fields,
)
from .dimensions import extent
from .guards import guard_of
from .kernel import Kernel
from .struct_bytes import RefusedField, struct_packer


def prepared(
    kernel: Kernel, dim: Any, args: list[Any], place: Device, form: Form = FORWARD
) -> Callable[[], None]:
    """Check a launch as compiled ones are checked; returns what runs it, any number of times.

    args: those of the kernel, then one for every extra parameter of the form.
    """
    names = list(kernel.patterns)
    own = kernel.types_for(args[: len(names)] if form is not FORWARD else args)
    ready = [adapted(a, t, n, kernel.key, place) for a, t, n in zip(args, own, names, strict=False)]
    ready += args[len(names) :]
    program = kernel.program(own, None, False, form)
    types = [p.type for p in program.fn.params]
    names += [p.hint or "extra" for p in program.fn.params[len(names) :]]
    extent(dim, kernel.key, program.ndim)
    for k, use in program.plan.uses.items():
        if use.written and form.kind != "adjoint":
            check_writable(ready[k], names[k], kernel.key)
    fields = written_fields(program.fn) if form.kind != "adjoint" else {}
    for k, t in enumerate(types):
        if structs.is_struct(t) and isinstance(ready[k], t):
            check_fields(ready[k], t, names[k], kernel.key, place, fields.get(k, frozenset()))
    guard = guard_of(program.fn, kernel.key, program.handle_params, form.kind != "adjoint")
    values = [interpreted(a, t, n, kernel.key) for a, t, n in zip(ready, types, names, strict=True)]
    if form is FORWARD:
        refuse_missing(demanded(program.fn), ready, names, kernel.key)

    def run() -> None:
        if guard is not None:
            guard(ready)
        machine = Interpreter(config.check_numbers)
        for thread in threads((dim,) if isinstance(dim, int) else dim):
            machine.thread = thread
            machine.run(program.fn.body, values)

    return run


def threads(dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every thread index, the last one fastest; unlike `itertools.product`, it keeps no list of them."""
    for flat in range(math.prod(dims)):
        index = []
        for n in reversed(dims):
            flat, i = divmod(flat, n)
            index.append(i)
        yield tuple(reversed(index))


def check_fields(value: Any, t: Any, name: str, kernel: str, place: Device, written: frozenset[str]) -> None:
    """Raise for arrays in a struct that a launch may not have."""
    try:
        struct_packer(t, place, written)(value)
    except RefusedField as error:
        raise error.error(name, kernel) from None


def interpreted(value: Any, t: Any, name: str, kernel: str) -> Any:
    """A launch argument as the interpreter holds it. Raises `ArgumentTypeError` as compiled launches do."""
    if isinstance(t, ArrayType):
        return host_array(empty_array(t, INTERP) if value is None else value, name)
    pack = packer(t)
    assert pack is not None
    try:
        pack(value)
    except UNFIT as error:
        raise unfit(value, t, name, kernel, error) from None
    if structs.is_struct(t):
        return {f: interpreted(getattr(value, f), ft, f"{name}.{f}", kernel) for f, ft in t.fields.items()}
    if compounds.is_compound(t):
        return host_value(value if isinstance(value, t) else t(*value), t)
    return t(value)


def host_array(value: Any, name: str) -> HostArray:
    if isinstance(value, indexedarray):
        tables = tuple(None if table is None else table._data for table in value.indices)
        slopes = value.data._slopes
        grad = None if slopes is None else HostArray(slopes._data, value.type, f"{name}.grad", None, tables)
        return HostArray(value.data._data, value.type, name, grad, tables, follower(value, name))
    assert isinstance(value, array)
    grad = None if value._slopes is None else HostArray(value._slopes._data, value.type, f"{name}.grad")
    return HostArray(value._data, value.type, name, grad, (), follower(value, name), is_missing(value))


def follower(value: array | indexedarray, name: str) -> Follow:
    """Finds the arrays that the struct elements of `value` refer to."""

    def follow(words: np.ndarray, t: ArrayType) -> HostArray:
        found = None if value._held is None else value._held.found(words.tobytes())
        # What this launch stored is held by its arguments: it is taken from where it lies.
        return described(words, t, f"{name}[].array") if found is None else host_array(found, f"{name}[].array")

    return follow

"""Locals that some path leaves without a value: they start as zero, arrays empty; a warning says where that is used.

Whether a local lacks a value is known when it is used, after the branches and loops that should have given it one are
translated. So the function is translated again, with the local assigned at its beginning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ....errors import KernelTypeError, Location, UnassignedLocalError, UnassignedLocalWarning
from ...ir.nodes import Value
from ...ops import memory
from ...types.arrays import ArrayType
from .fresh_arrays import note_array
from .scope import placeholder, typed_value
from .translator import Translator

R = TypeVar("R")
_warnings = 0


def warnings_so_far() -> int:
    """How many warnings the front end has given in this process."""
    return _warnings


class _Restart(Exception):
    """Locals that must start as zero: for each its zero, and the place of a use."""

    def __init__(self, lacking: dict[str, tuple[Any, Location]]):
        self.locals = lacking


def with_zeros(make: Callable[[dict[str, Any]], R]) -> R:
    """What `make` translates, given locals that have a value from the beginning; it is asked again if there are more.

    The translator that it runs keeps these locals as `zeros`.
    """
    zeros: dict[str, Any] = {}
    while True:
        try:
            return make(zeros)
        except _Restart as restart:
            lacking = restart.locals
        for name, (value, place) in lacking.items():
            outcome = "empty" if isinstance(value, Value) and isinstance(value.type, ArrayType) else "zero"
            warn_of_zero(f"{name!r} may be used here before it has a value; then", place, outcome)
            zeros[name] = value


def restart_with_zeros(tr: Translator) -> None:
    """Where the only errors of a body are locals that lack a value, ask for its translation with zeros in them."""
    if tr.zeros is None or not all(isinstance(error, UnassignedLocalError) for error in tr.errors):
        return
    zeros, lacking = tr.zeros, tr.lacking.items()
    added = {name: (_zero_of(tr.bound.get(name)), place) for name, place in lacking if name not in zeros}
    if added and all(zero is not None for zero, _ in added.values()):
        raise _Restart(added)


def warn_of_zero(what: str, place: Location, outcome: str = "zero") -> None:
    global _warnings
    _warnings += 1
    warnings.warn(f"{what} it is {outcome}\n  --> {place}\n{place.excerpt()}", UnassignedLocalWarning, stacklevel=2)


def _zero_of(operand: object) -> Any:
    """Zero of the type of an operand, of a local array the type, or None where there is none."""
    if isinstance(operand, tuple):
        parts = tuple(map(_zero_of, operand))
        return None if any(part is None for part in parts) else parts
    try:
        t = typed_value(operand).type
    except KernelTypeError:
        return None
    return t if isinstance(t, ArrayType) and t.local_shape is not None else placeholder(t)


def start_with(tr: Translator, zeros: dict[str, Any]) -> None:
    """Begin with locals that have a value: a local array, of which only the type is known, is made."""
    tr.zeros = zeros
    tr.scope.update({name: _started(tr, zero) for name, zero in zeros.items()})


def _started(tr: Translator, zero: Any) -> Any:
    if isinstance(zero, tuple):
        return tuple(_started(tr, part) for part in zero)
    if not isinstance(zero, ArrayType):
        return zero
    array: Value = tr.emit(memory.local_array, shape=zero.local_shape, dtype=zero.dtype)
    note_array(tr, array)
    return array

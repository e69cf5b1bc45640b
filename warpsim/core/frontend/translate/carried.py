"""Loop-carried locals: they enter and leave through the loop's values, and keep one type."""

from __future__ import annotations

from typing import Any

from ....errors import KernelTypeError
from ...ir.nodes import Value
from ...types import compounds, structs
from ...types.arrays import type_name
from .conversions import constructor_name
from .fresh_arrays import is_local
from .scope import RESULT, Erroneous, Scope, Unassigned, describe, is_number, placeholder, typed_value
from .translator import Suppressed


class Carried:
    """The carried locals of one loop, flattened to values."""

    def __init__(self, names: list[str], scope: Scope):
        self.names = list(dict.fromkeys(names))
        self.templates = {name: scope[name] for name in self.names}
        self.init = tuple(v for name in self.names for v in flatten(scope[name]))
        for name in self.names:
            if is_local(scope[name]):  # the returned value
                raise KernelTypeError("a loop cannot return a local array", help="return it after the loop")

    def params(self) -> tuple[Value, ...]:
        return tuple(Value(v.type, v.hint) for v in self.init)

    def bind(self, scope: Scope, values: tuple[Value, ...]) -> None:
        rest = list(values)
        for name in self.names:
            scope[name] = unflatten(self.templates[name], rest)
            if isinstance(scope[name], Value):
                scope[name].hint = scope[name].hint or name

    def collect(self, scope: Scope) -> tuple[Value, ...]:
        """The values to yield; raises when a local changed its type."""
        return tuple(v for name in self.names for v in self.matching(name, scope[name], self.templates[name]))

    def matching(self, name: str, operand: object, template: object) -> list[Value]:
        if isinstance(template, tuple):
            if not isinstance(operand, tuple) or len(operand) != len(template):
                was, now = describe(template), describe(operand)
                raise KernelTypeError(f"{_the(name)} changes from {was} to {now} in a loop")
            return [v for a, b in zip(operand, template, strict=True) for v in self.matching(name, a, b)]
        if isinstance(operand, Erroneous):
            raise Suppressed
        if isinstance(operand, Unassigned):
            raise KernelTypeError(f"{_the(name)} has no single type in this loop: {operand.reason}")
        expected = typed_value(template).type
        value = typed_value(operand, expected)
        if value.type is not expected:
            literal = is_number(template) and name != RESULT
            start = f"start it as {constructor_name(value.type)}(...)"
            raise KernelTypeError(
                f"{_the(name)} changes its type in a loop",
                found=type_name(value.type),
                expected=type_name(expected),
                help=start if literal else "use another name for the new value",
            )
        return [value]


def _the(name: str) -> str:
    return "the returned value" if name == RESULT else repr(name)


def is_runtime(operand: object) -> bool:
    """Whether the operand can live in a loop variable."""
    if isinstance(operand, tuple):
        return all(map(is_runtime, operand))
    return isinstance(operand, (Value, compounds.Compound, structs.Struct)) or is_number(operand)


def flatten(operand: object) -> list[Value]:
    """The run-time values of an operand."""
    if isinstance(operand, tuple):
        return [v for part in operand for v in flatten(part)]
    return [typed_value(operand)]


def unflatten(template: object, values: list[Value]) -> Any:
    """Values put back into the shape of `template`, taken from the front of the list."""
    if isinstance(template, tuple):
        return tuple(unflatten(part, values) for part in template)
    return values.pop(0)


def start_value(known: object, arriving: object) -> Any:
    """What a carried result is before the loop that returns `arriving`: `known`, or values that are never read."""
    if isinstance(arriving, tuple):
        before = known if isinstance(known, tuple) and len(known) == len(arriving) else (known,) * len(arriving)
        return tuple(map(start_value, before, arriving))
    if known is not None:
        return typed_value(known, typed_value(arriving).type) if is_number(known) else known
    value = typed_value(arriving)
    unread = placeholder(value.type)
    if unread is None:
        raise KernelTypeError(f"a loop cannot return {type_name(value.type)}", help="return it after the loop")
    return unread

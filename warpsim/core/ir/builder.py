"""Appends nodes to regions. Op rows, expansions and adjoint rules are traced through it.

One builder is active per thread while something is traced; `Value` operators (`a * b`) and calls of
ops on Values append to it. That is how a rule such as `return dout * cos(x)` becomes IR.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import Location
from .nodes import Call, Constant, For, If, Region, Value, While

_active = threading.local()


class Builder:
    """Holds the innermost open region and the source location given to new nodes."""

    def __init__(self, region: Region | None = None, location: Location | None = None):
        self.region = region if region is not None else Region()
        self.location = location

    @contextmanager
    def active(self) -> Iterator[Builder]:
        """Make this the builder that operators on Values append to."""
        before = getattr(_active, "builder", None)
        _active.builder = self
        try:
            yield self
        finally:
            _active.builder = before

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Append to `region` for a while."""
        outer, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = outer

    @contextmanager
    def at(self, location: Location | None) -> Iterator[None]:
        """Give new nodes this source location for a while."""
        outer, self.location = self.location, location
        try:
            yield
        finally:
            self.location = outer

    def call(
        self, op: Any, args: tuple[Value, ...], result_types: tuple[Any, ...], attributes: dict[str, Any] | None = None
    ) -> Any:
        """Append a Call; returns its Value, a tuple of Values, or None, by the number of results."""
        results = tuple(Value(t) for t in result_types)
        self.region.nodes.append(Call(op, args, attributes or {}, results=results, location=self.location))
        return results if len(results) > 1 else (results[0] if results else None)

    def branch(self, condition: Value, then: Region, orelse: Region) -> tuple[Value, ...]:
        """Append an If whose regions are complete and yield the same types."""
        results = tuple(Value(v.type, v.hint) for v in then.yields)
        self.region.nodes.append(If(condition, then, orelse, results=results, location=self.location))
        return results

    def loop(
        self, start: Value, stop: Value, step: Value, init: tuple[Value, ...], body: Region, trips: float | None = None
    ) -> tuple[Value, ...]:
        """Append a For whose body is complete."""
        results = tuple(Value(v.type, v.hint) for v in body.params[1:])
        node = For(start, stop, step, init, body, results=results, location=self.location, trips=trips)
        self.region.nodes.append(node)
        return results

    def repeat(
        self, init: tuple[Value, ...], before: Region, body: Region, trips: float | None = None
    ) -> tuple[Value, ...]:
        """Append a While whose regions are complete."""
        results = tuple(Value(v.type, v.hint) for v in body.params)
        self.region.nodes.append(While(init, before, body, results=results, location=self.location, trips=trips))
        return results


def active_builder() -> Builder | None:
    """The builder that traces on this thread, or None outside tracing."""
    return getattr(_active, "builder", None)


def _operator(symbol: str, reflected: bool = False) -> Callable[[Value, Any], Any]:
    def apply(self: Value, other: Any) -> Any:
        op = OPERATORS[symbol]
        return op(other, self) if reflected else op(self, other)

    return apply


OPERATORS: dict[str, Callable[..., Any]] = {}
"""Filled by `ops`: what `a + b` on Values means. The IR itself knows no op."""

_BINARY = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
_BINARY |= {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@"}
for _name, _symbol in _BINARY.items():
    setattr(Value, f"__{_name}__", _operator(_symbol))
    setattr(Value, f"__r{_name}__", _operator(_symbol, reflected=True))
for _name, _symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Value, f"__{_name}__", _operator(_symbol))
Value.__neg__ = lambda self: OPERATORS["neg"](self)
Value.__getitem__ = lambda self, index: OPERATORS["[]"](self, index)


def constant(t: Any, value: Any) -> Constant:
    """A literal of type `t`; the value is converted to that type."""
    return Constant(t, value if isinstance(value, t) else t(value))

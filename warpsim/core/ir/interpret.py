"""Runs a function on host values: the living definition of the IR, and the device `interp`.

Every thread runs in Python, one after the other, so `breakpoint()` works. Checks: array bounds (by
the arrays themselves), NaN made of numbers, casts that do not fit. Calls are those of primitive rows, which compute by
their NumPy oracles, and of functions, whose bodies run in their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InvalidNumberError, WarpsimError
from ..types import structs
from ..types.arrays import ArrayType, type_name
from ..types.compounds import scalar_of
from ..types.scalar_classes import plain
from ..types.scalars import holds_floats, is_float, is_integer, numpy_class
from ..types.values import Compound
from .host_arrays import absent_array
from .nodes import Call, Constant, For, Function, If, Node, Region, Value, While


class Interpreter:
    """Evaluates regions; `thread` is the index of the running thread."""

    def __init__(self, check_numbers: bool = True, block_dim: int = 1):
        self.check_numbers, self.block_dim = check_numbers, block_dim
        self.thread: tuple[int, ...] = ()
        self.env: dict[Value, Any] = {}

    def run(self, body: Region, args: list[Any]) -> list[Any]:
        """Evaluate a function body on interpreter values; returns what it yields."""
        self.env = dict(zip(body.params, args, strict=True))
        return self.region(body)

    def get(self, value: Value) -> Any:
        return host_constant(value) if isinstance(value, Constant) else self.env[value]

    def region(self, region: Region) -> list[Any]:
        for node in region.nodes:
            self.node(node)
        return [self.get(v) for v in region.yields]

    def node(self, node: Node) -> None:
        if isinstance(node, Call):
            self.env.update(zip(node.results, self.call(node), strict=True))
        elif isinstance(node, If):
            taken = node.then if self.get(node.condition) else node.orelse
            self.env.update(zip(node.results, self.region(taken), strict=True))
        elif isinstance(node, For):
            self.count(node)
        else:
            assert isinstance(node, While)
            self.repeat(node)

    def count(self, node: For) -> None:
        values = [self.get(v) for v in node.init]
        step = int(self.get(node.step))
        bounds = (int(self.get(node.start)), int(self.get(node.stop)), step)
        for i in range(*bounds) if step else ():
            self.env[node.index] = numpy_class(node.index.type)(i)
            self.env.update(zip(node.carried, values, strict=True))
            values = self.region(node.body)
        self.env.update(zip(node.results, values, strict=True))

    def repeat(self, node: While) -> None:
        values = [self.get(v) for v in node.init]
        while True:
            self.env.update(zip(node.carried, values, strict=True))
            go_on, *passed = self.region(node.before)
            if not go_on:
                break
            self.env.update(zip(node.body.params, passed, strict=True))
            values = self.region(node.body)
        self.env.update(zip(node.results, passed, strict=True))

    def call(self, node: Call) -> tuple[Any, ...]:
        if isinstance(node.op, Function):
            self.env.update(zip(node.op.params, [self.get(a) for a in node.args], strict=True))
            return tuple(self.region(node.op.body))
        if node.op.name == "tid":
            return tuple(np.int32(i) for i in self.thread)
        if node.op.name == "block_dim":
            return (np.int32(self.block_dim),)
        args = [self.get(a) for a in node.args]
        types = tuple(r.type for r in node.results)
        try:
            results: tuple[Any, ...] = node.row.evaluate(args, types, node.attributes)
        except WarpsimError as error:
            raise type(error)(f"{error}\n{self.place(node)}") from None
        if self.check_numbers:
            self.check(node, args, results)
        return results

    def check(self, node: Call, args: list[Any], results: tuple[Any, ...]) -> None:
        """Refuse a NaN that was not in the operands, and a cast that changes the number."""
        for result, value in zip(node.results, results, strict=True):
            kind = scalar_of(result.type)
            computed = not node.op.effect  # what memory holds was made elsewhere
            if computed and is_float(kind) and np.any(np.isnan(value)) and not any(_has_nan(a) for a in args):
                raise InvalidNumberError(f"{node.op.name} makes NaN of {_show(args)}\n{self.place(node)}")
            source = scalar_of(node.args[0].type) if node.args else None
            if node.op.name == "cast" and is_integer(kind) and is_float(source):
                if np.any(np.trunc(np.asarray(args[0], np.float64)) != np.asarray(value, np.float64)):
                    raise InvalidNumberError(f"{_show(args)} does not fit {type_name(kind)}\n{self.place(node)}")

    def place(self, node: Node) -> str:
        where = f"  --> {node.location}\n{node.location.excerpt()}\n" if node.location else ""
        return f"{where}thread {self.thread if len(self.thread) != 1 else self.thread[0]}"


def host_constant(value: Constant) -> Any:
    """A constant as the interpreter holds it: arrays for compounds, dicts for structs."""
    return host_value(value.value, value.type)


def host_value(value: Any, t: Any) -> Any:
    if isinstance(value, Compound):
        return value.numpy()
    if isinstance(t, ArrayType):  # of constants all are None
        return absent_array(t)
    if structs.is_struct(t):
        return {name: host_value(getattr(value, name), field) for name, field in t.fields.items()}
    return plain(value)


def _has_nan(value: Any) -> bool:
    if isinstance(value, (np.generic, np.ndarray)):
        return holds_floats(value.dtype) and bool(np.any(np.isnan(value)))
    return isinstance(value, dict) and any(_has_nan(v) for v in value.values())


def _show(args: list[Any]) -> str:
    return ", ".join(str(a) for a in args)

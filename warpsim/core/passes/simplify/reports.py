"""Reports of numbers that are not finite, printed where they are written to arrays (`config.verify_fp`).

Guarantees: the program does what it did, and prints a line for every infinity and NaN that it stores or gives to an
atomic: the element, the number, the thread, the kernel and the place. Arrays on a thread's stack are locals, and not
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.builder import Builder, active_builder
from ...ir.nodes import Call, Function, If, Node, Region, Value, walk
from ...ir.rewrite import Rewriter
from ...ops import construct
from ...ops.debug import conversion, print_format, printf
from ...ops.finite import isfinite
from ...ops.logic import unot
from ...ops.registry import ATOMIC, WRITE
from ...ops.threads import tid
from ...types import scalars
from ...types.arrays import ArrayType
from ...types.compounds import scalar_of
from ...types.scalars import int32
from ...types.structs import is_struct


def reported(fn: Function, ndim: int) -> Function:
    """The kernel with its reports; ndim: how many indices its threads have."""
    return replace(fn, body=_Reports(fn, ndim).region(fn.body))


class _Reports(Rewriter):
    def __init__(self, fn: Function, ndim: int):
        super().__init__()
        self.kernel, self.ndim = fn.name, ndim
        self.makers = {v: node for node in walk(fn.body) if isinstance(node, Call) for v in node.results}

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if isinstance(node, Call) and node.op.effect in (WRITE, ATOMIC):
                rewritten.extend(self.report(node))
            rewritten.append(self.node(node))
        return rewritten

    def report(self, call: Call) -> list[Node]:
        """What stands before a write."""
        t = call.args[0].type if call.args else None
        if not isinstance(t, ArrayType) or t.local_shape is not None:
            return []
        region, array = Region(), call.args[0]
        indices, values = call.args[1 : 1 + t.ndim], call.args[1 + t.ndim :]
        with Builder(region, call.location).active() as builder:
            for value in values:
                for path, leaf in _floats(value):
                    wrong = unot(isfinite(leaf))
                    arm = Region()
                    with builder.inside(arm):
                        self.show(f"{self.name(array)}{_subscript(indices)}{path}", indices, leaf, call)
                    region.nodes.append(If(wrong, arm, Region(), location=call.location))
        return region.nodes

    def show(self, element: str, indices: tuple[Value, ...], number: Value, call: Call) -> None:
        thread = thread_index(self.ndim)
        by = f"thread {_tuple(thread)} of " if thread else ""
        at = call.location
        place = f"{at.file}:{at.line}:{at.column + 1}".replace("%", "%%") if at else "an unknown place"
        text = f"{element} = {print_format(number.type)}, written by {by}kernel {self.kernel} at {place}\n"
        printf(*indices, number, *thread, format=text)

    def name(self, array: Value) -> str:
        """What the user calls an array, or the one that it is a part of."""
        maker = self.makers.get(array)
        if array.hint or maker is None or not maker.args:
            return array.hint or "an array"
        whole = self.name(maker.args[0])
        if maker.op.name in ("field", "gradient"):
            return f"{whole}.{maker.attributes['name'] if maker.op.name == 'field' else 'grad'}"
        return f"a part of {whole}"


def _floats(value: Value, path: str = "") -> Iterator[tuple[str, Value]]:
    """The parts of a value that are floats or made of floats, and how they are reached in it."""
    if is_struct(value.type):
        for name, t in value.type.fields.items():
            if not isinstance(t, ArrayType):
                yield from _floats(construct.field(value, name=name), f"{path}.{name}")
    elif scalars.is_float(scalar_of(value.type)):
        yield path, value


def thread_index(ndim: int) -> tuple[Value, ...]:
    """The index of the thread, nothing where it never asks."""
    builder = active_builder()
    assert builder is not None
    index = builder.call(tid.rows[0], (), (int32,) * ndim, {"ndim": ndim}) if ndim else ()
    return index if isinstance(index, tuple) else (index,)


def _subscript(indices: tuple[Value, ...]) -> str:
    return f"[{', '.join(conversion(i.type) for i in indices)}]"


def _tuple(values: tuple[Value, ...]) -> str:
    text = ", ".join(conversion(int32) for _ in values)
    return text if len(values) == 1 else f"({text})"

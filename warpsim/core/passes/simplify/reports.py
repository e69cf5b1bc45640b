"""Reports of numbers that are not finite, printed where they are written to arrays (`config.verify_fp`).

Guarantees: the program does what it did, and prints a line for every infinity and NaN that it stores, gives to an
atomic, or makes of finite numbers by an atomic sum: the element, the number, the thread, the kernel and the place.
Arrays on a thread's stack are locals, and not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.builder import Builder, active_builder
from ...ir.nodes import Call, Constant, Function, If, Node, Region, Value, walk
from ...ir.rewrite import Rewriter
from ...ops import construct
from ...ops.debug import conversion, print_format, printf
from ...ops.finite import isfinite
from ...ops.logic import unot
from ...ops.registry import ATOMIC, TABLE, WRITE
from ...ops.threads import tid
from ...types import scalars
from ...types.arrays import ArrayType
from ...types.compounds import scalar_of
from ...types.scalars import int32
from ...types.structs import is_struct

_SUMS = {"atomic_add": "add", "atomic_sub": "sub"}


def add_reports(fn: Function, ndim: int) -> Function:
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
            if isinstance(node, Call) and node.op.effect in (WRITE, ATOMIC) and _in_memory(node):
                rewritten += [*self.reports_before(node), self.node(node), *self.overflow_reports(node)]
            else:
                rewritten.append(self.node(node))
        return rewritten

    def reports_before(self, call: Call) -> list[Node]:
        """What stands before a write: reports of the values that it takes."""
        region = Region()
        with Builder(region, call.location).active():
            for value in _values(call):
                for path, leaf in _floats(value):
                    self.report_if(unot(isfinite(leaf)), path, leaf, call)
        return region.nodes

    def overflow_reports(self, call: Call) -> list[Node]:
        """What stands behind an atomic sum: reports of what finite numbers became."""
        region = Region()
        if call.op.name not in _SUMS:
            return []
        with Builder(region, call.location).active():
            (value,), (before,) = _values(call), call.results
            for (path, old), (_, change) in zip(_floats(before), _floats(value), strict=True):
                total = TABLE[_SUMS[call.op.name]](old, change)
                finite = TABLE["bit_and"](isfinite(old), isfinite(change))
                self.report_if(TABLE["bit_and"](finite, unot(isfinite(total))), path, total, call)
        return region.nodes

    def report_if(self, wrong: Value, path: str, number: Value, call: Call) -> None:
        builder = active_builder()
        assert builder is not None
        arm, indices = Region(), call.args[1 : 1 + call.args[0].type.ndim]
        whole, part = self.name(call.args[0])
        with builder.inside(arm):
            self.show(f"{whole}{_subscript(indices)}{part}{path}", indices, number, call)
        builder.region.nodes.append(If(wrong, arm, Region(), location=call.location))

    def show(self, element: str, indices: tuple[Value, ...], number: Value, call: Call) -> None:
        thread = thread_index(self.ndim)
        by = f"thread {_tuple(thread)} of " if thread else ""
        at = call.location
        place = f"{at.file}:{at.line}:{at.column + 1}".replace("%", "%%") if at else "an unknown place"
        text = f"{element} = {print_format(number.type)}, written by {by}kernel {self.kernel} at {place}\n"
        printf(*indices, number, *thread, format=text)

    def name(self, array: Value) -> tuple[str, str]:
        """What the user calls an array, or the one that it is a part of, and which part of each element it has."""
        maker = self.makers.get(array)
        if array.hint or maker is None or not maker.args:
            return array.hint or "an array", ""
        whole, part = self.name(maker.args[0])
        match maker.op.name:
            case "field" | "gradient":
                return f"{whole}.{maker.attributes.get('name', 'grad')}", part
            case "field_view":
                return whole, f"{part}.{maker.attributes['name']}"
            case "component_view":
                places = [str(k.value) for k in maker.args[1:] if isinstance(k, Constant)]
                if len(places) == len(maker.args) - 1:
                    return whole, f"{part}[{', '.join(places)}]"
        return f"a part of {whole}", part


def _in_memory(call: Call) -> bool:
    """Whether a write goes to an array that other threads can see."""
    t = call.args[0].type if call.args else None
    return isinstance(t, ArrayType) and t.local_shape is None


def _values(call: Call) -> tuple[Value, ...]:
    """What a write takes besides the array and the indices."""
    return call.args[1 + call.args[0].type.ndim :]


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

"""Deciding floats: the values that fast mathematics must leave alone, as something is decided by them. An analysis.

A value decides where its bits reach a comparison, an integer, a function with jumps, native code, or an
atomic that picks one of several values. An adjoint computes such values again and must decide what the
kernel decided. So the calls listed here are compiled without licence to reorder, contract or approximate: they
then give the same bits in the kernel and wherever they are recomputed, whatever stands around them. Without fast
mathematics all calls but powers are compiled so.

Guarantees: the operands of a listed call that carry floats come from listed calls, from memory, or from
outside. What is read from memory that the kernel writes comes from listed calls, too: `promote_memory` may turn
the memory into variables.
"""

from __future__ import annotations

from typing import Any

from ...ir.def_use import defining_calls, flows_in, flows_out
from ...ir.nodes import Call, Function, Node, Value, walk
from ...ops.memory import PRIVATE_ATOMICS
from ...ops.registry import ATOMIC, PURE, WRITE
from ...types import compounds, scalars, structs
from ...types.answers import per_type
from ...types.arrays import ArrayType
from .alias import PointsTo, points_to
from .effects import array_effects, based_on, effects_of


def deciding(fn: Function) -> set[Call]:
    """The calls whose results decide; of a kernel whose calls are inlined."""
    return _Decisions(fn).calls


@per_type
def carries_floats(t: Any) -> bool:
    """Whether values of the type are, or contain, floating-point numbers."""
    if structs.is_struct(t):
        return any(carries_floats(f) for f in t.fields.values())
    return not isinstance(t, ArrayType) and scalars.is_float(compounds.scalar_of(t))


class _Decisions:
    def __init__(self, fn: Function):
        self.calls: set[Call] = set()
        self.points_to = points_to(fn)
        self.effects = array_effects(fn.body, self.points_to)
        self.flows: dict[Value, list[Value]] = {}
        """What a result or parameter of a branch or loop may stand for."""
        self.definitions = defining_calls(fn.body)
        self.seen: set[Value] = set()
        self.open: list[Value] = []
        for node in walk(fn.body):
            self.enter(node)
        while self.open:
            self.follow(self.open.pop())

    def enter(self, node: Node) -> None:
        if isinstance(node, Call):
            if decides(node):
                self.reach(node.args)
            if isinstance(node.op, Function):  # it may decide by all that it reads
                self.reach_stored(based_on(effects_of(node).reads, self.points_to) | {None})
        for sources, targets in (*flows_in(node), *flows_out(node)):
            for source, target in zip(sources, targets, strict=True):
                self.flows.setdefault(target, []).append(source)

    def reach(self, values: Any) -> None:
        for value in values:
            if value not in self.seen and carries_floats(value.type):
                self.seen.add(value)
                self.open.append(value)

    def follow(self, value: Value) -> None:
        """A deciding value: so are those that it is made of."""
        self.reach(self.flows.get(value, ()))
        call = self.definitions.get(value)
        if call is None:
            return
        self.calls.add(call)
        self.reach(call.args)
        if loads := effects_of(call).loads:
            self.reach_stored(based_on(loads, self.points_to))

    def reach_stored(self, read: PointsTo) -> None:
        """What is stored where something is read that decides."""
        for write, effects in self.effects.calls:
            written = based_on(effects.stores, self.points_to)
            if written and (None in read | written or read & written):
                self.reach(write.args)


def decides(call: Call) -> bool:
    """Whether what a call does jumps with the floats among its operands."""
    if isinstance(call.op, Function):
        return True
    op = call.row
    if op.effect == ATOMIC:
        return op.name not in PRIVATE_ATOMICS
    if op.opaque or op.jumps or (op.effect == PURE and op.nondiff):
        return True
    return op.effect != WRITE and any(not carries_floats(r.type) for r in call.results)

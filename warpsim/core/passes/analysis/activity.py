"""Activity analysis: which values carry a derivative.

Guarantees: a value is *active* when it has floating components, a differentiable path leads to it from
a differentiable source (it is *varied*), and a differentiable path leads from it to a differentiable
sink (it is *useful*). PointsTo are reads of arrays that have a gradient, and chosen parameters; sinks are
writes to arrays that have one, and results. Integers, booleans, indices and arrays are never active, and
neither is what a row computes that states a reason for having no derivative. Values carried round loops
are active when any of their sources and any of their uses makes them so.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.def_use import flows_in, flows_out
from ...ir.nodes import Call, Constant, Function, Region, Value, walk
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from .alias import BaseArray, PointsTo, points_to

YES, NO, MAYBE = "yes", "no", "maybe"


class Activity:
    """The analysis of one function; its calls are inlined but those with gradients of their own.

    with_gradient: the arrays that have one, or None for all. sources: parameters that do. sinks: values
    whose cotangents are given.
    """

    def __init__(
        self, fn: Function, with_gradient: frozenset[BaseArray] | None, sources: Iterable[Value], sinks: Iterable[Value]
    ):
        self.with_gradient, self.params = with_gradient, frozenset(fn.params)
        self.points_to: dict[Value, PointsTo] = points_to(fn)
        self.body = fn.body
        self.varied: set[Value] = {v for v in sources if has_cotangent(v.type)}
        self.useful: set[Value] = {v for v in sinks if has_cotangent(v.type)}
        self.repeat(fn.body, self.varied, self.spread)
        self.repeat(fn.body, self.useful, self.trace)

    def repeat(self, body: Region, active: set[Value], step: object) -> None:
        """To a fixed point, since loops carry activity round."""
        before = -1
        while len(active) > before:
            before = len(active)
            step(body)  # type: ignore[operator]

    def __contains__(self, value: Value) -> bool:
        return value in self.varied and value in self.useful

    def gradient_status(self, array: Value) -> str:
        """Whether an array has a gradient: of one that came out of memory only the run can tell."""
        if self.with_gradient is None or not has_cotangent(array.type.dtype):
            return YES if has_cotangent(array.type.dtype) else NO
        statuses = {self.has_gradient(base) for base in self.points_to.get(array, ()) if base is not None}
        if None in self.points_to.get(array, ()) or len(statuses) == 2:
            return MAYBE
        return YES if True in statuses else NO

    def reach(self, call: Call) -> str:
        """Whether native code, or a function with a gradient of its own, is given an array that may have one."""
        if is_nondiff_function(call):
            return NO
        for a in call.args:
            if isinstance(a.type, ArrayType):
                known = self.gradient_status(a) == NO
            else:
                bases = self.points_to.get(a, frozenset())
                known = None not in bases and not bases & (self.with_gradient or frozenset())
            if not known:
                return YES
        return NO

    def has_gradient(self, base: BaseArray) -> bool:
        """Local arrays pass derivatives on, too."""
        return base in self.with_gradient or base.holder not in self.params  # type: ignore[operator]

    def is_local(self, array: Value) -> bool:
        return any(base is not None and base.holder not in self.params for base in self.points_to.get(array, ()))

    def is_checkpoint(self, array: Value) -> bool:
        """Whether an array holds checkpoints of a loop: those are never cleared."""
        holders = {base.holder for base in self.points_to.get(array, ()) if base is not None}
        return any(
            isinstance(n, Call) and n.attributes.get("cleared") is False and n.results[0] in holders
            for n in walk(self.body)
        )

    def about(self, call: Call) -> str:
        """Whether the array that a call reads or writes has a gradient; NO for calls about no array."""
        if call.row.opaque:
            return self.reach(call)
        on_array = bool(call.args) and isinstance(call.args[0].type, ArrayType)
        return self.gradient_status(call.args[0]) if on_array else NO

    # ----- forwards: what varies -------------------------------------------------------------

    def spread(self, region: Region) -> None:
        for node in region.nodes:
            if isinstance(node, Call):
                self.spread_call(node)
                continue
            for sources, targets in flows_in(node):
                self.join(self.varied, sources, targets)
            for inner in node.regions():
                self.spread(inner)
            for sources, targets in flows_out(node):
                self.join(self.varied, sources, targets)

    def spread_call(self, call: Call) -> None:
        if inner := replayed_body(call):
            self.join(self.varied, call.args, inner.params)
            self.spread(inner)
            self.join(self.varied, inner.yields, call.results)
        elif self.is_source(call) or (passes_on(call) and any(a in self.varied for a in call.args)):
            self.varied.update(r for r in call.results if has_cotangent(r.type))

    def is_source(self, call: Call) -> bool:
        if isinstance(call.op, Function) or call.op.opaque:
            return self.reach(call) != NO
        return call.op.effect in (READ, ATOMIC) and self.about(call) != NO

    # ----- backwards: what is useful ----------------------------------------------------------

    def trace(self, region: Region) -> None:
        for node in reversed(region.nodes):
            if isinstance(node, Call):
                self.trace_call(node)
                continue
            for sources, targets in flows_out(node):
                self.join(self.useful, targets, sources)
            for inner in reversed(node.regions()):
                self.trace(inner)
            for sources, targets in flows_in(node):
                self.join(self.useful, targets, sources)

    def trace_call(self, call: Call) -> None:
        if inner := replayed_body(call):
            self.join(self.useful, call.results, inner.yields)
            self.trace(inner)
            self.join(self.useful, inner.params, call.args)
        elif self.is_sink(call) or (passes_on(call) and any(r in self.useful for r in call.results)):
            self.useful.update(a for a in call.args if has_cotangent(a.type) and not isinstance(a, Constant))

    def is_sink(self, call: Call) -> bool:
        if isinstance(call.op, Function) or call.op.opaque:
            return self.reach(call) != NO
        return call.op.effect in (WRITE, ATOMIC) and self.about(call) != NO

    def join(self, active: set[Value], sources: tuple[Value, ...], targets: tuple[Value, ...]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if source in active and has_cotangent(target.type) and not isinstance(target, Constant):
                active.add(target)


def passes_on(call: Call) -> bool:
    """Whether derivatives pass from the operands of a call to its results; those of accesses go through memory."""
    access = not isinstance(call.op, Function) and not call.op.opaque and call.op.effect in (READ, WRITE, ATOMIC)
    return not access and not is_blind(call)


def is_blind(call: Call) -> bool:
    """Whether no derivative passes through a call, for a stated reason."""
    return bool(call.op.nondiff) and (isinstance(call.op, Function) or call.op.effect not in (READ, ATOMIC))


def is_nondiff_function(call: Call) -> bool:
    """Whether a function is called whose results were declared to have no derivative."""
    return isinstance(call.op, Function) and bool(call.op.nondiff)


def replayed_body(call: Call) -> Region | None:
    """The body of a function that has a replay of its own but no gradient: it is reversed in place."""
    own = isinstance(call.op, Function) and not call.op.nondiff and call.op.grad is None
    return call.callee.body if own else None

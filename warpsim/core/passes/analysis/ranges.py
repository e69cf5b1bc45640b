"""Value-range analysis: between which limits each index of an access lies.

Guarantees, for a kernel whose calls are inlined: `index(call, k)` are limits of operand `k` of an access whenever
the access runs. They follow from constants, thread indices, extents and loop bounds, through arithmetic, choices,
loops and the conditions around the access: in the body of `if i > 0`, `i - 1` is not negative. Numbers out of
memory and from arguments may be anything. Sizes are taken not to overflow (see `intervals`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.def_use import definitions
from ...ir.nodes import Call, Constant, For, Function, If, Node, Region, Value, While
from ...types import scalars
from ...types.arrays import ArrayType
from .intervals import OPPOSITE, TRANSFER, Interval, exact, full, limits_after, size_of_type

_DEEPEST = 6  # calls between a condition and an index that it bounds
_DEEPEST_LOOP = 3  # nests inside which carried numbers are followed: each level triples the work
_PARTS = ("extract", "insert", "component_view")
_FIRST_FLOAT = ("floor", "ceil", "trunc", "rint", "round", "cast", "stop_gradient")
Facts = dict[Value, Interval]
"""What conditions say of values; of a float, whether it is below zero: NaN is not."""

_NOT_BELOW_ZERO = Interval(0, 1 << 62)


class Ranges:
    """The limits of the indices of a kernel."""

    def __init__(self, fn: Function):
        self.indices: dict[tuple[Call, int], Interval] = {}
        """Limits of the operands of accesses."""
        self.known: dict[Value, Interval] = {}
        """Limits of values where they are made."""
        self.definitions = definitions(fn.body)
        self.homes: dict[Value, Node | None] = {}
        """The innermost loop that a value is made in."""
        self.steady: set[tuple[Call, int]] = set()
        self.facts: Facts = {}
        self.loops: list[For | While] = []
        self.region(fn.body)

    def index(self, call: Call, k: int) -> Interval:
        """Limits of operand `k` of an access."""
        limits = self.indices.get((call, k))
        return _of_type(call.args[k]) if limits is None else limits

    def may_count_back(self, call: Call, k: int) -> bool:
        """Whether operand `k` of an access may be negative, and count from the end."""
        return self.index(call, k).lo < 0

    def is_steady(self, call: Call, k: int) -> bool:
        """Whether operand `k` of an access is made outside the loop around the access."""
        return (call, k) in self.steady

    # ----- walking --------------------------------------------------------------------------

    def region(self, region: Region) -> None:
        home = self.loops[-1] if self.loops else None
        self.homes.update(dict.fromkeys(region.params, home))
        for node in region.nodes:
            self.homes.update(dict.fromkeys(node.results, home))
            if isinstance(node, Call):
                self.call(node)
            elif isinstance(node, If):
                self.branch(node)
            elif isinstance(node, For):
                self.count(node)
            elif isinstance(node, While):
                self.repeat(node)

    def call(self, call: Call) -> None:
        if isinstance(call.op, Function):
            return
        if call.op.name == "assert":
            self.assume(call.args[0], True)
        for result in call.results:
            if scalars.is_integer(result.type):
                self.known[result] = self.limits(call, result)
        if call.args and (isinstance(call.args[0].type, ArrayType) or call.op.name in _PARTS):
            for k, value in enumerate(call.args[1:], 1):
                if scalars.is_integer(value.type):
                    self.indices[call, k] = self.at(value)
                    if isinstance(value, Constant) or self.homes.get(value) is not (self.loops or (None,))[-1]:
                        self.steady.add((call, k))

    def branch(self, node: If) -> None:
        yields = []
        for truth, arm in ((True, node.then), (False, node.orelse)):
            outside = self.facts
            self.facts = dict(outside)
            self.assume(node.condition, truth)
            self.region(arm)
            yields.append([self.at(v) for v in arm.yields])
            self.facts = outside
        for result, *arms in zip(node.results, *yields, strict=True):
            if scalars.is_integer(result.type):
                self.known[result] = arms[0].join(arms[1])

    def count(self, node: For) -> None:
        start, stop, step = (self.at(v) for v in (node.start, node.stop, node.step))
        lo = start.lo if step.lo > 0 else stop.lo + 1 if step.hi < 0 else min(start.lo, stop.lo + 1)
        hi = stop.hi - 1 if step.lo > 0 else start.hi if step.hi < 0 else max(start.hi, stop.hi - 1)
        self.known[node.index] = Interval(lo, hi, 0) if lo >= 0 else Interval(lo, hi).meet(full(node.index.type))

        def go_round() -> tuple[Value, ...]:
            self.region(node.body)
            return node.body.yields

        self.loop(node, go_round)
        self.pass_on(node.results, tuple(self.at(p) for p in node.carried))

    def repeat(self, node: While) -> None:

        def go_round() -> tuple[Value, ...]:
            self.region(node.before)
            outside = self.facts
            self.facts = dict(outside)
            self.assume(node.test, True)
            self.pass_on(node.body.params, tuple(self.at(v) for v in node.passed))
            self.region(node.body)
            self.facts = outside
            return node.body.yields

        self.loop(node, go_round)
        outside = self.facts
        self.facts = dict(outside)
        self.assume(node.test, False)
        self.pass_on(node.results, tuple(self.at(v) for v in node.passed))
        self.facts = outside

    def pass_on(self, targets: tuple[Value, ...], limits: tuple[Interval, ...]) -> None:
        self.known.update((t, x) for t, x in zip(targets, limits, strict=True) if scalars.is_integer(t.type))

    def loop(self, node: For | While, go_round: Any) -> None:
        """Limits of what a loop carries: those it starts with, widened until an iteration keeps them."""
        carried = node.carried
        numbers = [k for k, p in enumerate(carried) if scalars.is_integer(p.type)]
        self.pass_on(carried, tuple(self.at(v) for v in node.init))
        self.loops.append(node)
        for attempt in range(3 if numbers else 1):
            if len(self.loops) > _DEEPEST_LOOP or attempt == 2:
                self.pass_on(carried, tuple(_of_type(p) for p in carried))
            outside = self.facts
            self.facts = dict(outside)
            yields = go_round()
            after = [self.at(v) for v in yields]
            self.facts = outside
            wider = {carried[k]: _widen(self.known[carried[k]], after[k], carried[k].type) for k in numbers}
            if all(self.known[p] == x for p, x in wider.items()):
                break
            self.known.update(wider)
        self.loops.pop()

    # ----- numbers --------------------------------------------------------------------------

    def at(self, value: Value, depth: int = _DEEPEST) -> Interval:
        """Limits of a value here: those of its making, and what the conditions around say of it or its operands."""
        if not scalars.is_integer(value.type):
            return _of_type(value)
        if isinstance(value, Constant):
            return exact(int(value.value))
        limits = self.known.get(value) or _of_type(value)
        if value in self.facts:
            limits = limits.meet(self.facts[value])
        maker = self.definitions.get(value)
        if self.facts and depth and isinstance(maker, Call) and _is_arithmetic(maker):
            limits = limits.meet(self.compute(maker, value, depth - 1))
        return limits

    def limits(self, call: Call, result: Value) -> Interval:
        """Limits of a result of a call."""
        name, t = call.op.name, result.type
        if name in ("tid", "shape", "block_dim"):
            return size_of_type(t)
        if name == "where":
            return self.select(call)
        if _is_arithmetic(call):
            return self.compute(call, result, _DEEPEST)
        return full(t)

    def compute(self, call: Call, result: Value, depth: int) -> Interval:
        t = result.type
        if not all(scalars.is_integer(a.type) for a in call.args):
            floats = call.op.name == "cast" and self.is_not_below_zero(call.args[0], _DEEPEST)
            return Interval(0, full(t).hi) if floats else full(t)
        interval: Interval = TRANSFER[call.op.name](t, *(self.at(a, depth) for a in call.args))
        return interval

    def select(self, call: Call) -> Interval:
        first, second = self.each_choice(call, self.at)
        joined: Interval = first.join(second)
        return joined

    def each_choice(self, call: Call, ask: Callable[[Value], Any]) -> list[Any]:
        """What is true of either value of a `where` where it is the one chosen."""
        condition, *values = call.args
        answers = []
        for truth, value in zip((True, False), values, strict=True):
            outside = self.facts
            self.facts = dict(outside)
            self.assume(condition, truth)
            answers.append(ask(value))
            self.facts = outside
        return answers

    def is_not_below_zero(self, x: Value, depth: int) -> bool:
        """Of a float: whether it becomes a whole number that is not negative."""
        if isinstance(x, Constant):
            return not x.value < 0
        if scalars.is_integer(x.type):
            return self.at(x).lo >= 0
        maker = self.definitions.get(x)
        if x in self.facts:
            return True
        if not depth or not isinstance(maker, Call):
            return False
        if maker.op.name == "where":
            return all(self.each_choice(maker, lambda v: self.is_not_below_zero(v, depth - 1)))
        each = (self.is_not_below_zero(a, depth - 1) for a in maker.args if scalars.is_scalar(a.type))
        name = maker.op.name
        if name in ("max", "greater"):
            return any(each)
        if name in (*_FIRST_FLOAT, "add", "mul", "min", "lesser"):
            return all(each)
        return name in ("abs", "sqrt", "length", "length_sq")

    # ----- conditions -----------------------------------------------------------------------

    def assume(self, condition: Value, truth: bool) -> None:
        """Take note of what holds where a condition does, or does not."""
        maker = self.definitions.get(condition)
        if isinstance(maker, If):
            self.assume_choice(maker, maker.results.index(condition), truth)
        elif isinstance(maker, Call) and maker.op.name == "unot":
            self.assume(maker.args[0], not truth)
        elif isinstance(maker, Call) and maker.op.name == ("bit_and" if truth else "bit_or"):
            for part in maker.args:
                self.assume(part, truth)
        elif isinstance(maker, Call) and maker.op.name in OPPOSITE:
            self.compare(maker.op.name, maker.args, truth)

    def assume_choice(self, node: If, k: int, truth: bool) -> None:
        """`and`, `or` and flags are choices of which one arm is a constant: the other one was taken."""
        arms = ((True, node.then.yields[k]), (False, node.orelse.yields[k]))
        for (_, ruled_out), (side, taken) in (arms, arms[::-1]):
            if isinstance(ruled_out, Constant) and bool(ruled_out.value) != truth:
                self.assume(node.condition, side)
                self.assume(taken, truth)

    def compare(self, name: str, pair: tuple[Value, ...], truth: bool) -> None:
        if all(scalars.is_float(v.type) for v in pair):
            self.compare_floats(name, pair, truth)
        elif all(scalars.is_integer(v.type) for v in pair):
            limits = limits_after(name if truth else OPPOSITE[name], *(self.at(v) for v in pair))
            for value, known in zip(pair, limits, strict=True):
                self.narrow(value, known, _DEEPEST)

    def compare_floats(self, name: str, pair: tuple[Value, ...], truth: bool) -> None:
        """Note floats that are not below zero; where a comparison fails, one may be NaN, which becomes 0."""
        name = name if truth else OPPOSITE[name]
        larger = {"gt": pair[0], "ge": pair[0], "lt": pair[1], "le": pair[1]}.get(name)
        if larger is not None:
            smaller = pair[1] if larger is pair[0] else pair[0]
            if isinstance(smaller, Constant) and smaller.value >= 0:
                self.facts[larger] = _NOT_BELOW_ZERO

    def narrow(self, value: Value, limits: Interval, depth: int) -> None:
        """Note limits of a value, and what they say of the values that it is a constant away from."""
        if isinstance(value, Constant):
            return
        self.facts[value] = limits.meet(self.facts[value]) if value in self.facts else limits
        maker = self.definitions.get(value)
        if not depth or not isinstance(maker, Call) or maker.op.name not in ("add", "sub", "cast"):
            return
        if maker.op.name == "cast":
            source = maker.args[0]
            if scalars.is_integer(source.type) and _holds(value.type, source.type):
                self.narrow(source, limits.meet(self.at(source)), depth - 1)
            return
        a, b = maker.args
        if isinstance(a, Constant) and maker.op.name == "add":
            a, b = b, a
        if isinstance(b, Constant):
            shift = int(b.value) if maker.op.name == "sub" else -int(b.value)
            moved = limits._replace(lo=limits.lo + shift, hi=limits.hi + shift)
            self.narrow(a, moved.meet(self.at(a)), depth - 1)


def _is_arithmetic(call: Call) -> bool:
    return call.op.name in TRANSFER and not isinstance(call.op, Function)


def _of_type(value: Value) -> Interval:
    return full(value.type) if scalars.is_integer(value.type) else Interval(-(1 << 64), 1 << 64)


def _holds(wide: type, narrow: type) -> bool:
    """Whether an integer type has all numbers of another."""
    return full(wide).lo <= full(narrow).lo and full(narrow).hi <= full(wide).hi


def _widen(before: Interval, after: Interval, t: type) -> Interval:
    """What covers both and does not creep: an end that moved goes as far as it can."""
    limits = full(t)
    lo = before.lo if after.lo >= before.lo else 0 if after.lo >= 0 else limits.lo
    hi = before.hi if after.hi <= before.hi else limits.hi
    bits = before.bits if after.bits <= before.bits else max(after.bits, before.bits) + 1
    return Interval(lo, hi, bits)

"""Loop versioning: a counted loop whose index may start below zero, once for that case and once for all others.

Guarantees: the program means the same. An innermost loop that counts upwards from a start out of memory or an
argument, and that uses its index to reach into arrays, becomes a choice of two copies: where the start is not
negative, no index made of the loop's counts from the end, so the usual case runs without asking in every round.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import constant
from ...ir.nodes import Call, Constant, For, Function, If, Node, Region, Value, While, count, walk
from ...ir.rewrite import Cloner, Rewriter
from ...ops.registry import TABLE
from ...types import scalars
from ..analysis.effects import is_access
from ..analysis.ranges import Ranges

_LARGEST = 64  # nodes of a body that is repeated


def add_versions(fn: Function) -> Function:
    """`fn` with two versions of the loops that gain from it."""
    if not any(isinstance(node, For) for node in walk(fn.body)):
        return fn
    return replace(fn, body=_Versions(Ranges(fn)).region(fn.body))


class _Versions(Rewriter):
    def __init__(self, ranges: Ranges):
        super().__init__()
        self.ranges = ranges

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if isinstance(node, For) and self.gains(node):
                rewritten.extend(self.versions(node))
            else:
                rewritten.append(self.node(node))
        return rewritten

    def gains(self, loop: For) -> bool:
        index, inner = loop.index, list(walk(loop.body))
        upwards = isinstance(loop.step, Constant) and loop.step.value > 0
        if not upwards or not scalars.is_signed(index.type) or isinstance(loop.start, Constant):
            return False
        if count(loop.body) > _LARGEST or any(isinstance(n, For | While) for n in inner):
            return False
        accesses = [n for n in inner if is_access(n)]
        return any(
            self.ranges.may_count_back(call, k) and self.follows(value, index)
            for call in accesses
            for k, value in enumerate(call.args[1:], 1)
            if scalars.is_integer(value.type)
        )

    def follows(self, value: Value, index: Value) -> bool:
        """Whether a value is not negative once the index is not."""
        maker = self.ranges.definitions.get(value)
        if value is index or not isinstance(maker, Call) or maker.op.name not in ("add", "mul", "cast"):
            return value is index
        parts = [a for a in maker.args if self.ranges.at(a).lo < 0]
        return bool(parts) and all(self.follows(a, index) for a in parts)

    def versions(self, loop: For) -> list[Node]:
        start = self.use(loop.start)
        forwards, test = Value(scalars.bool_), TABLE["ge"].rows[0]
        zero = constant(start.type, 0)
        asked = Call(test, (start, zero), {}, results=(forwards,), location=loop.location)
        arms = []
        for _ in range(2):
            copy = Cloner(self.mapping).node(loop)
            arms.append(Region((), [copy], copy.results))
        return [asked, If(forwards, *arms, results=loop.results, location=loop.location)]

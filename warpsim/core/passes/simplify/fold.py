"""Computes at compile time what depends on constants alone.

Guarantees: the program means the same, bit for bit: only rows whose oracle equals every target
exactly (`ulps` 0) are computed here. An `If` on a constant becomes the branch taken. It does not
reorder floating-point arithmetic and knows no algebra: LLVM does that better.
"""

from __future__ import annotations

from dataclasses import replace

from ....errors import OutOfBoundsError
from ...ir.nodes import Call, Constant, Function, If, Node, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import PURE, to_host
from ...types.compounds import kind_of
from ...types.values import Compound

_NEVER = ("tid", "block_dim")


def fold(fn: Function) -> Function:
    """`fn` with constant expressions computed and constant branches taken."""
    return replace(fn, body=_Folder().region(fn.body))


class _Folder(Rewriter):
    def nodes(self, nodes: list[Node]) -> list[Node]:
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Call):
                value = evaluated(node, self.uses(node.args))
                if value is None:
                    made.append(self.node(node))
                else:
                    self.mapping[node.results[0]] = value
            elif isinstance(node, If):
                made.extend(self.branch(node))
            else:
                made.append(self.node(node))
        return made

    def branch(self, node: If) -> list[Node]:
        condition = self.use(node.condition)
        if not isinstance(condition, Constant):
            return [self.node(node)]
        taken = node.then if condition.value else node.orelse
        nodes = self.nodes(taken.nodes)
        self.rename(node.results, self.uses(taken.yields))
        return nodes


def evaluated(call: Call, args: tuple[Value, ...]) -> Constant | None:
    """The value of a pure and exact call on constants, else None."""
    plain = []
    for a in args:
        if not isinstance(a, Constant) or not kind_of(a.type):
            return None
        plain.append(a.value.numpy() if isinstance(a.value, Compound) else a.value)
    row = call.op
    exact = row.effect == PURE and row.numpy is not None and row.ulps == 0 and row.name not in _NEVER
    if not exact or len(call.results) != 1 or not kind_of(call.results[0].type):
        return None
    t = call.results[0].type
    try:
        [value] = row.evaluate(plain, (t,), call.attributes)
    except OutOfBoundsError:
        return None  # it may be in code that is never reached
    return Constant(t, to_host(value, t))

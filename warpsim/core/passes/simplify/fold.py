"""Constant folding: computes at compile time what depends on constants alone.

Guarantees: the program means the same, bit for bit: only rows whose oracle equals every target
exactly (`ulps` 0) are computed here. An `If` or `where` on a constant becomes what it chooses, and integers
that are added to zero or multiplied by one stay themselves, so that analyses see them; floats do not, since
-0.0 + 0.0 is 0.0. Other algebra is left to LLVM.
"""

from __future__ import annotations

from dataclasses import replace

from ....errors import OutOfBoundsError
from ...ir.nodes import Call, Constant, Function, If, Node, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import PURE, to_host
from ...types import scalars
from ...types.compounds import kind_of
from ...types.values import Compound

_NEVER = ("tid", "block_dim")
_NEUTRAL = {"add": (0, True), "sub": (0, False), "mul": (1, True), "div": (1, False)}
"""By op the constant that leaves an integer what it is, and whether it may be the first operand as well."""


def fold(fn: Function) -> Function:
    """`fn` with constant expressions computed and constant branches taken."""
    return replace(fn, body=_Folder().region(fn.body))


class _Folder(Rewriter):
    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if isinstance(node, Call):
                args = self.uses(node.args)
                value = evaluate(node, args) or identity_operand(node, args)
                if value is None:
                    rewritten.append(self.node(node))
                else:
                    self.mapping[node.results[0]] = value
            elif isinstance(node, If):
                rewritten.extend(self.branch(node))
            else:
                rewritten.append(self.node(node))
        return rewritten

    def branch(self, node: If) -> list[Node]:
        condition = self.use(node.condition)
        if not isinstance(condition, Constant):
            return [self.node(node)]
        taken = node.then if condition.value else node.orelse
        nodes = self.nodes(taken.nodes)
        self.rename(node.results, self.uses(taken.yields))
        return nodes


def identity_operand(call: Call, args: tuple[Value, ...]) -> Value | None:
    """The operand that a call returns as it is for constants in the others, else None."""
    if isinstance(call.op, Function) or len(call.results) != 1:
        return None
    t = call.results[0].type
    if call.op.name == "where" and isinstance(args[0], Constant):
        chosen = args[1] if args[0].value else args[2]
        return chosen if chosen.type is t else None
    if call.op.name in _NEUTRAL and scalars.is_integer(t):
        neutral, either_side = _NEUTRAL[call.op.name]
        for a, b in (args, args[::-1]) if either_side else (args,):
            if isinstance(b, Constant) and b.value == neutral and a.type is t:
                return a
    return None


def evaluate(call: Call, args: tuple[Value, ...]) -> Constant | None:
    """The value of a pure and exact call on constants, else None."""
    plain = []
    for a in args:
        if not isinstance(a, Constant) or not kind_of(a.type):
            return None
        plain.append(a.value.numpy() if isinstance(a.value, Compound) else a.value)
    if isinstance(call.op, Function):
        return None
    row = call.row
    exact = row.effect == PURE and row.numpy is not None and row.ulps == 0 and row.name not in _NEVER
    if not exact or len(call.results) != 1 or not kind_of(call.results[0].type):
        return None
    t = call.results[0].type
    try:
        [value] = row.evaluate(plain, (t,), call.attributes)
    except OutOfBoundsError:
        return None  # it may be in code that is never reached
    return Constant(t, to_host(value, t))

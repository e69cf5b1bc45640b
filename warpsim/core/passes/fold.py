"""Computes at compile time what depends on constants alone.

Guarantees: the program means the same, bit for bit: only rows whose oracle equals every target
exactly (`ulps` 0) are computed here. An `If` on a constant becomes the branch taken. It does not
reorder floating-point arithmetic and knows no algebra: LLVM does that better.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Call, Constant, Function, If, Node, Region, Value
from ..ir.rewrite import Cloner
from ..ops.registry import PURE, to_host
from ..types.compounds import kind_of
from ..types.values import Compound

_NEVER = ("tid", "block_dim")


def fold(fn: Function) -> Function:
    """`fn` with constant expressions computed and constant branches taken."""
    return replace(fn, body=_Folder().region(fn.body))


class _Folder(Cloner):
    def region(self, region: Region) -> Region:
        params = self.define(region.params)
        return Region(params, self.nodes(region), self.uses(region.yields))

    def nodes(self, region: Region) -> list[Node]:
        made: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Call) and self.folds(node):
                self.mapping[node.results[0]] = evaluate(node, self.uses(node.args))
            elif isinstance(node, If) and isinstance(self.use(node.condition), Constant):
                taken = node.then if self.use(node.condition).value else node.orelse  # type: ignore[attr-defined]
                made.extend(self.nodes(taken))
                self.mapping.update(zip(node.results, self.uses(taken.yields), strict=True))
            else:
                made.append(self.node(node))
        return made

    def folds(self, call: Call) -> bool:
        row = call.op
        return (
            len(call.results) == 1
            and row.effect == PURE
            and row.numpy is not None
            and row.ulps == 0
            and row.name not in _NEVER
            and kind_of(call.results[0].type) != ""
            and all(isinstance(a, Constant) and kind_of(a.type) for a in self.uses(call.args))
        )


def evaluate(call: Call, args: tuple[Value, ...]) -> Constant:
    """The value of a pure call on constants."""
    plain = [a.value for a in args if isinstance(a, Constant)]
    plain = [v.numpy() if isinstance(v, Compound) else v for v in plain]
    t = call.results[0].type
    [value] = call.op.evaluate(plain, (t,), call.attributes)
    return Constant(t, to_host(value, t))

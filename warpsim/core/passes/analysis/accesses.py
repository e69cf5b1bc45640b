"""The accesses of a program with those of its shared functions (see `simplify/shared`), for analyses of memory."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Call, Function, Node, Region, callees
from ...ir.rewrite import Cloner, Rewriter
from ...ops.registry import READ
from ...types.structs import holds_arrays
from .effects import effects_of


def with_accesses(fn: Function) -> Function:
    """`fn` with what its shared functions do to memory in the place of each call, so that every access has the arrays
    of that call. What they compute is left out: results of their calls have no definition."""
    bodies = {f: _Accesses().region(f.body) for f in callees(fn.body) if f.effect == READ}
    return replace(fn, body=_Expanding(bodies).region(fn.body)) if bodies else fn


class _Expanding(Rewriter):
    def __init__(self, bodies: dict[Function, Region]) -> None:
        super().__init__()
        self.bodies = bodies

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if isinstance(node, Call) and node.op in self.bodies:
                rewritten.extend(self.accesses(node))
            else:
                rewritten.append(self.node(node))
        return rewritten

    def accesses(self, call: Call) -> list[Node]:
        body = self.bodies[call.callee]
        return Cloner(dict(zip(body.params, self.uses(call.args), strict=True))).nodes(body.nodes)


class _Accesses(Rewriter):
    """Keeps the accesses, what makes the arrays that they go to, and the branches and loops around them."""

    def nodes(self, nodes: list[Node]) -> list[Node]:
        return [node for node in super().nodes(nodes) if _concerns_memory(node)]


def _concerns_memory(node: Node) -> bool:
    if any(holds_arrays(result.type) for result in node.results):
        return True
    return any(effects_of(node)) if isinstance(node, Call) else any(part.nodes for part in node.regions())

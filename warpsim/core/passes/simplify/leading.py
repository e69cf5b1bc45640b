"""`tid()` of fewer indices than its launch has dimensions: it is given them all, and takes the leading ones.

So analyses that ask which threads share an index see that those along the other dimensions do.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Call, Function, Node, Value
from ...ir.rewrite import Rewriter


def with_leading_indices(fn: Function, rank: int) -> Function:
    """The kernel for launches of `rank` dimensions; as it is where `tid()` has that many indices already."""
    return replace(fn, body=_Leading(rank).region(fn.body)) if rank else fn


class _Leading(Rewriter):
    def __init__(self, rank: int):
        super().__init__()
        self.rank = rank

    def node(self, node: Node) -> Node:
        if not isinstance(node, Call) or node.op.name != "tid" or len(node.results) >= self.rank:
            return super().node(node)
        more = tuple(Value(node.results[0].type) for _ in range(self.rank - len(node.results)))
        return replace(node, results=(*node.results, *more), attributes={"ndim": self.rank})

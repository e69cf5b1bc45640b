"""Unrolls loops whose trip count is a constant and small.

Guarantees: the program means the same; no loop is left whose bounds are constants, whose trip count
is at most `limit` and whose copies stay below `MAX_NODES` nodes. Inner loops go first, so nests of
small loops disappear entirely. The index becomes a constant in each copy.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.builder import constant
from ..ir.nodes import Constant, For, Function, Node, Region, count
from ..ir.rewrite import Cloner

MAX_NODES = 4096


def unroll(fn: Function, limit: int) -> Function:
    """`fn` with its small constant loops unrolled."""
    return replace(fn, body=_Unroller(limit).region(fn.body))


class _Unroller(Cloner):
    def __init__(self, limit: int):
        super().__init__()
        self.limit = limit

    def region(self, region: Region) -> Region:
        params = self.define(region.params)
        nodes: list[Node] = []
        for node in region.nodes:
            clone = self.node(node)
            trips = constant_range(clone) if isinstance(clone, For) else None
            if isinstance(clone, For) and trips is not None and self.worth(clone, len(trips)):
                nodes.extend(self.copies(node, clone, trips))
            else:
                nodes.append(clone)
        return Region(params, nodes, self.uses(region.yields))

    def worth(self, loop: For, trips: int) -> bool:
        return trips <= self.limit and trips * count(loop.body) <= MAX_NODES

    def copies(self, original: Node, loop: For, trips: range) -> list[Node]:
        index, *params = loop.body.params
        carried = loop.init
        nodes: list[Node] = []
        for i in trips:
            copy = Cloner({index: constant(index.type, i), **dict(zip(params, carried, strict=True))})
            nodes.extend(copy.node(n) for n in loop.body.nodes)
            carried = copy.uses(loop.body.yields)
        self.mapping.update(zip(original.results, carried, strict=True))
        return nodes


def constant_range(loop: For) -> range | None:
    """The indices of a loop with constant bounds, or None."""
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(b, Constant) for b in bounds):
        return None
    start, stop, step = (int(b.value) for b in bounds if isinstance(b, Constant))
    return range(start, stop, step)

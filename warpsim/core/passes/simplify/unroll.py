"""Loop unrolling: loops whose trip count is a constant and small become copies of their bodies.

Guarantees: the program means the same. No loop is left whose trip count follows from constants, is at
most `limit`, and whose copies, with those of the loops around it, stay below `MAX_NODES` nodes. That
holds for bounds made of the index of a loop that is unrolled itself: nests of small loops disappear
entirely. The index becomes a constant in each copy.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import constant
from ...ir.nodes import Call, Constant, For, Function, Node, Value, count
from ...ir.rewrite import Cloner, Rewriter
from .fold import evaluate

MAX_NODES = 4096


def unroll(fn: Function, limit: int) -> Function:
    """`fn` with its small constant loops unrolled."""
    return replace(fn, body=_Unroller(limit).region(fn.body))


class _Constants:
    """The constants that calls on constants make; the calls stay, for folding is another pass."""

    def __init__(self) -> None:
        self.known: dict[Value, Value] = {}

    def note(self, node: Node) -> None:
        if not isinstance(node, Call) or not node.args:
            return
        for a in node.args:
            if not isinstance(a, Constant) and a not in self.known:
                return
        value = evaluate(node, tuple([self.known.get(a, a) for a in node.args]))
        if value is not None:
            self.known[node.results[0]] = value

    def range(self, bounds: tuple[Value, ...]) -> range | None:
        """The indices of a loop with these bounds, or None where they are not constant."""
        limits = [self.known.get(b, b) for b in bounds]
        if not all(isinstance(b, Constant) for b in limits):
            return None
        start, stop, step = (int(b.value) for b in limits if isinstance(b, Constant))
        return range(start, stop, step)


class _Unroller(Rewriter):
    """Inner loops first, so that the size of what an outer loop repeats is known."""

    def __init__(self, limit: int):
        super().__init__()
        self.limit, self.constants = limit, _Constants()

    def nodes(self, nodes: list[Node]) -> list[Node]:
        unrolled: list[Node] = []
        for node in nodes:
            rewritten = self.node(node)
            copies = self.copies(rewritten) if isinstance(rewritten, For) else None
            if copies is not None:
                unrolled.extend(copies)
                continue
            self.constants.note(rewritten)
            unrolled.append(rewritten)
        return unrolled

    def copies(self, loop: For) -> list[Node] | None:
        """What stands in place of a loop; None where it stays."""
        trips = self.constants.range((loop.start, loop.stop, loop.step))
        if trips is None or len(trips) > self.limit:
            return None
        size = len(trips) * count(loop.body)
        if size > MAX_NODES:
            return None
        nodes, values = copy_body(loop, loop.init, trips, {}, _Room(self.limit, MAX_NODES - size))
        self.rename(loop.results, values)
        return nodes


class _Room:
    """What may still be unrolled inside copies of a loop: trips of each loop, nodes in all."""

    def __init__(self, limit: int, left: int):
        self.limit, self.left = limit, left

    def takes(self, trips: int, size: int) -> bool:
        """Whether a body of `size` nodes, counted once already, fits `trips` times; if so it is counted."""
        more = (trips - 1) * size
        fits = trips <= self.limit and more <= self.left
        self.left -= more if fits else 0
        return fits


def copy_body(
    loop: For, init: tuple[Value, ...], trips: range, outer: dict[Value, Value], room: _Room
) -> tuple[list[Node], tuple[Value, ...]]:
    """Copies of the body of a loop, one per trip, and what the last one hands on."""
    index, *params = loop.body.params
    nodes: list[Node] = []
    for i in trips:
        copy = _Copy({**outer, index: constant(index.type, i), **dict(zip(params, init, strict=True))}, room)
        nodes.extend(copy.nodes(loop.body.nodes))
        init = copy.uses(loop.body.yields)
    return nodes, init


class _Copy(Cloner):
    """One copy of a body. Loops inside may have become constant, since the index is."""

    def __init__(self, mapping: dict[Value, Value], room: _Room):
        super().__init__(mapping)
        self.room, self.constants = room, _Constants()

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            trips = self.trips(node) if isinstance(node, For) else None
            if isinstance(node, For) and trips is not None:
                copies, values = copy_body(node, self.uses(node.init), trips, self.mapping, self.room)
                rewritten.extend(copies)
                self.rename(node.results, values)
                continue
            copy = self.node(node)
            self.constants.note(copy)
            rewritten.append(copy)
        return rewritten

    def trips(self, loop: For) -> range | None:
        """The indices of a loop inside, if there is room for its copies."""
        trips = self.constants.range(self.uses((loop.start, loop.stop, loop.step)))
        return trips if trips is not None and self.room.takes(len(trips), count(loop.body)) else None

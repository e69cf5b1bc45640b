"""Cloning with substitution: the one tool that inlining, unrolling and reversal share.

`Cloner` gives every definition a fresh Value, so the copy can stand beside the original. `Rewriter`
keeps definitions, for a program that replaces its original: what needs no change is shared between
the two, which is why no pass may change a node or region in place.
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import Location
from .nodes import Call, For, Function, If, Node, Region, Value, While


class Cloner:
    """Copies nodes, giving every definition a fresh Value and renaming uses through `mapping`.

    Values that are not in the mapping (constants, values of regions outside) are kept. Nodes without a
    source location get `location`. A pass overrides `nodes` to put something else in a node's place.
    """

    def __init__(self, mapping: dict[Value, Value] | None = None, location: Location | None = None):
        self.mapping: dict[Value, Value] = dict(mapping or {})
        self.location = location

    def use(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def uses(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values renamed; the same tuple if none has another name."""
        mapping = self.mapping
        for value in values:
            if value in mapping:
                return tuple([mapping.get(v, v) for v in values])
        return values

    def define(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        fresh = tuple([Value(v.type, v.hint) for v in values])
        self.mapping.update(zip(values, fresh, strict=True))
        return fresh

    def rename(self, values: tuple[Value, ...], others: tuple[Value, ...]) -> None:
        """From here on `others` stand for `values`."""
        self.mapping.update(zip(values, others, strict=True))

    def region(self, region: Region) -> Region:
        params = self.define(region.params)
        nodes = self.nodes(region.nodes)
        return Region(params, nodes, self.uses(region.yields))

    def nodes(self, nodes: list[Node]) -> list[Node]:
        return [self.node(n) for n in nodes]

    def node(self, node: Node) -> Node:
        location = node.location or self.location
        if isinstance(node, Call):
            args = self.uses(node.args)
            return Call(node.op, args, node.attributes, results=self.define(node.results), location=location)
        copy = self.branching(node)
        copy.results, copy.location, copy.trips = self.define(node.results), location, node.trips
        return copy

    def branching(self, node: Node) -> Node:
        """A node of the same kind over renamed operands and copied regions, without results."""
        if isinstance(node, If):
            return If(self.use(node.condition), self.region(node.then), self.region(node.orelse))
        if isinstance(node, For):
            start, stop, step = self.uses((node.start, node.stop, node.step))
            return For(start, stop, step, self.uses(node.init), self.region(node.body))
        assert isinstance(node, While)
        return While(self.uses(node.init), self.region(node.before), self.region(node.body))


class Rewriter(Cloner):
    """A Cloner that keeps definitions and shares everything that it need not change."""

    def define(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return values

    def region(self, region: Region) -> Region:
        nodes = self.nodes(region.nodes)
        yields = self.uses(region.yields)
        same = yields is region.yields and len(nodes) == len(region.nodes)
        if same and all(a is b for a, b in zip(nodes, region.nodes, strict=True)):
            return region
        return Region(region.params, nodes, yields)

    def node(self, node: Node) -> Node:
        if isinstance(node, Call):
            args = self.uses(node.args)
            if args is node.args:
                return node
            return Call(node.op, args, node.attributes, results=node.results, location=node.location)
        copy = super().node(node)
        same = copy.operands() == node.operands() and copy.regions() == node.regions()
        return node if same else copy


def clone(fn: Function) -> Function:
    """An independent copy of a function."""
    return replace(fn, body=Cloner().region(fn.body))

"""Cloning with substitution: the one tool that inlining, unrolling and reversal share."""

from __future__ import annotations

from dataclasses import replace

from .nodes import Call, For, Function, If, Node, Region, Value, While


class Cloner:
    """Copies nodes, giving every definition a fresh Value and renaming uses through `mapping`.

    Values that are not in the mapping (constants, values of regions outside) are kept.
    """

    def __init__(self, mapping: dict[Value, Value] | None = None):
        self.mapping: dict[Value, Value] = dict(mapping or {})

    def use(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def uses(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.mapping.get(v, v) for v in values)

    def define(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        fresh = tuple(Value(v.type, v.hint) for v in values)
        self.mapping.update(zip(values, fresh, strict=True))
        return fresh

    def region(self, region: Region) -> Region:
        params = self.define(region.params)
        nodes = [self.node(n) for n in region.nodes]
        return Region(params, nodes, self.uses(region.yields))

    def node(self, node: Node) -> Node:
        clone = self._rebuilt(node)
        clone.results = self.define(node.results)
        return clone

    def _rebuilt(self, node: Node) -> Node:
        if isinstance(node, Call):
            return replace(node, args=self.uses(node.args))
        if isinstance(node, If):
            condition = self.use(node.condition)
            return replace(node, condition=condition, then=self.region(node.then), orelse=self.region(node.orelse))
        if isinstance(node, For):
            start, stop, step = self.uses((node.start, node.stop, node.step))
            init = self.uses(node.init)
            return replace(node, start=start, stop=stop, step=step, init=init, body=self.region(node.body))
        assert isinstance(node, While)
        init = self.uses(node.init)
        return replace(node, init=init, before=self.region(node.before), body=self.region(node.body))


def clone(fn: Function) -> Function:
    """An independent copy of a function."""
    return replace(fn, body=Cloner().region(fn.body))

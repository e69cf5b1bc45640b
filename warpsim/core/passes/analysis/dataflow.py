"""Forward data-flow analysis: facts about values, joined where branches and loops join values, to a fixed point."""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Call, For, If, Region, Value, While


class Dataflow:
    """One forward analysis: a subclass says what calls do to facts, and how facts join, which may only weaken them."""

    def call(self, call: Call) -> None:
        """Note the facts about the results of a call."""
        raise NotImplementedError

    def join(self, targets: tuple[Value, ...], *sources: tuple[Value, ...]) -> None:
        """Note that each target is one of the sources in its position."""
        raise NotImplementedError

    def fact(self, value: Value) -> Any:
        """What is known of a value."""
        raise NotImplementedError

    def region(self, region: Region) -> None:
        for node in region.nodes:
            if isinstance(node, Call):
                self.call(node)
            elif isinstance(node, If):
                for arm in node.regions():
                    self.region(arm)
                self.join(node.results, node.then.yields, node.orelse.yields)
            elif isinstance(node, For | While):
                self.loop(node)

    def loop(self, node: For | While) -> None:
        """What a loop carries is what it starts with, or what an iteration hands on: repeat until nothing is new."""
        self.join(node.carried, node.init)
        while True:
            before = [self.fact(p) for p in node.carried]
            if isinstance(node, While):
                self.region(node.before)
                self.join(node.body.params, node.passed)
            self.region(node.body)
            self.join(node.carried, node.carried, node.body.yields)
            if before == [self.fact(p) for p in node.carried]:
                break
        self.join(node.results, node.carried if isinstance(node, For) else node.body.params)

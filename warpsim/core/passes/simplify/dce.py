"""Dead-code elimination: nodes, results and carried values that nobody needs go.

Guarantees: the program has the same effects and results. What stays is what an effect or a result
follows from: calls without effect whose results nobody needs go, and so do branches and counted loops
left without effects, results of an `If` that nobody reads, and values that a loop carries round only
for themselves. A `While` stays, for it may not end, and that is an effect; of a program that is known to
end (`total`) it goes too. Reads count as removable.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Call, For, Function, If, Node, Region, Value, While
from ...ops.registry import PURE, READ


def dce(fn: Function, total: bool = False) -> Function:
    """`fn` without dead nodes. total: every loop is known to end."""
    needed = _Needed(fn.body, total)
    return replace(fn, body=needed.region(fn.body, fn.body.yields))


class _Needed:
    """Marks what is needed, from effects and results backwards; every node and value once."""

    def __init__(self, body: Region, total: bool):
        self.total = total
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self.parents: dict[Node, Node] = {}
        self.makers: dict[Value, tuple[Node, int]] = {}
        """Of results the node and their position; of carried values the loop and theirs."""
        self.passed: dict[Value, Value] = {}
        """What the test of a While hands on, by the parameter of the body, and the result, that it becomes."""
        self.waiting: list[Value] = list(body.yields)
        self.enter(body, None)
        while self.waiting:
            self.value(self.waiting.pop())

    def enter(self, region: Region, parent: Node | None) -> None:
        """Learn who makes what, and mark the effects."""
        for node in region.nodes:
            if parent is not None:
                self.parents[node] = parent
            for k, result in enumerate(node.results):
                self.makers[result] = (node, k)
            if isinstance(node, Call):
                if node.op.effect not in (PURE, READ):
                    self.node(node)
                continue
            if isinstance(node, For):
                for k, param in enumerate(node.carried):
                    self.makers[param] = (node, k)
            elif isinstance(node, While):
                for k, param in enumerate(node.carried):
                    self.makers[param] = (node, k)
                for k, param in enumerate(node.body.params):
                    self.makers[param] = (node, k)
                    self.passed[param] = self.passed[node.results[k]] = node.passed[k]
                if not self.total:
                    self.node(node)
            for inner in node.regions():
                self.enter(inner, node)

    def node(self, node: Node) -> None:
        """Mark a node, what it always needs, and the nodes around it."""
        while node not in self.nodes:
            self.nodes.add(node)
            if isinstance(node, If):
                self.waiting.append(node.condition)
            elif isinstance(node, For):
                self.waiting.extend((node.start, node.stop, node.step))
            elif isinstance(node, While):
                self.waiting.append(node.test)
            else:
                self.waiting.extend(node.operands())
            if node not in self.parents:
                return
            node = self.parents[node]

    def value(self, value: Value) -> None:
        """Mark a value and what it is made of."""
        if value in self.values or value not in self.makers:
            return
        self.values.add(value)
        node, k = self.makers[value]
        self.node(node)
        if isinstance(node, If):
            self.waiting.extend((node.then.yields[k], node.orelse.yields[k]))
        elif isinstance(node, For):
            # A result, the parameter and the yield are one value from iteration to iteration.
            self.waiting.extend((node.init[k], node.body.yields[k], node.carried[k], node.results[k]))
        elif isinstance(node, While):
            if value in self.passed:
                self.waiting.extend((self.passed[value], node.body.params[k], node.results[k]))
            else:
                self.waiting.extend((node.init[k], node.body.yields[k]))

    # ----- the program that is left ----------------------------------------------------------

    def region(self, region: Region, yields: tuple[Value, ...]) -> Region:
        nodes = [self.trim(n) for n in region.nodes if n in self.nodes]
        return Region(region.params, nodes, yields)

    def trim(self, node: Node) -> Node:
        if isinstance(node, If):
            live = [k for k, r in enumerate(node.results) if r in self.values]
            then, orelse = (self.region(arm, _pick(arm.yields, live)) for arm in node.regions())
            return If(node.condition, then, orelse, results=_pick(node.results, live), location=node.location)
        if isinstance(node, For):
            return self.loop(node)
        return self.repeat(node) if isinstance(node, While) else node

    def loop(self, node: For) -> For:
        live = [k for k, r in enumerate(node.results) if r in self.values]
        body = self.region(node.body, _pick(node.body.yields, live))
        body.params = (node.index, *_pick(node.carried, live))
        init, results = _pick(node.init, live), _pick(node.results, live)
        bounds = (node.start, node.stop, node.step)
        return For(*bounds, init, body, results=results, location=node.location, trips=node.trips)

    def repeat(self, node: While) -> While:
        live = [k for k, p in enumerate(node.carried) if p in self.values]
        passed = [k for k, r in enumerate(node.results) if r in self.values]
        before = self.region(node.before, (node.test, *_pick(node.passed, passed)))
        body = self.region(node.body, _pick(node.body.yields, live))
        before.params, body.params = _pick(node.carried, live), _pick(node.body.params, passed)
        init, results = _pick(node.init, live), _pick(node.results, passed)
        return While(init, before, body, results=results, location=node.location, trips=node.trips)


def _pick(values: tuple[Value, ...], positions: list[int]) -> tuple[Value, ...]:
    return tuple([values[k] for k in positions])

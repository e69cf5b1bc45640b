"""Divergence analysis: the values that may differ between neighbouring threads of a row of the launch."""

from __future__ import annotations

from ...ir.nodes import Call, For, Function, If, Node, Region, Value, While, walk
from ...ops.registry import ATOMIC


def varying(fn: Function) -> set[Value]:
    """The values of a kernel that may differ between threads which differ in the last thread index alone.

    The kernel's calls are inlined. Memory counts as the same for all threads: who asks must know that none of
    what the kernel loads is changed by other threads meanwhile. A local array is among them if its contents vary.
    """
    analysis = _Divergence(state_arrays(fn))
    while True:
        before = len(analysis.values)
        analysis.region(fn.body)
        if len(analysis.values) == before:
            return analysis.values


def state_arrays(fn: Function) -> set[Value]:
    """The local arrays that hold states of reversed loops: each is stored to and loaded from by its own name alone."""
    local = (n for n in walk(fn.body) if isinstance(n, Call) and n.op.name == "local_array")
    return {call.results[0] for call in local if not call.attributes.get("cleared", True)}


class _Divergence:
    """Grows the set of varying values; repeated until nothing is new, as loops feed values back."""

    def __init__(self, states: set[Value]) -> None:
        self.states = states
        self.values: set[Value] = set()
        self.parted = 0
        """How many of the branches and loops around are taken by some threads alone."""

    def region(self, region: Region) -> None:
        for node in region.nodes:
            self.node(node)
            parts = self.parts(node)
            self.parted += parts
            for part in node.regions():
                self.region(part)
            self.parted -= parts
            self.leave(node)

    def parts(self, node: Node) -> bool:
        """Whether neighbouring threads may part ways at a node."""
        if isinstance(node, If):
            return node.condition in self.values
        if isinstance(node, For):
            return self.any((node.start, node.stop, node.step))
        return isinstance(node, While) and node.test in self.values

    def node(self, node: Node) -> None:
        """What is known before the regions of a node are visited."""
        if isinstance(node, Call):
            if node.op.name == "tid":
                self.values.add(node.results[-1])
            elif node.op.name == "store" and node.args[0] in self.states and (self.parted or self.any(node.args)):
                self.values.add(node.args[0])
            elif node.op.effect == ATOMIC or self.any(node.args):
                self.values.update(node.results)
        elif isinstance(node, For):
            self.join((node.index, *node.carried), (node.start, *node.init))
            if self.any((node.start, node.stop, node.step)):
                self.values.update((node.index, *node.carried))
        elif isinstance(node, While):
            self.join(node.carried, node.init)

    def leave(self, node: Node) -> None:
        """What the regions of a node hand on; where they part ways, results vary."""
        if isinstance(node, If):
            self.join(node.results, node.then.yields)
            self.join(node.results, node.orelse.yields)
            if node.condition in self.values:
                self.values.update(node.results)
        elif isinstance(node, For):
            self.join(node.carried, node.body.yields)
            self.join(node.results, node.carried)
        elif isinstance(node, While):
            if node.test in self.values:
                self.values.update((*node.carried, *node.body.params, *node.results))
            self.join(node.body.params, node.passed)
            self.join(node.results, node.passed)
            self.join(node.carried, node.body.yields)

    def any(self, values: tuple[Value, ...]) -> bool:
        return any(v in self.values for v in values)

    def join(self, targets: tuple[Value, ...], sources: tuple[Value, ...]) -> None:
        self.values.update(t for t, s in zip(targets, sources, strict=True) if s in self.values)

"""Divergence analysis: the values that may differ between neighbouring threads of a row of the launch."""

from __future__ import annotations

from ...ir.nodes import Call, For, Function, If, Node, Region, Value, While
from ...ops.registry import ATOMIC


def varying(fn: Function) -> set[Value]:
    """The values of a kernel that may differ between threads which differ in the last thread index alone.

    The kernel's calls are inlined. Memory counts as the same for all threads: who asks must know that none of
    what the kernel loads is changed by other threads meanwhile.
    """
    analysis = _Divergence()
    while True:
        before = len(analysis.values)
        analysis.region(fn.body)
        if len(analysis.values) == before:
            return analysis.values


class _Divergence:
    """Grows the set of varying values; repeated until nothing is new, as loops feed values back."""

    def __init__(self) -> None:
        self.values: set[Value] = set()

    def region(self, region: Region) -> None:
        for node in region.nodes:
            self.node(node)
            for part in node.regions():
                self.region(part)
            self.leave(node)

    def node(self, node: Node) -> None:
        """What is known before the regions of a node are visited."""
        if isinstance(node, Call):
            if node.op.name == "tid":
                self.values.add(node.results[-1])
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

"""Checks that a function obeys the grammar; runs after the front end and after every pass.

Guarantees: each value is defined once and used only where its definition is visible; regions have
the parameters and yields their node asks for, with equal types; conditions are booleans; loop
bounds are integers of one type; calls have operands of known type. It does not check that a row's
type rule was obeyed (the registry did that when the call was made).
"""

from __future__ import annotations

from ...errors import CompilerError
from ..types import scalars
from ..types.arrays import type_name
from .nodes import Call, Constant, For, Function, If, Node, Region, Value, While
from .printer import Printer


def verify(fn: Function, stage: str = "") -> Function:
    """Return `fn`, or raise `CompilerError` with the reason and the lines around the bad node."""
    _Verifier(fn, stage).region(fn.body)
    return fn


class _Verifier:
    def __init__(self, fn: Function, stage: str):
        self.fn, self.stage = fn, stage
        self.defined: set[Value] = set()
        self.visible: set[Value] = set()

    def region(self, region: Region) -> None:
        own: list[Value] = []
        self.define(region.params, own, None)
        for node in region.nodes:
            self.use(node.operands(), node)
            if type(node) is not Call or isinstance(node.op, Function):
                self.node(node)
            self.define(node.results, own, node)
        self.use(region.yields, None)
        self.visible.difference_update(own)

    def define(self, values: tuple[Value, ...], own: list[Value], node: Node | None) -> None:
        for value in values:
            if value in self.defined:
                self.fail("a value is defined twice", node)
            self.defined.add(value)
            self.visible.add(value)
            own.append(value)

    def use(self, values: tuple[Value, ...], node: Node | None) -> None:
        for value in values:
            if value not in self.visible and not isinstance(value, Constant):
                self.fail("a value is used where its definition is not visible", node)

    def node(self, node: Node) -> None:
        if isinstance(node, If):
            self.same(node.condition, scalars.bool_, "an if condition", node)
            self.types(node.then.yields, node.results, "the then branch yields", node)
            self.types(node.orelse.yields, node.results, "the else branch yields", node)
        elif isinstance(node, For):
            self.loop(node)
        elif isinstance(node, While):
            self.repeat(node)
        elif isinstance(node, Call) and isinstance(node.op, Function):
            self.types(node.args, node.op.params, f"the call of {node.op.name} passes", node)
            self.types(node.results, node.op.body.yields, f"the call of {node.op.name} returns", node)
        elif not isinstance(node, Call):
            self.fail(f"{type(node).__name__} is no kind of node that the grammar has", node)
        for inner in node.regions():
            self.region(inner)

    def loop(self, node: For) -> None:
        if not node.body.params:
            self.fail("a loop body has no index", node)
        index, *carried = node.body.params
        for bound in (node.start, node.stop, node.step):
            self.same(bound, index.type, "a loop bound", node)
        if not scalars.is_integer(index.type):
            self.fail("a loop index is not an integer", node)
        if isinstance(node.step, Constant) and int(node.step.value) == 0:
            self.fail("a loop step is zero", node)
        for what, values in (("starts with", node.init), ("yields", node.body.yields), ("returns", node.results)):
            self.types(values, tuple(carried), f"the loop {what}", node)

    def repeat(self, node: While) -> None:
        if not node.before.yields:
            self.fail("a while test yields nothing", node)
        test, *passed = node.before.yields
        self.same(test, scalars.bool_, "a while test", node)
        self.types(node.init, node.before.params, "the while starts with", node)
        self.types(node.body.yields, node.before.params, "the while body yields", node)
        self.types(tuple(passed), node.body.params, "the while test passes", node)
        self.types(node.results, node.body.params, "the while returns", node)

    def same(self, value: Value, t: object, what: str, node: Node) -> None:
        if value.type is not t:
            self.fail(f"{what} is {type_name(value.type)}, not {type_name(t)}", node)

    def types(self, values: tuple[Value, ...], targets: tuple[Value, ...], what: str, node: Node) -> None:
        types, expected = [v.type for v in values], [v.type for v in targets]
        if len(types) != len(expected) or any(a is not b for a, b in zip(types, expected, strict=True)):
            names = [", ".join(map(type_name, ts)) for ts in (types, expected)]
            self.fail(f"{what} ({names[0]}) where ({names[1]}) is expected", node)

    def fail(self, reason: str, node: Node | None) -> None:
        printer = Printer(lines=True)
        printer.function(self.fn)
        text = printer.out
        mark = 0
        if node is not None:
            probe = Printer()
            probe.names = printer.names
            probe.node(node, 0)
            printed = probe.out[0].strip()
            mark = next((i for i, line in enumerate(text) if line.strip().startswith(printed)), 0)
        around = "\n".join(text[max(0, mark - 10) : mark + 11])
        place = f" at {node.location}" if node is not None and node.location else ""
        raise CompilerError(f"invalid program after {self.stage or 'building'}{place}: {reason}\n{around}")

"""One walker turns regions into basic blocks; ops emit themselves through their row's `value`.

Guarantees: every path through an If or loop ends in the block where its results are phi nodes; a
counted loop evaluates its bounds once, runs exactly as often as Python's `range` and never
overflows its index.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from ..ir.nodes import Call, Constant, For, Function, If, Node, Region, Value, While, walk
from ..types import scalars
from .layout import I64, constant_leaves, register_types


class Lowering:
    """Emits one function body through a target; `env` maps IR values to flat lists of LLVM values."""

    def __init__(self, target: Any):
        self.target = target
        self.env: dict[Value, list[Any]] = {}

    @property
    def b(self) -> Any:
        return self.target.builder

    def get(self, value: Value) -> list[Any]:
        if isinstance(value, Constant):
            return constant_leaves(value.type, value.value)
        return self.env[value]

    def bind(self, values: tuple[Value, ...], flats: list[list[Any]]) -> None:
        self.env.update(zip(values, flats, strict=True))

    def region(self, region: Region) -> list[list[Any]]:
        """Emit the nodes; returns what the region yields."""
        for node in region.nodes:
            self.node(node)
        return [self.get(v) for v in region.yields]

    def node(self, node: Node) -> None:
        if isinstance(node, Call):
            self.call(node)
        elif isinstance(node, If):
            self.branch(node)
        elif isinstance(node, For):
            self.count(node)
        else:
            assert isinstance(node, While)
            self.repeat(node)

    def call(self, node: Call) -> None:
        self.target.location = node.location
        made = node.op.value(self.target, node, [self.get(a) for a in node.args])
        if len(node.results) == 1:
            self.env[node.results[0]] = made
        else:
            self.bind(node.results, made)

    # ----- control flow ---------------------------------------------------------------------

    def branch(self, node: If) -> None:
        [condition] = self.get(node.condition)
        b = self.b
        blocks = [b.append_basic_block(name) for name in ("then", "else", "joined")]
        b.cbranch(condition, blocks[0], blocks[1])
        arms = []
        for block, region in zip(blocks, node.regions(), strict=False):
            b.position_at_end(block)
            flat = [x for part in self.region(region) for x in part]
            arms.append((b.block, flat))
            b.branch(blocks[2])
        b.position_at_end(blocks[2])
        self.join(node.results, arms)

    def join(self, results: tuple[Value, ...], arms: list[tuple[Any, list[Any]]]) -> None:
        """Bind results to phis over the arms (block, flat values)."""
        at = 0
        for result in results:
            flat = []
            for kind in register_types(result.type):
                incoming = [(values[at], block) for block, values in arms]
                flat.append(self.merged(kind, incoming))
                at += 1
            self.env[result] = flat

    def merged(self, kind: ll.Type, incoming: list[tuple[Any, Any]]) -> Any:
        first = incoming[0][0]
        if all(value is first for value, _ in incoming):
            return first
        phi = self.b.phi(kind)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    def enter(self, params: tuple[Value, ...], init: list[list[Any]], before: Any) -> list[Any]:
        """Phis at a loop head for the carried values; returns them flat."""
        phis = []
        for param, flat in zip(params, init, strict=True):
            made = []
            for value in flat:
                phi = self.b.phi(value.type)
                phi.add_incoming(value, before)
                made.append(phi)
            self.env[param] = made
            phis.extend(made)
        return phis

    def again(self, phis: list[Any], values: list[list[Any]]) -> None:
        """Close a loop: the current block feeds the head."""
        for phi, value in zip(phis, [x for part in values for x in part], strict=True):
            phi.add_incoming(value, self.b.block)

    def count(self, node: For) -> None:
        index, *carried = node.body.params
        [start], [stop], [step] = (self.get(v) for v in (node.start, node.stop, node.step))
        b, t = self.b, index.type
        trips = self.trips(node, start, stop, step, t)
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "loop", "done"))
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(I64)
        k.add_incoming(ll.Constant(I64, 0), before)
        i = b.phi(start.type)
        i.add_incoming(start, before)
        phis = self.enter(tuple(carried), [self.get(v) for v in node.init], before)
        less = b.icmp_unsigned if scalars.bits(t) == 64 else b.icmp_signed
        b.cbranch(less("<", k, trips), body, done)
        b.position_at_end(body)
        self.env[index] = [i]
        yielded = self.region(node.body)
        flags = ("nsw",) if scalars.is_signed(t) else ()
        i.add_incoming(b.add(i, step, flags=flags), b.block)
        k.add_incoming(b.add(k, ll.Constant(I64, 1), flags=("nuw",)), b.block)
        self.again(phis, yielded)
        b.branch(head)
        b.position_at_end(done)
        self.bind(node.results, [self.env[p] for p in carried])

    def trips(self, node: For, start: Any, stop: Any, step: Any, t: type) -> Any:
        """How often the body runs: ceil((stop - start) / step), at least 0, in 64 bits."""
        if scalars.bits(t) == 64:
            return self.unsigned_trips(start, stop, step, t)
        b, zero, one = self.b, ll.Constant(I64, 0), ll.Constant(I64, 1)
        wide = [self.target.as_index(x, t) for x in (start, stop, step)]
        if isinstance(node.step, Constant):
            size = abs(int(node.step.value))
            up = int(node.step.value) > 0
            distance = b.sub(wide[1], wide[0]) if up else b.sub(wide[0], wide[1])
            if size > 1:
                distance = b.sdiv(b.add(distance, ll.Constant(I64, size - 1)), ll.Constant(I64, size))
            return b.select(b.icmp_signed(">", distance, zero), distance, zero)
        up = b.icmp_signed(">", wide[2], zero)
        distance = b.select(up, b.sub(wide[1], wide[0]), b.sub(wide[0], wide[1]))
        size = b.select(up, wide[2], b.neg(wide[2]))
        size = b.select(b.icmp_signed("==", size, zero), one, size)
        rounded = b.sdiv(b.add(distance, b.sub(size, one)), size)
        runs = b.and_(b.icmp_signed(">", distance, zero), b.icmp_signed("!=", wide[2], zero))
        return b.select(runs, rounded, zero)

    def unsigned_trips(self, start: Any, stop: Any, step: Any, t: type) -> Any:
        """The same for 64-bit bounds, whose distance may need all bits: an unsigned number."""
        b, zero, one = self.b, ll.Constant(I64, 0), ll.Constant(I64, 1)
        less = b.icmp_signed if scalars.is_signed(t) else b.icmp_unsigned
        up = less(">", step, zero)
        runs = b.select(up, less("<", start, stop), b.and_(less(">", start, stop), b.icmp_signed("!=", step, zero)))
        distance = b.select(up, b.sub(stop, start), b.sub(start, stop))
        size = b.select(up, step, b.neg(step))
        size = b.select(b.icmp_signed("==", size, zero), one, size)
        return b.select(runs, b.add(b.udiv(b.sub(distance, one), size), one), zero)

    def repeat(self, node: While) -> None:
        b = self.b
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("test", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        phis = self.enter(node.before.params, [self.get(v) for v in node.init], before)
        [go_on], *passed = self.region(node.before)
        b.cbranch(go_on, body, done)
        self.bind(node.body.params, passed)
        b.position_at_end(body)
        self.again(phis, self.region(node.body))
        b.branch(head)
        b.position_at_end(done)
        self.bind(node.results, passed)


def used_values(fn: Function) -> set[Value]:
    """Every value that some node or yield reads."""
    used = set(fn.body.yields)
    for node in walk(fn.body):
        used.update(node.operands())
        for region in node.regions():
            used.update(region.yields)
    return used

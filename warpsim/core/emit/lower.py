"""One walker turns regions into basic blocks; ops emit themselves through their row's `value`, functions as functions.

Guarantees: every path through an If or loop ends in the block where its results are phi nodes; a
counted loop evaluates its bounds once, runs exactly as often as Python's `range` and never
overflows its index.
"""

from __future__ import annotations

from copy import copy
from itertools import chain
from typing import Any

from llvmlite import ir as ll

from ...forks import cached_property
from ..ir.def_use import used_values
from ..ir.nodes import Call, Constant, For, Function, If, Node, Region, Value, While, walk
from ..ops.native import ascii_name
from ..ops.values import LANES, drop_unused_lanes, pack, unpack
from ..passes.analysis.atomics import analyse
from ..types import scalars
from ..types.arrays import ValueType
from ..types.compounds import is_compound
from ..types.structs import is_struct
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

    def flat(self, value: Value) -> list[Any]:
        """The flat values themselves, wherever they are kept."""
        return self.get(value)

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
        components = self.apply(node, [self.get(a) for a in node.args])
        if len(node.results) == 1:
            self.env[node.results[0]] = components
        else:
            self.bind(node.results, components)

    def apply(self, node: Call, args: list[list[Any]]) -> Any:
        """What a row, or a function, makes of its arguments."""
        if isinstance(node.op, Function):
            return self.target.call_function(node.op, args)
        return self.target.value(node, args)

    # ----- control flow ---------------------------------------------------------------------

    def branch(self, node: If) -> None:
        [condition] = self.get(node.condition)
        b = self.b
        blocks = [b.append_basic_block(name) for name in ("then", "else", "joined")]
        b.cbranch(condition, blocks[0], blocks[1])
        arms = []
        for block, region in zip(blocks, node.regions(), strict=False):
            b.position_at_end(block)
            arms.append((self.region(region), b.block))
        self.join(node, arms, blocks[2])

    def join(self, node: If, arms: list[tuple[list[list[Any]], Any]], joined: ll.Block) -> None:
        """Branch from every arm (what it yields, its last block) to `joined` and bind the results to phis there."""
        results = node.results
        same = [
            all(x is y for flats, _ in arms for x, y in zip(flats[k], arms[0][0][k], strict=True))
            for k in range(len(results))
        ]
        differing = [k for k in range(len(results)) if not same[k]]
        chosen = tuple(results[k] for k in differing)
        incoming = []
        for flats, block in arms:
            self.b.position_at_end(block)
            incoming.append((self.together(chosen, [flats[k] for k in differing]), block))
            self.b.branch(joined)
        self.b.position_at_end(joined)
        count = len(incoming[0][0])
        phis = [self.merge(incoming[0][0][k].type, [(x[k], block) for x, block in incoming]) for k in range(count)]
        self.unbundle(chosen, phis)
        self.env.update({results[k]: arms[0][0][k] for k in range(len(results)) if same[k]})

    # ----- values in phis -------------------------------------------------------------------

    def bundle(self, value: Value, flat: list[Any]) -> list[Any]:
        """The same with components in vectors, where the target packs: a phi would keep them apart for ever."""
        bundles, at = [], 0
        for size in self.bundle_sizes(value.type):
            part = flat[at : at + size]
            bundles.append(pack(self.b, part) if size > 1 else part[0])
            at += size
        return bundles

    def unbundle(self, values: tuple[Value, ...], bundles: list[Any]) -> None:
        """Bind values to what `bundle` made of them and phis then joined."""
        at = 0
        for value in values:
            flat: list[Any] = []
            for size in self.bundle_sizes(value.type):
                flat.extend(unpack(self.b, bundles[at]) if size > 1 else [bundles[at]])
                at += 1
            self.env[value] = flat

    def bundle_sizes(self, t: ValueType) -> list[int]:
        """How many of the flat values of a type go together, in order; structs have all their fields with them."""
        if is_struct(t):
            return [size for field in t.fields.values() for size in Lowering.bundle_sizes(self, field)]
        if self.target.packs and is_compound(t) and t.size in LANES:
            return [t.size]
        return [1] * len(register_types(t))

    def merge(self, kind: ll.Type, incoming: list[tuple[Any, Any]]) -> Any:
        first = incoming[0][0]
        if all(value is first for value, _ in incoming):
            return first
        phi = self.b.phi(kind)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    def enter(self, bundles: list[Any], before: ll.Block) -> list[Any]:
        """Phis at a loop head for the carried values."""
        phis = []
        for value in bundles:
            phi = self.b.phi(value.type)
            phi.add_incoming(value, before)
            phis.append(phi)
        return phis

    def together(self, values: tuple[Value, ...], flats: list[list[Any]]) -> list[Any]:
        """Bundles of several values."""
        return [x for value, flat in zip(values, flats, strict=True) for x in self.bundle(value, flat)]

    def again(self, node: For | While, head: ll.Block, phis: list[Any], bundles: list[Any]) -> None:
        """Close a loop: the current block feeds the head and goes there."""
        for phi, value in zip(phis, bundles, strict=True):
            phi.add_incoming(value, self.b.block)
        self.target.next_round(head, outer=has_loops(node))

    def count(self, node: For) -> None:
        carried = node.carried
        [start], [stop], [step] = (self.get(v) for v in (node.start, node.stop, node.step))
        b, t = self.b, node.index.type
        trips = self.trips(node, start, stop, step, t)
        init = self.together(carried, [self.get(v) for v in node.init])
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "loop", "done"))
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(I64)
        k.add_incoming(ll.Constant(I64, 0), before)
        i = b.phi(start.type)
        i.add_incoming(start, before)
        phis = self.enter(init, before)
        self.unbundle(carried, phis)
        less = b.icmp_unsigned if scalars.bits(t) == 64 else b.icmp_signed
        b.cbranch(less("<", k, trips), body, done)
        b.position_at_end(body)
        self.env[node.index] = [i]
        yielded = self.region(node.body)
        flags = ("nsw",) if scalars.is_signed(t) else ()
        i.add_incoming(b.add(i, step, flags=flags), b.block)
        k.add_incoming(b.add(k, ll.Constant(I64, 1), flags=("nuw",)), b.block)
        self.again(node, head, phis, self.together(carried, yielded))
        b.position_at_end(done)
        self.bind(node.results, [self.env[p] for p in carried])

    def trips(self, node: For, start: ll.Value, stop: ll.Value, step: ll.Value, t: type) -> Any:
        """How often the body runs: ceil((stop - start) / step), at least 0, in 64 bits."""
        if scalars.bits(t) == 64:
            return self.unsigned_trips(start, stop, step, t)
        b, wide = self.b, [self.target.as_index(x, t) for x in (start, stop, step)]
        zero, one = ll.Constant(wide[0].type, 0), ll.Constant(wide[0].type, 1)
        if isinstance(node.step, Constant):
            size = abs(int(node.step.value))
            up = int(node.step.value) > 0
            distance = b.sub(wide[1], wide[0]) if up else b.sub(wide[0], wide[1])
            if size > 1:
                kind = distance.type
                distance = b.sdiv(b.add(distance, ll.Constant(kind, size - 1)), ll.Constant(kind, size))
            return b.select(b.icmp_signed(">", distance, zero), distance, zero)
        up = b.icmp_signed(">", wide[2], zero)
        distance = b.select(up, b.sub(wide[1], wide[0]), b.sub(wide[0], wide[1]))
        size = b.select(up, wide[2], b.neg(wide[2]))
        size = b.select(b.icmp_signed("==", size, zero), one, size)
        rounded = b.sdiv(b.add(distance, b.sub(size, one)), size)
        runs = b.and_(b.icmp_signed(">", distance, zero), b.icmp_signed("!=", wide[2], zero))
        return b.select(runs, rounded, zero)

    def unsigned_trips(self, start: ll.Value, stop: ll.Value, step: ll.Value, t: type) -> Any:
        """The same for 64-bit bounds, whose distance may need all bits: an unsigned number."""
        b, zero, one = self.b, ll.Constant(start.type, 0), ll.Constant(start.type, 1)
        less = b.icmp_signed if scalars.is_signed(t) else b.icmp_unsigned
        up = less(">", step, zero)
        runs = b.select(up, less("<", start, stop), b.and_(less(">", start, stop), b.icmp_signed("!=", step, zero)))
        distance = b.select(up, b.sub(stop, start), b.sub(start, stop))
        size = b.select(up, step, b.neg(step))
        size = b.select(b.icmp_signed("==", size, zero), one, size)
        return b.select(runs, b.add(b.udiv(b.sub(distance, one), size), one), zero)

    def repeat(self, node: While) -> None:
        b = self.b
        init = self.together(node.carried, [self.get(v) for v in node.init])
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("test", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        phis = self.enter(init, before)
        self.unbundle(node.carried, phis)
        [go_on], *passed = self.region(node.before)
        b.cbranch(go_on, body, done)
        self.bind(node.body.params, passed)
        b.position_at_end(body)
        self.again(node, head, phis, self.together(node.carried, self.region(node.body)))
        b.position_at_end(done)
        self.bind(node.results, passed)


class FunctionCalls:
    """What a target needs to emit shared functions, see `passes/simplify/shared`.

    They take the registers of their arguments, arrays among them, and return those of their results: what they do not
    use, LLVM removes. Where accesses are checked a failed check leaves the kernel, and a CUDA line table has one scope:
    there the body is emitted at every call.
    """

    function_attributes: tuple[str, ...] = ("noinline",)

    fn: Function
    options: Any
    plan: Any
    builder: Any
    lowering: Any
    packs: bool
    used: set[Value]
    deciding: set[Call]
    frame = 0
    """The bytes on the stack that are known before LLVM assigns registers."""

    @cached_property
    def functions(self) -> dict[str, ll.Function]:
        """The functions that the module has, by names."""
        return {}

    def builder_at(self, block: ll.Block) -> Any:
        """A builder of instructions at the end of a block."""
        return ll.IRBuilder(block)

    @property
    def emits_functions(self) -> bool:
        """Whether functions are emitted as such, and not at every call."""
        return not self.options.verify

    def call_function(self, fn: Function, args: list[list[Any]]) -> Any:
        """What a shared function returns."""
        if self.emits_functions:
            results = self.emit_call(fn, args)
        else:
            results = self.emit_body(fn, args, self.target_for(fn))
        return results[0] if len(results) == 1 else results

    def emit_call(self, fn: Function, args: list[list[Any]]) -> list[list[Any]]:
        """Call a function of the module, which returns a struct of registers."""
        flat = list(chain(*args))
        if fn.name not in self.functions:
            self.functions[fn.name] = self.define(fn, [x.type for x in flat])
        registers = self.builder.call(self.functions[fn.name], flat)
        parts = (self.builder.extract_value(registers, k) for k in range(len(registers.type.elements)))
        return [[next(parts) for _ in register_types(value.type)] for value in fn.body.yields]

    def emit_body(self, fn: Function, args: list[list[Any]], inner: FunctionCalls) -> list[list[Any]]:
        """Emit what a function does by a target for it, whose stack is that of the kernel."""
        inner.lowering.bind(fn.params, args)
        results: list[list[Any]] = inner.lowering.region(fn.body)
        self.frame = inner.frame
        return results

    def target_for(self, fn: Function) -> FunctionCalls:
        """A target for the body of a function. All its calls count as deciding: what it returns may decide."""
        inner = copy(self)
        inner.fn, inner.plan, inner.used = fn, analyse(fn), used_values(fn.body)
        inner.deciding = {node for node in walk(fn.body) if isinstance(node, Call)}
        inner.lowering = Lowering(inner)
        return inner

    def define(self, fn: Function, kinds: list[ll.Type]) -> ll.Function:
        """A function that takes registers of these kinds. Room on the stack is taken in its first block."""
        returned = ll.LiteralStructType([kind for value in fn.body.yields for kind in register_types(value.type)])
        function = ll.Function(self.builder.module, ll.FunctionType(returned, kinds), ascii_name(fn.name))
        function.linkage = "internal"
        set.update(function.attributes, self.function_attributes)
        entry, start = (function.append_basic_block(name) for name in ("entry", "start"))
        inner, registers = self.target_for(fn), iter(function.args)
        inner.packs = self.packs and any(isinstance(node, While) for node in walk(fn.body))
        inner.builder = self.builder_at(start)
        args = [[next(registers) for _ in register_types(param.type)] for param in fn.params]
        result = ll.Constant(returned, ll.Undefined)
        for k, x in enumerate(chain(*self.emit_body(fn, args, inner))):
            result = inner.builder.insert_value(result, x, k)
        inner.builder.ret(result)
        ll.IRBuilder(entry).branch(start)
        drop_unused_lanes(function)
        return function


def has_loops(node: For | While) -> bool:
    """Whether there are loops within a loop."""
    return any(isinstance(inner, For | While) for region in node.regions() for inner in walk(region))

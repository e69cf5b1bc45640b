"""Lanes: the body of a kernel for a strip of neighbouring threads at once, each value a vector with a lane per thread.

What is the same for all threads of a strip stays scalar. A branch on which threads differ runs both arms, each under a
mask, and skips an arm that no thread takes; a loop runs until the last thread leaves it. Rows that take vectors emit
one instruction for all lanes, other rows are emitted lane by lane. What a strip does to memory waits until its end, in
a loop over its threads, which does it as the scalar body would; but what all lanes add to one element in a loop is
added up first, and to the element at once: see `passes/analysis/lanes`.

Guarantees: every lane computes what its thread computes, operation by operation. Lanes outside a mask compute
too, but they read memory where some lane within it does, and nobody looks at what they found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call, Constant, For, If, Node, Region, Value, While, count, walk
from ...ops.lanes import broadcast, is_vector, lane, picked_lanes, suffix, takes_lanes
from ...ops.registry import READ
from ...ops.values import pack
from ...passes.analysis.lanes import LanePlan
from ...types import scalars, structs
from ...types.compounds import is_compound
from .. import layout
from ..layout import I1, I8, I32
from ..lower import Lowering
from .lane_loops import LaneLoop, MaskedLoop
from .lane_memory import LaneArray, Offsets, Room, apart, as_word, first_lane, from_word, is_few, word_of

_FEW = 6  # nodes of an arm that is computed for all lanes rather than skipped


class Lanes(Lowering):
    """Emits a strip: `start` is the first thread's last index, `outer` its others."""

    def __init__(self, target: Any, plan: LanePlan, width: int, outer: list[Any], start: ll.Value):
        super().__init__(target)
        self.env.update(target.lowering.env)
        self.plan, self.width, self.outer, self.start = plan, width, outer, start
        self.mask: Any = None
        """Which lanes run; None: all of them."""
        self.regions: list[Region] = []
        """Those around what is being emitted."""
        self.loaded: set[Value] = set()
        """What was read from scattered elements, perhaps before its turn."""
        self.waiting: list[Waiting] = []
        self.masks: dict[tuple[Any, Region], Any] = {}
        self.private: dict[Value, LaneArray] = {}

    def strip(self, body: Region) -> None:
        """Emit the whole of it, effects included."""
        self.entry = self.b.block
        work = self.b.append_basic_block("work")
        self.b.position_at_end(work)
        self.region(body)
        end = self.b.block
        self.b.position_at_end(self.entry)
        self.b.branch(work)
        self.b.position_at_end(end)
        self.perform()

    def region(self, region: Region) -> list[list[Any]]:
        self.regions.append(region)
        for k, node in enumerate(region.nodes):
            if self.is_gather(node):
                self.gather([n for n in region.nodes[k:] if self.is_gather(n)])
            elif not node.results or node.results[0] not in self.loaded:
                self.node(node)
        self.regions.pop()
        return [self.get(v) for v in region.yields]

    # ----- calls ----------------------------------------------------------------------------

    def call(self, node: Call) -> None:
        if self.plan.private & {*node.args[:1], *node.results}:
            self.access_private(node)
            return
        args = [self.get(a) for a in node.args]
        if node in self.plan.put_off:
            self.put_off(node, args)
        elif node in self.plan.joint:
            self.add_jointly(node, args)
        elif node.op.name == "tid":
            indices = [*self.outer, self.threads()]
            self.bind(node.results, [[i] for i in indices])
        elif not any(is_vector(x) for flat in args for x in flat):
            super().call(node)
        elif node.op.effect == READ:
            self.env[node.results[0]] = self.block(node, args)
        elif takes_lanes(node):
            components = self.target.value(node, [[broadcast(self.b, x, self.width) for x in flat] for flat in args])
            self.bind(node.results, [components] if len(node.results) == 1 else components)
        else:
            self.bind(node.results, self.each(node, args))

    def access_private(self, node: Call) -> None:
        """Make a local array with a place per lane, or load from it or store to it, at once."""
        if node.op.name == "local_array":
            self.private[node.results[0]] = LaneArray(self, node.results[0].type)
            return
        array = self.private[node.args[0]]
        [index] = self.get(node.args[1])
        if node.op.effect == READ:
            self.env[node.results[0]] = array.load(index)
        else:
            array.store(index, [self.vector(x) for x in self.get(node.args[2])])

    def threads(self) -> Any:
        """The last thread index of every lane."""
        kind = ll.VectorType(self.start.type, self.width)
        steps = ll.Constant(kind, [ll.Constant(self.start.type, k) for k in range(self.width)])
        return self.b.add(broadcast(self.b, self.start, self.width), steps, flags=("nsw", "nuw"))

    def each(self, node: Call, args: list[list[Any]]) -> list[list[Any]]:
        """The results of a pure row that knows nothing of vectors, lane by lane."""
        lanes = []
        for k in range(self.width):
            components = self.target.value(node, [[lane(self.b, x, k) for x in flat] for flat in args])
            lanes.append([components] if len(node.results) == 1 else components)
        return [self.transpose([results[r] for results in lanes]) for r in range(len(node.results))]

    def transpose(self, lanes: Sequence[list[Any]]) -> list[Any]:
        """Vectors of the flat values of all lanes."""
        return [pack(self.b, list(parts)) for parts in zip(*lanes, strict=True)]

    # ----- loads ----------------------------------------------------------------------------

    def is_gather(self, node: Node) -> bool:
        """Whether a node that was not emitted reads scattered elements, at indices that are known by now."""
        if not isinstance(node, Call) or node.op.effect != READ or node.results[0] in self.loaded:
            return False
        if node.args[0] in self.plan.private:
            return False
        known = all(isinstance(a, Constant) or a in self.env for a in node.args)
        return known and any(is_vector(self.get(a)[0]) for a in node.args[1:]) and not self.is_block(node)

    def gather(self, loads: list[Any]) -> None:
        """Scattered elements into vectors: in one loop over the lanes, as much at a time as can be."""
        b, offsets = self.b, Offsets(self)
        places = [offsets.place(node) for node in loads]
        rooms = [Room(self, node.args[0].type.dtype) for node in loads]
        bits = None if self.mask is None else b.bitcast(self.mask, ll.IntType(self.width))
        loop = LaneLoop(b, self.width)
        source = loop.k if bits is None else loop.or_first(bits)
        for place, room in zip(places, rooms, strict=True):
            room.copy(place(source), loop.k)
        loop.close()
        for node, room in zip(loads, rooms, strict=True):
            self.env[node.results[0]] = room.vectors()
            self.loaded.add(node.results[0])

    def room(self, kind: ll.Type) -> Any:
        """Room on the stack for a vector."""
        return self.target.stack(ll.VectorType(word_of(kind), self.width), 1)

    def by_lane(self, x: ll.Value) -> Callable[[Any], Any]:
        """A value of this place as what gives it for one lane in a loop."""
        if not is_vector(x):
            return lambda k: x
        b, slot = self.b, self.room(x.type.element)
        b.store(as_word(b, x), slot)
        return lambda k: from_word(b, b.load(b.gep(first_lane(b, slot), [k])), x.type.element)

    def is_block(self, node: Call) -> bool:
        """Whether the lanes read neighbouring elements of few components, as one block."""
        t, array = node.args[0].type, self.get(node.args[0])
        stride = array[1 + 2 * t.ndim]
        dense = isinstance(stride, ll.Constant) and stride.constant == structs.numpy_dtype(t.dtype).itemsize
        return is_few(t.dtype) and dense and node in self.plan.neighbours and not self.target.counts_back(node, t.ndim)

    def block(self, node: Call, args: list[list[Any]]) -> list[Any]:
        """Neighbouring elements as one vector, taken apart into components."""
        t, types = node.args[0].type.dtype, [a.type for a in node.args[1:]]
        b, size = self.b, t.size if is_compound(t) else 1
        address = self.target.address(node.args[0].type, args[0], [lane(b, i, 0) for [i] in args[1:]], types, node)
        scalar = t.dtype if is_compound(t) else t
        part = I8 if scalar is scalars.bool_ else layout.register_types(scalar)[0]
        whole = self.read(b.bitcast(address, ll.VectorType(part, size * self.width).as_pointer()), size)
        if scalar is scalars.bool_:
            whole = b.icmp_unsigned("!=", whole, ll.Constant(whole.type, 0))
        return apart(b, whole, size)

    def read(self, pointer: ll.Value, size: int) -> Any:
        """The vector at a pointer, of lanes outside the mask zeros."""
        b, kind = self.b, pointer.type.pointee
        if self.mask is None:
            return b.load(pointer, align=1)
        mask = picked_lanes(b, self.mask, [k // size for k in range(kind.count)]) if size > 1 else self.mask
        fn = self.target.external(
            f"llvm.masked.load.{suffix(kind)}.p0", ll.FunctionType(kind, [pointer.type, mask.type, kind])
        )
        return b.call(fn, [pointer, mask, ll.Constant(kind, None)])

    # ----- branches -------------------------------------------------------------------------

    def branch(self, node: If) -> None:
        [condition] = self.get(node.condition)
        if not is_vector(condition):
            super().branch(node)
            return
        b = self.b
        arms = [self.arm(node.then, condition), self.arm(node.orelse, b.not_(condition))]
        for result, yes, no in zip(node.results, *arms, strict=True):
            self.env[result] = self.select(condition, yes, no)

    def select(self, mask: ll.Value, yes: list[Any], no: list[Any]) -> list[Any]:
        """The lanes of one value where a mask holds, and of another elsewhere."""
        pairs = zip(yes, no, strict=True)
        return [x if x is y else self.b.select(mask, self.vector(x), self.vector(y)) for x, y in pairs]

    def vector(self, x: ll.Value) -> Any:
        return broadcast(self.b, x, self.width)

    def within(self, condition: ll.Value) -> Any:
        """The lanes that run and for which a condition holds."""
        return condition if self.mask is None else self.b.and_(self.mask, condition)

    def arm(self, region: Region, condition: ll.Value) -> list[list[Any]]:
        """What a region yields where a condition holds; it is skipped where that is nowhere."""
        if not region.nodes:
            return super().region(region)
        before, self.mask = self.mask, self.within(condition)
        yielded = self.region(region) if self.is_cheap(region) else self.skippable(region)
        self.mask = before
        return yielded

    def is_cheap(self, region: Region) -> bool:
        return count(region) <= _FEW and all(isinstance(n, Call) and not n.op.effect for n in walk(region))

    def skippable(self, region: Region) -> list[list[Any]]:
        b = self.b
        run, done = (b.append_basic_block(name) for name in ("some", "none"))
        b.cbranch(self.any(self.mask), run, done)
        before = b.block
        b.position_at_end(run)
        yielded = self.region(region)
        after = b.block
        b.branch(done)
        b.position_at_end(done)
        return [[self.or_zero(x, after, before) for x in flat] for flat in yielded]

    def or_zero(self, x: ll.Value, after: ll.Block, before: ll.Block) -> Any:
        """A value from the end of a block that was run, or zeros where it was skipped."""
        if isinstance(x, ll.Constant):
            return x
        phi = self.b.phi(x.type)
        phi.add_incoming(x, after)
        phi.add_incoming(ll.Constant(x.type, None), before)
        return phi

    def any(self, mask: ll.Value) -> Any:
        """Whether a mask holds for some lane."""
        bits = ll.IntType(self.width)
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, bits), ll.Constant(bits, 0))

    def bundle(self, value: Value, flat: list[Any]) -> list[Any]:
        """What goes into a phi: of a value that differs between threads, vectors on every way."""
        return [self.vector(x) for x in flat] if value in self.plan.varying else flat

    # ----- loops ----------------------------------------------------------------------------

    def count(self, node: For) -> None:
        bounds = [self.get(v)[0] for v in (node.start, node.stop, node.step)]
        if not any(is_vector(x) for x in bounds):
            super().count(node)
            return
        b, t = self.b, node.index.type
        start, stop, step = (self.vector(x) for x in bounds)
        trips = self.trips(node, start, stop, step, t)
        loop = MaskedLoop(self, [[ll.Constant(trips.type, 0)], [start], *(self.get(v) for v in node.init)])
        [k], [i], *carried = loop.values
        less = b.icmp_unsigned if scalars.bits(t) == 64 else b.icmp_signed
        loop.enter(self.within(less("<", k, trips)))
        self.bind(node.body.params, [[i], *carried])
        yielded = self.region(node.body)
        carried_on = [self.select(self.mask, x, y) for x, y in zip(yielded, carried, strict=True)]
        loop.close([[b.add(k, ll.Constant(k.type, 1))], [b.add(i, step)], *carried_on])
        self.bind(node.results, carried)

    def repeat(self, node: While) -> None:
        """Until the last lane leaves; each has as results what its own test handed on."""
        if node.test not in self.plan.varying:
            super().repeat(node)
            return
        everywhere = ll.Constant(ll.VectorType(I1, self.width), 1)
        nothing = [[ll.Constant(t, None) for t in layout.register_types(v.type)] for v in node.passed]
        alive = everywhere if self.mask is None else self.mask
        loop = MaskedLoop(self, [[alive], *nothing, *(self.get(v) for v in node.init)])
        [alive], *rest = loop.values
        results, carried = rest[: len(nothing)], rest[len(nothing) :]
        outer, self.mask = self.mask, alive
        self.bind(node.carried, carried)
        [go_on], *passed = self.region(node.before)
        left = [self.select(alive, x, y) for x, y in zip(passed, results, strict=True)]
        self.mask = outer
        loop.enter(self.b.and_(alive, self.vector(go_on)))
        self.bind(node.body.params, passed)
        yielded = self.region(node.body)
        carried_on = [self.select(self.mask, x, y) for x, y in zip(yielded, carried, strict=True)]
        loop.close([[self.mask], *left, *carried_on])
        self.bind(node.results, left)

    # ----- effects --------------------------------------------------------------------------

    def add_jointly(self, node: Call, args: list[list[Any]]) -> None:
        """Add what the lanes that run add to one element, all of it at once."""
        place = 1 + node.args[0].type.ndim
        self.target.value(node, [*args[:place], *([self.total(x) for x in flat] for flat in args[place:])])

    def total(self, x: ll.Value) -> Any:
        """The sum over the lanes that run, pair by pair: in an order that depends on nothing but their number."""
        b, x = self.b, self.vector(x)
        if self.mask is not None:
            x = b.select(self.mask, x, ll.Constant(x.type, None))
        while x.type.count > 1:
            half = x.type.count // 2
            x = b.fadd(picked_lanes(b, x, range(half)), picked_lanes(b, x, range(half, 2 * half)))
        return lane(b, x, 0)

    def put_off(self, node: Call, args: list[list[Any]]) -> None:
        """Keep what an effect needs, and which lanes have it, on the stack until the end of the strip."""
        place = Offsets(self, self.late_reader).place(node)
        values = [[self.late_reader(x) for x in flat] for flat in args[1 + node.args[0].type.ndim :]]
        self.waiting.append(Waiting(node, place, values, self.kept_mask()))

    def kept_mask(self) -> Any:
        """The lanes that run here as bits on the stack, none at the start of a strip; None where all always do."""
        here = (self.mask, self.regions[-1])
        if len(self.regions) == 1 or here in self.masks:
            return self.masks.get(here)
        bits = ll.IntType(self.width)
        slot = self.masks[here] = self.target.stack(bits, 1)
        with self.b.goto_block(self.entry):
            self.b.store(ll.Constant(bits, 0), slot)
        self.b.store(ll.Constant(bits, -1) if self.mask is None else self.b.bitcast(self.mask, bits), slot)
        return slot

    def late_reader(self, x: ll.Value) -> Callable[[Any], Any]:
        """A value as what gives it for one lane at the end of the strip: it may be of a block that is skipped."""
        if is_vector(x) or len(self.regions) == 1 or isinstance(x, ll.Constant):
            return self.by_lane(x)
        b, slot = self.b, self.target.stack(x.type, 1)
        b.store(x, slot)
        return lambda k: b.load(slot)

    def perform(self) -> None:
        """What the threads of the strip do to memory: thread by thread, each in the order of its statements."""
        if not self.waiting:
            return
        loop = LaneLoop(self.b, self.width)
        at = loop.k if self.start.type == I32 else self.b.sext(loop.k, self.start.type)
        self.target.indices = [*self.outer, self.b.add(self.start, at)]
        for mask, effects in groupby(self.waiting, lambda effect: effect.mask):
            self.under(mask, loop, list(effects))
        loop.close()

    def under(self, mask: ll.Value, loop: LaneLoop, effects: list[Waiting]) -> None:
        """Effects of one lane, if it is in a mask."""
        if mask is None:
            for effect in effects:
                effect.perform(self.target, loop.k)
            return
        with self.b.if_then(loop.bit(self.b.load(mask))):
            self.under(None, loop, effects)


@dataclass
class Waiting:
    """A store or atomic that waits: by lane, where it goes and its values; and the slot of the lanes that have it."""

    call: Call
    place: Callable[[Any], Any]
    values: list[list[Callable[[Any], Any]]]
    mask: Any

    def perform(self, target: Any, k: ll.Value) -> None:
        before: list[list[ll.Value]] = [[]] * (1 + self.call.args[0].type.ndim)
        target.place = self.place(k)
        target.value(self.call, [*before, *([read(k) for read in flat] for flat in self.values)])
        target.place = None

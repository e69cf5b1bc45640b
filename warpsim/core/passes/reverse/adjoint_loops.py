"""Reversal of loops: in forward order where that is right, else from checkpoints.

*Forward order*: when the only active values that a loop carries are reductions (see `loop_shape`), each
iteration is recomputed and reversed in turn, in one loop that keeps nothing.

*General*: iterations are reversed from the last to the first, in blocks. The states of one block lie on the stack of
the thread; those at the starts of blocks are found from a fixed number of checkpoints, see `checkpoints`. Memory
never grows with the number of iterations, and any number is right. A `while` is counted first, which leaves the
states of its last block, then treated the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from ....errors import NotDifferentiableError
from ...ir.builder import Builder
from ...ir.def_use import captured_values
from ...ir.nodes import For, Region, Value, While
from ...ops import construct
from ...ops.registry import TABLE
from ...types.arrays import ArrayType
from ...types.scalars import int64
from .checkpoints import Checkpoints, State, States, number
from .cotangents import Cotangents, accumulate
from .invariant_reads import InvariantReads, add_up
from .iterations import CarriedCotangents, ForIterations, Iterations, Sweeps, WhileIterations
from .loop_shape import LoopShape, shape_of
from .recompute import Recompute

_CLIMBS = 0.1  # Checkpoints that are found anew for a block: most loops have one block.


class Loops(Sweeps):
    """The loop half of the reverser."""

    budget: int
    """Bytes of the stack for the states of one loop."""
    invariant_reads: InvariantReads

    def reverse_loop(self, node: For | While, primals: Recompute, cotangents: Cotangents) -> None:
        elements = self.invariant_reads.enter(node)
        outside = [v for v in captured_values(node) if v in self.active] + self.invariant_reads.within(node)
        seeds = {k: cotangents.take(r) for k, r in enumerate(node.results) if r in self.active}
        shape = shape_of(node, self.active)
        refuse_arrays(node, shape)
        iterations = (
            ForIterations(self, node, primals, shape)
            if isinstance(node, For)
            else WhileIterations(self, node, primals, shape)
        )
        if shape.in_forward_order:
            at_start, contributions = iterations.forwards(seeds, outside)
        else:
            at_start, contributions = Reversal(self.builder, iterations, outside, self.budget).run(seeds)
        for k, contribution in at_start.items():
            if node.init[k] in self.active:
                cotangents.contribute(node.init[k], contribution)
        add_up(elements, contributions, primals, self.builder)
        for value, contribution in contributions.items():
            cotangents.contribute(value, contribution)


class Reversal:
    """Reverses the iterations of a loop from the last to the first, block by block."""

    def __init__(self, builder: Builder, iterations: Iterations, captured: list[Value], budget: int):
        self.builder, self.iterations, self.captured = builder, iterations, captured
        overwrites = iterations.overwrites
        stored = (*overwrites.others(iterations.initial), *overwrites.nothing(iterations.initial))
        self.states = States(builder, stored, 3 * budget // 4)
        self.budget = budget - self.states.size
        self.fixed: CarriedCotangents = {}
        """Cotangents of reductions: the same in every iteration."""
        self.flow: tuple[int, ...] = ()
        """Positions of the active recurrences: their cotangents change from iteration to iteration."""
        self.live: list[Value] = []
        """Captured values that get a cotangent."""

    def run(self, seeds: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        """From cotangents of the results to those of the values at the start, and of captured values."""
        iterations = self.iterations
        trips, at_end = iterations.count(self.states)
        d_end, last = iterations.through_last_test(at_end, seeds)
        self.fixed = {k: d_end[k] for k in iterations.shape.reductions}
        self.flow = tuple(k for k in iterations.shape.recurrences if k in d_end)
        flow = tuple(d_end[k] for k in self.flow)
        most = iterations.most
        out = self.blocks(trips, flow) if most is None or most > self.states.slots else self.single(trips, flow)
        for value, contribution in zip(self.live, out[len(self.flow) :], strict=True):
            last.contribute(value, contribution)
        return {**self.fixed, **dict(zip(self.flow, out, strict=False))}, last

    def single(self, trips: Value, flow: State) -> State:
        """Reverse a loop of no more iterations than a block has."""
        logged = self.keep(number(0), trips - 1, self.iterations.initial)
        region = self.backwards(number(0), trips)
        start = (*logged, *flow, *map(construct.zero, self.live))
        return self.builder.loop(number(0), trips, number(1), start, region)[len(logged) :]

    def blocks(self, trips: Value, flow: State) -> State:
        """Reverse any number of iterations; carries the last checkpoint in use, then cotangents."""
        size = number(self.states.slots)
        count = (trips + (size - 1)) / size
        checkpoints = Checkpoints(self.builder, self.iterations.initial, self.budget)
        m, slot = Value(int64), Value(int64)
        flowing = self.flowing()
        region = Region()
        with self.builder.inside(region):
            block = count - 1 - m
            slot_of_block, state = self.climb(slot, block, checkpoints)
            first = block * size
            inside = TABLE["min"](size, trips - first)
            known = TABLE["eq"](m, 0) if self.iterations.keeps_last else None
            runs = inside - 1 if known is None else TABLE["where"](known, number(0), inside - 1)
            logged = self.keep(first, runs, state)
            backwards = self.backwards(first, inside)
            sums = tuple(Value(v.type) for v in self.live)
            region.params = (m, slot, *flowing, *sums)
            out = self.builder.loop(number(0), inside, number(1), (*logged, *flowing, *sums), backwards)
            region.yields = (slot_of_block - 1, *out[len(logged) :])
        start = (number(0), *flow, *map(construct.zero, self.live))
        return self.builder.loop(number(0), count, number(1), start, region, trips=1)[1:]

    def flowing(self) -> State:
        return tuple(Value(self.iterations.params[k].type) for k in self.flow)

    def keep(self, first: Value, count: Value, state: State) -> State:
        """Run `count` iterations from a state, and store it and those that follow: what they only log, at the end."""
        overwrites = self.iterations.overwrites
        self.states.store(number(0), (*overwrites.others(state), *overwrites.nothing(state)))

        def step(j: Value, now: State) -> State:
            then, log = self.iterations.advance_logged(first + j, now)
            self.states.store(j + 1, (*overwrites.others(then), *log))
            return then

        return overwrites.log_changes(self.up_to(count, state, step))

    def backwards(self, first: Value, count: Value) -> Region:
        """The loop over the iterations of a block whose states are stored, last one first.

        It carries the values of which changes are stored, then cotangents.
        """
        t, flowing, overwrites = Value(int64), self.flowing(), self.iterations.overwrites
        logged = tuple(Value(v.type) for v in overwrites.log_changes(self.iterations.initial))
        whole = len(self.iterations.initial) - len(logged)
        region = Region()
        with self.builder.inside(region):
            k = count - 1 - t
            stored = self.states.load(k)
            after = {**self.fixed, **dict(zip(self.flow, flowing, strict=True))}
            state = overwrites.together(stored[:whole], logged)
            before, contributions = self.iterations.reverse(first + k, state, after)
            self.live = [v for v in self.captured if v in contributions]
            sums = tuple(Value(v.type) for v in self.live)
            region.params = (t, *logged, *flowing, *sums)
            totals = (accumulate(s, contributions[v]) for s, v in zip(sums, self.live, strict=True))
            undone = overwrites.undone(logged, stored[whole:])
            region.yields = (*undone, *(before[p] for p in self.flow), *totals)
        return region

    def climb(self, slot: Value, block: Value, checkpoints: Checkpoints) -> tuple[Value, State]:
        """Run from the state of the last checkpoint to the start of a block, with checkpoints on the way."""
        first, start = checkpoints.top(slot)
        init = (slot, first, *start)
        before, body = (Region(tuple(Value(v.type) for v in init)) for _ in range(2))
        _, at, *_ = before.params
        with self.builder.inside(before):
            before.yields = (TABLE["lt"](at, block), *before.params)
        top, at, *now = body.params
        with self.builder.inside(body):
            far = checkpoints.distance(block + 1 - at, top)
            begin, runs = at * self.states.slots, far * self.states.slots
            then = self.up_to(runs, tuple(now), lambda j, state: self.iterations.advance(begin + j, state))
            checkpoints.put(top + 1, at + far, then)
            body.yields = (top + 1, at + far, *then)
        last, _, *state = self.builder.repeat(init, before, body, trips=_CLIMBS)
        return last, tuple(state)

    def up_to(self, count: Value, init: State, body: Callable[[Value, State], State]) -> State:
        """A loop over 0, 1, ... count - 1, whose body is traced."""
        index = Value(int64)
        params = tuple(Value(v.type) for v in init)
        region = Region((index, *params))
        with self.builder.inside(region):
            region.yields = body(index, params)
        return self.builder.loop(number(0), count, number(1), init, region)


def refuse_arrays(node: For | While, shape: LoopShape) -> None:
    """States are checkpoints in memory: structs may refer to arrays there, but an array alone is no element."""
    if not shape.in_forward_order and any(isinstance(node.carried[k].type, ArrayType) for k in shape.recurrences):
        raise NotDifferentiableError(
            "a loop that rebinds an array variable has no derivative",
            node.location,
            help="index one array instead of switching between two in the loop",
        )

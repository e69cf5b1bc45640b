"""Reversal of loops: in forward order where that is right, else from checkpoints.

*Forward order*: when the only active values that a loop carries are reductions (see `loop_shape`), each
iteration is recomputed and reversed in turn, in one loop that keeps nothing.

*General*: iterations are reversed from the last to the first, each recomputed from the state at its start.
A fixed number of checkpoints lies on the stack of the thread, and the states between are computed again, see
`checkpoints`. Memory never grows with the number of iterations, and any number is right. A `while` is counted
first, then treated the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from ....errors import NotDifferentiableError
from ...ir.builder import Builder
from ...ir.def_use import captured
from ...ir.nodes import For, Node, Region, Value, While
from ...ops import construct
from ...ops.registry import TABLE
from ...types.arrays import ArrayType
from ...types.scalars import int64
from .checkpoints import Checkpoints, number
from .cotangents import Cotangents, accumulated
from .iterations import CarriedCotangents, ForIterations, Iterations, State, Sweeps, WhileIterations
from .loop_shape import LoopShape, shape_of
from .recompute import Recompute


class Loops(Sweeps):
    """The loop half of the reverser."""

    budget: int
    """Bytes of the stack for the states of one loop."""

    def reverse_loop(self, node: Node, primals: Recompute, cotangents: Cotangents) -> None:
        assert isinstance(node, For | While)
        outside = [v for v in captured(node) if v in self.active]
        seeds = {k: cotangents.take(r) for k, r in enumerate(node.results) if r in self.active}
        shape = shape_of(node, self.active)
        refuse_arrays(node, shape)
        iterations = (
            ForIterations(self, node, primals, shape) if isinstance(node, For)
            else WhileIterations(self, node, primals, shape)
        )  # fmt: skip
        if shape.in_forward_order:
            at_start, contributions = iterations.forwards(seeds, outside)
        else:
            at_start, contributions = Reversal(self.builder, iterations, outside, self.budget).run(seeds)
        for k, contribution in at_start.items():
            if node.init[k] in self.active:
                cotangents.contribute(node.init[k], contribution)
        for value, contribution in contributions.items():
            cotangents.contribute(value, contribution)


class Reversal:
    """Reverses the iterations of a loop from the last to the first."""

    def __init__(self, builder: Builder, iterations: Iterations, captured: list[Value], budget: int):
        self.builder, self.iterations, self.captured, self.budget = builder, iterations, captured, budget
        self.fixed: CarriedCotangents = {}
        """Cotangents of reductions: the same in every iteration."""
        self.flow: tuple[int, ...] = ()
        """Positions of the active recurrences: their cotangents change from iteration to iteration."""
        self.live: list[Value] = []
        """Captured values that get a cotangent."""

    def run(self, seeds: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        """From cotangents of the results to those of the values at the start, and of captured values."""
        iterations = self.iterations
        trips, at_end = iterations.counted()
        d_end, last = iterations.through_last_test(at_end, seeds)
        self.fixed = {k: d_end[k] for k in iterations.shape.reductions}
        self.flow = tuple(k for k in iterations.shape.recurrences if k in d_end)
        checkpoints = Checkpoints(self.builder, iterations.initial, self.budget)
        region = self.backwards(trips, checkpoints)
        start = (number(0), *(d_end[k] for k in self.flow), *map(construct.zero, self.live))
        _, *out = self.builder.loop(number(0), trips, number(1), start, region)
        for value, contribution in zip(self.live, out[len(self.flow) :], strict=True):
            last.contribute(value, contribution)
        return {**self.fixed, **dict(zip(self.flow, out, strict=False))}, last

    def backwards(self, trips: Value, checkpoints: Checkpoints) -> Region:
        """The loop over iterations, last one first; carries the last slot in use, then cotangents."""
        m, slot = Value(int64), Value(int64)
        flowing = tuple(Value(self.iterations.params[k].type) for k in self.flow)
        region = Region()
        with self.builder.inside(region):
            k = trips - 1 - m
            slot_of_k, state = self.climb(slot, k, checkpoints)
            after = {**self.fixed, **dict(zip(self.flow, flowing, strict=True))}
            before, contributions = self.iterations.reverse(k, state, after)
            self.live = [v for v in self.captured if v in contributions]
            sums = tuple(Value(v.type) for v in self.live)
            region.params = (m, slot, *flowing, *sums)
            totals = (accumulated(s, contributions[v]) for s, v in zip(sums, self.live, strict=True))
            region.yields = (slot_of_k - 1, *(before[p] for p in self.flow), *totals)
        return region

    def climb(self, slot: Value, k: Value, checkpoints: Checkpoints) -> tuple[Value, State]:
        """Run from the state in the last slot to iteration `k`, keeping states on the way: its slot and its state."""
        slot, first, state = self.far_steps(slot, k, checkpoints)

        def step(j: Value, now: State) -> State:
            then = self.iterations.advance(first + j, now)
            checkpoints.store(slot + j + 1, first + j + 1, then)
            return then

        return slot + (k - first), self.up_to(k - first, state, step)

    def far_steps(self, slot: Value, k: Value, checkpoints: Checkpoints) -> tuple[Value, Value, State]:
        """Keep states far apart while there is no room for each: the last slot, its iteration and its state."""
        first, start = checkpoints.load(slot)
        init = (slot, first, *start)
        before, body = (Region(tuple(Value(v.type) for v in init)) for _ in range(2))
        top, at, *_ = before.params
        with self.builder.inside(before):
            before.yields = (TABLE["gt"](k - at, checkpoints.free(top)), *before.params)
        top, at, *now = body.params
        with self.builder.inside(body):
            far = checkpoints.distance(k + 1 - at, top)
            then = self.up_to(far, tuple(now), lambda j, state: self.iterations.advance(at + j, state))
            checkpoints.store(top + 1, at + far, then)
            body.yields = (top + 1, at + far, *then)
        target, at, *state = self.builder.repeat(init, before, body)
        return target, at, tuple(state)

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
            "a loop that rebinds an array variable has no derivative", node.location,
            help="index one array instead of switching between two in the loop",
        )  # fmt: skip

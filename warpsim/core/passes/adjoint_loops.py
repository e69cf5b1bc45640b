"""How loops are reversed: in forward order where that is right, else from kept states.

*Forward order*: when the only active values that a loop carries are sums (see `loop_shape`), each
iteration is replayed and reversed in turn, in one loop that keeps nothing.

*General*: iterations are reversed from the last to the first, each replayed from the state at its start.
States are kept in fixed buffers on the stack, two levels deep: K states spread over the whole loop, then
K within the stretch being reversed. Up to K iterations cost one more pass, up to K*K two; beyond, the
states between the kept ones are recomputed. Memory never grows with the number of iterations, and any
number is right. A `while` is counted first, then treated the same way.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import NotDifferentiableError
from ..ir.builder import Builder, constant
from ..ir.nodes import Constant, For, Node, Region, Value, While
from ..ops import construct, memory
from ..ops.registry import TABLE
from ..types import structs
from ..types.arrays import ArrayType, array_type
from ..types.scalars import int64
from .cotangents import Cotangents, accumulated
from .loop_shape import LoopShape, shape_of
from .replay import Replay
from .rounds import CountedRounds, RepeatedRounds, Rounds, Slopes, State, Sweeps

_BUFFER_BYTES = 16384  # per level and loop
_MOST_STATES, _FEWEST_STATES = 64, 8


class Loops(Sweeps):
    """The loop half of the reverser."""

    def captured(self, node: Node) -> list[Value]:
        raise NotImplementedError

    def reverse_loop(self, node: Node, replay: Replay, cotangents: Cotangents) -> None:
        assert isinstance(node, For | While)
        captured = self.captured(node)
        seeds = {k: cotangents.take(r) for k, r in enumerate(node.results) if r in self.active}
        shape = shape_of(node, self.active)
        refuse_arrays(node, shape)
        rounds = (
            CountedRounds(self, node, replay, shape) if isinstance(node, For)
            else RepeatedRounds(self, node, replay, shape)
        )  # fmt: skip
        if shape.forward:
            at_start, shares = rounds.forwards(seeds, captured)
        else:
            at_start, shares = Reversal(self.builder, rounds, captured).run(seeds)
        for k, share in at_start.items():
            if node.init[k] in self.active:
                cotangents.give(node.init[k], share)
        for value, share in shares.items():
            cotangents.give(value, share)


class Reversal:
    """Reverses the rounds of a loop from the last to the first."""

    def __init__(self, builder: Builder, rounds: Rounds, captured: list[Value]):
        self.builder, self.rounds, self.captured = builder, rounds, captured
        self.slots = slot_count(rounds.initial)
        self.fixed: Slopes = {}
        """Cotangents of sums: the same in every round."""
        self.flow: tuple[int, ...] = ()
        """Positions of the active values in the state: their cotangents change from round to round."""
        self.live: list[Value] = []
        """Captured values that get a cotangent."""

    def run(self, seeds: Slopes) -> tuple[Slopes, Cotangents]:
        """From cotangents of the results to those of the values at the start, and of captured values."""
        rounds, zero = self.rounds, number(0)
        trips, at_end = rounds.counted()
        d_end, last = rounds.through_last_test(at_end, seeds)
        self.fixed = {k: d_end[k] for k in rounds.shape.sums}
        self.flow = tuple(k for k in rounds.shape.state if k in d_end)
        stride = at_least_one(divided_up(trips, number(self.slots)))
        whole = Buffer(self.builder, rounds.initial, self.slots)
        self.save_states(rounds.initial, zero, trips, stride, whole)
        region = self.stretches(trips, stride, whole)
        start = (*(d_end[k] for k in self.flow), *map(construct.zero, self.live))
        out = self.builder.loop(zero, divided_up(trips, stride), number(1), start, region)
        for value, share in zip(self.live, out[len(self.flow) :], strict=True):
            last.give(value, share)
        return {**self.fixed, **dict(zip(self.flow, out, strict=False))}, last

    def stretches(self, trips: Value, stride: Value, whole: Buffer) -> Region:
        """The loop over stretches between states kept of the whole loop, last one first."""
        q = Value(int64)
        region = Region((q,))
        part = Buffer(self.builder, self.rounds.initial, self.slots)
        with self.builder.inside(region):
            segment = divided_up(trips, stride) - 1 - q
            low = segment * stride
            high = TABLE["min"](trips, low + stride)
            inner_stride = at_least_one(divided_up(high - low, number(self.slots)))
            self.save_states(whole.load(segment), low, high, inner_stride, part)
            inner = self.stretch(low, high, inner_stride, part)
            carried = tuple(Value(p.type) for p in inner.params[1:])
            region.params = (q, *carried)
            region.yields = self.builder.loop(number(0), high - low, number(1), carried, inner)
        return region

    def stretch(self, low: Value, high: Value, stride: Value, kept: Buffer) -> Region:
        """The loop over the rounds of a stretch, last one first, each from the nearest kept state."""
        m = Value(int64)
        params = tuple(self.rounds.params[k] for k in self.flow)
        flowing = tuple(Value(p.type) for p in params)
        region = Region((m,))
        with self.builder.inside(region):
            k = high - 1 - m
            slot = (k - low) / stride
            first = low + slot * stride
            state = self.up_to(k - first, kept.load(slot), lambda j, at: self.rounds.advance(first + j, at))
            after = {**self.fixed, **dict(zip(self.flow, flowing, strict=True))}
            before, shares = self.rounds.reverse(k, state, after)
            self.live = [v for v in self.captured if v in shares]
            sums = tuple(Value(v.type) for v in self.live)
            region.params = (m, *flowing, *sums)
            totals = (accumulated(s, shares[v]) for s, v in zip(sums, self.live, strict=True))
            region.yields = (*(before[p] for p in self.flow), *totals)
        return region

    def save_states(self, state: State, low: Value, high: Value, stride: Value, buffer: Buffer) -> None:
        """Run the rounds [low, high) but the last from `state`, keeping every stride-th state."""
        buffer.store(number(0), state)

        def step(j: Value, now: State) -> State:
            then = self.rounds.advance(low + j, now)
            k = j + 1
            kept = Region()
            with self.builder.inside(kept):
                buffer.store(k / stride, then)
            self.builder.branch(TABLE["eq"](k % stride, number(0)), kept, Region())
            return then

        self.up_to(high - low - 1, state, step)

    def up_to(self, count: Value, init: State, body: Callable[[Value, State], State]) -> State:
        """A loop over 0, 1, ... count - 1, whose body is traced."""
        index = Value(int64)
        params = tuple(Value(v.type) for v in init)
        region = Region((index, *params))
        with self.builder.inside(region):
            region.yields = body(index, params)
        return self.builder.loop(number(0), count, number(1), init, region)


class Buffer:
    """Room for a number of states on the stack: one local array per value."""

    def __init__(self, builder: Builder, state: State, slots: int):
        [row] = memory.local_array.rows
        self.arrays = []
        for value in state:
            t = array_type(value.type, 1, False, (slots,))
            facts = {"shape": (slots,), "dtype": value.type, "cleared": False}
            self.arrays.append(builder.call(row, (), (t,), facts))

    def store(self, slot: Value, state: State) -> None:
        for array, value in zip(self.arrays, state, strict=True):
            memory.store(array, slot, value)

    def load(self, slot: Value) -> State:
        return tuple(memory.load(array, slot) for array in self.arrays)


def number(n: int) -> Constant:
    return constant(int64, n)


def divided_up(a: Value, b: Value) -> Value:
    """The quotient rounded up, for a positive divisor; 0 for a = 0."""
    return (a + b - 1) / b


def at_least_one(n: Value) -> Value:
    found: Value = TABLE["max"](n, number(1))
    return found


def slot_count(state: State) -> int:
    size = sum(structs.numpy_dtype(v.type).itemsize for v in state) or 1
    return max(_FEWEST_STATES, min(_MOST_STATES, _BUFFER_BYTES // size))


def refuse_arrays(node: For | While, shape: LoopShape) -> None:
    """States are kept in memory: structs may refer to arrays there, but an array alone is no element."""
    params = node.body.params[1:] if isinstance(node, For) else node.before.params
    if not shape.forward and any(isinstance(params[k].type, ArrayType) for k in shape.state):
        raise NotDifferentiableError(
            "a loop that rebinds an array variable has no derivative", node.location,
            help="index one array instead of switching between two in the loop",
        )  # fmt: skip

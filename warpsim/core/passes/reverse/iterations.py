"""One round of a loop, forwards and backwards: what `adjoint_loops` asks of a `for` and of a `while`.

The state is what a round must know to be replayed (see `loop_shape`); sums count as zero in a replay,
since nothing reads them. Rounds are numbered from 0.
"""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder
from ...ir.nodes import For, Node, Region, Value, While
from ...ops import construct
from ...ops.choice import cast
from ...ops.registry import TABLE
from ...types.scalars import int64
from ..analysis.activity import Activity
from .cotangents import Cotangents, accumulated
from .loop_shape import LoopShape
from .recompute import Replay

State = tuple[Value, ...]
Slopes = dict[int, Value]
"""Cotangents of carried values, by position."""


class Sweeps:
    """What a round asks of the reverser: to run the nodes of a region forwards, backwards, or both ways."""

    builder: Builder
    active: Activity

    def run_again(self, nodes: list[Node], replay: Replay) -> None:
        raise NotImplementedError

    def reverse(self, nodes: list[Node], replay: Replay, cotangents: Cotangents) -> None:
        raise NotImplementedError

    def both_ways(self, nodes: list[Node], replay: Replay, cotangents: Cotangents) -> None:
        raise NotImplementedError


class Rounds:
    """What both kinds of loop share; `loops` is the reverser, `replay` knows the values around the loop."""

    params: tuple[Value, ...]

    def __init__(self, loops: Sweeps, node: Any, replay: Replay, shape: LoopShape):
        self.loops, self.node, self.replay, self.shape = loops, node, replay, shape
        start = replay.uses(node.init)
        self.initial: State = tuple(start[k] for k in shape.state)

    def at(self, state: State) -> Replay:
        """A replay that knows the carried values at the start of a round."""
        known: dict[Value, Value] = dict(zip((self.params[k] for k in self.shape.state), state, strict=True))
        return self.replay.inner({**{p: construct.zero(p) for p in self.params if p not in known}, **known})

    def fresh_state(self) -> State:
        """Names for the state, as parameters of a region."""
        return tuple(Value(self.params[k].type, self.params[k].hint) for k in self.shape.state)

    def next_state(self, replay: Replay) -> State:
        return replay.uses(tuple(self.node.body.yields[k] for k in self.shape.state))

    def arriving(self, after: Slopes) -> Cotangents:
        """Cotangents of what a round yields."""
        found = Cotangents()
        for k, slope in after.items():
            if self.node.body.yields[k] in self.loops.active:
                found.give(self.node.body.yields[k], slope)
        return found

    def leaving(self, cotangents: Cotangents) -> Slopes:
        """Cotangents of the carried values at the start of a round."""
        return {k: cotangents.take(p) for k, p in enumerate(self.params) if p in self.loops.active}

    # ----- what the kinds of loop define ------------------------------------------------------

    def counted(self) -> tuple[Value, State]:
        """The number of rounds, and the state after the last as far as it is known."""
        raise NotImplementedError

    def through_last_test(self, at_end: State, seeds: Slopes) -> tuple[Slopes, Cotangents]:
        """From cotangents of the results to those of the carried values after the last round."""
        raise NotImplementedError

    def advance(self, k: Value, state: State) -> State:
        """Replay round `k`."""
        raise NotImplementedError

    def reverse(self, k: Value, state: State, after: Slopes) -> tuple[Slopes, Cotangents]:
        """Replay and reverse round `k`: cotangents of its start, and of values from outside."""
        raise NotImplementedError

    def forwards(self, seeds: Slopes, captured: list[Value]) -> tuple[Slopes, Cotangents]:
        """Replay and reverse all rounds in forward order."""
        raise NotImplementedError


class CountedRounds(Rounds):
    """The rounds of a For."""

    node: For

    def __init__(self, loops: Sweeps, node: For, replay: Replay, shape: LoopShape):
        self.params = node.body.params[1:]
        super().__init__(loops, node, replay, shape)
        self.start, self.stop, self.step = replay.uses((node.start, node.stop, node.step))

    def counted(self) -> tuple[Value, State]:
        start, stop, step = (_wide(v) for v in (self.start, self.stop, self.step))
        upwards = TABLE["gt"](step, 0)
        distance = TABLE["where"](upwards, stop - start, start - stop)
        size = TABLE["abs"](step)
        return TABLE["max"]((distance + size - 1) / size, int64(0)), ()

    def through_last_test(self, at_end: State, seeds: Slopes) -> tuple[Slopes, Cotangents]:
        return self.leaving(Cotangents((self.params[k], slope) for k, slope in seeds.items())), Cotangents()

    def inner(self, k: Value, state: State) -> Replay:
        replay = self.at(state)
        replay.mapping[self.node.body.params[0]] = self.start + cast(k, to=self.start.type) * self.step
        return replay

    def advance(self, k: Value, state: State) -> State:
        replay = self.inner(k, state)
        self.loops.run_again(self.node.body.nodes, replay)
        return self.next_state(replay)

    def reverse(self, k: Value, state: State, after: Slopes) -> tuple[Slopes, Cotangents]:
        cotangents = self.arriving(after)
        self.loops.both_ways(self.node.body.nodes, self.inner(k, state), cotangents)
        return self.leaving(cotangents), cotangents

    def forwards(self, seeds: Slopes, captured: list[Value]) -> tuple[Slopes, Cotangents]:
        index, state = Value(self.start.type), self.fresh_state()
        region, builder = Region(), self.loops.builder
        with builder.inside(region):
            replay = self.at(state)
            replay.mapping[self.node.body.params[0]] = index
            shares = self.arriving(seeds)
            self.loops.both_ways(self.node.body.nodes, replay, shares)
            live = [v for v in captured if v in shares]
            sums = tuple(Value(v.type) for v in live)
            region.params = (index, *state, *sums)
            totals = (accumulated(s, shares[v]) for s, v in zip(sums, live, strict=True))
            region.yields = (*self.next_state(replay), *totals)
        start = (*self.initial, *map(construct.zero, live))
        out = builder.loop(self.start, self.stop, self.step, start, region)
        return seeds, Cotangents(zip(live, out[len(state) :], strict=True))


class RepeatedRounds(Rounds):
    """The rounds of a While: its test, then its body. The test that fails computes the results."""

    node: While

    def __init__(self, loops: Sweeps, node: While, replay: Replay, shape: LoopShape):
        self.params = node.before.params
        super().__init__(loops, node, replay, shape)

    def counted(self) -> tuple[Value, State]:
        state, count = self.fresh_state(), Value(int64)
        before, builder = Region((count, *state)), self.loops.builder
        with builder.inside(before):
            replay = self.tested(state)
            passed = replay.uses(self.node.before.yields)
            before.yields = (passed[0], count, *state, *passed[1:])
        entered = tuple(Value(v.type) for v in before.yields[1:])
        body = Region(entered)
        with builder.inside(body):
            replay = self.at(entered[1 : 1 + len(state)])
            replay.mapping.update(zip(self.node.body.params, entered[1 + len(state) :], strict=True))
            self.loops.run_again(self.node.body.nodes, replay)
            body.yields = (entered[0] + int64(1), *self.next_state(replay))
        out = builder.repeat((construct.zero(count), *self.initial), before, body)
        return out[0], out[1 : 1 + len(state)]

    def tested(self, state: State) -> Replay:
        """A replay that has been through the test."""
        replay = self.at(state)
        self.loops.run_again(self.node.before.nodes, replay)
        return replay

    def entered(self, state: State) -> Replay:
        """A replay at the start of the body."""
        replay = self.tested(state)
        passed = replay.uses(self.node.before.yields[1:])
        replay.mapping.update(zip(self.node.body.params, passed, strict=True))
        return replay

    def advance(self, k: Value, state: State) -> State:
        replay = self.entered(state)
        self.loops.run_again(self.node.body.nodes, replay)
        return self.next_state(replay)

    def reverse(self, k: Value, state: State, after: Slopes) -> tuple[Slopes, Cotangents]:
        replay, cotangents = self.entered(state), self.arriving(after)
        self.loops.both_ways(self.node.body.nodes, replay, cotangents)
        d_passed = {j: cotangents.take(p) for j, p in enumerate(self.node.body.params) if p in self.loops.active}
        self.through_test(replay, d_passed, cotangents)
        return self.leaving(cotangents), cotangents

    def through_last_test(self, at_end: State, seeds: Slopes) -> tuple[Slopes, Cotangents]:
        cotangents = Cotangents()
        self.through_test(self.tested(at_end), seeds, cotangents)
        return self.leaving(cotangents), cotangents

    def through_test(self, replay: Replay, d_passed: Slopes, cotangents: Cotangents) -> None:
        for j, slope in d_passed.items():
            if self.node.before.yields[1 + j] in self.loops.active:
                cotangents.give(self.node.before.yields[1 + j], slope)
        self.loops.reverse(self.node.before.nodes, replay, cotangents)

    def forwards(self, seeds: Slopes, captured: list[Value]) -> tuple[Slopes, Cotangents]:
        """The test has nothing active: sums go through it unchanged."""
        at_end = Cotangents()
        for j, slope in seeds.items():
            at_end.give(self.node.before.yields[1 + j], slope)
        fixed = {k: at_end.take(self.params[k]) for k in self.shape.sums}
        body, passed = Region(), tuple(Value(p.type) for p in self.node.body.params)
        builder = self.loops.builder
        with builder.inside(body):
            replay = self.replay.inner(dict(zip(self.node.body.params, passed, strict=True)))
            shares = self.arriving(fixed)
            self.loops.both_ways(self.node.body.nodes, replay, shares)
            live = [v for v in captured if v in shares]
            sums = tuple(Value(v.type) for v in live)
            body.params = (*passed, *sums)
            totals = (accumulated(s, shares[v]) for s, v in zip(sums, live, strict=True))
            body.yields = (*self.next_state(replay), *totals)
        state, before = self.fresh_state(), Region()
        totals_so_far = tuple(Value(v.type) for v in live)
        with builder.inside(before):
            tested = self.tested(state)
            before.params = (*state, *totals_so_far)
            before.yields = (*tested.uses(self.node.before.yields), *totals_so_far)
        out = builder.repeat((*self.initial, *map(construct.zero, live)), before, body)
        return fixed, Cotangents(zip(live, out[len(passed) :], strict=True))


def _wide(v: Value) -> Value:
    return v if v.type is int64 else cast(v, to=int64)

"""One iteration of a `for` or a `while`, recomputed and reversed: where loop-carried values get their cotangents.

The state is what must be known to recompute an iteration (see `loop_shape`); reductions count as zero there,
since nothing reads them. Iterations are numbered from 0.
"""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder
from ...ir.def_use import captured_values
from ...ir.nodes import Constant, For, Node, Region, Value, While
from ...ops import construct
from ...ops.choice import cast
from ...ops.registry import TABLE
from ...types.scalars import int64
from ..analysis.activity import Activity
from .checkpoints import State, States
from .cotangents import Cotangents, accumulate
from .loop_shape import LoopShape
from .overwrites import Overwrites
from .recompute import Recompute

CarriedCotangents = dict[int, Value]
"""Cotangents of carried values, by position."""


class Sweeps:
    """What an iteration asks of the reverser: to run the nodes of a region forwards, backwards, or both ways."""

    builder: Builder
    active: Activity

    def run_again(self, nodes: list[Node], primals: Recompute) -> None:
        raise NotImplementedError

    def reverse(self, nodes: list[Node], primals: Recompute, cotangents: Cotangents) -> None:
        raise NotImplementedError

    def both_ways(self, nodes: list[Node], primals: Recompute, cotangents: Cotangents) -> None:
        raise NotImplementedError


class Iterations:
    """What both kinds of loop share; `loops` is the reverser, `primals` knows the values around the loop."""

    def __init__(self, loops: Sweeps, node: Any, primals: Recompute, shape: LoopShape):
        self.loops, self.node, self.primals, self.shape = loops, node, primals, shape
        self.params: tuple[Value, ...] = node.carried
        start = primals.uses(node.init)
        self.initial: State = tuple(start[k] for k in shape.recurrences)
        self.overwrites = Overwrites(node, shape.recurrences)

    def at(self, state: State) -> Recompute:
        """The primal values at the start of an iteration."""
        known: dict[Value, Value] = dict(zip((self.params[k] for k in self.shape.recurrences), state, strict=True))
        return self.primals.inner({**{p: construct.zero(p) for p in self.params if p not in known}, **known})

    def fresh_state(self) -> State:
        """Names for the state, as parameters of a region."""
        return tuple(Value(self.params[k].type, self.params[k].hint) for k in self.shape.recurrences)

    def next_state(self, primals: Recompute) -> State:
        return primals.uses(tuple(self.node.body.yields[k] for k in self.shape.recurrences))

    def arriving(self, after: CarriedCotangents) -> Cotangents:
        """Cotangents of what an iteration yields."""
        cotangents = Cotangents(beyond=captured_values(self.node))
        for k, cotangent in after.items():
            if self.node.body.yields[k] in self.loops.active:
                cotangents.contribute(self.node.body.yields[k], cotangent)
        return cotangents

    def leaving(self, cotangents: Cotangents) -> CarriedCotangents:
        """Cotangents of the carried values at the start of an iteration."""
        return {k: cotangents.take(p) for k, p in enumerate(self.params) if p in self.loops.active}

    # ----- what the kinds of loop define ------------------------------------------------------

    @property
    def keeps_last(self) -> bool:
        """Whether counting leaves the states of the last block."""
        return False

    @property
    def most(self) -> int | None:
        """The number of iterations where it is constant."""
        return None

    def count(self, states: States) -> tuple[Value, State]:
        """The number of iterations, and the state after the last as far as it is known."""
        raise NotImplementedError

    def through_last_test(self, at_end: State, seeds: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        """From cotangents of the results to those of the carried values after the last iteration."""
        raise NotImplementedError

    def primals_after(self, k: Value, state: State) -> Recompute:
        """The primal values after iteration `k`, which runs again."""
        raise NotImplementedError

    def advance(self, k: Value, state: State) -> State:
        """Recompute iteration `k`."""
        return self.next_state(self.primals_after(k, state))

    def advance_logged(self, k: Value, state: State) -> tuple[State, State]:
        """Recompute iteration `k`: the next state, and a log of what was overwritten."""
        primals, builder = self.primals_after(k, state), self.loops.builder
        return self.next_state(primals), self.overwrites.log(primals, builder.region, builder)

    def reverse(self, k: Value, state: State, after: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        """Recompute and reverse iteration `k`: cotangents of its start, and of values from outside."""
        raise NotImplementedError

    def forwards(self, seeds: CarriedCotangents, outside: list[Value]) -> tuple[CarriedCotangents, Cotangents]:
        """Recompute and reverse all iterations in forward order."""
        raise NotImplementedError


class ForIterations(Iterations):
    """The iterations of a For."""

    node: For

    def __init__(self, loops: Sweeps, node: For, primals: Recompute, shape: LoopShape):
        super().__init__(loops, node, primals, shape)
        self.start, self.stop, self.step = primals.uses((node.start, node.stop, node.step))

    @property
    def most(self) -> int | None:
        bounds = (self.node.start, self.node.stop, self.node.step)
        constants = [int(v.value) for v in bounds if isinstance(v, Constant)]
        return len(range(*constants)) if len(constants) == len(bounds) else None

    def count(self, states: States) -> tuple[Value, State]:
        start, stop, step = (_wide(v) for v in (self.start, self.stop, self.step))
        upwards = TABLE["gt"](step, 0)
        distance = TABLE["where"](upwards, stop - start, start - stop)
        size = TABLE["abs"](step)
        return TABLE["max"]((distance + (size - 1)) / size, int64(0)), ()

    def through_last_test(self, at_end: State, seeds: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        return self.leaving(Cotangents((self.params[k], cotangent) for k, cotangent in seeds.items())), Cotangents()

    def inner(self, k: Value, state: State) -> Recompute:
        primals = self.at(state)
        primals.mapping[self.node.index] = self.start + cast(k, to=self.start.type) * self.step
        return primals

    def primals_after(self, k: Value, state: State) -> Recompute:
        primals = self.inner(k, state)
        self.loops.run_again(self.node.body.nodes, primals)
        return primals

    def reverse(self, k: Value, state: State, after: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        cotangents = self.arriving(after)
        self.loops.both_ways(self.node.body.nodes, self.inner(k, state), cotangents)
        return self.leaving(cotangents), cotangents

    def forwards(self, seeds: CarriedCotangents, outside: list[Value]) -> tuple[CarriedCotangents, Cotangents]:
        index, state = Value(self.start.type), self.fresh_state()
        region, builder = Region(), self.loops.builder
        with builder.inside(region):
            primals = self.at(state)
            primals.mapping[self.node.index] = index
            contributions = self.arriving(seeds)
            self.loops.both_ways(self.node.body.nodes, primals, contributions)
            live = [v for v in outside if v in contributions]
            sums = tuple(Value(v.type) for v in live)
            region.params = (index, *state, *sums)
            totals = (accumulate(s, contributions[v]) for s, v in zip(sums, live, strict=True))
            region.yields = (*self.next_state(primals), *totals)
        start = (*self.initial, *map(construct.zero, live))
        out = builder.loop(self.start, self.stop, self.step, start, region)
        return seeds, Cotangents(zip(live, out[len(state) :], strict=True))


class WhileIterations(Iterations):
    """The iterations of a While: its test, then its body. The test that fails computes the results."""

    node: While

    @property
    def keeps_last(self) -> bool:
        return not self.overwrites.chains

    def count(self, states: States) -> tuple[Value, State]:
        state, count, slot = self.fresh_state(), Value(int64), Value(int64)
        before, builder = Region((count, slot, *state)), self.loops.builder
        with builder.inside(before):
            primals = self.primals_after_test(state)
            passed = primals.uses(self.node.before.yields)
            before.yields = (passed[0], count, slot, *state, *passed[1:])
        entered = tuple(Value(v.type) for v in before.yields[1:])
        body = Region(entered)
        with builder.inside(body):
            now = entered[2 : 2 + len(state)]
            if self.keeps_last:
                states.store(entered[1], now)
            primals = self.at(now)
            primals.mapping.update(zip(self.node.body.params, entered[2 + len(state) :], strict=True))
            self.loops.run_again(self.node.body.nodes, primals)
            following = entered[1] + int64(1)
            following = TABLE["where"](TABLE["lt"](following, int64(states.slots)), following, int64(0))
            body.yields = (entered[0] + int64(1), following, *self.next_state(primals))
        out = builder.repeat((construct.zero(count), construct.zero(slot), *self.initial), before, body)
        return out[0], out[2 : 2 + len(state)]

    def primals_after_test(self, state: State) -> Recompute:
        """The primal values after the test."""
        primals = self.at(state)
        self.loops.run_again(self.node.before.nodes, primals)
        return primals

    def primals_in_body(self, state: State) -> Recompute:
        """The primal values at the start of the body."""
        primals = self.primals_after_test(state)
        passed = primals.uses(self.node.passed)
        primals.mapping.update(zip(self.node.body.params, passed, strict=True))
        return primals

    def primals_after(self, k: Value, state: State) -> Recompute:
        primals = self.primals_in_body(state)
        self.loops.run_again(self.node.body.nodes, primals)
        return primals

    def reverse(self, k: Value, state: State, after: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        primals, cotangents = self.primals_in_body(state), self.arriving(after)
        self.loops.both_ways(self.node.body.nodes, primals, cotangents)
        d_passed = {j: cotangents.take(p) for j, p in enumerate(self.node.body.params) if p in self.loops.active}
        self.through_test(primals, d_passed, cotangents)
        return self.leaving(cotangents), cotangents

    def through_last_test(self, at_end: State, seeds: CarriedCotangents) -> tuple[CarriedCotangents, Cotangents]:
        cotangents = Cotangents(beyond=captured_values(self.node))
        self.through_test(self.primals_after_test(at_end), seeds, cotangents)
        return self.leaving(cotangents), cotangents

    def through_test(self, primals: Recompute, d_passed: CarriedCotangents, cotangents: Cotangents) -> None:
        for j, cotangent in d_passed.items():
            if self.node.passed[j] in self.loops.active:
                cotangents.contribute(self.node.passed[j], cotangent)
        self.loops.reverse(self.node.before.nodes, primals, cotangents)

    def forwards(self, seeds: CarriedCotangents, outside: list[Value]) -> tuple[CarriedCotangents, Cotangents]:
        """The test has nothing active: reductions go through it unchanged."""
        at_end = Cotangents()
        for j, cotangent in seeds.items():
            at_end.contribute(self.node.passed[j], cotangent)
        fixed = {k: at_end.take(self.params[k]) for k in self.shape.reductions}
        body, passed = Region(), tuple(Value(p.type) for p in self.node.body.params)
        builder = self.loops.builder
        with builder.inside(body):
            primals = self.primals.inner(dict(zip(self.node.body.params, passed, strict=True)))
            contributions = self.arriving(fixed)
            self.loops.both_ways(self.node.body.nodes, primals, contributions)
            live = [v for v in outside if v in contributions]
            sums = tuple(Value(v.type) for v in live)
            body.params = (*passed, *sums)
            totals = (accumulate(s, contributions[v]) for s, v in zip(sums, live, strict=True))
            body.yields = (*self.next_state(primals), *totals)
        state, before = self.fresh_state(), Region()
        totals_so_far = tuple(Value(v.type) for v in live)
        with builder.inside(before):
            tested = self.primals_after_test(state)
            before.params = (*state, *totals_so_far)
            before.yields = (*tested.uses(self.node.before.yields), *totals_so_far)
        out = builder.repeat((*self.initial, *map(construct.zero, live)), before, body)
        return fixed, Cotangents(zip(live, out[len(passed) :], strict=True))


def _wide(v: Value) -> Value:
    return v if v.type is int64 else cast(v, to=int64)

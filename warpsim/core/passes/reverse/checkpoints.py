"""Binomial checkpointing: which states of a loop are stored while its iterations are reversed, and where.

Griewank and Walther 2000, "Algorithm 799: revolve". With room for s more states, each iteration run at most r
times to find them, binomial(s + r, s) iterations can be reversed; so a fixed number of states serves loops of any
length, and the work for an iteration grows like the logarithm of the number of them. Checkpoints form a stack:
the last one is that of the iteration to be reversed next, and room it leaves is used again.
"""

from __future__ import annotations

from ...ir.builder import Builder, constant
from ...ir.nodes import Constant, For, Region, Value, While, walk
from ...ops import memory
from ...ops.registry import TABLE
from ...types import structs
from ...types.arrays import array_type
from ...types.scalars import int64
from ..analysis.activity import Activity
from .loop_shape import shape_of

State = tuple[Value, ...]

_BYTES_PER_LOOP, _BYTES_PER_THREAD = 8192, 32768
_MOST_STATES, _FEWEST_STATES = 256, 8
BYTES_TO_CARRY = 256
"""For each loop of a reverse that is differentiated again: its states become variables then (see `promote_memory`)."""


class Checkpoints:
    """A stack of states in local arrays, one array per value, with the iteration that each belongs to."""

    def __init__(self, builder: Builder, start: State, budget: int):
        self.builder = builder
        values = (number(0), *start)
        size = sum(structs.numpy_dtype(v.type).itemsize for v in values)
        self.slots = max(_FEWEST_STATES, min(_MOST_STATES, budget // size))
        self.arrays = [self.local_array(v) for v in values]
        self.store(number(0), number(0), start)

    def local_array(self, value: Value) -> Value:
        [row] = memory.local_array.rows
        facts = {"shape": (self.slots,), "dtype": value.type, "cleared": False}
        array: Value = self.builder.call(row, (), (array_type(value.type, 1, False, (self.slots,)),), facts)
        return array

    def store(self, slot: Value, iteration: Value, state: State) -> None:
        for array, value in zip(self.arrays, (iteration, *state), strict=True):
            memory.store(array, slot, value)

    def load(self, slot: Value) -> tuple[Value, State]:
        """The iteration that a checkpoint belongs to, and the state at its start."""
        iteration, *state = (memory.load(array, slot) for array in self.arrays)
        return iteration, tuple(state)

    def free(self, slot: Value) -> Value:
        """The number of slots after `slot`."""
        return number(self.slots - 1) - slot

    def distance(self, count: Value, slot: Value) -> Value:
        """How far from the state in `slot`, the last one, the next is stored, with `count` iterations to be reversed.

        With s free slots, r is the smallest number for which `count` is at most b(s, r) = binomial(s + r, s). What
        comes after the next state is at most b(s - 1, r) = b(s, r) - b(s, r - 1), what lies before it at least
        b(s, r - 2): both are then reversed at least cost.
        """
        free = self.free(slot)
        params = r, older, old, new = tuple(Value(int64) for _ in range(4))
        before, body = Region(params), Region(tuple(Value(int64) for _ in params))
        with self.builder.inside(before):
            before.yields = (TABLE["lt"](new, count), *params)
        r, older, old, new = body.params
        with self.builder.inside(body):
            body.yields = (r + 1, old, new, new * (free + r + 1) / (r + 1))
        start = (number(1), number(1), number(1), free + 1)
        _, older, old, new = self.builder.repeat(start, before, body)
        steps: Value = TABLE["max"](older, count - (new - old))
        return steps


def budget_of(body: Region, active: Activity, most: int = _BYTES_PER_LOOP) -> int:
    """The bytes for states of each loop, `most` or less: loops share the stack of a thread, wherever they stand."""
    loops = [n for n in walk(body) if isinstance(n, For | While) and any(r in active for r in n.results)]
    general = sum(not shape_of(n, active).in_forward_order for n in loops)
    return min(most, _BYTES_PER_THREAD // max(general, 1))


def number(n: int) -> Constant:
    return constant(int64, n)

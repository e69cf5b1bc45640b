"""Binomial checkpointing: which states of a loop are stored while its iterations are reversed, and where.

The states of all iterations of one block are stored when the block is reversed, and from some blocks the state at the
start: the checkpoints. Griewank and Walther 2000, "Algorithm 799: revolve": with room for s more checkpoints, each
block run at most r times to find them, binomial(s + r, s) blocks can be reversed; so a fixed number of states serves
loops of any length, and the work for an iteration grows like the logarithm of the number of them. Checkpoints form a
stack: the last one is that of the block to be reversed next, and room it leaves is used again.
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
_MOST_STATES, _FEWEST_STATES = 256, 4
BYTES_TO_CARRY = 256
"""For each loop of a reverse that is differentiated again: its states become variables then (see `promote_memory`)."""


class States:
    """States of a loop in local arrays, one array per value."""

    def __init__(self, builder: Builder, values: State, budget: int):
        self.builder = builder
        bytes_of_state = sum(structs.numpy_dtype(v.type).itemsize for v in values)
        self.slots = max(_FEWEST_STATES, min(_MOST_STATES, budget // max(bytes_of_state, 1)))
        self.size = self.slots * bytes_of_state
        self.arrays = [self.local_array(v) for v in values]

    def local_array(self, value: Value) -> Value:
        [row] = memory.local_array.rows
        facts = {"shape": (self.slots,), "dtype": value.type, "cleared": False}
        array: Value = self.builder.call(row, (), (array_type(value.type, 1, False, (self.slots,)),), facts)
        return array

    def store(self, slot: Value, state: State) -> None:
        for array, value in zip(self.arrays, state, strict=True):
            memory.store(array, slot, value)

    def load(self, slot: Value) -> State:
        return tuple(memory.load(array, slot) for array in self.arrays)


class Checkpoints(States):
    """A stack of states, each with the block of iterations that it belongs to."""

    def __init__(self, builder: Builder, start: State, budget: int):
        super().__init__(builder, (number(0), *start), budget)
        self.put(number(0), number(0), start)

    def put(self, slot: Value, block: Value, state: State) -> None:
        self.store(slot, (block, *state))

    def top(self, slot: Value) -> tuple[Value, State]:
        """The block that a checkpoint belongs to, and the state at its start."""
        block, *state = self.load(slot)
        return block, tuple(state)

    def free(self, slot: Value) -> Value:
        """The number of slots after `slot`."""
        return number(self.slots - 1) - slot

    def distance(self, count: Value, slot: Value) -> Value:
        """How many blocks from the state in `slot`, the last one, the next is stored, with `count` to be reversed.

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
        _, older, old, new = self.builder.repeat(start, before, body, trips=1)
        steps: Value = TABLE["max"](older, count - (new - old))
        return steps


def budget_of(body: Region, active: Activity, most: int = _BYTES_PER_LOOP) -> int:
    """The bytes for states of each loop, `most` or less: loops share the stack of a thread, wherever they stand."""
    loops = [n for n in walk(body) if isinstance(n, For | While) and any(r in active for r in n.results)]
    general = sum(not shape_of(n, active).in_forward_order for n in loops)
    return min(most, _BYTES_PER_THREAD // max(general, 1))


def number(n: int) -> Constant:
    return constant(int64, n)

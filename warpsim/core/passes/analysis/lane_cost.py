"""Cost of lanes: estimates of a thread's time by itself, and as a lane of a vector.

By itself, a thread moves scalars from and to memory at next to no cost beside its arithmetic. As a lane it gathers and
scatters them one by one, but computes together with its neighbours. A branch by a comparison of floats often goes
another way than the processor guesses: lanes go both ways, and pay nothing for it. A loop whose trips differ lasts as
long as that of the slowest lane. What is the same for all lanes is read and computed once.

The times were fitted to 50 kernels that gather two or four elements or loop over some, compute with 8 to 150
operations, and store, or add at two places (an AMD EPYC with 16 lanes). Measured speeds of lanes are 0.17 to 4.6.
"""

from __future__ import annotations

from collections.abc import Set

from ...ir.def_use import defining_calls
from ...ir.nodes import Call, Constant, For, Function, If, Region, Value, While
from ...ops.construct import flat_size
from ...ops.lanes import takes_lanes
from ...ops.registry import ATOMIC, PURE, READ, WRITE
from ...types import scalars
from ...types.arrays import ArrayType
from ...types.compounds import scalar_of
from ...types.structs import holds_arrays, is_struct
from .cost import FREE, scalar_operations, trips

# Nanoseconds of a thread by itself, and of one of 16 lanes.
_START = (0.0, 2.1)
_PRICES = {
    "load": (0.0, 0.5),
    "neighbouring load": (0.0, 0.05),
    "store": (0.0, 0.2),
    "atomic": (0.25, 0.53),
    "state": (0.25, 0.03),
    "joint sum": (0.25, 0.2),
    "operation": (0.125, 0.023),
    "division": (0.46, 0.11),  # or root, of all components at once
    "integer division": (1.5, 2.2),  # which processors have for single numbers alone
    "transcendental": (3.6, 2.6),
}
_BIAS = 0.92  # long chains of arithmetic take longer by themselves than the sum of their operations says
_MOVE = 0.5  # a scalar out of a vector, or into one
_GUESS = 2.0
_DRAWN_OUT = 2.0  # how much longer the longest of 16 loops takes than the average one

_ACCESSES = {READ: "load", WRITE: "store", ATOMIC: "atomic"}
_DIVISIONS = {"div": 1, "sqrt": 1, "length": 1, "normalize": 2}
_INTEGER_DIVISIONS = ("floordiv", "mod")
_COMPARISONS = ("lt", "le", "gt", "ge")


def gains_from_lanes(
    fn: Function, width: int, differs: Set[Value], neighbours: Set[Call] = frozenset(), joint: Set[Call] = frozenset()
) -> bool:
    """Whether vectors of `width` lanes are faster than the threads of a kernel, whose calls are inlined, one by one.

    differs: the values that vary between threads; neighbours: the loads of neighbouring elements; joint: the sums at
    elements that lanes share.
    """
    cost = _Cost(fn, width, differs, neighbours, joint)
    return _BIAS * cost.together < cost.alone


class _Cost:
    """The time of a thread by itself, and as a lane [ns]."""

    def __init__(self, fn: Function, width: int, differs: Set[Value], neighbours: Set[Call], joint: Set[Call]):
        self.definitions = defining_calls(fn.body)
        self.wider, self.differs, self.neighbours, self.joint = 16 / width, differs, neighbours, joint
        self.alone, self.together = _START
        self.region(fn.body, 1.0, 1.0)

    def region(self, region: Region, times: float, drawn_out: float) -> None:
        """Add the statements of a region, which a thread runs so many times, and lanes so many times more often."""
        for node in region.nodes:
            if isinstance(node, Call):
                alone, together = self.call(node)
                self.alone += times * alone
                self.together += times * drawn_out * together
            elif isinstance(node, If) and self.is_a_guess(node.condition):
                self.alone += times * _GUESS
            inner, slower = times, drawn_out
            if isinstance(node, For | While):
                rounds = trips(node)
                inner, slower = times * rounds, drawn_out * (_DRAWN_OUT if rounds > 1 and self.parts(node) else 1.0)
            for part in node.regions():
                self.region(part, inner, slower)

    def call(self, call: Call) -> tuple[float, float]:
        """What a call takes by itself and in a lane."""
        alone, together = self.times(call)
        if call.op.effect in (PURE, READ) and not any(v in self.differs for v in (*call.args, *call.results)):
            return alone, alone * self.wider / 16
        return alone, together

    def times(self, call: Call) -> tuple[float, float]:
        """What a call takes by itself and in a lane, if it differs between threads."""
        array = call.args[0].type if call.args and isinstance(call.args[0].type, ArrayType) else None
        if array is not None and call.op.effect in _ACCESSES:
            if array.local_shape is not None and call.args[1] not in self.differs:
                return _times(flat_size(array.dtype), "state")
            kind = "joint sum" if call in self.joint else _ACCESSES[call.op.effect]
            kind = "neighbouring load" if call in self.neighbours else kind
            return _times(flat_size(array.dtype), kind)
        if call.op.name in FREE:
            return 0.0, 0.0
        return self.arithmetic(call)

    def arithmetic(self, call: Call) -> tuple[float, float]:
        """What a call that only computes takes by itself and in a lane."""
        size = scalar_operations(call)
        if call.op.name in _INTEGER_DIVISIONS and _divides_integers(call):
            return _times(size, "integer division")
        alone, together = _times(size, "transcendental" if call.row.ulps > 1 else "operation")
        divisions = _times(_DIVISIONS.get(call.op.name, 0), "division")
        alone, together = alone + divisions[0], (together + divisions[1]) * self.wider
        if not takes_lanes(call):
            return alone, alone + _MOVE * _scalars(call)
        return alone, min(alone, together * (2 if _is_double(call) else 1))

    def parts(self, loop: For | While) -> bool:
        """Whether some threads may leave a loop before others."""
        ends = (loop.start, loop.stop, loop.step) if isinstance(loop, For) else (loop.test,)
        return any(v in self.differs for v in ends)

    def is_a_guess(self, condition: Value) -> bool:
        """Whether a condition compares floats that differ between threads, alone or among other things."""
        call = self.definitions.get(condition)
        if call is None or condition not in self.differs:
            return False
        if call.op.name in _COMPARISONS:
            return all(scalars.is_float(a.type) for a in call.args)
        return any(a.type is scalars.bool_ and self.is_a_guess(a) for a in call.args)


def _times(count: float, kind: str) -> tuple[float, float]:
    alone, together = _PRICES[kind]
    return count * alone, count * together


def _scalars(call: Call) -> int:
    """The scalars that go into and come out of a call."""
    return sum(flat_size(v.type) for v in (*call.args, *call.results) if not holds_arrays(v.type))


def _divides_integers(call: Call) -> bool:
    """Whether a call divides integers by a number that is not known beforehand."""
    return scalars.is_integer(scalar_of(call.results[0].type)) and not isinstance(call.args[1], Constant)


def _is_double(call: Call) -> bool:
    return any(not is_struct(v.type) and scalars.bits(scalar_of(v.type)) == 64 for v in call.results)

"""Estimates how much work a thread does. An analysis: it changes nothing.

Guarantees: the estimate depends on the program alone, so decisions taken by it (chunk sizes, whether
to vectorise) are the same in every run. Branches count as if all were taken, a loop with unknown trips as
eight.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.nodes import Call, Constant, For, Function, Region, While
from ...ops.construct import flat_size
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.arrays import ArrayType
from ...types.compounds import is_compound

_UNKNOWN_TRIPS = 8
_NARROW = 8  # components of an element
FREE = frozenset({"extract", "construct", "insert", "field", "with_field", "tid", "shape", "gradient"})
_LIBRARY_CALL = 20  # a transcendental function, in additions


@dataclass
class Work:
    """Per thread: arithmetic on scalars, scalars moved to and from memory, and those of them in wide elements."""

    operations: float = 0.0
    moved: float = 0.0
    wide: float = 0.0
    compound: float = 0.0
    """Those of them in elements of several numbers, whose neighbours are not next to each other."""

    @property
    def nanoseconds(self) -> float:
        """A rough time of one thread."""
        return 0.3 * self.operations + 0.5 * self.moved

    @property
    def gains_from_vectors(self) -> bool:
        """Whether vectorising across threads pays.

        Wide elements, of more than eight components, are gathered scalar by scalar into vectors; measured on
        matrix products that costs six times what plain code does, unless much arithmetic follows.
        """
        return 2 * self.wide <= self.moved or self.operations > 8 * self.moved


def estimate(fn: Function) -> Work:
    """The work of one thread of a kernel whose calls are inlined."""
    work = Work()
    _region(fn.body, 1.0, work)
    return work


def _region(region: Region, times: float, work: Work) -> None:
    for node in region.nodes:
        if isinstance(node, Call):
            _call(node, times, work)
        inner = times * trips(node) if isinstance(node, For | While) else times
        for part in node.regions():
            _region(part, inner, work)


def times_run(fn: Function) -> dict[Call, float]:
    """How often a thread runs each call of a kernel, as far as the program tells."""
    times: dict[Call, float] = {}
    _count(fn.body, 1.0, times)
    return times


def _count(region: Region, times: float, counts: dict[Call, float]) -> None:
    for node in region.nodes:
        if isinstance(node, Call):
            counts[node] = times
        inner = times * trips(node) if isinstance(node, For | While) else times
        for part in node.regions():
            _count(part, inner, counts)


def trips(node: For | While) -> float:
    """How often a loop runs, as far as the program tells."""
    if node.trips is not None:
        return node.trips
    bounds = (node.start, node.stop, node.step) if isinstance(node, For) else ()
    known = [bound.value for bound in bounds if isinstance(bound, Constant)]
    if len(known) < 3 or not known[2]:
        return _UNKNOWN_TRIPS
    return len(range(*map(int, known)))


def _call(call: Call, times: float, work: Work) -> None:
    if isinstance(call.op, Function):
        _region(call.op.body, times, work)
        return
    array = call.args[0].type if call.args and isinstance(call.args[0].type, ArrayType) else None
    if array is not None and call.op.effect in (READ, WRITE, ATOMIC):
        size = flat_size(array.dtype)
        work.moved += times * size
        work.wide += times * size if size > _NARROW else 0.0
        work.compound += times * size if size > 1 else 0.0
        return
    if call.op.name in FREE:
        return
    each = _LIBRARY_CALL if call.row.ulps > 1 else 1
    work.operations += times * scalar_operations(call) * each


def scalar_operations(call: Call) -> float:
    """How many scalars a call computes, and for products of compounds how many multiplications and additions."""
    size = sum(flat_size(r.type) for r in call.results if not isinstance(r.type, ArrayType))
    if call.op.name == "mul" and all(is_compound(a.type) for a in call.args):
        return float(size * 2 * call.args[0].type.shape[-1])
    return size

"""Which arrays a kernel needs whatever happens: those that every thread reads or writes. An analysis.

An array under a branch or in a loop may be left alone, so None may be given for it.
"""

from __future__ import annotations

from ...ir.nodes import Call, Function, If, Region, Value, While
from ...ops.registry import ATOMIC, READ, WRITE
from .alias import BaseArray, PointsTo, points_to

Demand = tuple[int, str]
"""An array by the position of a parameter, and the fields that lead from it to the array."""


def demanded(fn: Function) -> frozenset[Demand]:
    """The arrays among the parameters that no thread goes without."""
    position = {p: k for k, p in enumerate(fn.params)}
    found = _needed(fn.body, points_to(fn))
    return frozenset((position[r.holder], r.path) for r in found if r.holder in position and not r.is_grad)


def _needed(region: Region, sources: dict[Value, PointsTo]) -> set[BaseArray]:
    found: set[BaseArray] = set()
    for node in region.nodes:
        if isinstance(node, Call):
            found |= _touched(node, sources)
        elif isinstance(node, If):
            found |= _needed(node.then, sources) & _needed(node.orelse, sources)
        elif isinstance(node, While):
            found |= _needed(node.before, sources)
    return found


def _touched(call: Call, sources: dict[Value, PointsTo]) -> set[BaseArray]:
    """The array that a call reads or writes, if it is one that the kernel knows."""
    if call.op.effect not in (READ, WRITE, ATOMIC) or call.op.opaque or not call.args:
        return set()
    held: PointsTo = sources.get(call.args[0], frozenset())
    return {r for r in held if r is not None} if len(held) == 1 else set()

"""Must-access analysis: the arrays that every thread of a kernel reads or writes, whatever happens.

An array under a branch or in a loop may be left alone, so None may be given for it.
"""

from __future__ import annotations

from ...ir.nodes import Call, Function, If, Region, Value, While
from .alias import BaseArray, PointsTo, points_to
from .effects import effects_of

Demand = tuple[int, str]
"""An array by the position of a parameter, and the fields that lead from it to the array."""


def demanded(fn: Function) -> frozenset[Demand]:
    """The arrays among the parameters that no thread goes without."""
    position = {p: k for k, p in enumerate(fn.params)}
    bases = _needed(fn.body, points_to(fn))
    return frozenset((position[r.holder], r.path) for r in bases if r.holder in position and not r.is_grad)


def _needed(region: Region, arrays: dict[Value, PointsTo]) -> set[BaseArray]:
    bases: set[BaseArray] = set()
    for node in region.nodes:
        if isinstance(node, Call):
            bases |= _accessed(node, arrays)
        elif isinstance(node, If):
            bases |= _needed(node.then, arrays) & _needed(node.orelse, arrays)
        elif isinstance(node, While):
            bases |= _needed(node.before, arrays)
    return bases


def _accessed(call: Call, arrays: dict[Value, PointsTo]) -> set[BaseArray]:
    """The array that a call reads or writes, if it is one that the kernel knows."""
    if isinstance(call.op, Function) or call.op.opaque or not any(effects_of(call)):
        return set()
    bases = arrays.get(call.args[0], frozenset())
    return {base for base in bases if base is not None} if len(bases) == 1 else set()

"""Large compounds of which parts are read or changed at computed places: registers have no index, memory has.

Local arrays that the reverse carries as variables are such (see `reverse/promote_memory`).
"""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Call, Constant, Function, walk
from ...types import scalars
from ...types.compounds import is_compound

LARGE = 16
"""Components up to which a compound stays in registers."""


def large_types(fn: Function) -> frozenset[Any]:
    """The types of large compounds of which a program changes or reads parts at computed places."""
    calls = (n for n in walk(fn.body) if isinstance(n, Call) and n.op.name in ("insert", "extract"))
    return frozenset(call.args[0].type for call in calls if _is_at_computed_place(call))


def _is_at_computed_place(call: Call) -> bool:
    t = call.args[0].type
    indices = call.args[1:-1] if call.op.name == "insert" else call.args[1:]
    return is_large(t) and not all(isinstance(i, Constant) for i in indices)


def is_large(t: Any) -> bool:
    """Whether a type is a compound of many numbers of 32 bits or more, which memory and registers hold alike."""
    return is_compound(t) and t.size > LARGE and scalars.bits(t.dtype) >= 32

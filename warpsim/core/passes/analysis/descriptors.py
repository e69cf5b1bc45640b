"""Nested arrays: what a kernel does with arrays that structs in memory refer to.

Guarantees: for a kernel whose calls are inlined, every access to an array that came out of memory is counted, and
every store of a value that is or holds an array.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.def_use import defining_calls
from ...ir.nodes import Call, Function, Value
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .alias import UNKNOWN, points_to
from .effects import array_effects


@dataclass
class Descriptors:
    """What happens to arrays out of memory."""

    followed: bool = False
    written: set[str | None] = field(default_factory=set)
    """The fields under which arrays that are written to lie in memory; None: under any."""
    stored: bool = False


def descriptors(fn: Function) -> Descriptors:
    """What a kernel does with arrays that structs in memory refer to."""
    arrays, uses = points_to(fn), Descriptors()
    calls = defining_calls(fn.body)
    for call, effects in array_effects(fn.body, arrays).calls:
        followed, written = (
            [a for a in part if isinstance(a.type, ArrayType) and None in arrays.get(a, UNKNOWN)]
            for part in (effects.reads + effects.stores, effects.stores)
        )
        uses.followed |= bool(followed)
        uses.written.update(_field(a, calls) for a in written)
        if effects.stores and not call.row.opaque:
            uses.stored |= any(holds_arrays(a.type) for a in call.args[1:])
    return uses


def _field(a: Value, calls: dict[Value, Call]) -> str | None:
    """The field of a struct that an array was taken from."""
    call = calls.get(a)
    if call is None or call.op.name not in ("field", "load"):
        return None
    if call.op.name == "load":  # of a view of one field
        call = calls.get(call.args[0])
        if call is None or call.op.name != "field_view":
            return None
    return str(call.attributes.get("name"))

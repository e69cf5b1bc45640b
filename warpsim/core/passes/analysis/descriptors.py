"""What a kernel does with arrays that structs in memory refer to. An analysis: it changes nothing.

Guarantees: for a kernel whose calls are inlined, every access to an array that came out of memory is counted, and
every store of a value that is or holds an array.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.def_use import defining_calls
from ...ir.nodes import Call, Function, Value, walk
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .alias import points_to


@dataclass
class Descriptors:
    """What happens to arrays out of memory."""

    followed: bool = False
    written: set[str | None] = field(default_factory=set)
    """The fields under which arrays that are written to lie in memory; None: under any."""
    stored: bool = False


def descriptors(fn: Function) -> Descriptors:
    """What a kernel does with arrays that structs in memory refer to."""
    arrays_of, found = points_to(fn), Descriptors()
    made = defining_calls(fn.body)
    for call in (node for node in walk(fn.body) if isinstance(node, Call)):
        opaque = isinstance(call.op, Function) or call.op.opaque
        for k, a in enumerate(call.args):
            if not isinstance(a.type, ArrayType) or None not in arrays_of.get(a, frozenset({None})):
                continue
            effect = READ if opaque else call.op.effect
            found.followed |= effect in (READ, WRITE, ATOMIC) and (k == 0 or opaque)
            if opaque or (effect in (WRITE, ATOMIC) and k == 0):
                found.written.add(_field(a, made))
        if not opaque and call.op.effect in (WRITE, ATOMIC):
            found.stored |= any(holds_arrays(a.type) for a in call.args[1:])
    return found


def _field(a: Value, made: dict[Value, Call]) -> str | None:
    """The field of a struct that an array was taken from."""
    call = made.get(a)
    if call is None or call.op.name not in ("field", "load"):
        return None
    if call.op.name == "load":  # of a view of one field
        call = made.get(call.args[0])
        if call is None or call.op.name != "field_view":
            return None
    return str(call.attributes.get("name"))

"""Local arrays that only one name can reach: what a loop may copy from iteration to iteration.

An array is known by the value that made it, or by the parameter that it came as. Other values stand for one of several
arrays: what a branch chose, a part of an array, what a function returned of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...ir.nodes import Call, Function, Node, Value, walk
from ...types.arrays import ArrayType
from .translator import Translator

_ARRAYS = "<arrays>"
Arrays = frozenset[Value]


@dataclass
class _Known:
    """What one compilation knows of local arrays."""

    arrays: dict[Value, Arrays] = field(default_factory=dict)
    """What each value may be."""
    own: set[Value] = field(default_factory=set)
    """The arrays that were made where they are used, not passed there."""


def note_array(tr: Translator, array: Value) -> None:
    """Note an array that was made here, by an expression whose value nothing else has."""
    known = _known(tr)
    known.arrays[array] = frozenset({array})
    known.own.add(array)


def note_params(tr: Translator, params: Iterable[Value]) -> None:
    """Note the arrays that a function is given: its caller has them too."""
    _known(tr).arrays.update({p: frozenset({p}) for p in params if is_local(p)})


def note_alias(tr: Translator, value: Value, *options: Value) -> None:
    """Note that a value is one of several arrays, or a part of one."""
    known = _known(tr).arrays
    if is_local(value) and all(option in known for option in options):
        known[value] = frozenset().union(*(known[option] for option in options))


def note_results(tr: Translator, call: Call) -> None:
    """Note the arrays that a call returned: those that the function made, or what it was given."""
    assert isinstance(call.op, Function)
    own = [r for r, is_own in zip(call.results, own_results(call.op), strict=True) if is_own]
    for value in own:
        note_array(tr, value)
    for value in call.results:
        if value not in own:
            note_alias(tr, value, *filter(is_local, call.args), *own)


def may_be_shared(tr: Translator, array: Value, others: Iterable[Any]) -> bool:
    """Whether an array was not made here, or one of some operands may reach it: also through views and tuples."""
    known = _known(tr)
    arrays = known.arrays.get(array)
    if not arrays or not arrays <= known.own:
        return True
    reached = (known.arrays.get(v) for operand in others for v in values_in(operand))
    return any(reach is None or bool(arrays & reach) for reach in reached)


def may_be(tr: Translator, operand: Any, arrays: Iterable[Value]) -> bool:
    """Whether an operand may reach one of some arrays."""
    known = _known(tr).arrays
    sought = frozenset().union(*(known.get(a, frozenset({a})) for a in arrays))
    reached = [known.get(v) for v in values_in(operand)]
    return any(reach is None or bool(sought & reach) for reach in reached)


def is_local(value: object) -> bool:
    """Whether a value is an array on the thread's stack."""
    return isinstance(value, Value) and isinstance(value.type, ArrayType) and value.type.local_shape is not None


def values_in(operand: Any) -> Iterator[Value]:
    """The local arrays that an operand holds."""
    if isinstance(operand, tuple):
        for part in operand:
            yield from values_in(part)
        return
    array = operand if isinstance(operand, Value) else getattr(operand, "array", None)
    if isinstance(array, Value) and is_local(array):
        yield array


def own_results(fn: Function) -> list[bool]:
    """For each result of a function, whether it is an array that the function made and returns once."""
    makers: dict[Value, tuple[Node, int]] = {}
    if any(isinstance(v.type, ArrayType) for v in fn.body.yields):
        makers = {r: (node, k) for node in walk(fn.body) for k, r in enumerate(node.results)}
    return [_is_made(v, makers) and fn.body.yields.count(v) == 1 for v in fn.body.yields]


def _is_made(value: Value, makers: dict[Value, tuple[Node, int]]) -> bool:
    if not is_local(value) or value not in makers:
        return False
    node, k = makers[value]
    if isinstance(node, Call) and isinstance(node.op, Function):
        return own_results(node.op)[k]
    return isinstance(node, Call) and node.op.name == "local_array"


def _known(tr: Translator) -> _Known:
    known: _Known = tr.session.setdefault(_ARRAYS, _Known())
    return known

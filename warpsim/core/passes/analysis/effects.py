"""Memory effects: through which operands a call reads and writes memory, and which arrays a program does so with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from ...ir.nodes import Call, Function, Node, Region, Value, walk
from ...ops.registry import ATOMIC, READ, WRITE
from ...types.arrays import ArrayType
from ...types.structs import holds_arrays
from .alias import UNKNOWN, BaseArray, PointsTo


class Effects(NamedTuple):
    """The operands, arrays or structs that hold arrays, through which a call reaches memory."""

    reads: tuple[Value, ...] = ()
    writes: tuple[Value, ...] = ()
    updates: tuple[Value, ...] = ()
    """Where atomics read and write."""

    @property
    def loads(self) -> tuple[Value, ...]:
        """Where the call learns what memory holds."""
        return self.reads + self.updates

    @property
    def stores(self) -> tuple[Value, ...]:
        """Where the call changes what memory holds."""
        return self.writes + self.updates


def is_access(node: Node) -> TypeGuard[Call]:
    """Whether a node is a call of a row about an array, which other operands than the array may be indices of."""
    if not isinstance(node, Call) or isinstance(node.op, Function) or not node.args:
        return False
    return isinstance(node.args[0].type, ArrayType)


def effects_of(call: Call) -> Effects:
    """What a call does to memory; a function that stayed a call may do anything to the arrays it is given, unless it
    is one that only reads."""
    if isinstance(call.op, Function) and call.op.effect == READ:
        return Effects(reads=tuple(a for a in call.args if holds_arrays(a.type)))
    if isinstance(call.op, Function):
        arrays = tuple(a for a in call.args if isinstance(a.type, ArrayType))
        return Effects(arrays, arrays)
    if call.op.opaque:
        return Effects(*(tuple(call.args[k] for k in sorted(part)) for part in (call.op.reads, call.op.writes)))
    array = tuple(a for a in call.args[:1] if isinstance(a.type, ArrayType))
    if call.op.effect == READ:
        return Effects(reads=array)
    if call.op.effect == WRITE:
        return Effects(writes=array)
    return Effects(updates=array) if call.op.effect == ATOMIC else Effects()


@dataclass
class ArrayEffects:
    """The arrays that a program may read and write; None among them stands for memory unknown here."""

    read: set[BaseArray | None] = field(default_factory=set)
    written: set[BaseArray | None] = field(default_factory=set)
    updated: set[BaseArray | None] = field(default_factory=set)
    """Those reached by atomics."""
    calls: list[tuple[Call, Effects]] = field(default_factory=list)
    """Every call with effects on memory, in order."""


def array_effects(body: Region, points_to: Mapping[Value, PointsTo]) -> ArrayEffects:
    """The mod/ref sets of a region, and of the functions that it calls."""
    accessed = ArrayEffects()
    for call in calls_in(body):
        effects = effects_of(call)
        if any(effects):
            accessed.calls.append((call, effects))
            accessed.read |= based_on(effects.reads, points_to)
            accessed.written |= based_on(effects.writes, points_to)
            accessed.updated |= based_on(effects.updates, points_to)
    return accessed


def based_on(values: Iterable[Value], points_to: Mapping[Value, PointsTo]) -> PointsTo:
    """The arrays that some values may alias."""
    return frozenset().union(*(points_to.get(v, UNKNOWN) for v in values))


def calls_in(body: Region) -> Iterator[Call]:
    """The calls of rows in a region, and in the functions that it calls."""
    for node in walk(body):
        if isinstance(node, Call) and isinstance(node.op, Function):
            yield from calls_in(node.op.body)
        elif isinstance(node, Call):
            yield node

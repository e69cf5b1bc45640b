"""Lanes in memory: where the elements of lanes are, and room on the stack for values of all lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as ll

from ..ir.nodes import Call
from ..ops.lanes import is_vector, like, picked_lanes
from ..types import structs
from ..types.compounds import is_compound
from . import layout
from .layout import I1, I8, I32, I64

_WIDEST = 4  # components of an element that is moved as a whole
_POWER = (0, 1, 2, 4, 4)  # how many places as many components take


class Offsets:
    """Where elements of lanes are: from a common base, an offset by lane; accesses at the same index share theirs."""

    def __init__(self, lanes: Any, keep: Callable[[Any], Any] | None = None):
        self.lanes, self.keep = lanes, keep or lanes.by_lane
        self.known: dict[Any, Callable[[Any], Any]] = {}

    def place(self, node: Call) -> Callable[[Any], Any]:
        """The address of the element by lane."""
        lanes, b, t = self.lanes, self.lanes.b, node.args[0].type
        flat = lanes.get(node.args[0])
        base, varying = flat[0], []
        for axis, index in enumerate(node.args[1 : 1 + t.ndim]):
            extent, stride = flat[2 + axis], flat[2 + t.ndim + axis]
            [i] = lanes.get(index)
            extent = extent if lanes.target.counts_back(node, 1 + axis) else None
            if is_vector(i):
                varying.append((i, index.type, extent, stride))
            else:
                base = b.gep(base, [b.mul(self.position(i, index.type, extent), stride)])
        base = self.keep(base)
        key = tuple((id(i), id(extent), _same(stride)) for i, _, extent, stride in varying)
        if key not in self.known:
            self.known[key] = self.keep(self.offset(varying))
        offset = self.known[key]
        return lambda k: b.gep(base(k), [offset(k)])

    def position(self, i: Any, t: Any, extent: Any) -> Any:
        """An index in 64 bits; where an extent is given, a negative one counts from the end."""
        b, wide = self.lanes.b, self.lanes.target.as_index(i, t)
        if extent is None:
            return wide
        moved = b.add(wide, extent if not is_vector(wide) else self.lanes.vector(extent))
        return b.select(b.icmp_signed("<", wide, ll.Constant(wide.type, 0)), moved, wide)

    def offset(self, axes: list[tuple[Any, Any, Any, Any]]) -> Any:
        b, offset = self.lanes.b, ll.Constant(I64, 0)
        for i, t, extent, stride in axes:
            step = b.mul(self.position(i, t, extent), self.lanes.vector(stride))
            offset = b.add(offset, step) if is_vector(offset) else step
        return offset


def _same(x: Any) -> Any:
    """What two constants of one value have in common, or two mentions of one value."""
    return x.constant if isinstance(x, ll.Constant) else id(x)


class Room:
    """Stack for an element of each lane: small compounds whole, one behind the other, of others part by part.

    Three components take the room of four, so that each element is stored by one instruction: stores are what
    gathers wait for.
    """

    def __init__(self, lanes: Any, t: Any):
        self.b, self.lanes, self.t = lanes.b, lanes, t
        self.kinds = layout.register_types(t)
        self.whole = ll.VectorType(self.kinds[0], _POWER[len(self.kinds)]) if is_few(t) and is_compound(t) else None
        if self.whole is None:
            self.slots = [lanes.room(kind) for kind in self.kinds]
        else:
            self.slots = [lanes.target.stack(ll.VectorType(self.kinds[0], self.whole.count * lanes.width), 1)]

    def copy(self, address: Any, k: Any) -> None:
        """Take in the element of a lane."""
        b = self.b
        if self.whole is not None:
            place = b.gep(b.bitcast(self.slots[0], self.whole.as_pointer()), [k])
            b.store(self.element(address), place)
            return
        for x, slot in zip(self.lanes.target.load(address, self.t), self.slots, strict=True):
            b.store(as_word(b, x), b.gep(first_lane(b, slot), [k]))

    def element(self, address: Any) -> Any:
        """A compound in memory as one vector."""
        b, scalar = self.b, self.kinds[0]
        if len(self.kinds) != 3:
            return b.load(b.bitcast(address, self.whole.as_pointer()), align=1)
        pair = b.load(b.bitcast(address, ll.VectorType(scalar, 2).as_pointer()), align=1)
        third = b.load(b.gep(b.bitcast(address, scalar.as_pointer()), [I32(2)]), align=1)
        return b.insert_element(picked_lanes(b, pair, range(4)), third, I32(2))

    def vectors(self) -> list[Any]:
        """The components of the elements of all lanes."""
        b = self.b
        if self.whole is not None:
            return apart(b, b.load(self.slots[0]), self.whole.count)[: len(self.kinds)]
        return [from_word(b, b.load(slot), kind) for slot, kind in zip(self.slots, self.kinds, strict=True)]


def is_few(t: Any) -> bool:
    """Whether an element is a number, or a compound of few."""
    return not structs.is_struct(t) and (not is_compound(t) or t.size <= _WIDEST)


def apart(b: Any, whole: Any, size: int) -> list[Any]:
    """The components of compounds that lie one behind the other."""
    if size == 1:
        return [whole]
    return [picked_lanes(b, whole, range(k, whole.type.count, size)) for k in range(size)]


# ----- lanes in memory: booleans are bytes there --------------------------------------------


def word_of(kind: ll.Type) -> ll.Type:
    return I8 if kind == I1 else kind


def as_word(b: Any, x: Any) -> Any:
    element = x.type.element if is_vector(x) else x.type
    return b.zext(x, like(I8, x)) if element == I1 else x


def from_word(b: Any, x: Any, kind: ll.Type) -> Any:
    return b.trunc(x, like(I1, x)) if kind == I1 else x


def first_lane(b: Any, slot: Any) -> Any:
    """The pointer to a vector as one to its first lane."""
    return b.bitcast(slot, slot.type.pointee.element.as_pointer())

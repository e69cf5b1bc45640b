"""Addresses of lanes in memory, and stack slots for values of all lanes."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call
from ...ops.lanes import is_vector, like, picked_lanes
from ...types import structs
from ...types.arrays import ArrayType, ValueType
from ...types.compounds import is_compound
from .. import layout
from ..layout import BYTES, I1, I8, I32, I64
from .lane_loops import LaneLoop

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

    def position(self, i: ll.Value, t: type, extent: ll.Value) -> Any:
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


def _same(x: ll.Value) -> Any:
    """What two constants of one value have in common, or two mentions of one value."""
    return x.constant if isinstance(x, ll.Constant) else id(x)


class Room:
    """Stack for an element of each lane: small compounds whole, one behind the other, of others part by part.

    Three components take the room of four, so that each element is stored by one instruction: stores are what
    gathers wait for.
    """

    def __init__(self, lanes: Any, t: ValueType):
        self.b, self.lanes, self.t = lanes.b, lanes, t
        self.kinds = layout.register_types(t)
        self.whole = ll.VectorType(self.kinds[0], _POWER[len(self.kinds)]) if is_few(t) and is_compound(t) else None
        if self.whole is None:
            self.slots = [lanes.room(kind) for kind in self.kinds]
        else:
            self.slots = [lanes.target.stack(ll.VectorType(self.kinds[0], self.whole.count * lanes.width), 1)]

    def copy(self, address: ll.Value, k: ll.Value) -> None:
        """Take in the element of a lane."""
        b = self.b
        if self.whole is not None:
            place = b.gep(b.bitcast(self.slots[0], self.whole.as_pointer()), [k])
            b.store(self.element(address), place)
            return
        for x, slot in zip(self.lanes.target.load(address, self.t), self.slots, strict=True):
            b.store(as_word(b, x), b.gep(first_lane(b, slot), [k]))

    def element(self, address: ll.Value) -> Any:
        """A compound in memory as one vector."""
        b, scalar = self.b, self.kinds[0]
        if len(self.kinds) != 3:
            assert self.whole is not None
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


class LaneArray:
    """A local array of every lane: for each component of an element, a vector per slot."""

    def __init__(self, lanes: Any, t: ArrayType):
        self.lanes, self.b = lanes, lanes.b
        self.kinds, self.count = layout.register_types(t.dtype), math.prod(t.local_shape or ())
        self.parts = [self.allocate(word_of(kind)) for kind in self.kinds]

    def allocate(self, word: ll.Type) -> Any:
        """Room for one component, of zeros before the first strip: lanes outside a mask may read what nobody stored."""
        lanes, b = self.lanes, self.b
        slot = lanes.target.stack(ll.VectorType(word, lanes.width), self.count)
        with b.goto_entry_block():
            lanes.target.clear(b.bitcast(slot, BYTES), self.count * lanes.width * bits_of(word) // 8)
        return slot

    def load(self, index: ll.Value) -> list[Any]:
        """The elements of all lanes at an index, of each lane its own."""
        words = self.gather_words(index) if is_vector(index) else [self.b.load(self.slot(p, index)) for p in self.parts]
        return [from_word(self.b, x, kind) for x, kind in zip(words, self.kinds, strict=True)]

    def slot(self, part: ll.Value, index: ll.Value) -> Any:
        return self.b.gep(part, [index])

    def gather_words(self, index: ll.Value) -> list[Any]:
        """Words from a slot that differs by lane; lanes outside the mask read what the first one within it does."""
        b, lanes = self.b, self.lanes
        rooms = [lanes.room(kind) for kind in self.kinds]
        bits = None if lanes.mask is None else b.bitcast(lanes.mask, ll.IntType(lanes.width))
        at = lanes.by_lane(index)
        loop = LaneLoop(b, lanes.width)
        source = loop.k if bits is None else loop.or_first(bits)
        for part, room in zip(self.parts, rooms, strict=True):
            b.store(b.load(self.word(part, at(source), source)), b.gep(first_lane(b, room), [loop.k]))
        loop.close()
        return [b.load(room) for room in rooms]

    def word(self, part: ll.Value, index: ll.Value, k: ll.Value) -> Any:
        """The address of one component of one lane."""
        return self.b.gep(first_lane(self.b, self.slot(part, index)), [k])

    def store(self, index: ll.Value, flat: list[Any]) -> None:
        """Store an element of each lane that runs."""
        words = [as_word(self.b, x) for x in flat]
        if is_vector(index):
            self.scatter(index, words)
            return
        for part, x in zip(self.parts, words, strict=True):
            slot = self.slot(part, index)
            self.b.store(x if self.lanes.mask is None else self.b.select(self.lanes.mask, x, self.b.load(slot)), slot)

    def scatter(self, index: ll.Value, words: list[Any]) -> None:
        b, lanes = self.b, self.lanes
        at, values = lanes.by_lane(index), [lanes.by_lane(x) for x in words]
        bits = None if lanes.mask is None else b.bitcast(lanes.mask, ll.IntType(lanes.width))
        loop = LaneLoop(b, lanes.width)
        with b.if_then(loop.bit(bits)) if bits is not None else nullcontext():
            for part, value in zip(self.parts, values, strict=True):
                b.store(value(loop.k), self.word(part, at(loop.k), loop.k))
        loop.close()


def bits_of(kind: ll.Type) -> int:
    """The bits of a number in memory."""
    widths = {ll.HalfType: 16, ll.FloatType: 32, ll.DoubleType: 64}
    return int(kind.width) if isinstance(kind, ll.IntType) else widths[type(kind)]


def is_few(t: ValueType) -> bool:
    """Whether an element is a number, or a compound of few."""
    return not structs.is_struct(t) and (not is_compound(t) or t.size <= _WIDEST)


def apart(b: ll.IRBuilder, whole: ll.Value, size: int) -> list[Any]:
    """The components of compounds that lie one behind the other."""
    if size == 1:
        return [whole]
    return [picked_lanes(b, whole, range(k, whole.type.count, size)) for k in range(size)]


# ----- lanes in memory: booleans are bytes there --------------------------------------------


def word_of(kind: ll.Type) -> ll.Type:
    return I8 if kind == I1 else kind


def as_word(b: ll.IRBuilder, x: ll.Value) -> Any:
    element = x.type.element if is_vector(x) else x.type
    return b.zext(x, like(I8, x)) if element == I1 else x


def from_word(b: ll.IRBuilder, x: ll.Value, kind: ll.Type) -> Any:
    return b.trunc(x, like(I1, x)) if kind == I1 else x


def first_lane(b: ll.IRBuilder, slot: ll.Value) -> Any:
    """The pointer to a vector as one to its first lane."""
    return b.bitcast(slot, slot.type.pointee.element.as_pointer())

"""Loop builders for lanes: over the lanes of a strip one by one, and of all lanes until none is left."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from ..layout import I1, I32
from .loop_hints import not_unrolled


class LaneLoop:
    """A loop over the lanes of a strip, under construction."""

    def __init__(self, b: ll.IRBuilder, width: int):
        self.b, self.width, before = b, width, b.block
        self.head, self.done = (b.append_basic_block(name) for name in ("lane", "lanes"))
        b.branch(self.head)
        b.position_at_end(self.head)
        self.k = b.phi(I32)
        self.k.add_incoming(I32(0), before)

    def bit(self, bits: ll.Value) -> Any:
        """Whether the lane is one of those whose bits are set."""
        return self.b.trunc(self.b.lshr(self.b.zext(bits, I32), self.k), I1)

    def or_first(self, bits: ll.Value) -> Any:
        """The lane, or the first one whose bit is set: what one thread may read, others may."""
        first = self.b.cttz(self.b.zext(bits, I32), I1(1))
        return self.b.select(self.bit(bits), self.k, first)

    def close(self) -> None:
        b = self.b
        following = b.add(self.k, I32(1), flags=("nsw", "nuw"))
        self.k.add_incoming(following, b.block)
        jump = b.cbranch(b.icmp_unsigned("<", following, I32(self.width)), self.head, self.done)
        jump.set_metadata("llvm.loop", not_unrolled(b.module))
        b.position_at_end(self.done)


class MaskedLoop:
    """A loop under construction that ends when no lane is left; `values` are its phis, in flat lists of vectors."""

    def __init__(self, lanes: Any, flats: list[list[Any]]):
        b = self.b = lanes.b
        self.lanes, self.outer = lanes, lanes.mask
        first = [[lanes.vector(x) for x in flat] for flat in flats]
        before = b.block
        self.head, self.body, self.done = (b.append_basic_block(name) for name in ("head", "lanes", "left"))
        b.branch(self.head)
        b.position_at_end(self.head)
        self.values = [[b.phi(x.type) for x in flat] for flat in first]
        self.feed(first, before)

    def feed(self, flats: list[list[Any]], block: ll.Block) -> None:
        for phis, flat in zip(self.values, flats, strict=True):
            for phi, x in zip(phis, flat, strict=True):
                phi.add_incoming(x, block)

    def enter(self, mask: ll.Value) -> None:
        """Go on with the lanes of a mask, while there are any."""
        self.lanes.mask = mask
        self.b.cbranch(self.lanes.any(mask), self.body, self.done)
        self.b.position_at_end(self.body)

    def close(self, flats: list[list[Any]]) -> None:
        vectors = [[self.lanes.vector(x) for x in flat] for flat in flats]
        self.feed(vectors, self.b.block)
        self.b.branch(self.head)
        self.b.position_at_end(self.done)
        self.lanes.mask = self.outer

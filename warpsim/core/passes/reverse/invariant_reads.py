"""Loop-invariant reads: loads of a loop that give the same element in every iteration.

The cotangents of such an element add up in a variable on all the ways that cotangents of other values from outside of
the loop take, and go to memory once, behind the outermost loop in which the read is invariant. So threads do not wait
for memory in every iteration, and can run as lanes of vectors.

It is done where nothing in the loop writes the array and no function with a gradient of its own is called, for then
nobody sees the gradient of the element before the loop is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...ir.builder import Builder
from ...ir.def_use import captured_values
from ...ir.nodes import Call, Constant, For, Function, Node, Region, Value, While, walk
from ...ops import construct, memory
from ...ops.registry import PURE, READ, TABLE
from ...types import structs
from ..analysis.activity import YES, Activity
from ..analysis.alias import BaseArray
from .cotangents import Cotangents
from .recompute import Recompute


class Element(NamedTuple):
    """An element of an array, by values from outside of the loop."""

    array: Value
    indices: tuple[Value, ...]


class InvariantReads:
    """For each loop-invariant read of the loops around, the value that stands for its element."""

    def __init__(self, active: Activity):
        self.active = active
        self.elements: dict[Call, Value] = {}

    def within(self, node: Node) -> list[Value]:
        """The elements that a loop or a branch reads."""
        calls = (n for n in walk_in(node) if isinstance(n, Call)) if self.elements else ()
        return list(dict.fromkeys(self.elements[call] for call in calls if call in self.elements))

    def enter(self, loop: For | While) -> dict[Element, Value]:
        """Note the reads that are invariant in a loop, but in none around it: its own elements."""
        if not self.is_free(loop):
            return {}
        outside = {*captured_values(loop)}
        written = self.written(loop)
        own: dict[Element, Value] = {}
        for call in walk_in(loop):
            if isinstance(call, Call) and call not in self.elements and self.is_invariant(call, outside, written):
                element = Element(call.args[0], call.args[1:])
                self.elements[call] = own.setdefault(element, Value(call.results[0].type))
        return own

    def is_free(self, loop: For | While) -> bool:
        """Whether nothing in a loop looks at gradients by itself."""
        calls = [n for n in walk_in(loop) if isinstance(n, Call)]
        return not any(isinstance(c.op, Function) or c.op.opaque or c.op.effect == "call" for c in calls)

    def written(self, loop: For | While) -> set[BaseArray | None]:
        """The arrays that a loop writes."""
        writes = [n for n in walk_in(loop) if isinstance(n, Call) and n.op.effect not in (PURE, READ) and n.args]
        return {base for call in writes for base in self.active.points_to.get(call.args[0], ())}

    def is_invariant(self, call: Call, outside: set[Value], written: set[BaseArray | None]) -> bool:
        """Whether a call reads the same element in all iterations, of an array that the loop does not write."""
        if call.op.name != "load" or structs.is_struct(call.results[0].type):
            return False
        if self.active.gradient_status(call.args[0]) != YES or call.results[0] not in self.active:
            return False
        bases = self.active.points_to.get(call.args[0], frozenset({None}))
        known = None not in bases and not bases & written and None not in written
        return known and all(isinstance(a, Constant) or a in outside for a in call.args)


def add_up(elements: dict[Element, Value], contributions: Cotangents, primals: Recompute, builder: Builder) -> None:
    """Add to memory what arrived for elements, where something did: a read that never happened may lie outside."""
    for element, value in elements.items():
        if value not in contributions:
            continue
        total, then = contributions.pop(value), Region()
        with builder.inside(then):
            memory.add_into(memory.gradient(primals.use(element.array)), [*primals.uses(element.indices)], total)
        builder.branch(TABLE["arrived"](total, construct.zero(total)), then, Region())


def walk_in(node: Node) -> Iterator[Node]:
    """The nodes in the regions of a node."""
    for region in node.regions():
        yield from walk(region)

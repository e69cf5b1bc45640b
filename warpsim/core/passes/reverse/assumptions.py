"""Assumptions: what the reverse of a kernel takes for granted of indices, asserted where it runs.

Guarantees: the program does what it did unless an assertion stops it. Negative indices count from the end, so `x[j]`
and `x[j + 1]` are one element of an array of one, and a loop from -n to n comes to each of n elements twice. Where
a kernel writes an array that it reads, the reverse would have to expect this of every index out of memory or an
argument, and refuse. Instead it asserts that an extent is not the distance of two indices, and in loops that
indices are not negative; with that known, `dependence` can tell the accesses apart.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import Builder, constant
from ...ir.nodes import Call, Function, Node, Region, Value
from ...ir.rewrite import Rewriter
from ...ops import construct, memory
from ...ops.debug import assert_
from ...ops.registry import TABLE
from ...types.arrays import ArrayType
from ..analysis.alias import BaseArray
from ..analysis.dependence import Access, Dependences

Operand = tuple[Call, int]
Distance = tuple[BaseArray, int, int]
"""An array, an axis of it, and the distance of two indices along it."""


def add_assertions(fn: Function) -> Function:
    """`fn` with the assertions that its reverse relies on."""
    doubts = _Doubts(Dependences(fn))
    if not (doubts.signs or doubts.distances):
        return fn
    start = Region()
    with Builder(start).active():
        in_order = sorted(doubts.distances, key=lambda d: (fn.params.index(d[0].holder), *map(str, d)))
        for base, axis, distance in in_order:
            _assert_extent(base, axis, distance)
    body = _Assertions(doubts.signs).region(fn.body)
    return replace(fn, body=Region(body.params, [*start.nodes, *body.nodes], body.yields))


class _Doubts:
    """Which accesses would be told apart if no index were negative."""

    def __init__(self, dependences: Dependences):
        self.dependences = dependences
        self.params = {p for p in dependences.homes if not dependences.homes[p]}
        self.signs: set[Operand] = set()
        self.distances: set[Distance] = set()
        for base in dependences.written:
            if base.type.local_shape is not None:
                continue  # what a local array held is carried in variables, or not known again
            accesses = dependences.by_base.get(base, [])
            doubtful = any(0 in a.signs for a in accesses) or len({a.signs for a in accesses}) > 1
            for a in accesses if doubtful and any(map(_needs_order, accesses)) else ():
                for b in accesses:
                    if a is not b and (a.writes or b.writes):
                        self.compare(a, b)

    def compare(self, a: Access, b: Access) -> None:
        dependences = self.dependences
        surely = dependences.order(a, b)
        dependences.trusting = True
        trusting = dependences.order(a, b)
        dependences.trusting = False
        if surely == trusting:
            return
        for axis, (x, y, *signs) in enumerate(zip(a.indices, b.indices, a.signs, b.signs, strict=True)):
            if not dependences.comparable(*signs):
                distance = dependences.affine.of(x).plus(dependences.affine.of(y), -1)
                alone = not (a.loops or b.loops) and not a.base.is_grad
                if alone and not distance.terms and isinstance(a.base.type, ArrayType):
                    self.distances.add((a.base, axis, abs(distance.constant)))
                else:
                    self.signs.update(each.operands[axis] for each in (a, b) if each.signs[axis] == 0)


def _needs_order(access: Access) -> bool:
    """Whether the reverse asks what was written before and after an access; of sums and stores alone it does not."""
    return not access.writes or access.call.op.name in ("atomic_min", "atomic_max")


class _Assertions(Rewriter):
    """Puts assertions in front of accesses."""

    def __init__(self, signs: set[Operand]):
        super().__init__()
        self.signs = signs

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            if isinstance(node, Call):
                for k, index in enumerate(node.args):
                    if (node, k) in self.signs:
                        rewritten.extend(_assert_sign(node, index))
            rewritten.append(self.node(node))
        return rewritten


def _assert_sign(call: Call, index: Value) -> list[Node]:
    region = Region()
    with Builder(region, call.location).active():
        message = (
            "the gradient of a kernel that writes an array it reads, in a loop, needs indices that are not negative\n"
            "help: add the extent to negative ones, or write the result to another array"
        )
        assert_(TABLE["ge"](index, constant(index.type, 0)), message=message, replayed=True)
    return region.nodes


def _assert_extent(base: BaseArray, axis: int, distance: int) -> None:
    array = construct.member(base.holder, base.path)
    message = (
        f"the gradient of a kernel that reads and writes elements of {base.holder.hint!r} that are {distance} apart "
        f"needs an extent other than {distance}: there, an index that counts from the end is the same element"
    )
    assert_(TABLE["ne"](memory.shape(array, axis=axis), distance), message=message, replayed=True)

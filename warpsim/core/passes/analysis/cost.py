"""Estimates how much work a thread does. An analysis: it changes nothing.

Guarantees: the estimate depends on the program alone, so decisions taken by it (chunk sizes, whether
to vectorise) are the same in every run. Branches count as if all were taken, a loop with unknown trips as
eight.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.nodes import Call, Constant, For, Function, Region, While, walk
from ...ops.construct import flat_size
from ...ops.lanes import takes_lanes
from ...ops.registry import ATOMIC, READ, WRITE
from ...types import compounds, scalars
from ...types.arrays import ArrayType
from ...types.compounds import is_compound
from ...types.structs import holds_arrays, is_struct

_UNKNOWN_TRIPS = 8
_NARROW = 8  # components of an element
_FREE = frozenset({"extract", "construct", "insert", "field", "with_field", "tid", "shape", "gradient"})
_LIBRARY_CALL = 20  # a transcendental function, in additions
# Operations for each scalar moved from which so many lanes pay that gather and scatter one by one. Measured with 16, 8
# and 4 lanes, in speeds of single threads: springs (1.1 operations) 0.75, 0.57, 0.38, backwards (2.1) 1.4, 1.2, 0.8;
# dihedral bending (3.9) 2.2, 2.1, 1.4, backwards (9) 3.0, 2.9, 1.9.
_LANES_PAY = {4: 3.5, 8: 2.0, 16: 1.8}
# Nanoseconds of an operation in vectors, and of scalars from neighbouring elements, of one number or of several; one
# that is scattered takes 1. Measured with 16 lanes on 90,000 elements: gathering takes 0.2 of the time of a linear
# stencil of 5 points, 0.4 of one with a root of gradients, 0.3 of one with sines, 0.1 to 0.2 of upwind differences and
# of products on a line, but 1 to 1.8 of the springs of a cloth, and 2.6 of a linear stencil of vectors.
_VECTORIZED, _NEIGHBOURING, _INTERLEAVED = 0.06, 0.15, 2.0


@dataclass
class Work:
    """Per thread: arithmetic on scalars, scalars moved to and from memory, and those of them in wide elements."""

    operations: float = 0.0
    moved: float = 0.0
    wide: float = 0.0
    compound: float = 0.0
    """Those of them in elements of several numbers, whose neighbours are not next to each other."""
    shared: float = 0.0
    """Operations that vectors of lanes do at once, by how many lanes a vector has."""
    alone: float = 0.0
    """Scalars that go into and come out of operations that lanes do one by one."""

    def gains_from_lanes(self, width: int) -> bool:
        """Whether strips of `width` threads pay, whose lanes gather and scatter one by one, but compute together."""
        return self.shared > _LANES_PAY[width] * (self.moved + self.alone)

    @property
    def nanoseconds(self) -> float:
        """A rough time of one thread."""
        return 0.3 * self.operations + 0.5 * self.moved

    @property
    def gains_from_vectors(self) -> bool:
        """Whether vectorising across threads pays.

        Wide elements, of more than eight components, are gathered scalar by scalar into vectors; measured on
        matrix products that costs six times what plain code does, unless much arithmetic follows.
        """
        return 2 * self.wide <= self.moved or self.operations > 8 * self.moved


def estimate(fn: Function) -> Work:
    """The work of one thread of a kernel whose calls are inlined."""
    work = Work()
    _region(fn.body, 1.0, work)
    return work


def gains_from_gathering(adjoint: Function, gathering: Function) -> bool:
    """Whether an adjoint whose elements gather their sums is faster than the one whose threads scatter them.

    It does the arithmetic once for every element that a thread reaches, but LLVM vectorises it across threads, as it
    can where there are no loops.
    """
    scattered, gathered = estimate(adjoint), estimate(gathering)
    if not gathered.gains_from_vectors or any(isinstance(node, For | While) for node in walk(gathering.body)):
        return False
    lanes = scattered.gains_from_lanes(max(_LANES_PAY))
    alone = scattered.moved + (_VECTORIZED if lanes else 0.3) * scattered.operations
    moved = _NEIGHBOURING * (gathered.moved - gathered.compound) + _INTERLEAVED * gathered.compound
    return _VECTORIZED * gathered.operations + moved < alone


def _region(region: Region, times: float, work: Work) -> None:
    for node in region.nodes:
        if isinstance(node, Call):
            _call(node, times, work)
        inner = times * _trips(node) if isinstance(node, For | While) else times
        for part in node.regions():
            _region(part, inner, work)


def _trips(node: For | While) -> float:
    bounds = (node.start, node.stop, node.step) if isinstance(node, For) else ()
    known = [bound.value for bound in bounds if isinstance(bound, Constant)]
    if len(known) < 3 or not known[2]:
        return _UNKNOWN_TRIPS
    return len(range(*map(int, known)))


def _call(call: Call, times: float, work: Work) -> None:
    array = call.args[0].type if call.args and isinstance(call.args[0].type, ArrayType) else None
    if array is not None and call.op.effect in (READ, WRITE, ATOMIC):
        size = flat_size(array.dtype)
        work.moved += times * size
        work.wide += times * size if size > _NARROW else 0.0
        work.compound += times * size if size > 1 else 0.0
        return
    size = sum(flat_size(r.type) for r in call.results if not isinstance(r.type, ArrayType))
    each = _LIBRARY_CALL if call.row.ulps > 1 else 1
    if call.op.name == "mul" and is_compound(call.args[0].type) and is_compound(call.args[1].type):
        each = 2 * call.args[0].type.shape[-1]
    if call.op.name in _FREE:
        return
    work.operations += times * size * each
    if takes_lanes(call):
        double = any(not is_struct(v.type) and scalars.bits(compounds.scalar_of(v.type)) == 64 for v in call.results)
        work.shared += times * size * each / (2 if double else 1)
    else:
        work.alone += times * sum(flat_size(v.type) for v in (*call.args, *call.results) if not holds_arrays(v.type))

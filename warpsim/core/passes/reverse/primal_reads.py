"""Primal reads: where the reverse finds what a kernel read, in arrays before or after the launch.

Guarantees: every read that is recomputed gives what the read of the launch gave. Where the thread writes the
element only before the read, or never, the array holds it still. Where it writes it only after the read,
a copy from before the launch holds it: that copy is a parameter of the adjoint. What an atomic returned
is found in an array that the launch recorded, if each thread comes there at most once. Elements that are
written both before and after they are read are unrecoverable, unless `promote_memory` carried them in variables.

It relies on threads not racing: no thread reads what another one writes, but through atomics.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.builder import Builder
from ...ir.def_use import used_values
from ...ir.nodes import Call, Function, If, Region, Value
from ...ops import construct, memory, threads
from ...ops.registry import ATOMIC
from ...types.arrays import array_type
from ...types.scalars import int32
from ...types.structs import holds_arrays
from ..analysis.alias import VIEWS, BaseArray
from ..analysis.dependence import AFTER, BEFORE, Access, Dependences, in_one_iteration
from .extra_params import Before, ExtraParam, Extras, Returned
from .recompute import PrimalSource, Recompute


def written_around(access: Access, dependences: Dependences) -> set[str]:
    """Whether the thread writes the element of a read before it, after it, both or never."""
    times: set[str] = set()
    for other in dependences.by_base[access.base]:
        if other.writes and other is not access:
            times |= dependences.order(access, other)
    return times


class PrimalReads(PrimalSource):
    """The contents of arrays for one adjoint; asks for copies from before the launch as they are needed."""

    def __init__(self, fn: Function, ndim: int):
        self.dependences = Dependences(fn)
        self.reads = {access.call: access for access in self.dependences.accesses if not access.writes}
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.atomics = recorded_atomics(fn)
        self.ndim = ndim
        self.params: dict[ExtraParam, Value] = {}

    def extra(self, what: ExtraParam, like: Value) -> Value:
        """The parameter of the adjoint that holds something, made on first use."""
        return self.params.setdefault(what, Value(like.type, like.hint))

    # ----- arrays ---------------------------------------------------------------------------

    def array(self, call: Call, primals: Recompute) -> Value | None:
        where, access = self.dependences, self.reads.get(call)
        here = primals.use(call.args[0])
        if access is None:
            # A read through a choice of arrays, or inside a function with a gradient of its own.
            possible = where.points_to.get(call.args[0], where.lent)
            return None if any(base in where.written for base in possible) else here
        if access.base not in where.written:
            return here
        if access.base.holder not in self.position:
            return None  # a local array: recomputing the primals does not store to it
        around = written_around(access, where) | where.blindly(access)
        if AFTER not in around:
            return here
        if BEFORE in around:
            return None
        return self.earlier(call.args[0], access.base, primals)

    def earlier(self, array: Value, base: BaseArray, primals: Recompute) -> Value:
        """The same view of the copy from before the launch; of an array in a struct, the struct is copied."""
        maker = self.dependences.definitions.get(array)
        if maker is None or maker.op.name not in VIEWS:
            return construct.member(self.extra(Before(self.position[base.holder]), base.holder), base.path)
        whole = self.earlier(maker.args[0], base, primals)
        args = (whole, *primals.uses(maker.args[1:]))
        part: Value = primals.builder.call(maker.op, args, (array.type,), maker.attributes)
        return part

    def holds(self, call: Call) -> bool:
        where = self.dependences
        read = call.args if isinstance(call.op, Function) else [call.args[k] for k in call.op.reads]
        arrays = (a for a in read if holds_arrays(a.type))
        bases = (base for a in arrays for base in where.points_to.get(a, where.lent))
        return not any(base in where.written for base in bases)

    def stale(self, call: Call) -> BaseArray | None:
        where = self.dependences
        loops, place = where.lends.get(call, ((), ()))
        for base in where.looked_at(call):
            if base is None or base not in where.written:
                continue
            if not place:  # called by a function with a replay of its own
                return base
            spots = [(a.loops, a.place) for a in where.by_base.get(base, ()) if a.writes]
            for others, spot in (*spots, *where.blind.get(base, ())):
                around = loops[:1] == others[:1] != () and spot != place
                if around or AFTER in in_one_iteration(place, spot):
                    return base
        return None

    # ----- atomics --------------------------------------------------------------------------

    def is_settled(self, call: Call) -> bool:
        """So it is unless something else changes the element later; a store that nobody reads before clears it."""
        where = self.dependences
        access = next((a for a in where.accesses if a.call is call), None)
        if access is None or AFTER in where.blindly(access):
            return False
        later = [a for a in where.by_base[access.base] if a is not access and AFTER in where.order(access, a)]
        changes = [a for a in later if a.writes and a.call.op.name != call.op.name]
        cleared = all(a.call.op.name == "store" and where.same(a.indices, access.indices) for a in changes)
        return not changes or (cleared and all(a.writes for a in later))

    def returned_value(self, call: Call, primals: Recompute) -> Value | None:
        if call not in self.atomics:
            return None
        rank = max(1, self.ndim)
        like = Value(array_type(call.results[0].type, rank), f"returned_{len(self.params)}")
        noted = self.extra(Returned(self.atomics.index(call)), like)
        old: Value = memory.load(noted, *thread_index(primals.builder, rank))
        return old


def thread_index(builder: Builder, rank: int) -> tuple[Value, ...]:
    index = builder.call(threads.tid.rows[0], (), (int32,) * rank, {"ndim": rank})
    return index if rank > 1 else (index,)


def recorded_atomics(fn: Function) -> list[Call]:
    """The atomics whose results are used and that a thread comes to at most once, in order."""
    used = used_values(fn.body)
    return [c for c in _outside_loops(fn.body) if c.op.effect == ATOMIC and any(r in used for r in c.results)]


def without_unread(fn: Function, extras: Extras) -> tuple[Function, Extras]:
    """Drop parameters for contents that the adjoint turned out not to need."""
    used = used_values(fn.body)
    own, more = fn.params[: -len(extras) or None], fn.params[len(fn.params) - len(extras) :]
    read = [(p, e) for p, e in zip(more, extras, strict=True) if p in used or not isinstance(e, Before | Returned)]
    body = replace(fn.body, params=(*own, *(p for p, _ in read)))
    return replace(fn, body=body), tuple(e for _, e in read)


def _outside_loops(region: Region) -> list[Call]:
    calls: list[Call] = []
    for node in region.nodes:
        if isinstance(node, Call):
            calls.append(node)
        elif isinstance(node, If):
            for arm in node.regions():
                calls.extend(_outside_loops(arm))
    return calls

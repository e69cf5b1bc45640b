"""Where the reverse finds what a kernel read: the contents of arrays before and after the launch.

Guarantees: every read of the replay gives what the read of the launch gave. Where the thread writes the
element only before the read, or never, the array holds it still. Where it writes it only after the read,
a copy from before the launch holds it: that copy is a parameter of the adjoint. What an atomic returned
is found in an array that the launch recorded, if each thread comes there at most once. Elements that are
written both before and after they are read are lost, unless `forwarding` carried them in variables.

It relies on threads not racing: no thread reads what another one writes, but through atomics.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.builder import Builder
from ...ir.nodes import Call, Function, If, Region, Value
from ...ops import construct, memory, threads
from ...ops.registry import ATOMIC
from ...types.arrays import array_type
from ...types.scalars import int32
from ..analysis.alias import VIEWS, Root
from ..analysis.dependence import AFTER, BEFORE, Access, Addresses, in_one_round
from .recompute import Contents, Replay


class Extra(NamedTuple):
    """A parameter of a derived kernel after the kernel's own.

    kind: `before` (what array parameter `position` held before the launch), `recorded` (what the
    `position`-th atomic with a used result returned, by thread), `sum` (an array of one element that
    takes the gradient of parameter `position`).
    """

    kind: str
    position: int


def written_around(access: Access, addresses: Addresses) -> set[str]:
    """Whether the thread writes the element of a read before it, after it, both or never."""
    found: set[str] = set()
    for other in addresses.by_root[access.root]:
        if other.writes and other is not access:
            found |= addresses.order(access, other)
    return found


class Overwrites(Contents):
    """The contents of arrays for one adjoint; asks for copies from before the launch as they are needed."""

    def __init__(self, fn: Function, ndim: int):
        self.addresses = Addresses(fn)
        self.reads = {access.call: access for access in self.addresses.accesses if not access.writes}
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.atomics = recorded_atomics(fn)
        self.ndim = ndim
        self.params: dict[Extra, Value] = {}

    def extra(self, kind: str, position: int, like: Value) -> Value:
        """The parameter of the adjoint that holds something, made on first use."""
        return self.params.setdefault(Extra(kind, position), Value(like.type, like.hint))

    # ----- arrays ---------------------------------------------------------------------------

    def array(self, call: Call, replay: Replay) -> Value | None:
        where, access = self.addresses, self.reads.get(call)
        here = replay.use(call.args[0])
        if access is None:
            # A read through a choice of arrays, or inside a function with a gradient of its own.
            possible = where.sources.get(call.args[0], where.lent)
            return None if any(root in where.written for root in possible) else here
        if access.root not in where.written:
            return here
        if access.root.holder not in self.position:
            return None  # a local array: the replay does not store to it
        around = written_around(access, where) | where.blindly(access)
        if AFTER not in around:
            return here
        if BEFORE in around:
            return None
        return self.earlier(call.args[0], access.root, replay)

    def earlier(self, array: Value, root: Root, replay: Replay) -> Value:
        """The same view of the copy from before the launch; of an array in a struct, the struct is copied."""
        maker = self.addresses.makers.get(array)
        if maker is None or maker.op.name not in VIEWS:
            found: Value = self.extra("before", self.position[root.holder], root.holder)
            for name in filter(None, root.path.split(".")):
                found = construct.field(found, name=name)
            return found
        whole = self.earlier(maker.args[0], root, replay)
        args = (whole, *replay.uses(maker.args[1:]))
        part: Value = replay.builder.call(maker.op, args, (array.type,), maker.attributes)
        return part

    def holds(self, call: Call) -> bool:
        where = self.addresses
        roots = (root for k in call.op.reads for root in where.sources.get(call.args[k], where.lent))
        return not any(root in where.written for root in roots)

    def stale(self, call: Call) -> Root | None:
        where = self.addresses
        loops, place = where.lends.get(call, ((), ()))
        for root in where.looked_at(call):
            if root is None or root not in where.written:
                continue
            if not place:  # called by a function that has a replay of its own
                return root
            spots = [(a.loops, a.place) for a in where.by_root.get(root, ()) if a.writes]
            for others, spot in (*spots, *where.blind.get(root, ())):
                around = loops[:1] == others[:1] != () and spot != place
                if around or AFTER in in_one_round(place, spot):
                    return root
        return None

    # ----- atomics --------------------------------------------------------------------------

    def settled(self, call: Call) -> bool:
        """So it is unless something else changes the element later; a store that nobody reads before clears it."""
        where = self.addresses
        access = next((a for a in where.accesses if a.call is call), None)
        if access is None or AFTER in where.blindly(access):
            return False
        later = [a for a in where.by_root[access.root] if a is not access and AFTER in where.order(access, a)]
        changes = [a for a in later if a.writes and a.call.op.name != call.op.name]
        cleared = all(a.call.op.name == "store" and where.same(a.indices, access.indices) for a in changes)
        return not changes or (cleared and all(a.writes for a in later))

    def returned(self, call: Call, replay: Replay) -> Value | None:
        if call not in self.atomics:
            return None
        rank = max(1, self.ndim)
        like = Value(array_type(call.results[0].type, rank), f"returned_{len(self.params)}")
        noted = self.extra("recorded", self.atomics.index(call), like)
        found: Value = memory.load(noted, *thread_index(replay.builder, rank))
        return found


def thread_index(builder: Builder, rank: int) -> tuple[Value, ...]:
    found = builder.call(threads.tid.rows[0], (), (int32,) * rank, {"ndim": rank})
    return found if rank > 1 else (found,)


def recorded_atomics(fn: Function) -> list[Call]:
    """The atomics whose results are used and that a thread comes to at most once, in order."""
    used: set[Value] = set()
    _collect_uses(fn.body, used)
    return [c for c in _outside_loops(fn.body) if c.op.effect == ATOMIC and any(r in used for r in c.results)]


def _collect_uses(region: Region, used: set[Value]) -> None:
    used.update(region.yields)
    for node in region.nodes:
        used.update(node.operands())
        for inner in node.regions():
            _collect_uses(inner, used)


def _outside_loops(region: Region) -> list[Call]:
    found: list[Call] = []
    for node in region.nodes:
        if isinstance(node, Call):
            found.append(node)
        elif isinstance(node, If):
            for arm in node.regions():
                found.extend(_outside_loops(arm))
    return found



"""Atomic plan: how a kernel uses its arrays, and which of its atomics need no atomic instruction.

Guarantees, for a kernel whose calls are inlined: how it uses every array (see `array_uses`). For array parameters and
their gradient arrays also: which atomics always hit one address that all threads agree on (*uniform*), which only ever
hit elements that no other thread reaches (*injective*), and whether the array can be summed in private copies
(*summed*): reached only by float `atomic_add`/`atomic_sub` whose results nobody uses. An access that may go to one of
several arrays makes none of them special. Atomics on arrays that came with structs, or out of memory, are on unknown
arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ....forks import cached_property
from ...ir.def_use import defining_calls, used_values
from ...ir.nodes import Call, Constant, Function, Region, Value, walk
from ...ops.memory import COMMUTING_ATOMICS, PRIVATE_ATOMICS
from ...ops.registry import ATOMIC, PURE
from ...types import scalars
from ...types.array_ref import ArrayRef
from ...types.compounds import scalar_of
from ...types.scalars import int32
from .affine import AffineForms
from .alias import TO_ARRAY, BaseArray, PointsTo, points_to, views_of
from .array_uses import ArrayUse, ArrayUses, array_uses
from .effects import effects_of
from .ranges import Ranges

_LARGEST_UNIFORM = 64  # calls in the expression of a uniform index: the back end repeats them at the end of a range


@dataclass
class AtomicPlan:
    """The uses of arrays, and the atomics that need no atomic instruction."""

    uses: ArrayUses = field(default_factory=ArrayUses)
    uniform: dict[Call, bool] = field(default_factory=dict)
    """Uniform accumulations; the value says whether every thread that starts also executes it."""
    combined: dict[Call, bool] = field(default_factory=dict)
    """Uniform sums and extremes of any numbers, on arrays that nothing else reaches; valued like `uniform`."""
    injective: set[Call] = field(default_factory=set)
    sums: set[Call] = field(default_factory=set)
    """Atomics on arrays that can be summed in private copies."""
    gathered: set[Call] = field(default_factory=set)
    """Those of them on arrays that are summed at shared addresses alone."""
    unknown: list[Call] = field(default_factory=list)
    """Atomics on arrays that came out of structs, or out of a choice between arrays, and native code with atomics."""
    local: set[Call] = field(default_factory=set)
    """Atomics on arrays of the thread's own stack."""
    definitions: dict[Value, Call] = field(default_factory=dict)
    """The call that defines each value."""
    used: set[Value] = field(default_factory=set)
    """Every value that something reads."""
    ranges: Ranges = field(default_factory=lambda: Ranges(Function("nothing", Region())))
    """Limits of the indices of all accesses."""

    def without_assumptions(self) -> AtomicPlan:
        """The plan for arguments of which one that is summed into overlaps another: every atomic is real."""
        return replace(
            self, uses=self.uses.without_sums(), uniform={}, combined={}, injective=set(), sums=set(), gathered=set()
        )

    def lone(self) -> list[ArrayRef]:
        """The arrays whose atomics are combined although they are not summed: no other argument may overlap them."""
        uses = self.uses.items()
        return [ref for ref, use in uses if not use.summed and self.combined.keys() & {*use.atomics}]

    def atomics(self) -> list[Call]:
        """Every atomic on an array that comes from outside."""
        return [*self.unknown, *(call for ref, use in self.uses.items() if not ref.path for call in use.atomics)]


def analyse(fn: Function) -> AtomicPlan:
    """The plan of a kernel."""
    return _Analysis(fn).run()


class _Analysis:
    def __init__(self, fn: Function):
        self.plan = AtomicPlan(definitions=defining_calls(fn.body), used=used_values(fn.body), ranges=Ranges(fn))
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.definitions, self.used = self.plan.definitions, self.plan.used
        self.points_to = points_to(fn)
        self.plan.uses = array_uses(fn, self.points_to)
        self.uniform: dict[Value, int] = dict.fromkeys(fn.params, 0)
        """Values that all threads agree on, with the number of calls in their expressions."""
        self.accesses: dict[BaseArray, list[Call]] = {}
        self.vague: set[BaseArray | None] = set()
        self.affine = AffineForms(self.definitions, exact=True)
        for node in walk(fn.body):
            if isinstance(node, Call):
                self.call(node)
        self.top = {node for node in fn.body.nodes if isinstance(node, Call)}

    def run(self) -> AtomicPlan:
        for base, calls in self.accesses.items():
            if base.holder in self.position:
                self.use_of(base).atomics = [c for c in calls if c.op.effect == ATOMIC]
            if base not in self.vague:
                self.classify(base, calls)
        return self.plan

    # ----- walking --------------------------------------------------------------------------

    def call(self, call: Call) -> None:
        if isinstance(call.op, Function) or call.op.opaque:
            self.opaque(call)
        elif any(effects_of(call)):
            self.access(call)
        if call.op.effect == PURE and call.op.name not in ("tid", "block_dim"):
            self.note_uniform(call)

    def note_uniform(self, call: Call) -> None:
        size = 1
        for a in call.args:
            if not isinstance(a, Constant):
                size += self.uniform.get(a, _LARGEST_UNIFORM)
        if size <= _LARGEST_UNIFORM:
            self.uniform.update((r, size) for r in call.results)

    def is_uniform(self, value: Value) -> bool:
        return isinstance(value, Constant) or value in self.uniform

    # ----- what accesses do -----------------------------------------------------------------

    def access(self, call: Call) -> None:
        """Sort an access by the array it goes to, or by those it may go to."""
        arrays = self.points_to[call.args[0]]
        for value in call.args[1:]:
            self.vague |= self.points_to.get(value, frozenset())  # a struct in memory may come back anywhere
        known = [a for a in arrays if a is not None]
        if len(arrays) > 1 or not known:
            self.vague |= arrays
        for base in known:
            self.accesses.setdefault(base, []).append(call)
        if call.op.effect == ATOMIC:
            if self.are_local(arrays):
                self.plan.local.add(call)
            elif len(arrays) > 1 or not known or known[0].path:
                self.plan.unknown.append(call)

    def opaque(self, call: Call) -> None:
        """Native code goes anywhere in the arrays that it is given, and in the gradients of those in structs; a shared
        function may read anywhere in them."""
        if not isinstance(call.op, Function) and call.op.contends:
            self.plan.unknown.append(call)
        for value in call.args:
            data = self.points_to.get(value, frozenset())
            gradients = {r._replace(is_grad=True) for r in data if r is not None and r.path}
            self.vague |= data | gradients
            for base in data | gradients:
                if base is not None:
                    self.accesses.setdefault(base, []).append(call)

    def are_local(self, arrays: PointsTo) -> bool:
        return bool(arrays) and all(a is not None and a.holder not in self.position for a in arrays)

    def use_of(self, base: BaseArray) -> ArrayUse:
        """Where the use of an array of the parameters is noted."""
        return self.plan.uses.use(ArrayRef(self.position[base.holder], base.path, base.is_grad))

    def classify(self, base: BaseArray, calls: list[Call]) -> None:
        """Find the atomics of a parameter or its gradient that need no atomic instruction."""
        if base.path or base.holder not in self.position:
            return
        use, plan = self.use_of(base), self.plan
        # Arrays that came in structs may be this one under another name: only a launch could tell.
        known = not plan.unknown and not base.holder.type.indexed
        if use.atomics and known and self.own_element(calls):
            plan.injective.update(use.atomics)
            return
        if len(use.atomics) == len(calls) and self.commute(calls):
            plan.combined.update((c, c in self.top) for c in calls if all(self.is_uniform(v) for v in c.args[:-1]))
        sums = [c for c in use.atomics if self.is_sum(c)]
        use.summed = len(sums) == len(calls)
        if use.summed:
            plan.sums.update(sums)
            uniform = [c for c in sums if all(self.is_uniform(v) for v in c.args[:-1])]
            plan.uniform.update((c, c in self.top) for c in uniform)
            use.gathered = uniform == sums
            if use.gathered:
                plan.gathered.update(sums)
            offsets = [self.offset(c) for c in sums]
            if None not in offsets and not base.holder.type.indexed:
                use.near = max(abs(n) for n in offsets if n is not None)

    def is_sum(self, call: Call) -> bool:
        floating = scalars.is_float(scalar_of(call.args[-1].type))
        return floating and call.op.name in PRIVATE_ATOMICS and call.results[0] not in self.used

    def commute(self, calls: list[Call]) -> bool:
        """Whether all are sums, all minima or all maxima, and nobody reads what they return."""
        names = {c.op.name for c in calls}
        alike = any(names <= set(family) for family in COMMUTING_ATOMICS)
        return alike and not any(c.results[0] in self.used for c in calls)

    def leading_index(self, call: Call) -> tuple[Value, bool]:
        """The index along the first dimension of the array that an access goes to, through views.

        And whether it may be negative, and count from the end.
        """
        views = views_of(call.args[0], self.definitions)[1]
        call = [call, *(view for view in views if view.op.name == "view")][-1]
        return call.args[1], self.plan.ranges.may_count_back(call, 1)

    def offset(self, call: Call) -> int | None:
        """How far the leading index of an access is from the thread's first index, where that is a constant."""
        index, counts_back = self.leading_index(call)
        form = self.affine.of(index)
        return form.constant if form.terms == {(("tid", 0), 1)} and not counts_back and index.type is int32 else None

    def own_element(self, calls: list[Call]) -> bool:
        """Whether every access goes to elements that no other thread reaches: each has all indices of the thread, and
        every one of them at the same place in all accesses."""
        own = frozenset.intersection(*(self.thread_places(call) for call in calls))
        return 0 < self.thread_rank == len({axis for axis, _ in own})

    def thread_places(self, call: Call) -> frozenset[tuple[int, int]]:
        """Pairs of an index of the thread and of its place in an access of a parameter, or of the gradient of one."""
        array, views = views_of(call.args[0], self.definitions, TO_ARRAY)
        if array not in self.position:
            return frozenset()
        outer = [index for view in reversed(views) if view.op.name == "view" for index in view.args[1:]]
        indices = [*outer, *call.args[1 : 1 + call.args[0].type.ndim]]
        makers = [(place, value, self.definitions.get(value)) for place, value in enumerate(indices)]
        return frozenset(
            (maker.results.index(value), place)
            for place, value, maker in makers
            if maker is not None and maker.op.name == "tid"
        )

    @cached_property
    def thread_rank(self) -> int:
        """The number of indices that a thread asks for, always the same; 0 for none."""
        return max((len(call.results) for call in self.definitions.values() if call.op.name == "tid"), default=0)

"""How a kernel uses the arrays it was given. An analysis: it changes nothing.

Guarantees, for a kernel whose calls are inlined: for every array parameter whether it is read,
written, or reached by atomics; which atomics always hit one address that all threads agree on
(*uniform*), which only ever hit the thread's own element (*injective*), and whether the array can be
summed in private copies (*summed*): reached only by float `atomic_add`/`atomic_sub` whose results
nobody uses. It follows arrays through views, choices and structs made in the kernel. An access that
may go to one of several arrays counts for each and makes none of them special; so does a loop that
carries arrays, for all of them. Arrays that came with structs, and gradients, are unknown memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..ir.nodes import Call, Constant, Function, If, Region, Value
from ..ops.memory import PRIVATE_ATOMICS
from ..ops.registry import ATOMIC, PURE, READ, WRITE
from ..types import scalars, structs
from ..types.arrays import ArrayType
from ..types.compounds import scalar_of

_VIEWS = ("view", "field_view", "component_view")
_STRUCTS = ("construct", "with_field", "field")
_LARGEST_UNIFORM = 64  # calls in the expression of a uniform index: the back end repeats them at the end of a range

Sources = frozenset[Value | None]
"""The arrays that a value may be or hold: parameters and local arrays, None for memory unknown here."""
UNKNOWN: Sources = frozenset({None})


@dataclass
class Use:
    """What a kernel does to one array parameter."""

    read: bool = False
    written: bool = False
    atomics: list[Call] = field(default_factory=list)
    summed: bool = False
    gathered: bool = False
    """Summed, and only at addresses that all threads share."""


@dataclass
class Plan:
    """The uses by parameter position, and the atomics that need no atomic instruction."""

    uses: dict[int, Use] = field(default_factory=dict)
    uniform: dict[Call, bool] = field(default_factory=dict)
    """Uniform accumulations; the value says whether every thread that starts also executes it."""
    injective: set[Call] = field(default_factory=set)
    sums: set[Call] = field(default_factory=set)
    """Atomics on arrays that can be summed in private copies."""
    gathered: set[Call] = field(default_factory=set)
    """Those of them on arrays that are summed at shared addresses alone."""
    unknown: list[Call] = field(default_factory=list)
    """Atomics on arrays that came out of structs, or out of a choice between arrays."""
    local: set[Call] = field(default_factory=set)
    """Atomics on arrays of the thread's own stack."""
    makers: dict[Value, Call] = field(default_factory=dict)
    """The call that makes each value."""
    used: set[Value] = field(default_factory=set)
    """Every value that something reads."""

    def without_assumptions(self) -> Plan:
        """The plan for arguments of which one that is summed into overlaps another: every atomic is real."""
        uses = {k: replace(use, summed=False, gathered=False) for k, use in self.uses.items()}
        return Plan(uses, unknown=self.unknown, local=self.local, makers=self.makers, used=self.used)


def analyse(fn: Function) -> Plan:
    """The plan of a kernel."""
    return _Analysis(fn).run()


@cache
def holds_arrays(t: Any) -> bool:
    """Whether values of the type are, or contain, arrays."""
    if structs.is_struct(t):
        return any(holds_arrays(f) for f in t.fields.values())
    return isinstance(t, ArrayType)


class _Analysis:
    def __init__(self, fn: Function):
        self.plan = Plan()
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.maker, self.used = self.plan.makers, self.plan.used
        self.plan.uses = {k: Use() for p, k in self.position.items() if isinstance(p.type, ArrayType)}
        self.sources: dict[Value, Sources] = {}
        self.uniform: dict[Value, int] = dict.fromkeys(fn.params, 0)
        """Values that all threads agree on, with the number of calls in their expressions."""
        self.accesses: dict[Value, list[Call]] = {}
        self.vague: set[Value | None] = set()
        for p in fn.params:
            if holds_arrays(p.type):
                self.sources[p] = frozenset({p}) if isinstance(p.type, ArrayType) else UNKNOWN
        self.anything = UNKNOWN.union(p for p in fn.params if isinstance(p.type, ArrayType))
        self.used.update(fn.body.yields)
        self.region(fn.body)
        self.top = {node for node in fn.body.nodes if isinstance(node, Call)}

    def run(self) -> Plan:
        for array, calls in self.accesses.items():
            self.note(array, calls)
            if array not in self.vague:
                self.classify(array, calls)
        return self.plan

    # ----- what values are ------------------------------------------------------------------

    def region(self, region: Region) -> None:
        for node in region.nodes:
            self.used.update(node.operands())
            if isinstance(node, Call):
                self.call(node)
                continue
            for inner in node.regions():
                self.used.update(inner.yields)
                if not isinstance(node, If):
                    self.set_sources(inner.params, self.anything)
                self.region(inner)
            if isinstance(node, If):
                for result, *arms in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
                    self.set_sources((result,), self.union(tuple(arms)))
            else:
                self.set_sources(node.results, self.anything)

    def set_sources(self, values: tuple[Value, ...], sources: Sources) -> None:
        self.sources.update((v, sources) for v in values if holds_arrays(v.type))

    def union(self, values: tuple[Value, ...]) -> Sources:
        """Where the arrays in some values come from; constants hold none."""
        return frozenset().union(*(self.sources.get(v, frozenset()) for v in values))

    def call(self, call: Call) -> None:
        self.maker.update((r, call) for r in call.results)
        if call.op.effect in (READ, WRITE, ATOMIC) and call.args:
            self.access(call)
        if call.op.effect == PURE and call.op.name not in ("tid", "block_dim"):
            self.note_uniform(call)
        for result in call.results:
            if holds_arrays(result.type):
                self.sources[result] = self.made(call, result)

    def made(self, call: Call, result: Value) -> Sources:
        name = call.op.name
        if name == "local_array":
            return frozenset({result})
        if name in _VIEWS:
            return self.sources[call.args[0]]
        if name == "where" or name in _STRUCTS:
            return self.union(call.args)
        return UNKNOWN

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
        arrays = self.sources[call.args[0]]
        for value in call.args[1:]:
            self.vague |= self.sources.get(value, frozenset())  # a struct in memory may come back anywhere
        known = [a for a in arrays if a is not None]
        if len(arrays) > 1 or not known:
            self.vague |= arrays
            if call.op.effect == ATOMIC and not self.are_local(arrays):
                self.plan.unknown.append(call)
        for array in known:
            self.accesses.setdefault(array, []).append(call)
        if call.op.effect == ATOMIC and self.are_local(arrays):
            self.plan.local.add(call)

    def are_local(self, arrays: Sources) -> bool:
        return bool(arrays) and all(a is not None and a not in self.position for a in arrays)

    def note(self, array: Value, calls: list[Call]) -> None:
        """What happens to a parameter, as far as launches want to know."""
        use = self.plan.uses.get(self.position.get(array, -1), Use())
        use.read = any(c.op.effect == READ for c in calls)
        use.written = any(c.op.effect in (WRITE, ATOMIC) for c in calls)
        use.atomics = [c for c in calls if c.op.effect == ATOMIC]

    def classify(self, array: Value, calls: list[Call]) -> None:
        """Find the atomics of a parameter that need no atomic instruction."""
        if array not in self.position:
            return
        use, plan = self.plan.uses[self.position[array]], self.plan
        if use.atomics and not array.type.indexed and self.own_element(calls):
            plan.injective.update(use.atomics)
            return
        sums = [c for c in use.atomics if self.is_sum(c)]
        use.summed = len(sums) == len(calls)
        if use.summed:
            plan.sums.update(sums)
            uniform = [c for c in sums if all(self.is_uniform(v) for v in c.args[:-1])]
            plan.uniform.update((c, c in self.top) for c in uniform)
            use.gathered = uniform == sums
            if use.gathered:
                plan.gathered.update(sums)

    def is_sum(self, call: Call) -> bool:
        floating = scalars.is_float(scalar_of(call.args[-1].type))
        return floating and call.op.name in PRIVATE_ATOMICS and call.results[0] not in self.used

    def own_element(self, calls: list[Call]) -> bool:
        """Whether every access uses exactly the thread's full index, directly on the parameter."""
        return all(call.args[0] in self.position and self.is_thread_index(call) for call in calls)

    def is_thread_index(self, call: Call) -> bool:
        rank = call.args[0].type.ndim
        indices = call.args[1 : 1 + rank]
        maker = self.maker.get(indices[0])
        return maker is not None and maker.op.name == "tid" and maker.results == tuple(indices)

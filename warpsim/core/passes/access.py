"""How a kernel uses the arrays it was given. An analysis: it changes nothing.

Guarantees, for a kernel whose calls are inlined: for every array parameter whether it is read,
written, or reached by atomics; which atomics always hit one address that all threads agree on
(*uniform*), which only ever hit the thread's own element (*injective*), and whether the array can be
summed in private copies (*summed*): reached only by float `atomic_add`/`atomic_sub` whose results
nobody uses. Arrays inside structs, and arrays that a branch or a loop hands on under another name,
count as one unknown array that everything may touch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.nodes import Call, Constant, Function, Value, walk
from ..ops.memory import PRIVATE_ATOMICS
from ..ops.registry import ATOMIC, PURE, READ, WRITE
from ..types import scalars
from ..types.arrays import ArrayType
from ..types.compounds import scalar_of

_VIEWS = ("view", "field_view", "component_view", "gradient")
_HOLDERS = ("construct", "with_field", "where")


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


def analyse(fn: Function) -> Plan:
    """The plan of a kernel."""
    return _Analysis(fn).run()


class _Analysis:
    def __init__(self, fn: Function):
        self.fn = fn
        self.plan = Plan()
        self.position = {p: k for k, p in enumerate(fn.params)}
        self.maker: dict[Value, Call] = {}
        self.used: set[Value] = set()
        for node in walk(fn.body):
            self.used.update(node.operands())
            for region in node.regions():
                self.used.update(region.yields)
            if isinstance(node, Call):
                self.maker.update((r, node) for r in node.results)
        self.top = {node for node in fn.body.nodes if isinstance(node, Call)}

    def run(self) -> Plan:
        plan = self.plan
        plan.makers, plan.used = self.maker, self.used
        plan.uses = {k: Use() for p, k in self.position.items() if isinstance(p.type, ArrayType)}
        accesses = [n for n in walk(self.fn.body) if isinstance(n, Call) and n.op.effect in (READ, WRITE, ATOMIC)]
        by_root: dict[Value | None, list[Call]] = {}
        for call in accesses:
            if not call.args:
                continue
            root = self.root(call.args[0])
            by_root.setdefault(root, []).append(call)
        escaped = self.escaped()
        for root in {**by_root, **dict.fromkeys(escaped)}:
            aliases = by_root.get(None, []) if root in escaped else []
            self.record(root, by_root.get(root, []), aliases)
        return plan

    def escaped(self) -> set[Value | None]:
        """Arrays that a branch, a loop or a struct hands on under another name."""
        handed: list[Value] = []
        for node in walk(self.fn.body):
            if isinstance(node, Call):
                handed.extend(node.args if node.op.name in _HOLDERS else ())
                continue
            handed.extend(node.operands())
            for region in node.regions():
                handed.extend(region.yields)
        return {self.root(v) for v in handed if isinstance(v.type, ArrayType)} - {None}

    def root(self, array: Value) -> Value | None:
        """The parameter or local array that a view belongs to; None when it came from a struct."""
        while array not in self.position:
            call = self.maker.get(array)
            if call is None or not call.args:
                return array if call is not None else None
            if call.op.name not in _VIEWS:
                return None
            array = call.args[0]
        return array

    def record(self, root: Value | None, calls: list[Call], aliases: list[Call]) -> None:
        """Note what is done to an array; `aliases` may reach it under another name."""
        if root is not None and root not in self.position:
            self.plan.local.update(c for c in calls if c.op.effect == ATOMIC)
            return
        use = self.plan.uses.get(self.position[root], Use()) if root is not None else Use()
        use.read |= any(c.op.effect == READ for c in [*calls, *aliases])
        use.written |= any(c.op.effect in (WRITE, ATOMIC) for c in [*calls, *aliases])
        use.atomics = [c for c in calls if c.op.effect == ATOMIC]
        if root is None:
            self.plan.unknown = use.atomics
        if root is None or aliases:
            return
        if use.atomics and not root.type.indexed and self.own_element(calls):
            self.plan.injective.update(use.atomics)
            return
        sums = [c for c in use.atomics if self.is_sum(c)]
        use.summed = len(sums) == len(calls)
        if use.summed:
            self.plan.sums.update(sums)
            uniform = [c for c in sums if all(self.is_uniform(v) for v in c.args[:-1])]
            self.plan.uniform.update((c, c in self.top) for c in uniform)
            use.gathered = uniform == sums
            if use.gathered:
                self.plan.gathered.update(sums)

    def is_sum(self, call: Call) -> bool:
        floating = scalars.is_float(scalar_of(call.args[-1].type))
        free = floating and call.results[0] not in self.used
        return free and call.op.name in PRIVATE_ATOMICS and not self.is_gradient(call.args[0])

    def is_gradient(self, array: Value) -> bool:
        """Whether an array is the gradient of a parameter, which has no private copies."""
        call = self.maker.get(array)
        return call is not None and (call.op.name == "gradient" or self.is_gradient(call.args[0]))

    def own_element(self, calls: list[Call]) -> bool:
        """Whether every access uses exactly the thread's full index, directly on the parameter."""
        return all(call.args[0] in self.position and self.is_thread_index(call) for call in calls)

    def is_thread_index(self, call: Call) -> bool:
        rank = call.args[0].type.ndim
        indices = call.args[1 : 1 + rank]
        maker = self.maker.get(indices[0])
        return maker is not None and maker.op.name == "tid" and maker.results == tuple(indices)

    def is_uniform(self, value: Value) -> bool:
        """Whether all threads agree on the value: made of parameters and constants alone."""
        if isinstance(value, Constant) or value in self.position:
            return True
        call = self.maker.get(value)
        if call is None or call.op.effect != PURE or call.op.name in ("tid", "block_dim"):
            return False
        return all(self.is_uniform(a) for a in call.args)


"""Loop-carried values by what they mean to the reverse of a loop: reductions, and recurrences.

Guarantees: a carried value is a *reduction* when all that ever happens to it is that things are added which
depend on no reduction, as in `f += g(x[j])`, on all paths of an iteration. Then its cotangent is the same in
every iteration, and nobody needs its value. Every other carried value is a *recurrence*: all of them are the
state of the loop. A loop can be reversed in forward order, without checkpoints, when no recurrence is active and
what its body does to memory may be reversed in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.def_use import uses
from ...ir.nodes import Call, For, If, Region, Value, While, walk
from ...ops.registry import ATOMIC, READ, WRITE
from ..analysis.activity import NO, Activity
from ..analysis.alias import BaseArray


@dataclass(frozen=True)
class LoopShape:
    """Positions of carried values by their kind."""

    reductions: tuple[int, ...]
    """Those that are active; other sums are of no use to the reverse."""
    recurrences: tuple[int, ...]
    in_forward_order: bool
    """Whether the reverse may run in forward order."""


def shape_of(node: For | While, active: Activity) -> LoopShape:
    """Classify the carried values of a loop."""
    params = node.carried
    adding = reductions_of(node, params)
    sums = tuple(k for k, p in enumerate(params) if p in active and adding[k])
    state = tuple(k for k in range(len(params)) if not adding[k])
    forward = all(params[k] not in active for k in state) and order_free(node, active)
    if isinstance(node, While):
        forward &= not any(r in active for inner in walk(node.before) for r in inner.results)
    return LoopShape(sums, state, forward)


def reductions_of(node: For | While, params: tuple[Value, ...]) -> list[bool]:
    """Which carried values are sums."""
    sums = dict.fromkeys(range(len(params)), True)
    while True:
        family = {p: k for k, p in enumerate(params) if sums[k]}
        spoilt = _rewritten_values(node, family)
        if not spoilt:
            return [sums[k] for k in range(len(params))]
        for k in spoilt:
            sums[k] = False


def _rewritten_values(node: For | While, family: dict[Value, int]) -> set[int]:
    """Sums that are used otherwise; `family` leads from each partial sum to its position and grows."""
    spoilt: set[int] = set()
    if isinstance(node, For):
        _follow(node.body, family, spoilt)
    else:
        _follow(node.before, family, spoilt)
        spoilt.update(family[v] for v in (node.test,) if v in family)
        for value, param in zip(node.passed, node.body.params, strict=True):
            if value in family:
                family[param] = family[value]
        _follow(node.body, family, spoilt)
    params = node.carried
    for k, value in enumerate(node.body.yields):
        if family.get(params[k]) == k and family.get(value) != k:
            spoilt.add(k)
        elif value in family and family[value] != k:
            spoilt.add(family[value])
    return spoilt


def _follow(region: Region, family: dict[Value, int], spoilt: set[int]) -> None:
    for node in region.nodes:
        mentioned = [v for v in node.operands() if v in family]
        if isinstance(node, Call):
            if mentioned and _is_sum(node, mentioned):
                family[node.results[0]] = family[mentioned[0]]
            else:
                spoilt.update(family[v] for v in mentioned)
        elif isinstance(node, If):
            spoilt.update(family[v] for v in mentioned)
            for arm in node.regions():
                _follow(arm, family, spoilt)
            _join(node, family, spoilt)
        else:
            _inner_loop(node, family, spoilt)  # type: ignore[arg-type]


def _inner_loop(node: For | While, family: dict[Value, int], spoilt: set[int]) -> None:
    """A loop inside may add to a sum of the loop around it, if it is a sum there too."""
    params = node.carried
    bounds = (node.start, node.stop, node.step) if isinstance(node, For) else ()
    spoilt.update(family[v] for v in bounds if v in family)
    inner = reductions_of(node, params)
    for k, start in enumerate(node.init):
        if start not in family:
            continue
        if inner[k] and not (isinstance(node, While) and _changes_place(node, k)):
            family[node.results[k]] = family[start]
        else:
            spoilt.add(family[start])
    for part in node.regions():
        spoilt.update(family[v] for v in uses(part) if v in family)


def _changes_place(node: While, k: int) -> bool:
    """Whether the test hands a carried value on at another position, or changes it."""
    return len(node.results) <= k or node.passed[k] is not node.carried[k]


def _is_sum(call: Call, mentioned: list[Value]) -> bool:
    if len(mentioned) != 1 or call.op.name not in ("add", "sub") or len(call.results) != 1:
        return False
    return call.op.name == "add" or mentioned[0] is call.args[0]


def _join(node: If, family: dict[Value, int], spoilt: set[int]) -> None:
    for result, a, b in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
        if family.get(a) == family.get(b):
            if a in family:
                family[result] = family[a]
        else:
            spoilt.update(family[v] for v in (a, b) if v in family)


def order_free(node: For | While, active: Activity) -> bool:
    """Whether what the iterations do to gradients may be reversed in any order.

    Reads add to gradients and sums read them: neither minds the order, if no array has both. A store
    takes from the gradient, and must come at its turn.
    """
    read: set[BaseArray | None] = set()
    summed: set[BaseArray | None] = set()
    for inner in (n for region in node.regions() for n in walk(region)):
        if not isinstance(inner, Call):
            continue
        if inner.op.effect == "call":
            return False
        if inner.op.effect not in (READ, WRITE, ATOMIC) or not inner.args or inner.args[0] not in active.points_to:
            continue
        if active.gradient_status(inner.args[0]) == NO:
            continue
        if inner.op.effect == READ:
            read |= active.points_to[inner.args[0]]
        elif inner.op.name in ("atomic_add", "atomic_sub"):
            summed |= active.points_to[inner.args[0]]
        else:
            return False
    return not read & summed and not (None in read | summed and summed)

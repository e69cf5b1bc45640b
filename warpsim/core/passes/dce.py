"""Removes what nobody needs.

Guarantees: the program has the same effects and results. Calls without effect whose results are
unused go, and so do branches and counted loops left without effects. A `While` stays even then: it
may not end, and that is an effect. Reads count as removable.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Call, Function, Node, Region, Value, While
from ..ops.registry import PURE, READ


def dce(fn: Function) -> Function:
    """`fn` without dead nodes."""
    used = set(fn.body.yields)
    return replace(fn, body=_clean(fn.body, used))


def _clean(region: Region, used: set[Value]) -> Region:
    """The region with dead nodes removed; `used` holds what is needed after it and grows backwards."""
    used.update(region.yields)
    kept: list[Node] = []
    for node in reversed(region.nodes):
        if _removable(node) and not any(r in used for r in node.results):
            continue
        for inner in node.regions()[::-1]:
            inner.nodes = _clean(inner, used).nodes
        used.update(node.operands())
        kept.append(node)
    return Region(region.params, kept[::-1], region.yields)


def _removable(node: Node) -> bool:
    if isinstance(node, Call):
        return node.op.effect in (PURE, READ)
    if isinstance(node, While):
        return False
    return all(_removable(inner) for region in node.regions() for inner in region.nodes)

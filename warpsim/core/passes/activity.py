"""Which values carry a derivative. An analysis: it changes nothing.

Guarantees: a value is active when it has floating components and a path of differentiable operations
leads to it from a differentiable source: a float parameter or a read of a float array. Integers,
booleans, indices and arrays themselves are never active, and neither is what rows without a
derivative (with a stated reason) compute. Values carried round loops are active when any of their
sources is.
"""

from __future__ import annotations

from typing import Any

from ..ir.nodes import Call, Constant, For, Function, If, Region, Value, While
from ..ops.registry import ATOMIC, READ
from ..types import scalars, structs
from ..types.arrays import ArrayType
from ..types.compounds import scalar_of


def has_cotangent(t: Any) -> bool:
    """Whether values of the type have a derivative at all."""
    if structs.is_struct(t):
        return any(has_cotangent(field) for field in t.fields.values())
    return not isinstance(t, ArrayType) and scalars.is_float(scalar_of(t))


def active_values(fn: Function) -> set[Value]:
    """All active values of a function whose calls are inlined."""
    active = {p for p in fn.params if has_cotangent(p.type)}
    while _spread(fn.body, active):
        pass  # loops carry activity round: repeat until nothing new is found
    return active


def _spread(region: Region, active: set[Value]) -> bool:
    before = len(active)
    for node in region.nodes:
        if isinstance(node, Call):
            _call(node, active)
        elif isinstance(node, If):
            _spread(node.then, active)
            _spread(node.orelse, active)
            _join(node.results, node.then.yields, active)
            _join(node.results, node.orelse.yields, active)
        elif isinstance(node, For):
            carried = node.body.params[1:]
            _join(carried, node.init, active)
            _spread(node.body, active)
            _join(carried, node.body.yields, active)
            _join(node.results, carried, active)
        elif isinstance(node, While):
            _join(node.before.params, node.init, active)
            _spread(node.before, active)
            _join(node.body.params, node.before.yields[1:], active)
            _spread(node.body, active)
            _join(node.before.params, node.body.yields, active)
            _join(node.results, node.body.params, active)
    return len(active) > before


def _call(call: Call, active: set[Value]) -> None:
    source = call.op.effect in (READ, ATOMIC)
    if not source and not any(a in active for a in call.args):
        return
    if call.op.nondiff and not source:
        return
    active.update(r for r in call.results if has_cotangent(r.type))


def _join(targets: tuple[Value, ...], sources: tuple[Value, ...], active: set[Value]) -> None:
    for target, source in zip(targets, sources, strict=True):
        if source in active and not isinstance(source, Constant) and has_cotangent(target.type):
            active.add(target)

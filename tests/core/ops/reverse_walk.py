"""Reverse mode for straight-line programs, by nothing but the adjoint rules of rows.

It is what the rules must be good for, in its simplest form: walk backwards, ask each row's rule, add
cotangents. Rows that state a reason for having no derivative pass nothing on. Values are replayed,
writes are not: what is read must not have been overwritten. The result is again a program, so it runs
on every device and can be differentiated again.
"""

from __future__ import annotations

import inspect
from typing import Any

from warpsim.core.ir.builder import Builder
from warpsim.core.ir.nodes import Call, Constant, Function, Region, Value
from warpsim.core.ir.rewrite import Cloner
from warpsim.core.ir.verify import verify
from warpsim.core.ops import construct
from warpsim.core.ops.registry import ATOMIC, PURE, READ, WRITE
from warpsim.core.passes.simplify.inline import inline
from warpsim.core.types import compounds, scalars, structs


def has_slope(t: Any) -> bool:
    """Whether values of the type have cotangents."""
    if structs.is_struct(t):
        return any(has_slope(f) for f in t.fields.values())
    return scalars.is_float(compounds.scalar_of(t))


def adjoint(fn: Function) -> Function:
    """From operands and one seed per result with a slope, to the cotangent of each operand with one."""
    forward = Cloner().region(fn.body)
    replayed = [n for n in forward.nodes if n.op.effect in (PURE, READ)]
    seeds = tuple(Value(v.type) for v in forward.yields if has_slope(v.type))
    body = Region((*forward.params, *seeds), replayed)
    given = {}
    with Builder(body).active():
        for value, seed in zip([v for v in forward.yields if has_slope(v.type)], seeds, strict=True):
            collect(given, value, seed)
        for node in reversed(forward.nodes):
            reverse(node, given)
        body.yields = tuple(given.get(p, construct.zero(p)) for p in forward.params if has_slope(p.type))
    return verify(inline(Function(f"adj_{fn.name}", body)), "adjoint")


def reverse(node: Call, given: dict[Value, Value]) -> None:
    """Pass the cotangents of a call's results on to its operands."""
    assert isinstance(node, Call), "straight-line programs only"
    shares = [given.get(r) for r in node.results]
    idle = all(s is None for s in shares) and node.op.effect not in (WRITE, ATOMIC)
    if idle or node.op.nondiff:
        return
    cotangents = rule_of(node)(*node.args, *node.results, *shares)
    assert len(cotangents) == len(node.args), f"{node.op.name}: one cotangent per operand"
    for operand, cotangent in zip(node.args, cotangents, strict=True):
        if cotangent is not None and has_slope(operand.type) and not isinstance(operand, Constant):
            assert cotangent.type is operand.type, f"{node.op.name}: cotangent of {operand.type} is {cotangent.type}"
            collect(given, operand, cotangent)


def rule_of(node: Call) -> Any:
    """The row's rule with those attributes that it asks for."""
    rule = node.op.adjoint_rule
    assert rule is not None, f"{node.op.name} has neither an adjoint rule nor a reason"
    asked = [p.name for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return lambda *operands: rule(*operands, **{name: node.attributes[name] for name in asked})


def collect(given: dict[Value, Value], value: Value, share: Value) -> None:
    given[value] = plus(given[value], share) if value in given else share


def plus(a: Value, b: Value) -> Value:
    """The sum of two cotangents; of structs, field by field."""
    if not structs.is_struct(a.type):
        return a + b
    total = a
    for name, t in a.type.fields.items():
        if has_slope(t):
            share = plus(construct.field(a, name=name), construct.field(b, name=name))
            total = construct.with_field(total, share, name=name)
    return total


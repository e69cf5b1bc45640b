"""Transposition: the tangent rule of a row from its adjoint rule.

An adjoint rule is linear in the cotangents of the results. With the operands and results fixed, the rule is
the transposed Jacobian of the row; so its own transpose, taken by walking back through what the rule
traces to, is the Jacobian: it takes tangents of operands to those of results. A rule that is not linear in
the cotangents is a defect and raises `CompilerError`.

The same serves functions whose gradient the user wrote. Where that gradient branches, loops or is native
code, it is called once per component of the results instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import CompilerError
from ...ir.builder import Builder
from ...ir.nodes import Call, Constant, Function, Region, Value, walk
from ...ir.rewrite import Cloner
from ...ops.construct import rebuild, zero
from ...ops.registry import PURE, READ, TABLE
from ...ops.tangents import TangentList, has_floats, parts, whole
from ...types.answers import kept_with
from ...types.compounds import is_compound
from ...types.structs import is_struct
from ..reverse.cotangents import Cotangents
from ..simplify.cse import cse
from ..simplify.dce import dce
from ..simplify.inline import inline

Mask = tuple[bool, ...]
_traced: dict[Any, Region | None] = {}


def pushed_forward(builder: Builder, call: Call, arriving: TangentList) -> TangentList | None:
    """Append what takes tangents of a call's operands to tangents of its results.

    None for a function whose written gradient cannot be transposed.
    """
    if not any(arriving):
        return [{} for _ in call.results]
    region = _jacobian_of(call, tuple(bool(tangent) for tangent in arriving))
    if region is None:
        return None
    tangents = [whole(a.type, tangent) for a, tangent in zip(call.args, arriving, strict=True) if tangent]
    outside = (*call.args, *call.results, *tangents)
    copy = Cloner(dict(zip(region.params, outside, strict=True)), call.location or builder.location)
    builder.region.nodes.extend(copy.nodes(region.nodes))
    results = iter(copy.uses(region.yields))
    return [parts(next(results)) if has_floats(r.type) else {} for r in call.results]


def _jacobian_of(call: Call, mask: Mask) -> Region | None:
    """`_jacobian`, traced once per row, types and attributes."""
    if isinstance(call.op, Function):
        return _jacobian(call, mask)
    types = tuple(a.type for a in call.args)
    key = (call.op, types, tuple(sorted(call.attributes.items(), key=lambda item: item[0])), mask)
    known = kept_with((*types, *call.attributes.values()), _traced)
    if key not in known:
        known[key] = _jacobian(call, mask)
    return known[key]


def _jacobian(call: Call, mask: Mask) -> Region | None:
    """From operands, results and the tangents of masked operands to tangents of the results that have one."""
    args, outs = tuple(Value(a.type) for a in call.args), tuple(Value(r.type) for r in call.results)
    douts = tuple(Value(r.type) for r in call.results)
    rule = Region((*args, *outs, *douts))
    active = tuple(d for d in douts if has_floats(d.type))
    with Builder(rule).active() as builder:
        contributions = _contributions(builder, call, args, outs, douts)
    asked = [(contribution, a.type) for contribution, a, on in zip(contributions, args, mask, strict=True) if on]
    rule.yields = tuple(contribution for contribution, _ in asked if contribution is not None)
    expanded = inline(Function(call.op.name, rule)).body
    seeds = tuple(Value(t) for _, t in asked)
    arrived = [seed for seed, (contribution, _) in zip(seeds, asked, strict=True) if contribution is not None]
    body = transpose(expanded, active, arrived) if _is_straight(expanded) else None
    if body is not None:
        return Region((*args, *outs, *seeds), body.nodes, body.yields)
    if not isinstance(call.op, Function):
        raise CompilerError(f"the adjoint rule of {call.op.signature()} is not linear in its cotangents")
    return _by_components(call, args, outs, seeds, mask)


def _is_straight(region: Region) -> bool:
    """Whether a region can be walked back through: rows without effects, one after the other."""
    return all(isinstance(n, Call) and n.op.effect in (PURE, READ) and not n.row.opaque for n in region.nodes)


def _by_components(
    call: Call, args: tuple[Value, ...], outs: tuple[Value, ...], seeds: tuple[Value, ...], mask: Mask
) -> Region | None:
    """The Jacobian of a function row by row: its gradient for a cotangent of one in each component of a result.

    For gradients that branch, loop, or are native code. None for one with effects, and for structs.
    """
    differentiable = [k for k, out in enumerate(outs) if has_floats(out.type)]
    grad = call.callee.grad
    if grad is None or not grad.is_pure or any(is_struct(v.type) for v in (*args, *outs)):
        return None
    jacobian = Region((*args, *outs, *seeds))
    with Builder(jacobian).active() as builder:
        pushed = []
        for k in differentiable:
            units = [tuple(unit if j == k else zero(o) for j, o in enumerate(outs)) for unit in _units(outs[k])]
            rows = [_contributions(builder, call, args, outs, unit) for unit in units]
            contributions = [[s for s, on in zip(row, mask, strict=True) if on] for row in rows]
            parts = [_dot(row, seeds) for row in contributions]
            pushed.append(rebuild(outs[k], parts) if is_compound(outs[k].type) else parts[0])
    jacobian.yields = tuple(pushed)
    return dce(inline(cse(inline(Function(call.op.name, jacobian), keep_gradients=True)))).body


def _units(out: Value) -> list[Constant]:
    """One in one component, zero in the others, for each component in memory order."""
    t = out.type
    if not is_compound(t):
        return [Constant(t, t(1))]
    return [Constant(t, t.wrap(np.eye(t.size, dtype=t.dtype)[k].reshape(t.shape))) for k in range(t.size)]


def _dot(contributions: list[Value | None], tangents: tuple[Value, ...]) -> Value:
    """The sum of the products of cotangents and tangents."""
    total: Any = None
    for contribution, tangent in zip(contributions, tangents, strict=True):
        if contribution is not None:
            product = TABLE["inner"](contribution, tangent) if is_compound(tangent.type) else contribution * tangent
            total = product if total is None else total + product
    assert total is not None, "a function whose operands move has a gradient for one of them"
    result: Value = total
    return result


def _contributions(
    builder: Builder, call: Call, args: tuple[Value, ...], outs: tuple[Value, ...], douts: tuple[Value, ...]
) -> list[Value | None]:
    """The cotangents of the operands, as the row's rule or the function's gradient has them."""
    if not isinstance(call.op, Function):
        return list(call.op.cotangents(args, outs, [d if has_floats(d.type) else None for d in douts], call.attributes))
    assert call.op.grad is not None
    answer = builder.call(call.op.grad, (*args, *douts), call.op.grad.result_types)
    contributions = iter(answer if isinstance(answer, tuple) else () if answer is None else (answer,))
    return [next(contributions) if has_floats(a.type) else None for a in args]


def transpose(region: Region, inputs: tuple[Value, ...], seeds: list[Value]) -> Region | None:
    """The transpose of a straight-line region that is linear in `inputs`: from `seeds`, one per yield, to them.

    None when the region is not linear in them.
    """
    moving = _moving(region, inputs)
    cotangents = Cotangents()
    body = Region((), list(region.nodes))
    with Builder(body).active():
        for value, seed in zip(region.yields, seeds, strict=True):
            if value in moving:
                cotangents.contribute(value, seed)
        for node in reversed(region.nodes):
            if not any(r in cotangents for r in node.results):
                continue
            assert isinstance(node, Call)
            if node.op.nondiff:
                return None
            douts = [cotangents.get(r) for r in node.results]
            contributions = node.row.cotangents(node.args, node.results, douts, node.attributes)
            for operand, contribution in zip(node.args, contributions, strict=True):
                if operand in moving:
                    cotangents.contribute(operand, contribution)
        body.yields = tuple(cotangents.take(v) for v in inputs)
    dual = dce(inline(Function("transposed", body))).body
    linear = not any(v in inputs for n in walk(dual) for v in n.operands()) and not set(inputs) & set(dual.yields)
    return dual if linear else None


def _moving(region: Region, inputs: tuple[Value, ...]) -> set[Value]:
    """What depends on the inputs."""
    moving = set(inputs)
    for node in region.nodes:
        if any(v in moving for v in node.operands()):
            moving.update(node.results)
    return moving

"""The tangent of a row from its adjoint.

An adjoint rule is linear in the cotangents of the results. With the operands and results fixed, the rule is
the transposed Jacobian of the row; so its own transpose, taken by walking back through what the rule
traces to, is the Jacobian: it takes tangents of operands to those of results. A rule that is not linear in
the cotangents is a defect and raises `CompilerError`. The same serves functions whose gradient the user
wrote, where that gradient is straight-line and has no effects.
"""

from __future__ import annotations

from typing import Any

from ...errors import CompilerError
from ..ir.builder import Builder
from ..ir.nodes import Call, Function, Region, Value, walk
from ..ir.rewrite import Cloner
from ..ops.registry import PURE, READ
from ..ops.tangents import Given, has_floats, parts, whole
from .cotangents import Cotangents
from .dce import dce
from .inline import inline

Mask = tuple[bool, ...]
_traced: dict[Any, Region | None] = {}


def pushed_forward(builder: Builder, call: Call, given: Given) -> Given | None:
    """Append what takes tangents of a call's operands to tangents of its results.

    None for a function whose written gradient cannot be transposed.
    """
    region = _jacobian_of(call, tuple(bool(tangent) for tangent in given))
    if region is None:
        return None
    tangents = [whole(a.type, tangent) for a, tangent in zip(call.args, given, strict=True) if tangent]
    outside = (*call.args, *call.results, *tangents)
    copy = Cloner(dict(zip(region.params, outside, strict=True)), call.location or builder.location)
    builder.region.nodes.extend(copy.nodes(region.nodes))
    found = iter(copy.uses(region.yields))
    return [parts(next(found)) if has_floats(r.type) else {} for r in call.results]


def _jacobian_of(call: Call, mask: Mask) -> Region | None:
    """`_jacobian`, traced once per row, types and attributes."""
    if isinstance(call.op, Function):
        return _jacobian(call, mask)
    types = tuple(a.type for a in call.args)
    key = (call.op, types, tuple(sorted(call.attributes.items(), key=lambda item: item[0])), mask)
    if key not in _traced:
        _traced[key] = _jacobian(call, mask)
    return _traced[key]


def _jacobian(call: Call, mask: Mask) -> Region | None:
    """From operands, results and the tangents of masked operands to tangents of the results that have one."""
    args, outs = tuple(Value(a.type) for a in call.args), tuple(Value(r.type) for r in call.results)
    douts = tuple(Value(r.type) for r in call.results)
    rule = Region((*args, *outs, *douts))
    active = tuple(d for d in douts if has_floats(d.type))
    with Builder(rule).active() as builder:
        shares = _shares(builder, call, args, outs, douts)
    wanted = [(share, a.type) for share, a, on in zip(shares, args, mask, strict=True) if on]
    rule.yields = tuple(share for share, _ in wanted if share is not None)
    expanded = inline(Function(call.op.name, rule)).body
    if not all(isinstance(n, Call) and n.op.effect in (PURE, READ) for n in walk(expanded)):
        return _refused(call)
    seeds = tuple(Value(t) for _, t in wanted)
    arrived = [seed for seed, (share, _) in zip(seeds, wanted, strict=True) if share is not None]
    body = transposed(expanded, active, arrived)
    if body is None:
        return _refused(call)
    return Region((*args, *outs, *seeds), body.nodes, body.yields)


def _shares(
    builder: Builder, call: Call, args: tuple[Value, ...], outs: tuple[Value, ...], douts: tuple[Value, ...]
) -> list[Value | None]:
    """The cotangents of the operands, as the row's rule or the function's gradient has them."""
    if not isinstance(call.op, Function):
        return list(call.op.cotangents(args, outs, [d if has_floats(d.type) else None for d in douts], call.attributes))
    assert call.op.grad is not None
    found = builder.call(call.op.grad, (*args, *douts), call.op.grad.result_types)
    given = iter(found if isinstance(found, tuple) else () if found is None else (found,))
    return [next(given) if has_floats(a.type) else None for a in args]


def _refused(call: Call) -> Region | None:
    """A function falls back to its body; a row cannot."""
    if not isinstance(call.op, Function):
        raise CompilerError(f"the adjoint rule of {call.op.signature()} is not linear in its cotangents")
    return None


def transposed(region: Region, inputs: tuple[Value, ...], seeds: list[Value]) -> Region | None:
    """The transpose of a straight-line region that is linear in `inputs`: from `seeds`, one per yield, to them.

    None when the region is not linear in them.
    """
    moving = _moving(region, inputs)
    given = Cotangents()
    body = Region((), list(region.nodes))
    with Builder(body).active():
        for value, seed in zip(region.yields, seeds, strict=True):
            if value in moving:
                given.give(value, seed)
        for node in reversed(region.nodes):
            if not any(r in given for r in node.results):
                continue
            assert isinstance(node, Call)
            if node.op.nondiff:
                return None
            shares = node.op.cotangents(node.args, node.results, [given.get(r) for r in node.results], node.attributes)
            for operand, share in zip(node.args, shares, strict=True):
                if operand in moving:
                    given.give(operand, share)
        body.yields = tuple(given.take(v) for v in inputs)
    found = dce(inline(Function("transposed", body))).body
    linear = not any(v in inputs for n in walk(found) for v in n.operands()) and not set(inputs) & set(found.yields)
    return found if linear else None


def _moving(region: Region, inputs: tuple[Value, ...]) -> set[Value]:
    """What depends on the inputs."""
    moving = set(inputs)
    for node in region.nodes:
        if any(v in moving for v in node.operands()):
            moving.update(node.results)
    return moving

"""Inlining: calls of user functions and of expansion rows become their bodies.

Guarantees: afterwards every Call is a primitive row with a value on every target, and the program
means the same. On request what has a gradient of its own stays a call, for the adjoint to use it: a
function whose body is inlined in itself, or an expansion row; and so do calls of shared functions, which `shared`
chooses. Every other call gets a copy of its own of the body. Nodes keep their place in the source: those of a user
function their own, those of an expansion the place of the call. An expansion is traced once per argument types and
reused. Sizes decide nothing else: measured on decompositions and noise, LLVM optimises one inlined body better than
calls, and duplicate-free programs compile in linear time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ir.builder import Builder
from ...ir.nodes import Call, Function, Node, Region, Value
from ...ir.rewrite import Cloner, Rewriter
from ...types.answers import kept_with


def inline(
    fn: Function, keep_gradients: bool = False, shared: Mapping[Function, Function] | None = None
) -> Function:
    """`fn` with every call expanded, recursively; but those with gradients of their own if they are to be kept, and
    those of `shared` functions, which become calls of what these are given as."""
    caller = _Caller()
    caller.keep_gradients, caller.shared = keep_gradients, shared or {}
    return replace(fn, body=caller.region(fn.body))


class _Expanding(Cloner):
    keep_gradients = False
    shared: Mapping[Function, Function] = {}

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            rewritten.extend(self.call(node) if isinstance(node, Call) else [self.node(node)])
        return rewritten

    def call(self, call: Call) -> list[Node]:
        if isinstance(call.op, Function) and call.op in self.shared:
            return [replace(self.copied(call), op=self.shared[call.op])]
        body = _body(call)
        if body is None:
            return [self.node(call)]
        if self.keep_gradients and has_own_gradient(call):
            return [self.as_call(call)]
        return self.expand(call, body)

    def copied(self, call: Call) -> Call:
        copy = self.node(call)
        assert isinstance(copy, Call)
        return copy

    def as_call(self, call: Call) -> Call:
        copy = self.copied(call)
        if isinstance(copy.op, Function):
            op = inlined_in_itself(copy.op)
            return Call(op, copy.args, copy.attributes, results=copy.results, location=copy.location)
        return copy

    def expand(self, call: Node, body: Region) -> list[Node]:
        arguments = dict(zip(body.params, self.uses(call.operands()), strict=True))
        callee = _Callee(arguments, call.location or self.location)
        callee.keep_gradients, callee.shared = self.keep_gradients, self.shared
        nodes = callee.nodes(body.nodes)
        self.rename(call.results, callee.uses(body.yields))
        return nodes


class _Caller(_Expanding, Rewriter):
    """The function itself: what it does without calls stays as it is."""


class _Callee(_Expanding):
    """A body that is copied to its call."""


def inlined_in_itself(fn: Function) -> Function:
    """A function that stays a call, with its own calls expanded: always the same one, so that calls can be compared."""
    if fn.flat is None:
        fn.flat = inline(fn, keep_gradients=True)
        fn.flat.flat = fn.flat
    return fn.flat


def has_own_gradient(call: Call) -> bool:
    """Whether the adjoint of a call is not that of its body."""
    if isinstance(call.op, Function):
        return bool(call.op.nondiff) or call.op.grad is not None or call.op.replay is not None
    return call.op.adjoint_rule is not None


def _body(call: Call) -> Region | None:
    """The body to put in place of a call, or None for a primitive."""
    if isinstance(call.op, Function):
        return call.op.body
    if call.op.value is not None:
        return None
    return expansion_body(call)


_traced: dict[Any, Region] = {}


def expansion_body(call: Call) -> Region:
    """The expansion of a row at the call's types, traced once."""
    types = tuple(a.type for a in call.args)
    key = (call.op, types, tuple(sorted(call.attributes.items(), key=lambda item: item[0])))
    known = kept_with((*types, *call.attributes.values()), _traced)
    if key not in known:
        params = tuple(Value(t) for t in types)
        region = Region(params)
        with Builder(region).active():
            assert call.row.expansion is not None
            out = call.row.expansion(*params, **call.attributes)
        region.yields = out if isinstance(out, tuple) else () if out is None else (out,)
        known[key] = region
    return known[key]

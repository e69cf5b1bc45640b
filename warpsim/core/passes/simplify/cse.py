"""Common-subexpression elimination: a pure call that repeats one whose results are visible goes.

Guarantees: the program means the same. A pure call, of a row or of a function, with the op, operands and
attributes of a call before it in the same or an enclosing region gives way to that call's results. Reads
stay: memory may have changed in between. Worth its time where calls of large functions are still calls, as
when the gradient that a user wrote computes again what its function has computed.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

from ...ir.nodes import Call, Constant, Function, Node, Region, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import PURE
from ...types.compounds import is_compound
from ...types.structs import is_struct


def cse(fn: Function) -> Function:
    """`fn` without pure calls that repeat one whose results are visible."""
    return replace(fn, body=_Eliminator().region(fn.body))


class _Eliminator(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.known: MutableMapping[Any, tuple[Value, ...]] = {}
        self.pure: dict[Any, bool] = {}

    def region(self, region: Region) -> Region:
        outer, self.known = self.known, ChainMap({}, self.known)
        try:
            return super().region(region)
        finally:
            self.known = outer

    def nodes(self, nodes: list[Node]) -> list[Node]:
        rewritten: list[Node] = []
        for node in nodes:
            key = self.key(node) if isinstance(node, Call) and node.results and self.is_pure(node.op) else None
            if key is not None and key in self.known:
                self.rename(node.results, self.known[key])
                continue
            rewritten.append(self.node(node))
            if key is not None:
                self.known[key] = node.results
        return rewritten

    def is_pure(self, op: Any) -> bool:
        if op not in self.pure:
            self.pure[op] = op.is_pure if isinstance(op, Function) else op.effect == PURE
        return self.pure[op]

    def key(self, call: Call) -> Any:
        """What decides the results of a pure call."""
        attributes = tuple(sorted(call.attributes.items(), key=lambda item: item[0]))
        return call.op, tuple(map(_identity, self.uses(call.args))), attributes


def _identity(value: Value) -> Any:
    """Equal for operands that are the same: constants by type and bits, other values by themselves."""
    if not isinstance(value, Constant) or is_struct(value.type):
        return value
    held = value.value.numpy() if is_compound(value.type) else value.value
    return (value.type, held.tobytes()) if hasattr(held, "tobytes") else value

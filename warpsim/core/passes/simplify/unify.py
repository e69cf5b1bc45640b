"""Array parameters that are given one and the same array become one value."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Function
from ...ir.rewrite import Rewriter


def unify(fn: Function, same: tuple[tuple[int, int], ...]) -> Function:
    """The kernel that knows which pairs of its array parameters, by position, are one array."""
    if not same:
        return fn
    first = {fn.params[k]: fn.params[j] for j, k in same}
    return replace(fn, body=Rewriter(first).region(fn.body))

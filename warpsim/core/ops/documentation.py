"""The docstring of an op, from its rows: signatures, what it computes, whether gradients flow through it.

`help(wp.sin)`, the stub that editors read and the reference of built-in functions all show this text.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..types.arrays import type_name
from ..types.signatures import CompoundPattern, TypeVariable

if TYPE_CHECKING:
    from .registry import Op, Row

_VARIABLES = {
    "Float": "a float of any precision",
    "Int": "an integer of any width",
    "Scalar": "a number of any type",
    "Element": "a number, vector, matrix, quaternion or transform",
}
_KINDS = {
    "vector": "`Vec[N, T]`: a vector of N components",
    "matrix": "`Mat[R, C, T]`: a matrix of R rows and C columns",
    "quaternion": "`Quat[T]`: a quaternion (x, y, z, w)",
    "transform": "`Transform[T]`: a translation and a rotation",
}


class Documentation:
    """The attribute `__doc__` of ops, written when somebody reads it."""

    def __init__(self, of_class: str):
        self.of_class = of_class

    def __get__(self, op: Op | None, owner: type) -> str:
        return self.of_class if op is None else documentation(op)


class Signature:
    """The attribute `__signature__` of ops, for completion in consoles and notebooks: that of the first overload."""

    def __get__(self, op: Op | None, owner: type) -> inspect.Signature:
        if op is None:
            raise AttributeError("__signature__")
        return inspect.Signature([p.replace(annotation=p.empty) for p in op.rows[0].params])


def documentation(op: Op) -> str:
    """Signatures of all overloads, descriptions, the gradient, and what the words of the signatures stand for."""
    signatures = list(dict.fromkeys(signature(row) for row in op.rows))
    texts = list(dict.fromkeys(row.doc for row in op.rows if row.doc))
    return "\n\n".join(["\n".join(signatures), *texts, f"Gradient: {gradient(op)}.", *legend(op)])


def signature(row: Row) -> str:
    """One overload with its result: `sin(x: Float) -> Float`."""
    inner = ", ".join(f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}: {type_name(p.annotation)}" for p in row.params)
    returns = row.returns if isinstance(row.returns, tuple) else (row.returns,)
    result = ", ".join("None" if r is None else type_name(r) for r in returns)
    return f"{row.name}({inner}) -> {result}"


def gradient(op: Op) -> str:
    """Whether derivatives go through an op, or why not."""
    reasons = list(dict.fromkeys(row.nondiff for row in op.rows))
    if reasons == [""]:
        return "yes"
    refused = " and ".join(reason for reason in reasons if reason)
    return f"none, {refused}" if "" not in reasons else f"yes, but for some types none, {refused}"


def legend(op: Op) -> list[str]:
    """A line on each variable and each kind of compound that the signatures name."""
    lines: dict[str, str] = {}
    for row in op.rows:
        for pattern in (*(p.annotation for p in row.params), row.returns):
            _explain(pattern, lines)
    return ["\n".join(lines.values())] if lines else []


def _explain(pattern: Any, lines: dict[str, str]) -> None:
    if isinstance(pattern, TypeVariable) and pattern.name in _VARIABLES:
        lines[pattern.name] = f"{pattern.name}: {_VARIABLES[pattern.name]}"
    if isinstance(pattern, CompoundPattern):
        lines[pattern.kind] = _KINDS[pattern.kind]
        _explain(pattern.dtype, lines)

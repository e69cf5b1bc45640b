"""Arithmetic of whole arrays on the host: `a + b`, `2 * a`, `a /= b`, each one launch of a kernel.

The operators are `map` of the built-ins of the same meaning: operands are arrays, numbers, vectors, matrices; shapes
are broadcast; results are new arrays on the device of the first array, which require gradients if an operand does;
tapes record them. `a += b` writes into `a`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MAP = "warpsim.core.runtime.map"  # floors above arrays: what an operator does is a launch
_OPS = "warpsim.core.ops"


def _map(operation: str, *operands: object, out: object = None) -> Any:
    """`map` of a built-in; both load when somebody first calculates."""
    return import_module(_MAP).map(getattr(import_module(_OPS), operation), *operands, out=out)


def _operators(operation: str) -> tuple[Any, Any, Any]:
    """`x + y`, its form for an array on the right only, and `x += y`."""

    def operator(self: object, other: object) -> Any:
        return _map(operation, self, other)

    def operator_on_the_right(self: object, other: object) -> Any:
        return _map(operation, other, self)

    def in_place(self: object, other: object) -> Any:
        _map(operation, self, other, out=self)
        return self

    return operator, operator_on_the_right, in_place


class Arithmetic:
    """The operators of `array` and `indexedarray`."""

    __add__, __radd__, __iadd__ = _operators("add")
    __sub__, __rsub__, __isub__ = _operators("sub")
    __mul__, __rmul__, __imul__ = _operators("mul")
    __truediv__, __rtruediv__, __itruediv__ = _operators("div")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators("floordiv")
    __mod__, __rmod__, __imod__ = _operators("mod")
    __pow__, __rpow__, __ipow__ = _operators("pow")

    def __neg__(self) -> Any:
        return _map("neg", self)

    def __pos__(self) -> Any:
        return _map("pos", self)

"""Gradients as parameters: a rewrite that makes the gradient arrays of parameters parameters of their own.

Guarantees: the program means the same, but where it asked for the gradient array of a parameter it takes a
further parameter. So an adjoint kernel becomes a program over plain arrays, which `tangent` can
differentiate once more. Gradients of arrays that came out of memory stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.builder import constant
from ...ir.nodes import Call, Function, Value
from ...ops.registry import PURE
from ...types.arrays import ArrayType
from ...types.scalars import bool_
from .duals import Duals
from .tangent import Floats, chosen_floats, start


def gradient_arrays(params: tuple[Value, ...], names: Iterable[str]) -> Floats:
    """The arrays of floats among named parameters; one in a struct has the name `s.field`."""
    return {ref: t for ref, t in chosen_floats(params, names).items() if isinstance(t, ArrayType)}


def gradients_as_params(fn: Function, chosen: Floats) -> Function:
    """`fn` with a parameter behind its own for the gradient array of each of the chosen arrays."""
    pass_ = _Gradients()
    return pass_.rewrite(fn, start(pass_, fn.params, chosen, "grad"))


class _Gradients(Duals):
    def call(self, node: Call) -> None:
        tangents = self.of(node.args)
        if tangents and tangents[0] and node.op.name == "gradient":
            self.rename(node.results, (tangents[0][()],))
            return
        if tangents and tangents[0] and node.op.name == "has_gradient":
            self.rename(node.results, (constant(bool_, True),))
            return
        call = self.rename_operands(node)
        self.append(call)
        if any(tangents) and _passes_arrays(node):
            rule = node.row.tangent_rule
            assert rule is not None
            self.duals.update(zip(call.results, rule(call, tangents), strict=True))


def _passes_arrays(call: Call) -> bool:
    """Whether a call makes an array, or what holds one, of others."""
    return not isinstance(call.op, Function) and call.op.effect == PURE and call.op.tangent_rule is not None

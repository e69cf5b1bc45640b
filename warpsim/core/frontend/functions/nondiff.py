"""Functions declared `nondiff`: no derivative passes through a call, so nothing differentiable may leave it unseen."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import CustomGradientError
from ...ir.nodes import Call, Function, Value, walk
from ...ops import construct, stop_gradient
from ...ops.registry import ATOMIC, WRITE
from ...passes.analysis.alias import UNKNOWN, points_to
from ...types.arrays import ArrayType
from ...types.cotangents import has_cotangent
from ...types.structs import is_struct


def refuse_writes(fn: Function) -> None:
    """Raise where a `nondiff` function may change an array of floats that is not its own: gradients would miss it."""
    bases, own = points_to(fn), set(fn.params)
    for call, array in _written_arrays(fn):
        known = all(base is not None and base.holder not in own for base in bases.get(array, UNKNOWN))
        if isinstance(array.type, ArrayType) and has_cotangent(array.type.dtype) and not known:
            raise CustomGradientError(
                f"{fn.name!r} is declared nondiff ({fn.nondiff}), and changes {array.hint or 'an array'} of floats",
                call.location,
                help="return what it computes, and write that to the array outside",
            )


def as_constant(result: Value) -> Value:
    """A result as the constant that it is to differentiation, also where the body takes the place of the call."""
    if is_struct(result.type):
        for name, field in result.type.fields.items():
            if has_cotangent(field):
                result = construct.with_field(result, as_constant(construct.field(result, name=name)), name=name)
    elif has_cotangent(result.type):
        result = stop_gradient(result)
    return result


def _written_arrays(fn: Function) -> Iterator[tuple[Call, Value]]:
    """The arrays that a function and what it calls write to."""
    for node in walk(fn.body):
        if not isinstance(node, Call):
            continue
        if isinstance(node.op, Function):
            yield from _written_arrays(node.op)
        elif node.op.opaque:
            yield from ((node, node.args[k]) for k in node.op.writes)
        elif node.op.effect in (WRITE, ATOMIC) and node.op.name != "local_array":
            yield node, node.args[0]

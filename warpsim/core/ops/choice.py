"""Conversion and choice: casts, `where`, minimum and maximum, and values cut off from gradients.

Casts from float truncate and saturate, NaN becomes 0; casts between integers wrap.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS
from ..ir.nodes import Call
from ..types import scalars
from ..types.arrays import ValueType
from ..types.compounds import kind_of, scalar_of
from ..types.scalars import bool_
from ..types.signatures import Element, Scalar
from .arith import fits_literal, wrap
from .construct import zero
from .lanes import for_lanes
from .registry import Numeric, expansion, op
from .target import Target
from .values import LANES, compare, convert, elementwise, pack, unpack


def _cast_rule(types: list[Any], attributes: dict) -> Any:
    target = attributes.get("to")
    if len(types) != 1 or target is None:
        return None
    source = getattr(types[0], "default", types[0])
    if scalars.is_scalar(source) and scalars.is_scalar(target):
        return [source], [target]
    same = kind_of(source) == kind_of(target) != "" and getattr(source, "shape", 0) == getattr(target, "shape", 1)
    return ([source], [target]) if same else None


@for_lanes
def _cast_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    source, target_type = scalar_of(call.args[0].type), scalar_of(call.results[0].type)
    return [convert(target, source, target_type, x) for x in args[0]]


def cast_oracle(x: Numeric, to: ValueType) -> Any:
    """Conversion as kernels define it: truncate and saturate floats, wrap integers, NaN is 0."""
    element = scalar_of(to)
    flat = [_cast_scalar(v, element) for v in np.ravel(x)]
    return flat[0] if np.ndim(x) == 0 else np.array(flat, element).reshape(np.shape(x))


def _cast_scalar(x: Numeric, target: type) -> Any:
    if target is bool_:
        return bool_(x != 0)
    if scalars.is_float(target):
        return target(x)
    if np.issubdtype(type(x), np.floating):
        limits = np.iinfo(target)
        if np.isnan(x):
            return target(0)
        if np.isinf(x):
            return target(limits.max if x > 0 else limits.min)
        return target(builtins.max(limits.min, builtins.min(limits.max, int(x))))
    return wrap(int(x), target)


@op(_cast_value, numpy=cast_oracle, rule=_cast_rule)
def cast(x: Element) -> Element:
    """Conversion to the scalar type `to`: floats truncate and saturate, NaN is 0, integers wrap."""


@cast.adjoint
def _(x, out, dout):
    if not scalars.is_float(scalar_of(x.type)) or not scalars.is_float(scalar_of(out.type)):
        return (None,)
    return (cast(dout, to=x.type),)


def _select_rule(types: list[Any], attributes: dict) -> Any:
    if len(types) != 3 or types[0] is not bool_:
        return None
    typed = [t for t in types[1:] if not hasattr(t, "default")]
    result = typed[0] if typed else types[1].default
    if any(t is not result and not fits_literal(t, result) for t in types[1:]):
        return None
    return [bool_, result, result], [result]


@for_lanes
def _select(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    condition, yes, no = args
    if target.packs and len(yes) in LANES:
        b = target.builder
        return unpack(b, b.select(condition[0], pack(b, yes), pack(b, no)))
    return [target.builder.select(condition[0], a, b) for a, b in zip(yes, no, strict=True)]


@op(_select, numpy=lambda c, a, b: a if c else b, rule=_select_rule)
def where(cond: bool_, value_if_true: Element, value_if_false: Element) -> Element:
    """`value_if_true` where the condition holds, else `value_if_false`; both are evaluated."""


@where.adjoint
def _(condition, if_true, if_false, out, dout):
    nothing = zero(dout)
    return None, where(condition, dout, nothing), where(condition, nothing, dout)


def pick(symbol: str) -> Any:
    """Minimum (`<`) or maximum (`>`): the first operand wins a tie; a NaN operand loses."""

    def scalar_value(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
        b = target.builder
        # One instruction on x86; the correction goes where LLVM sees that x is a number.
        best = b.select(compare(symbol)(target, t, y, x), y, x)
        return b.select(b.fcmp_unordered("!=", x, x), y, best) if scalars.is_float(t) else best

    return elementwise(scalar_value, packs=True)


def nearest_instruction(symbol: str) -> Any:
    """Minimum (`<`) or maximum (`>`) as x86 has it: the first operand wins a tie, and where one is NaN."""

    def scalar_value(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
        return target.builder.select(compare(symbol)(target, t, y, x), y, x)

    return elementwise(scalar_value, packs=True)


def smaller(x: Numeric, y: Numeric) -> Any:
    """The oracle of `min`."""
    return np.where((x <= y) | (y != y), x, y)


def larger(x: Numeric, y: Numeric) -> Any:
    """The oracle of `max`."""
    return np.where((x >= y) | (y != y), x, y)


@op(pick("<"), numpy=smaller)
def min(a: Scalar, b: Scalar) -> Scalar:
    """The smaller of two; a tie goes to `a`, NaN loses against a number."""


@min.adjoint
def _(x, y, out, dout):
    return where(OPERATORS["=="](x, out), dout, 0.0), where(OPERATORS["=="](x, out), 0.0, dout)


@op(pick(">"), numpy=larger)
def max(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two; a tie goes to `a`, NaN loses against a number."""


@max.adjoint
def _(x, y, out, dout):
    return where(OPERATORS["=="](x, out), dout, 0.0), where(OPERATORS["=="](x, out), 0.0, dout)


def clamp_oracle(x: Numeric, low: Numeric, high: Numeric) -> Any:
    """The oracle of `clamp`."""
    return smaller(larger(x, low), high)


@expansion(numpy=clamp_oracle)
def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """`x` limited to [low, high]; NaN becomes `low`, a limit that is NaN is none, and `high` wins where they cross."""
    return min(max(x, low), high)


@for_lanes
def _pass_on(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    return args[0]


@op(_pass_on, numpy=lambda x: x)
def stop_gradient(x: Element) -> Element:
    """The value of `x` as a constant to differentiation."""


@stop_gradient.adjoint
def _(x, out, dout):
    return (None,)

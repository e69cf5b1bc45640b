"""Sums, products and quotients of numbers, and scaling: the rows behind Python's arithmetic operators.

Signed integers wrap. Division by zero is defined: an integer quotient is 0 and the remainder is
the dividend; the smallest integer divided by -1 wraps. `/` on integers truncates and `%` has the
sign of the dividend (as in C); `//` rounds down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS
from ..ir.nodes import Value
from ..types import scalars
from ..types.compounds import is_compound, scalar_of
from ..types.signatures import Element, Scalar
from .construct import components, rebuild
from .registry import TABLE, Numeric, expansion, op
from .target import Target
from .values import elementwise, elementwise_with_scalars, instr, smallest_signed

# ----- sums ---------------------------------------------------------------------------------


@op(elementwise(instr("fadd", "add"), packs=True), numpy=np.add)
def add(a: Element, b: Element) -> Element:
    """Sum, component by component."""


@add.adjoint
def _(x, y, out, dout):
    return dout, dout


@op(elementwise(instr("fsub", "sub"), packs=True), numpy=np.subtract)
def sub(a: Element, b: Element) -> Element:
    """Difference, component by component."""


@sub.adjoint
def _(x, y, out, dout):
    return dout, -dout


def _negate(target: Target, t: type, x: ll.Value) -> Any:
    # fsub(-0, x) rather than fneg, which NVVM refuses.
    if scalars.is_float(t):
        return target.builder.fsub(ll.Constant(x.type, -0.0), x)
    return target.builder.neg(x)


@op(elementwise(_negate), numpy=np.negative)
def neg(x: Element) -> Element:
    """Negation, component by component."""


@neg.adjoint
def _(x, out, dout):
    return (-dout,)


@expansion(numpy=np.positive)
def pos(x: Element) -> Element:
    """The value itself."""
    return x


# ----- products -----------------------------------------------------------------------------

_multiply = instr("fmul", "mul")


@op(elementwise(_multiply), numpy=np.multiply)
def mul(x: Scalar, y: Scalar) -> Scalar:
    """Product of numbers, scaling, or the product of the kind (matrix, quaternion, transform)."""


@mul.adjoint
def _(x, y, out, dout):
    return dout * y, dout * x


def _divide(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
    if scalars.is_float(t):
        return target.builder.fdiv(x, y, flags=target.fast_flags)
    return _int_divided(target, t, x, y, "div")


def _int_divided(target: Target, t: type, x: ll.Value, y: ll.Value, kind: str) -> Any:
    """Integer quotient or remainder without the two cases that trap on x86."""
    b = target.builder
    zero, one = ll.Constant(x.type, 0), ll.Constant(x.type, 1)
    by_zero = b.icmp_unsigned("==", y, zero)
    bad = by_zero
    if scalars.is_signed(t):
        minus_one = ll.Constant(x.type, -1)
        overflow = b.and_(b.icmp_signed("==", x, smallest_signed(t, x)), b.icmp_signed("==", y, minus_one))
        bad = b.or_(by_zero, overflow)
    safe = b.select(bad, one, y)
    if kind == "div":
        quotient = (b.sdiv if scalars.is_signed(t) else b.udiv)(x, safe)
        return b.select(by_zero, zero, quotient)
    remainder = (b.srem if scalars.is_signed(t) else b.urem)(x, safe)
    return b.select(by_zero, x, remainder)


def truncated_quotient(x: Numeric, y: Numeric) -> Any:
    """C division: towards zero, 0 for a zero divisor."""
    if np.issubdtype(type(x), np.floating):
        return x / y
    return type(x)(0) if y == 0 else wrap(int(abs(int(x)) // abs(int(y))) * _sign(x, y), type(x))


def _sign(x: Numeric, y: Numeric) -> int:
    return -1 if (int(x) < 0) != (int(y) < 0) else 1


def wrap(value: int, t: type) -> Any:
    width = scalars.bits(t)
    value &= (1 << width) - 1
    if scalars.is_signed(t) and value >> (width - 1):
        value -= 1 << width
    return t(value)


@op(elementwise(_divide), numpy=truncated_quotient, domain=(0.5, 2.0))
def div(a: Scalar, b: Scalar) -> Scalar:
    """Quotient; integers truncate towards zero."""


@div.adjoint
def _(x, y, out, dout):
    return dout / y, -dout * out / y


def _floor_divided(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
    b = target.builder
    if scalars.is_float(t):
        return target.math("floor", t, (b.fdiv(x, y, flags=target.fast_flags),))
    quotient = _int_divided(target, t, x, y, "div")
    if not scalars.is_signed(t):
        return quotient
    zero = ll.Constant(x.type, 0)
    remainder = _int_divided(target, t, x, y, "rem")
    differs = b.icmp_signed("<", b.xor(x, y), zero)
    inexact = b.and_(b.icmp_signed("!=", remainder, zero), b.icmp_signed("!=", y, zero))
    return b.select(b.and_(differs, inexact), b.sub(quotient, ll.Constant(x.type, 1)), quotient)


def _floordiv_oracle(x: Numeric, y: Numeric) -> Any:
    if np.issubdtype(type(x), np.floating):
        return np.floor(x / y)
    return type(x)(0) if y == 0 else wrap(int(x) // int(y), type(x))


@op(elementwise(_floor_divided), numpy=_floordiv_oracle, domain=(0.5, 2.0), nondiff="piecewise constant")
def floordiv(a: Scalar, b: Scalar) -> Scalar:
    """The largest whole number not above x / y."""


def _remainder(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
    if scalars.is_float(t):
        return target.math("fmod", t, (x, y))
    return _int_divided(target, t, x, y, "rem")


def _mod_oracle(x: Numeric, y: Numeric) -> Any:
    if np.issubdtype(type(x), np.floating):
        return np.fmod(x, y)
    if y == 0:
        return x
    return wrap(int(x) - int(truncated_quotient(x, y)) * int(y), type(x))


@op(elementwise(_remainder), numpy=_mod_oracle, domain=(0.5, 2.0), jumps=True)
def mod(a: Scalar, b: Scalar) -> Scalar:
    """Remainder with the sign of `a`."""


@mod.adjoint
def _(x, y, out, dout):
    return dout, -dout * TABLE["trunc"](x / y)


def _pairs_rule(types: list[Any], attributes: dict) -> Any:
    """Two compounds of one type; or a vector or matrix and a scalar that goes with every component, in any order."""
    compounds = [t for t in types if is_compound(t)]
    if len(types) != 2 or not compounds:
        return None
    t = compounds[0]
    if len(compounds) == 2:
        return (types, [t]) if types[0] is types[1] else None
    if t.kind not in ("vector", "matrix"):
        return None
    expected = [t if is_compound(each) else t.dtype for each in types]
    fits = all(each is target or fits_literal(each, target) for each, target in zip(types, expected, strict=True))
    return (expected, [t]) if fits else None


def _spread(x: Value, other: Value) -> list[Any]:
    """The components of an operand; of a scalar as many as the other side has."""
    return components(x) if is_compound(x.type) else [x] * other.type.size


def _with_scalars(name: str, oracle: Callable[..., Any], both: bool = False) -> None:
    """Declare an operator for vectors and matrices with scalars, or also with each other."""

    def rule(types: list[Any], attributes: dict) -> Any:
        return None if not both and types and types[0] is types[-1] else _pairs_rule(types, attributes)

    @expansion(numpy=oracle, name=name, rule=rule, domain=(0.5, 2.0))
    def _(x: Element, y: Element) -> Element:
        """Component by component; a scalar goes with every component."""
        pairs = zip(_spread(x, y), _spread(y, x), strict=True)
        return rebuild(x if is_compound(x.type) else y, [TABLE[name](a, b) for a, b in pairs])


def _remainders(x: Numeric, y: Numeric) -> Any:
    pairs = np.broadcast(x, y)
    return np.array([_mod_oracle(a, b) for a, b in pairs], np.result_type(x, y)).reshape(pairs.shape)


_with_scalars("add", np.add)
_with_scalars("sub", np.subtract)
_with_scalars("mod", _remainders, both=True)

# Scaling of compounds: the scalar stands on either side.


def _scale_rule(scalar_first: bool) -> Any:
    def rule(types: list[Any], attributes: dict) -> Any:
        if len(types) != 2:
            return None
        scalar, compound = types if scalar_first else types[::-1]
        if not is_compound(compound):
            return None
        element = scalar_of(compound)
        fits = scalar is element or fits_literal(scalar, element)
        if not fits:
            return None
        return ([element, compound] if scalar_first else [compound, element]), [compound]

    return rule


def fits_literal(t: object, target: type) -> bool:
    from_literal = getattr(t, "default", None)
    return from_literal is not None and (scalars.is_float(target) or scalars.is_integer(from_literal))


@op(
    elementwise_with_scalars(_multiply, packs=True), numpy=np.multiply, name="mul", rule=_scale_rule(scalar_first=False)
)
def _mul_compound_scalar(x: Element, s: Scalar) -> Element:
    """Every component times `s`."""


@mul.adjoint
def _(x, s, out, dout):
    return dout * s, TABLE["inner"](dout, x)


@op(elementwise_with_scalars(_multiply, packs=True), numpy=np.multiply, name="mul", rule=_scale_rule(scalar_first=True))
def _mul_scalar_compound(s: Scalar, x: Element) -> Element:
    """`s` times every component."""


@mul.adjoint
def _(s, x, out, dout):
    return TABLE["inner"](dout, x), dout * s


def elementwise_quotient(x: Numeric, y: Numeric) -> Any:
    """`truncated_quotient` of every pair of components; a scalar goes with all of the other side."""
    pairs = np.broadcast(x, y)
    quotients = [truncated_quotient(a, b) for a, b in pairs]
    return np.array(quotients, np.result_type(x, y)).reshape(pairs.shape)


@op(
    elementwise_with_scalars(_divide),
    numpy=elementwise_quotient,
    name="div",
    rule=_scale_rule(scalar_first=False),
    domain=(0.5, 2.0),
)
def _div_compound_scalar(a: Element, b: Scalar) -> Element:
    """Every component divided by `b`."""


@div.adjoint
def _(x, s, out, dout):
    return dout / s, -TABLE["inner"](dout, out) / s


@expansion(numpy=elementwise_quotient, name="div", rule=_scale_rule(scalar_first=True), domain=(0.5, 2.0))
def _div_scalar_compound(a: Scalar, b: Element) -> Element:
    """`a` divided by every component."""
    return rebuild(b, [a / part for part in components(b)])


OPERATORS.update({"+": add, "-": sub, "*": mul, "@": mul, "/": div, "//": floordiv, "%": mod, "neg": neg, "pos": pos})

"""Scalar mathematics: one row per function, with its derivative beside it.

Angles are in radians. Domains limit where tests sample. Rows without a derivative say why.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS, constant
from ..ir.nodes import Value
from ..types import scalars
from ..types.compounds import is_compound
from ..types.signatures import Element, Float, Scalar
from .arith import fits_literal
from .choice import clamp_oracle, where
from .lanes import known_number
from .registry import TABLE, Numeric, expansion, op
from .target import Target
from .values import elementwise, libm

_STEPS = "piecewise constant"


def _each(function: Callable[..., Any]) -> Any:
    """A Python math function as an oracle in the precision of its argument."""
    return lambda *x: type(x[0])(function(*map(float, x)))


@op(libm("sqrt"), numpy=np.sqrt, domain=(0.1, 4.0))
def sqrt(x: Float) -> Float:
    """Square root."""


@sqrt.adjoint
def _(x, out, dout):
    return (0.5 * dout / out,)


@op(libm("cbrt"), numpy=np.cbrt, domain=(0.1, 4.0), ulps=4)
def cbrt(x: Float) -> Float:
    """Cube root."""


@cbrt.adjoint
def _(x, out, dout):
    return (dout / (3.0 * out * out),)


@op(libm("exp"), numpy=np.exp, ulps=4)
def exp(x: Float) -> Float:
    """Exponential."""


@exp.adjoint
def _(x, out, dout):
    return (dout * out,)


@op(libm("log"), numpy=np.log, domain=(0.1, 4.0), ulps=4)
def log(x: Float) -> Float:
    """Natural logarithm."""


@log.adjoint
def _(x, out, dout):
    return (dout / x,)


@op(libm("log2"), numpy=np.log2, domain=(0.1, 4.0), ulps=4)
def log2(x: Float) -> Float:
    """Binary logarithm."""


@log2.adjoint
def _(x, out, dout):
    return (dout / (x * pymath.log(2.0)),)


@op(libm("log10"), numpy=np.log10, domain=(0.1, 4.0), ulps=4)
def log10(x: Float) -> Float:
    """Decimal logarithm."""


@log10.adjoint
def _(x, out, dout):
    return (dout / (x * pymath.log(10.0)),)


def _power(x: Numeric, y: Numeric) -> Any:
    """C's pow; NumPy gives NaN for the roots of -inf, which are those of inf."""
    return np.power(-x if np.isneginf(x) and y % 2 != 1 else x, y)


def _raise_to_power(target: Target, t: type, x: ll.Value, y: ll.Value) -> Any:
    """Squares are products, whether the exponent is known or not; other known exponents may be cheaper than `pow`."""
    b, known = target.builder, known_number(y)
    if known == 1.0:
        return x
    if known == -1.0:
        return b.fdiv(ll.Constant(x.type, 1.0), x, flags=target.fast_flags)
    if known == 0.5:
        return _root(target, t, x)
    square = b.fmul(x, x, flags=target.fast_flags)
    if known is None:
        return b.select(b.fcmp_ordered("==", y, ll.Constant(y.type, 2.0)), square, target.math("pow", t, (x, y)))
    return square if known == 2.0 else target.math("pow", t, (x, y))


def _root(target: Target, t: type, x: ll.Value) -> Any:
    """The power of a half, which of -inf is inf and of -0 is 0."""
    b, infinite = target.builder, ll.Constant(x.type, float("inf"))
    root = target.math("fabs", t, (target.math("sqrt", t, (x,)),))
    return b.select(b.fcmp_ordered("==", x, ll.Constant(x.type, float("-inf"))), infinite, root)


@op(elementwise(_raise_to_power), numpy=_power, domain=(0.1, 2.0), ulps=4)
def pow(x: Float, y: Float) -> Float:
    """`x` to the power `y`."""


@pow.adjoint
def _(x, y, out, dout):
    # The derivative in y exists only for positive x; for x <= 0 it is taken as 0, as out is then an isolated value.
    positive = OPERATORS[">"](x, 0.0)
    by_y = where(positive, out * log(where(positive, x, 1.0)), 0.0)
    return dout * y * pow(x, y - 1.0), dout * by_y


# ----- trigonometry -------------------------------------------------------------------------


@op(libm("sin"), numpy=np.sin, ulps=4)
def sin(x: Float) -> Float:
    """Sine of `x` [rad]."""


@sin.adjoint
def _(x, out, dout):
    return (dout * cos(x),)


@op(libm("cos"), numpy=np.cos, ulps=4)
def cos(x: Float) -> Float:
    """Cosine of `x` [rad]."""


@cos.adjoint
def _(x, out, dout):
    return (-dout * sin(x),)


@op(libm("tan"), numpy=np.tan, domain=(-1.2, 1.2), ulps=4)
def tan(x: Float) -> Float:
    """Tangent of `x` [rad]."""


@tan.adjoint
def _(x, out, dout):
    return (dout * (1.0 + out * out),)


@op(libm("asin"), numpy=np.arcsin, domain=(-0.9, 0.9), ulps=4)
def _asin(x: Float) -> Float:
    """Inverse sine [rad] on [-1, 1], NaN outside; the derivative at the ends is taken as 0, that of a clamped `x`."""


@_asin.adjoint
def _(x, out, dout):
    return (dout * _inverse_sine_derivative(x),)


def _inverse_sine_derivative(x: Value) -> Value:
    """1 / sqrt(1 - x^2) inside (-1, 1), 0 elsewhere."""
    left = 1.0 - x * x
    inside = OPERATORS[">"](left, 0.0)
    return where(inside, 1.0 / sqrt(where(inside, left, 1.0)), 0.0)


@op(libm("acos"), numpy=np.arccos, domain=(-0.9, 0.9), ulps=4)
def _acos(x: Float) -> Float:
    """Inverse cosine [rad] on [-1, 1], NaN outside; the derivative at the ends is taken as 0, that of a clamped `x`."""


@_acos.adjoint
def _(x, out, dout):
    return (-dout * _inverse_sine_derivative(x),)


def _within_one(x: Value) -> Value:
    """`x` limited to [-1, 1]; NaN stays, unlike in `clamp`."""
    return where(OPERATORS["<"](x, -1.0), -1.0, where(OPERATORS[">"](x, 1.0), 1.0, x))


@expansion(numpy=lambda x: np.arcsin(np.clip(x, -1, 1)), domain=(-0.9, 0.9), ulps=4)
def asin(x: Float) -> Float:
    """Inverse sine [rad]; `x` is clamped to [-1, 1]."""
    return _asin(_within_one(x))


@expansion(numpy=lambda x: np.arccos(np.clip(x, -1, 1)), domain=(-0.9, 0.9), ulps=4)
def acos(x: Float) -> Float:
    """Inverse cosine [rad]; `x` is clamped to [-1, 1]."""
    return _acos(_within_one(x))


@op(libm("atan"), numpy=np.arctan, ulps=4)
def atan(x: Float) -> Float:
    """Inverse tangent [rad]."""


@atan.adjoint
def _(x, out, dout):
    return (dout / (1.0 + x * x),)


@op(libm("atan2"), numpy=np.arctan2, domain=(0.1, 2.0), ulps=4)
def atan2(y: Float, x: Float) -> Float:
    """Angle [rad] of the point (x, y)."""


@atan2.adjoint
def _(y, x, out, dout):
    r = x * x + y * y
    return dout * x / r, -dout * y / r


@op(libm("sinh"), numpy=np.sinh, ulps=4)
def sinh(x: Float) -> Float:
    """Hyperbolic sine."""


@sinh.adjoint
def _(x, out, dout):
    return (dout * cosh(x),)


@op(libm("cosh"), numpy=np.cosh, ulps=4)
def cosh(x: Float) -> Float:
    """Hyperbolic cosine."""


@cosh.adjoint
def _(x, out, dout):
    return (dout * sinh(x),)


@op(libm("tanh"), numpy=np.tanh, ulps=4)
def tanh(x: Float) -> Float:
    """Hyperbolic tangent."""


@tanh.adjoint
def _(x, out, dout):
    return (dout * (1.0 - out * out),)


@op(libm("erf"), numpy=_each(pymath.erf), ulps=4)
def erf(x: Float) -> Float:
    """Error function."""


@erf.adjoint
def _(x, out, dout):
    return (dout * (2.0 / pymath.sqrt(pymath.pi)) * exp(-x * x),)


@op(libm("erfc"), numpy=_each(pymath.erfc), ulps=8)
def erfc(x: Float) -> Float:
    """Complementary error function, 1 - erf(x)."""


@erfc.adjoint
def _(x, out, dout):
    return (-dout * (2.0 / pymath.sqrt(pymath.pi)) * exp(-x * x),)


# ----- rounding -----------------------------------------------------------------------------


@op(libm("floor"), numpy=np.floor, nondiff=_STEPS)
def floor(x: Float) -> Float:
    """The largest whole number not above `x`."""


@op(libm("ceil"), numpy=np.ceil, nondiff=_STEPS)
def ceil(x: Float) -> Float:
    """The smallest whole number not below `x`."""


@op(libm("trunc"), numpy=np.trunc, nondiff=_STEPS)
def trunc(x: Float) -> Float:
    """`x` without its fraction."""


@op(libm("rint"), numpy=np.rint, nondiff=_STEPS)
def rint(x: Float) -> Float:
    """The nearest whole number; halves go to the even one."""


@op(libm("round"), numpy=lambda x: np.trunc(x + np.copysign(np.nextafter(type(x)(0.5), type(x)(0)), x)), nondiff=_STEPS)
def round(x: Float) -> Float:
    """The nearest whole number; halves go away from zero."""


@expansion(numpy=lambda x: x - np.trunc(x))
def frac(x: Float) -> Float:
    """The fraction of `x`, with its sign."""
    return x - trunc(x)


# ----- sign and size ------------------------------------------------------------------------


def _magnitude(target: Target, t: type, x: ll.Value) -> Any:
    if scalars.is_float(t):
        return target.math("fabs", t, (x,))
    if not scalars.is_signed(t):
        return x
    negative = target.builder.icmp_signed("<", x, ll.Constant(x.type, 0))
    return target.builder.select(negative, target.builder.neg(x), x)


@op(elementwise(_magnitude), numpy=np.abs)
def abs(x: Scalar) -> Scalar:
    """Absolute value; the derivative at 0 is 1."""


@abs.adjoint
def _(x, out, dout):
    return (where(OPERATORS["<"](x, 0.0), -dout, dout),)


@expansion(numpy=lambda x: type(x)(-1 if x < 0 else 1))
def sign(x: Scalar) -> Scalar:
    """-1 for negative `x`, else 1."""
    one = constant(x.type, 1)
    return where(OPERATORS["<"](x, 0), -one, one)


@expansion(numpy=lambda x: type(x)(0 if x == 0 else 1))
def nonzero(x: Scalar) -> Scalar:
    """1 where `x` is not zero, else 0."""
    one = constant(x.type, 1)
    return where(OPERATORS["!="](x, 0), one, one - one)


@expansion(numpy=lambda x: type(x)(1 if x < 0 else 0))
def step(x: Scalar) -> Scalar:
    """1 for negative `x`, else 0."""
    one = constant(x.type, 1)
    return where(OPERATORS["<"](x, 0), one, one - one)


@op(libm("copysign"), numpy=np.copysign, jumps=True)
def copysign(x: Float, y: Float) -> Float:
    """The magnitude of `x` with the sign of `y`."""


@copysign.adjoint
def _(x, y, out, dout):
    # By the signs alone: those of zeros count, and the product of small numbers is zero.
    one = constant(x.type, 1)
    same = OPERATORS["=="](OPERATORS["<"](copysign(one, x), 0.0), OPERATORS["<"](copysign(one, out), 0.0))
    return where(same, dout, -dout), None


# ----- blends -------------------------------------------------------------------------------


@expansion(numpy=lambda x: x * type(x)(pymath.pi / 180))
def radians(x: Float) -> Float:
    """Degrees to radians."""
    return x * (pymath.pi / 180.0)


@expansion(numpy=lambda x: x * type(x)(180 / pymath.pi))
def degrees(x: Float) -> Float:
    """Radians to degrees."""
    return x * (180.0 / pymath.pi)


@expansion(numpy=lambda a, b, t: a * (1 - t) + b * t, ulps=4)
def lerp(a: Float, b: Float, t: Float) -> Float:
    """Linear blend: `a` at t = 0, `b` at t = 1."""
    return a * (1.0 - t) + b * t


def _lerp_rule(types: list[Any], attributes: dict) -> Any:
    if len(types) != 3 or not is_compound(types[0]) or types[0] is not types[1]:
        return None
    t, element = types[2], types[0].dtype
    fits = scalars.is_float(element) and (t is element or fits_literal(t, element))
    return ([types[0], types[1], element], [types[0]]) if fits else None


@expansion(numpy=lambda a, b, t: a * (type(t)(1) - t) + b * t, name="lerp", rule=_lerp_rule)
def _lerp_compound(a: Element, b: Element, t: Float) -> Element:
    """Linear blend, component by component."""
    return a * (1.0 - t) + b * t


def _smoothstep_oracle(a: Numeric, b: Numeric, x: Numeric) -> Any:
    t = type(x)(x > a) if a == b else clamp_oracle((x - a) / (b - a), type(x)(0), type(x)(1))
    return t * t * (3 - 2 * t)


@expansion(numpy=_smoothstep_oracle, ulps=8)
def smoothstep(a: Float, b: Float, x: Float) -> Float:
    """Hermite blend from 0 at x = a to 1 at x = b; a step behind x = a where both are one number."""
    steep = OPERATORS["=="](a, b)  # has no slope, and its width is not divided by, which would make gradients NaN
    t = where(steep, 0.0, TABLE["clamp"]((x - a) / where(steep, 1.0, b - a), 0.0, 1.0))
    t = where(OPERATORS[">"](x, a), where(steep, 1.0, t), t)
    return t * t * (3.0 - 2.0 * t)


OPERATORS.update({"**": pow, "trunc": trunc})

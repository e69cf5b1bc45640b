"""Rows on vectors and on components of any compound.

Sums run in order from the first component, so every device rounds alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..ir.builder import OPERATORS, constant
from ..ir.nodes import Call, Value
from ..types.compounds import is_compound, size_of
from ..types.scalars import uint32
from ..types.signatures import Element, Float, K, Mat, N, Quat, R, Scalar, Vec
from .arith import elementwise_quotient
from .choice import larger, nearest_instruction, pick, smaller, where
from .choice import max as maximum
from .choice import min as minimum
from .construct import components, rebuild, zero
from .lanes import for_lanes
from .math import sqrt
from .registry import TABLE, Numeric, Op, expansion, op
from .target import Target
from .values import elementwise, instr


def ordered_sum(parts: list[Any]) -> Any:
    """x0 + x1 + ... in that order."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def ordered_dot(x: Numeric, y: Numeric) -> Any:
    """The oracle of sums of products: products and sums round one by one, in order."""
    return ordered_sum(list(np.ravel(x) * np.ravel(y)))


@for_lanes
def _inner_value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    t = call.results[0].type
    multiply, plus = instr("fmul", "mul"), instr("fadd", "add")
    total = None
    for a, b in zip(*args, strict=True):
        product = multiply(target, t, a, b)
        total = product if total is None else plus(target, t, total, product)
    return [total]


def _inner_rule(kinds: tuple[str, ...]) -> Any:
    def rule(types: list[Any], attributes: dict) -> Any:
        fits = len(types) == 2 and types[0] is types[1] and is_compound(types[0]) and types[0].kind in kinds
        return (types, [types[0].dtype]) if fits else None

    return rule


def _inner(name: str, kinds: tuple[str, ...], doc: str) -> Op:
    def signature(a: Element, b: Element) -> Scalar: ...

    signature.__doc__ = doc
    row = op(_inner_value, numpy=ordered_dot, name=name, rule=_inner_rule(kinds))(signature)

    @row.adjoint
    def _(x, y, out, dout):
        return y * dout, x * dout

    return row


inner = _inner("inner", ("vector", "matrix", "quaternion", "transform"), "Sum of products of components, any kind.")
dot = _inner("dot", ("vector", "quaternion"), "Dot product.")
ddot = _inner("ddot", ("matrix",), "Sum of products of all entries of two matrices.")


@op(elementwise(instr("fmul", "mul"), packs=True), numpy=np.multiply)
def cw_mul(a: Element, b: Element) -> Element:
    """Product, component by component."""


@cw_mul.adjoint
def _(x, y, out, dout):
    return cw_mul(dout, y), cw_mul(dout, x)


@expansion(numpy=elementwise_quotient, domain=(0.5, 2.0))
def cw_div(a: Element, b: Element) -> Element:
    """Quotient, component by component."""
    if not is_compound(a.type):
        return a / b
    return rebuild(a, [x / y for x, y in zip(components(a), components(b), strict=True)])


def _compound_pair(types: list[Any], attributes: dict) -> Any:
    fits = len(types) == 2 and is_compound(types[0]) and types[0] is types[1]
    return (types, [types[0]]) if fits else None


def _split_cotangent(x: Value, y: Value, out: Value, dout: Value) -> tuple[Value, Value]:
    """A cotangent for the operand that each component was taken from."""
    if not is_compound(x.type):
        taken, nothing = OPERATORS["=="](x, out), zero(dout)
        return where(taken, dout, nothing), where(taken, nothing, dout)
    nothing = zero(components(dout)[0])
    taken = [OPERATORS["=="](a, b) for a, b in zip(components(x), components(out), strict=True)]
    pairs = list(zip(taken, components(dout), strict=True))
    return rebuild(x, [where(t, d, nothing) for t, d in pairs]), rebuild(y, [where(t, nothing, d) for t, d in pairs])


@op(pick("<"), numpy=smaller, name="min", rule=_compound_pair)
def _min_compound(a: Element, b: Element) -> Element:
    """The smaller, component by component."""


@_min_compound.adjoint
def _(x, y, out, dout):
    return _split_cotangent(x, y, out, dout)


@op(pick(">"), numpy=larger, name="max", rule=_compound_pair)
def _max_compound(a: Element, b: Element) -> Element:
    """The larger, component by component."""


@_max_compound.adjoint
def _(x, y, out, dout):
    return _split_cotangent(x, y, out, dout)


@op(nearest_instruction("<"), numpy=lambda x, y: np.where(y < x, y, x))
def lesser(x: Element, y: Element) -> Element:
    """`y` where it is smaller, else `x`, component by component: NaN in `y` loses, NaN in `x` stays.

    One instruction, where `min` takes three.
    """


@lesser.adjoint
def _(x, y, out, dout):
    return _split_cotangent(x, y, out, dout)


@op(nearest_instruction(">"), numpy=lambda x, y: np.where(y > x, y, x))
def greater(x: Element, y: Element) -> Element:
    """`y` where it is greater, else `x`, component by component; otherwise as `lesser`."""


@greater.adjoint
def _(x, y, out, dout):
    return _split_cotangent(x, y, out, dout)


def _fold(x: Value, pick: Callable[..., Any]) -> Value:
    parts = components(x)
    best = parts[0]
    for part in parts[1:]:
        best = pick(best, part)
    return best


@expansion(numpy=lambda x: reduce(smaller, x), name="min")
def _min_component(a: Vec[N, Scalar]) -> Scalar:
    """The smallest component."""
    return _fold(a, minimum)


@expansion(numpy=lambda x: reduce(larger, x), name="max")
def _max_component(a: Vec[N, Scalar]) -> Scalar:
    """The largest component."""
    return _fold(a, maximum)


@expansion(numpy=np.abs, name="abs")
def _abs_compound(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """Absolute value, component by component."""
    return rebuild(x, [TABLE["abs"](part) for part in components(x)])


@expansion(numpy=lambda x: np.where(x < 0, -1, 1), name="sign")
def _sign_compound(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """-1 for negative components, else 1."""
    return rebuild(x, [TABLE["sign"](part) for part in components(x)])


def _arg_best(x: Value, symbol: str) -> Value:
    """The index at which a fold with `symbol` (<= or >=) stays last; NaN loses against a number."""
    parts = components(x)
    best, index = parts[0], constant(uint32, 0)
    for i, part in enumerate(parts[1:], 1):
        stays = OPERATORS["|"](OPERATORS[symbol](best, part), OPERATORS["!="](part, part))
        best, index = where(stays, best, part), where(stays, index, constant(uint32, i))
    return index


def _first(x: Numeric, best: Numeric) -> int:
    """The oracle of `argmin` and `argmax`; 0 where all components are NaN."""
    return int(np.argmax(x == best))


@expansion(numpy=lambda x: _first(x, reduce(smaller, x)))
def argmin(a: Vec[N, Scalar]) -> uint32:
    """Index of the first smallest component."""
    return _arg_best(a, "<=")


@expansion(numpy=lambda x: _first(x, reduce(larger, x)))
def argmax(a: Vec[N, Scalar]) -> uint32:
    """Index of the first largest component."""
    return _arg_best(a, ">=")


@expansion(numpy=lambda a, b, t: a * (1 - t) + b * t, name="lerp", ulps=4)
def _lerp_vector(a: Vec[N, Float], b: Vec[N, Float], t: Float) -> Vec[N, Float]:
    """Linear blend: `a` at t = 0, `b` at t = 1."""
    return a * (1.0 - t) + b * t


@expansion(numpy=lambda a, b, t: a * (1 - t) + b * t, name="lerp", ulps=4)
def _lerp_matrix(a: Mat[R, K, Float], b: Mat[R, K, Float], t: Float) -> Mat[R, K, Float]:
    """Linear blend: `a` at t = 0, `b` at t = 1."""
    return a * (1.0 - t) + b * t


# ----- products and norms ---------------------------------------------------------------------


@expansion(numpy=lambda a, b: np.cross(a, b), ulps=4)
def cross(a: Vec[3, Scalar], b: Vec[3, Scalar]) -> Vec[3, Scalar]:
    """Cross product."""
    return rebuild(a, [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@expansion(numpy=lambda x: ordered_dot(x, x))
def length_sq(a: Vec[N, Scalar]) -> Scalar:
    """Sum of squares."""
    return dot(a, a)


@expansion(numpy=lambda x: ordered_dot(x, x), name="length_sq")
def _length_sq_quat(a: Quat[Float]) -> Float:
    """Sum of squares."""
    return dot(a, a)


@for_lanes
def _norm(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    t = call.results[0].type
    return [target.math("sqrt", t, tuple(_inner_value(target, call, [args[0], args[0]])))]


def _unit_or_zero(x: Value, out: Value) -> Value:
    """x / |x|, and zero at zero: the subgradient that keeps resting springs finite."""
    nothing = OPERATORS["=="](out, 0.0)
    return where(nothing, zero(x), x / where(nothing, 1.0, out))


@op(_norm, numpy=lambda x: np.sqrt(ordered_dot(x, x)))
def length(a: Vec[N, Float]) -> Float:
    """Euclidean length; its gradient at zero is taken as zero."""


@length.adjoint
def _(x, out, dout):
    return (_unit_or_zero(x, out) * dout,)


@op(_norm, numpy=lambda x: np.sqrt(ordered_dot(x, x)), name="length")
def _length_quat(a: Quat[Float]) -> Float:
    """Euclidean length; its gradient at zero is taken as zero."""


@length.adjoint
def _(x, out, dout):
    return (_unit_or_zero(x, out) * dout,)


def _normalize_oracle(x: Numeric) -> Any:
    size = np.sqrt(ordered_dot(x, x))
    return np.zeros_like(x) if size == 0 else x / size


@expansion(numpy=_normalize_oracle)
def normalize(a: Vec[N, Float]) -> Vec[N, Float]:
    """`a` scaled to length 1; zero stays zero."""
    return _unit_or_zero(a, length(a))


def _normalize_quat_oracle(x: Numeric) -> Any:
    return np.eye(1, 4, 3, np.asarray(x).dtype)[0] if np.sqrt(ordered_dot(x, x)) == 0 else _normalize_oracle(x)


@expansion(numpy=_normalize_quat_oracle, name="normalize")
def _normalize_quat(a: Quat[Float]) -> Quat[Float]:
    """`a` scaled to length 1; zero becomes the rotation by nothing, (0, 0, 0, 1)."""
    size = length(a)
    nothing = OPERATORS["=="](size, 0.0)
    return where(nothing, constant(a.type, (0, 0, 0, 1)), a / where(nothing, 1.0, size))


@expansion(numpy=lambda x: ordered_sum(list(np.abs(x))))
def norm_l1(v: Vec[N, Float]) -> Float:
    """Sum of absolute components."""
    return ordered_sum([TABLE["abs"](part) for part in components(v)])


@expansion(numpy=lambda x: np.sqrt(ordered_dot(x, x)))
def norm_l2(v: Vec[N, Float]) -> Float:
    """Euclidean length."""
    return length(v)


def _huber_oracle(x: Numeric, delta: Numeric | float = 1.0) -> Any:
    size = np.sqrt(ordered_dot(x, x))
    return 0.5 * size * size if size <= delta else delta * (size - 0.5 * delta)


@expansion(numpy=_huber_oracle, ulps=4)
def norm_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float:
    """Huber norm: quadratic up to `delta`, linear beyond."""
    size = length(v)
    return where(OPERATORS["<="](size, delta), 0.5 * size * size, delta * (size - 0.5 * delta))


@expansion(numpy=lambda x, delta=1.0: delta * np.sqrt(1 + ordered_dot(x, x) / (delta * delta)), ulps=8)
def norm_pseudo_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float:
    """Smooth Huber norm, delta * sqrt(1 + |x / delta|^2)."""
    return delta * sqrt(1.0 + dot(v, v) / (delta * delta))


@expansion(numpy=lambda x, delta=1.0: x / (delta * np.sqrt(1 + ordered_dot(x, x) / (delta * delta))), ulps=8)
def smooth_normalize(v: Vec[N, Float], delta: Float = 1.0) -> Vec[N, Float]:
    """`v` divided by its pseudo-Huber norm: smooth through zero."""
    return v / norm_pseudo_huber(v, delta)


def size(x: Value) -> int:
    """How many components a value has (a compile-time number)."""
    return size_of(x.type)


OPERATORS.update({"inner": inner, "cw_div": cw_div, "cw_mul": cw_mul})

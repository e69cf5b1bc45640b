"""Arithmetic, comparison, bits, casts and selection: the rows behind Python's operators.

Signed integers wrap. Division by zero is defined: an integer quotient is 0 and the remainder is
the dividend; the smallest integer divided by -1 wraps. `/` on integers truncates and `%` has the
sign of the dividend (as in C and Warp); `//` rounds down. Shift counts are taken modulo the width.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS
from ..types import scalars
from ..types.compounds import is_compound, kind_of, scalar_of
from ..types.scalars import bool_, int32
from ..types.signatures import AnyScalar, Element, Int, Scalar
from .construct import components, rebuild, zero
from .registry import TABLE, expansion, op
from .values import compare, convert, elementwise, instr, scaled, smallest_signed

# ----- sums ---------------------------------------------------------------------------------


@op(elementwise(instr("fadd", "add")), numpy=np.add)
def add(x: Element, y: Element) -> Element:
    """Sum, component by component."""


@add.adjoint
def _(x, y, out, dout):
    return dout, dout


@op(elementwise(instr("fsub", "sub")), numpy=np.subtract)
def sub(x: Element, y: Element) -> Element:
    """Difference, component by component."""


@sub.adjoint
def _(x, y, out, dout):
    return dout, -dout


def _negated(target: Any, t: type, x: Any) -> Any:
    # fsub(-0, x) rather than fneg, which NVVM refuses.
    if scalars.is_float(t):
        return target.builder.fsub(ll.Constant(x.type, -0.0), x)
    return target.builder.neg(x)


@op(elementwise(_negated), numpy=np.negative)
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


def _divided(target: Any, t: type, x: Any, y: Any) -> Any:
    if scalars.is_float(t):
        return target.builder.fdiv(x, y, flags=target.fast_flags)
    return _int_divided(target, t, x, y, "div")


def _int_divided(target: Any, t: type, x: Any, y: Any, kind: str) -> Any:
    """Integer quotient or remainder without the two cases that trap on x86."""
    b = target.builder
    zero, one = ll.Constant(x.type, 0), ll.Constant(x.type, 1)
    by_zero = b.icmp_unsigned("==", y, zero)
    bad = by_zero
    if scalars.is_signed(t):
        minus_one = ll.Constant(x.type, -1)
        overflow = b.and_(b.icmp_signed("==", x, smallest_signed(t)), b.icmp_signed("==", y, minus_one))
        bad = b.or_(by_zero, overflow)
    safe = b.select(bad, one, y)
    if kind == "div":
        quotient = (b.sdiv if scalars.is_signed(t) else b.udiv)(x, safe)
        return b.select(by_zero, zero, quotient)
    remainder = (b.srem if scalars.is_signed(t) else b.urem)(x, safe)
    return b.select(by_zero, x, remainder)


def truncated_quotient(x: Any, y: Any) -> Any:
    """C division: towards zero, 0 for a zero divisor."""
    if np.issubdtype(type(x), np.floating):
        return x / y
    return type(x)(0) if y == 0 else _wrap(int(abs(int(x)) // abs(int(y))) * _sign(x, y), type(x))


def _sign(x: Any, y: Any) -> int:
    return -1 if (int(x) < 0) != (int(y) < 0) else 1


def _wrap(value: int, t: type) -> Any:
    width = scalars.bits(t)
    value &= (1 << width) - 1
    if scalars.is_signed(t) and value >> (width - 1):
        value -= 1 << width
    return t(value)


@op(elementwise(_divided), numpy=truncated_quotient, domain=(0.5, 2.0))
def div(x: Scalar, y: Scalar) -> Scalar:
    """Quotient; integers truncate towards zero."""


@div.adjoint
def _(x, y, out, dout):
    return dout / y, -dout * out / y


def _floor_divided(target: Any, t: type, x: Any, y: Any) -> Any:
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


def _floordiv_oracle(x: Any, y: Any) -> Any:
    if np.issubdtype(type(x), np.floating):
        return np.floor(x / y)
    return type(x)(0) if y == 0 else _wrap(int(x) // int(y), type(x))


@op(elementwise(_floor_divided), numpy=_floordiv_oracle, domain=(0.5, 2.0), nondiff="piecewise constant")
def floordiv(x: Scalar, y: Scalar) -> Scalar:
    """The largest whole number not above x / y."""


def _remainder(target: Any, t: type, x: Any, y: Any) -> Any:
    if scalars.is_float(t):
        return target.math("fmod", t, (x, y))
    return _int_divided(target, t, x, y, "rem")


def _mod_oracle(x: Any, y: Any) -> Any:
    if np.issubdtype(type(x), np.floating):
        return np.fmod(x, y)
    if y == 0:
        return x
    return _wrap(int(x) - int(truncated_quotient(x, y)) * int(y), type(x))


@op(elementwise(_remainder), numpy=_mod_oracle, domain=(0.5, 2.0))
def mod(x: Scalar, y: Scalar) -> Scalar:
    """Remainder with the sign of `x`."""


@mod.adjoint
def _(x, y, out, dout):
    return dout, -dout * TABLE["trunc"](x / y)


# Scaling of compounds: the scalar stands on either side.


def _scale_rule(scalar_first: bool) -> Any:
    def rule(types: list[Any], attributes: dict) -> Any:
        if len(types) != 2:
            return None
        scalar, compound = types if scalar_first else types[::-1]
        if not is_compound(compound):
            return None
        wanted = scalar_of(compound)
        fits = scalar is wanted or _weak_as(scalar, wanted)
        if not fits:
            return None
        return ([wanted, compound] if scalar_first else [compound, wanted]), [compound]

    return rule


def _weak_as(t: Any, wanted: type) -> bool:
    from_literal = getattr(t, "default", None)
    return from_literal is not None and (scalars.is_float(wanted) or scalars.is_integer(from_literal))


@op(scaled(_multiply), numpy=np.multiply, name="mul", rule=_scale_rule(scalar_first=False))
def _mul_compound_scalar(x: Element, s: Scalar) -> Element:
    """Every component times `s`."""


@mul.adjoint
def _(x, s, out, dout):
    return dout * s, TABLE["inner"](dout, x)


@op(scaled(_multiply), numpy=np.multiply, name="mul", rule=_scale_rule(scalar_first=True))
def _mul_scalar_compound(s: Scalar, x: Element) -> Element:
    """`s` times every component."""


@mul.adjoint
def _(s, x, out, dout):
    return TABLE["inner"](dout, x), dout * s


def elementwise_quotient(x: Any, y: Any) -> Any:
    """`truncated_quotient` of every pair of components; a scalar goes with all of the other side."""
    pairs = np.broadcast(x, y)
    quotients = [truncated_quotient(a, b) for a, b in pairs]
    return np.array(quotients, np.result_type(x, y)).reshape(pairs.shape)


@op(scaled(_divided), numpy=elementwise_quotient, name="div", rule=_scale_rule(scalar_first=False), domain=(0.5, 2.0))
def _div_compound_scalar(x: Element, s: Scalar) -> Element:
    """Every component divided by `s`."""


@div.adjoint
def _(x, s, out, dout):
    return dout / s, -TABLE["inner"](dout, out) / s


@expansion(numpy=elementwise_quotient, name="div", rule=_scale_rule(scalar_first=True), domain=(0.5, 2.0))
def _div_scalar_compound(s: Scalar, x: Element) -> Element:
    """`s` divided by every component."""
    return rebuild(x, [s / part for part in components(x)])


# ----- comparison and logic -----------------------------------------------------------------

_NO_SLOPE = "a boolean has no derivative"


def _comparison(name: str, symbol: str, oracle: Any, pattern: Any) -> None:
    def signature(x: pattern, y: pattern) -> bool_: ...

    signature.__annotations__ = {"x": pattern, "y": pattern, "return": bool_}
    signature.__doc__ = f"Whether x {symbol} y."
    op(elementwise(compare(symbol)), numpy=oracle, name=name, nondiff=_NO_SLOPE)(signature)


for _name, _symbol, _oracle in (
    ("lt", "<", np.less), ("le", "<=", np.less_equal), ("gt", ">", np.greater), ("ge", ">=", np.greater_equal),
):  # fmt: skip
    _comparison(_name, _symbol, _oracle, Scalar)
for _name, _symbol, _oracle in (("eq", "==", np.equal), ("ne", "!=", np.not_equal)):
    _comparison(_name, _symbol, _oracle, AnyScalar)


def _all_equal(invert: bool) -> Any:
    def value(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
        t = scalar_of(call.args[0].type)
        each = compare("!=" if invert else "==")
        found = [each(target, t, a, b) for a, b in zip(*args, strict=True)]
        combine = target.builder.or_ if invert else target.builder.and_
        result = found[0]
        for part in found[1:]:
            result = combine(result, part)
        return [result]

    return value


@op(_all_equal(False), numpy=lambda x, y: np.all(x == y), name="eq", nondiff=_NO_SLOPE)
def _eq_compound(x: Element, y: Element) -> bool_:
    """Whether all components are equal."""


@op(_all_equal(True), numpy=lambda x, y: np.any(x != y), name="ne", nondiff=_NO_SLOPE)
def _ne_compound(x: Element, y: Element) -> bool_:
    """Whether some components differ."""


def _inverted(target: Any, t: type, x: Any) -> Any:
    return target.builder.not_(x)


@op(elementwise(_inverted), numpy=np.logical_not, name="unot", nondiff=_NO_SLOPE)
def unot(x: bool_) -> bool_:
    """Logical negation."""


@expansion(numpy=lambda x: x == 0, name="unot")
def _unot_number(x: Scalar) -> bool_:
    """Whether a number is zero."""
    return OPERATORS["=="](x, 0)


# ----- bits ---------------------------------------------------------------------------------

_NO_BITS = "integers have no derivative"


def _bitwise(name: str, instruction: str, oracle: Any) -> None:
    for pattern in (Int, bool_):

        def signature(x, y): ...

        signature.__annotations__ = {"x": pattern, "y": pattern, "return": pattern}
        signature.__doc__ = f"Bitwise {name.split('_')[-1]}."
        op(elementwise(instr("", instruction)), numpy=oracle, name=name, nondiff=_NO_BITS)(signature)


for _name, _instruction, _oracle in (
    ("bit_and", "and_", np.bitwise_and), ("bit_or", "or_", np.bitwise_or), ("bit_xor", "xor", np.bitwise_xor),
):  # fmt: skip
    _bitwise(_name, _instruction, _oracle)


bit_and, bit_or, bit_xor = TABLE["bit_and"], TABLE["bit_or"], TABLE["bit_xor"]


@op(elementwise(_inverted), numpy=np.invert, nondiff=_NO_BITS)
def invert(x: Int) -> Int:
    """Bitwise complement."""


def _shifted(left: bool) -> Any:
    def scalar_value(target: Any, t: type, x: Any, n: Any) -> Any:
        count = target.builder.and_(n, ll.Constant(n.type, scalars.bits(t) - 1))
        if left:
            return target.builder.shl(x, count)
        return (target.builder.ashr if scalars.is_signed(t) else target.builder.lshr)(x, count)

    return elementwise(scalar_value)


def _shift_oracle(function: Any) -> Any:
    return lambda x, n: function(x, type(x)(int(n) % scalars.bits(type(x))))


@op(_shifted(left=True), numpy=_shift_oracle(np.left_shift), nondiff=_NO_BITS)
def lshift(x: Int, n: Int) -> Int:
    """`x` shifted left by `n` modulo the width."""


@op(_shifted(left=False), numpy=_shift_oracle(np.right_shift), nondiff=_NO_BITS)
def rshift(x: Int, n: Int) -> Int:
    """`x` shifted right by `n` modulo the width; signed numbers keep their sign."""


def _population(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
    t = call.args[0].type
    counted = target.builder.ctpop(args[0][0])
    unsigned = {8: scalars.uint8, 16: scalars.uint16, 32: scalars.uint32, 64: scalars.uint64}[scalars.bits(t)]
    return [convert(target, unsigned, int32, counted)]


def _count_ones(x: Any) -> int:
    return (int(x) & ((1 << scalars.bits(type(x))) - 1)).bit_count()


@op(_population, numpy=_count_ones, nondiff=_NO_BITS)
def bit_count(x: Int) -> int32:
    """Number of one bits."""


# ----- conversion and selection -------------------------------------------------------------


def _cast_rule(types: list[Any], attributes: dict) -> Any:
    wanted = attributes.get("to")
    if len(types) != 1 or wanted is None:
        return None
    source = getattr(types[0], "default", types[0])
    if scalars.is_scalar(source) and scalars.is_scalar(wanted):
        return [source], [wanted]
    same = kind_of(source) == kind_of(wanted) != "" and getattr(source, "shape", 0) == getattr(wanted, "shape", 1)
    return ([source], [wanted]) if same else None


def _cast_value(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
    source, wanted = scalar_of(call.args[0].type), scalar_of(call.results[0].type)
    return [convert(target, source, wanted, x) for x in args[0]]


def cast_oracle(x: Any, to: Any) -> Any:
    """Conversion as kernels define it: truncate and saturate floats, wrap integers, NaN is 0."""
    wanted = scalar_of(to)
    flat = [_cast_scalar(v, wanted) for v in np.ravel(x)]
    return flat[0] if np.ndim(x) == 0 else np.array(flat, wanted).reshape(np.shape(x))


def _cast_scalar(x: Any, wanted: type) -> Any:
    if wanted is bool_:
        return bool_(x != 0)
    if scalars.is_float(wanted):
        return wanted(x)
    if np.issubdtype(type(x), np.floating):
        limits = np.iinfo(wanted)
        if np.isnan(x):
            return wanted(0)
        if np.isinf(x):
            return wanted(limits.max if x > 0 else limits.min)
        return wanted(builtins.max(limits.min, builtins.min(limits.max, int(x))))
    return _wrap(int(x), wanted)


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
    wanted = typed[0] if typed else types[1].default
    if any(t is not wanted and not _weak_as(t, wanted) for t in types[1:]):
        return None
    return [bool_, wanted, wanted], [wanted]


def _selected(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
    condition, yes, no = args
    return [target.builder.select(condition[0], a, b) for a, b in zip(yes, no, strict=True)]


@op(_selected, numpy=lambda c, a, b: a if c else b, rule=_select_rule)
def where(condition: bool_, if_true: Element, if_false: Element) -> Element:
    """`if_true` where the condition holds, else `if_false`; both are evaluated."""


@where.adjoint
def _(condition, if_true, if_false, out, dout):
    nothing = zero(dout)
    return None, where(condition, dout, nothing), where(condition, nothing, dout)


def _picked(symbol: str) -> Any:
    """Minimum or maximum: the first operand wins a tie; a NaN operand loses."""

    def scalar_value(target: Any, t: type, x: Any, y: Any) -> Any:
        b = target.builder
        first = compare(symbol)(target, t, x, y)
        if scalars.is_float(t):
            first = b.or_(first, b.fcmp_unordered("!=", y, y))
        return b.select(first, x, y)

    return elementwise(scalar_value)


def smaller(x: Any, y: Any) -> Any:
    """The oracle of `min`."""
    return np.where((x <= y) | (y != y), x, y)


def larger(x: Any, y: Any) -> Any:
    """The oracle of `max`."""
    return np.where((x >= y) | (y != y), x, y)


@op(_picked("<="), numpy=smaller)
def min(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two; a tie goes to `x`, NaN loses against a number."""


@min.adjoint
def _(x, y, out, dout):
    return where(OPERATORS["=="](x, out), dout, 0.0), where(OPERATORS["=="](x, out), 0.0, dout)


@op(_picked(">="), numpy=larger)
def max(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two; a tie goes to `x`, NaN loses against a number."""


@max.adjoint
def _(x, y, out, dout):
    return where(OPERATORS["=="](x, out), dout, 0.0), where(OPERATORS["=="](x, out), 0.0, dout)


def clamped(x: Any, low: Any, high: Any) -> Any:
    """The oracle of `clamp`."""
    raised = np.where(x < low, low, x)
    return np.where(raised > high, high, raised)


@expansion(numpy=clamped)
def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """`x` limited to [low, high]; NaN stays NaN, and `high` wins where the limits cross."""
    raised = where(OPERATORS["<"](x, low), low, x)
    return where(OPERATORS[">"](raised, high), high, raised)


def _kept(target: Any, call: Any, args: list[list[Any]]) -> list[Any]:
    return args[0]


@op(_kept, numpy=lambda x: x)
def stop_gradient(x: Element) -> Element:
    """The value of `x` as a constant to differentiation."""


@stop_gradient.adjoint
def _(x, out, dout):
    return (None,)


OPERATORS.update({
    "+": add, "-": sub, "*": mul, "@": mul, "/": div, "//": floordiv, "%": mod, "neg": neg, "pos": pos,
    "&": bit_and, "|": bit_or, "^": bit_xor, "<<": lshift, ">>": rshift, "~": invert,
    "==": TABLE["eq"], "!=": TABLE["ne"], "<": TABLE["lt"], "<=": TABLE["le"], ">": TABLE["gt"], ">=": TABLE["ge"],
    "not": unot,
})  # fmt: skip

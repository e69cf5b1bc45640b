"""Comparison, logic and bits: the rows behind Python's comparison and bit operators.

Comparisons with NaN are false, except `!=`. Shift counts are taken modulo the width, of 8 and 16 bits modulo 32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ..ir.builder import OPERATORS
from ..ir.nodes import Call
from ..types import scalars
from ..types.compounds import scalar_of
from ..types.scalars import bool_, int32
from ..types.signatures import AnyScalar, C, Element, Int, Mat, N, R, Scalar, Vec
from .lanes import for_lanes
from .registry import TABLE, Numeric, expansion, op
from .target import Target
from .values import LANES, compare, convert, elementwise, instr, pack

# ----- comparison and logic -----------------------------------------------------------------

_NO_SLOPE = "a boolean has no derivative"


def _comparison(name: str, symbol: str, oracle: Callable[..., Any], pattern: Any) -> None:
    def signature(x: pattern, y: pattern) -> bool_: ...

    signature.__annotations__ = {"x": pattern, "y": pattern, "return": bool_}
    signature.__doc__ = f"Whether x {symbol} y."
    op(elementwise(compare(symbol)), numpy=oracle, name=name, nondiff=_NO_SLOPE)(signature)


for _name, _symbol, _oracle in (
    ("lt", "<", np.less),
    ("le", "<=", np.less_equal),
    ("gt", ">", np.greater),
    ("ge", ">=", np.greater_equal),
):
    _comparison(_name, _symbol, _oracle, Scalar)
for _name, _symbol, _oracle in (("eq", "==", np.equal), ("ne", "!=", np.not_equal), ("arrived", "!=", np.not_equal)):
    _comparison(_name, _symbol, _oracle, AnyScalar)


def _all_equal(invert: bool) -> Any:
    def value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
        t = scalar_of(call.args[0].type)
        each = compare("!=" if invert else "==")
        outcomes = [each(target, t, a, b) for a, b in zip(*args, strict=True)]
        combine = target.builder.or_ if invert else target.builder.and_
        result = outcomes[0]
        for part in outcomes[1:]:
            result = combine(result, part)
        return [result]

    return for_lanes(value)


@op(_all_equal(False), numpy=lambda x, y: np.all(x == y), name="eq", nondiff=_NO_SLOPE)
def _eq_compound(x: Element, y: Element) -> bool_:
    """Whether all components are equal."""


@op(_all_equal(True), numpy=lambda x, y: np.any(x != y), name="ne", nondiff=_NO_SLOPE)
def _ne_compound(x: Element, y: Element) -> bool_:
    """Whether some components differ."""


@op(_all_equal(True), numpy=lambda x, y: np.any(x != y), name="arrived", nondiff=_NO_SLOPE)
def _arrived_compound(x: Element, y: Element) -> bool_:
    """Whether a sum of cotangents is not zero; in forward mode of an adjoint, whether the sum or its tangent is not."""


def _invert(target: Target, t: type, x: ll.Value) -> Any:
    return target.builder.not_(x)


@op(elementwise(_invert), numpy=np.logical_not, name="unot", nondiff=_NO_SLOPE)
def unot(a: bool_) -> bool_:
    """Logical negation."""


@expansion(numpy=lambda x: x == 0, name="unot")
def _unot_number(a: Scalar) -> bool_:
    """Whether a number is zero."""
    return OPERATORS["=="](a, 0)


# ----- bits ---------------------------------------------------------------------------------

_NO_BITS = "integers have no derivative"


def _bitwise(name: str, instruction: str, oracle: Callable[..., Any]) -> None:
    for pattern in (Int, bool_, Vec[N, Int], Mat[R, C, Int]):

        def signature(a, b): ...

        signature.__annotations__ = {"a": pattern, "b": pattern, "return": pattern}
        signature.__doc__ = f"Bitwise {name.split('_')[-1]}."
        op(elementwise(instr("", instruction)), numpy=oracle, name=name, nondiff=_NO_BITS)(signature)


for _name, _instruction, _oracle in (
    ("bit_and", "and_", np.bitwise_and),
    ("bit_or", "or_", np.bitwise_or),
    ("bit_xor", "xor", np.bitwise_xor),
):
    _bitwise(_name, _instruction, _oracle)


bit_and, bit_or, bit_xor = TABLE["bit_and"], TABLE["bit_or"], TABLE["bit_xor"]


@op(elementwise(_invert), numpy=np.invert, nondiff=_NO_BITS)
def invert(a: Int) -> Int:
    """Bitwise complement."""


@op(elementwise(_invert), numpy=np.invert, name="invert", nondiff=_NO_BITS)
def _invert_vector(a: Vec[N, Int]) -> Vec[N, Int]:
    """Bitwise complement of every component."""


@op(elementwise(_invert), numpy=np.invert, name="invert", nondiff=_NO_BITS)
def _invert_matrix(a: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """Bitwise complement of every entry."""


def _shift_word(t: type) -> type:
    """The type whose width counts: numbers of 8 and 16 bits are shifted as numbers of 32, as in C."""
    if scalars.bits(t) >= 32:
        return t
    return int32 if scalars.is_signed(t) else scalars.uint32


def _shift_value(left: bool) -> Any:
    def scalar_value(target: Target, t: type, x: ll.Value, n: ll.Value) -> Any:
        b, word = target.builder, _shift_word(t)
        wide, count = convert(target, t, word, x), convert(target, t, word, n)
        count = b.and_(count, ll.Constant(count.type, scalars.bits(word) - 1))
        if left:
            return convert(target, word, t, b.shl(wide, count))
        return convert(target, word, t, (b.ashr if scalars.is_signed(t) else b.lshr)(wide, count))

    return elementwise(scalar_value)


def _shift_oracle(function: Callable[..., Any]) -> Any:
    def shift(x: Numeric, n: Numeric) -> Any:
        word = _shift_word(n.dtype.type)
        return function(x.astype(word), np.mod(n.astype(word), word(scalars.bits(word)))).astype(n.dtype)

    return shift


def _shift(name: str, left: bool, oracle: Callable[..., Any]) -> None:
    for pattern in (Int, Vec[N, Int], Mat[R, C, Int]):

        def signature(a, b): ...

        signature.__annotations__ = {"a": pattern, "b": pattern, "return": pattern}
        way, signs = ("left", "") if left else ("right", "; signed numbers keep their sign")
        signature.__doc__ = f"`a` shifted {way} by `b` modulo the width, of 8 and 16 bits modulo 32{signs}."
        op(_shift_value(left), numpy=_shift_oracle(oracle), name=name, nondiff=_NO_BITS)(signature)


_shift("lshift", True, np.left_shift)
_shift("rshift", False, np.right_shift)
lshift, rshift = TABLE["lshift"], TABLE["rshift"]


def _population(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    t = call.args[0].type
    counted = target.builder.ctpop(args[0][0])
    unsigned = {8: scalars.uint8, 16: scalars.uint16, 32: scalars.uint32, 64: scalars.uint64}[scalars.bits(t)]
    return [convert(target, unsigned, int32, counted)]


def _count_ones(x: Numeric) -> int:
    return (int(x) & ((1 << scalars.bits(type(x))) - 1)).bit_count()


@op(_population, numpy=_count_ones, nondiff=_NO_BITS)
def bit_count(x: Int) -> int32:
    """Number of one bits."""


def _mask_at_most(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    x, [limit] = args
    b, t, word = target.builder, scalar_of(call.args[0].type), ll.IntType(32)
    holds = compare("<=")
    if target.packs and len(x) in LANES:
        together = holds(target, t, pack(b, x), pack(b, [limit] * len(x)))
        return [b.zext(b.bitcast(together, ll.IntType(len(x))), word)]
    bits = [b.select(holds(target, t, part, limit), word(1 << k), word(0)) for k, part in enumerate(x)]
    return [functools.reduce(b.or_, bits)]


@op(
    _mask_at_most,
    numpy=lambda x, limit: int32(sum(1 << k for k, part in enumerate(x) if part <= limit)),
    nondiff=_NO_BITS,
)
def mask_at_most(x: Vec[N, Scalar], limit: Scalar) -> int32:
    """An integer whose bit k says whether component k of up to 31 is at most `limit`."""


OPERATORS |= {"&": bit_and, "|": bit_or, "^": bit_xor, "<<": lshift, ">>": rshift, "~": invert, "not": unot}
OPERATORS |= {"==": TABLE["eq"], "!=": TABLE["ne"], "<": TABLE["lt"], "<=": TABLE["le"]}
OPERATORS |= {">": TABLE["gt"], ">=": TABLE["ge"]}

"""Emitters of rows on compiled targets: small factories of LLVM instructions.

A row's `value` is called as `value(target, call, args)`: `args` holds, per operand, the list of
LLVM scalars that its type flattens to (a vec3 is three); it returns the flat list of the result,
or one list per result. `target` offers the LLVM builder and what differs between CPU and CUDA
(see `emit.target`). Nothing here knows a processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as ll
from llvmlite.ir.instructions import ExtractElement, PhiInstr

from ..ir.nodes import Call
from ..types import scalars
from ..types.compounds import scalar_of
from .lanes import broadcast, for_lanes, like
from .target import Target


def llvm_type(t: type) -> ll.Type:
    """The register type of a scalar: bool is i1, and bfloat16 a float that holds such a number."""
    if t is scalars.bool_:
        return ll.IntType(1)
    if scalars.is_float(t):
        return {16: ll.HalfType(), 32: ll.FloatType(), 64: ll.DoubleType()}[register_bits(t)]
    return ll.IntType(scalars.bits(t))


def register_bits(t: type) -> int:
    """The width of a scalar in a register."""
    return scalars.bits(scalars.register_type(t))


def memory_type(t: type) -> ll.Type:
    """The type of a scalar in memory."""
    if t is scalars.bool_:
        return ll.IntType(8)
    return ll.IntType(16) if scalars.is_bfloat16(t) else llvm_type(t)


def from_memory(b: ll.IRBuilder, word: ll.Value, t: type) -> Any:
    """A scalar as read from memory, as registers hold it."""
    if t is scalars.bool_:
        return b.icmp_unsigned("!=", word, ll.Constant(word.type, 0))
    if not scalars.is_bfloat16(t):
        return word
    wide = ll.IntType(32)
    return b.bitcast(b.shl(b.zext(word, wide), ll.Constant(wide, 16)), ll.FloatType())


def to_memory(b: ll.IRBuilder, x: ll.Value, t: type) -> Any:
    """A scalar of a register as memory holds it."""
    if t is scalars.bool_:
        return b.zext(x, ll.IntType(8))
    if not scalars.is_bfloat16(t):
        return x
    wide = ll.IntType(32)
    return b.trunc(b.lshr(b.bitcast(x, wide), ll.Constant(wide, 16)), ll.IntType(16))


def rounded_to_bfloat16(b: ll.IRBuilder, x: ll.Value) -> Any:
    """The nearest of the floats whose lower 16 bits are zero, of two the one with an even last bit; NaN stays NaN."""
    word = ll.IntType(32)
    bits = b.bitcast(x, word)
    last = b.and_(b.lshr(bits, ll.Constant(word, 16)), ll.Constant(word, 1))
    near = b.add(bits, b.add(last, ll.Constant(word, 0x7FFF)))
    quiet = b.or_(bits, ll.Constant(word, 0x400000))
    upper = b.and_(b.select(b.fcmp_unordered("uno", x, x), quiet, near), ll.Constant(word, 0xFFFF0000))
    return b.bitcast(upper, ll.FloatType())


def into_memory(b: ll.IRBuilder, x: ll.Value, t: type) -> Any:
    """A number that was computed, rounded to its type, as memory holds it."""
    return to_memory(b, rounded_to_bfloat16(b, x) if scalars.is_bfloat16(t) else x, t)


def round_result(b: ll.IRBuilder, call: Call, args: list[list[Any]], computed: Any) -> Any:
    """What a row computed, bfloat16 among it rounded to that; but for components that the row only moved."""
    narrow = [scalars.is_bfloat16(scalar_of(r.type)) for r in call.results]
    if True not in narrow:
        return computed
    moved = {id(x) for flat in args for x in flat}
    flats = [
        [x if id(x) in moved else rounded_to_bfloat16(b, x) for x in flat] if rounds else flat
        for flat, rounds in zip([computed] if len(narrow) == 1 else computed, narrow, strict=True)
    ]
    return flats[0] if len(narrow) == 1 else flats


LANES = (4, 8, 16)
"""Numbers of components that fill a vector register of some width."""


def elementwise(scalar_value: Callable[..., Any], packs: bool = False) -> Callable[..., Any]:
    """Apply `scalar_value(target, scalar type, *components)` to every component.

    `packs`: it also works on LLVM vectors; targets that want them then get one instruction for all components.
    """

    def value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
        t = scalar_of(call.args[0].type)
        if packs and target.packs and len(args[0]) in LANES:
            b = target.builder
            return unpack(b, scalar_value(target, t, *[pack(b, flat) for flat in args]))
        return [scalar_value(target, t, *parts) for parts in zip(*args, strict=True)]

    return for_lanes(value)


def pack(b: ll.IRBuilder, flat: list[Any]) -> Any:
    """Scalars of one type as an LLVM vector; of the lanes of a vector that vector, of one scalar its broadcast."""
    first = flat[0]
    if all(x is first for x in flat):
        return broadcast(b, first, len(flat))
    if is_unpacked(flat):
        return first.operands[0]
    whole: Any = ll.Constant(ll.VectorType(first.type, len(flat)), ll.Undefined)
    for lane, x in enumerate(flat):
        whole = b.insert_element(whole, x, ll.Constant(ll.IntType(32), lane))
    return whole


def is_unpacked(flat: list[Any]) -> bool:
    """Whether scalars are all the lanes of one vector, in order."""
    if not all(isinstance(x, ExtractElement) for x in flat):
        return False
    whole = flat[0].operands[0]
    in_order = all(x.operands[0] is whole and x.operands[1].constant == lane for lane, x in enumerate(flat))
    return in_order and whole.type.count == len(flat)


def unpack(b: ll.IRBuilder, whole: ll.Value) -> list[Any]:
    """The lanes of an LLVM vector."""
    return [b.extract_element(whole, ll.Constant(ll.IntType(32), lane)) for lane in range(whole.type.count)]


def drop_unused_lanes(function: ll.Function) -> None:
    """Leave out lanes of vectors that nothing uses: those of a vector that was packed again as it is."""
    used = {id(x) for block in function.blocks for instruction in block.instructions for x in operands_of(instruction)}
    for block in function.blocks:
        block.instructions = [i for i in block.instructions if not isinstance(i, ExtractElement) or id(i) in used]


def operands_of(instruction: Any) -> list[Any]:
    """The values that an instruction takes, those of a phi among them."""
    return [x for x, _ in instruction.incomings] if isinstance(instruction, PhiInstr) else instruction.operands


def elementwise_with_scalars(scalar_value: Callable[..., Any], packs: bool = False) -> Callable[..., Any]:
    """Component-wise where one operand is a scalar that goes with every component of the other."""
    together = elementwise(scalar_value, packs)

    def value(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
        size = max(len(a) for a in args)
        components: list[Any] = together(target, call, [a * size if len(a) == 1 else a for a in args])
        return components

    return for_lanes(value)


def instr(floating: str = "", integer: str = "", unsigned: str = "", boolean: str = "") -> Callable[..., Any]:
    """One LLVM instruction per component, chosen by scalar type."""

    def scalar_value(target: Target, t: type, *parts: ll.Value) -> Any:
        if scalars.is_float(t):
            return getattr(target.builder, floating)(*parts, flags=target.fast_flags)
        name = boolean if t is scalars.bool_ and boolean else integer
        if unsigned and t in scalars.UNSIGNED:
            name = unsigned
        return getattr(target.builder, name)(*parts)

    return scalar_value


def libm(name: str) -> Callable[..., Any]:
    """The C library's function of that name (libm, vectorised where possible; libdevice on CUDA)."""

    def scalar_value(target: Target, t: type, *parts: ll.Value) -> Any:
        return target.math(name, t, parts)

    return elementwise(scalar_value)


def compare(symbol: str) -> Callable[..., Any]:
    """Ordered float, signed or unsigned integer comparison; `!=` is unordered, as IEEE 754 wants."""

    def scalar_value(target: Target, t: type, a: ll.Value, b: ll.Value) -> Any:
        if scalars.is_float(t):
            kind = target.builder.fcmp_unordered if symbol == "!=" else target.builder.fcmp_ordered
            return kind(symbol, a, b)
        signed = t in scalars.SIGNED
        kind = target.builder.icmp_signed if signed else target.builder.icmp_unsigned
        return kind(symbol, a, b)

    return scalar_value


def smallest_signed(t: type, x: ll.Value) -> ll.Constant:
    """The smallest number of a type, in as many lanes as `x` has."""
    return ll.Constant(x.type, -(1 << (scalars.bits(t) - 1)))


def convert(target: Target, source: type, target_type: type, x: ll.Value) -> Any:
    """A scalar conversion: floats truncate towards zero and saturate, NaN becomes 0, ints wrap."""
    b, t = target.builder, like(llvm_type(target_type), x)
    to_bfloat16 = scalars.is_bfloat16(target_type)
    source, target_type = scalars.register_type(source), scalars.register_type(target_type)
    if source is target_type:
        return x
    if target_type is scalars.bool_:
        zero = ll.Constant(x.type, 0 if not scalars.is_float(source) else 0.0)
        return b.fcmp_unordered("!=", x, zero) if scalars.is_float(source) else b.icmp_unsigned("!=", x, zero)
    if scalars.is_float(source):
        if scalars.is_float(target_type):
            narrows = scalars.bits(source) > scalars.bits(target_type)
            return narrow(b, source, target_type, x, to_bfloat16) if narrows else b.fpext(x, t)
        return target.float_to_int(x, source, target_type)
    unsigned = source is scalars.bool_ or source in scalars.UNSIGNED
    if scalars.is_float(target_type):
        return b.uitofp(x, t) if unsigned else b.sitofp(x, t)
    width = 1 if source is scalars.bool_ else scalars.bits(source)
    if scalars.bits(target_type) < width:
        return b.trunc(x, t)
    if scalars.bits(target_type) == width:
        return x
    return b.zext(x, t) if unsigned else b.sext(x, t)


def narrow(b: ll.IRBuilder, source: type, target: type, x: ll.Value, rounds_again: bool = False) -> Any:
    """A float in fewer bits, to the nearest; to odd where `rounds_again`, to bfloat16, follows.

    From 64 bits to 16 processors have no instruction, and LLVM calls a function that is not in the
    process. So it goes over 32 bits, rounded to odd there: towards zero, the last bit set if anything
    was lost. The second rounding then sees what the first one dropped (Boldo and Melquiond 2008,
    Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd).
    """
    if source is not scalars.float64 or not (target is scalars.float16 or rounds_again):
        return b.fptrunc(x, like(llvm_type(target), x))
    word, single = like(ll.IntType(32), x), like(ll.FloatType(), x)
    near = b.fptrunc(x, single)
    back = b.fpext(near, x.type)
    lost = b.fcmp_ordered("!=", back, x)
    # The sign bit aside, the size of a float grows with its bits.
    bits, zero = b.bitcast(near, word), ll.Constant(x.type, 0.0)
    away = b.select(b.fcmp_ordered("<", x, zero), b.fcmp_ordered("<", back, x), b.fcmp_ordered(">", back, x))
    towards_zero = b.sub(bits, b.zext(away, word))
    odd = b.or_(towards_zero, b.zext(lost, word))
    rounded_to_odd = b.bitcast(odd, single)
    return rounded_to_odd if rounds_again else b.fptrunc(rounded_to_odd, like(llvm_type(target), x))

"""Atomics on CUDA: plain updates of own memory, reductions of shared addresses, hardware atomics elsewhere.

On a thread's own stack (where the hardware has none) and on its own element an update is plain. Updates
of shared addresses are collected in registers, see `reduce.py`. What is left are instructions of the
hardware, without an answer where nobody wants it; floats take their minimum and maximum by integer order,
8- and 16-bit elements by compare-and-swap of the word around them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call, Function
from ...ops.values import from_memory, into_memory, memory_type, register_bits
from ...passes.analysis.atomics import AtomicPlan
from ...types import scalars
from ...types.arrays import ValueType
from ...types.compounds import scalar_of
from ..layout import BYTES, I32, I64
from ..target import Options, Target
from .reduce import Accumulators

GLOBAL = 1  # address space
BITWISE = ("and", "or", "xor")


def _has_reduction(kind: str, t: type) -> bool:
    """Whether the hardware updates numbers of this type without returning what was there."""
    if scalars.bits(t) < 32:
        return False
    return kind in ("add", "sub") or (not scalars.is_float(t) and kind in ("min", "max", *BITWISE))


def _is_signed(kind: str, t: type) -> bool:
    return kind in ("min", "max") and scalars.is_signed(t)


class CudaAtomics(Target):
    """What a target needs for atomics; `accumulators` must be opened before the loop over threads, and closed."""

    def __init__(self, fn: Function, ndim: int, options: Options, plan: AtomicPlan):
        super().__init__(fn, ndim, options, plan)
        self.accumulators = Accumulators(self)

    def atomic(
        self, kind: str, address: ll.Value, element: ValueType, operands: list[list[Any]], call: Call
    ) -> list[Any]:
        t = scalar_of(element)
        if call in self.accumulators.registers:
            self.accumulators.take(kind, t, operands[0], call)
            return operands[0]
        parts = list(zip(*operands, strict=True))
        pointers = self.component_pointers(address, t, len(parts))
        if call in self.plan.local or call in self.plan.injective:
            update = self.update
        elif self.is_used(call.results[0]) or not _has_reduction(kind, t):
            update = self.exchange
        else:
            update = self.reduce
        return [update(kind, pointer, t, x) for pointer, x in zip(pointers, parts, strict=True)]

    def component_pointers(self, address: ll.Value, t: type, count: int) -> list[Any]:
        size = scalars.bits(t) // 8
        b, kind = self.builder, memory_type(t).as_pointer()
        return [b.bitcast(b.gep(address, [ll.Constant(I64, k * size)]) if k else address, kind) for k in range(count)]

    def reduce(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """The update that returns nothing, so that no thread waits for it; NVVM has it as assembly alone."""
        b, x = self.builder, parts[0]
        if kind == "sub":
            kind, x = "add", b.fsub(ll.Constant(x.type, -0.0), x) if scalars.is_float(t) else b.neg(x)
        letter = "f" if scalars.is_float(t) else "b" if kind in BITWISE else "s" if _is_signed(kind, t) else "u"
        place = b.addrspacecast(pointer, pointer.type.pointee.as_pointer(GLOBAL))
        operand = {"i32": "r", "i64": "l", "float": "f", "double": "d"}[str(x.type)]
        text = f"red.global.{kind}.{letter}{scalars.bits(t)} [$0], $1;"
        signature = ll.FunctionType(ll.VoidType(), [place.type, x.type])
        b.asm(signature, text, f"l,{operand},~{{memory}}", [place, x], side_effect=True)
        return x

    def exchange(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """The atomic update of one component; returns the value before."""
        if scalars.bits(t) < 32:
            return self.exchange_in_word(kind, pointer, t, parts)
        if scalars.is_float(t):
            return self.exchange_float(kind, pointer, t, parts)
        b = self.builder
        if kind == "cas":
            return b.extract_value(b.cmpxchg(pointer, *parts, "monotonic", "monotonic"), 0)
        name = {"exch": "xchg"}.get(kind, kind)
        name = f"u{name}" if kind in ("min", "max") and not scalars.is_signed(t) else name
        return b.atomic_rmw(name, pointer, parts[0], "monotonic")

    def exchange_float(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        b, x, bits = self.builder, parts[0], scalars.bits(t)
        if kind in ("add", "sub"):
            share = x if kind == "add" else b.fsub(ll.Constant(x.type, -0.0), x)
            add = self.external(
                f"llvm.nvvm.atomic.load.add.f{bits}.p0f{bits}", ll.FunctionType(x.type, [pointer.type, x.type])
            )
            return b.call(add, [pointer, share])
        word = ll.IntType(bits)
        place = b.bitcast(pointer, word.as_pointer())
        if kind in ("min", "max"):
            return b.bitcast(self.extreme_float(kind, place, x), x.type)
        integer = scalars.int32 if bits == 32 else scalars.int64
        return b.bitcast(self.exchange(kind, place, integer, tuple(b.bitcast(p, word) for p in parts)), x.type)

    def extreme_float(self, kind: str, place: ll.Value, x: ll.Value) -> Any:
        """Minimum or maximum; a NaN loses against every number, and -0 is less than +0.

        The atomic on bits may leave a NaN in place; then that very NaN is swapped for `x`, or, when
        another thread was faster, all begins again.
        """
        b, word = self.builder, place.type.pointee
        value = b.bitcast(x, word)
        names = ("skip", "attempt", "rescue", "ordered")
        skip, attempt, rescue, done = (b.append_basic_block(name) for name in names)
        b.cbranch(b.fcmp_unordered("uno", x, x), skip, attempt)
        b.position_at_end(skip)
        unchanged = b.atomic_rmw("or", place, ll.Constant(word, 0), "monotonic")
        b.branch(done)
        b.position_at_end(attempt)
        old = self.extreme_of_bits(kind, place, value)
        tried, number = b.block, b.bitcast(old, x.type)
        stays = b.select(
            b.icmp_signed("<", value, ll.Constant(word, 0)),
            b.icmp_unsigned(">" if kind == "min" else "<", old, value),
            b.icmp_signed("<" if kind == "min" else ">", old, value),
        )
        b.cbranch(b.and_(b.fcmp_unordered("uno", number, number), stays), rescue, done)
        b.position_at_end(rescue)
        pair = b.cmpxchg(place, old, value, "monotonic", "monotonic")
        b.cbranch(b.extract_value(pair, 1), done, attempt)
        b.position_at_end(done)
        before = b.phi(word)
        for bits, block in ((unchanged, skip), (old, tried), (old, rescue)):
            before.add_incoming(bits, block)
        return before

    def extreme_of_bits(self, kind: str, place: ll.Value, value: ll.Value) -> Any:
        """The atomic on the bits of a float, which is right where memory holds a number too.

        The bits of non-negative floats order as signed integers do, those of negative floats the other
        way round as unsigned ones, and in both readings the other sign stands on the right side.
        """
        b, word = self.builder, value.type
        with b.if_else(b.icmp_signed("<", value, ll.Constant(word, 0))) as (negative, positive):
            with negative:
                first = b.atomic_rmw("umax" if kind == "min" else "umin", place, value, "monotonic"), b.block
            with positive:
                second = b.atomic_rmw(kind, place, value, "monotonic"), b.block
        old = b.phi(word)
        for bits, block in (first, second):
            old.add_incoming(bits, block)
        return old

    def combine(self, kind: str, t: type, old: ll.Value, parts: tuple[ll.Value, ...]) -> Any:
        """As on every target, but floats follow the rules of the atomics above."""
        b, x = self.builder, parts[0]
        if not scalars.is_float(t) or kind not in ("min", "max", "cas"):
            return super().combine(kind, t, old, parts)
        bits = [b.bitcast(v, ll.IntType(register_bits(t))) for v in (x, old)]
        if kind == "cas":
            return b.select(b.icmp_unsigned("==", *bits), parts[1], old)
        symbol = "<" if kind == "min" else ">"
        signs = b.and_(b.fcmp_ordered("==", x, old), b.icmp_signed(symbol, *bits))
        rescue = b.and_(b.fcmp_ordered("ord", x, x), b.fcmp_unordered("uno", old, old))
        return b.select(b.or_(b.fcmp_ordered(symbol, x, old), b.or_(signs, rescue)), x, old)

    def exchange_in_word(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """8 and 16 bits: swap the aligned 32-bit word around the element until nobody came between."""
        b, narrow = self.builder, ll.IntType(scalars.bits(t))
        offset = b.and_(b.ptrtoint(pointer, I64), ll.Constant(I64, 3))
        shift = b.trunc(b.shl(offset, ll.Constant(I64, 3)), I32)
        start = b.gep(b.bitcast(pointer, BYTES), [b.neg(offset)])
        place = b.bitcast(start, I32.as_pointer())
        others = b.not_(b.shl(ll.Constant(I32, (1 << narrow.width) - 1), shift))
        guess, before = b.load(place), b.block
        attempt, done = b.append_basic_block("attempt"), b.append_basic_block("swapped")
        b.branch(attempt)
        b.position_at_end(attempt)
        seen = b.phi(I32)
        seen.add_incoming(guess, before)
        old = from_memory(b, b.bitcast(b.trunc(b.lshr(seen, shift), narrow), memory_type(t)), t)
        new = b.zext(b.bitcast(into_memory(b, self.combine(kind, t, old, parts), t), narrow), I32)
        desired = b.or_(b.and_(seen, others), b.shl(new, shift))
        pair = b.cmpxchg(place, seen, desired, "monotonic", "monotonic")
        seen.add_incoming(b.extract_value(pair, 0), b.block)
        b.cbranch(b.extract_value(pair, 1), done, attempt)
        b.position_at_end(done)
        return old

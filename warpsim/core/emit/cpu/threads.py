"""The loop over the threads of a CPU kernel: rows of the last launch dimension, in order, so that LLVM can vectorise.

Where an index counts from the end for some threads of a row and not for others, as `u[i - 1]` does, those others get
a loop of their own without the question, see `passes/analysis/splitting`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call, Function, Value
from ...ops.construct import field_range
from ...passes.analysis.affine import AffineForms
from ...passes.analysis.alias import BaseArray
from ...passes.analysis.atomics import AtomicPlan
from ...passes.analysis.lanes import LanePlan
from ...passes.analysis.splitting import affine_indices, row_tests
from ...types import structs
from ...types.arrays import ArrayType
from ..layout import BLOCK_WORD, I1, I32, I64, WORD
from ..target import Options, Target
from .lanes import Lanes
from .loop_hints import not_vectorized


class ThreadLoops(Target):
    """Emits the loops around the body; `block` is the argument block."""

    block: Any

    def __init__(self, fn: Function, ndim: int, options: Options, plan: AtomicPlan):
        super().__init__(fn, ndim, options, plan)
        affine = {} if options.verify or not ndim else affine_indices(fn, plan)
        self.split = {at: index for at, index in affine.items() if index.factor}
        self.same_in_row = affine.keys() - self.split.keys()
        self.tests = {} if options.verify or not ndim else row_tests(fn, plan)
        self.affine = AffineForms(plan.definitions, exact=True)
        self.lanes: LanePlan | None = None
        """How strips of threads run as lanes of vectors, where they do."""
        self.width = 0
        """Lanes of a strip."""
        self.apart: Any = None
        """Whether arrays lie apart that lanes need so: known when the launch is."""
        self.in_strip = False
        self.place: Any = None
        """The address of the element that is being accessed, where that is known before."""
        self.forward = False
        """Whether the threads are emitted whose indices in `split` are not negative."""

    def range_loop(self, begin: ll.Value, end: ll.Value, outer: list[Any]) -> None:
        """Run the body for the last index from `begin` up to `end`; both are 64-bit.

        Where some threads of the range count from the end, the others have a loop of their own, see `splitting`.
        """
        if not self.split and not self.tests:
            self.thread_loop(begin, end, outer)
            return
        forward = self.counting_forward(begin, end, outer)
        for k, (start, stop) in enumerate(pairwise((begin, *forward, end))):
            self.forward = k == 1
            self.thread_loop(start, stop, outer)

    def counting_forward(self, begin: ll.Value, end: ll.Value, outer: list[Any]) -> tuple[Any, Any]:
        """From and up to which thread of a range no index is negative, and tests say what they mostly do."""
        b, zero, one = self.builder, ll.Constant(I64, 0), ll.Constant(I64, 1)
        self.indices = [*outer, ll.Constant(I32, 0)]
        first, last = begin, end
        for affine in dict.fromkeys([*self.split.values(), *(test.room for test in self.tests.values())]):
            fixed: Any = ll.Constant(I64, affine.constant)
            for value, factor in affine.terms:
                term = self.as_index(self.again(value)[0], value.type)
                fixed = b.add(fixed, b.mul(term, ll.Constant(I64, factor)))
            step = ll.Constant(I64, abs(affine.factor))
            if affine.factor > 0:
                above = b.sdiv(b.sub(b.add(step, ll.Constant(I64, -1)), fixed), step)
                first = b.select(b.icmp_signed(">", above, first), above, first)
            elif not affine.factor:
                last = b.select(b.icmp_signed("<", fixed, zero), zero, last)
            else:
                below = b.select(b.icmp_signed("<", fixed, zero), zero, b.add(b.sdiv(fixed, step), one))
                last = b.select(b.icmp_signed("<", below, last), below, last)
        first = b.select(b.icmp_signed("<", first, end), first, end)
        return first, b.select(b.icmp_signed(">", last, first), last, first)

    def value(self, call: Call, args: list[list[Any]]) -> Any:
        if self.forward and call in self.tests:
            return [ll.Constant(I1, self.tests[call].likely)]
        return super().value(call, args)

    def address(self, t: ArrayType, flat: list[Any], indices: list[Any], types: list[Any], call: Call) -> Any:
        return super().address(t, flat, indices, types, call) if self.place is None else self.place

    def counts_back(self, call: Call, k: int) -> bool:
        return super().counts_back(call, k) and not (self.forward and (call, k) in self.split)

    def wide_index(self, i: ll.Value, t: type, value: Value) -> Any:
        """A thread's last index and a constant are added up in 64 bits, where nothing overflows.

        In 32 bits LLVM must ask at run time whether `j - 1` does. It asks as of numbers without a sign if a branch
        says that there is none, finds that 0 - 1 does, and leaves its vectors.
        """
        form = self.affine.of(value)
        if self.in_strip or not form.constant or form.terms != {(("tid", self.ndim - 1), 1)}:
            return super().wide_index(i, t, value)
        b = self.builder
        return b.add(b.sext(self.indices[-1], I64), ll.Constant(I64, form.constant), flags=("nsw",))

    def is_steady(self, call: Call, k: int) -> bool:
        return self.in_strip or super().is_steady(call, k) or (call, k) in self.same_in_row

    def thread_loop(self, begin: ll.Value, end: ll.Value, outer: list[Any]) -> None:
        b = self.builder
        before = b.block
        # A kernel that does not ask for its index may have more threads than an extent can count.
        kind = I64 if self.ndim == 0 else I32
        first, last = b.trunc(begin, kind), b.trunc(end, kind)
        if self.lanes is not None and (self.forward or not self.split):
            first, before = self.strip_loop(first, last, outer), b.block
        head, body, done = (b.append_basic_block(n) for n in ("threads", "thread", "finished"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(kind, "tid")
        i.add_incoming(first, before)
        b.cbranch(b.icmp_signed("<", i, last), body, done)
        b.position_at_end(body)
        self.indices = [*outer, i]
        self.lowering.region(self.fn.body)
        # Signed overflow cannot happen: i < last, and every extent is below 2**31.
        i.add_incoming(b.add(i, ll.Constant(kind, 1), flags=("nsw", "nuw")), b.block)
        jump = b.branch(head)
        if (self.split or self.tests) and not self.forward:
            jump.set_metadata("llvm.loop", not_vectorized(b.module))
        b.position_at_end(done)

    def strip_loop(self, first: ll.Value, last: ll.Value, outer: list[Any]) -> Any:
        """Run strips of threads as lanes of vectors, while whole ones are left; gives the first thread of the rest."""
        assert self.lanes is not None
        b, before, width = self.builder, self.builder.block, ll.Constant(first.type, self.width)
        head, body, done = (b.append_basic_block(n) for n in ("strips", "strip", "rest"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(first.type, "first")
        i.add_incoming(first, before)
        b.cbranch(b.and_(self.apart, b.icmp_signed(">=", b.sub(last, i), width)), body, done)
        b.position_at_end(body)
        self.packs, packs, self.in_strip = False, self.packs, True
        Lanes(self, self.lanes, self.width, outer, i).strip(self.fn.body)
        self.packs, self.in_strip = packs, False
        i.add_incoming(b.add(i, width, flags=("nsw", "nuw")), b.block)
        b.branch(head)
        b.position_at_end(done)
        return i

    def are_apart(self) -> Any:
        """Whether the arrays lie apart that lanes need so."""
        assert self.lanes is not None
        spans = {base: self.span(base) for pair in self.lanes.apart for base in pair}
        b, apart = self.builder, ll.Constant(I1, 1)
        for one, other in self.lanes.apart:
            (low, high), (start, stop) = spans[one], spans[other]
            before, behind = b.icmp_unsigned("<=", high, start), b.icmp_unsigned("<=", stop, low)
            apart = b.and_(apart, b.or_(before, behind))
        return apart

    def span(self, base: BaseArray) -> tuple[Any, Any]:
        """The addresses from the first byte of an array to behind its last one."""
        b, t, flat = self.builder, base.holder.type, self.lowering.get(base.holder)
        for name in base.path:
            start, stop = field_range(t, name)
            t, flat = t.fields[name], flat[start:stop]
        low = b.ptrtoint(flat[1 if base.is_grad else 0], I64)
        high = b.add(low, ll.Constant(I64, structs.numpy_dtype(t.dtype).itemsize))
        zero, one = ll.Constant(I64, 0), ll.Constant(I64, 1)
        for extent, stride in zip(flat[2 : 2 + t.ndim], flat[2 + t.ndim : 2 + 2 * t.ndim], strict=True):
            way = b.mul(b.sub(extent, one), stride)
            down = b.icmp_signed("<", way, zero)
            low = b.add(low, b.select(down, way, zero))
            high = b.add(high, b.select(down, zero, way))
        return low, high

    def row_loop(self, begin: ll.Value, end: ll.Value) -> None:
        """Cut a linear range into row segments of the last dimension and run each."""
        b = self.builder
        before = b.block
        extents = [self.header_word(1 + k) for k in range(self.ndim)]
        head, body, done = (b.append_basic_block(n) for n in ("rows", "row", "no_rows"))
        b.branch(head)
        b.position_at_end(head)
        at = b.phi(I64, "at")
        at.add_incoming(begin, before)
        b.cbranch(b.icmp_signed("<", at, end), body, done)
        b.position_at_end(body)
        width = extents[-1]
        row, column = b.udiv(at, width), b.urem(at, width)
        left = b.add(column, b.sub(end, at))
        stop = b.select(b.icmp_signed("<", left, width), left, width)
        outer: list[Any] = []
        for extent in reversed(extents[1:-1]):
            outer.insert(0, b.trunc(b.urem(row, extent), I32))
            row = b.udiv(row, extent)
        outer.insert(0, b.trunc(row, I32))
        self.range_loop(column, stop, outer)
        at.add_incoming(b.add(at, b.sub(stop, column)), b.block)
        b.branch(head)
        b.position_at_end(done)

    def header_word(self, k: int) -> Any:
        b = self.builder
        return b.load(b.bitcast(b.gep(self.block, [ll.Constant(I64, k * WORD)]), I64.as_pointer()))

    def thread_index(self, ndim: int) -> list[Any]:
        return self.indices

    def block_dim(self) -> Any:
        return self.builder.trunc(self.header_word(BLOCK_WORD), I32)

    def linear_index(self) -> Any:
        b = self.builder
        if not hasattr(self, "indices"):
            return ll.Constant(I64, 0)
        position = b.sext(self.indices[0], I64)
        for k, i in enumerate(self.indices[1:], 1):
            position = b.add(b.mul(position, self.header_word(1 + k)), b.sext(i, I64))
        return position

"""Block reductions on CUDA: updates of one shared address in registers, then by warps and blocks, then one atomic.

An atomic that always hits an address all threads agree on would make every thread wait for every other.
Here each thread combines what it has over all the threads of the launch that it runs; after its loop, lanes
of a warp are combined by shuffles, warps through shared memory, and the first thread of the block updates
memory. Blocks in which no thread executed the atomic touch nothing. All threads of a block come here,
those that had nothing to do or failed a check too: the body has no other exit.

What combines a block are functions of the module whose names begin with `BLOCK`. Each takes a thread's own
part, and what it returns counts in the first thread alone; on a machine that runs threads one by one,
the part itself is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call
from ...ops.values import llvm_type
from ...types import scalars
from ...types.compounds import scalar_of
from .. import layout
from ..layout import I1, I32, I64

BLOCK = "warpsim_block_"

_WARP = 32  # lanes; and warps of the largest block
_SHARED = 3  # address space
_LEAST_BITS = 32  # narrower numbers have no atomic instruction, and in registers they would round more often


class Accumulators:
    """The registers of one kernel's shared updates: `open` before the loop over threads, `close` after it."""

    def __init__(self, target: Any):
        self.target = target
        self.registers: dict[Call, tuple[list[Any], Any]] = {}
        self.used = False
        """Whether the kernel has any, known once it is emitted."""

    def open(self) -> None:
        """A register for each component of each update, and one for whether this thread executed it."""
        if self.target.options.verify:
            return  # a bad index is reported by the thread that has it
        for call in self.target.plan.combined:
            element = call.args[0].type.dtype
            t = scalar_of(element)
            if scalars.bits(t) >= _LEAST_BITS:
                parts = [self.register(neutral(combination(call), t)) for _ in layout.register_types(element)]
                self.registers[call] = parts, self.register(ll.Constant(I1, 0))
        self.used = bool(self.registers)

    def register(self, first: ll.Value) -> Any:
        slot = self.target.stack(first.type, 1)
        self.target.builder.store(first, slot)
        return slot

    def take(self, kind: str, t: type, flat: list[Any], call: Call) -> None:
        """What the atomic does instead of updating memory."""
        b, (slots, touched) = self.target.builder, self.registers[call]
        for slot, x in zip(slots, flat, strict=True):
            b.store(self.target.combine(kind, t, b.load(slot), (x,)), slot)
        b.store(ll.Constant(I1, 1), touched)

    def close(self) -> None:
        """Combine the block's registers and update memory."""
        b, target = self.target.builder, self.target
        registers, self.registers = self.registers, {}
        for call, (slots, touched) in registers.items():
            kind, t = combination(call), scalar_of(call.args[0].type.dtype)
            elected = b.call(leads(target), [b.load(touched)])
            totals = [b.call(combines(target, kind, t), [b.load(slot)]) for slot in slots]
            with b.if_then(elected):
                target.flush(kind, totals, call)


def combination(call: Call) -> str:
    """How what threads have is combined: differences are sums of what they subtract, negated."""
    kind = str(call.op.name).removeprefix("atomic_")
    return "add" if kind == "sub" else kind


def neutral(kind: str, t: type) -> ll.Constant:
    """What changes nothing: for sums of floats -0, as -0 + 0 = 0; for their extremes NaN, which loses always."""
    if scalars.is_float(t):
        return ll.Constant(llvm_type(t), -0.0 if kind == "add" else float("nan"))
    bits, signed = scalars.bits(t), scalars.is_signed(t)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return ll.Constant(llvm_type(t), {"add": 0, "min": most, "max": least}[kind])


# ----- functions of the module --------------------------------------------------------------


def leads(target: Any) -> Any:
    """(executed) -> whether this is the first thread of a block in which any thread executed the update."""
    name = f"{BLOCK}leads"
    if (function := target.builder.module.globals.get(name)) is None:
        with _function(target, name, I1) as function:
            b = target.builder
            vote = target.external("llvm.nvvm.barrier0.or", ll.FunctionType(I32, [I32]))
            anyone = b.icmp_signed("!=", b.call(vote, [b.zext(function.args[0], I32)]), ll.Constant(I32, 0))
            first = b.icmp_unsigned("==", target.register("tid.x"), ll.Constant(I32, 0))
            b.ret(b.and_(anyone, first))
    return function


def combines(target: Any, kind: str, t: type) -> Any:
    """(a thread's own) -> the block's, in its first thread."""
    name = f"{BLOCK}{kind}_{t.__name__}"
    if (function := target.builder.module.globals.get(name)) is None:
        with _function(target, name, llvm_type(t)) as function:
            _combine_block(target, kind, t, function.args[0])
    return function


@contextmanager
def _function(target: Any, name: str, t: ll.Type) -> Iterator[Any]:
    """Emit a function from t to t. Such functions hold barriers, so calls must stay where all threads make them."""
    function = ll.Function(target.builder.module, ll.FunctionType(t, [t]), name)
    function.linkage = "internal"
    set.add(function.attributes, "convergent")  # llvmlite's own list lacks it
    outer, target.builder = target.builder, ll.IRBuilder(function.append_basic_block("entry"))
    yield function
    target.builder = outer


def _combine_block(target: Any, kind: str, t: type, x: ll.Value) -> None:
    """Lanes of each warp, then the warps in the first of them. The second barrier frees the memory for the next."""
    b = target.builder
    width = ll.Constant(I32, _WARP)
    thread, threads = target.register("tid.x"), target.register("ntid.x")
    lane, warp = b.urem(thread, width), b.udiv(thread, width)
    left = b.sub(threads, b.mul(warp, width))
    lanes = b.select(b.icmp_unsigned("<", left, width), left, width)
    barrier = target.external("llvm.nvvm.barrier0", ll.FunctionType(ll.VoidType(), []))
    x = _combine_warp(target, kind, t, x, lane, lanes)
    with b.if_then(b.icmp_unsigned("==", lane, ll.Constant(I32, 0))):
        b.store(x, _shared_slot(target, t, warp))
    b.call(barrier, [])
    before = b.block
    with b.if_then(b.icmp_unsigned("==", warp, ll.Constant(I32, 0))):
        warps = b.udiv(b.add(threads, ll.Constant(I32, _WARP - 1)), width)
        part = b.load(_shared_slot(target, t, lane))
        part = b.select(b.icmp_unsigned("<", lane, warps), part, neutral(kind, t))
        total, inside = _combine_warp(target, kind, t, part, lane, lanes), b.block
    result = b.phi(x.type)
    result.add_incoming(x, before)
    result.add_incoming(total, inside)
    b.call(barrier, [])
    b.ret(result)


def _combine_warp(target: Any, kind: str, t: type, x: ll.Value, lane: ll.Value, lanes: ll.Value) -> Any:
    """What the first `lanes` lanes of a warp have, in lane 0: half as many after each of five rounds."""
    b = target.builder
    distance = _WARP // 2
    while distance:
        step = ll.Constant(I32, distance)
        other = _from_lane_above(target, x, step)
        there = b.icmp_unsigned("<", b.add(lane, step), lanes)
        x = b.select(there, target.combine(kind, t, x, (other,)), x)
        distance //= 2
    return x


def _from_lane_above(target: Any, x: ll.Value, step: ll.Value) -> Any:
    """The value that the lane `step` further has; shuffles move 32 bits. All lanes that exist take part."""
    b, mask = target.builder, ll.Constant(I32, -1)
    shuffle = target.external("llvm.nvvm.shfl.sync.down.i32", ll.FunctionType(I32, [I32] * 4))
    last = ll.Constant(I32, _WARP - 1)
    bits = 64 if x.type in (I64, ll.DoubleType()) else 32
    word = b.bitcast(x, ll.IntType(bits))
    if bits == 32:
        return b.bitcast(b.call(shuffle, [mask, word, step, last]), x.type)
    half = ll.Constant(I64, 32)
    parts = [b.trunc(word, I32), b.trunc(b.lshr(word, half), I32)]
    low, high = (b.zext(b.call(shuffle, [mask, part, step, last]), I64) for part in parts)
    return b.bitcast(b.or_(low, b.shl(high, half)), x.type)


def _shared_slot(target: Any, t: type, k: ll.Value) -> Any:
    """CallSite `k` of a block's shared memory, one for each warp."""
    b, name = target.builder, "warpsim_shared"
    memory = b.module.globals.get(name)
    if memory is None:
        memory = ll.GlobalVariable(b.module, ll.ArrayType(I64, _WARP), name, addrspace=_SHARED)
        memory.linkage, memory.initializer = "internal", ll.Constant(memory.value_type, ll.Undefined)
    place = b.gep(memory, [ll.Constant(I32, 0), k])
    return b.bitcast(place, llvm_type(t).as_pointer(_SHARED))

"""The CUDA target: a grid-stride loop over threads around the body, in LLVM code for NVVM.

The thread at place i of the grid runs threads i, i + size of the grid, and so on, so any grid covers
any launch. The argument block arrives as a value; no launch copies it anywhere. What differs from the CPU:

- mathematics calls libdevice (`__nv_sinf`); half precision computes in single;
- atomics are plain, combined or real, see `atomics.py`;
- a failed check writes the report and ends its own thread; others run on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ....errors import Location
from ...ir.nodes import Call, Function
from ...ops.values import from_memory, llvm_type, memory_type
from ...passes.analysis.atomics import AtomicPlan
from ...types import scalars, structs
from ...types.arrays import ValueType
from ...types.handles import ADDRESS_BITS, HEADER, digest
from .. import layout
from ..layout import BYTES, I8, I32, I64, WORD
from ..lower import FunctionCalls, Lowering
from ..target import Options, Site
from .atomics import GLOBAL, CudaAtomics

MAX_PRINTED = 32  # arguments that vprintf reads

# What the hardware approximates in single precision, when fast mathematics is asked for.
_FAST = {"sin", "cos", "tan", "exp", "log", "log2", "log10", "pow"}

I16 = ll.IntType(16)
_CONSTANT = 4  # address space


class _Builder(ll.IRBuilder):  # type: ignore[misc]  # llvmlite ships no types
    """Moves half precision through memory as 16-bit integers, bit for bit.

    NVVM's older dialect joins neighbouring accesses to the stack, and fails on eight joined halves.
    It sees through a bitcast, so a move that it does not understand stands before it.
    """

    def load(self, ptr: ll.Value, *args: Any, **keywords: Any) -> Any:
        if not isinstance(ptr.type.pointee, ll.HalfType):
            return super().load(ptr, *args, **keywords)
        return self.bitcast(self.move_bits(super().load(self.bitcast(ptr, I16.as_pointer()))), ll.HalfType())

    def store(self, value: ll.Value, ptr: ll.Value, align: int | None = None) -> Any:
        if isinstance(value.type, ll.HalfType):
            value, ptr = self.move_bits(self.bitcast(value, I16)), self.bitcast(ptr, I16.as_pointer())
        return super().store(value, ptr, align)

    def move_bits(self, bits: ll.Value) -> Any:
        return self.asm(ll.FunctionType(I16, [I16]), "mov.b16 $0, $1;", "=h,h", [bits], side_effect=False)


class CudaTarget(FunctionCalls, CudaAtomics):
    """Emits the grid-stride loop; op rows reach the builder and the helpers through it."""

    memset_name = "llvm.memset.p0i8.i64"  # NVVM's older dialect names the pointee

    def __init__(self, fn: Function, ndim: int, options: Options, plan: AtomicPlan):
        self.outer_location: Any = None
        super().__init__(fn, ndim, options, plan)

    def function(self, builder: ll.IRBuilder, words: ll.Value, count: ll.Value) -> None:
        """Emit everything at the builder; `words` is the argument block as an array of 64-bit words."""
        self.builder = _Builder(builder.block)
        self.builder.debug_metadata = self.outer_location = builder.debug_metadata
        self.words = words
        self.lowering = Lowering(self)
        self.lowering.env.update(self.parameters(words))
        self.accumulators.open()
        self.grid_loop(count)
        self.accumulators.close()
        builder.position_at_end(self.builder.block)

    @property
    def emits_functions(self) -> bool:
        return super().emits_functions and self.outer_location is None

    def builder_at(self, block: ll.Block) -> Any:
        return _Builder(block)

    def argument(self, block: ll.Value, t: ValueType, at: int) -> list[Any]:
        """Taken from the words of the argument block themselves: memory is not involved."""
        parts = zip(structs.leaves(t), layout.register_types(t), strict=True)
        return self.in_global_memory([self.scalar_argument(leaf, at + k, kind) for (leaf, k), kind in parts])

    def scalar_argument(self, t: type, at: int, kind: ll.Type) -> Any:
        b, size = self.builder, np.dtype(t).itemsize
        x = self.header_word(at // WORD)
        if isinstance(kind, ll.PointerType):
            return b.inttoptr(x, kind)
        if at % WORD:
            x = b.lshr(x, ll.Constant(I64, 8 * (at % WORD)))
        x = b.trunc(x, ll.IntType(8 * size)) if size < WORD else x
        return from_memory(b, b.bitcast(x, memory_type(t)), t)

    def load(self, address: ll.Value, t: ValueType) -> list[Any]:
        return self.in_global_memory(super().load(address, t))

    def in_global_memory(self, flat: list[Any]) -> list[Any]:
        """Pointers that were read from memory lead to global memory; saying so gives the direct instructions."""
        b, there = self.builder, ll.PointerType(I8, GLOBAL)
        known = [isinstance(x.type, ll.PointerType) for x in flat]
        return [b.addrspacecast(b.addrspacecast(x, there), BYTES) if k else x for x, k in zip(flat, known, strict=True)]

    def is_steady(self, call: Call, k: int) -> bool:
        """Whatever the index, threads of a warp choose rather than branch."""
        return True

    # ----- loops ----------------------------------------------------------------------------

    def next_round(self, head: ll.Block, outer: bool) -> None:
        """Only innermost loops may be unrolled: of a nest, as adjoints have it, NVVM makes megabytes in minutes."""
        jump = self.builder.branch(head)
        if outer:
            jump.set_metadata("llvm.loop", _not_unrolled(self.builder.module))

    # ----- threads --------------------------------------------------------------------------

    def grid_loop(self, count: ll.Value) -> None:
        b = self.builder
        wide = {name: b.zext(self.register(name), I64) for name in ("ctaid.x", "ntid.x", "tid.x", "nctaid.x")}
        first = b.add(b.mul(wide["ctaid.x"], wide["ntid.x"]), wide["tid.x"])
        stride = b.mul(wide["nctaid.x"], wide["ntid.x"])
        before = b.block
        head, body, self.next, done = (b.append_basic_block(n) for n in ("threads", "thread", "next", "finished"))
        b.branch(head)
        b.position_at_end(head)
        self.position = b.phi(I64, "position")
        self.position.add_incoming(first, before)
        b.cbranch(b.icmp_signed("<", self.position, count), body, done)
        b.position_at_end(body)
        self.indices = self.decode_index(self.position)
        self.lowering.region(self.fn.body)
        b.branch(self.next)
        b.position_at_end(self.next)
        self.position.add_incoming(b.add(self.position, stride), self.next)
        b.branch(head)
        b.position_at_end(done)

    def register(self, name: str) -> Any:
        """A special register of the thread."""
        read = self.external(f"llvm.nvvm.read.ptx.sreg.{name}", ll.FunctionType(I32, []))
        return self.builder.call(read, [])

    def decode_index(self, position: ll.Value) -> list[Any]:
        """The thread index of a place in the launch, last dimension fastest."""
        indices: list[ll.Value] = []
        b, rest = self.builder, position
        for k in range(self.ndim - 1, 0, -1):
            extent = self.header_word(1 + k)
            indices.insert(0, b.trunc(b.urem(rest, extent), I32))
            rest = b.udiv(rest, extent)
        return [b.trunc(rest, I32), *indices]

    def header_word(self, k: int) -> Any:
        """Word `k` of the argument block."""
        return self.builder.extract_value(self.words, k)

    def thread_index(self, ndim: int) -> list[Any]:
        return self.indices

    def block_dim(self) -> Any:
        return self.register("ntid.x")

    def stack(self, t: ll.Type, count: int) -> Any:
        with self.builder.goto_entry_block():
            return self.builder.alloca(t, count)

    @property
    def location(self) -> Location | None:
        """The user's source that is being emitted; where the kernel has a line table, new instructions carry it."""
        return self._location

    @location.setter
    def location(self, place: Location | None) -> None:
        self._location = place
        if place is None or self.outer_location is None:
            return
        module, path = self.builder.module, Path(place.file)
        scope = dict(self.outer_location.operands)["scope"]
        file = module.add_debug_info("DIFile", {"filename": path.name, "directory": str(path.parent)})
        inner = module.add_debug_info("DILexicalBlockFile", {"scope": scope, "file": file, "discriminator": 0})
        at = {"line": place.line, "column": place.column + 1, "scope": inner}
        self.builder.debug_metadata = module.add_debug_info("DILocation", at)

    # ----- structures -----------------------------------------------------------------------

    def structure(self, number: ll.Value, nothing: ll.Value, call: Call) -> Any:
        """An id holds the address of a record."""
        b, at = self.builder, self.builder.and_(number, ll.Constant(I64, (1 << ADDRESS_BITS) - 1))
        named = b.icmp_unsigned("!=", number, ll.Constant(I64, 0))
        record = b.select(named, b.inttoptr(at, BYTES), nothing)
        if self.options.verify:
            words = b.bitcast(record, I64.as_pointer())
            kind = b.load(b.gep(words, [ll.Constant(I64, 1)]))
            same = b.icmp_unsigned("==", kind, ll.Constant(I64, digest(call.attributes["to"])))
            self.check_id(b.and_(same, b.icmp_unsigned("==", b.load(words), number)), number, kind, call)
        return b.gep(record, [ll.Constant(I64, HEADER)])

    # ----- mathematics ----------------------------------------------------------------------

    def math(self, name: str, t: type, parts: tuple[ll.Value, ...]) -> Any:
        b, t = self.builder, scalars.register_type(t)
        if t is scalars.float16:
            wide = tuple(b.fpext(x, ll.FloatType()) for x in parts)
            return b.fptrunc(self.math(name, scalars.float32, wide), ll.HalfType())
        single = t is scalars.float32
        fast = "fast_" if single and self.options.fast_math and name in _FAST else ""
        kind = ll.FunctionType(llvm_type(t), [llvm_type(t)] * len(parts))
        return b.call(self.external(f"__nv_{fast}{name}{'f' if single else ''}", kind), parts)

    def float_to_int(self, x: ll.Value, source: type, target: type) -> Any:
        """Truncate, saturate at the limits, NaN becomes 0: the hardware's conversion but for some NaN."""
        b = self.builder
        if source is scalars.float16:
            return self.float_to_int(b.fpext(x, ll.FloatType()), scalars.float32, target)
        width, signed = max(32, scalars.bits(target)), scalars.is_signed(target)
        word = ll.IntType(width)
        kind = {(32, True): "int", (32, False): "uint", (64, True): "ll", (64, False): "ull"}[width, signed]
        stem = "float" if source is scalars.float32 else "double"
        number = b.call(self.external(f"__nv_{stem}2{kind}_rz", ll.FunctionType(word, [x.type])), [x])
        number = b.select(b.fcmp_unordered("uno", x, x), ll.Constant(word, 0), number)
        return number if scalars.bits(target) == width else b.trunc(self.clamp(number, target), llvm_type(target))

    def clamp(self, x: ll.Value, t: type) -> Any:
        """A 32-bit integer limited to the range of a narrower type."""
        b, signed = self.builder, scalars.is_signed(t)
        bits = scalars.bits(t) - signed
        less = b.icmp_signed if signed else b.icmp_unsigned
        high = ll.Constant(x.type, (1 << bits) - 1)
        x = b.select(less(">", x, high), high, x)
        low = ll.Constant(x.type, -(1 << bits) if signed else 0)
        return b.select(less("<", x, low), low, x)

    # ----- reports --------------------------------------------------------------------------

    def fail(self, failed: ll.Value, site: Site, index: ll.Value, extent: ll.Value) -> None:
        self.sites.append(site)
        b = self.builder
        with b.if_then(failed, likely=False):
            report = b.inttoptr(self.header_word(0), I64.as_pointer())
            claim = b.cmpxchg(report, ll.Constant(I64, 0), ll.Constant(I64, 1), "monotonic", "monotonic")
            with b.if_then(b.extract_value(claim, 1)):
                number = ll.Constant(I64, len(self.sites) - 1)
                for k, word in enumerate((number, index, extent, self.position), 1):
                    b.store(word, b.gep(report, [ll.Constant(I64, k)]))
            b.branch(self.next)
            b.position_at_end(b.append_basic_block("unreachable"))

    def printf(self, text: str, values: list[Any]) -> None:
        b, at = self.builder, 0
        fn = self.external("vprintf", ll.FunctionType(I32, [BYTES, BYTES]))
        for piece, count in _pieces(text, MAX_PRINTED):
            some = self.pack_arguments(piece, values[at : at + count])
            at += count
            room = self.stack(ll.LiteralStructType([x.type for x in some] or [I64]), 1)
            for k, x in enumerate(some):
                b.store(x, b.gep(room, [ll.Constant(I32, 0), ll.Constant(I32, k)]))
            b.call(fn, [self.text(piece), b.bitcast(room, BYTES)])

    def pack_arguments(self, piece: str, values: list[Any]) -> list[Any]:
        """Arguments in the widths that vprintf reads: a character takes 4 bytes, everything else 8."""
        letters = [letter for letter in _CONVERSION.findall(piece) if letter != "%"]
        pairs = zip(values, letters, strict=True)
        return [self.builder.trunc(x, I32) if letter == "c" else x for x, letter in pairs]

    def text(self, content: str) -> Any:
        """A constant zero-terminated string as a generic pointer."""
        b = self.builder
        data = bytearray(content.encode() + b"\0")
        kind = ll.ArrayType(I8, len(data))
        constant = ll.GlobalVariable(b.module, kind, b.module.get_unique_name("warpsim_text"), addrspace=_CONSTANT)
        constant.linkage, constant.global_constant, constant.initializer = "internal", True, ll.Constant(kind, data)
        return b.addrspacecast(b.bitcast(constant, ll.PointerType(I8, _CONSTANT)), BYTES)


_CONVERSION = re.compile(r"%[-+ #0-9.]*[hlLqjzt]*(.)")


def _pieces(text: str, limit: int) -> list[tuple[str, int]]:
    """A printf format cut where a piece would exceed `limit` conversions, with the count of each."""
    pieces = [("", 0)]
    for token in re.findall(r"%%|%|[^%]+", text):
        if token == "%" and pieces[-1][1] == limit:
            pieces.append(("", 0))
        so_far, count = pieces[-1]
        pieces[-1] = (so_far + token, count + (token == "%"))
    return pieces


def _not_unrolled(module: ll.Module) -> Any:
    """Metadata for the jump back of a loop; that it begins with itself makes it the loop's own."""
    wish = module.add_metadata(["llvm.loop.unroll.disable"])
    own = ll.values.MDValue(module, [], name=str(len(module.metadata)))
    own.operands = (own, wish)
    return own

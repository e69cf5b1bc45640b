"""CPU kernels: a loop over a range of threads around the body, as native object code.

    void kernel(const void *args, int64 begin, int64 end, int64 flags)

runs threads [begin, end) of the launch, in the standard floating-point mode and where its frame has room (`entry`).
Flag bit 0: several calls run at once, so atomics must be real, but those on the thread's own element; bit 1: arrays
that are only summed into are private to the call, so those sums need no atomics; bit 2: the same for arrays that are
only summed into at addresses shared by all threads. Calls run at once only on arrays that do not overlap. Rows of the
last launch dimension are the inner loop, so neighbouring threads touch neighbouring memory and LLVM can vectorise
across threads.

Atomic sums at an address that all threads share are kept in a register and added once at the end of
the range. A failed check writes the report and ends the range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from ...ir.nodes import Call, For, Function, If, While, count, walk, walk_all
from ...ops.lanes import like
from ...ops.native import unit_of
from ...ops.values import drop_unused_lanes, from_memory, into_memory, llvm_type, memory_type, register_bits
from ...passes.analysis.atomics import AtomicPlan
from ...passes.analysis.cost import estimate
from ...passes.analysis.lanes import lane_plan
from ...passes.analysis.large_compounds import large_types
from ...types import scalars
from ...types.arrays import ValueType
from ...types.compounds import scalar_of
from ...types.handles import ROW_BITS, TABLE_NAME, digest
from .. import layout
from ..layout import BYTES, CONCURRENT, GATHERED_PRIVATE, I1, I32, I64, SCATTERED_PRIVATE
from ..lower import FunctionCalls, Lowering
from ..native import native, snippets, stacks
from ..target import Options, Site
from .buffers import BufferedLowering
from .entry import BODY, entry_text
from .math import CpuMath
from .threads import ThreadLoops

KERNEL = "warpsim_kernel"
LARGEST_VECTORIZED = 1000  # nodes; measured: 0.15 s of vectoriser at 1,000, 0.5 s at 2,000, 3.1 s at 5,000
# Loops in a kernel up to which LLVM may unroll them. An adjoint has five for one of the kernel; measured on
# products and nests of loops, unrolling takes half of the compile time there and gains nothing.
MOST_UNROLLED = 3
# Branches up to which LLVM optimises. Its time grows with their square: measured on chains of `elif`, 5 s for 800
# tests, which are twice as many branches, and 22 s for 1,600; without optimisation 0.3 s.
MOST_BRANCHES = 2000
REPORT_WORDS = 5  # claimed, site, index, extent, thread


@dataclass(frozen=True)
class Artefact:
    """A kernel as LLVM text, and the places whose checks it may report.

    assembly: further arguments of `native.assemble`.
    """

    llvm: str
    sites: tuple[Site, ...]
    assembly: dict[str, Any]

    @property
    def code(self) -> bytes:
        """Object code for this machine, made anew each time: LLVM's work, which any thread may do."""
        return stacks.with_compiler_room(lambda: native.assemble(self.llvm, **self.assembly))


def emit(fn: Function, ndim: int, options: Options, plan: AtomicPlan) -> Artefact:
    """Translate a final program for LLVM, which compiles it when its code is asked for."""
    target = CpuTarget(fn, ndim, options, plan)
    text = target.llvm_text()
    nodes = [*walk_all(fn)]
    vectorize = target.lanes is None and len(nodes) <= LARGEST_VECTORIZED and estimate(fn).gains_from_vectors
    loops = sum(isinstance(n, For | While) for n in nodes)
    branches = sum(isinstance(n, If) for n in nodes)
    level = {} if branches <= MOST_BRANCHES else {"opt": 0}
    return Artefact(text, tuple(target.sites), {"vectorize": vectorize, "unroll": loops <= MOST_UNROLLED, **level})


class CpuTarget(FunctionCalls, ThreadLoops, CpuMath):
    """Emits the range function; op rows reach the builder and the helpers through it.

    LLVM cannot vectorise across threads where a thread has a `while` loop. There the components of compounds are
    computed in vector registers instead.
    """

    # Zeros stored to a wide element, as adjoints do, must not become a call: it would stop the vectoriser.
    function_attributes = ("noinline", '"no-builtin-memset"')

    def __init__(self, fn: Function, ndim: int, options: Options, plan: AtomicPlan):
        super().__init__(fn, ndim, options, plan)
        self.packs = any(isinstance(n, While) for n in walk_all(fn))
        if options.lanes != "off" and ndim and not options.verify and count(fn.body) <= LARGEST_VECTORIZED:
            self.width = native.lanes()
            plan_of_lanes = lane_plan(fn, plan, self.width)
            self.lanes = plan_of_lanes if plan_of_lanes and (options.lanes == "always" or plan_of_lanes.pays) else None
        if self.lanes is not None:
            self.tests = {}  # lanes have masks of their own

    def llvm_text(self) -> str:
        """LLVM text of the kernel with its entry."""
        module = str(self.module())
        return module + entry_text(KERNEL, self.frame)

    def module(self) -> ll.Module:
        module = ll.Module("warpsim")
        kind = ll.FunctionType(ll.VoidType(), [BYTES, I64, I64, I64])
        self.function = ll.Function(module, kind, BODY)
        self.function.args[0].add_attribute("noalias")
        set.update(self.function.attributes, self.function_attributes)
        block, begin, end, flags = self.function.args
        entry = self.function.append_basic_block("entry")
        self.builder = ll.IRBuilder(entry)
        self.accumulators: dict[Call, tuple[list[Any], Any]] = {}
        b = self.builder
        kinds = (CONCURRENT, SCATTERED_PRIVATE, GATHERED_PRIVATE)
        bits = (b.and_(flags, ll.Constant(I64, flag)) for flag in kinds)
        self.concurrent, *private = (b.icmp_unsigned("!=", bit, ll.Constant(I64, 0)) for bit in bits)
        self.scattered, self.gathered = (b.and_(self.concurrent, b.not_(bit)) for bit in private)
        self.block = block
        large = large_types(self.fn)
        self.lowering = BufferedLowering(self, self.fn.body, large) if large else Lowering(self)
        self.lowering.env.update(self.parameters(block))
        self.open_accumulators()
        self.apart = self.are_apart() if self.lanes is not None else None
        start = b.append_basic_block("start")
        self.leave = b.append_basic_block("leave")
        b.position_at_end(start)
        if self.ndim <= 1:
            self.range_loop(begin, end, [])
        else:
            self.row_loop(begin, end)
        b.branch(self.leave)
        b.position_at_end(entry)
        b.branch(start)
        b.position_at_end(self.leave)
        with b.if_then(b.icmp_signed("<", begin, end)):
            self.close_accumulators()
        self.end()
        self.list_kept()
        drop_unused_lanes(self.function)
        return module

    def end(self) -> None:
        """Return; what threads printed is shown before the launch ends, wherever the output goes."""
        if any(isinstance(n, Call) and n.op.name == "printf" for n in walk(self.fn.body)):
            flush = self.external("fflush", ll.FunctionType(I32, [BYTES]))
            self.builder.call(flush, [ll.Constant(BYTES, None)])
        self.builder.ret_void()

    # ----- memory ---------------------------------------------------------------------------

    def stack(self, t: ll.Type, count: int) -> Any:
        b = self.builder
        self.frame += layout.stack_bytes(t) * count
        with b.goto_entry_block():
            return b.alloca(t, count)

    def nothing(self, words: int) -> Any:
        """The address of zeros that nobody changes."""
        module, name = self.builder.module, f"zeros_{words}"
        if name not in module.globals:
            kind = ll.ArrayType(I64, words)
            zeros = ll.GlobalVariable(module, kind, name)
            zeros.linkage, zeros.global_constant, zeros.initializer = "internal", True, ll.Constant(kind, None)
        return self.builder.bitcast(module.globals[name], BYTES)

    def float_to_int(self, x: ll.Value, source: type, target: type) -> Any:
        """As LLVM's saturating conversion, which loops over doubles do not vectorise: there the limits are doubles too.

        Of 16 bits it makes the lowest number of NaN where the processor has arithmetic of 16 bits (LLVM 22).
        """
        if source is scalars.float16:
            return self.float_to_int(self.builder.fpext(x, like(ll.FloatType(), x)), scalars.float32, target)
        if source is not scalars.float64 or target is not scalars.int32:
            return super().float_to_int(x, source, target)
        b, t = self.builder, x.type
        least, most = ll.Constant(t, -(2.0**31)), ll.Constant(t, 2.0**31 - 1.0)
        number = b.select(b.fcmp_unordered("uno", x, x), ll.Constant(t, 0.0), x)
        above = b.select(b.fcmp_ordered(">", number, least), number, least)
        return b.fptosi(b.select(b.fcmp_ordered("<", above, most), above, most), like(I32, x))

    # ----- structures -----------------------------------------------------------------------

    def structure(self, number: ll.Value, nothing: ll.Value, call: Call) -> Any:
        """An id is looked up in the table of structures: a number that is none stands for nothing."""
        b, module = self.builder, self.builder.module
        table = module.globals.get(TABLE_NAME) or ll.GlobalVariable(module, ll.ArrayType(I64, 4), TABLE_NAME)
        row = b.and_(number, ll.Constant(I64, (1 << ROW_BITS) - 1))
        id, kind, address = (
            layout.load_word(b, b.gep(table, [row, ll.Constant(I64, k)]), constant=True) for k in range(3)
        )
        same = b.icmp_unsigned("==", kind, ll.Constant(I64, digest(call.attributes["to"])))
        known = b.and_(same, b.icmp_unsigned("==", id, number))
        self.check_id(known, number, kind, call)
        return b.select(known, b.inttoptr(address, BYTES), nothing)

    # ----- atomics --------------------------------------------------------------------------

    def atomic(
        self, kind: str, address: ll.Value, element: ValueType, operands: list[list[Any]], call: Call
    ) -> list[Any]:
        """A plain update where this launch runs on one thread, else atomic instructions: one branch for all."""
        t = scalar_of(element)
        if call in self.accumulators:
            self.accumulate(kind, t, operands[0], call)
            return operands[0]
        parts = list(zip(*operands, strict=True))
        pointers = self.component_pointers(address, t, len(parts))
        if call in self.plan.local or call in self.plan.injective:
            return [self.update(kind, p, t, x) for p, x in zip(pointers, parts, strict=True)]
        b = self.builder
        with b.if_else(self.needs_atomic(call), likely=False) as (shared, alone):
            with shared:
                atomic = [self.exchange(kind, p, t, x) for p, x in zip(pointers, parts, strict=True)]
                after_shared = b.block
            with alone:
                plain = [self.update(kind, p, t, x) for p, x in zip(pointers, parts, strict=True)]
                after_alone = b.block
        if not self.is_used(call.results[0]):
            return plain
        arms = zip(atomic, plain, strict=True)
        return [self.lowering.merge(llvm_type(t), [(x, after_shared), (y, after_alone)]) for x, y in arms]

    def component_pointers(self, address: ll.Value, t: type, count: int) -> list[Any]:
        size = scalars.bits(t) // 8
        b, kind = self.builder, memory_type(t).as_pointer()
        return [b.bitcast(b.gep(address, [ll.Constant(I64, k * size)]) if k else address, kind) for k in range(count)]

    def needs_atomic(self, call: Call) -> Any:
        """Whether other threads may touch the element at this moment."""
        if call in self.plan.sums:
            return self.gathered if call in self.plan.gathered else self.scattered
        return self.concurrent

    def combine(self, kind: str, t: type, old: ll.Value, parts: tuple[ll.Value, ...]) -> Any:
        """As on every target, but exact where threads meet: in any order extremes give the same bits.

        A NaN loses against every number and -0 is less than +0. Floats are compared and swapped by
        their bits, as the instruction does.
        """
        b = self.builder
        if kind in ("min", "max") and scalars.is_float(t):
            name = f"llvm.{kind}imumnum.f{register_bits(t)}"
            return b.call(self.external(name, ll.FunctionType(old.type, [old.type] * 2)), [old, parts[0]])
        if kind == "cas":
            word = ll.IntType(register_bits(t))
            return b.select(b.icmp_signed("==", b.bitcast(old, word), b.bitcast(parts[0], word)), parts[1], old)
        return super().combine(kind, t, old, parts)

    def exchange(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """The atomic instruction; floats that x86 cannot do go round a compare-and-swap."""
        b = self.builder
        if scalars.is_bfloat16(t):
            return self.exchange_by_swaps(kind, pointer, t, parts)
        if kind == "cas":
            return b.bitcast(b.extract_value(self.swap(pointer, t, *parts), 0), llvm_type(t))
        if scalars.is_float(t):
            if kind in ("min", "max"):
                return self.exchange_by_swaps(kind, pointer, t, parts)
            name = {"add": "fadd", "sub": "fsub", "exch": "xchg"}[kind]
        else:
            name = {"exch": "xchg"}.get(kind, kind)
            name = f"u{name}" if kind in ("min", "max") and not scalars.is_signed(t) else name
        return b.atomic_rmw(name, pointer, parts[0], "monotonic")

    def exchange_by_swaps(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """Combine and swap until nobody came between."""
        b = self.builder
        guess, before = b.load(pointer), b.block
        attempt, done = b.append_basic_block("attempt"), b.append_basic_block("swapped")
        b.branch(attempt)
        b.position_at_end(attempt)
        seen = b.phi(guess.type)
        seen.add_incoming(guess, before)
        old = from_memory(b, seen, t)
        pair = self.swap(pointer, t, seen, into_memory(b, self.combine(kind, t, old, parts), t))
        seen.add_incoming(b.bitcast(b.extract_value(pair, 0), seen.type), b.block)
        b.cbranch(b.extract_value(pair, 1), done, attempt)
        b.position_at_end(done)
        return old

    def swap(self, pointer: ll.Value, t: type, expected: ll.Value, new: ll.Value) -> Any:
        """Compare and swap by bits: what was there, and whether it was as expected."""
        b, word = self.builder, ll.IntType(scalars.bits(t))
        place = b.bitcast(pointer, word.as_pointer())
        return b.cmpxchg(place, b.bitcast(expected, word), b.bitcast(new, word), "monotonic", "monotonic")

    # ----- sums at one address --------------------------------------------------------------

    def open_accumulators(self) -> None:
        """A zeroed register per component of every uniform sum, and a flag where it may not run."""
        b = self.builder
        if self.options.verify:
            return  # a bad index is reported by the thread that has it
        for call, always in self.plan.uniform.items():
            element = call.args[0].type.dtype
            kinds = layout.register_types(element)
            slots = [b.alloca(kind) for kind in kinds]
            for slot, kind in zip(slots, kinds, strict=True):
                b.store(ll.Constant(kind, 0.0), slot)
            touched = None
            if not always:
                touched = b.alloca(I1)
                b.store(ll.Constant(I1, 0), touched)
            self.accumulators[call] = (slots, touched)

    def accumulate(self, kind: str, t: type, flat: list[Any], call: Call) -> None:
        b = self.builder
        slots, touched = self.accumulators[call]
        for slot, x in zip(slots, flat, strict=True):
            # The order of these sums is ours to choose, and letting LLVM use vector lanes is the point.
            plus = b.fadd if kind == "add" else b.fsub
            b.store(plus(b.load(slot), x, flags=("reassoc", *self.fast_flags)), slot)
        if touched is not None:
            b.store(ll.Constant(I1, 1), touched)

    def close_accumulators(self) -> None:
        for call, (slots, touched) in list(self.accumulators.items()):
            del self.accumulators[call]
            if touched is None:
                self.flush("add", [self.builder.load(slot) for slot in slots], call)
            else:
                with self.builder.if_then(self.builder.load(touched)):
                    self.flush("add", [self.builder.load(slot) for slot in slots], call)

    # ----- reports --------------------------------------------------------------------------

    def fail(self, failed: ll.Value, site: Site, index: ll.Value, extent: ll.Value) -> None:
        self.sites.append(site)
        b = self.builder
        with b.if_then(failed, likely=False):
            report = b.inttoptr(self.header_word(0), I64.as_pointer())
            zero, one = ll.Constant(I64, 0), ll.Constant(I64, 1)
            claim = b.cmpxchg(report, zero, one, "monotonic", "monotonic")
            with b.if_then(b.extract_value(claim, 1)):
                thread = self.linear_index()
                for k, word in enumerate((ll.Constant(I64, len(self.sites) - 1), index, extent, thread), 1):
                    b.store(word, b.gep(report, [ll.Constant(I64, k)]))
            self.end()
            b.position_at_end(b.append_basic_block("unreachable"))

    def call_native(self, call: Call, arguments: ll.Value, results: ll.Value) -> None:
        """A unit that throws an exception ends the range of threads, and the launch raises what it said."""
        b, unit = self.builder, unit_of(call)
        said = b.call(self.external(unit.symbol, ll.FunctionType(BYTES, [BYTES, BYTES])), [arguments, results])
        if snippets.throws(unit):
            words = b.ptrtoint(said, I64)
            nothing = ll.Constant(I64, 0)
            self.fail(b.icmp_unsigned("!=", words, nothing), Site("native", unit.title, call.location), words, nothing)

    def printf(self, text: str, values: list[Any]) -> None:
        fn = self.external("printf", ll.FunctionType(I32, [BYTES], var_arg=True))
        self.builder.call(fn, [self.text(text), *values])

    def text(self, content: str) -> Any:
        b = self.builder
        data = bytearray(content.encode() + b"\0")
        kind = ll.ArrayType(ll.IntType(8), len(data))
        constant = ll.GlobalVariable(b.module, kind, b.module.get_unique_name("text"))
        constant.linkage, constant.global_constant, constant.initializer = "internal", True, ll.Constant(kind, data)
        return b.bitcast(constant, BYTES)

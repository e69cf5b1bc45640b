"""`Target`: the common base of compiled targets, with addresses, views and checks. Subclasses add maths and atomics.

`Target` is the object that op rows receive as `target`. It owns the LLVM builder of the function
being emitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ...errors import Location
from ...forks import cached_property
from ..ir.def_use import used_values
from ..ir.nodes import Call, Constant, Function, Value
from ..ops.lanes import like, suffix
from ..ops.native import unit_of
from ..ops.values import from_memory, into_memory, llvm_type, round_result
from ..passes.analysis.decisions import deciding
from ..types import scalars, structs
from ..types.arrays import ArrayType, ValueType, type_name
from ..types.handles import structure_name
from . import layout
from .layout import BYTES, I8, I64, WORD


@dataclass(frozen=True)
class Options:
    """What changes generated code; part of the cache key.

    `layouts`: per parameter `C` (an array that is contiguous, a struct whose arrays all are) or `A`. `aliased`: arrays
    that are summed into overlap others, so the plan assumes nothing about atomics. For the CPU alone: `lanes` as in
    `config`. For CUDA alone: `lineinfo` keeps the relation to source lines, and `bounds` are the most threads of a
    block and the least blocks of a multiprocessor, 0 where free.
    """

    layouts: tuple[str, ...] = ()
    fast_math: bool = False
    verify: bool = False
    aliased: bool = False
    lineinfo: bool = False
    bounds: tuple[int, int] = (0, 0)
    lanes: str = "off"


@dataclass(frozen=True)
class Site:
    """A place whose check can fail at run time: what was checked, where."""

    kind: str
    text: str
    location: Location | None


class Target:
    """Emission of one kernel. `ndim` is the rank of its thread index (0 when it asks for none)."""

    packs = False  # whether rows may emit LLVM vectors for the components of a compound

    def __init__(self, fn: Function, ndim: int, options: Options, plan: Any):
        self.fn, self.ndim, self.options, self.plan = fn, ndim, options, plan
        self.builder: Any = None
        self.lowering: Any = None
        self.location: Location | None = None
        self.sites: list[Site] = []
        self.used = used_values(fn.body)
        self.call: Call | None = None
        """The call that is being emitted."""
        self.names = {p: p.hint for p in fn.params}

    def value(self, call: Call, args: list[list[Any]]) -> Any:
        """The value of a call, by its row."""
        self.call, self.location = call, call.location
        row = call.row
        assert row.value is not None
        result = row.value(self, call, args)
        return result if row.effect else round_result(self.builder, call, args, result)

    @property
    def decides(self) -> bool:
        """Whether the program decides by what is being emitted: an adjoint must then compute the same bits."""
        return self.call in self.deciding

    @cached_property
    def deciding(self) -> set[Call]:
        return deciding(self.fn)

    @property
    def fast_flags(self) -> tuple[str, ...]:
        """LLVM's licence for the floating-point arithmetic that is being emitted."""
        return ("fast",) if self.options.fast_math and not self.decides else ()

    # ----- to be supplied by the target -----------------------------------------------------

    def math(self, name: str, t: type, parts: tuple[ll.Value, ...]) -> Any:
        raise NotImplementedError

    def atomic(
        self, kind: str, address: ll.Value, element: ValueType, operands: list[list[Any]], call: Call
    ) -> list[Any]:
        raise NotImplementedError

    def thread_index(self, ndim: int) -> list[Any]:
        raise NotImplementedError

    def stack(self, t: ll.Type, count: int) -> Any:
        """Room for `count` values, allocated once per thread at function entry."""
        raise NotImplementedError

    def fail(self, failed: ll.Value, site: Site, index: ll.Value, extent: ll.Value) -> None:
        """Report `site` and leave the kernel when `failed` holds."""
        raise NotImplementedError

    def call_native(self, call: Call, arguments: ll.Value, results: ll.Value) -> None:
        """Call a unit of native text on blocks of arguments and of room for results."""
        kind = ll.FunctionType(ll.VoidType(), [BYTES, BYTES])
        self.builder.call(self.external(unit_of(call).symbol, kind), [arguments, results])

    # ----- loops ----------------------------------------------------------------------------

    def next_round(self, head: ll.Block, outer: bool) -> None:
        """Go back to the head of a loop; outer: it has loops in it."""
        self.builder.branch(head)

    # ----- parameters -----------------------------------------------------------------------

    def parameters(self, block: ll.Value) -> dict[Value, list[Any]]:
        """Read every parameter from the argument block."""
        offsets, _ = layout.argument_offsets([p.type for p in self.fn.params])
        parts = {}
        for k, (param, at) in enumerate(zip(self.fn.params, offsets, strict=True)):
            flat = self.argument(block, param.type, at)
            contiguous = k < len(self.options.layouts) and self.options.layouts[k] == "C"
            parts[param] = layout.contiguous(self.builder, param.type, flat) if contiguous else flat
        return parts

    def argument(self, block: ll.Value, t: ValueType, at: int) -> list[Any]:
        """The value of type `t` that starts `at` bytes into the argument block."""
        return layout.load(self.builder, self.builder.gep(block, [ll.Constant(I64, at)]), t)

    # ----- integers -------------------------------------------------------------------------

    def as_index(self, x: ll.Value, t: type) -> Any:
        """An integer widened to 64 bits."""
        if scalars.bits(t) == 64:
            return x
        return (self.builder.sext if scalars.is_signed(t) else self.builder.zext)(x, like(I64, x))

    def float_to_int(self, x: ll.Value, source: type, target: type) -> Any:
        """Truncate, saturate at the limits, NaN becomes 0."""
        sign = "s" if scalars.is_signed(target) else "u"
        t = like(llvm_type(target), x)
        intrinsic = f"llvm.fpto{sign}i.sat.{suffix(t)}.{suffix(x.type)}"
        return self.builder.call(self.external(intrinsic, ll.FunctionType(t, [x.type])), [x])

    def external(self, name: str, t: ll.FunctionType) -> Any:
        """A declared function of the module."""
        module = self.builder.module
        declared = module.globals.get(name)
        return declared if declared is not None else ll.Function(module, t, name)

    # ----- memory ---------------------------------------------------------------------------

    def load(self, address: ll.Value, t: ValueType) -> list[Any]:
        return layout.load(self.builder, address, t)

    def load_constant(self, address: ll.Value, t: ValueType) -> list[Any]:
        """Read memory that does not change while kernels run."""
        return layout.load(self.builder, address, t, constant=True)

    def store(self, address: ll.Value, t: ValueType, flat: list[Any]) -> None:
        layout.store(self.builder, address, t, flat)

    def address(self, t: ArrayType, flat: list[Any], indices: list[Any], types: list[Any], call: Call) -> Any:
        """Byte pointer of an element (or of a view's start), bounds checked on request."""
        b, ndim = self.builder, t.ndim
        offset: Any = None
        if self.options.verify:
            self._check_given(flat[0], call)
        for axis, (i, index_type) in enumerate(zip(indices, types, strict=True)):
            wide = self.along_axis(i, index_type, flat[2 + axis], axis, call)
            if t.indexed:
                wide = self._through_table(flat[2 + 2 * ndim + axis], wide)
                if self.options.verify:
                    self._check_table(wide, flat[2 + 3 * ndim + axis], axis, call)
            step = b.mul(wide, flat[2 + ndim + axis], flags=("nsw",))
            offset = step if offset is None else b.add(offset, step, flags=("nsw",))
        return b.gep(flat[0], [offset], inbounds=True)

    def along_axis(self, i: ll.Value, t: type, extent: ll.Value, axis: int, call: Call) -> Any:
        """Where an index along an axis leads, in 64 bits: negative ones count from the end, once."""
        wide = self.wide_index(i, t, call.args[1 + axis])
        if self.options.verify:
            position = self.chosen_position(wide, extent) if scalars.is_signed(t) else wide
            self._check_bounds(position, wide, t, extent, axis, call)
            return position
        if not self.counts_back(call, 1 + axis):
            return wide
        steady = self.is_steady(call, 1 + axis)
        return self.chosen_position(wide, extent) if steady else self.branched_position(wide, extent)

    def wide_index(self, i: ll.Value, t: type, value: Value) -> Any:
        """An index, the value of the program it is, in 64 bits."""
        return self.as_index(i, t)

    def counts_back(self, call: Call, k: int) -> bool:
        """Whether operand `k` of an access may be negative."""
        return bool(self.plan.ranges.may_count_back(call, k))

    def is_steady(self, call: Call, k: int) -> bool:
        """Whether operand `k` of an access is the same in all rounds of the loop around it."""
        return bool(self.plan.ranges.is_steady(call, k))

    def chosen_position(self, wide: ll.Value, extent: ll.Value) -> Any:
        """A choice without a branch: of a number that does not change, it leaves the loop."""
        b = self.builder
        return b.select(b.icmp_signed("<", wide, ll.Constant(I64, 0)), b.add(wide, extent), wide)

    def branched_position(self, wide: ll.Value, extent: ll.Value) -> Any:
        """A branch that is hardly ever taken: it delays no load. Where a loop is vectorised, LLVM makes it a choice."""
        b, here = self.builder, self.builder.block
        with b.if_then(b.icmp_signed("<", wide, ll.Constant(I64, 0)), likely=False):
            moved, there = b.add(wide, extent), b.block
        position = b.phi(I64)
        position.add_incoming(wide, here)
        position.add_incoming(moved, there)
        return position

    def component_offset(
        self, call: Call, indices: list[Any], shape: tuple[int, ...], strides: list[int]
    ) -> tuple[Any, Any]:
        """How far a part of a compound is from its start, and whether there is such a part; None where that is sure."""
        b, offset, inside = self.builder, ll.Constant(I64, 0), None
        for axis, (i, extent, stride) in enumerate(zip(indices, shape, strides, strict=False)):
            at, known = self.component(i, extent, axis, call)
            offset = b.add(offset, b.mul(at, ll.Constant(I64, stride)))
            if known is not None:
                inside = known if inside is None else b.and_(inside, known)
        return offset, inside

    def component(self, i: ll.Value, extent: int, axis: int, call: Call) -> tuple[Any, Any]:
        """The position of a component, and whether there is one at an index; negative ones count from the end."""
        b, t, size = self.builder, call.args[1 + axis].type, ll.Constant(I64, extent)
        limits, wide = self.plan.ranges.index(call, 1 + axis), self.as_index(i, t)
        at = self.chosen_position(wide, size) if limits.lo < 0 else wide
        if -extent <= limits.lo and limits.hi < extent:
            return at, None
        outside = b.icmp_unsigned(">=", at, size)
        if self.options.verify:
            kind = "bounds" if scalars.is_signed(t) else "unsigned bounds"
            self.fail(outside, Site(kind, f"axis {axis} of {self.compound_name(call)}", call.location), wide, size)
            return at, None
        return b.select(outside, ll.Constant(I64, 0), at), b.not_(outside)

    def compound_name(self, call: Call) -> str:
        """What a call selects a component of, in messages."""
        whole = call.args[0]
        if isinstance(whole.type, ArrayType):
            return f"an element of {self.name_of(whole)}, a {type_name(whole.type.dtype)}"
        return f"{whole.hint}, a {type_name(whole.type)}" if whole.hint else f"a {type_name(whole.type)}"

    def only_where(self, inside: ll.Value, t: ArrayType, flat: list[Any]) -> list[Any]:
        """An array where a condition holds; elsewhere one whose elements all are one number that nobody reads."""
        b, n = self.builder, t.ndim
        words = -(-structs.numpy_dtype(t.dtype).itemsize // WORD)
        nowhere, zero = self.stack(I64, words), ll.Constant(I64, 0)
        for k in range(words):
            b.store(zero, b.gep(nowhere, [ll.Constant(I64, k)]))
        spare = b.bitcast(nowhere, BYTES)
        data, grad, *rest = flat
        absent = b.icmp_unsigned("==", b.ptrtoint(grad, I64), zero)
        strides = [b.select(inside, x, zero) for x in rest[n : 2 * n]]
        grad = b.select(b.or_(inside, absent), grad, spare)
        return [b.select(inside, data, spare), grad, *rest[:n], *strides, *rest[2 * n :]]

    def _through_table(self, table: ll.Value, i: ll.Value) -> Any:
        """The position that an index array gives, or `i` itself where the axis has no table."""
        b = self.builder
        missing = b.icmp_unsigned("==", b.ptrtoint(table, I64), ll.Constant(I64, 0))
        with b.if_else(missing) as (straight, mapped):
            with straight:
                here = b.block
            with mapped:
                entry = b.bitcast(b.gep(table, [b.mul(i, ll.Constant(I64, 4))]), ll.IntType(32).as_pointer())
                looked_up = b.sext(b.load(entry), I64)
                there = b.block
        position = b.phi(I64)
        position.add_incoming(i, here)
        position.add_incoming(looked_up, there)
        return position

    def _check_table(self, position: ll.Value, extent: ll.Value, axis: int, call: Call) -> None:
        """Tables were checked when they were given; they may have changed since."""
        outside = self.builder.icmp_unsigned(">=", position, extent)
        name = self.name_of(call.args[0])
        self.fail(outside, Site("table", f"axis {axis} of the array behind {name}", call.location), position, extent)

    # ----- updates --------------------------------------------------------------------------

    def update(self, kind: str, pointer: ll.Value, t: type, parts: tuple[ll.Value, ...]) -> Any:
        """An atomic's plain form: read, combine, write; returns the value before."""
        old = from_memory(self.builder, self.builder.load(pointer), t)
        self.builder.store(into_memory(self.builder, self.combine(kind, t, old, parts), t), pointer)
        return old

    def combine(self, kind: str, t: type, old: ll.Value, parts: tuple[ll.Value, ...]) -> Any:
        """What an atomic of `kind` leaves in memory that held `old`."""
        b, x = self.builder, parts[0]
        if kind in ("min", "max"):
            symbol = "<" if kind == "min" else ">"
            if scalars.is_float(t):
                return b.select(b.fcmp_ordered(symbol, x, old), x, old)
            less = b.icmp_signed if scalars.is_signed(t) else b.icmp_unsigned
            return b.select(less(symbol, x, old), x, old)
        if kind == "cas":
            same = b.fcmp_ordered("==", old, x) if scalars.is_float(t) else b.icmp_signed("==", old, x)
            return b.select(same, parts[1], old)
        if kind == "exch":
            return x
        if kind in ("add", "sub"):
            return getattr(b, f"f{kind}" if scalars.is_float(t) else kind)(old, x)
        return {"and": b.and_, "or": b.or_, "xor": b.xor}[kind](old, x)

    # ----- updates of one shared address ----------------------------------------------------

    def flush(self, kind: str, flat: list[Any], call: Call) -> None:
        """At the end of a kernel, update memory with what threads had in registers for an atomic."""
        array, *indices = (self.again(v) for v in call.args[:-1])
        types = [v.type for v in call.args[1:-1]]
        address = self.address(call.args[0].type, array, [i[0] for i in indices], types, call)
        self.atomic(kind, address, call.args[0].type.dtype, [flat], call)

    def again(self, value: Value) -> list[Any]:
        """A uniform value recomputed here, since the body's copy does not reach the exit."""
        if isinstance(value, Constant) or value in self.fn.params:
            flat: list[ll.Value] = self.lowering.flat(value)
            return flat
        maker = self.plan.definitions[value]
        results: list[Any] = self.value(maker, [self.again(a) for a in maker.args])
        return results if len(maker.results) == 1 else results[maker.results.index(value)]

    # ----- checks ---------------------------------------------------------------------------

    def _check_given(self, data: ll.Value, call: Call) -> None:
        nowhere = ll.Constant(I64, 0)
        missing = self.builder.icmp_unsigned("==", self.builder.ptrtoint(data, I64), nowhere)
        self.fail(missing, Site("none", self.name_of(call.args[0]), call.location), nowhere, nowhere)

    def _check_bounds(self, position: ll.Value, i: ll.Value, t: type, extent: ll.Value, axis: int, call: Call) -> None:
        outside = self.builder.icmp_unsigned(">=", position, extent)
        kind = "bounds" if scalars.is_signed(t) else "unsigned bounds"
        self.fail(outside, Site(kind, f"axis {axis} of {self.name_of(call.args[0])}", call.location), i, extent)

    def name_of(self, array: Value) -> str:
        """What the user calls an array, or the array or struct that it is a part of."""
        maker = self.plan.definitions.get(array)
        if array.hint or maker is None or not maker.args:
            return array.hint or "an array"
        whole = self.name_of(maker.args[0])
        return f"{whole}.{maker.attributes['name']}" if maker.op.name == "field" else whole

    def check(self, condition: ll.Value, call: Call) -> None:
        """An assertion of the user's."""
        message = call.attributes.get("message", "")
        zero = ll.Constant(I64, 0)
        self.fail(self.builder.not_(condition), Site("assert", message, call.location), zero, zero)

    def structure(self, number: ll.Value, nothing: ll.Value, call: Call) -> Any:
        """The address of the struct that an id stands for; `nothing` is a record of zeros."""
        raise NotImplementedError

    def check_id(self, known: ll.Value, number: ll.Value, kind: ll.Value, call: Call) -> None:
        """On request: whether an id stands for something, or is 0."""
        if self.options.verify:
            b = self.builder
            wrong = b.and_(b.not_(known), b.icmp_unsigned("!=", number, ll.Constant(I64, 0)))
            self.fail(wrong, Site("id", structure_name(call.attributes["to"]), call.location), number, kind)

    # ----- views and local arrays -----------------------------------------------------------

    def view(self, t: ArrayType, flat: list[Any], indices: list[Any], types: list[Any], call: Call) -> list[Any]:
        """The sub-array at leading indices; its gradient moves along."""
        start = self.address(t, flat, indices, types, call)
        moved = self.builder.sub(self.builder.ptrtoint(start, I64), self.builder.ptrtoint(flat[0], I64))
        n, k = t.ndim, len(indices)
        axes = (flat[at + k : at + n] for at in range(2, len(flat), n))
        unmoved = [x for each in axes for x in each]
        return [start, self._moved_gradient(flat[1], moved), *unmoved]

    def shift(self, flat: list[Any], offset: ll.Value) -> list[Any]:
        """The same array with its elements starting `offset` bytes later: a field or component."""
        data, grad, *rest = flat
        return [self.builder.gep(data, [offset]), self._moved_gradient(grad, offset), *rest]

    def _moved_gradient(self, grad: ll.Value, offset: ll.Value) -> Any:
        """The gradient of a part of an array; where the array has none, none."""
        b, nowhere = self.builder, ll.Constant(I64, 0)
        there = b.icmp_unsigned("!=", b.ptrtoint(grad, I64), nowhere)
        return b.gep(grad, [b.select(there, offset, nowhere)])

    def local_array(self, t: ArrayType, cleared: bool) -> list[Any]:
        """An array on the stack."""
        assert t.local_shape is not None
        item = structs.numpy_dtype(t.dtype).itemsize
        total = item * int(np.prod(t.local_shape))
        words = -(-total // WORD)
        slot = self.stack(I64, words)
        slot.align = 16
        data = self.builder.bitcast(slot, BYTES)
        if cleared:
            self.clear(data, words * WORD)
        strides: list[int] = []
        stride = item
        for extent in reversed(t.local_shape):
            strides.insert(0, stride)
            stride *= extent
        sizes = [ll.Constant(I64, n) for n in (*t.local_shape, *strides)]
        return [data, data, *sizes]

    def clear(self, data: ll.Value, size: int) -> None:
        kind = ll.FunctionType(ll.VoidType(), [BYTES, I8, I64, ll.IntType(1)])
        memset = self.external(self.memset_name, kind)
        self.builder.call(memset, [data, ll.Constant(I8, 0), ll.Constant(I64, size), ll.Constant(ll.IntType(1), 0)])

    memset_name = "llvm.memset.p0.i64"

    def printf(self, text: str, values: list[Any]) -> None:
        """Print C variadic arguments, see `promote`."""
        raise NotImplementedError

    def text(self, content: str) -> Any:
        """A constant zero-terminated string."""
        raise NotImplementedError

    def promote(self, x: ll.Value, t: type) -> Any:
        """A C variadic argument: floats as double, integers as 64 bits."""
        if scalars.is_float(t):
            return x if t is scalars.float64 else self.builder.fpext(x, ll.DoubleType())
        if t is scalars.bool_:
            return self.builder.zext(x, I64)
        return self.as_index(x, t)

    def is_used(self, value: Value) -> bool:
        return value in self.used

"""Native code as ops: a piece of C++ text at fixed parameter types is a row of its own.

A unit is compiled by the system's compiler into a function

    const char *symbol(const char *arguments, char *results)

over two blocks of memory in which every value starts at an 8-byte boundary, in the layout that
`types.structs` gives it; an array is its descriptor. That is the same on every processor and needs no
rule of how C passes structs. It returns what an exception said that the text has thrown, or null; CUDA knows no
exceptions, and there it returns nothing. The symbol is a digest of all that the unit means, so equal programs have
equal text, and kernels on disk find their units again.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir as ll

from ...errors import Location, NativeCodeError, NotDifferentiableError
from ...forks import cached_property
from ..ir.builder import active_builder
from ..ir.host_arrays import HostArray, to_value, write_value
from ..ir.nodes import Call
from ..types import structs
from ..types.arrays import ArrayType
from ..types.cotangents import has_cotangent
from ..types.structs import full_name
from .memory import gradient
from .native_text import has_atomics, mentions
from .registry import OUTPUT, PURE, READ, WRITE, Row
from .target import Target

INTERFACE = "2"  # raise it when the shape of the compiled function changes
WORD = 8

_BYTES, _I64 = ll.IntType(8).as_pointer(), ll.IntType(64)
_HAS_NO_FLOATS = "its arguments and results hold no floats"

_COMPILER = "warpsim.core.emit.native.snippets"  # it stands on this module


def compiler() -> Any:
    """The module that compiles units: `load` gives one with its `address` in this process, `compiles` says if it can.

    It is loaded when somebody first asks, which may be Python that calls a native function before any launch.
    """
    return importlib.import_module(_COMPILER)


@dataclass(frozen=True)
class Unit:
    """Native text and the function it is the body of.

    `params` are names and types. In a `reverse` unit each has its cotangent beside it: an array of floats
    another array, other values with floats a result of the same type. Arrays of parameters in `constants`
    are constant, so text that writes to one does not compile. Parameters in `refs` are references: what the text
    leaves in them are results, in front of what it returns.
    """

    function: str
    part: str
    text: str
    params: tuple[tuple[str, Any], ...]
    result: Any = None
    reverse: bool = False
    constants: frozenset[str] = frozenset()
    refs: tuple[str, ...] = ()
    location: Location | None = field(default=None, compare=False)

    @property
    def argument_types(self) -> tuple[Any, ...]:
        """Types of the values in the argument block, in order."""
        own = [t for _, t in self.params]
        if not self.reverse:
            return tuple(own)
        seeds = [t for t in self.forward_results if has_cotangent(t)]
        return (*own, *seeds, *(t for t in own if has_gradient_array(t)))

    @property
    def forward_results(self) -> tuple[Any, ...]:
        """Types of what the function gives: values of references, then what it returns."""
        changed = [t for name, t in self.params if name in self.refs]
        return (*changed, *(() if self.result is None else (self.result,)))

    @property
    def result_types(self) -> tuple[Any, ...]:
        """Types of the values in the result block, in order."""
        if self.reverse:
            return tuple(t for _, t in self.params if has_cotangent(t))
        return self.forward_results

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"the {self.part} of native function {self.function!r}"

    @cached_property
    def symbol(self) -> str:
        """The name of the compiled function: readable, and a digest of everything above but the location."""
        types = [full_name(t) for _, t in self.params]
        names = [name for name, _ in self.params]
        kinds = ("nothing" if self.result is None else full_name(self.result), self.reverse, sorted(self.constants))
        facts = (INTERFACE, self.part, self.text, names, types, kinds, *([self.refs] if self.refs else []))
        return f"warpsim_{ascii_name(self.function)}_{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


@dataclass(eq=False)
class NativeRow(Row):
    """The op that calls a unit."""

    unit: Unit | None = None


@dataclass(eq=False)
class ForeignRow(Row):
    """The op that calls a function that others compiled: the symbol is the row's name.

    `callee.address` is where the function lies in this process; `title` is what messages call it.
    """

    callee: Any = None
    title: str = ""


def ascii_name(name: str) -> str:
    """A name as every linker takes it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def unit_of(call: Call) -> Unit:
    """The unit that a call of native code calls."""
    assert isinstance(call.op, NativeRow) and call.op.unit is not None
    return call.op.unit


def native_row(unit: Unit) -> NativeRow:
    """The row of a unit. What it may do follows from what it is given.

    It may read the arrays that it mentions, and write to those that are not constant. Text that writes to
    none and returns a value is taken for a function of its arguments and of what it reads; text without
    either does something outside, such as printing.
    """
    own = {k for k, (name, t) in enumerate(unit.params) if holds_arrays(t) and mentions(unit.text, name)}
    grads = {k for k, t in enumerate(unit.argument_types) if k >= len(unit.params) and isinstance(t, ArrayType)}
    lent = unit.reverse and any(structs.is_struct(t) and holds_arrays(t) for _, t in unit.params)
    reads = frozenset(own | grads)
    writes = frozenset(k for k in reads if k in grads or unit.params[k][0] not in unit.constants)
    effect = WRITE if writes or lent else OUTPUT if not unit.result_types else READ if reads else PURE
    floats = any(has_cotangent(t) or has_gradient_array(t) for t in (*unit.argument_types, unit.result))
    return NativeRow(
        unit.symbol, (), None, f"The {unit.part} of {unit.function!r}.", _value, oracle(unit), effect=effect, ulps=2,
        nondiff="" if floats else _HAS_NO_FLOATS, opaque=True, reads=reads, writes=writes, unit=unit,
        contends=has_atomics(unit.text), adjoint_rule=_refusal(unit),
    )  # fmt: skip


def _refusal(unit: Unit) -> Callable[..., Any]:
    """The derivative of a text itself is not known; a function that has one never asks for it."""

    def rule(*operands: object, **attributes: object) -> Any:
        builder = active_builder()
        place = builder.location if builder is not None and builder.location else unit.location
        cure = "keep it out of what is differentiated twice" if unit.reverse else "give func_native an adj_snippet"
        what = f"the {unit.part} of native function {unit.function!r} has no derivative"
        raise NotDifferentiableError(what, place, help=cure)

    return rule


def _gradient(array: HostArray) -> HostArray | None:
    return array.grad


GRADIENTS = Row(
    gradient.name,
    (),
    None,
    "The gradient array of an array, or an array without memory where there is none.",
    gradient.rows[0].value,
    _gradient,
    nondiff="a view shares memory",
)
"""Native text is given gradients that may be missing; the row `gradient` itself asks for one that is there."""


# ----- types --------------------------------------------------------------------------------


def has_gradient_array(t: object) -> bool:
    """Whether the type is an array whose elements have cotangents."""
    return isinstance(t, ArrayType) and has_cotangent(t.dtype)


def holds_arrays(t: object) -> bool:
    """Whether values of the type are, or contain, arrays."""
    if structs.is_struct(t):
        return any(holds_arrays(f) for f in t.fields.values())
    return isinstance(t, ArrayType)


def offsets(types: tuple[Any, ...]) -> tuple[list[int], int]:
    """Where each value starts in a block, and the block's size in bytes."""
    starts, at = [], 0
    for t in types:
        starts.append(at)
        at += -(-structs.numpy_dtype(t).itemsize // WORD) * WORD
    return starts, at


# ----- compiled targets ---------------------------------------------------------------------


def _value(target: Target, call: Call, args: list[list[Any]]) -> Any:
    """Write the arguments to the stack, call, read the results."""
    b, unit = target.builder, unit_of(call)
    starts, size = offsets(unit.argument_types)
    arguments = _block(target, size)
    for arg, t, at in zip(args, unit.argument_types, starts, strict=True):
        target.store(b.gep(arguments, [ll.Constant(_I64, at)]), t, arg)
    places, room = offsets(unit.result_types)
    returned = _block(target, room)
    target.call_native(call, arguments, returned)
    pairs = zip(unit.result_types, places, strict=True)
    results = [target.load(b.gep(returned, [ll.Constant(_I64, at)]), t) for t, at in pairs]
    return results[0] if len(results) == 1 else results


def _block(target: Target, size: int) -> Any:
    return target.builder.bitcast(target.stack(_I64, max(1, size // WORD)), _BYTES)


# ----- the interpreter ----------------------------------------------------------------------


def oracle(unit: Unit) -> Callable[..., Any]:
    """What the interpreter does: the same machine code, called through ctypes."""
    library = cache(lambda: compiler().load(unit))

    def run(*values: Any) -> Any:
        types, results = unit.argument_types, unit.result_types
        arguments, returned = _host_block(types), _host_block(results)
        for k, (value, t) in enumerate(zip(values, types, strict=True)):
            if isinstance(t, ArrayType):
                arguments[f"v{k}"][0] = _descriptor(value)
            else:
                write_value(arguments[f"v{k}"], (0,), value, t)
        kind = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
        said = kind(library().address)(arguments.ctypes.data, returned.ctypes.data)
        if said:
            raise exception_for(unit.title, said, unit.location)
        converted = tuple(to_value(returned[f"v{k}"][0], t) for k, t in enumerate(results))
        return converted[0] if len(converted) == 1 else converted

    return run


def exception_for(title: str, said: bytes, location: Location | None, where: str = "") -> NativeCodeError:
    """The Python exception for what a C++ exception said."""
    words = said.decode(errors="replace")
    return NativeCodeError(f"{title} {words}{where}", location, help="catch it inside, or return what is wrong")


def _host_block(types: tuple[Any, ...]) -> np.ndarray:
    starts, size = offsets(types)
    layout = np.dtype(
        {
            "names": [f"v{k}" for k in range(len(types))],
            "formats": [structs.numpy_dtype(t) for t in types],
            "offsets": starts,
            "itemsize": max(WORD, size),
        }
    )
    return np.zeros(1, layout)


def _descriptor(array: HostArray | None) -> Any:
    """The words of an array; those of an indexed one have its tables and the extents behind them."""
    if array is None:
        return 0
    tables = [0 if table is None else table.ctypes.data for table in array.lookup]
    extents = array.data.shape[: len(tables)]
    return np.array([*array.descriptor(), *tables, *extents], np.uint64)

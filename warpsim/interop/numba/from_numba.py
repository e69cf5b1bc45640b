"""Numba functions of numbers as functions that kernels call: machine code as Numba made it, on the CPU.

Numba compiles a function with a wrapper around it, `result f(arguments..., int32 *failed)` in C's convention, whose
address is put where kernels call it. What the function raises ends the launch; nothing passes through Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir as ll
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

from ...core.emit.cpu.cpu import CpuTarget
from ...core.emit.layout import I32, I64
from ...core.emit.target import Site
from ...core.frontend.translate.callee import Callee
from ...core.frontend.translate.conversions import convert
from ...core.frontend.translate.scope import describe, typed_value
from ...core.frontend.translate.translator import Translator
from ...core.ir.builder import active_builder
from ...core.ir.nodes import Call, Value
from ...core.ops.choice import cast
from ...core.ops.native import ForeignRow, ascii_name, exception_for
from ...core.ops.tangents import TangentList
from ...core.ops.values import from_memory, memory_type, to_memory
from ...core.types import scalars
from ...core.types.arrays import type_name
from ...core.types.signatures import WEAK_FLOAT, WEAK_INT, weak_fits
from ...errors import ArgumentTypeError, KernelTypeError, NotDifferentiableError

_numbers = itertools.count()
_WRAPPER = """
def call({names}failed):
    found = nothing
    try:
        found = {value}
    except Exception:
        failed[0] = 1
    return found
"""


def from_numba(function: Dispatcher | CFunc, derivative: Dispatcher | CFunc | None = None) -> NumbaFunction:
    """A Numba function of numbers that kernels on the CPU may call: made by `numba.njit` or `numba.cfunc`.

    derivative: a Numba function of the same arguments that returns the derivative by the argument, or a tuple of
    the derivatives by each. Without one, kernels that need it are refused.

    Raises `ArgumentTypeError` for another thing; kernels that call it raise `KernelTypeError` for arguments that it
    does not take and on other devices than CPUs, `NativeCodeError` where the function raises.
    """
    return NumbaFunction(function, None if derivative is None else NumbaFunction(derivative))


class NumbaFunction(Callee):
    """A Numba function as kernels call it; made by `from_numba`."""

    def __init__(self, function: Dispatcher | CFunc, derivative: NumbaFunction | None = None):
        if not isinstance(function, Dispatcher | CFunc):
            raise ArgumentTypeError(
                f"{function!r} is no Numba function\nexpected: one made by numba.njit or numba.cfunc"
            )
        self.jitted = function if isinstance(function, Dispatcher) else again(function)
        self.derivative, python = derivative, self.jitted.py_func
        self.name, self.__name__, self.__doc__ = python.__name__, python.__name__, python.__doc__
        self.title = f"Numba function {self.name!r}"
        self._rows: dict[Any, ForeignRow] = {}

    def __repr__(self) -> str:
        return f"<Numba function {self.name}>"

    def __call__(self, *args: Any) -> Any:
        return self.jitted(*args)

    def interpret(self, part: int | None, *args: Any) -> Any:
        """The result, or a part of it, as the interpreter computes it."""
        try:
            result = self(*args)
        except Exception as error:
            raise exception_for(self.title, b"raised an exception", None) from error
        return result if part is None else result[part]

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Append a call; literals take the types that the function declares."""
        if keywords:
            raise KernelTypeError(f"{self.title} with keywords {', '.join(keywords)}", expected="arguments in order")
        operands = self.operands(args)
        row = self.row(tuple(o.type for o in operands))
        return caller.builder.call(row, tuple(operands), (row.returns,))

    def operands(self, args: list[Any]) -> list[Value]:
        """The arguments at the types of the first signature that is declared and fits, else at their own."""
        declared = signatures(self.jitted)
        for types in declared:
            if len(types) == len(args) and all(map(fits, args, types)):
                return [convert(a, t, describe(a)) for a, t in zip(args, types, strict=True)]
        if declared:
            known = "; ".join(f"({', '.join(map(type_name, types))})" for types in declared)
            shown = ", ".join(map(describe, args))
            raise KernelTypeError(
                f"{self.title} is compiled for other types than ({shown})", expected=known, help="convert the arguments"
            )
        return [typed_value(a) for a in args]

    def row(self, types: tuple[Any, ...], part: int | None = None) -> ForeignRow:
        """The op that calls the function at these types; `part` of the tuple that it returns."""
        key = types, part
        if key not in self._rows:
            for t in types:
                if not scalars.is_scalar(t) or t in (scalars.float16, scalars.bfloat16):
                    raise KernelTypeError(
                        f"{self.title} is given {type_name(t)}", expected="bool, integers, float32, float64"
                    )
            returned = self.result(types)
            wrapper = wrap(self.jitted, types, returned if part is None else returned[part], part)
            symbol = f"warpsim_numba_{ascii_name(self.name)}_{next(_numbers)}"
            self._rows[key] = ForeignRow(
                symbol,
                (),
                ours(returned if part is None else returned[part]),
                f"{self.title}.",
                emit_call,
                partial(self.interpret, part),
                opaque=True,
                adjoint_rule=self.pull_back,
                tangent_rule=self.push_forward,
                callee=wrapper,
                title=self.title,
            )
        return self._rows[key]

    def result(self, types: tuple[Any, ...]) -> Any:
        """The Numba type of the result. Raises `KernelTypeError` where Numba does not compile the function."""
        signature = tuple(map(theirs, types))
        try:
            if self.jitted._can_compile:
                self.jitted.compile(signature)
        except (numba.core.errors.NumbaError, TypeError) as error:  # TypeError: another number of arguments
            shown = ", ".join(map(type_name, types))
            raise KernelTypeError(f"{self.title} does not compile for ({shown}): {error}") from error
        returned = numba.types.unliteral(self.jitted.overloads[signature].signature.return_type)
        for part in returned if isinstance(returned, numba.types.BaseTuple) else (returned,):
            if not scalars.is_scalar(ours(part)) or ours(part) is scalars.float16:
                raise KernelTypeError(f"{self.title} returns {returned}", expected="a number")
        return returned

    def parts(self, types: tuple[Any, ...]) -> Sequence[int | None]:
        """Which parts of the result are the derivatives by the arguments. Raises `KernelTypeError`."""
        returned = self.result(types)
        if len(types) == 1 and not isinstance(returned, numba.types.BaseTuple):
            return [None]
        floats = [not scalars.is_float(t) or ours(part) is t for t, part in zip(types, returned, strict=False)]
        if not isinstance(returned, numba.types.BaseTuple) or len(returned) != len(types) or not all(floats):
            shown = ", ".join(map(type_name, types))
            expected = f"derivatives by all arguments: ({shown})"
            raise KernelTypeError(f"{self.title} returns {returned}", expected=expected)
        return range(len(types))

    def slopes(self, args: Sequence[Any]) -> list[Any]:
        """Derivatives by the arguments, None by those that are no floats, by the derivative that was declared."""
        builder, types = active_builder(), tuple(a.type for a in args)
        if self.derivative is None:
            raise NotDifferentiableError(
                f"{self.title} has no derivative",
                builder.location if builder else None,
                help="declare it: wp.from_numba(f, derivative=g)",
            )
        assert builder is not None
        return [
            builder.call(self.derivative.row(types, part), tuple(args), (t,)) if scalars.is_float(t) else None
            for part, t in zip(self.derivative.parts(types), types, strict=True)
        ]

    def pull_back(self, *operands: Value) -> Any:
        """Cotangents of the arguments."""
        *args, _, cotangent = operands
        return tuple(None if s is None else s * cast(cotangent, to=s.type) for s in self.slopes(args))

    def push_forward(self, call: Call, tangents: TangentList) -> TangentList:
        """The tangent of the result."""
        [result] = call.results
        if not any(tangents) or not scalars.is_float(result.type):
            return [{}]
        slopes = self.slopes(call.args)
        moved = [cast(s * d[()], to=result.type) for s, d in zip(slopes, tangents, strict=True) if d and s is not None]
        return [{(): sum(moved[1:], moved[0])}]


def again(function: CFunc) -> Dispatcher:
    """A callback as a function that others compiled by Numba call, for the types that it declares."""
    options = function._compiler.targetoptions
    settings = {name: options[name] for name in ("fastmath", "error_model", "boundscheck") if name in options}
    return numba.njit(function._sig, **settings)(function._pyfunc)


def signatures(function: Dispatcher) -> list[tuple[Any, ...]]:
    """The types of arguments that a function declares; none where it takes what it is given."""
    return [] if function._can_compile else [tuple(map(ours, s.args)) for s in function.nopython_signatures]


def fits(operand: object, t: type) -> bool:
    """Whether an operand is of the type, or a literal that may be."""
    if isinstance(operand, Value):
        return operand.type is t
    return type(operand) in (int, float) and weak_fits(WEAK_INT if type(operand) is int else WEAK_FLOAT, t)


def ours(t: numba.types.Type) -> Any:
    """The scalar type of a Numba type, or the type itself where there is none."""
    if isinstance(t, numba.types.Boolean):
        return scalars.bool_
    return getattr(scalars, t.name) if isinstance(t, numba.types.Integer | numba.types.Float) else t


def theirs(t: type) -> Any:
    """The Numba type of a scalar type."""
    return numba.boolean if t is scalars.bool_ else getattr(numba, t.__name__)


def in_c(t: numba.types.Type) -> Any:
    """A Numba type as C's convention has it: truth values are bytes."""
    return numba.uint8 if isinstance(t, numba.types.Boolean) else t


def wrap(function: Dispatcher, types: tuple[Any, ...], result: numba.types.Type, part: int | None) -> CFunc:
    """The function that kernels call; its `address` is where it lies."""
    names = [f"a{k}" for k in range(len(types))]
    arguments = ", ".join(f"{a} != 0" if t is scalars.bool_ else a for a, t in zip(names, types, strict=True))
    value = f"function({arguments}){'' if part is None else f'[{part}]'}"
    value = f"one if {value} else nothing" if isinstance(result, numba.types.Boolean) else value
    number = np.dtype(in_c(result).name).type
    scope = {"function": function, "nothing": number(0), "one": number(1)}
    exec(_WRAPPER.format(names="".join(f"{a}, " for a in names), value=value), scope)
    failed = numba.types.CPointer(numba.int32)
    kind = in_c(result)(*(in_c(theirs(t)) for t in types), failed)
    return numba.cfunc(kind)(scope["call"])


def emit_call(target: Any, call: Call, args: list[list[Any]]) -> list[Any]:
    """The call in machine code; what the function raises ends the range of threads."""
    row, b = call.op, target.builder
    if not isinstance(target, CpuTarget):
        raise KernelTypeError(
            f"{row.title} is machine code of the CPU",
            call.location,
            help="launch the kernel on the CPU, or write the function with @wp.func",
        )
    failed, result = target.stack(I32, 1), call.results[0].type
    b.store(ll.Constant(I32, 0), failed)
    kinds = [memory_type(a.type) for a in call.args]
    function = target.external(row.name, ll.FunctionType(memory_type(result), [*kinds, failed.type]))
    operands = [to_memory(b, x, a.type) for [x], a in zip(args, call.args, strict=True)]
    value = b.call(function, [*operands, failed])
    words = b.ptrtoint(target.text("raised an exception"), I64)
    site = Site("native", row.title, call.location)
    target.fail(b.icmp_signed("!=", b.load(failed), ll.Constant(I32, 0)), site, words, ll.Constant(I64, 0))
    return [from_memory(b, value, result)]

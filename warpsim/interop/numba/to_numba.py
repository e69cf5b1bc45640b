"""Functions of kernels as Numba functions: numbers in, numbers out, called from compiled Numba code on the CPU.

At new types a kernel of one thread is compiled for the function. Calls write its argument block on the stack and jump
to its machine code; nothing goes through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir as ll
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ...core.emit.cpu.cpu import REPORT_WORDS
from ...core.emit.layout import BYTES, I64, WORD, argument_offsets
from ...core.frontend.functions.functions import Func
from ...core.language import zeros
from ...core.ops.values import from_memory, memory_type, to_memory
from ...core.runtime.devices.device import CPU
from ...core.runtime.launches.for_device import prepare
from ...core.runtime.launches.launcher import LaunchCall
from ...core.runtime.map import map as mapped
from ...core.types import scalars
from ...core.types.arrays import type_name
from ...errors import ArgumentTypeError, WarpsimError
from .from_numba import ours, theirs

_REPORT = ll.ArrayType(I64, REPORT_WORDS)


def to_numba(func: Callable[..., Any]) -> Dispatcher:
    """A function that `numba.njit` code calls, made of a function of kernels: `g = wp.to_numba(f)`.

    func: made by `wp.func`, a built-in such as `wp.sin`, or a lambda; of numbers, it returns a number or a tuple of
    numbers. Arguments are converted to the types that it declares, as Numba does for declared signatures. Failed
    assertions raise `RuntimeError`.

    Raises `ArgumentTypeError` for another thing; Numba raises `TypingError` with our words where the function does not
    take the arguments.
    """
    if not callable(func):
        raise ArgumentTypeError(f"{func!r} is no function\nexpected: one made by wp.func")
    known: dict[Any, Launchable] = {}

    @intrinsic
    def invoke(context: Any, arguments: Any) -> Any:
        types_in = tuple(ours(numba.types.unliteral(t)) for t in arguments)
        if not all(map(scalars.is_scalar, types_in)):
            raise numba.core.errors.TypingError(f"{func!r} is given {arguments}\nexpected: numbers")
        types = declared_types(func, types_in)
        try:
            launchable = known.get(types) or known.setdefault(types, Launchable(func, types))
        except WarpsimError as error:
            raise numba.core.errors.TypingError(str(error)) from error
        return launchable.signature, launchable.emit_call

    @numba.njit
    def call(*arguments):
        return invoke(arguments)

    call.__name__ = getattr(func, "__name__", "function")
    call.__doc__ = getattr(func, "__doc__", None)
    return call


def declared_types(func: Callable[..., Any], types: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types that a function declares for so many arguments, where it has one form; else those given."""
    overloads = getattr(func, "overloads", ()) if isinstance(func, Func) else ()
    if len(overloads) != 1 or len(overloads[0].patterns) != len(types):
        return types
    patterns = map(scalars.canonical, overloads[0].patterns.values())
    return tuple(p if scalars.is_scalar(p) else t for p, t in zip(patterns, types, strict=True))


class Launchable:
    """A function at fixed types as a launch of one thread over arrays of one element."""

    def __init__(self, func: Callable[..., Any], types: tuple[Any, ...]):
        if not types:
            raise ArgumentTypeError(f"{func!r} has no parameters\nexpected: numbers")
        inputs = [zeros(1, dtype=t, device=CPU) for t in types]
        kernel = mapped(func, *inputs, return_kernel=True, device=CPU)
        self.results = tuple(t.dtype for t in list(kernel.patterns.values())[len(types) :])
        for t in (*types, *self.results):
            if not scalars.is_scalar(t) or t in (scalars.float16, scalars.bfloat16):
                raise ArgumentTypeError(f"{func!r} takes or returns {type_name(t)}\nexpected: numbers that Numba has")
        outputs = [zeros(1, dtype=t, device=CPU) for t in self.results]
        self.launch: LaunchCall = prepare(kernel, 1, [*inputs, *outputs], CPU)
        self.types, self.name = types, kernel.key.removeprefix("map_")

    @property
    def signature(self) -> Any:
        """The types of the function in Numba: a tuple of numbers in."""
        argument_types, result_types = (tuple(map(theirs, types)) for types in (self.types, self.results))
        returned = result_types[0] if len(result_types) == 1 else numba.types.Tuple(result_types)
        return returned(numba.types.Tuple(argument_types))

    def emit_call(self, context: Any, builder: ll.IRBuilder, signature: Any, args: Sequence[ll.Value]) -> Any:
        """The call in machine code."""
        places = [cgutils.alloca_once(builder, memory_type(t)) for t in (*self.types, *self.results)]
        for k, (t, place) in enumerate(zip(self.types, places, strict=False)):
            builder.store(to_memory(builder, builder.extract_value(args[0], k), t), place)
        report = cgutils.alloca_once_value(builder, ll.Constant(_REPORT, None))
        self.jump(context, builder, self.block(builder, places, report))
        if self.launch.launcher.reports:
            claimed = builder.load(builder.bitcast(report, I64.as_pointer()))
            with cgutils.if_unlikely(builder, builder.icmp_unsigned("!=", claimed, I64(0))):
                context.call_conv.return_user_exc(builder, RuntimeError, (f"a check in {self.name} failed",))
        results = zip(self.results, places[len(self.types) :], strict=True)
        values = [from_memory(builder, builder.load(place), t) for t, place in results]
        return values[0] if len(values) == 1 else context.make_tuple(builder, signature.return_type, values)

    def block(self, builder: ll.IRBuilder, places: list[Any], report: ll.Value) -> Any:
        """The launch's argument block on the stack, over arrays at these places."""
        launch = self.launch
        template = cgutils.global_constant(builder, f"block_{self.name}", cgutils.make_bytearray(bytes(launch.block)))
        words = cgutils.alloca_once(builder, I64, len(launch.block) // WORD)
        cgutils.memcpy(builder, words, builder.bitcast(template, words.type), I64(len(launch.block) // WORD))
        offsets, _ = argument_offsets(list(launch.launcher.types))
        if launch.launcher.reports:
            offsets, places = [*offsets, 0], [*places, report]
        for at, place in zip(offsets, places, strict=True):
            builder.store(builder.ptrtoint(place, I64), builder.gep(words, [I64(at // WORD)]))
        return words

    def jump(self, context: Any, builder: ll.IRBuilder, words: ll.Value) -> None:
        """Run one thread."""
        kind = ll.FunctionType(ll.VoidType(), [BYTES, I64, I64, I64]).as_pointer()
        address = self.launch.launcher.code.entry
        function = builder.bitcast(context.add_dynamic_addr(builder, address, self.name), kind)
        builder.call(function, [builder.bitcast(words, BYTES), I64(0), I64(1), I64(0)])

"""State that translation of one function shares: builder, scope, source, errors, call chain."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import (
    CompilerError,
    KernelError,
    KernelNameError,
    KernelTypeError,
    Location,
    UnassignedLocalError,
    UnsupportedSyntaxError,
    WarpsimError,
)  # fmt: skip
from ..ir.builder import Builder, constant
from ..ir.nodes import Value
from ..ops import registry
from ..ops.choice import cast
from ..ops.registry import Op
from ..types import compounds, scalars
from ..types.arrays import ArrayType, type_name
from .scope import Erroneous, Scope, Unassigned, describe, fitting, is_number, typed
from .source import Source

MAX_ERRORS = 20


def too_deep(location: Location | None) -> UnsupportedSyntaxError:
    """What is said where Python's stack ends, in the front end or after it."""
    cure = "split the expression or the branches: assign parts to locals, move parts to functions"
    return UnsupportedSyntaxError("this is nested too deeply", location, help=cure)


@contextmanager
def shallow_enough(location: Location | None) -> Iterator[None]:
    """Work on a program whose nests may be deeper than Python's stack, which is then said of the program."""
    try:
        yield
    except KernelError:
        raise
    except RecursionError as error:
        raise too_deep(location) from error


class Suppressed(Exception):
    """A use of something whose error was reported already."""


class Translator:
    """Base of the translation classes: what expressions, statements and calls all need."""

    def __init__(self, source: Source, builder: Builder, scope: Scope, caller: Translator | None = None):
        self.source, self.builder, self.scope, self.caller = source, builder, scope, caller
        self.errors: list[KernelError] = []
        self.node: ast.AST = source.tree
        self.locals: frozenset[str] = frozenset()  # names that the function assigns somewhere

    # ----- positions and errors -------------------------------------------------------------

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[Location]:
        """Give nodes and errors made inside the place of a syntax node."""
        location = self.source.locate(node)
        before, self.node = self.node, node
        try:
            with self.builder.at(location):
                yield location
        except KernelError as error:
            if error.location is None:
                error.location = location
            raise
        except (WarpsimError, Suppressed):
            raise
        except RecursionError as error:
            raise too_deep(location) from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            place = f"  --> {location}\n{location.excerpt()}"
            raise CompilerError(f"warpsim cannot translate this ({what})\n{place}") from error
        finally:
            self.node = before

    def attempt(self, work: Callable[[], None], assigned: Callable[[], set[str]]) -> None:
        """Run `work`; on an error, note it, mark the names it would have assigned, go on."""
        try:
            work()
        except Suppressed:
            pass
        except KernelError as error:
            self.errors.append(error)
            if len(self.errors) >= MAX_ERRORS:
                raise
        else:
            return
        for name in assigned():
            self.scope[name] = Erroneous()

    def call_sites(self) -> list[Location]:
        """Call sites from here outwards."""
        sites, at = [], self.caller
        while at is not None:
            sites.append(at.source.locate(at.node))
            at = at.caller
        return sites

    # ----- names ----------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The operand a name stands for: local, else closure, global, builtin."""
        if name in self.scope:
            return self.local(name)
        if name in self.locals:
            raise UnassignedLocalError(
                f"{name!r} is a local of this function and has no value yet",
                help=f"assign {name!r} before, or use another name for the local if the one outside is meant",
            )
        try:
            return self.source.lookup(name)
        except KernelNameError as error:
            known = [*self.scope, *self.source.captured.namespace(), *vars(builtins)]
            error.help = error.help or self.suggestion(name, known)
            raise

    def local(self, name: str) -> Any:
        operand = self.scope[name]
        if isinstance(operand, Unassigned) and operand.conflict:
            cure = "use another name for one of them, or convert"
            raise KernelTypeError(f"{name!r} has no single type here: {operand.reason}", help=cure)
        if isinstance(operand, Unassigned):
            raise UnassignedLocalError(
                f"{name!r} may be unassigned here: {operand.reason}",
                help=f"assign {name!r} a value before, on every path",
            )
        if isinstance(operand, Erroneous):
            raise Suppressed
        return operand

    def suggestion(self, name: str, known: Iterable[str]) -> str:
        # Names of one or two letters are near to everything.
        near = difflib.get_close_matches(name, [n for n in known if n[:1].isalpha()], 1) if len(name) > 2 else []
        return f"did you mean {near[0]!r}?" if near else "define it before the kernel, or pass it as an argument"

    # ----- emitting -------------------------------------------------------------------------

    def emit(self, op: Op, *args: Any, **attributes: Any) -> Any:
        """Append a call of `op`; literals adapt to the typed operands."""
        for a in args:
            if not isinstance(a, Value) and not is_number(a) and not isinstance(a, compounds.Compound):
                raise KernelTypeError(f"{op.name}: {describe(a)} is not a value", expected="numbers, vectors, arrays")
        found = op.find([registry.operand_type(a) for a in args], attributes)
        values = tuple(_as_value(a, t) for a, t in zip(args, found.arg_types, strict=True))
        return self.builder.call(found.row, values, found.result_types, attributes)

    def convert(self, operand: Any, wanted: Any, what: str) -> Value:
        """The operand as a Value of exactly the type `wanted`."""
        value = typed(operand, wanted)
        if value.type is not wanted:
            raise KernelTypeError(
                f"{what} is {type_name(value.type)}, not {type_name(wanted)}",
                found=type_name(value.type), expected=type_name(wanted), help=conversion_help(value.type, wanted),
            )  # fmt: skip
        return value

    def truth(self, operand: Any) -> Any:
        """An operand as a condition: a Python bool when known, else a bool Value."""
        if isinstance(operand, Value):
            if operand.type is scalars.bool_:
                return operand
            if operand.type in scalars.NUMBERS:
                return self.emit(registry.TABLE["ne"], operand, 0)
            if isinstance(operand.type, ArrayType):
                return self.has_elements(operand)
            raise KernelTypeError(
                f"{type_name(operand.type)} is not a condition",
                expected="a bool or a number",
                help="compare it with ==",
            )
        if is_number(operand) or operand is None or isinstance(operand, (str, tuple)):
            return bool(operand)
        raise KernelTypeError(f"{describe(operand)} is not a condition", expected="a bool or a number")

    def is_none(self, operand: Any) -> Any:
        """Whether an operand is None: of an array that was given, only the run can tell."""
        if isinstance(operand, Value) and isinstance(operand.type, ArrayType):
            return self.emit(registry.TABLE["is_none"], operand)
        return operand is None

    def negated(self, condition: Any) -> Any:
        return (not condition) if isinstance(condition, bool) else self.emit(registry.TABLE["unot"], condition)

    def has_elements(self, array: Value) -> Value:
        """Whether there is an array, and something in it."""
        extents = (self.emit(registry.TABLE["shape"], array, axis=k) for k in range(array.type.ndim))
        parts = [self.emit(registry.TABLE["ne"], extent, 0) for extent in extents]
        return functools.reduce(lambda a, b: self.emit(registry.TABLE["bit_and"], a, b), parts)

    def cast(self, operand: Any, to: type) -> Any:
        """An explicit conversion to a scalar type."""
        if isinstance(operand, Value) and scalars.is_scalar(operand.type):
            return operand if operand.type is to else self.emit(cast, operand, to=to)
        if not is_number(operand):
            raise KernelTypeError(f"{describe(operand)} cannot become {type_name(to)}", expected="a number")
        if scalars.is_integer(to):
            return typed(whole(operand, to))
        return typed(fitting(operand, to))


def whole(number: Any, t: type) -> Any:
    """A constant converted to an integer type: floats truncate, and all bits of the type may be given.

    Raises where the conversion would change the number beyond that: `wp.uint32(-1)` is fine, `int(1.0e20)` is not.
    """
    limits, width = np.iinfo(t), scalars.bits(t)
    low, high = min(limits.min, -(1 << (width - 1))), (1 << width) - 1
    if isinstance(number, (float, np.floating)):
        low, high = limits.min, limits.max
    if not np.isfinite(float(number)) or not low <= int(number) <= high:
        expected = f"a number from {limits.min} to {limits.max}"
        raise KernelTypeError(f"{number} does not fit {type_name(t)}", expected=expected)
    value = int(number) & ((1 << width) - 1)
    return t(value - (1 << width) if value > limits.max else value)


def _as_value(operand: Any, t: Any) -> Value:
    if isinstance(operand, Value):
        return operand
    return constant(t, fitting(operand, t) if is_number(operand) else operand)


def conversion_help(found: Any, wanted: Any) -> str:
    """How to write the conversion between two scalar types."""
    if scalars.is_scalar(found) and scalars.is_scalar(wanted):
        return f"convert it: {constructor_name(wanted)}(...)"
    return ""


def constructor_name(t: Any) -> str:
    """How kernels write the constructor of a type."""
    return {scalars.float32: "float", scalars.int32: "int"}.get(t, f"wp.{type_name(t)}")

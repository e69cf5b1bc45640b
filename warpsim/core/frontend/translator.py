"""State that translation of one function shares: builder, scope, source, errors, call chain."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import KernelError, KernelNameError, KernelTypeError, Location, UnassignedLocalError
from ..ir.builder import Builder
from ..ir.nodes import Region, Value
from ..ops import registry
from ..ops.arith import cast
from ..ops.registry import Op
from ..types import compounds, scalars
from ..types.arrays import type_name
from .scope import Erroneous, Scope, Unassigned, describe, is_number, typed
from .source import Source

MAX_ERRORS = 20


class Suppressed(Exception):
    """A use of something whose error was reported already."""


class Translator:
    """Base of the translation classes: what expressions, statements and calls all need."""

    def __init__(self, source: Source, builder: Builder, scope: Scope, caller: Translator | None = None):
        self.source, self.builder, self.scope, self.caller = source, builder, scope, caller
        self.errors: list[KernelError] = []
        self.node: ast.AST = source.tree

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
        finally:
            self.node = before

    def attempt(self, work: Callable[[], None], assigned: set[str]) -> None:
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
        for name in assigned:
            self.scope[name] = Erroneous()

    def chain(self) -> list[Location]:
        """Call sites from here outwards."""
        sites, at = [], self.caller
        while at is not None:
            sites.append(at.source.locate(at.node))
            at = at.caller
        return sites

    # ----- names ----------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The operand a name stands for: local, else closure, global, builtin."""
        if name not in self.scope:
            try:
                return self.source.lookup(name)
            except KernelNameError as error:
                error.help = error.help or self.suggestion(name)
                raise
        operand = self.scope[name]
        if isinstance(operand, Unassigned):
            raise UnassignedLocalError(
                f"{name!r} may be unassigned here: {operand.reason}",
                help=f"assign {name!r} a value before, on every path",
            )
        if isinstance(operand, Erroneous):
            raise Suppressed
        return operand

    def suggestion(self, name: str) -> str:
        near = difflib.get_close_matches(name, [*self.scope, *self.source.namespace()], 1)
        return f"did you mean {near[0]!r}?" if near else "define it before the kernel, or pass it as an argument"

    # ----- emitting -------------------------------------------------------------------------

    def emit(self, op: Op, *args: Any, **attributes: Any) -> Any:
        """Append a call of `op`; literals adapt to the typed operands."""
        for a in args:
            if not isinstance(a, Value) and not is_number(a) and not isinstance(a, compounds.Compound):
                raise KernelTypeError(f"{op.name}: {describe(a)} is not a value", expected="numbers, vectors, arrays")
        return registry.emit(self.builder, op, args, attributes)

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
            raise KernelTypeError(
                f"{type_name(operand.type)} is not a condition",
                expected="a bool or a number",
                help="compare it with ==",
            )
        if is_number(operand) or operand is None or isinstance(operand, (str, tuple)):
            return bool(operand)
        raise KernelTypeError(f"{describe(operand)} is not a condition", expected="a bool or a number")

    def cast(self, operand: Any, to: type) -> Any:
        """An explicit conversion to a scalar type."""
        if is_number(operand) and not isinstance(operand, Value):
            integer = scalars.is_integer(to)
            return typed(registry.to_host(cast(typed(operand).value, to=to), to) if integer else to(operand))
        if isinstance(operand, Value) and operand.type is to:
            return operand
        return self.emit(cast, operand, to=to)

    def region(self) -> Region:
        """A fresh region to be filled with `self.builder.inside(...)`."""
        return Region()


def conversion_help(found: Any, wanted: Any) -> str:
    if scalars.is_scalar(found) and scalars.is_scalar(wanted):
        name = {scalars.float32: "float", scalars.int32: "int"}.get(wanted, f"wp.{type_name(wanted)}")
        return f"convert it: {name}(...)"
    return ""

"""One overload of a function: its parameters, and which operands match their annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ....errors import KernelError, UnsupportedSyntaxError
from ...ir.nodes import Function, Value
from ...types import compounds, scalars, structs
from ...types.arrays import ArrayType, type_name
from ...types.references import Reference
from ...types.signatures import WEAK_FLOAT, WEAK_INT, Weak, is_generic, match, match_weak
from ..rules.addresses import Address
from ..rules.array_slices import ArraySlice
from ..source.captured import Redefinable
from ..source.names import assigned_names
from ..source.source import Source, evaluated_annotations, is_of_package
from ..translate.scope import is_number, typed_value


class Overload:
    """One Python function of a `Func`; `returned` are positions and names of what it rebinds, as it returns them first.

    nondiff: why its results have no derivative, if they have none.
    """

    def __init__(self, function: Callable[..., Any], inout: tuple[str, ...] = (), nondiff: str = ""):
        self.function, self.nondiff = function, nondiff
        self.signature = inspect.signature(function)
        names = list(self.signature.parameters)
        self.returned = {names.index(n): n for n in inout}
        self._source: Source | None = None
        self._patterns: dict[str, Any] | None = None
        self.translated: dict[Any, tuple[Function, Any]] = {}
        self.library = is_of_package(function)
        self.aliases: dict[str, str] = {}
        """Parameters of overloads of the library, by what they are called in the first one of the name."""

        self.customs: dict[str, list[Any]] = {"grad": [], "replay": []}  # by field of the IR Function
        self.differentiated = False  # whether a compiler asked for them already
        if not self.library:  # names are settled now, see `captured`
            with suppress(UnsupportedSyntaxError):  # the host can call it all the same
                self._source = Source(function)

    @property
    def source(self) -> Source:
        if self._source is None:
            self._source = Source(self.function)
        return self._source

    @property
    def patterns(self) -> dict[str, Any]:
        """Parameter annotations; a parameter without one takes anything."""
        if self._patterns is None:
            known = evaluated_annotations(self.source)
            patterns = {name: known.get(name, Any) for name in self.signature.parameters}
            self._patterns = {n: t.dtype if isinstance(t, Reference) else t for n, t in patterns.items()}
            self._references = {k: n for k, (n, t) in enumerate(patterns.items()) if self._is_place(n, t)}
            self._returns = known.get("return")
        return self._patterns

    def _is_place(self, name: str, t: object) -> bool:
        """Whether a parameter is a reference to what its caller rebinds; arrays are references by themselves."""
        if not isinstance(t, Reference) or not isinstance(t.dtype, ArrayType):
            return isinstance(t, Reference)
        body = getattr(self.source.tree, "body", [])
        return isinstance(body, list) and name in assigned_names(body, lambda call: ())[0]

    @property
    def references(self) -> dict[int, str]:
        """Positions and names of parameters annotated `ref[T]`: what their body leaves in them goes to the caller."""
        try:
            _ = self.patterns
        except KernelError:  # said where the function is translated
            return {}
        return self._references

    @property
    def inout(self) -> dict[int, str]:
        """Positions and names of all that the function rebinds in its caller."""
        return self.returned if self.library else self.returned | self.references

    @property
    def returns(self) -> Any:
        _ = self.patterns
        return self._returns

    @property
    def generic(self) -> bool:
        return any(is_generic(p) or takes_function(p) for p in self.patterns.values())

    def bind(self, args: list[Any], keywords: dict[str, Any]) -> list[Any] | None:
        """Operands in parameter order with defaults filled in, or None when they do not fit."""
        named = self.arguments_by_name(args, keywords)
        if named is None:
            return None
        bound = inspect.BoundArguments(self.signature, named)
        bound.apply_defaults()
        return list(bound.arguments.values())

    def arguments_by_name(self, args: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any] | None:
        """Arguments by the names of parameters, or None when they do not fit."""
        try:
            return self.signature.bind(*args, **self.rename(keywords)).arguments
        except TypeError:
            return None

    def rename(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Keywords by the names of parameters: those of the first overload stand for the same parameters here."""
        known = self.signature.parameters
        return {name if name in known else self.aliases.get(name, name): x for name, x in keywords.items()}

    def match(self, operands: list[Any]) -> list[Any] | None:
        """Operands converted to what the annotations ask, or None."""
        bound: dict[Any, Any] = {}
        types = [operand_pattern_type(o) for o in operands]
        pairs = list(zip(self.patterns.values(), types, operands, strict=True))
        for pattern, t, _ in pairs:
            if not isinstance(t, Weak | Static) and not takes_function(pattern) and not match(pattern, t, bound):
                return None
            if isinstance(t, Static) and not takes_static(pattern, t.value):
                return None
        out = []
        for pattern, t, operand in pairs:
            if isinstance(t, Weak):
                matched = match_weak(pattern, t, bound)
                if matched is None:
                    return None
                operand = typed_value(operand, matched)
            elif not isinstance(t, Static):
                operand = operand if isinstance(operand, (tuple, ArraySlice)) else typed_value(operand)
            out.append(operand)
        return out

    def fits(self, operands: list[Any]) -> bool:
        """Whether the first parameters take operands as they are, without conversion."""
        bound: dict[Any, Any] = {}
        for pattern, operand in zip(self.patterns.values(), operands, strict=False):
            t = operand_pattern_type(operand)
            if isinstance(t, Static):
                if not takes_static(pattern, t.value):
                    return False
            elif not takes_function(pattern) and not match(pattern, t, bound):
                return False
        return True

    def describe(self) -> str:
        inner = ", ".join(f"{n}: {_pattern_name(p)}" for n, p in self.patterns.items())
        return f"{self.function.__name__}({inner})"


@dataclass(frozen=True)
class Static:
    """The 'type' of a compile-time operand."""

    value: Any


def operand_pattern_type(operand: object) -> Any:
    """A type, a weak literal type, or Static for what exists at compile time only."""
    if isinstance(operand, Value):
        return operand.type
    if isinstance(operand, ArraySlice):
        return operand.view_type
    if isinstance(operand, (compounds.Compound, structs.Struct)):
        return type(operand)
    if is_number(operand):
        if type(operand) in (int, float):
            return WEAK_INT if type(operand) is int else WEAK_FLOAT
        return typed_value(operand).type
    if isinstance(operand, tuple) and all(not isinstance(operand_pattern_type(o), Static) for o in operand):
        return tuple(operand_pattern_type(o) for o in operand)
    return Static(operand)


def takes_function(pattern: object) -> bool:
    origin = getattr(pattern, "__origin__", None)
    return pattern is Callable or _is_function_type(pattern) or origin in (Callable, type(Callable))


def _is_function_type(pattern: object) -> bool:
    return isinstance(pattern, type) and issubclass(pattern, Redefinable)


def takes_static(pattern: object, operand: object) -> bool:
    """Whether a parameter takes an operand that exists at compile time only: a function, a type, text."""
    if isinstance(operand, Address):
        return pattern is scalars.uint64
    if pattern is Any or takes_function(pattern):
        return True
    return pattern in (str, type) and isinstance(operand, pattern)


def _pattern_name(pattern: object) -> str:
    return "Any" if pattern is Any else type_name(pattern)


def written_annotations(overload: Overload) -> list[Any]:
    known = getattr(overload.function, "__annotations__", {})
    return [known.get(name) for name in overload.signature.parameters]

"""Names reached by functions, as text: what a program is made of beside its types, and a module's digest.

A text is *exact* where equal texts make equal programs. It then has the places of functions in files, which programs
carry for their messages, and what is met and has no such text is noted as unknown: an object of a class of the
user's, a function of Python's, a module that is no mere way to what is in it. Functions of the package are told by
their names, since they change with its files alone, and by what their closures hold.
"""

from __future__ import annotations

import ast
import enum
import hashlib
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ....errors import KernelError, UnsupportedSyntaxError
from ...ops.registry import Op
from ...types import compounds, structs
from ...types.arrays import ArrayType, type_name
from ...types.generic_structs import GenericStruct
from ...types.scalars import canonical, is_scalar
from ..rules.operators import OPERATOR_FUNCTIONS
from ..source.captured import MISSING
from ..source.source import Source, cells_of, evaluated_annotations, is_of_package
from ..translate.callee import Callee
from ..translate.scope import is_number
from .functions import Func
from .native import NativeFunc
from .overloads import Overload

_PACKAGE = __name__.partition(".")[0]
_TOLD_BY_REPR = ("typing", f"{_PACKAGE}.core.types", f"{_PACKAGE}.core.frontend")
"""Modules of whose objects `repr` tells all: variables and patterns of types, `wp.adjoint`."""


class Meanings:
    """The texts of what is met, each function and struct once.

    exact: as the module says. unknown: what is met and has no exact text. sources: of the user's functions, in the
    order in which they are met; overloads: these functions; structs: the types of structs, likewise.
    """

    def __init__(self, exact: bool = False):
        self.exact = exact
        self.unknown: list[str] = []
        self.sources: list[Source] = []
        self.overloads: list[Overload] = []
        self.structs: list[structs.StructType] = []
        self._seen: dict[int, int] = {}  # functions and structs by their ids, numbered

    # ----- functions ----------------------------------------------------------------------------

    def of_source(self, source: Source) -> Iterator[str]:
        """The names that a function takes from outside, each with its meaning, and so on in functions among these.

        Names are settled when a function is defined or first compiled, so that the present meaning, which a module's
        digest has, is not always that of the program.
        """
        captured = source.captured
        for path in captured.outside:
            meaning = captured.meaning(path) if self.exact else captured.now(path)
            is_whole = path in captured.whole or not self.exact
            yield f"{path}: {self.of(meaning) if is_whole else type(meaning).__name__}"
        if self.exact:
            yield from self._unwritten(source)

    def _unwritten(self, source: Source) -> Iterator[str]:
        """What the front end looks at beside the names in a text: values of statics, functions for operators."""
        self.sources.append(source)
        captured = source.captured
        yield from map(self.of, captured.statics.values())
        if captured.has_late_statics:
            self.unknown.append(f"wp.static in {source.name}, which only the compiler can evaluate")
        operators = {name: captured.present(name) for name in OPERATOR_FUNCTIONS}
        yield from (f"{name}: {self.of(f)}" for name, f in operators.items() if isinstance(f, Callee))

    def of_function(self, source: Source) -> str:
        """A function of the user's: its syntax, with its place where that counts, and what it reaches."""
        text = source.text if self.exact else f"{source.name} {ast.dump(source.tree)}"
        return "\n".join((text, *self.of_source(source)))

    def of_library(self, function: Callable[..., Any]) -> str:
        """A function of the package: where it is, and what its closure and its defaults hold."""
        code = getattr(function, "__code__", None)
        if code is None:
            return self._by_class(function)
        if id(function) in self._seen:
            return self._again(function)
        self._seen[id(function)] = len(self._seen)
        seen = [f"{name} {value!r}" for name in code.co_names if is_number(value := function.__globals__.get(name))]
        cells = [f"{name}: {self.of(value)}" for name, value in cells_of(function)]
        defaults = [self.of(value) for value in function.__defaults__ or ()]
        where = f"{function.__module__}.{function.__qualname__}:{code.co_firstlineno}"
        return f"{where} {seen} {cells} {defaults}"

    def _overload(self, overload: Overload) -> str:
        """An overload: of the library as above, of the user's by its text, once."""
        name = overload.function.__name__
        if overload.library and not self.exact:
            return name
        if id(overload) in self._seen:
            return self._again(overload) if self.exact else name
        self._seen[id(overload)] = len(self._seen)
        if overload.library:
            return self.of_library(overload.function)
        defaults = [self.of(p.default) for p in overload.signature.parameters.values()]
        try:
            source = overload.source
        except UnsupportedSyntaxError:  # a function that Python alone can run
            self.unknown.append(f"{name}, whose text is not known")
            return f"{name} {defaults}"
        return "\n".join((str(defaults), self._declared(overload), self.of_function(source)))

    def _declared(self, overload: Overload) -> str:
        """What is said of a function beside its text: types, what it rebinds, gradients of its own."""
        if not self.exact:
            return ""
        self.overloads.append(overload)
        customs = [(field, custom.only, custom.own) for field, each in overload.customs.items() for custom in each]
        texts = [f"{field} {only} {self._overload(own)}" for field, only, own in customs]
        return f"{overload.returned} {overload.nondiff!r} {self.of_annotations(overload.source)} {texts}"

    def of_annotations(self, source: Source) -> list[str]:
        """The types that a function names for its parameters and its result."""
        try:
            return [f"{name}: {self.of(canonical(t))}" for name, t in evaluated_annotations(source).items()]
        except KernelError:  # said when it is translated
            self.unknown.append(f"the annotations of {source.name}")
            return []

    def _again(self, thing: object) -> str:
        """Something that has its text before: names alone could stand for several."""
        return f"number {self._seen[id(thing)]}"

    # ----- values and types ---------------------------------------------------------------------

    def of(self, thing: object) -> str:
        """A constant by its value, a function by its text and what that reaches, a type by its parts."""
        if isinstance(thing, NativeFunc) and self.exact:
            return self._by_class(thing)
        if isinstance(thing, Func):
            return "; ".join(self._overload(overload) for overload in thing.overloads)
        if isinstance(thing, Op):
            return f"op {thing.name}"
        if is_number(thing) or isinstance(thing, (str, bytes, type(None), enum.Enum)):
            return self._number(thing)
        if isinstance(thing, compounds.Compound):
            return f"{type(thing).__name__} {np.asarray(thing).tobytes().hex() if self.exact else repr(thing)}"
        if isinstance(thing, structs.Struct):
            return f"{self.of(type(thing))} {self.of({n: getattr(thing, n) for n in type(thing).fields})}"
        if isinstance(thing, np.ndarray):
            return f"{thing.dtype} {thing.shape} {hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()}"
        if isinstance(thing, (tuple, list)):
            fields = getattr(thing, "_fields", "")  # of a named tuple
            return f"{type(thing).__name__} {fields} [{', '.join(map(self.of, thing))}]"
        if isinstance(thing, dict):
            return "{" + ", ".join(f"{self.of(key)}: {self.of(part)}" for key, part in thing.items()) + "}"
        return self._type(thing) if isinstance(thing, (type, ArrayType)) else self._other(thing)

    def _number(self, thing: Any) -> str:
        """A number or a text; floats by their bits, as 0.0 is not -0.0 and NaN is NaN."""
        if isinstance(thing, enum.Enum):
            return f"{type(thing).__qualname__} {thing.name} {thing.value!r}"
        if self.exact and isinstance(thing, (float, np.floating)):
            return f"{type(thing).__module__}.{type(thing).__name__} {np.asarray(thing).tobytes().hex()}"
        return f"{type(thing).__name__} {thing!r}"

    def _type(self, t: Any) -> str:
        if not self.exact:
            return t.__name__ if isinstance(t, type) else type(t).__name__
        if isinstance(t, ArrayType):
            return f"{t!r} of {self.of(t.dtype)}"
        if not isinstance(t, structs.StructType):
            return self._class(t)
        if id(t) in self._seen:
            return self._again(t)
        self._seen[id(t)] = len(self._seen)
        self.structs.append(t)
        fields = ", ".join(f"{name}: {self.of(f)}" for name, f in t.fields.items())
        functions = [f"{name}: {self.of(f)}" for name, f in vars(t).items() if isinstance(f, (Func, Op))]
        return f"{t.key} {{{fields}}} {functions} {self.of(t.__struct__.defaults)}"

    def _class(self, t: type) -> str:
        """A type of numbers or vectors, a class of Python's or of the package; one of the user's by what it holds."""
        if is_scalar(t) or compounds.is_compound(t):
            return type_name(t)
        name = f"{t.__module__}.{t.__qualname__}"
        if t.__module__ in ("builtins", "typing", "numpy", "collections.abc", "inspect") or is_of_package(t):
            return name
        held = {key: thing for key, thing in vars(t).items() if not key.startswith("__")}
        return f"{name} {self.of(held)}"

    def _other(self, thing: Any) -> str:
        """What has a text by its name alone; else its class."""
        if not self.exact:
            return type(thing).__name__
        if thing is MISSING:
            return "nothing"
        if isinstance(thing, ModuleType) and thing.__name__.partition(".")[0] == _PACKAGE:
            return f"module {thing.__name__}"
        if isinstance(thing, BuiltinFunctionType) and isinstance(thing.__self__, ModuleType):
            return f"{thing.__module__}.{thing.__name__}"
        if isinstance(thing, GenericStruct) and is_of_package(thing):
            return f"{thing.__module__}.{thing.__name__}"
        if isinstance(thing, FunctionType) and is_of_package(thing):
            return self.of_library(thing)
        if type(thing).__module__.startswith(_TOLD_BY_REPR) and " at 0x" not in repr(thing):
            return f"{type(thing).__qualname__} {thing!r}"
        return self._by_class(thing)

    def _by_class(self, thing: object) -> str:
        self.unknown.append(type(thing).__name__)
        return type(thing).__name__


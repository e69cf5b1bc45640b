"""`@func`: functions that kernels call, with overloads, generics and function arguments.

A function is translated once per argument types into an IR Function, and called; inlining comes
later. Compile-time arguments (functions, types, text) are part of the key instead of parameters.
Called from Python, a function simply runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from ....errors import (
    ArgumentTypeError,
    CustomGradientError,
    KernelTypeError,
    Location,
    RecursionNotSupportedError,
    WarpsimError,
    instance,
)
from ...ir.builder import Builder
from ...ir.nodes import Function, Region, Value
from ...types.arrays import type_name
from ...types.precise import host_result, typed_numbers
from ..rules.addresses import Address
from ..rules.array_slices import ArraySlice
from ..rules.local_addresses import LocalAddress
from ..rules.local_functions import LocalFunction
from ..source.source import Source
from ..translate.bodies import declared_type, result_with_chain, typed_result
from ..translate.callee import Callee
from ..translate.conversions import convert
from ..translate.fresh_arrays import note_params, note_results
from ..translate.missing_values import start_with, with_zeros
from ..translate.scope import Scope, describe, typed_value
from ..translate.translator import Translator
from . import definitions
from .host_calls import fits, overload_for
from .nondiff import as_constant, refuse_writes
from .overloads import Overload, Static, written_annotations
from .single_precision import is_bfloat16, narrow, widen

MAX_CALLS = 64  # of one another, while translating
MAX_SELF_CALLS = 8  # at different types, as a generic function may for the parts of its argument


class Func(Callee, definitions.Definition):
    """A named set of overloads. `inout` names parameters that a function rebinds in its caller.

    A later definition of the name makes another object, which takes over the overloads that it does not replace.
    """

    def __init__(
        self, function: Callable[..., Any], inout: tuple[str, ...] = (), before: Func | None = None, nondiff: str = ""
    ):
        self.overloads: list[Overload] = [] if before is None else list(before.overloads)
        self.add(function, inout, nondiff)
        first = self.overloads[0].function
        self.name = self.key = function.__name__
        self.__doc__, self.__name__, self.__module__ = first.__doc__, self.name, function.__module__
        self.__wrapped__ = first
        self.place = (function.__module__, function.__qualname__)
        self.code = getattr(function, "__code__", None)

    def replaced_by(self, other: object) -> bool:
        """Whether `other` is a new definition of this name. One more run of the same code is not: each
        iteration of a loop that defines functions has its own."""
        anonymous = self.place[1].endswith("<lambda>")
        return isinstance(other, Func) and other.place == self.place and other.code is not self.code and not anonymous

    @property
    def func(self) -> Callable[..., Any]:
        """The Python function that was decorated first."""
        return self.overloads[0].function

    @property
    def by_reference(self) -> bool:  # type: ignore[override]
        return any(not o.library and o.references for o in self.overloads)

    def add(self, function: Callable[..., Any], inout: tuple[str, ...] = (), nondiff: str = "") -> None:
        """Another overload; one with equal annotations replaces the old. `inout`: as the first, unless given."""
        known = inspect.signature(function).parameters
        usual = self.overloads[0].returned.values() if self.overloads else ()
        new = Overload(function, inout or tuple(n for n in usual if n in known), nondiff)
        if not new.library and any(o.library for o in self.overloads):
            definitions.extend_library()
        if new.library and self.overloads:
            new.aliases = dict(zip(self.overloads[0].signature.parameters, known, strict=False))
        same = [written_annotations(o) == written_annotations(new) for o in self.overloads]
        overloads = [new if replaced else o for o, replaced in zip(self.overloads, same, strict=True)]
        self.overloads = overloads if any(same) else [*overloads, new]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run in Python: the overload that a kernel would choose for the arguments."""
        overload = overload_for(self.overloads, args, keywords)
        if overload.library and not fits(overload, args, keywords):
            raise self._refusal(args)
        precise = typed_numbers() if overload.library else nullcontext()
        try:
            with np.errstate(over="ignore"), precise:  # integers wrap in kernels
                result = overload.function(*args, **overload.rename(keywords))
        except (AttributeError, IndexError, TypeError) as error:
            if overload.library and not isinstance(error, WarpsimError):  # `Any` took what the body has no use for
                raise self._refusal(args) from error
            raise
        if not overload.returned:
            return host_result(result)
        # Python's caller keeps its variables: the new states have nowhere to go.
        values = (result if isinstance(result, tuple) else (result,))[len(overload.returned) :]
        return host_result(values if len(values) > 1 else values[0] if values else None)

    def _refusal(self, args: Sequence[Any]) -> KernelTypeError:
        types = ", ".join(type_name(type(a)) for a in args)
        return KernelTypeError(f"{self.name}: no overload for ({types})", expected=self.signatures())

    def __repr__(self) -> str:
        return f"<func {self.name}>"

    def signatures(self) -> str:
        """The overloads as messages print them, equal ones once."""
        return "; ".join(dict.fromkeys(o.describe() for o in self.overloads))

    def inout(self, count: int, keywords: list[str]) -> dict[int, str]:
        """What a call with so many arguments rebinds, known before their types: overloads that differ in it take
        different numbers of arguments."""
        by_name = dict.fromkeys(keywords)
        return next((o.inout for o in self.overloads if o.bind([None] * count, by_name) is not None), {})

    def takes(self, args: list[Any]) -> bool:
        """Whether some overload takes these operands."""
        return any((bound := o.bind(args, {})) is not None and o.match(bound) is not None for o in self.overloads)

    def find(self, args: list[Any], keywords: dict[str, Any]) -> tuple[Overload, list[Any]]:
        """The overload for the operands: the fewest literals of another type, then exact ones before generic ones."""
        fits = []
        for order, overload in enumerate(self.overloads):
            operands = overload.bind(args, keywords)
            converted = None if operands is None else overload.match(operands)
            if operands is not None and converted is not None:
                adapted = sum(_adapts(before, after) for before, after in zip(operands, converted, strict=True))
                fits.append(((adapted, overload.generic, order), overload, converted))
        if fits:
            _, overload, converted = min(fits, key=lambda fit: fit[0])
            return overload, converted
        shown = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in keywords.items())])
        raise KernelTypeError(
            f"{self.name}: no overload for ({shown})",
            expected=self.signatures(),
            help="convert the arguments, or annotate the function with Any",
        )

    def call(self, caller: Translator, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Translate for these operands if need be, and append the call.

        Functions defined inside the caller see its values, so what takes or returns one is translated in place.
        """
        overload, operands = self.find(args, keywords)
        if overload.library and overload.generic and any(map(is_bfloat16, operands)):
            return narrow(caller, self.call(caller, widen(caller, operands), {}))
        if any(map(_holds_local, operands)):
            return expand(caller, refuse_custom(overload), operands)
        fn, template = translate(overload, operands, caller)
        if _holds_local(template):
            return expand(caller, refuse_custom(overload), operands)
        values = tuple(v for o in operands for v in runtime_values(o))
        result = caller.builder.call(fn, values, fn.result_types)
        results = result if isinstance(result, tuple) else (() if result is None else (result,))
        note_results(caller, caller.builder.region.nodes[-1])  # type: ignore[arg-type]
        return rebuild_result(template, list(results))


@dataclass(frozen=True)
class Use:
    """An overload at given operands, and what it returns there; `sites` are the calls that led to it."""

    overload: Overload
    operands: list[Any]
    template: Any
    session: dict[Any, Any]
    sites: tuple[Location, ...]


class Translated(Function):
    """The IR of an overload; its gradient and replay are translated when a compiler asks, so launches never pay."""

    def __init__(
        self, name: str, body: Region, location: Location | None = None, effect: str = "call",
        grad: Function | None = None, replay: Function | None = None, nondiff: str = "", use: Use | None = None,
    ):  # fmt: skip
        self.use = use
        self.made: dict[str, Function | None] = {}
        self.asking = False  # while a gradient or replay is translated
        super().__init__(name, body, location, effect, grad, replay, nondiff)
        if use is not None:
            self.made.clear()

    def custom(self, kind: str) -> Function | None:
        """What the user declared for these types: the first that fits, exact ones before generic ones."""
        if kind not in self.made and self.use is not None:
            if self.asking:
                cure = "write the derivative out, or take that of another function"
                raise CustomGradientError(f"the gradient of {self.name!r} asks for its own derivative", help=cure)
            self.use.overload.differentiated = self.asking = True
            try:
                overloads = (custom.at(self.use) for custom in self.use.overload.customs[kind])
                self.made[kind] = next((fn for fn in overloads if fn is not None), None)
            finally:
                self.asking = False
        return self.made[kind]

    @property
    def is_custom(self) -> bool:
        """Known from the declarations, without translating them."""
        if self.use is None:
            return super().is_custom
        self.use.overload.differentiated = True
        declared = (custom for customs in self.use.overload.customs.values() for custom in customs)
        return any(custom.own.fits(self.use.operands) for custom in declared)

    grad = property(lambda self: self.custom("grad"), lambda self, fn: self.made.update(grad=fn))
    replay = property(lambda self: self.custom("replay"), lambda self, fn: self.made.update(replay=fn))


def refuse_custom(overload: Overload) -> Overload:
    """Refuse to translate a function in place whose gradient the user wrote: it would be derived instead."""
    if overload.nondiff or any(overload.customs.values()):
        own = "is declared nondiff" if overload.nondiff else "has a gradient or replay of its own"
        raise CustomGradientError(
            f"{overload.function.__name__!r} {own}, and takes or returns a function that is defined inside the kernel",
            help="define that function outside, with @wp.func",
        )
    return overload


def translate(overload: Overload, operands: list[Any], caller: Translator) -> tuple[Function, Any]:
    """The IR of an overload at the operands' types, and the shape of its result."""
    key = operand_key(operands)
    cache: dict[Any, tuple[Function, Any]]
    cache = overload.translated if overload.library else caller.session.setdefault(overload, {})
    if key not in cache:
        check_recursion(overload, key, caller)
        cache[key] = translate_overload(caller, overload, operands, key)
    return cache[key]


def expand(tr: Translator, overload: Overload, operands: list[Any]) -> Any:
    """Translate an overload here and now: it takes or returns a function that sees this one's values."""
    key = operand_key(operands)
    check_recursion(overload, key, tr)
    scope = Scope(zip(overload.patterns, operands, strict=True))
    inner = Translator(overload.source, tr.builder, scope, tr, (overload, key))
    inner.expected = declared_type(overload.returns)
    return typed_result(with_references(overload, inner, operands, result_with_chain(inner)))


def translate_overload(tr: Translator, overload: Overload, operands: list[Any], key: object) -> tuple[Function, Any]:
    """An overload as an IR Function of its own, with errors that show the chain of calls."""
    return with_zeros(lambda zeros: translated_from(tr, overload, operands, key, zeros))


def translated_from(
    tr: Translator, overload: Overload, operands: list[Any], key: object, zeros: dict[str, Any]
) -> tuple[Function, Any]:
    """The same, where locals begin with a value."""
    scope, params = parameters(operands, list(overload.patterns))
    region = Region(params)
    builder = Builder(region)
    inner = Translator(overload.source, builder, scope, tr, (overload, key))
    note_params(inner, params)
    settle_customs(overload)
    start_with(inner, zeros)
    inner.expected = declared_type(overload.returns)
    with builder.active():
        template = typed_result(with_references(overload, inner, operands, result_with_chain(inner)))
    region.yields = tuple(runtime_values(template))
    sites = tuple(inner.call_sites()) if any(overload.customs.values()) else ()
    use = Use(overload, operands, template, tr.session, sites)
    fn = Translated(overload.function.__name__, region, overload.source.whole(), nondiff=overload.nondiff, use=use)
    if overload.nondiff:
        refuse_writes(fn)
        with builder.active():
            region.yields = tuple(map(as_constant, region.yields))
    return fn, template


def settle_customs(overload: Overload) -> None:
    """Read the constants of gradients and replays with those of their function, which may be compiled long before."""
    for custom in (custom for customs in overload.customs.values() for custom in customs):
        for each in (custom.own, *called_by(custom.own.source)):
            if not each.library:
                each.source.captured.settle_constants()


def with_references(overload: Overload, inner: Translator, operands: list[Any], result: object) -> Any:
    """What a function returns, after what its body left in the parameters that are references."""
    if not overload.references:
        return result
    types = {name: operands[k].type for k, name in overload.references.items()}
    states = [convert(inner.lookup(name), t, f"what {name!r} refers to") for name, t in types.items()]
    parts = result if isinstance(result, tuple) else (() if result is None else (result,))
    return (*states, *parts) if len(states) + len(parts) > 1 else states[0]


def check_recursion(overload: Overload, key: Any, caller: Translator) -> None:
    """Refuse a call that is being translated already, and chains that never end (a tuple that grows)."""
    active = [at.key for at in caller.callers()]
    same = sum(entry is not None and entry[0] is overload for entry in active)
    if (overload, key) in active or same >= MAX_SELF_CALLS or len(active) > MAX_CALLS:
        raise RecursionNotSupportedError(
            f"{overload.function.__name__!r} calls itself",
            help="write a loop, or an explicit stack in a local array",
        )


def runtime_values(operand: object) -> list[Value]:
    """The Values that travel through parameters."""
    if isinstance(operand, tuple):
        return [v for part in operand for v in runtime_values(part)]
    return [operand] if isinstance(operand, Value) else []


def parameters(operands: list[Any], names: list[str]) -> tuple[Scope, tuple[Value, ...]]:
    """Fresh parameters for the operands, and the scope that names them."""
    scope, params = Scope(), []

    def fresh(operand: object, name: str) -> Any:
        if isinstance(operand, tuple):
            return tuple(fresh(part, name) for part in operand)
        if isinstance(operand, Value):
            params.append(Value(operand.type, name))
            return params[-1]
        return operand

    for name, operand in zip(names, operands, strict=True):
        scope[name] = fresh(operand, name)
    return scope, tuple(params)


def rebuild_result(template: object, values: list[Any]) -> Any:
    """Results put back into the shape the function returned; compile-time parts as they were."""
    if isinstance(template, tuple):
        return tuple(rebuild_result(part, values) for part in template)
    return values.pop(0) if isinstance(template, Value) else template


def operand_key(operand: object) -> Any:
    """What a translation depends on: types of run-time values, and compile-time operands themselves."""
    if isinstance(operand, (tuple, list)):
        return tuple(map(operand_key, operand))
    if isinstance(operand, Value):
        return operand.type
    if isinstance(operand, ArraySlice):
        return operand.view_type
    try:
        hash(operand)
    except TypeError:
        cure = "use it with wp.static inside the function, or pass an array"
        raise KernelTypeError(f"{describe(operand)} cannot be an argument of a function", help=cure) from None
    return Static(operand)


def _holds_local(operand: object) -> bool:
    """Whether an operand is made of values of the function around it: a function, a slice of an array, an address."""
    if isinstance(operand, tuple):
        return any(map(_holds_local, operand))
    return isinstance(operand, (LocalFunction, ArraySlice, Address, LocalAddress))


def _adapts(before: object, after: object) -> bool:
    """Whether a literal takes another type than its own."""
    return not isinstance(before, Value) and isinstance(after, Value) and typed_value(before).type is not after.type


def func(
    f: Callable[..., Any] | None = None, *, name: str | None = None, inout: tuple[str, ...] = (),
    overload_of: Func | None = None, nondiff: str | None = None, module: Any = None, inline: bool | None = None,
) -> Any:  # fmt: skip
    """Make a Python function callable from kernels.

    Two functions of one name in one module are overloads, chosen by argument types; one with the types of
    another replaces it, for kernels too that were defined before. `inout` names parameters whose new values the
    function returns first and its caller's variables receive; overloads that differ in that take different
    numbers of arguments.

    nondiff: why the results have no derivative ("a face is a number"), so that they are constants to gradients and
    tangents of every order. Such a function changes no array of floats: it returns what it computes.

    `module` and `inline` have no effect: a function is compiled into every kernel that calls it, and inlined there,
    unless it is large, called often and `nondiff`.
    """
    if not isinstance(inline, bool | None):
        raise TypeError(f"inline must be a bool, not {inline!r}")

    def wrap(function: Callable[..., Any]) -> Func:
        instance(function, FunctionType, "what @wp.func decorates")
        if nondiff is not None and not instance(nondiff, str, "nondiff, the reason why results have no derivative,"):
            raise ArgumentTypeError("nondiff is empty\nexpected: the reason why results have no derivative")
        if name is not None:
            function.__name__ = name
        if overload_of is not None:
            overload_of.add(function, inout, nondiff or "")
            return definitions.declare(overload_of)
        before = definitions.FUNCTIONS.get((function.__module__, function.__qualname__))
        overloaded = type(before) is Func and "<locals>" not in function.__qualname__
        return definitions.declare(Func(function, inout, before if overloaded else None, nondiff or ""))

    return wrap(f) if f is not None else wrap


def called_by(source: Source) -> set[Overload]:
    """All that code of this source can call by names of functions, directly or through others, as they are now."""
    if source.is_library and not source.function.__code__.co_freevars:
        return set()  # none of the user's: functions of the package are not defined again
    overloads: set[Overload] = set()
    waiting = [overload for callee in source.captured.functions() for overload in callee.overloads]
    while waiting:
        overload = waiting.pop()
        if overload not in overloads:
            overloads.add(overload)
            waiting.extend(custom.own for customs in overload.customs.values() for custom in customs)
            inner = () if overload.library else overload.source.captured.functions()
            waiting.extend(each for callee in inner for each in callee.overloads)
    return overloads

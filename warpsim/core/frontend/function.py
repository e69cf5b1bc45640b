"""The translation of one function: the last class of the chain, and the entry for kernels.

    Translator -> Branches -> Expressions -> Places -> Loops -> Statements -> Constructors -> Calls
    (state)       (either)    (values)       (targets) (for)    (flow)        (new values)    (what a call means)
    -> FunctionTranslator
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...errors import CompilerError, KernelError, KernelErrors, KernelTypeError
from ..ir.builder import Builder
from ..ir.nodes import Call, Function, Region, Value, walk
from ..types import compounds, scalars, structs
from ..types.arrays import ArrayType, type_name
from ..types.signatures import CompoundPattern, is_generic
from . import names
from .calls import Calls
from .fence import fence
from .functions import (
    Func,
    LocalFunction,
    Translated,
    Use,
    check_recursion,
    func,
    operand_key,
    parameters,
    runtime_values,
)  # fmt: skip
from .nondiff import as_constant, refuse_writes
from .overloads import Overload
from .scope import RESULT, RETURNED, Scope, typed
from .source import Source
from .statements import result_of
from .translator import MAX_ERRORS, Suppressed, Translator

__all__ = ["Func", "FunctionTranslator", "func", "function_results", "kernel_function", "thread_rank"]


class FunctionTranslator(Calls):
    """Translates the body of a kernel or function into a region."""

    def __init__(
        self, source: Source, builder: Builder, scope: Scope, caller: Translator | None = None,
        key: Any = None, session: dict | None = None, kernel: bool = False, node: Any = None,
    ):  # fmt: skip
        super().__init__(source, builder, scope, caller)
        self.key, self.kernel = key, kernel
        self.session: dict = session if session is not None else {}
        self.body_node = node if node is not None else source.tree
        self.expected: Any = None
        body = [] if isinstance(self.body_node, ast.Lambda) else self.body_node.body
        self.locals = frozenset(names.assigned(body, lambda call: ())[0])
        self.returns_value = any(has_value(r) for r in names.returns(body))

    # ----- the stack of translations ----------------------------------------------------------

    def callers(self) -> Iterator[FunctionTranslator]:
        at: Any = self
        while at is not None:
            yield at
            at = at.caller

    def stack(self) -> list[Any]:
        return [t.key for t in self.callers()]

    def active_nodes(self) -> list[ast.AST]:
        return [t.body_node for t in self.callers()]

    # ----- bodies -----------------------------------------------------------------------------

    def run(self) -> Any:
        """Translate the body; returns the result operand. Raises all errors of the body at once."""
        refused = fence(self.source) if self.body_node is self.source.tree else []
        if refused:
            raise_all(refused)
        try:
            if isinstance(self.body_node, ast.Lambda):
                self.scope[RESULT] = self.expr(self.body_node.body)
            else:
                self.statements(self.body_node.body)
            result = result_of(self.scope)
        except KernelError as error:
            if error not in self.errors and len(self.errors) < MAX_ERRORS:
                error.location = error.location or self.source.whole()
                self.errors.append(error)
            raise_all(self.errors)
        except Suppressed:
            raise_all(self.errors)
        if self.errors:
            raise_all(self.errors)
        if result is not None and self.scope.get(RETURNED, True) is not True:
            raise KernelTypeError(
                f"{self.source.name!r} returns a value on some paths only", self.source.whole(),
                help="end the function with a return",
            )  # fmt: skip
        return result

    def returned_value(self, node: ast.Return) -> Any:
        value = None if node.value is None else self.expr(node.value)
        if self.kernel and value is not None:
            raise KernelTypeError("a kernel returns nothing", help="write the result to an array argument")
        if value is None and self.returns_value:
            raise KernelTypeError("this returns nothing, and elsewhere the function returns a value")
        if value is not None and self.expected is not None:
            value = self.as_declared(value, self.expected)
        return value

    def as_declared(self, value: Any, wanted: Any) -> Any:
        """The returned operand converted to the annotation, where that is concrete."""
        if isinstance(wanted, tuple):
            parts = value if isinstance(value, tuple) else (value,)
            if len(parts) != len(wanted):
                raise KernelTypeError(f"{len(parts)} values returned", expected=f"{len(wanted)} by the annotation")
            return tuple(self.as_declared(v, w) for v, w in zip(parts, wanted, strict=True))
        t = scalars.canonical(wanted)
        if not (scalars.is_scalar(t) or compounds.is_compound(t) or structs.is_struct(t)):
            return value
        if isinstance(value, tuple):
            raise KernelTypeError(f"{len(value)} values returned", expected=f"one {type_name(t)} by the annotation")
        return self.convert(value, t, "the returned value")

    def inlined(self, function: LocalFunction, bound: dict[str, Any]) -> Any:
        """Translate a local function's body here and now; it sees the scope of the function around it."""
        definer = function.definer
        inner = FunctionTranslator(
            definer.source, self.builder, Scope(), self, session=self.session, node=function.node
        )
        around = {k: v for k, v in definer.scope.items() if k not in inner.locals and not k.startswith("<")}
        inner.scope.update(around, **bound)
        inner.locals |= definer.locals - set(bound)
        return self.result_with_chain(inner)

    def expanded(self, overload: Overload, operands: list[Any]) -> Any:
        """Translate an overload here and now: it takes or returns a function that sees this one's values."""
        key = operand_key(operands)
        check_recursion(overload, key, self)
        scope = Scope(zip(overload.patterns, operands, strict=True))
        inner = FunctionTranslator(overload.source, self.builder, scope, self, (overload, key), self.session)
        inner.expected = declared(overload.returns)
        return typed_result(self.result_with_chain(inner))

    def result_with_chain(self, inner: FunctionTranslator) -> Any:
        """What a called function returns; its errors show the calls that led there."""
        try:
            return inner.run()
        except KernelError as error:
            add_chain(error, inner.call_sites())
            raise

    def translate_function(self, overload: Overload, operands: list[Any], key: Any) -> tuple[Function, Any]:
        """An overload as an IR Function of its own, with errors that show the chain of calls."""
        scope, params = parameters(operands, list(overload.patterns))
        region = Region(params)
        builder = Builder(region)
        inner = FunctionTranslator(overload.source, builder, scope, self, (overload, key), self.session)
        inner.expected = declared(overload.returns)
        template = typed_result(self.result_with_chain(inner))
        region.yields = tuple(runtime_values(template))
        sites = tuple(inner.call_sites()) if any(overload.customs.values()) else ()
        use = Use(overload, operands, template, self.session, sites)
        fn = Translated(overload.function.__name__, region, overload.source.whole(), nondiff=overload.nondiff, use=use)
        if overload.nondiff:
            refuse_writes(fn)
            with builder.active():
                region.yields = tuple(map(as_constant, region.yields))
        return fn, template


def kernel_function(source: Source, patterns: dict[str, Any], types: list[Any]) -> Function:
    """A kernel at concrete parameter types as an IR Function."""
    params = tuple(Value(t, name) for name, t in zip(patterns, types, strict=True))
    region = Region(params)
    scope = Scope(zip(patterns, params, strict=True))
    FunctionTranslator(source, Builder(region), scope, None, None, {}, kernel=True).run()
    return Function(source.name, region, source.whole())


def function_results(source: Source, names: list[str], types: list[Any]) -> tuple[Any, ...]:
    """The types that a plain function returns at concrete parameter types. Raises `KernelError`."""
    scope, params = parameters([Value(t, name) for name, t in zip(names, types, strict=True)], names)
    translator = FunctionTranslator(source, Builder(Region(params)), scope, None, None, {})
    result = typed_result(translator.run())
    parts = result if isinstance(result, tuple) else (result,)
    return tuple(part.type if isinstance(part, Value) else None for part in parts)


def thread_rank(fn: Function) -> int:
    """How many indices the kernel's `tid()` has; 0 when it never asks. Raises when calls disagree."""
    ranks: dict[int, Any] = {}
    for node in walk(fn.body):
        if isinstance(node, Call) and node.op.name == "tid":
            ranks.setdefault(node.attributes["ndim"], node.location)
    if len(ranks) > 1:
        (first, _), (second, place) = list(ranks.items())[:2]
        raise KernelTypeError(
            f"tid() is unpacked into {second} names here and into {first} elsewhere", place,
            help="use one form in a kernel and in the functions it calls",
        )  # fmt: skip
    return next(iter(ranks), 0)


def declared(annotation: Any) -> Any:
    """A return annotation as a type, a tuple of types, or None when it says nothing concrete."""
    if annotation is None or annotation is type(None):
        return None
    origin = getattr(annotation, "__origin__", None)
    if origin is tuple:
        return tuple(annotation.__args__)
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    if isinstance(annotation, (CompoundPattern, ArrayType)) or is_generic(annotation):
        return None
    return annotation


def has_value(node: ast.Return) -> bool:
    return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)


def raise_all(errors: list[KernelError]) -> None:
    """Raise one error, or several together."""
    flat = [e for error in errors for e in (error.errors if isinstance(error, KernelErrors) else [error])]
    if not flat:
        raise CompilerError("translation stopped without an error to report")
    raise flat[0] if len(flat) == 1 else KernelErrors(flat)


def add_chain(error: KernelError, sites: list[Any]) -> None:
    for each in error.errors if isinstance(error, KernelErrors) else [error]:
        if not each.chain:
            each.chain = tuple(sites)


def typed_result(result: Any) -> Any:
    """Literals among results become Values, so that callers see run-time values."""
    if isinstance(result, tuple):
        return tuple(typed_result(part) for part in result)
    if result is None or isinstance(result, Value):
        return result
    try:
        return typed(result)
    except KernelTypeError:
        return result

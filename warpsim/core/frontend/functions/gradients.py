"""`@func_grad` and `@func_replay`: what replaces the derived adjoint of a function, and what runs again in reverse.

    @wp.func_grad(safe_sqrt)
    def adj_safe_sqrt(x: float, adj_ret: float):
        if x > 0.0:
            wp.adjoint[x] += 0.5 / wp.sqrt(x) * adj_ret

A gradient takes the parameters of its function and one adjoint per output. In it `wp.adjoint[x]` is a local
variable of the type of `x`, zero at first; what it holds at the end goes to the caller. For an array it is the
gradient array, written in place where the array has one.

Both are translated at the types of the function when a compiler asks for them. Declared after something was
differentiated, they make everything compiled until then compile again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ....errors import CustomGradientError, KernelError, counted
from ...ir.builder import Builder
from ...ir.nodes import Function, Region
from ...ops.registry import Op
from ...types.arrays import type_name
from ...types.scalars import canonical
from ...types.signatures import is_generic, match
from ..source import names
from ..translate.bodies import add_chain, declared_type, run_body, typed_result
from ..translate.scope import describe
from ..translate.translator import Translator
from .definitions import FUNCTIONS, extend_library
from .functions import Func, Use, operand_key, parameters, runtime_values
from .gradient_bodies import CotangentNames, GradientTranslator
from .native import NativeFunc
from .overloads import Overload, takes_function

FORGET: list[Callable[[], None]] = []
"""Called when a declaration changes what was compiled before: caches of programs empty themselves."""


# ----- declarations -------------------------------------------------------------------------


def func_grad(forward_fn: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: the gradient of the function `forward_fn`, instead of the derived one.

    The decorated function has the parameters of `forward_fn` and one adjoint per output, under any names, and
    returns nothing: it changes `wp.adjoint[x]` for the inputs `x`. It is used for the overloads whose
    parameters fit. Raises `CustomGradientError` when it fits none.
    """
    return _declaration(forward_fn, CustomGradient)


def func_replay(forward_fn: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what runs in a backward pass to compute the results of the function `forward_fn` again.

    The decorated function has the parameters and results of `forward_fn`. Raises `CustomGradientError` when it
    fits no overload.
    """
    return _declaration(forward_fn, CustomReplay)


def _declaration(forward: object, kind: type[Custom]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if not isinstance(forward, Func):
        builtin = isinstance(forward, Op)
        cure = "wrap it in a function made by @wp.func" if builtin else "decorate it with @wp.func first"
        raise CustomGradientError(
            f"{kind.decorator} is given {describe(forward)}",
            found="a built-in" if builtin else type(forward).__name__,
            expected="a function made by @wp.func",
            help=cure,
        )

    if isinstance(forward, NativeFunc):
        raise CustomGradientError(
            f"{kind.decorator} is given the native function {forward.name!r}",
            help="give func_native the text: adj_snippet= or replay_snippet=",
        )

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        kind(forward, function).attach()
        return function

    return declare


class Custom:
    """A gradient or replay that a user wrote for a function."""

    decorator = ""
    field = ""  # of the IR Function

    def __init__(self, forward: Func, function: Callable[..., Any]):
        self.forward, self.own = forward, Overload(function)
        self.only = False  # whether the function it is for has no other overload that it could be meant for

    def attach(self) -> None:
        """Add this to every overload that it fits; it replaces one with the same parameters."""
        misfits = [(overload, self.refusal(overload)) for overload in self.forward.overloads]
        fitting = [overload for overload, why in misfits if why is None]
        if not fitting:
            raise self.error(
                "; ".join(f"for {overload.describe()}: {why}" for overload, why in misfits),
                expected=" or ".join(self.expectation(overload) for overload in self.forward.overloads),
                help="give it the parameters of the function, with the same types",
            )
        self.only = len(fitting) == 1
        for overload in fitting:
            others = [c for c in overload.customs[self.field] if c.patterns != self.patterns]
            overload.customs[self.field] = sorted([self, *others], key=lambda custom: custom.own.generic)
        if not self.own.library and any(overload.library for overload in fitting):
            extend_library()
            forget_compiled()
        elif any(overload.differentiated for overload in fitting):
            forget_compiled()

    @property
    def patterns(self) -> list[Any]:
        return list(self.own.patterns.values())

    def error(self, message: str, **facts: Any) -> CustomGradientError:
        what = f"{self.own.function.__name__!r} does not fit {self.decorator}({self.forward.name}): {message}"
        return CustomGradientError(what, self.own.source.whole(), **facts)

    def refusal(self, overload: Overload) -> str | None:
        """Why this cannot belong to an overload, or None."""
        if overload.nondiff:
            return f"it is declared to have no derivative ({overload.nondiff})"
        return self.misfit(overload)

    def misfit(self, overload: Overload) -> str | None:
        """Why the parameters do not fit those of an overload, or None."""
        raise NotImplementedError

    def expectation(self, overload: Overload) -> str:
        """The parameters that would fit."""
        raise NotImplementedError

    def at(self, use: Use) -> Function | None:
        """The IR for an overload at given types; None when this is for other types."""
        raise NotImplementedError

    def parameter_misfit(self, overload: Overload) -> str | None:
        for (name, expected), pattern in zip(overload.patterns.items(), self.patterns, strict=False):
            if not compatible(pattern, expected):
                return f"parameter {name!r} is {_show(expected)}, here {_show(pattern)}"
        return None

    def translate_body(self, translator: Translator, use: Use) -> Any:
        """Translate the body; errors show the calls of the function that led here."""
        try:
            return run_body(translator)
        except KernelError as error:
            add_chain(error, list(use.sites))
            raise


def forget_compiled() -> None:
    """Empty the caches of what was compiled with other gradients."""
    for func in list(FUNCTIONS.values()):
        for overload in func.overloads:
            overload.translated.clear()
            overload.differentiated = False
    for forget in FORGET:
        forget()


def compatible(own: object, other: object) -> bool:
    """Whether some type fits both of two annotations."""
    if takes_function(own) or takes_function(other) or (is_generic(own) and is_generic(other)):
        return True
    return match(other, canonical(own), {}) if is_generic(other) else match(own, canonical(other), {})


# ----- gradients ----------------------------------------------------------------------------


class CustomGradient(Custom):
    """Takes parameters and adjoints of the results, yields the adjoints of parameters that have a derivative."""

    decorator, field = "func_grad", "grad"

    def __init__(self, forward: Func, function: Callable[..., Any]):
        super().__init__(forward, function)
        tree = self.own.source.tree
        if isinstance(tree, ast.Lambda) or any(names.has_value(r) for r in names.returns(tree.body)):
            cure = "write wp.adjoint[x] += ... for each input x"
            raise self.error("it returns a value", expected="no result", help=cure)
        known = list(self.own.signature.parameters)
        renaming = CotangentNames(self.own.source, known, known[: len(forward.overloads[0].patterns)])
        self.own.source.tree = renaming.visit(tree)

    def misfit(self, overload: Overload) -> str | None:
        count = len(self.patterns) - len(overload.patterns)
        if count < 0:
            return f"it has {counted(len(self.patterns), 'parameter')}"
        outputs = output_patterns(overload)
        least = 1 if outputs is None else len(outputs)
        if count < least or (outputs is not None and count > least):
            needed = "at least 1" if outputs is None else str(least)
            return f"it has {counted(count, 'adjoint parameter')}, expected {needed}, one per output"
        adjoints = self.patterns[len(overload.patterns) :]
        for k, (pattern, output) in enumerate(zip(adjoints, outputs or (), strict=False)):
            if not compatible(pattern, output):
                return f"the adjoint of output {k} is {_show(output)}, here {_show(pattern)}"
        return self.parameter_misfit(overload)

    def expectation(self, overload: Overload) -> str:
        outputs = output_patterns(overload)
        shown = ["adj_ret", "..."] if outputs is None else [f"adj_{k}: {_show(p)}" for k, p in enumerate(outputs)]
        return f"({', '.join([*_shown_parameters(overload), *shown])})"

    def at(self, use: Use) -> Function | None:
        if not self.own.fits(use.operands):
            return None
        outputs = _parts(use.template)
        count = len(self.patterns) - len(use.operands)
        adjoints = [f"adj_{k}: {describe(o)}" for k, o in enumerate(outputs)]
        signature = f"({', '.join([*_shown_parameters(use.overload), *adjoints])})"
        if count != len(outputs):
            if not self.only:
                return None
            name = use.overload.function.__name__
            returned = counted(len(outputs), "value")
            why = f"it has {counted(count, 'adjoint parameter')}, and {name} returns {returned}"
            raise self.error(why, expected=signature, help="one adjoint per output, after the inputs")
        if not self.own.fits([*use.operands, *outputs]):
            shown = ", ".join(_show(p) for p in self.patterns[len(use.operands) :])
            why = f"its adjoint parameters are {shown}, and the outputs {', '.join(map(describe, outputs))}"
            raise self.error(why, expected=signature, help="an adjoint has the type of its output")
        return self.translate(use, outputs)

    def translate(self, use: Use, outputs: list[Any]) -> Function:
        operands, source = [*use.operands, *outputs], self.own.source
        scope, params = parameters(operands, list(self.own.patterns))
        inputs = dict(list(scope.items())[: len(use.operands)])
        region = Region(params)
        builder = Builder(region, source.whole())
        key = (self.own, operand_key(operands))
        translator = GradientTranslator(source, builder, scope, None, key)
        translator.session = use.session
        translator.begin(inputs)
        self.translate_body(translator, use)
        region.yields = translator.cotangents()
        return Function(self.own.function.__name__, region, source.whole())


# ----- replays ------------------------------------------------------------------------------


class CustomReplay(Custom):
    """Takes the parameters of its function and gives its results."""

    decorator, field = "func_replay", "replay"

    def misfit(self, overload: Overload) -> str | None:
        if len(self.patterns) != len(overload.patterns):
            return f"it has {counted(len(self.patterns), 'parameter')}, expected {len(overload.patterns)}"
        expected, returned = output_patterns(overload), output_patterns(self.own)
        if expected is not None and returned is not None:
            shown = ", ".join(map(_show, returned)) or "nothing"
            if len(expected) != len(returned) or not all(map(compatible, returned, expected)):
                return f"it returns {shown}, expected {', '.join(map(_show, expected)) or 'nothing'}"
        return self.parameter_misfit(overload)

    def expectation(self, overload: Overload) -> str:
        return f"({', '.join(_shown_parameters(overload))})"

    def at(self, use: Use) -> Function | None:
        if not self.own.fits(use.operands):
            return None
        scope, params = parameters(use.operands, list(self.own.patterns))
        region = Region(params)
        key = (self.own, operand_key(use.operands))
        translator = Translator(self.own.source, Builder(region), scope, None, key)
        translator.session = use.session
        translator.expected = declared_type(self.own.returns)
        result = typed_result(self.translate_body(translator, use))
        if operand_key(result) != operand_key(use.template):
            raise self.error(
                f"it returns {_results(result)}, and {use.overload.function.__name__} returns {_results(use.template)}",
                help="return values of the same types, in the same order",
            )
        region.yields = tuple(runtime_values(result))
        return Function(self.own.function.__name__, region, self.own.source.whole())


# ----- what functions return ----------------------------------------------------------------


def output_patterns(overload: Overload) -> list[Any] | None:
    """The declared types of what a function returns; None where it does not say."""
    returns, tree = overload.returns, overload.source.tree
    if isinstance(tree, ast.FunctionDef) and not any(map(names.has_value, names.returns(tree.body))):
        return []
    if returns is None:
        return None
    if getattr(returns, "__origin__", None) is tuple:
        return list(returns.__args__)
    return list(returns) if isinstance(returns, (tuple, list)) else [returns]


def _parts(template: object) -> list[Any]:
    if template is None:
        return []
    return list(template) if isinstance(template, tuple) else [template]


def _results(template: object) -> str:
    return "nothing" if template is None else describe(template)


def _show(pattern: object) -> str:
    return "Any" if pattern is Any else type_name(canonical(pattern))


def _shown_parameters(overload: Overload) -> list[str]:
    return [f"{name}: {_show(pattern)}" for name, pattern in overload.patterns.items()]

"""The way into the front end: a kernel, or what a function returns, translated at concrete types."""

from __future__ import annotations

from typing import Any

from ...errors import KernelTypeError
from ..ir.builder import Builder
from ..ir.nodes import Call, Function, Region, Value, walk
from .functions.functions import parameters
from .rules import calls, loops, operators, statements  # noqa: F401 - with `parts` and more, they enter all rules
from .source.source import Source
from .translate.bodies import run_body, typed_result
from .translate.missing_values import start_with, with_zeros
from .translate.scope import Scope
from .translate.translator import Translator


def kernel_function(source: Source, patterns: dict[str, Any], types: list[Any]) -> Function:
    """A kernel at concrete parameter types as an IR Function."""

    def translate(zeros: dict[str, Any]) -> Function:
        params = tuple(Value(t, name) for name, t in zip(patterns, types, strict=True))
        region = Region(params)
        tr = Translator(source, Builder(region), Scope(zip(patterns, params, strict=True)))
        tr.kernel = True
        start_with(tr, zeros)
        run_body(tr)
        return Function(source.name, region, source.whole())

    return with_zeros(translate)


def function_results(source: Source, names: list[str], types: list[Any]) -> tuple[Any, ...]:
    """The types that a plain function returns at concrete parameter types. Raises `KernelError`."""

    def translate(zeros: dict[str, Any]) -> Any:
        scope, params = parameters([Value(t, name) for name, t in zip(names, types, strict=True)], names)
        tr = Translator(source, Builder(Region(params)), scope)
        start_with(tr, zeros)
        return typed_result(run_body(tr))

    result = with_zeros(translate)
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
            f"tid() is unpacked into {second} names here and into {first} elsewhere",
            place,
            help="use one form in a kernel and in the functions it calls",
        )
    return next(iter(ranks), 0)

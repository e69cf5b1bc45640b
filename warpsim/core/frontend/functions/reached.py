"""Names reached by functions, as text: a module's digest changes with what they mean now."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator

import numpy as np

from ....errors import UnsupportedSyntaxError
from ...ops.registry import Op
from ...types import compounds, structs
from ..source.source import Source
from ..translate.scope import is_number
from .functions import Func
from .overloads import Overload


def meanings(source: Source, seen: set[int] | None = None) -> Iterator[str]:
    """The names that a function takes from outside, each with its present meaning, and so on in functions among these.

    Names of kernels are settled when these are defined: a meaning of today is not always that of the program.
    """
    captured, seen = source.captured, set() if seen is None else seen
    for path in sorted({*captured.settled, *captured.late}):
        yield f"{path}: {meaning_of(captured.now(path), seen)}"


def meaning_of(thing: object, seen: set[int]) -> str:
    """A constant by its value, a function by its text and what that reaches, all else by its class."""
    if isinstance(thing, Func):
        return "; ".join(_overload(overload, seen) for overload in thing.overloads)
    if isinstance(thing, Op):
        return f"op {thing.name}"
    if is_number(thing) or isinstance(thing, (str, compounds.Compound)):
        return f"{type(thing).__name__} {thing!r}"
    if isinstance(thing, structs.Struct):
        return f"{type(thing).__name__} {meaning_of({n: getattr(thing, n) for n in type(thing).fields}, seen)}"
    if isinstance(thing, np.ndarray):
        return f"{thing.dtype} {thing.shape} {hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()}"
    if isinstance(thing, (tuple, list)):
        return f"{type(thing).__name__} [{', '.join(meaning_of(part, seen) for part in thing)}]"
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{key!r}: {meaning_of(part, seen)}" for key, part in thing.items()) + "}"
    return thing.__name__ if isinstance(thing, type) else type(thing).__name__


def _overload(overload: Overload, seen: set[int]) -> str:
    """An overload: that of the library by its name, one of the user's by its text, once."""
    name = overload.function.__name__
    if overload.library or id(overload) in seen:
        return name
    seen.add(id(overload))
    defaults = [meaning_of(p.default, seen) for p in overload.signature.parameters.values()]
    try:
        source = overload.source
    except UnsupportedSyntaxError:  # a function that Python alone can run
        return f"{name} {defaults}"
    return "\n".join((name, ast.dump(source.tree), str(defaults), *meanings(source, seen)))

"""Scopes around a definition that runs now, in which annotations are evaluated that Python keeps as texts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

CURE = (
    "the functions around a definition are searched while they run:"
    " define it inside of them, or drop `from __future__ import annotations` in that file"
)
"""What helps where an annotation names what no scope has."""


def names_around(definition: type | Callable[..., Any]) -> dict[str, Any]:
    """Globals of the module, and locals of the functions around a class or function, those of inner ones before outer.

    A function also sees those of the class whose body it stands in, as its annotations do where they are no texts.
    """
    around, module = _scopes(definition), definition.__module__
    scopes: list[dict[str, Any]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (around or not scopes):
        if frame.f_globals.get("__name__") == module:
            scopes = scopes or [frame.f_globals]
            if around and frame.f_code.co_name == around[-1]:
                around.pop()
                scopes.insert(1, frame.f_locals)
        frame = frame.f_back
    return {name: value for scope in scopes for name, value in scope.items()}


def _scopes(definition: type | Callable[..., Any]) -> list[str]:
    """Names of the functions around a definition, the innermost last, and of the class around a function."""
    *functions, rest = definition.__qualname__.split(".<locals>.")
    classes = [] if isinstance(definition, type) else rest.split(".")[:-1]
    return [name.rpartition(".")[2] for name in functions] + classes[-1:]

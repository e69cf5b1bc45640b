"""Display names of arrays from the user's program: variables, items of lists, attributes of objects.

Guarantees: only looks, never calls: no property is evaluated, nothing is compared. One level deep: `x`,
`states[3]`, `forces['wind']`, `state.q`.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from ...arrays.array import array

_MOST = 100_000  # items of a list that are looked at


def caller_names() -> list[tuple[array, str]]:
    """Arrays with their names, as the nearest function outside this package sees them; locals come first."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("warpsim."):
        frame = frame.f_back
    pairs = list(names_in(frame.f_locals))
    if frame.f_globals is not frame.f_locals:
        pairs += names_in(frame.f_globals)
    return pairs


def names_in(scope: Mapping[str, Any]) -> Iterator[tuple[array, str]]:
    """Arrays that variables refer to, directly or one level deep."""
    for name, value in list(scope.items()):
        if not name.startswith("_"):
            yield from _name_arrays(value, name)


def _name_arrays(value: object, name: str) -> Iterator[tuple[array, str]]:
    if isinstance(value, array):
        yield value, name
    elif isinstance(value, list | tuple):
        yield from ((item, f"{name}[{k}]") for k, item in enumerate(value[:_MOST]) if isinstance(item, array))
    elif isinstance(value, dict):
        yield from ((item, f"{name}[{key!r}]") for key, item in list(value.items())[:_MOST] if isinstance(item, array))
    elif not isinstance(value, type | types.ModuleType | types.FunctionType):
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from ((item, f"{name}.{a}") for a, item in list(attributes.items()) if isinstance(item, array))

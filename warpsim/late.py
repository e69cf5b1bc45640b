"""Public names that are loaded when somebody first asks for them: programs that never do need not pay for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .geometry import HOME as GEOMETRY

NAMES = {
    "core.types.scalars": "bfloat16",
}
"""The names beside those of geometry, by the module that defines them."""

HOME = {
    **{name: module for module, names in NAMES.items() for name in names.split()},
    **{name: f"geometry.{module}" for name, module in GEOMETRY.items()},
}


def loader(namespace: dict[str, Any]) -> Callable[[str], Any]:
    """A `__getattr__` for the module with this namespace: it finds the names above, and keeps them there."""

    def load(name: str) -> Any:
        if name not in HOME:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        value = namespace[name] = getattr(importlib.import_module(f".{HOME[name]}", __package__), name)
        return value

    return load

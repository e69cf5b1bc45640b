"""Operators in `copy` and `pickle`: a copy is the operator itself; other processes make it again of its kernel."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any


class Copied:
    """An operator, which has no state that a copy could have of its own."""

    def __init__(self, maker: Callable[..., Any], subject: object, *options: object):
        """subject: the kernel or function that it is made of; maker(subject, *options) makes it again."""
        self.recipe = maker, (subject, *options)
        self.__module__ = place_of(subject)[0]

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        """For `pickle`. Raises `pickle.PicklingError` for functions that another process would not find."""
        maker, parts = self.recipe
        if defined_at(*place_of(parts[0])) is self:  # made by a decorator
            return place_of(parts[0])[1]
        for part in filter(callable, parts):
            module, name = place_of(part)
            if defined_at(module, name) is not part:
                raise pickle.PicklingError(
                    f"{self!r} is not pickled: it is made of {part!r}, and {module} has no {name!r} that is this one\n"
                    "help: define it at the top level of a module that other processes can import"
                )
        return maker, parts


def place_of(thing: object) -> tuple[str, str]:
    """The module and the qualified name of a definition."""
    return getattr(thing, "place", None) or (thing.__module__, getattr(thing, "__qualname__", ""))


def defined_at(module: str, name: str) -> Any:
    """What a module has by a qualified name, None where it has nothing."""
    thing: Any = sys.modules.get(module)
    for part in name.split("."):
        thing = getattr(thing, part, None)
    return thing

"""Definitions of functions, by their places, and what happens where one is defined again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ....config import config
from ..source.by_name import ByName
from ..source.captured import Redefinable


class Definition(Redefinable, ByName):
    """What has a place, and is replaced where that is defined again."""


D = TypeVar("D", bound=Definition)

FUNCTIONS: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
"""The functions defined last, by (module, qualified name)."""

BEFORE_REDEFINITION: list[Callable[[Any], None]] = []
"""Called with a function that is about to be defined again, while its name still means it."""

_redefinitions = 0
_library_extended = False


def declare(function: D) -> D:
    """Note a definition; kernels that call an older one look at it at their next launch."""
    global _redefinitions
    before = FUNCTIONS.get(function.place)
    is_another = before is not None and before.replaced_by(function)
    for prepare in BEFORE_REDEFINITION if is_another else ():
        prepare(before)
    FUNCTIONS[function.place] = function
    if before is function or is_another:
        _redefinitions += 1
        config.touch()
    return function


def redefinitions() -> int:
    """How many functions have been defined again so far."""
    return _redefinitions


def extend_library() -> None:
    """Note that a function of the package has an overload or a gradient of the user's."""
    global _library_extended
    _library_extended = True


def library_is_extended() -> bool:
    """Whether functions of the package may mean something else than its files say."""
    return _library_extended

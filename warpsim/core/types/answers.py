"""Answers that are kept as long as what they are about.

Programs make structs, kernels and functions anew, in functions and notebook cells, and drop them. A cache that holds
its keys would keep each of them, with all that is known of it, to the end of the process. What is known of a struct
therefore lies in the struct, as its `__known__`, and what is known of other things in a table that does not hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Derive = TypeVar("Derive", bound=Callable[..., Any])
R = TypeVar("R")


def per_type(derive: Derive) -> Derive:
    """Decorator: asks once for each type, the first argument, and the others; the answer goes with the type."""
    lasting: Any = cache(derive)

    @wraps(derive)
    def answer(t: Any, *rest: Any) -> Any:
        known = None if type(t) is type else getattr(t, "__known__", None)  # a look for what is not there takes long
        if known is None:  # numbers and vectors stay
            return lasting(t, *rest)
        key = (derive, t, *rest)
        return known[key] if key in known else known.setdefault(key, derive(t, *rest))

    return answer  # type: ignore[return-value]


def per_object(derive: Derive) -> Derive:
    """Decorator: asks once for each object, the first argument, and the others. Answers must not refer to it."""
    answers: WeakKeyDictionary[Any, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()

    @wraps(derive)
    def answer(x: Any, *rest: Any) -> Any:
        known = answers.get(x)
        if known is None:
            known = answers.setdefault(x, {})
        return known[rest] if rest in known else known.setdefault(rest, derive(x, *rest))

    return answer  # type: ignore[return-value]


def kept_with(types: Iterable[Any], lasting: dict[Any, R]) -> dict[Any, R]:
    """Where to keep what depends on some types: with the struct among them, or in `lasting` where there is none.

    What depends on several structs is not kept: it would keep one as long as the other.
    """
    known = {id(home): home for t in types if (home := getattr(t, "__known__", None)) is not None}
    return lasting if not known else known.popitem()[1] if len(known) == 1 else {}

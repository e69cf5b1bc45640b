"""Overloads for calls from Python: the one that a kernel would choose for the arguments."""

from __future__ import annotations

from typing import Any

from ...types.arrays import ArrayType
from ...types.signatures import Weak, match, match_weak
from .overloads import Overload, Static, operand_pattern_type, takes_static


def overload_for(overloads: list[Overload], args: tuple[Any, ...], keywords: dict[str, Any]) -> Overload:
    """The overload that fits best, else the first."""
    fitting = [o for o in overloads if fits(o, args, keywords)]
    if len(fitting) > 1:
        fitting.sort(key=lambda o: (_count_retyped(o, args, keywords), o.generic))
    return fitting[0] if fitting else overloads[0]


def _count_retyped(overload: Overload, args: tuple[Any, ...], keywords: dict[str, Any]) -> int:
    """How many of Python's own numbers would take another type than their own."""
    bound: dict[Any, Any] = {}
    named = overload.arguments_by_name(args, keywords) or {}
    pairs = [(overload.patterns[name], operand_pattern_type(a)) for name, a in named.items()]
    for pattern, t in pairs:
        if not isinstance(t, Weak | Static) and not isinstance(pattern, ArrayType):
            match(pattern, t, bound)
    weak = [(match_weak(pattern, t, bound), t) for pattern, t in pairs if isinstance(t, Weak) and pattern is not Any]
    return sum(matched is not t.default for matched, t in weak)


def fits(overload: Overload, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether an overload takes arguments of these types; arrays are not looked at."""
    named = overload.arguments_by_name(args, keywords)
    if named is None:
        return False
    bound: dict[Any, Any] = {}
    for name, arg in named.items():
        pattern, t = overload.patterns[name], operand_pattern_type(arg)
        if isinstance(t, Static) and not isinstance(pattern, ArrayType):
            if not takes_static(pattern, arg):
                return False
            continue
        if isinstance(pattern, ArrayType):
            continue
        if isinstance(t, Weak):
            if pattern is not Any and match_weak(pattern, t, bound) is None and overload.library:
                return False
            continue
        if not match(pattern, t, bound):
            return False
    return True

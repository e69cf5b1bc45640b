"""Parameter types of a kernel: its annotations, with generic ones resolved from launch arguments or an overload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import ArgumentCountError, ArgumentTypeError, counted
from ...frontend.functions.overloads import Static, operand_pattern_type
from ...frontend.translate.scope import describe
from ...types import scalars
from ...types.arrays import ArrayType, array_type, type_name
from ...types.signatures import Weak, is_generic, match, match_weak, resolve


def concrete_types(key: str, patterns: dict[str, Any], args: Sequence[Any]) -> tuple[Any, ...]:
    """Types of the parameters of kernel `key` for launch arguments; patterns: by name, as annotated.

    Raises `ArgumentCountError`, and `ArgumentTypeError` where a generic parameter does not fit.
    """
    if len(args) != len(patterns):
        names = ", ".join(patterns)
        raise ArgumentCountError(
            f"kernel {key!r} got {counted(len(args), 'argument')}\nexpected: {len(patterns)}: {names}"
        )
    if not any(map(is_generic, patterns.values())):
        return tuple(patterns.values())
    bound: dict[Any, Any] = {}
    types = []
    argument_types = [argument_type(a) for a in args]
    for pattern, t in zip(patterns.values(), argument_types, strict=True):
        if is_generic(pattern) and not isinstance(t, Weak):
            match(pattern, t, bound)
    for (name, pattern), t in zip(patterns.items(), argument_types, strict=True):
        if not is_generic(pattern):
            types.append(pattern)
            continue
        if isinstance(t, Static) and t.value is None and isinstance(pattern, ArrayType):
            types.append(array_type(element_of_none(pattern.dtype, bound), pattern.ndim, pattern.indexed))
            continue
        concrete = match_weak(pattern, t, bound) if isinstance(t, Weak) else t
        fits = concrete is not None and (isinstance(t, Weak) or match(pattern, t, bound))
        if isinstance(t, Static) or not fits:
            shown = describe(t.value) if isinstance(t, Static) else type_name(t)
            raise ArgumentTypeError(
                f"argument {name!r} of kernel {key!r} is {shown}\nexpected: {type_name(pattern)}"
            )
        types.append(concrete)
    return tuple(types)


def element_of_none(pattern: Any, bound: dict[Any, Any]) -> Any:
    """The element type of a generic array that is None: that of others, else any, as there are no elements."""
    try:
        element = resolve(pattern, bound)
    except KeyError:
        element = scalars.float32
    return scalars.float32 if is_generic(element) else element


def argument_type(value: Any) -> Any:
    """The kernel type of a launch argument."""
    own_type = getattr(value, "type", None)
    if isinstance(own_type, ArrayType):
        return own_type
    if hasattr(value, "__array_interface__") and not isinstance(value, (int, float)) and getattr(value, "ndim", None):
        return array_type(scalars.canonical(value.dtype), value.ndim)
    if (on_device := getattr(value, "__cuda_array_interface__", None)) is not None:
        return array_type(scalars.canonical(np.dtype(on_device["typestr"])), len(on_device["shape"]))
    return operand_pattern_type(value)


def overload_types(key: str, patterns: dict[str, Any], types: dict[str, Any] | Sequence[Any]) -> tuple[Any, ...]:
    """Types of the parameters of kernel `key` that an overload names: a list of all, or a dict of some by name.

    Raises `ArgumentTypeError` where they do not fit the patterns.
    """
    own_types = _types_by_name(key, patterns, types) if isinstance(types, dict) else list(types)
    if len(own_types) != len(patterns):
        number = counted(len(own_types), "type")
        raise ArgumentTypeError(f"{number} for the {counted(len(patterns), 'parameter')} of kernel {key!r}")
    bound: dict[Any, Any] = {}
    for (name, pattern), t in zip(patterns.items(), own_types, strict=True):
        if not match(pattern, scalars.canonical(t), bound):
            raise ArgumentTypeError(
                f"type {type_name(t)} for {name!r} of kernel {key!r}\nexpected: {type_name(pattern)}"
            )
    return tuple(resolve(t, {}) for t in own_types)


def _types_by_name(key: str, patterns: dict[str, Any], types: dict[str, Any]) -> list[Any]:
    """Types of all parameters from a dict that has at least the generic ones."""
    generic = [name for name, pattern in patterns.items() if is_generic(pattern)]
    if set(types) - set(patterns) or set(generic) - set(types):
        raise ArgumentTypeError(
            f"overload of kernel {key!r} has types for {', '.join(types)}\nexpected: {', '.join(generic)}"
        )
    return [types.get(name, pattern) for name, pattern in patterns.items()]

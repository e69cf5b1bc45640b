"""Arguments of public functions, checked by what their annotations say: one rule, in words that name the argument.

`checked` looks at numbers, texts, paths, sequences, callables and classes, before the function runs; `numbers` is for
what NumPy makes numbers of, which annotations call ArrayLike and this does not look at.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from .errors import ArgumentCountError, ArgumentTypeError, shown

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Test = Callable[[Any], bool]
_MOST = 16  # items of a sequence that are looked at


def checked(function: _Function) -> _Function:
    """Decorator of public functions that are not called often: their arguments must be what annotations say.

    Raises `ArgumentTypeError` for one that is not, `ArgumentCountError` for a call that does not bind.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as error:
            raise ArgumentCountError(f"{function.__qualname__}(): {error}\nexpected: {signature}") from None
        for name, value in bound.arguments.items():
            check = tests.get(name)
            if check is not None and not check[0](value):
                raise ArgumentTypeError(f"{name} is {shown(value)} ({type(value).__name__})\nexpected: {check[1]}")
        return function(*args, **keywords)

    tests = _Tests(function, signature)
    return call  # type: ignore[return-value]


def numbers(value: object, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A value as an array of float64. shape: what it must have, -1 for any extent.

    Raises `ArgumentTypeError` for what is no numbers, or has another shape.
    """
    try:
        result = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        result = None
    fits = result is not None and (
        shape is None
        or (result.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, result.shape, strict=True)))
    )
    if result is None or not fits:
        expected = "numbers" if shape is None else f"numbers of shape {str(shape).replace('-1', 'n')}"
        there = shown(value) if result is None else f"{shown(value)}, of shape {result.shape}"
        raise ArgumentTypeError(f"{name} is {there}\nexpected: {expected}")
    return result


def integers(value: object, name: str) -> np.ndarray:
    """A value as an array of the integers that it holds. Raises `ArgumentTypeError` for what is none."""
    try:
        result = np.asarray(value)
    except (TypeError, ValueError):  # of lists of unequal lengths
        result = np.array(None)
    result = result if result.size else result.astype(np.int64)
    if result.dtype.kind not in "iub":
        raise ArgumentTypeError(f"{name} is {shown(value)}\nexpected: integers")
    return result


class _Tests(dict[str, Any]):
    """For each parameter a test of values and what it expects; made when a call first has a value for it."""

    def __init__(self, function: Callable[..., Any], signature: inspect.Signature):
        super().__init__()
        self.names = {**vars(sys.modules["builtins"]), **_EXTRA, **getattr(function, "__globals__", {})}
        self.parameters = signature.parameters

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            p = self.parameters[name]
            plain = p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.annotation is not p.empty
            self[name] = self._check(p.annotation) if plain else None
        return self[name]

    def _check(self, annotation: Any) -> Any:
        if isinstance(annotation, str):
            names = _Names(self.names)
            try:
                kind = eval(annotation, names)
            except Exception:  # a name that nobody has loaded, so that no value can be of it
                return None
        else:
            kind = annotation
        test = _test_of(kind)
        return test and (test, _words(kind))


class _Names(dict[str, Any]):
    """Names of a module; those that it imports for type checkers alone are looked up in all modules of warpsim.

    Two classes of one name say nothing, and neither does an alias of a type: a module may have one of its own.
    """

    def __missing__(self, name: str) -> Any:
        package = __name__.partition(".")[0]
        modules = [module for key, module in list(sys.modules.items()) if key.partition(".")[0] == package]
        known = [vars(module).get(name) for module in modules if module is not None]
        classes = {k for k in known if inspect.isclass(k) and k.__name__ == name}
        if len(classes) != 1:
            raise KeyError(name)
        return classes.pop()


_EXTRA = {"Any": Any, "Sequence": Sequence, "Iterable": Iterable, "Callable": Callable, "Mapping": Mapping}


def _test_of(kind: Any) -> _Test | None:
    """What tells whether a value is of an annotation; None for annotations that say nothing that can be seen."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        tests = [_test_of(k) for k in get_args(kind)]
        known = [t for t in tests if t is not None]
        return (lambda value: any(t(value) for t in known)) if len(known) == len(tests) else None
    if kind in (None, types.NoneType):
        return lambda value: value is None
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin in (Sequence, list, tuple, Iterable):
        item = _test_of(get_args(kind)[0]) if get_args(kind) else None
        return lambda value: _is_sequence(value) and _all_items(item, value)
    if origin is Callable:
        return callable
    base = origin or kind
    if isinstance(base, type) and base.__module__.partition(".")[0] in ("warpsim", "os", "collections", "pxr"):
        return None if base.__name__ in ("array", "indexedarray") else lambda value: isinstance(value, base)
    return None


def is_number(value: Any) -> bool:
    """Whether float() makes one number of it, and not out of a text."""
    if isinstance(value, str | bytes | bytearray | type) or not hasattr(type(value), "__float__"):
        return hasattr(type(value), "__index__") and not isinstance(value, type)
    return getattr(value, "size", 1) == 1 and getattr(getattr(value, "dtype", None), "kind", "f") not in "OVSUcmM"


def _is_whole(value: Any) -> bool:
    if not hasattr(type(value), "__index__") or isinstance(value, type):
        return False
    try:
        value.__index__()
    except TypeError:  # of an array of several, or of floats
        return False
    return True


def _is_sequence(value: Any) -> bool:
    if isinstance(value, str | bytes | type | Mapping | Set):
        return False
    return getattr(value, "ndim", 1) != 0 and (
        hasattr(type(value), "__iter__") or (hasattr(type(value), "__getitem__") and hasattr(type(value), "__len__"))
    )


def _all_items(test: _Test | None, value: Any) -> bool:
    if test is None or not isinstance(value, list | tuple):
        return True
    return all(map(test, itertools.islice(value, _MOST)))


_SIMPLE: dict[Any, _Test] = {float: is_number, int: _is_whole, str: lambda value: isinstance(value, str)}
_SIMPLE |= {Sequence: _is_sequence, list: _is_sequence, tuple: _is_sequence, Iterable: _is_sequence, Callable: callable}
_SIMPLE |= {dict: lambda value: isinstance(value, Mapping), os.PathLike: lambda value: isinstance(value, os.PathLike)}
_WORDS = {float: "a number", int: "an integer", str: "a text", None: "None", types.NoneType: "None"}


def _words(kind: Any) -> str:
    """An annotation as messages say it."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(k) for k in get_args(kind))
    if origin is Callable or kind is Callable:
        return "a function"
    if (origin or kind) in (Sequence, list, tuple, Iterable):
        items = [_WORDS[k].split(" ", 1)[1] + "s" for k in get_args(kind)[:1] if k in (float, int, str)]
        return "a sequence" + "".join(f" of {i}" for i in items)
    return _WORDS.get(kind) or getattr(origin or kind, "__name__", str(kind))


def refuse_keywords(what: str, names: Iterable[str], cures: Mapping[str, str]) -> None:
    """Raise `ArgumentTypeError` for the first of keywords that something lacks; cures: for those that it had once."""
    for name in names:
        cure = f"\nhelp: {cures[name]}" if name in cures else ""
        raise ArgumentTypeError(f"{what} has no keyword {name!r}{cure}")

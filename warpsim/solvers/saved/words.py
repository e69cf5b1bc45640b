"""Types of arrays and states of random streams as words of a file, and back; nothing else can be named."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types.compounds import is_compound
from ...core.types.scalars import SCALARS
from ...core.types.values import compound_type
from ...errors import SceneFileError, shown

_SCALARS = {t.__name__: t for t in SCALARS}
_AXES = {"vector": 1, "matrix": 2, "quaternion": 1, "transform": 1}
_COMPONENTS = {"quaternion": 4, "transform": 7}
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def words_of(dtype: Any, label: str) -> list[Any]:
    """A scalar type, vector, matrix, quaternion or transform as [scalar, kind, extents].

    Raises `SceneFileError` for other types; label: what has it.
    """
    if is_compound(dtype) and dtype.kind in _AXES and dtype.dtype in SCALARS:
        return [dtype.dtype.__name__, dtype.kind, list(dtype.shape)]
    if dtype in SCALARS:
        return [dtype.__name__, "", []]
    raise SceneFileError(f"{label} is of type {getattr(dtype, '__name__', shown(dtype))}\nexpected: numbers or vectors")


def type_of(words: Any) -> Any:
    """The type that words stand for. Raises `SceneFileError` for those of none."""
    known = isinstance(words, list) and len(words) == 3 and isinstance(words[0], str) and words[0] in _SCALARS
    if known and not words[1]:
        return _SCALARS[words[0]]
    if not known or not isinstance(words[1], str) or words[1] not in _AXES:
        raise SceneFileError(f"a type is {shown(words)}\nexpected: numbers or vectors")
    scalar, kind, extents = words
    whole = isinstance(extents, list) and len(extents) == _AXES[kind] and all(type(n) is int for n in extents)
    if not whole or min(extents) < 1 or extents[0] != _COMPONENTS.get(kind, extents[0]):
        raise SceneFileError(f"a {kind} has the extents {shown(extents)}")
    return compound_type(kind, tuple(extents), _SCALARS[scalar])


def state_of(generator: np.random.Generator, label: str) -> dict[str, Any]:
    """The state of a random stream. Raises `SceneFileError` for one that is not NumPy's own."""
    state = dict(generator.bit_generator.state)
    if state.get("bit_generator") not in _GENERATORS:
        raise SceneFileError(f"{label} is a {state.get('bit_generator')}\nexpected: {', '.join(_GENERATORS)}")
    return state


def generator_of(state: Any) -> np.random.Generator:
    """A random stream with a state. Raises `SceneFileError` for one that is not NumPy's own."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in _GENERATORS:
        raise SceneFileError(f"a random stream is {shown(name)}\nexpected: {', '.join(_GENERATORS)}")
    bits = getattr(np.random, name)()
    bits.state = state
    return np.random.Generator(bits)

"""Vectors in place of scalars, with a lane per thread: which rows take them, and how they are made of scalars.

Packing components of one thread is another matter, see `values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from llvmlite import ir as ll

from ..ir.nodes import Call

Emit = TypeVar("Emit", bound=Callable[..., Any])

_FOR_LANES: dict[Any, Callable[[Any], bool]] = {}


def for_lanes(value: Emit, when: Callable[[Any], bool] = lambda call: True) -> Emit:
    """Declare that a row's `value` takes vectors, too: of calls for which `when` holds."""
    _FOR_LANES[value] = when
    return value


def takes_lanes(call: Call) -> bool:
    """Whether a call can be emitted for all lanes at once."""
    value = call.row.value
    return value in _FOR_LANES and _FOR_LANES[value](call)


def is_vector(x: ll.Value) -> bool:
    """Whether a value differs between lanes."""
    return isinstance(x.type, ll.VectorType)


def like(t: ll.Type, x: ll.Value) -> ll.Type:
    """A scalar type, or the vector of it with as many lanes as `x` has."""
    return ll.VectorType(t, x.type.count) if is_vector(x) else t


def suffix(t: ll.Type) -> str:
    """How names of LLVM's functions end that work on a type: `f32`, `v8f32`."""
    if isinstance(t, ll.VectorType):
        return f"v{t.count}{suffix(t.element)}"
    return str(t.intrinsic_name)


def broadcast(b: ll.IRBuilder, x: ll.Value, lanes: int) -> Any:
    """A scalar in every lane of a vector; a vector as it is."""
    if is_vector(x):
        return x
    kind = ll.VectorType(x.type, lanes)
    if isinstance(x, ll.Constant):
        return ll.Constant(kind, x.constant)
    undefined, places = ll.Constant(kind, ll.Undefined), ll.VectorType(ll.IntType(32), lanes)
    return b.shuffle_vector(b.insert_element(undefined, x, ll.IntType(32)(0)), undefined, ll.Constant(places, 0))


def lane(b: ll.IRBuilder, x: ll.Value, k: int) -> Any:
    """One lane of a vector; a scalar is the same in all."""
    return b.extract_element(x, ll.IntType(32)(k)) if is_vector(x) else x


def picked_lanes(b: ll.IRBuilder, x: ll.Value, places: Iterable[int]) -> Any:
    """A vector of some lanes of another one, in any order; places behind its last one begin again."""
    count, word = x.type.count, ll.IntType(32)
    picks = [word(k % count) for k in places]
    return b.shuffle_vector(x, ll.Constant(x.type, ll.Undefined), ll.Constant(ll.VectorType(word, len(picks)), picks))


def known_number(x: ll.Value) -> Any:
    """The number that a constant is, in all lanes; None for what is computed."""
    if not isinstance(x, ll.Constant):
        return None
    return x.constant[0].constant if is_vector(x) else x.constant

"""Arrays made of other arrays while a tape records, or a graph is captured: copies as `clone` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....errors import GradientError
from ...types.arrays import type_name
from ..devices.capture import current_graph
from .host_memory import TypedMemory
from .saved_contents import active

if TYPE_CHECKING:
    from .array import array


Place = tuple[int, ...]


def follow(a: array, data: object) -> None:
    """Record that an array has just been made of the arrays in `data`, where they have other memory."""
    recorded = active() or current_graph() is not None
    for place, source in arrays_in(data) if recorded else ():
        if source._array._memory is not a._memory:
            _follow_one(a, place, source)


def arrays_in(data: object, place: Place = ()) -> Iterator[tuple[Place, TypedMemory]]:
    """An array, or those in nested lists with the indices that lead there. Lists of numbers are not gone through."""
    if isinstance(data, TypedMemory):
        yield place, data
    elif isinstance(data, list | tuple) and data and (isinstance(data[0], list | tuple) or hasattr(data[0], "dtype")):
        for k, part in enumerate(data):
            yield from arrays_in(part, (*place, k))


def holds_gradients(data: object) -> bool:
    """Whether a tape records, and one of the arrays in a list has a gradient, which must not end in the list."""
    return isinstance(data, list | tuple) and bool(active()) and any(a.requires_grad for _, a in arrays_in(data))


def _follow_one(a: array, place: Place, source: TypedMemory) -> None:
    follows = a.requires_grad and source.requires_grad and bool(active())
    alike = a.dtype is source.dtype and len(place) < a.ndim
    if not follows and (current_graph() is None or not alike):
        return
    if not alike:
        raise GradientError(
            f"an array of {type_name(a.dtype)} made of one of {type_name(source.dtype)} while a tape records\n"
            "expected: equal dtypes, so that the gradient can follow\nhelp: wp.utils.array_cast converts on a tape"
        )
    (a[place] if place else a).assign(source)

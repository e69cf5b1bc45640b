"""Read and write sets of a launch: arrays by the names of its parameters.

Guarantees: arrays in struct parameters are told apart (`s.x`); an array that is only summed into by
atomics counts as written; an array that came out of memory, or out of a choice, counts for every
array it may be. What the kernel never touches is in neither list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...types import structs
from ..arrays.array import array
from ..arrays.host_memory import TypedMemory
from ..launches.kernel import Kernel
from .adjoint_needs import Needs, needs_of


class Traffic(NamedTuple):
    """Names of array parameters, and of arrays in struct parameters."""

    read: frozenset[str]
    written: frozenset[str]


def arrays_in(value: Any, name: str) -> Iterator[tuple[str, array]]:
    """The arrays of one argument with their names: itself, the array behind an indexedarray, fields of a struct."""
    for member, inner in structs.members(value, name):
        if isinstance(inner, TypedMemory):
            yield member, inner._array


def traffic(kernel: Kernel, args: Sequence[Any]) -> Traffic:
    """What a launch with these arguments reads and writes."""
    return of_needs(needs_of(kernel, kernel.types_for(list(args)), kernel.settings()))


def of_needs(needs: Needs) -> Traffic:
    """The same, for a kernel at fixed argument types."""
    name = needs.name
    return Traffic(*(frozenset(name[ref] for ref in refs if ref in name) for refs in (needs.read, needs.changed)))

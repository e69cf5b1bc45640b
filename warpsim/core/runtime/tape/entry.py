"""`TapeEntry`: the interface of everything that a tape records, and `UsedArray`, how an entry uses an array.

A kind of entry is a subclass. What runs a tape in reverse or forward, draws it, reports on it or watches it asks
entries through this interface and tells no kinds apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from ....errors import TapeError
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.mirrors import Mirror
from ..devices.device import Device
from ..steps.step import Step


class UsedArray(NamedTuple):
    """Mod/ref of one array in an operation. name: the parameter, in pictures and messages.

    reads: results follow from its contents. writes: it gets other contents. depends: the operation does otherwise
    after other contents; atomics that return what they found, or keep the larger number, depend on what they update
    and read nothing. direct: it was given to the operation itself, neither as a table of indices nor in an element.
    """

    name: str
    array: array
    reads: bool = False
    writes: bool = False
    depends: bool = False
    direct: bool = True


class MovedEntry(Protocol):
    """An entry with what its reverse needs of the tangents that went through it: forward over reverse."""

    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        """Move gradients as `step` does, and with them their tangents."""


class TapeEntry(ABC):
    """One recorded operation.

    name, title, about: what it is in a picture, in a sentence, and further words. place: where it was called.
    device: where it was done, None for the host. step: its reverse, made by `prepare`; None when no gradient passes
    through it.
    """

    __slots__ = ()

    name: str
    title: str
    place: CallSite
    about = ""
    device: Device | None = None
    step: Step | None = None

    @abstractmethod
    def uses(self) -> Iterator[UsedArray]:
        """The arrays that it reads, writes, or was given; one that it reads and writes once."""

    def words(self, use: UsedArray) -> str:
        """One of its uses in a message, before the place."""
        return f"{self.title}, called at"

    def written_arrays(self) -> Iterator[array]:
        """The arrays that it writes."""
        return (use.array for use in self.uses() if use.writes)

    def arrays(self) -> Iterator[array]:
        """The arrays of floats that it uses: gradients and tangents move between these."""
        return (use.array for use in self.uses() if use.direct and has_cotangent(use.array.dtype))

    def collect(self, arrays: dict[int, array], written: dict[int, array]) -> None:
        """Note `arrays` and `written` by `id`."""
        arrays.update((id(a), a) for a in self.arrays())
        written.update((id(a), a) for a in self.written_arrays())

    def prepare(self, anew: bool) -> None:  # noqa: B027
        """Make the reverse step, unless there is one; `anew`: even then, as arrays got other gradients."""

    def passes_gradient(self) -> bool:
        """Whether a gradient passes through it in reverse, with the gradients that arrays have now."""
        return self.step is not None

    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        """Forward mode: move the tangents of what it read to what it wrote.

        numbers: tangents of numbers among the arguments of a launch, by name. later: the memory that entries after it
        write, when the tangent of its reverse is asked for as well; None: when not, and nothing is returned.
        """
        raise TapeError(
            f"{self.title} at {self.place}: its derivative along a direction is not known\n"
            "expected: launches, copies, assignments and wp.utils on the tape"
        )


def gradient_in(mirror: Mirror, a: array) -> Any:
    """What mirrors the gradient of an array, None for an array that has none."""
    return mirror.of(a) if a._array._gradient is not None else None

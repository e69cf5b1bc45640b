"""Derivatives along a direction of what a tape recorded: once forward for tangents, and back for their gradients.

Guarantees: nothing that the tape's arrays hold changes, gradients included. Contents are those of the
recorded operations, as `Tape.backward` finds them: in the arrays, or in what the tape kept when it overwrote
them. Tangents that a later entry overwrites are kept when the way back needs them, as the tape keeps contents.
Entries that no tangent reaches are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..core.language import array
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.arrays.mirrors import Mirror
from ..core.runtime.devices.memory_range import overlap
from ..core.runtime.tape.adjoint_launch import check_aliases
from ..core.runtime.tape.entry import MovedEntry
from ..core.runtime.tape.forward_sweep import push
from ..core.runtime.tape.tape import Tape
from ..core.types.cotangents import has_cotangent
from ..errors import GradientError, TapeError, instance
from .dual import fitting

Numbers = Mapping[str, Any]
"""Tangents of numbers among the arguments, by the name of the parameter; for tapes of one launch."""


class ForwardSweep:
    """Tangents of all arrays of a tape, and of further arrays that share memory with them.

    With `for_reverse`, what the way back needs is kept.
    """

    def __init__(
        self, tape: Tape, numbers: Numbers | None = None, for_reverse: bool = False, further: Collection[Any] = ()
    ):
        if not tape.records:
            raise TapeError("nothing is recorded on this tape\nexpected: launches inside `with tape:`")
        tape._check_contents()
        tape.settle_constants()
        self.tape, self.numbers, self.for_reverse = tape, numbers, for_reverse
        self.tangents = Mirror([*tape.arrays(), *on_tape(tape, further)])
        self.moving: set[Any] = set()
        self.moved: list[MovedEntry] = []

    def set(self, tangents: Mapping[Any, Any]) -> None:
        """The direction: tangents of arrays, as arrays or numbers of the same shape."""
        write(self.tape, self.tangents, tangents)
        self.moving.update(known._memory for a in tangents for known in sharing(self.tape, a))

    def run(self) -> None:
        self.moved = push(self.tape.records, self.tangents, self.moving, self.numbers, self.for_reverse)


class ReverseSweep:
    """Gradients of a tape and their tangents, after a `ForwardSweep` that kept what is needed.

    further: arrays that share memory with those of the tape, whose gradients will be set.
    """

    def __init__(self, forward: ForwardSweep, further: Collection[Any] = ()):
        self.forward, self.tape = forward, forward.tape
        check_aliases([a for entry in self.tape.records for a in entry.written_arrays()], self.tape.arrays())
        arrays = [*self.tape.arrays(), *on_tape(self.tape, further)]
        self.gradients, self.gradient_tangents = Mirror(arrays), Mirror(arrays)

    def set(self, cotangents: Mapping[Any, Any]) -> None:
        """The gradients to start from."""
        write(self.tape, self.gradients, cotangents)

    def run(self) -> None:
        for moved in reversed(self.forward.moved):
            moved.reverse(self.gradients, self.gradient_tangents)


def write(tape: Tape, mirror: Mirror, values: Mapping[Any, Any]) -> None:
    """Write numbers that are given for arrays of a tape into a mirror: for an element of several arrays, the same.

    Raises `GradientError`.
    """
    on_tape(tape, values)
    wrote = []
    for a, numbers in values.items():
        mirror.set(a, fitting(repr(a), a.dtype, a.shape, numbers))
        wrote.append((a, mirror.of(a)._contents().tobytes()))
    for a, contents in wrote:
        if mirror.of(a)._contents().tobytes() != contents:
            raise GradientError(
                f"{a!r} shares memory with another array for which another tangent or cotangent is given\n"
                "expected: one number for every element\nhelp: give one of the two arrays, with the sum of both"
            )


def on_tape(tape: Tape, values: Collection[Any]) -> list[array]:
    """The arrays for which something is given, each of which must share memory with one that the tape recorded."""
    arrays = instance(values, Collection, "what is given for arrays of a tape")
    for a in arrays:
        if not isinstance(a, array | indexedarray) or not has_cotangent(a.dtype) or not sharing(tape, a):
            raise GradientError(
                f"a tangent or cotangent is given for {a!r}\n"
                "expected: an array of floats that the tape recorded, a view of one, or what one is a view of"
            )
    return [a._array for a in arrays]


def sharing(tape: Tape, a: Any) -> list[array]:
    """The arrays of a tape that are an array, or lie within the same addresses."""
    return [known for known in tape.arrays() if known is a._array or overlap(known, a._array)]


class OfArrays(dict[Any, Any]):
    """What a sweep found, by array; of an array that only views of were recorded, what these have of it, else zeros."""

    def __init__(self, mirror: Mirror, arrays: Iterable[array]):
        super().__init__((a, mirror.of(a)) for a in arrays)
        self.mirror = mirror

    def __missing__(self, a: Any) -> Any:
        if isinstance(a, array | indexedarray) and any(overlap(known, a._array) for known in self):
            return self.mirror.gather(a)
        raise KeyError(f"{a!r} is no array that the tape knows\nexpected: {', '.join(map(repr, self)) or 'none'}")

"""Derivatives along a direction of what a tape recorded: once forward for tangents, and back for their gradients.

Guarantees: nothing that the tape's arrays hold changes, gradients included. Contents are those of the
recorded operations, as `Tape.backward` finds them: in the arrays, or in what the tape kept when it overwrote
them. Tangents that a later entry overwrites are kept when the way back needs them, as the tape keeps contents.
Entries that no tangent reaches are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.language import array
from ..core.runtime.arrays.indexed import indexedarray
from ..core.runtime.arrays.mirrors import Mirror
from ..core.runtime.tape.adjoint_launch import check_aliases
from ..core.runtime.tape.entry import MovedEntry
from ..core.runtime.tape.forward_sweep import push
from ..core.runtime.tape.tape import Tape
from ..errors import GradientError, TapeError, instance
from .dual import fitting

Numbers = Mapping[str, Any]
"""Tangents of numbers among the arguments, by the name of the parameter; for tapes of one launch."""


class ForwardSweep:
    """Tangents of all arrays of a tape. With `for_reverse`, what the way back needs is kept."""

    def __init__(self, tape: Tape, numbers: Numbers | None = None, for_reverse: bool = False):
        if not tape.records:
            raise TapeError("nothing is recorded on this tape\nexpected: launches inside `with tape:`")
        tape._check_contents()
        self.tape, self.numbers, self.for_reverse = tape, numbers, for_reverse
        self.tangents = Mirror(tape.arrays())
        self.moving: set[Any] = set()
        self.moved: list[MovedEntry] = []

    def set(self, tangents: Mapping[Any, Any]) -> None:
        """The direction: tangents of arrays, as arrays or numbers of the same shape."""
        write(self.tape, self.tangents, tangents)
        self.moving.update(a._array._memory for a in tangents)

    def run(self) -> None:
        self.moved = push(self.tape.records, self.tangents, self.moving, self.numbers, self.for_reverse)


class ReverseSweep:
    """Gradients of a tape and their tangents, after a `ForwardSweep` that kept what is needed."""

    def __init__(self, forward: ForwardSweep):
        self.forward, self.tape = forward, forward.tape
        check_aliases([a for entry in self.tape.records for a in entry.written()], self.tape.arrays())
        self.gradients, self.gradient_tangents = Mirror(self.tape.arrays()), Mirror(self.tape.arrays())

    def set(self, cotangents: Mapping[Any, Any]) -> None:
        """The gradients to start from."""
        write(self.tape, self.gradients, cotangents)

    def run(self) -> None:
        for moved in reversed(self.forward.moved):
            moved.reverse(self.gradients, self.gradient_tangents)


def write(tape: Tape, mirror: Mirror, values: Mapping[Any, Any]) -> None:
    """Write numbers that are given for arrays of a tape into a mirror. Raises `GradientError`."""
    for a, numbers in instance(values, Mapping, "what is given for arrays of a tape").items():
        if not isinstance(a, array | indexedarray) or not any(a._array is known for known in tape.arrays()):
            raise GradientError(
                f"a tangent or cotangent is given for {a!r}\nexpected: an array of floats that the tape recorded"
            )
        mirror.set(a, fitting(repr(a), a.dtype, a.shape, numbers))

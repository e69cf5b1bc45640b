"""Operations on whole arrays on tapes: `run_step` runs one (or puts it into a graph that is captured) after it told
tapes which arrays it overwrites; `StepEntry` is what tapes record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import GradientError
from ...types.cotangents import has_cotangent
from ..arrays import allocation, saved_contents
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.indexed import indexedarray
from ..arrays.mirrors import Mirror
from ..arrays.saved_contents import Read
from ..devices.float_mode import in_standard_mode
from ..steps.operation import ArrayOperation, Contents, Operation, Transpose
from .adjoint_needs import Always
from .entry import MovedEntry, TapeEntry, UsedArray, gradient_in

if TYPE_CHECKING:
    from ..arrays.saved_contents import Session


class StepEntry(TapeEntry):
    """A recorded operation on whole arrays. operands: with index tables as they were then."""

    def __init__(self, operation: ArrayOperation, session: Session, place: CallSite):
        self.operation, self.place, self.name = operation, place, operation.name
        self.title = f"{operation.home}.{self.name}"
        self.results, self.operands = operation.results, [frozen_tables(a) for a in operation.operands]
        self.kept = operation.needs_contents()
        user = Always(f"an argument of {self.title}") if self.kept else Never()
        self.reads = [read_of(a, user, session, place) for a in self.operands]

    def uses(self) -> Iterator[UsedArray]:
        for k, a in enumerate(self.operands):
            yield UsedArray(str(k), a._array, reads=True, depends=True)
        for k, a in enumerate(self.results):
            yield UsedArray(str(k), a, writes=True)

    def contents(self) -> Contents:
        """What the operands held, where derivatives look at it."""
        if self.operation.looks and not self.kept:
            raise GradientError(
                f"the arrays of {self.title}, called at {self.place}, had no gradients then\n"
                "expected: requires_grad=True before it is called, so that the tape keeps what the gradient needs"
            )
        pairs = zip(self.operands, self.reads, strict=True) if self.kept else ()
        return [select(a, a._array._data if read.copy is None else read.copy) for a, read in pairs]

    # ----- reverse ----------------------------------------------------------------------------

    @property
    def step(self) -> Transpose:  # type: ignore[override]
        return Transpose(self.operation, self.gradients, self.contents)

    def passes_gradient(self) -> bool:
        return any(a._gradient is not None for a in self.results if has_cotangent(a.dtype))

    def gradients(self) -> tuple[list[Any], list[Any]]:
        """The gradients of results, which were overwritten, and of operands, seen as these are; None for none."""
        results, operands = ([like(a, a._array._gradient) for a in side] for side in (self.results, self.operands))
        return results, operands

    # ----- forward ----------------------------------------------------------------------------

    @in_standard_mode
    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        results: list[Any] = [tangents.of(a) if has_cotangent(a.dtype) else None for a in self.results]
        operands: list[Any] = [tangents.of(a) if has_cotangent(a.dtype) else None for a in self.operands]
        moved = None
        if later is not None:
            factors = operands if self.operation.bilinear else []
            moved = MovedStep(self, [select(a, a._array._data).copy() for a in factors])
        if any(a is not None for a in results):
            self.operation.push(results, operands, self.contents())
        return moved


class MovedStep:
    """A recorded operation with the tangents that its operands had then, where its transpose has factors of them."""

    def __init__(self, entry: StepEntry, moved: Contents):
        self.entry, self.moved = entry, moved

    @in_standard_mode
    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        operation, contents = self.entry.operation, self.entry.contents()
        results, operands = self.sides(gradients)
        moved_results, moved_operands = self.sides(tangents)
        operation.pull(moved_results, moved_operands, contents)
        if self.moved:
            operation.pull([private_copy(a) for a in results], moved_operands, self.moved)
        operation.pull(results, operands, contents)

    def sides(self, mirror: Mirror) -> tuple[list[Any], list[Any]]:
        """What mirrors the gradients of results, and of operands."""
        entry = self.entry
        return [gradient_in(mirror, a) for a in entry.results], [gradient_in(mirror, a) for a in entry.operands]


def run_step(operation: ArrayOperation) -> None:
    """Run an operation, or put it into the graph that is captured."""
    step = operation.ready()
    step.told = partial(_run, step)
    _run(step)


def _run(step: Operation) -> None:
    if not saved_contents.alert:
        step.submit()
        return
    operation, place, tapes = step.operation, CallSite.outside(), saved_contents.active()
    entries = [StepEntry(operation, tape.session, place) for tape in tapes]
    for a in operation.results:
        allocation.about_to_write(a, a._data, f"{operation.home}.{operation.name}")
    step.submit()
    for tape, entry in zip(tapes, entries, strict=True):
        tape.log.append(entry)
        for a in operation.results:
            tape.session.use(a, place)


class Never:
    """A user that needs no contents."""

    @staticmethod
    def is_needed() -> bool:
        return False


def read_of(a: Any, user: Any, session: Session, place: CallSite) -> Read:
    """The read of an operand's present contents."""
    owner = a._array
    read: Read = session.current.get(id(owner)) or owner._memory.read(owner, session, place)
    read.add(user)
    return read


# ----- operands -----------------------------------------------------------------------------------


def frozen_tables(a: Any) -> Any:
    """An operand that selects what it selects now, whatever becomes of its index tables."""
    if not isinstance(a, indexedarray):
        return a
    return indexedarray(a.data, [private_copy(table) for table in a.indices])


def like(a: array, memory: array | None) -> Any:
    """An array that lies like the one that has the operand's elements, seen as the operand sees that."""
    return indexedarray(memory, a.indices) if isinstance(a, indexedarray) and memory is not None else memory


def select(a: Any, memory: np.ndarray) -> Any:
    """The elements of an operand in memory that lies like that of its array."""
    return memory[a._picks] if isinstance(a, indexedarray) else memory


def private_copy(a: array | None) -> array | None:
    """Private memory with the contents of an array."""
    return a if a is None else array._wrap(a._data.copy(), a.dtype, a.device)

"""Entries of a tape beside launches: writes from the host, writes that were announced, and recorded functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ....errors import NotDifferentiableError
from ...types.cotangents import has_cotangent
from ..arrays.array import array
from ..arrays.call_site import CallSite
from ..arrays.indexed import indexedarray
from ..arrays.mirrors import Mirror
from ..arrays.saved_contents import Read
from ..devices.float_mode import in_standard_mode
from ..devices.memory_range import bounds, range_of
from ..steps.host_call import HostCall
from ..steps.move import Move, Piece, add_to
from ..steps.step import Step
from .entry import MovedEntry, TapeEntry, UsedArray, gradient_in
from .host_gradients import frozen_picks, last_writes, sum_broadcast
from .stand_ins import Restored


class WriteEntry(TapeEntry):
    """Elements of an array set from the host: the gradient of the source gets that of the elements.

    select: takes the part that is written out of memory that lies like the array's; None for an
    indexedarray. source: an array, or None for a constant. name: the method.
    """

    def __init__(self, dest: Any, select: Any, source: Any, name: str, place: CallSite):
        self.dest, self.select, self.source, self.place = dest, select, source, place
        self.name = self.title = name
        self.is_given = False  # whether it counts as if it had come before the tape
        self.hidden_by: list[WriteEntry] = []  # those that count so, too, and come later, before anything is read
        self.picks = frozen_picks(dest) if isinstance(dest, indexedarray) else None
        self.source_picks = frozen_picks(source) if isinstance(source, indexedarray) else None

    def uses(self) -> Iterator[UsedArray]:
        if self.source is not None:
            yield UsedArray("source", self.source._array, reads=True, depends=True)
        yield UsedArray("dest", self.dest._array, writes=True)

    def written_arrays(self) -> Iterator[array]:
        return iter(() if self.is_given else (self.dest._array,))

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        if self.is_given or not has_cotangent(self.dest.dtype):
            return None
        return Move(self.run, self.moves, f"{self.name} (adjoint)")

    def moves(self) -> list[Piece] | None:
        """What `run` comes down to: None where elements are picked by tables, or were repeated."""
        grad = self.dest._array._gradient
        if grad is None:
            return []
        if self.picks is not None or self.source_picks is not None:
            return None
        part, source = self.select(grad._data), None if self.source is None else self.source._array._gradient
        clear = Piece(part, np.zeros((), part.dtype))
        if source is None:
            return [clear]
        if source._data.size != part.size or range_of(source).meets(bounds(part)):
            return None
        return [Piece(source._data, part, adds=True), clear]

    def run(self) -> None:
        """Move the gradient of the written elements to where they came from."""
        grad = self.dest._array._gradient
        if grad is not None:
            source = self.source._array._gradient if self.source is not None else None
            self.move(grad._data, None if source is None else source._data)

    @in_standard_mode
    def move(self, grad: np.ndarray, source: np.ndarray | None) -> None:
        """The same, for gradients that lie as the memory of the array and of the source."""
        if self.picks is not None:
            contribution = grad[self.picks]
            contribution[~last_writes(self.dest._array.shape, self.picks)] = np.zeros((), contribution.dtype)
            grad[self.picks] = np.zeros((), contribution.dtype)
        else:
            part = self.select(grad)
            contribution = part.copy()
            part[...] = np.zeros((), part.dtype)
        if source is not None and self.source_picks is not None:
            np.add.at(source, self.source_picks, contribution.reshape(source[self.source_picks].shape))
        elif source is not None:
            add_to(source, sum_broadcast(contribution, source.shape))

    def passes_gradient(self) -> bool:
        return self.dest._array._gradient is not None

    def push(self, tangents: Mirror, numbers: Mapping[str, Any], later: set[Any] | None) -> MovedEntry | None:
        """The written elements get the tangent of what was written; to those that are given it is added."""
        if has_cotangent(self.dest.dtype) and not (self.is_given and self.source is None):
            source = None if self.source is None else tangents.of(self.source._array)._data
            self.set(tangents.of(self.dest._array)._data, source)
        return None if later is None else self

    @in_standard_mode
    def set(self, dest: np.ndarray, source: np.ndarray | None) -> None:
        """Write again, in memory that lies as that of the array and of the source."""
        if source is None:
            values = np.zeros((), dest.dtype)
        else:
            values = source if self.source_picks is None else source[self.source_picks]
        part = self.part(dest)
        values = values.reshape(part.shape) if values.size == part.size else values
        if self.is_given:
            add_to(part, self.left_over(values) if self.hidden_by else values)
        else:
            part[...] = values
        if self.picks is not None:
            dest[self.picks] = part

    def part(self, memory: np.ndarray) -> np.ndarray:
        """What is written of memory that lies as that of the array; of an indexed array a copy."""
        part: np.ndarray = memory[self.picks] if self.picks is not None else self.select(memory)
        return part

    def left_over(self, values: np.ndarray) -> np.ndarray:
        """What was written where no later write hides it, and zero elsewhere. Raises for memory of a GPU."""
        if not self.dest._array.device.shares_host_memory:
            raise NotDifferentiableError(
                "an array on a GPU that is set twice before it is read has no tangent",
                help="set it once, or take the tangent on the CPU",
            )
        hidden = Mirror([entry.dest._array for entry in (self, *self.hidden_by)])
        for entry in self.hidden_by:
            memory = hidden.of(entry.dest._array)._data
            if entry.picks is None:
                entry.select(memory)[...] = np.ones((), memory.dtype)
            else:
                memory[entry.picks] = np.ones((), memory.dtype)
        return np.where(self.part(hidden.of(self.dest._array)._data) == 0, values, np.zeros((), values.dtype))

    def reverse(self, gradients: Mirror, tangents: Mirror) -> None:
        """A copy is linear: tangents of gradients move as gradients do."""
        for mirror in (gradients, tangents) if not self.is_given else ():
            source = None if self.source is None else gradient_in(mirror, self.source._array)
            self.move(mirror.of(self.dest._array)._data, None if source is None else source._data)


class AnnouncedWrite(TapeEntry):
    """A write that no tape sees, announced by `mark_write` or by a structure that fills its own arrays."""

    def __init__(self, a: array, place: CallSite, name: str = "mark_write"):
        self.array, self.place = a, place
        self.name = self.title = name

    def uses(self) -> Iterator[UsedArray]:
        yield UsedArray("dest", self.array, writes=True)


class FunctionEntry(TapeEntry):
    """A function of the user's to call in reverse; operands: the arrays that it uses."""

    title = "a recorded function"

    def __init__(
        self, backward: Callable[[], Any], operands: list[Any], reads: list[tuple[array, Read]], place: CallSite
    ):
        self.backward, self.operands, self.reads, self.place = backward, operands, reads, place
        self.name = getattr(backward, "__name__", type(backward).__name__)

    def uses(self) -> Iterator[UsedArray]:
        return (UsedArray(str(k), a._array, depends=True) for k, a in enumerate(self.operands))

    @property
    def step(self) -> Step | None:  # type: ignore[override]
        return HostCall(self.run, words=self.name)

    def run(self) -> None:
        """Call the function while the arrays hold what they held when it was recorded."""
        with Restored([(a._data, read) for a, read in self.reads]):
            self.backward()

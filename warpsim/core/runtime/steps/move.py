"""`Move`: the step that copies elements, or adds them, between pieces of memory.

In the process that captured it a move may have more to do than that, for tapes and structures; a file holds what it
comes down to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ....forks import cached_property
from ...types.scalars import holds_floats
from ..devices.device import Device
from ..devices.device_memory import DeviceMemory, on_host
from ..devices.float_mode import in_standard_mode
from ..devices.memory_range import bounds
from .fields import Fields
from .refusals import unsavable
from .step import GraphReader, GraphWriter, Json, Moved, Step, Use


class Picked(NamedTuple):
    """Elements of memory that index tables pick; None stands for a whole dimension."""

    memory: np.ndarray
    tables: list[np.ndarray | None]

    @property
    def indices(self) -> tuple[np.ndarray, ...]:
        pairs = zip(self.memory.shape, self.tables, strict=False)
        return np.ix_(*[np.arange(n) if t is None else on_host(t) for n, t in pairs])


class Piece(NamedTuple):
    """`target[...] = source`, or `target[...] += source`: NumPy's memory, or elements that index tables pick."""

    target: Any
    source: Any
    adds: bool = False

    @in_standard_mode
    def move(self) -> None:
        """Do it, of memory alone."""
        target, source = self.target, self.source
        if isinstance(source, Picked):
            source = source.memory[source.indices]
        if isinstance(target, Picked):
            target.memory[target.indices] = on_host(source)
            return
        if source.size == target.size:
            source = source.reshape(target.shape)
        if self.adds:
            add_to(target, source)
            return
        with np.errstate(invalid="ignore", over="ignore"):
            target[...] = source if isinstance(target, DeviceMemory) else on_host(source)

    @property
    def moved(self) -> Moved | None:
        """The same as bytes of the host that move; None for what computes, repeats or picks."""
        target, source = (getattr(m, "_data", m) for m in self[:2])  # of an array
        if self.adds or not (_is_whole(target) and _is_whole(source)):
            return None
        same, numbers = source.dtype == target.dtype, target.dtype.names is None and source.dtype.names is None
        if source.ndim == 0 and (same or numbers) and not source.tobytes().strip(b"\0"):
            return Moved(target, None)
        apart = same and source.size == target.size and not bounds(source).meets(bounds(target))
        return Moved(target, source) if apart else None


def _is_whole(memory: object) -> TypeGuard[np.ndarray]:
    return isinstance(memory, np.ndarray) and not isinstance(memory, DeviceMemory) and memory.flags.c_contiguous


class Move(Step):
    """run: does it. pieces: what that comes down to, None for what is more than that; words: what reports call it.
    bare: whether it never does more than that."""

    __slots__ = ("run",)

    run: Callable[[], None]

    def __init__(
        self,
        run: Callable[[], None],
        pieces: Callable[[], Sequence[Piece] | None],
        words: str = "copy",
        device: Device | None = None,
        told: Callable[[], None] | None = None,
        bare: bool = False,
    ):
        self.run, self.pieces, self.words, self.told, self.bare = run, pieces, words, told, bare
        self.device = device if device is not None and device.has_stream else None

    @property
    def name(self) -> str:
        return self.words

    @cached_property
    def moved(self) -> Moved | None:  # type: ignore[override]
        pieces = self.pieces() if self.bare else None
        return pieces[0].moved if pieces and len(pieces) == 1 else None

    def uses(self) -> list[Use]:
        return [use for p in self.pieces() or () for use in (Use(p.source), Use(p.target, writes=True))]

    def save(self, file: GraphWriter) -> Iterator[Json]:
        pieces = self.pieces()
        if pieces is None:
            what = "the reverse of a write that picks elements by index tables or repeats them"
            raise unsavable(f"{what}, or constants on a GPU that refer to arrays")
        for p in pieces:
            places = {"to": file.view(p.target), "from": file.view(p.source)}
            yield {"do": "move", "words": self.words, **places, "adds": p.adds}

    @classmethod
    def read(cls, part: Fields, file: GraphReader) -> Step:
        piece = Piece(file.elements(part.part("to")), file.elements(part.part("from")), part.flag("adds"))
        there = isinstance(piece.target, DeviceMemory) and not isinstance(piece.source, Picked)
        device = piece.target.device if there else None
        return cls(piece.move, lambda: [piece], part.text("words"), device, bare=True)


def add_to(target: np.ndarray, contribution: np.ndarray) -> None:
    """target += contribution, for floats and for the float fields of records."""
    if target.dtype.names is None:
        if holds_floats(target.dtype):
            target += contribution if contribution.dtype == target.dtype else contribution.astype(target.dtype)
        return
    for name in target.dtype.names:
        add_to(target[name], contribution[name])


def copying(target: np.ndarray, source: np.ndarray, device: Device | None = None) -> Move:
    """The step that copies memory of one shape and dtype."""
    return Move(partial(np.copyto, target, source), lambda: [Piece(target, source)], device=device, bare=True)


NOTHING = Move(lambda: None, list, "nothing to do")
"""The step where there is nothing to do."""


def bookkeeping(act: Callable[[], None], device: Device | None = None) -> Move:
    """A step that matters to tapes of this process alone."""
    return Move(act, list, "bookkeeping of tapes", device)


def checking(check: Callable[[], None]) -> Move:
    """A step that raises where something is wrong in this process: so does whoever asks what it moves."""

    def pieces() -> list[Piece]:
        check()
        return []

    return Move(check, pieces, "a check")

"""How the steps of a graph run together: native ones in one call, work for a CUDA device as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ....errors import counted
from ..devices.cuda import graphs
from ..launches import pool
from .fusion import Piece
from .native_moves import NativeMove
from .step import GraphPart, Step, names_in_words


class Packed:
    """Steps as commands for the pool of threads, one behind the other: one call of the pool."""

    def __init__(self, steps: Sequence[Step]):
        self.count = len(steps)
        self._natives = [step if step.moved is None else NativeMove(step.moved) for step in steps]
        self.packed = b"".join(native.command or b"" for native in self._natives)

    def __call__(self) -> None:
        pool.get_pool().run(self.packed, self.count)


def runs(pieces: Iterable[Piece]) -> Iterator[Callable[[], None]]:
    """What runs the pieces of a graph, with as few calls as can be."""
    for native, device, group in _groups(pieces):
        steps = [piece.step for piece in group]
        if native:
            yield Packed(steps)
        else:
            calls = [step.run for step in steps]
            yield from calls if device is None else graphs.sections(device, calls)


def parts(pieces: Iterable[Piece]) -> Iterator[GraphPart]:
    """The pieces of a graph in a report."""
    for _, device, group in _groups(pieces):
        if device is None:
            yield from (piece.part for piece in group)
        else:
            names = names_in_words(piece.step.name for piece in group)
            yield GraphPart(f"{counted(len(group), 'step')} on {device}: {names}")


def _groups(pieces: Iterable[Piece]) -> Iterator[tuple[bool, Any, list[Piece]]]:
    """Neighbours that run together: whether the pool of threads gets them, and the CUDA device that they are for."""
    for key, group in groupby(pieces, lambda piece: (_is_native(piece.step), piece.step.device)):
        yield *key, list(group)


def _is_native(step: Step) -> bool:
    return step.command is not None or step.moved is not None

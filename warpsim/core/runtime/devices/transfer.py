"""Steps that say what they do to memory, so that a graph in a file can hold them.

A step is a function without arguments (see `capture.recorded`). A `Transfer` is one that copies elements, or adds them,
between pieces of memory, whatever else it has to tell tapes and structures of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np


class Move(NamedTuple):
    """`target[...] = source`, or `target[...] += source`: NumPy's memory, or an array that picks elements by tables."""

    target: Any
    source: Any
    adds: bool = False


class Transfer:
    """A step that comes down to moves. moves: what they are, None for one that does more than that."""

    __slots__ = ("act", "moves")

    def __init__(self, act: Callable[[], None], moves: Callable[[], Sequence[Move] | None]):
        self.act, self.moves = act, moves

    def __call__(self) -> None:
        self.act()


def copying(target: np.ndarray, source: np.ndarray) -> Transfer:
    """The step that copies memory of one shape and dtype."""
    return Transfer(partial(np.copyto, target, source), lambda: [Move(target, source)])


NOTHING = Transfer(lambda: None, list)
"""The step where there is nothing to do."""


def bookkeeping(act: Callable[[], None]) -> Transfer:
    """A step that matters to tapes of this process alone."""
    return Transfer(act, list)


def checking(check: Callable[[], None]) -> Transfer:
    """A step that raises where something is wrong in this process: so does whoever asks what it moves."""

    def moves() -> list[Move]:
        check()
        return []

    return Transfer(check, moves)


def name_of(step: Any) -> str:
    """A step in words."""
    if isinstance(step, Transfer):
        return "copy"
    function = getattr(step, "func", step)
    owner = getattr(function, "__self__", step)
    name = getattr(owner, "name", "") or getattr(function, "__qualname__", "") or type(function).__name__
    return str(name).replace(".<locals>", "").replace("<lambda>", "a step")

"""Norms of the adjoint along a rollout: where it grows, where it dies, and which launch does it.

Guarantees: gradients are those of `Tape.backward`; norms are of all arrays that the rollout writes, so that what has
arrived in parameters is not counted as being on its way.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...autograd.components import Components
from ...core.language import array
from ...core.runtime.arrays.array import root
from ...core.runtime.tape.entry import TapeEntry
from ...core.runtime.tape.tape import Tape

_REPEATED = 3  # occurrences that make a launch one of a time step


@dataclass
class Passage:
    """The adjoint passing an entry of the tape. norm: of the adjoint when it has passed; factor: by the one before."""

    name: str
    place: str
    norm: float
    factor: float


@dataclass
class AdjointNorms:
    """Passages in the order of the reverse, last entry first, and the factors of time steps.

    steps: the factor of each time step, in the same order; a step is what lies between two occurrences of the launch
    that is repeated least often. culprits: for each step, the passage whose factor is largest in it.
    """

    passages: list[Passage]
    steps: list[float]
    culprits: list[Passage]

    @property
    def growth(self) -> float:
        """The largest norm within the time steps by the one with which they begin; NaN without steps."""
        products = np.cumprod(self.steps) if self.steps else np.array([math.nan])
        return float(products.max())

    @property
    def rest(self) -> float:
        """The norm where the time steps end, by the one with which they begin; NaN without steps."""
        return float(np.prod(self.steps)) if self.steps else math.nan

    @property
    def largest(self) -> tuple[float, Passage | None]:
        """The largest factor of a time step, and the launch that it comes from."""
        if not self.steps:
            return math.nan, None
        k = int(np.argmax(self.steps))
        return self.steps[k], self.culprits[k]


class _Norms:
    """Sums of squares of gradients by memory, kept up entry by entry."""

    def __init__(self, tape: Tape):
        self.written = {id(a._memory) for entry in tape.records for a in entry.written_arrays()}
        self.squares: dict[int, float] = {}
        self.passages: list[Passage] = []
        self.before = 0.0

    def watch(self, entry: TapeEntry) -> None:
        """Run the step of an entry, and note the norm after it."""
        if not self.passages:
            self.look(entry)
        self.before = math.sqrt(sum(self.squares.values()))
        if entry.step:
            entry.step.run()
        self.look(entry)
        norm = math.sqrt(sum(self.squares.values()))
        factor = norm / self.before if self.before > 0.0 else 1.0
        self.passages.append(Passage(entry.name, str(entry.place), norm, factor))

    def look(self, entry: TapeEntry) -> None:
        """Measure the gradients of what an entry uses."""
        for a in {id(a._memory): a for a in entry.arrays()}.values():
            if id(a._memory) in self.written:
                self.squares[id(a._memory)] = _square(a)


def _square(a: array) -> float:
    whole = root(a)
    gradient = whole._gradient if whole._gradient is not None else a.grad
    if gradient is None:
        return 0.0
    values = np.asarray(Components(gradient).read(), dtype=np.float64)
    return float(np.vdot(values, values))


def adjoint_norms(tape: Tape, seeds: dict[array, Any]) -> AdjointNorms:
    """Run a tape in reverse from gradients of arrays, and measure the adjoint at each entry."""
    norms = _Norms(tape)
    tape.stepped_backward(None, seeds, norms.watch)
    passages = norms.passages
    counts = Counter((p.name, p.place) for p in passages)
    repeated = [key for key, count in counts.items() if count >= _REPEATED]
    if not repeated:
        return AdjointNorms(passages, [], [])
    mark = min(repeated, key=lambda key: counts[key])
    at = [k for k, p in enumerate(passages) if (p.name, p.place) == mark]
    steps, culprits = [], []
    for first, last in itertools.pairwise(at):
        if passages[first].norm > 0.0:
            steps.append(passages[last].norm / passages[first].norm)
            culprits.append(max(passages[first + 1 : last + 1], key=lambda p: p.factor))
    while steps and steps[-1] == 0.0:  # what has passed into arrays that nothing writes
        steps.pop(), culprits.pop()
    return AdjointNorms(passages, steps, culprits)

"""How far constraints are from what their materials say, at the end of a substep.

An exact solution has C + alpha lambda / h^2 = 0: impulses lambda are those that the strain C asks for. Without masses
to move, one more projection makes them so, lambda' = -C h^2 / alpha, and moves nothing; the difference is what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core.language import array, kernel, launch, tid, zeros_like
from .particle import move_to, position


class Kind(Protocol):
    """Constraints of one kind, as residuals ask them."""

    multipliers: array

    def project(self, x: array) -> None: ...


class Residual(NamedTuple):
    """Of the constraints of one kind.

    relative: |C + alpha lambda / h^2| per |C|, as norms of the impulses that strains ask for [-]. stiffness: that at
    which strains and impulses would agree, per that of the material [-]; at 0.5 what is at rest is strained twice.
    """

    relative: float
    stiffness: float


@contextmanager
def keep_contents(arrays: Iterable[array]) -> Iterator[None]:
    """Arrays have their numbers again afterwards."""
    before = [(a, a.numpy().copy()) for a in arrays]
    try:
        yield
    finally:
        for a, numbers in before:
            a.assign(numbers)


def residuals(constraints: Mapping[str, Kind], x: array) -> dict[str, Residual]:
    """Of each kind that remembers its multipliers; x: packed particles at the end of a substep."""
    still = zeros_like(x)
    launch(hold, len(x), [x, still], device=x.device, record_tape=False)
    return {name: _residual(kind, still) for name, kind in constraints.items() if kind.multipliers.size}


def _residual(kind: Kind, still: array) -> Residual:
    applied = kind.multipliers.numpy().astype(np.float64).ravel()
    kind.project(still)
    asked = kind.multipliers.numpy().astype(np.float64).ravel()
    square = float(asked @ asked)
    if square == 0.0:
        return Residual(0.0, 1.0)
    return Residual(float(np.linalg.norm(asked - applied)) / square**0.5, float(applied @ asked) / square)


@kernel
def hold(x: array(dtype=Any), still: array(dtype=Any)):
    """The same places, without anything that moves."""
    i = tid()
    a = move_to(x[i], position(x[i]))
    a[3] = a[3] * 0.0
    still[i] = a

"""A scene that warpsim and a peer both compute: the same input, results that are compared before anything is timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.turns import timed

ROUNDS = 9


class Side(NamedTuple):
    """What is timed, and the numbers that it has computed."""

    run: Callable[[], Any]
    numbers: Callable[[], Any] = tuple


class Duel(NamedTuple):
    """Two sides of one scene.

    scene: what is computed, with its size. peer: its name and version. agree: a relative and absolute tolerance of the
    numbers, in the scene's units. share: of them may differ by more (rays along edges, ties).
    """

    scene: str
    peer: str
    own: Side
    other: Side
    agree: float = 1.0e-4
    share: float = 0.0


class Result(NamedTuple):
    """Least seconds of both sides."""

    scene: str
    peer: str
    own: float
    other: float


def run(duel: Duel, rounds: int = ROUNDS) -> Result:
    """Compare, then time in turn. Raises AssertionError where the sides differ."""
    for side in (duel.own, duel.other):
        side.run()
    a, b = (np.asarray(side.numbers(), dtype=float).reshape(-1) for side in (duel.own, duel.other))
    assert a.shape == b.shape, f"{duel.scene}: warpsim has {a.size} numbers, {duel.peer} {b.size}"
    far = np.abs(a - b) > duel.agree * (1.0 + np.abs(b))
    assert a.size == 0 or far.mean() <= duel.share, f"{duel.scene}: {far.mean():.1%} differ from {duel.peer}"
    best = timed({"own": duel.own.run, "other": duel.other.run}, rounds)
    return Result(duel.scene, duel.peer, best["own"], best["other"])

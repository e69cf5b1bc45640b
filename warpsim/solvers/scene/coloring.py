"""Graph coloring: constraints of one color share no particle or body, so all of them may be solved at once.

Greedy (D. J. A. Welsh and M. B. Powell 1967): each constraint, in the order in which it was added, takes the lowest
color that none of its particles has yet. A coloring of n constraints takes O(n) time, in one thread.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...core.language import array, array2d, func, int32, kernel, launch, uint64, zeros
from ...core.runtime.arrays.fixed import Fixed
from ...errors import ModelError

_ROUND = 64  # colors that the bits of one number can hold


class Coloring(Fixed):
    """Constraints (n, particles) in order of color.

    order: their numbers, (n,); those of one color keep their order. ranges: (first, count) in it, a color each.
    """

    def __init__(self, indices: np.ndarray, particles: int):
        self.colors = greedy(indices, particles)
        self.order = np.argsort(self.colors, kind="stable").astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(np.bincount(self.colors, minlength=1))])
        self.ranges = [(a, b - a) for a, b in itertools.pairwise(ends.tolist()) if b > a]
        check(indices, self.colors, particles)


def greedy(indices: np.ndarray, particles: int) -> np.ndarray:
    """A color for each row of particles, (n,) from 0 on, without gaps."""
    n = len(indices)
    rows = array(indices, dtype=int32, device="cpu") if n else zeros((0, 1), int32, "cpu")
    colors, left = zeros(n, int32, "cpu"), zeros(1, int32, "cpu")
    colors.fill_(-1)
    for base in itertools.count(0, _ROUND):
        left.zero_()
        taken = zeros(particles, uint64, "cpu")
        launch(_take_lowest, 1, [rows, base, taken, colors, left], device="cpu", record_tape=False)
        if not left.numpy()[0]:
            return np.unique(colors.numpy(), return_inverse=True)[1].reshape(-1)
    raise AssertionError


@func
def lowest_free(taken: uint64, most: int32) -> int32:
    """The lowest of `most` bits that is not taken; `most` where all are."""
    bit = int32(0)
    while bit < most and (taken >> uint64(bit)) & uint64(1) != uint64(0):
        bit += 1
    return bit


@kernel
def _take_lowest(
    rows: array2d(dtype=int32), base: int32, taken: array(dtype=uint64), colors: array(dtype=int32),
    left: array(dtype=int32),
):  # fmt: skip
    """Color what has none yet, from `base` on; one thread. left: how many found all 64 colors taken."""
    for c in range(rows.shape[0]):
        if colors[c] < 0:
            mask = uint64(0)
            for k in range(rows.shape[1]):
                mask = mask | taken[rows[c, k]]
            bit = lowest_free(mask, _ROUND)
            if bit < _ROUND:
                colors[c] = base + bit
                for k in range(rows.shape[1]):
                    taken[rows[c, k]] = taken[rows[c, k]] | (uint64(1) << uint64(bit))
            else:
                left[0] = left[0] + 1


def check(indices: np.ndarray, colors: np.ndarray, particles: int) -> None:
    """Raise `ModelError` if a particle is in two constraints of a color: to solve those at once would be a race."""
    rows = np.sort(indices, axis=1)
    again = np.zeros(rows.shape, dtype=bool)
    again[:, 1:] = rows[:, 1:] == rows[:, :-1]
    keys = np.sort((colors[:, None] * np.int64(particles) + rows)[~again])
    twice = keys[1:][keys[1:] == keys[:-1]]
    if len(twice):
        color, particle = divmod(int(twice[0]), particles)
        raise ModelError(f"color {color} holds particle {particle} twice\nexpected: constraints that share no particle")

"""Subproblems: independent systems of equations that one operator holds side by side, iterated together.

Sums and coefficients of an iteration are arrays with a number for each subproblem. `Whole` is the one subproblem of an
operator without `batch_offsets`, `Batches` are those between its offsets. Components that belong to no subproblem are 0
in all vectors of an iteration, and keep their values in the solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.language import array, float64, kernel, tid, zeros
from ..core.types import compounds
from ..errors import ArrayError, shown
from .vectors import BLOCK, combine, components, inner, run

Coefficients = float | np.ndarray


class Whole:
    """One system of equations, to which all components belong."""

    count = 1
    has_idle = False

    def __init__(self, size: int):
        self.longest = size

    def inner(self, x: array, y: array) -> np.ndarray:
        """Inner products of flat arrays, (count,), summed in float64."""
        return np.array([inner(x, y)])

    def combine(self, out: array, a: Coefficients, x: array, b: Coefficients = 0.0, y: array | None = None) -> None:
        """out = a x + b y for flat arrays, each coefficient one for all, or an array of one a subproblem."""
        combine(out, _alone(a), x, _alone(b), y)

    def settle(self, x: array) -> None:
        """Zero the idle components of a flat array, those that belong to no subproblem."""


def _alone(a: Coefficients) -> float:
    return float(a[0]) if isinstance(a, np.ndarray) else a


class Batches:
    """The subproblems between offsets, counted in components; those before the first and from the last on are idle."""

    def __init__(self, offsets: np.ndarray, like: array):
        size, self.count = like.size, offsets.size - 1
        lengths = np.diff(offsets)
        self.longest = int(lengths.max())
        self.has_idle = bool(offsets[0] > 0 or offsets[-1] < size)
        owners = np.full(size, self.count, np.int32)  # the coefficients behind the last are those of idle components
        owners[offsets[0] : offsets[-1]] = np.repeat(np.arange(self.count, dtype=np.int32), lengths)
        many = np.maximum(1, -(-lengths // BLOCK))  # blocks of sums that each subproblem has, one at least
        self._first = np.cumsum(many) - many
        within = np.arange(many.sum()) - np.repeat(self._first, many)
        begins = np.repeat(offsets[:-1], many) + within * BLOCK
        ends = np.minimum(begins + BLOCK, np.repeat(offsets[1:], many))
        device = like.device
        self._owners = array(owners, device=device)
        self._blocks = array(np.stack([begins, ends]).astype(np.int32), device=device)

    def inner(self, x: array, y: array) -> np.ndarray:
        """As `Whole.inner`."""
        partial = zeros(self._blocks.shape[1], float64, x.device)
        run(_sum_blocks, partial.size, [x, y, self._blocks, partial], x.device)
        return np.add.reduceat(partial.numpy(), self._first)

    def combine(self, out: array, a: Coefficients, x: array, b: Coefficients = 0.0, y: array | None = None) -> None:
        """As `Whole.combine`; idle components take a coefficient for all, and count 0 where there is one for each.

        What has the coefficient 0 is not looked at, so that a NaN of one subproblem stays there.
        """
        factors = np.zeros((2, self.count + 1), compounds.scalar_of(out.dtype))
        for row, factor in zip(factors, (a, b), strict=True):
            row[: factor.size if isinstance(factor, np.ndarray) else None] = factor
        weights = array(factors, dtype=out.dtype, device=out.device)
        run(_combine_batches, out.size, [self._owners, weights, x, x if y is None else y, out], out.device)

    def settle(self, x: array) -> None:
        """As `Whole.settle`."""
        if self.has_idle:
            self.combine(x, np.ones(self.count), x)


@kernel
def _sum_blocks(x: array(dtype=Any), y: array(dtype=Any), blocks: array(dtype=int, ndim=2), out: array(dtype=float64)):
    k = tid()
    total = float64(0.0)
    for i in range(blocks[0, k], blocks[1, k]):
        total = total + float64(x[i]) * float64(y[i])
    out[k] = total


@kernel
def _combine_batches(
    owners: array(dtype=int), weights: array(dtype=Any, ndim=2), x: array(dtype=Any), y: array(dtype=Any),
    out: array(dtype=Any),
):  # fmt: skip
    i = tid()
    k = owners[i]
    total = out.dtype(0.0)
    if weights[0, k] != out.dtype(0.0):
        total = weights[0, k] * x[i]
    if weights[1, k] != out.dtype(0.0):
        total = total + weights[1, k] * y[i]
    out[i] = total


def subproblems(offsets: array | None, longest: int | None, b: array) -> Whole | Batches:
    """The subproblems that `batch_offsets` and `max_batch_length` of an operator make of systems for b.

    Raises `ArrayError` for offsets that are not those of parts of b, one after another.
    """
    flat = components(b)
    if offsets is None:
        return Whole(flat.size)
    starts = offsets.numpy().astype(np.int64)
    if starts[0] < 0 or starts[-1] > flat.size or (np.diff(starts) < 0).any():
        raise ArrayError(
            f"batch_offsets {shown(starts.tolist())}\nexpected: offsets that never fall, from 0 to {flat.size}, the "
            "number of components of b"
        )
    parts = Batches(starts, flat)
    if longest is not None and parts.longest > longest:
        raise ArrayError(
            f"a subproblem has {parts.longest} components\nexpected: at most max_batch_length, which is {longest}"
        )
    return parts


def norms(parts: Whole | Batches, x: array) -> np.ndarray:
    """The Euclidean norms of a flat array, (count,)."""
    return np.sqrt(parts.inner(x, x))

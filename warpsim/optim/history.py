"""The memory of L-BFGS: recent steps and changes of the gradient, and the direction that they imply.

Guarantees: a direction of descent for every gradient; each update and each direction reads the memory once.

The two-loop recursion (Nocedal and Wright 2006, algorithm 7.4) only ever adds multiples of the stored vectors, so it
runs on the coefficients of those multiples and on inner products of stored vectors (Chen, Wang and Zhou 2014): small
numbers on the host, one launch for the inner products and one for the sum. A GPU has threads for shorter blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.language import array, float64, kernel, tid, zeros
from ..core.runtime.algorithms.cuda import primitives as on_device
from .vectors import BLOCK, run

_SHORT_BLOCK = 64
_FLATTEST = 1.0e-10  # cosine between step and change of gradient below which a pair says nothing


@kernel
def _products(
    rows: array(dtype=Any, ndim=2), s: int, y: int, g: int, size: int, block: int, partial: array(dtype=float64, ndim=3)
):
    """Inner products of every row with rows s, y and g, block by block."""
    row, k = tid()
    first = float64(0.0)
    second = float64(0.0)
    third = float64(0.0)
    end = (k + 1) * block
    if end > size:
        end = size
    for i in range(k * block, end):
        here = float64(rows[row, i])
        first = first + here * float64(rows[s, i])
        second = second + here * float64(rows[y, i])
        third = third + here * float64(rows[g, i])
    partial[row, k, 0] = first
    partial[row, k, 1] = second
    partial[row, k, 2] = third


@kernel
def _weighted_sum(rows: array(dtype=Any, ndim=2), weights: array(dtype=Any), out: array(dtype=Any)):
    i = tid()
    total = out.dtype(0.0)
    for k in range(rows.shape[0]):
        total = total + weights[k] * rows[k, i]
    out[i] = total


class History:
    """At most `pairs` steps s and changes of gradient y, and the gradient g, as rows of one array: s, y, g."""

    def __init__(self, size: int, pairs: int, dtype: Any, device: Any):
        self.size, self.pairs = size, pairs
        self.rows = zeros((2 * pairs + 1, size), dtype, device)
        self.weights = zeros(2 * pairs + 1, dtype, device)
        self.block = _SHORT_BLOCK if self.rows.device.runs_many_threads else BLOCK
        self._partial = zeros((2 * pairs + 1, max(1, math.ceil(size / self.block)), 3), float64, device)
        self.gram = np.zeros((2 * pairs + 1, 2 * pairs + 1))
        self.forget()

    def forget(self) -> None:
        """Start again from the gradient alone."""
        self.order: list[int] = []  # slots in use, oldest first
        self.slot = 0  # where the next pair goes

    @property
    def gradient(self) -> array:
        row: array = self.rows[2 * self.pairs]
        return row

    def refresh(self) -> None:
        """Take in what now stands in the rows of slot `self.slot` and of the gradient."""
        s, y, g = self.slot, self.pairs + self.slot, 2 * self.pairs
        shape = (self._partial.shape[0], self._partial.shape[1])
        run(_products, shape, [self.rows, s, y, g, self.size, self.block, self._partial], self.rows.device)
        partial = self._partial
        products = partial._data.sum(axis=1) if partial.device.shares_host_memory else on_device.middle_sums(partial)
        for column, row in zip((s, y, g), products.T, strict=True):
            self.gram[:, column] = self.gram[column, :] = row

    def accept(self) -> bool:
        """Keep the pair of the current slot, unless it shows no upward curvature; returns whether it was kept."""
        s, y = self.slot, self.pairs + self.slot
        curvature = self.gram[s, y]
        if not curvature > _FLATTEST * math.sqrt(self.gram[s, s] * self.gram[y, y]):
            self.order = [k for k in self.order if k != s]  # its rows were overwritten
            return False
        self.order = [*[k for k in self.order if k != s], s]
        self.slot = (s + 1) % self.pairs
        return True

    def coefficients(self) -> np.ndarray:
        """The direction as a combination of the rows, by the two-loop recursion."""
        m, gram = self.pairs, self.gram
        q = np.zeros(2 * m + 1)
        q[2 * m] = -1.0
        alpha = {}
        for k in reversed(self.order):
            alpha[k] = float(gram[k] @ q) / gram[k, m + k]
            q[m + k] -= alpha[k]
        if self.order:
            newest = self.order[-1]
            q *= gram[newest, m + newest] / gram[m + newest, m + newest]
        for k in self.order:
            beta = float(gram[m + k] @ q) / gram[k, m + k]
            q[k] += alpha[k] - beta
        return q

    def direction(self, out: array) -> float:
        """Write the direction into `out`; returns its slope, which is negative unless the gradient is zero."""
        q = self.coefficients()
        slope = float(self.gram[2 * self.pairs] @ q)
        if not slope < 0.0 and self.order:  # rounding: fall back to steepest descent
            self.forget()
            return self.direction(out)
        with np.errstate(over="ignore"):  # infinite weights give a loss that is not finite: a step too far
            self.weights.assign(q.astype(self.weights.dtype))
        run(_weighted_sum, self.size, [self.rows, self.weights, out], out.device)
        return slope

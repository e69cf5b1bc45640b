"""Factorised sparse approximate inverses: G with G A G^T near the identity, so that G^T G preconditions A.

Row i of the lower triangular G minimises the energy g A g^T over its support, with the diagonal scaled so that the
energy is 1 (Kolotilina and Yeremin 1993). Supports grow from the diagonal: where the gradient of the energy is largest
for its diagonal, entries join, until they lower the energy too little or the row is full (Janna, Ferronato and
Gambolati 2015). Rows are independent of each other; a Cholesky factor of each row's small system grows with it.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..core.language import (
    array,
    array2d,
    array3d,
    clone,
    empty,
    float64,
    func,
    int32,
    kernel,
    sqrt,
    struct,
    tid,
    zeros,
)
from ..core.types import scalars
from ..core.types.arrays import type_name
from ..core.types.scalars import canonical
from ..errors import ArgumentTypeError, ArrayError, counted, instance
from ..sparse.assembly import bsr_from_triplets
from ..sparse.block_operator import block_diagonal, block_matvec
from ..sparse.conversion import bsr_copy
from ..sparse.expression import Operators
from ..sparse.transposition import bsr_transposed
from .operators import LinearOperator
from .vectors import run

_FLOORS = {scalars.float16: 1.0e-3, scalars.float32: 1.0e-6, scalars.float64: 1.0e-12}
_LARGEST_ROW = 64
_WORKERS = 16  # threads, each with a gradient as long as the matrix


@struct
class Rows:
    """A symmetric matrix in compressed rows with rising columns, and its diagonal."""

    offsets: array[int32]
    columns: array[int32]
    values: array[float64]
    diagonal: array[float64]


@struct
class Supports:
    """The rows of G. columns, values: (n, most), the diagonal last; counts: their lengths; cut: 1 where a pivot did."""

    columns: array2d[int32]
    values: array2d[float64]
    counts: array[int32]
    cut: array[int32]


@struct
class Scratch:
    """Memory of each thread: a Cholesky factor, what it has solved for, the row, and the gradient of the energy."""

    factor: array3d[float64]
    right: array2d[float64]
    weights: array2d[float64]
    gradient: array2d[float64]


@struct
class Limits:
    """When a row is done: `fixed` supports are taken as they are."""

    row_size: int32
    step_size: int32
    tolerance: float64
    floor: float64
    fixed: bool


@func
def entry(A: Rows, row: int32, column: int32) -> float64:
    """An entry of the matrix, by bisection."""
    low = A.offsets[row]
    high = A.offsets[row + 1]
    while low < high:
        middle = (low + high) // 2
        if A.columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    if low < A.offsets[row + 1] and A.columns[low] == column:
        return A.values[low]
    return float64(0.0)


@func
def join(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, j: int32, m: int32, floor: float64) -> bool:
    """Whether column j joins the m columns of row i: the factor and what it solves for grow by a row.

    It does not where that leaves a pivot, or an energy of the row, too small beside the diagonal.
    """
    pivot = A.diagonal[j]
    energy = A.diagonal[i]
    right = -entry(A, j, i)
    for a in range(m):
        value = entry(A, j, G.columns[i, a])
        for b in range(a):
            value -= room.factor[w, a, b] * room.factor[w, m, b]
        value = value / room.factor[w, a, a]
        room.factor[w, m, a] = value
        pivot -= value * value
        right -= value * room.right[w, a]
        energy -= room.right[w, a] * room.right[w, a]
    if not (pivot > floor * A.diagonal[j] and energy - right * right / pivot > floor * A.diagonal[i]):
        return False
    room.factor[w, m, m] = sqrt(pivot)
    room.right[w, m] = right / sqrt(pivot)
    G.columns[i, m] = j
    return True


@func
def solve_row(room: Scratch, w: int32, m: int32):
    """The entries of a row beside its diagonal, for the diagonal 1."""
    for back in range(m):
        a = m - 1 - back
        value = room.right[w, a]
        for b in range(a + 1, m):
            value -= room.factor[w, b, a] * room.weights[w, b]
        room.weights[w, a] = value / room.factor[w, a, a]


@func
def member(G: Supports, i: int32, k: int32, m: int32) -> int32:
    """Column k of row i, whose last is the diagonal."""
    if k < m:
        return G.columns[i, k]
    return i


@func
def add_gradient(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, m: int32):
    """The gradient of the energy of row i at the columns beside its support."""
    for k in range(m + 1):
        row = member(G, i, k, m)
        weight = float64(1.0)
        if k < m:
            weight = room.weights[w, k]
        for e in range(A.offsets[row], A.offsets[row + 1]):
            if A.columns[e] < i:
                room.gradient[w, A.columns[e]] += weight * A.values[e]
    for k in range(m):
        room.gradient[w, G.columns[i, k]] = float64(0.0)


@func
def steepest(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, m: int32) -> int32:
    """The column whose entry lowers the energy most, -1 where none does."""
    best = int32(-1)
    most = float64(0.0)
    for k in range(m + 1):
        row = member(G, i, k, m)
        for e in range(A.offsets[row], A.offsets[row + 1]):
            j = A.columns[e]
            if j < i:
                gain = room.gradient[w, j] * room.gradient[w, j] / A.diagonal[j]
                if gain > most:
                    best = j
                    most = gain
    return best


@func
def clear_gradient(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, m: int32):
    """Zero what `add_gradient` wrote."""
    for k in range(m + 1):
        row = member(G, i, k, m)
        for e in range(A.offsets[row], A.offsets[row + 1]):
            room.gradient[w, A.columns[e]] = float64(0.0)


@func
def grow_once(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, m: int32, limits: Limits) -> int32:
    """The length of the support of row i after one step of growth, with `cut` set where a pivot ended it."""
    solve_row(room, w, m)
    add_gradient(A, G, room, w, i, m)
    count = m
    for _ in range(limits.step_size):
        j = steepest(A, G, room, w, i, m)
        if j < 0 or count + 1 >= limits.row_size:
            break
        room.gradient[w, j] = float64(0.0)
        if not join(A, G, room, w, i, j, count, limits.floor):
            G.cut[i] = 1
            break
        count += 1
    clear_gradient(A, G, room, w, i, m)
    return count


@func
def refit(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, limits: Limits) -> int32:
    """The length of the support of row i without its diagonal: that of before, as far as pivots allow."""
    count = G.counts[i] - 1
    for m in range(count):
        if not join(A, G, room, w, i, G.columns[i, m], m, limits.floor):
            G.cut[i] = 1
            return m
    return count


@func
def grow(A: Rows, G: Supports, room: Scratch, w: int32, i: int32, limits: Limits) -> int32:
    """The length of the support of row i without its diagonal, grown until it is done."""
    energy = A.diagonal[i]
    m = int32(0)
    growing = limits.row_size > 1
    while growing:
        count = grow_once(A, G, room, w, i, m, limits)
        before = energy
        for k in range(m, count):
            energy -= room.right[w, k] * room.right[w, k]
        growing = count > m and G.cut[i] == 0 and before - energy >= limits.tolerance * before
        m = count
    return m


@kernel
def _make_rows(A: Rows, G: Supports, room: Scratch, limits: Limits):
    w = tid()
    for i in range(w, A.diagonal.shape[0], room.right.shape[0]):
        G.cut[i] = 0
        m = int32(0)
        if limits.fixed:
            m = refit(A, G, room, w, i, limits)
        else:
            m = grow(A, G, room, w, i, limits)
        solve_row(room, w, m)
        energy = A.diagonal[i]
        for k in range(m):
            energy -= room.right[w, k] * room.right[w, k]
        scale = float64(1.0) / sqrt(energy)
        for k in range(m):
            G.values[i, k] = scale * room.weights[w, k]
        G.columns[i, m] = i
        G.values[i, m] = scale
        G.counts[i] = m + 1


class FSAI(LinearOperator):
    """The preconditioner G^T G of a symmetric positive definite sparse matrix.

    A: a square `BsrMatrix` of floats with square blocks, whose both triangles are stored; only the lower one and the
    diagonal count. max_row_size: the most entries of a row of G, 1 to 64; 1 is the diagonal. kap_tolerance: rows stop
    to grow where a step lowers their energy by less than this part. pivot_floor: the smallest pivot of a row's system
    and the smallest energy of a row, by their diagonals: a row is cut before a smaller one; by default 1e-3, 1e-6 and
    1e-12 for the three floats. factor_dtype: of the entries of G, by default that of A; or float32 for float64.
    reuse_pattern: let `update` fit the same supports again. max_step_size: how many entries join at a time, 1 to 64.

    G, GT: the factor and its transpose; source: the matrix; truncated_rows: how many rows were cut. It has no gradient
    with respect to A, and solves need none.

    Raises `ValueError` for another matrix or number, and for a diagonal that is not positive, `ArgumentTypeError` for
    another type.
    """

    def __init__(
        self, A: Any, max_row_size: int = 8, kap_tolerance: float = 1.0e-3, pivot_floor: float | None = None,
        factor_dtype: Any = None, reuse_pattern: bool = False, max_step_size: int = 1,
    ):  # fmt: skip
        scalar, shape = _checked(A)
        for value, name in ((max_row_size, "max_row_size"), (max_step_size, "max_step_size")):
            if isinstance(value, bool) or not 1 <= instance(value, Integral, name) <= _LARGEST_ROW:
                raise ValueError(f"{name} is {value}\nexpected: 1 to {_LARGEST_ROW}")
        if not 0.0 <= instance(kap_tolerance, Real, "kap_tolerance") < 1.0:
            raise ValueError(f"kap_tolerance is {kap_tolerance}\nexpected: from 0 to below 1")
        floor = _FLOORS[scalar] if pivot_floor is None else pivot_floor
        if not 0.0 < instance(floor, Real, "pivot_floor") < 1.0:
            raise ValueError(f"pivot_floor is {floor}\nexpected: above 0 and below 1")
        dtype = scalar if factor_dtype is None else canonical(factor_dtype)
        if dtype is not scalar and (scalar, dtype) != (scalars.float64, scalars.float32):
            raise ValueError(f"factor_dtype is {type_name(dtype)}\nexpected: that of A, or float32 for float64")
        super().__init__(shape, scalar, A.device, self._multiply, adjoint=self._multiply)
        self._dtype, self._supports = dtype, _supports(shape[0], max_row_size, A.device)
        self._limits = _limits(max_row_size, max_step_size, kap_tolerance, floor)
        self._fit(A)
        self._limits.fixed = True
        if not reuse_pattern:
            self._supports = None

    def update(self, A: Any = None) -> None:
        """Fit the entries again, on the supports that there are: to what the matrix holds now, or to another one.

        Raises `ValueError` without `reuse_pattern`, for a matrix of another size or type, and for a diagonal that is
        not positive; then the factor is that of before.
        """
        if self._supports is None:
            raise ValueError("this FSAI keeps no supports\nhelp: make it with reuse_pattern=True")
        matrix = self.source if A is None else A
        if _checked(matrix) != (self.dtype, self.shape):
            raise ValueError(f"the matrix is {matrix!r}\nexpected: one of shape {self.shape}, {type_name(self.dtype)}")
        self._fit(matrix)

    def _fit(self, A: Any) -> None:
        """Make the factor of a matrix."""
        rows, supports = _rows_of(A), self._supports
        if self._limits.fixed:  # a cut of this fit does not shorten the supports of later ones
            supports = _copy_of(supports)
        n, most = supports.columns.shape
        workers = min(n, _WORKERS)
        room = Scratch()
        room.factor = empty((workers, most, most), float64, A.device)
        room.right, room.weights = (empty((workers, most), float64, A.device) for _ in range(2))
        room.gradient = zeros((workers, n), float64, A.device)
        if n:
            run(_make_rows, workers, [rows, supports, room, self._limits], A.device)
        self.G, self.truncated_rows = _factor(supports, self._dtype), int(supports.cut.numpy().sum())
        self.GT = bsr_transposed(self.G)
        self._factors = [block_matvec(bsr_copy(M, scalar_type=self.dtype).terms()) for M in (self.G, self.GT)]
        self.source, self.arrays = A, [self.G.values, self.GT.values]

    def _multiply(self, x: array, y: array, z: array, alpha: float, beta: float) -> None:
        room = empty(self.shape[0], self.dtype, self.device)
        self._factors[0](x, room, room, 1.0, 0.0)
        self._factors[1](room, y, z, alpha, beta)


def _checked(A: Any) -> tuple[Any, tuple[int, int]]:
    """The type and the shape of a matrix that FSAI takes."""
    if not isinstance(A, Operators) or A.shape[0] != A.shape[1] or A.block_shape[0] != A.block_shape[1]:
        what = f"{A.shape} in blocks of {A.block_shape}" if isinstance(A, Operators) else type(A).__name__
        raise ValueError(f"A is {what}\nexpected: a square BsrMatrix with square blocks, for FSAI")
    scalar = A.terms().scalar_type
    if scalar not in _FLOORS:
        raise ArgumentTypeError(f"A has blocks of {type_name(scalar)}\nexpected: float16, float32 or float64")
    return scalar, tuple(A.shape)


def _rows_of(A: Any) -> Rows:
    """A matrix as rows of numbers. Raises `ArrayError` for a diagonal that is not positive."""
    numbers = bsr_copy(A, block_shape=(1, 1), scalar_type=float64)
    rows = Rows()
    rows.offsets, rows.columns, rows.values = numbers.offsets, numbers.columns, numbers.values
    rows.diagonal = block_diagonal(numbers)
    entries = rows.diagonal.numpy()
    wrong = np.flatnonzero(~((entries > 0.0) & np.isfinite(entries)))
    if wrong.size:
        raise ArrayError(
            f"{counted(wrong.size, 'entry')} of the diagonal are not positive, the first is {entries[wrong[0]]} in row "
            f"{wrong[0]}\nexpected: a symmetric positive definite matrix, for FSAI"
        )
    return rows


def _supports(n: int, most: int, device: Any) -> Supports:
    """Room for the rows of a factor."""
    G = Supports()
    G.columns, G.values = empty((n, most), int32, device), empty((n, most), float64, device)
    G.counts, G.cut = zeros(n, int32, device), zeros(n, int32, device)
    return G


def _copy_of(G: Supports) -> Supports:
    same = Supports()
    same.columns, same.values, same.counts, same.cut = (clone(a) for a in (G.columns, G.values, G.counts, G.cut))
    return same


def _limits(row_size: int, step_size: int, tolerance: float, floor: float) -> Limits:
    limits = Limits()
    limits.row_size, limits.step_size, limits.tolerance, limits.floor = int(row_size), int(step_size), tolerance, floor
    return limits


def _factor(G: Supports, dtype: Any) -> Any:
    """The rows of a factor as a sparse matrix of numbers. Raises `ArrayError` for entries that are not finite."""
    counts = G.counts.numpy()
    inside = np.arange(G.columns.shape[1]) < counts[:, None]
    values = G.values.numpy()[inside].astype(dtype)
    if not np.isfinite(values).all():
        raise ArrayError(
            f"the factor of FSAI has entries that are not finite in {type_name(dtype)}\n"
            "expected: a symmetric positive definite matrix\nhelp: raise pivot_floor, or scale the matrix"
        )
    rows = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
    device = G.counts.device
    parts = (array(part, device=device) for part in (rows, G.columns.numpy()[inside], values))
    return bsr_from_triplets(counts.size, counts.size, *parts, prune_numerical_zeros=False)

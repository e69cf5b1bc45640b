"""Linear operators: what iterative solvers know of a matrix.

Guarantees: every operator computes z = alpha A x + beta y, by launches that a tape can record; dense and sparse ones
also compute with the transpose, so that solves through them can be differentiated.

`aslinearoperator` makes one of a dense 2-D array, a `BsrMatrix` of `wp.sparse`, a `CsrMatrix`, a SciPy sparse matrix,
or takes a `LinearOperator`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..core.language import (
    array,
    empty,
    float64,
    get_device,
    int32,
    kernel,
    launch,
    radix_sort_pairs,
    tid,
    zeros,
)
from ..core.runtime.arrays.fixed import Fixed, PrivateCopy
from ..core.runtime.arrays.saved_contents import Paused
from ..core.runtime.devices.capture import current_graph
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, counted, instance, shown
from ..sparse.block_operator import block_matvec
from ..sparse.expression import Operators
from .vectors import check_floats, components, run

Matvec = Callable[[array, array, array, float, float], None]


class LinearOperator:
    """A square matrix known by what it does.

    shape: (rows, columns), counted in elements of `dtype`, the type of the vectors it is applied to. matvec(x, y, z,
    alpha, beta) computes z = alpha A x + beta y; z may be y, and y must not be read when beta is 0. adjoint: the same
    for the transpose of A, asked for when a solve by `bicgstab` or `gmres` is differentiated. arrays: those that A
    is made of beside the ones that `matvec` launches with; a tape keeps both as they were at the solve.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        device: Any,
        matvec: Matvec,
        adjoint: Matvec | None = None,
        arrays: Sequence[array] = (),
    ):
        if not isinstance(shape, tuple | list) or len(shape) != 2:
            raise ArrayError(f"a linear operator of shape {shown(shape)}\nexpected: (rows, columns)")
        rows, columns = shape
        if rows != columns:
            raise ArrayError(f"a linear operator of shape {tuple(shape)}\nexpected: as many rows as columns")
        self.shape, self.dtype, self.device = (int(rows), int(columns)), dtype, get_device(device)
        self.matvec, self.adjoint, self.arrays = matvec, adjoint, list(arrays)

    def transposed(self) -> LinearOperator | None:
        """The transpose, if it is known."""
        if self.adjoint is None:
            return None
        return LinearOperator(self.shape, self.dtype, self.device, self.adjoint, self.matvec, self.arrays)

    def __repr__(self) -> str:
        return f"LinearOperator(shape={self.shape}, dtype={type_name(self.dtype)})"


def aslinearoperator(A: Any) -> LinearOperator:
    """A `LinearOperator` of a dense 2-D array, a `BsrMatrix`, a `CsrMatrix`, or a SciPy sparse matrix, which is copied.

    Of a `BsrMatrix` it is the matrix that this is now; blocks may be written to, a new pattern makes another operator.

    Raises `ArgumentTypeError` for anything else, `ArrayError` for a matrix that is not square.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, CsrMatrix):
        return A.operator()
    if isinstance(A, Operators):
        return block_operator(A)
    if isinstance(A, array):
        return dense_operator(A)
    if hasattr(A, "tocsr"):
        return CsrMatrix.from_scipy(A).operator()
    raise ArgumentTypeError(
        f"A is {type(A).__name__}\n"
        "expected: a 2-D array, a BsrMatrix, a CsrMatrix, a SciPy sparse matrix or a LinearOperator"
    )


def computes(a: array) -> bool:
    """Whether to compute where an array is: on a GPU, unless a graph is captured, which would run it later."""
    return not a.device.shares_host_memory and current_graph() is None


# ----- dense --------------------------------------------------------------------------------------


@kernel
def _dense(
    a: array(dtype=Any, ndim=2), x: array(dtype=Any), y: array(dtype=Any), z: array(dtype=Any), alpha: Any, beta: Any
):
    i = tid()
    total = z.dtype(0.0)
    for j in range(a.shape[1]):
        total = total + a[i, j] * x[j]
    total = alpha * total
    if beta != z.dtype(0.0):
        total = total + beta * y[i]
    z[i] = total


def dense_operator(a: array) -> LinearOperator:
    """The operator of a 2-D array of floats."""
    if a.ndim != 2 or not scalars.is_float(a.dtype):
        raise ArgumentTypeError(
            f"A is a {a.ndim}-D array of {type_name(a.dtype)}\nexpected: a 2-D array of floats, or a CsrMatrix"
        )

    def product(matrix: array) -> Matvec:
        def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
            vectors = [components(v) for v in (x, y, z)]
            launch(_dense, matrix.shape[0], [matrix, *vectors, a.dtype(alpha), a.dtype(beta)], device=a.device)

        return matvec

    return LinearOperator((a.shape[0], a.shape[1]), a.dtype, a.device, product(a), product(a.transpose()), [a])


# ----- sparse matrices of blocks ---------------------------------------------------------------------


def block_operator(A: Any) -> LinearOperator:
    """The operator of a `BsrMatrix` of floats, or of an expression of one."""
    terms = A.terms()
    if not scalars.is_float(terms.scalar_type):
        raise ArgumentTypeError(f"A has blocks of {type_name(terms.scalar_type)}\nexpected: floats")
    products = [block_matvec(terms), block_matvec(terms.turn())]
    return LinearOperator(terms.shape, terms.scalar_type, terms.device, *products, [terms.matrix.values])


# ----- sparse -------------------------------------------------------------------------------------


@kernel
def _sparse(
    offsets: array(dtype=int),
    columns: array(dtype=int),
    values: array(dtype=Any),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
    alpha: Any,
    beta: Any,
):
    i = tid()
    total = z.dtype(0.0)
    for k in range(offsets[i], offsets[i + 1]):
        total = total + values[k] * x[columns[k]]
    total = alpha * total
    if beta != z.dtype(0.0):
        total = total + beta * y[i]
    z[i] = total


@kernel
def _sparse_turned(
    starts: array(dtype=int),
    rows: array(dtype=int),
    order: array(dtype=int),
    values: array(dtype=Any),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
    alpha: Any,
    beta: Any,
):
    """The same for the transpose: entries sorted by column, `order` says where the value of each stands."""
    i = tid()
    total = z.dtype(0.0)
    for k in range(starts[i], starts[i + 1]):
        total = total + values[order[k]] * x[rows[k]]
    total = alpha * total
    if beta != z.dtype(0.0):
        total = total + beta * y[i]
    z[i] = total


@kernel
def _find_wrong(offsets: array(dtype=int), columns: array(dtype=int), size: int, count: int, wrong: array(dtype=int)):
    """wrong[0] = 1 unless offsets rise from 0 to `count` and columns are below `size`."""
    i = tid()
    if i < count:
        if columns[i] < 0 or columns[i] >= size:
            wrong[0] = 1
    if i < size:
        if offsets[i + 1] < offsets[i]:
            wrong[0] = 1
    if i == 0:
        if offsets[0] != 0 or offsets[size] != count:
            wrong[0] = 1


@kernel
def _expand_rows(
    offsets: array(dtype=int),
    columns: array(dtype=int),
    rows: array(dtype=int),
    keys: array(dtype=int),
    order: array(dtype=int),
):
    """The row of every entry; keys and order: what is sorted to transpose a matrix."""
    i = tid()
    for k in range(offsets[i], offsets[i + 1]):
        rows[k] = i
        keys[k] = columns[k]
        order[k] = k


@kernel
def _turn(
    keys: array(dtype=int),
    order: array(dtype=int),
    rows: array(dtype=int),
    count: int,
    sorted_rows: array(dtype=int),
    starts: array(dtype=int),
):
    """Rows of entries sorted by column, and where each column starts."""
    k = tid()
    first = int(0)
    last = starts.shape[0] - 1
    if k > 0:
        first = keys[k - 1] + 1
    if k < count:
        last = keys[k]
        sorted_rows[k] = rows[order[k]]
    for column in range(first, last + 1):
        starts[column] = k


@kernel
def _csr_diagonal(
    offsets: array(dtype=int), columns: array(dtype=int), values: array(dtype=Any), out: array(dtype=float64)
):
    i = tid()
    total = float64(0.0)
    for k in range(offsets[i], offsets[i + 1]):
        if columns[k] == i:
            total = total + float64(values[k])
    out[i] = total


class CsrMatrix(Fixed):
    """A square sparse matrix in compressed rows.

    Row i has the entries `values[k]` in columns `columns[k]` for k from `offsets[i]` up to `offsets[i + 1]`; entries of
    one place add up. offsets: n + 1 integers (int32); columns: int32; values: floats, which may have gradients, and may
    be written to or replaced by an array of the same layout. Of offsets and columns the matrix has copies.
    Raises `ArrayError` for offsets or columns that do not make a matrix, and where it is used and finds that they
    changed, `ArgumentTypeError` for wrong dtypes.
    """

    replaceable = ("offsets", "columns", "values")

    def __init__(self, offsets: array, columns: array, values: array):
        for name, indices in (("offsets", offsets), ("columns", columns)):
            instance(indices, array, name)
        check_floats(values, "values")
        if compounds.is_compound(values.dtype) or offsets.dtype is not int32 or columns.dtype is not int32:
            dtypes = ", ".join(type_name(a.dtype) for a in (offsets, columns, values))
            raise ArgumentTypeError(f"offsets, columns and values of {dtypes}\nexpected: int32, int32 and floats")
        self.offsets, self.columns, self.values = offsets, columns, values
        self.size = offsets.size - 1
        self._check()
        self._copies = PrivateCopy(offsets), PrivateCopy(columns)

    @property
    def _pattern(self) -> tuple[array, array]:
        """Offsets and columns that launches take for indices, out of reach."""
        return self._copies[0].array, self._copies[1].array

    def _check_same(self) -> None:
        """Raise `ArrayError` where offsets or columns are found to be others than when the matrix was made."""
        self.check_replaced("CsrMatrix")
        for name, own in zip(("offsets", "columns"), self._copies, strict=True):
            if not own.matches(getattr(self, name)):
                self._check()
                raise ArrayError(f"{name} of a CsrMatrix changed since it was made\nhelp: make another one")

    def _check(self) -> None:
        if computes(self.offsets) and self._looks_right():
            return  # what is wrong can be told on the host
        starts, columns, count = self.offsets.numpy(), self.columns.numpy(), self.values.size
        if not starts.size or starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
            raise ArrayError(f"offsets {starts}\nexpected: from 0 to the number of values, {count}, never falling")
        if columns.shape != (count,) or (count and not 0 <= columns.min() <= columns.max() < self.size):
            raise ArrayError(
                f"columns of shape {columns.shape}, from {columns.min(initial=0)} to {columns.max(initial=0)}\n"
                f"expected: {counted(count, 'column')}, each from 0 to {self.size - 1}"
            )

    def _looks_right(self) -> bool:
        """The same check by a kernel, which needs no copy of the arrays on the host."""
        count, sizes = self.values.size, (self.offsets.size, self.columns.size)
        if not sizes[0] or self.columns.shape != (count,):
            return False
        wrong = zeros(1, int32, self.values.device)
        run(_find_wrong, max(sizes), [self.offsets, self.columns, self.size, count, wrong], self.values.device)
        return int(wrong._data[0]) == 0

    @classmethod
    def from_scipy(cls, matrix: Any, device: Any = None, requires_grad: bool = False) -> CsrMatrix:
        """A copy of a SciPy sparse matrix of any format."""
        rows = matrix.tocsr()
        if rows.shape[0] != rows.shape[1]:
            raise ArrayError(f"a sparse matrix of shape {rows.shape}\nexpected: as many rows as columns")
        offsets, columns = (array(part.astype(np.int32), device=device) for part in (rows.indptr, rows.indices))
        return cls(offsets, columns, array(rows.data, device=device, requires_grad=requires_grad))

    @cached_property
    def _transposed_pattern(self) -> tuple[array, ...]:
        """Of entries sorted by column: where each column starts, their rows, and where their values stand."""
        if computes(self.columns):
            return self._transpose_pattern()
        columns = self._pattern[1].numpy()
        order = np.argsort(columns, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(columns, minlength=self.size)))
        return self._index(starts), self._index(_rows(self._pattern[0])[order]), self._index(order)

    def _transpose_pattern(self) -> tuple[array, ...]:
        """The same on the device of the arrays."""
        count, device = self.columns.size, self.columns.device
        keys, order = (zeros(2 * count, int32, device) for _ in range(2))  # as the sort wants them
        rows, sorted_rows = (empty(count, int32, device) for _ in range(2))
        starts = zeros(self.size + 1, int32, device)
        run(_expand_rows, self.size, [*self._pattern, rows, keys, order], device)
        with Paused():
            radix_sort_pairs(keys, order, count, 0, 32)
        run(_turn, count + 1, [keys, order, rows, count, sorted_rows, starts], device)
        return starts, sorted_rows, order[:count]

    def _index(self, numbers: np.ndarray) -> array:
        return array(numbers.astype(np.int32), device=self.values.device)

    @property
    def rows(self) -> np.ndarray:
        """The row of every entry."""
        self._check_same()
        return _rows(self._pattern[0])

    def operator(self) -> LinearOperator:
        """The linear operator of this matrix."""
        self._check_same()
        values = self.values

        def product(turned: bool) -> Matvec:
            def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
                pattern = self._transposed_pattern if turned else self._pattern
                vectors = [components(v) for v in (x, y, z)]
                inputs = [*pattern, values, *vectors, values.dtype(alpha), values.dtype(beta)]
                launch(_sparse_turned if turned else _sparse, self.size, inputs, device=values.device)

            return matvec

        shape = (self.size, self.size)
        return LinearOperator(shape, values.dtype, values.device, product(False), product(True), [values])

    def diagonal(self) -> np.ndarray:
        """The entries with equal row and column, (n,)."""
        self._check_same()
        if computes(self.values):
            entries = zeros(self.size, float64, self.values.device)
            run(_csr_diagonal, self.size, [*self._pattern, self.values, entries], self.values.device)
            return entries.numpy()
        rows = _rows(self._pattern[0])
        at = rows == self._pattern[1].numpy()
        return np.bincount(rows[at], self.values.numpy()[at], self.size)


def _rows(offsets: array) -> np.ndarray:
    """The row of every entry."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets.numpy()))

"""Linear operators: what iterative solvers know of a matrix.

Guarantees: every operator computes z = alpha A x + beta y, by launches that a tape can record; dense and sparse ones
also compute with the transpose, so that solves through them can be differentiated.

`aslinearoperator` makes one of a dense 2-D array, a 1-D array of the diagonal, a `BsrMatrix` of `wp.sparse`, a
`CsrMatrix`, a SciPy sparse matrix, or takes a `LinearOperator`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.language import array, get_device, int32, kernel, launch, tid, zeros
from ..core.runtime.arrays.fixed import Fixed, PrivateCopy
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, counted, shown
from ..sparse.block_operator import block_diagonal, block_matvec
from ..sparse.blocks import check_index
from ..sparse.expression import Expression, Operators
from ..sparse.matrix import BsrMatrix, matrix_of
from ..sparse.scipy_matrices import bsr_from_scipy
from .vectors import check_floats, check_not_captured, components, run

Matvec = Callable[[array, array, array, float, float], None]


class LinearOperator:
    """A square matrix known by what it does.

    shape: (rows, columns), counted in elements of `dtype`, the type of the vectors it is applied to. matvec(x, y, z,
    alpha, beta) computes z = alpha A x + beta y; z may be y, and y must not be read when beta is 0. adjoint: the same
    for the transpose of A, asked for when a solve by `bicgstab` or `gmres` is differentiated. arrays: those that A
    is made of beside the ones that `matvec` launches with; a tape keeps both as they were at the solve.

    batch_offsets: (n + 1,) of int32, where A is n independent subproblems: the first component of each, and the end of
    the last. Solvers iterate them together, and end each by its own residual; components outside of all are idle: they
    keep their values. max_batch_length: the most components that one may have.

    Raises `ArrayError` for what is not square, and `ArgumentTypeError` and `ArrayError` for other offsets.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: Any,
        device: Any,
        matvec: Matvec,
        batch_offsets: array | None = None,
        max_batch_length: int | None = None,
        *,
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
        _check_batches(batch_offsets, max_batch_length, self.device)
        self.batch_offsets, self.max_batch_length = batch_offsets, max_batch_length

    @property
    def scalar_type(self) -> Any:
        """The type of the components of the vectors it is applied to."""
        return compounds.scalar_of(self.dtype)

    @property
    def batch_count(self) -> int:
        """The number of subproblems, 1 without `batch_offsets`."""
        return 1 if self.batch_offsets is None else self.batch_offsets.size - 1

    def in_batches(self, offsets: array | None, longest: int | None) -> LinearOperator:
        """The same matrix as subproblems, see `batch_offsets` and `max_batch_length`."""
        parts = {"adjoint": self.adjoint, "arrays": self.arrays}
        return LinearOperator(self.shape, self.dtype, self.device, self.matvec, offsets, longest, **parts)

    def transposed(self) -> LinearOperator | None:
        """The transpose, if it is known."""
        if self.adjoint is None:
            return None
        parts = {"adjoint": self.matvec, "arrays": self.arrays}
        batches = self.batch_offsets, self.max_batch_length
        return LinearOperator(self.shape, self.dtype, self.device, self.adjoint, *batches, **parts)

    def __repr__(self) -> str:
        return f"LinearOperator(shape={self.shape}, dtype={type_name(self.dtype)})"


def _check_batches(offsets: Any, longest: int | None, device: Any) -> None:
    """Raise unless `batch_offsets` and `max_batch_length` can be those of an operator on a device."""
    if longest is not None and offsets is None:
        raise ValueError(f"max_batch_length is {longest} alone\nhelp: it requires batch_offsets, or leave it out")
    if longest is not None and longest < 0:
        raise ValueError(f"max_batch_length is {longest}\nexpected: a number of components from 0 on, or None")
    if offsets is not None:
        check_index(offsets, "batch_offsets", device)
        if offsets.size < 2:
            raise ArrayError(f"batch_offsets has {counted(offsets.size, 'element')}\nexpected: 2, or more")


def aslinearoperator(
    A: Any, batch_offsets: array | None = None, max_batch_length: int | None = None
) -> LinearOperator:
    """A `LinearOperator` of a matrix: dense, diagonal, or sparse.

    A: a 2-D array of floats, a 1-D array of the diagonal, of floats or vectors of floats, a `BsrMatrix`, a `CsrMatrix`,
    or a SciPy sparse matrix, which is copied. Of a `BsrMatrix` it is the matrix that this is now; blocks may be written
    to, a new pattern makes another operator. An operator is returned as it is, with the subproblems that it has.
    batch_offsets, max_batch_length: see `LinearOperator`.

    Raises `ArgumentTypeError` for anything else, `ArrayError` for a matrix that is not square.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, array):
        operator = diagonal_operator(A) if A.ndim == 1 else dense_operator(A)
    elif isinstance(A := sparse_of_blocks(A), Operators):
        operator = block_operator(A)
    else:
        raise ArgumentTypeError(
            f"A is {type(A).__name__}\n"
            "expected: a 2-D or 1-D array, a BsrMatrix, a CsrMatrix, a SciPy sparse matrix or a LinearOperator"
        )
    batched = batch_offsets is not None or max_batch_length is not None
    return operator.in_batches(batch_offsets, max_batch_length) if batched else operator


def sparse_of_blocks(A: Any) -> Any:
    """A `CsrMatrix` as a `BsrMatrix`, one of SciPy as a copy; anything else as it is."""
    if isinstance(A, CsrMatrix):
        return A.matrix()
    return bsr_from_scipy(A.tocsr(), copy=True) if hasattr(A, "tocsr") else A


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

    transposed = product(a.transpose())
    return LinearOperator((a.shape[0], a.shape[1]), a.dtype, a.device, product(a), adjoint=transposed, arrays=[a])


# ----- diagonal -----------------------------------------------------------------------------------


@kernel
def _scale(d: array(dtype=Any), x: array(dtype=Any), y: array(dtype=Any), z: array(dtype=Any), alpha: Any, beta: Any):
    i = tid()
    total = alpha * d[i] * x[i]
    if beta != z.dtype(0.0):
        total = total + beta * y[i]
    z[i] = total


def diagonal_operator(d: array) -> LinearOperator:
    """The operator that multiplies component i by that of an array, of floats or vectors of floats."""
    check_floats(d, "the diagonal")
    entries = components(d)

    def matvec(x: array, y: array, z: array, alpha: float, beta: float) -> None:
        vectors, kind = [components(v) for v in (x, y, z)], entries.dtype
        launch(_scale, entries.size, [entries, *vectors, kind(alpha), kind(beta)], device=d.device)

    return LinearOperator((d.size, d.size), d.dtype, d.device, matvec, adjoint=matvec, arrays=[d])


# ----- sparse matrices of blocks ---------------------------------------------------------------------


def block_operator(A: Operators) -> LinearOperator:
    """The operator of a `BsrMatrix` of floats, or of an expression of one: of the pattern that it has now."""
    terms = A.terms()
    if not scalars.is_float(terms.scalar_type):
        raise ArgumentTypeError(f"A has blocks of {type_name(terms.scalar_type)}\nexpected: floats")
    terms = Expression(terms.matrix.snapshot(), terms.scale, terms.turned)
    parts = {"adjoint": block_matvec(terms.turn()), "arrays": [terms.matrix.values]}
    return LinearOperator(terms.shape, terms.scalar_type, terms.device, block_matvec(terms), **parts)


# ----- compressed rows ------------------------------------------------------------------------------


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


class CsrMatrix(Fixed):
    """A square sparse matrix in compressed rows, as arrays that a program has: a `BsrMatrix` of numbers, checked.

    Row i has the entries `values[k]` in columns `columns[k]` for k from `offsets[i]` up to `offsets[i + 1]`, in any
    order; entries of one place add up. offsets: n + 1 integers (int32); columns: int32; values: floats, which may have
    gradients, and may be written to or replaced by an array of the same layout. Of offsets and columns the matrix has
    copies.
    Raises `ArrayError` for offsets or columns that do not make a matrix, and where it is used and finds that they
    changed, `ArgumentTypeError` for wrong dtypes, `LaunchError` while a graph is captured.
    """

    replaceable = ("offsets", "columns", "values")

    def __init__(self, offsets: array, columns: array, values: array):
        check_not_captured("CsrMatrix(...)")
        check_floats(values, "values")
        if compounds.is_compound(values.dtype) or values.ndim != 1:
            what = f"an array of {type_name(values.dtype)} of rank {values.ndim}"
            raise ArgumentTypeError(f"values is {what}\nexpected: an array of floats of rank 1")
        self.offsets = check_index(offsets, "offsets", values.device)
        self.columns = check_index(columns, "columns", values.device)
        self.values, self.size = values, offsets.size - 1
        self._check()
        self._copies = PrivateCopy(offsets), PrivateCopy(columns)
        self._bsr = matrix_of((self.size, self.size), self._copies[0].array, self._copies[1].array, values)

    @classmethod
    def from_scipy(cls, matrix: Any, device: Any = None, requires_grad: bool = False) -> CsrMatrix:
        """A copy of a SciPy sparse matrix of any format."""
        rows = matrix.tocsr()
        if rows.shape[0] != rows.shape[1]:
            raise ArrayError(f"a sparse matrix of shape {rows.shape}\nexpected: as many rows as columns")
        offsets, columns = (array(part.astype(np.int32), device=device) for part in (rows.indptr, rows.indices))
        return cls(offsets, columns, array(rows.data, device=device, requires_grad=requires_grad))

    def _check(self) -> None:
        """Raise `ArrayError` for offsets and columns that do not make a matrix."""
        count, pattern = self.values.size, (self.offsets, self.columns)
        if self.size >= 0 and self.columns.size == count:
            wrong = zeros(1, int32, self.values.device)
            run(_find_wrong, max(self.size, count, 1), [*pattern, self.size, count, wrong], wrong.device)
            if wrong.numpy()[0] == 0:
                return
        starts, columns = (a.numpy() for a in pattern)
        if not starts.size or starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
            raise ArrayError(f"offsets {starts}\nexpected: from 0 to the number of values, {count}, never falling")
        raise ArrayError(
            f"columns of shape {columns.shape}, from {columns.min(initial=0)} to {columns.max(initial=0)}\n"
            f"expected: {counted(count, 'column')}, each from 0 to {self.size - 1}"
        )

    def matrix(self) -> BsrMatrix:
        """The same as a `BsrMatrix` of the same values, whose columns `bsr_compress` brings into order.

        Raises `ArrayError` where offsets or columns are found to be others than when this was made.
        """
        self.check_replaced("CsrMatrix")
        for name, own in zip(("offsets", "columns"), self._copies, strict=True):
            if not own.matches(getattr(self, name)):
                self._check()
                raise ArrayError(f"{name} of a CsrMatrix changed since it was made\nhelp: make another one")
        self._bsr.values = self.values
        return self._bsr.snapshot()

    @property
    def rows(self) -> np.ndarray:
        """The row of every entry."""
        return self.matrix().uncompress_rows().numpy()

    def operator(self) -> LinearOperator:
        """The linear operator of this matrix."""
        return block_operator(self.matrix())

    def diagonal(self) -> np.ndarray:
        """The entries with equal row and column, (n,)."""
        return block_diagonal(self.matrix()).numpy()

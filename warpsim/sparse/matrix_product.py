"""Products of sparse matrices: `bsr_mm`, row by row (Gustavson 1978, ACM Trans. Math. Softw. 4).

A row of z = x y is the sum of the rows of y that a row of x names, added by one thread in that order. With g the
gradient of z, that of x is g y^T at the places of x, by rows, and that of y is x^T g at the places of y, by the columns
of x: no block is written by two threads.
"""

from __future__ import annotations

from typing import Any

from ..core.language import array, empty, int32, kernel, tid, zeros
from ..core.runtime.algorithms.cuda.work import Now
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.steps.operation import Contents
from ..core.runtime.tape.array_step import run_step
from ..core.runtime.tape.host_gradients import take_gradient
from ..core.types import scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, LaunchError
from .blocks import as_matrices, block_type, factor_of, turned
from .expression import Expression, operator, terms_of
from .matrix import BsrMatrix, fill, matrix_of
from .places import check_matrix, check_same_device, combine, keeps_pattern, places_in, put_values
from .queries import bsr_block_index, row_begin, row_end
from .row_sets import product_pattern
from .step import MatrixStep
from .transposition import evaluate
from .unions import union_of


@kernel(enable_backward=False)
def _multiply(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), x: array(dtype=Any), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), y: array(dtype=Any), z_offsets: array(dtype=int32), z_columns: array(dtype=int32),
    alpha: Any, z: array(dtype=Any),
):  # fmt: skip
    """Add alpha x y to z, at its places."""
    i = tid()
    for k in range(row_begin(x_offsets, i), row_end(x_offsets, x_columns, i)):
        j = x_columns[k]
        if j >= 0 and j < y_offsets.shape[0] - 1:
            factor = alpha * x[k]
            for m in range(row_begin(y_offsets, j), row_end(y_offsets, y_columns, j)):
                at = bsr_block_index(i, y_columns[m], z_offsets, z_columns)
                if at >= 0:
                    z[at] = z[at] + factor * y[m]


@kernel(enable_backward=False)
def _multiply_left(
    x_offsets: array(dtype=int32), x_columns: array(dtype=int32), y_offsets: array(dtype=int32),
    y_columns: array(dtype=int32), y: array(dtype=Any), z_offsets: array(dtype=int32), z_columns: array(dtype=int32),
    z: array(dtype=Any), alpha: Any, x: array(dtype=Any),
):  # fmt: skip
    """Add alpha z y^T to x, at its places."""
    i = tid()
    for k in range(row_begin(x_offsets, i), row_end(x_offsets, x_columns, i)):
        j = x_columns[k]
        if j >= 0 and j < y_offsets.shape[0] - 1:
            for m in range(row_begin(y_offsets, j), row_end(y_offsets, y_columns, j)):
                at = bsr_block_index(i, y_columns[m], z_offsets, z_columns)
                if at >= 0:
                    x[k] = x[k] + alpha * z[at] * turned(y[m])


@kernel(enable_backward=False)
def _multiply_right(
    starts: array(dtype=int32), rows: array(dtype=int32), order: array(dtype=int32), x: array(dtype=Any),
    y_offsets: array(dtype=int32), y_columns: array(dtype=int32), z_offsets: array(dtype=int32),
    z_columns: array(dtype=int32), z: array(dtype=Any), alpha: Any, y: array(dtype=Any),
):  # fmt: skip
    """Add alpha x^T z to y, at its places; x is known by columns."""
    j = tid()
    for t in range(starts[j], starts[j + 1]):
        factor = alpha * turned(x[order[t]])
        for m in range(row_begin(y_offsets, j), row_end(y_offsets, y_columns, j)):
            at = bsr_block_index(rows[t], y_columns[m], z_offsets, z_columns)
            if at >= 0:
                y[m] = y[m] + factor * z[at]


class MatrixProduct(MatrixStep):
    """The blocks of z = alpha x y at the places of z; operands: the blocks of x and y."""

    name = "bsr_mm"

    def __init__(self, x: BsrMatrix, y: BsrMatrix, place: BsrMatrix, alpha: float, values: array):
        super().__init__([values], [x.values, y.values], x.device)
        self.left, self.right = [x.offsets, x.columns], [y.offsets, y.columns]
        self.places, self.alpha = [place.offsets, place.columns], factor_of(alpha, x.scalar_type)
        self.index = self.index_of(x)

    def multiply(self, work: Now, x: array, y: array, z: array) -> None:
        """Add alpha x y to z."""
        inputs = *self.left, x, *self.right, y, *self.places, self.alpha, z
        work.launch(_multiply, self.left[0].size - 1, *inputs)

    def build(self, work: Now) -> None:
        (z,) = self.results
        work.launch(_clear, z.size, z)
        self.multiply(work, *self.operands, z)

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        """Leibniz' rule."""
        work, (x, y), (z,) = self.work, self.wrap(contents), results
        z.zero_()
        for factors in ((operands[0], y), (x, operands[1])):
            if all(factor is not None for factor in factors):
                self.multiply(work, *factors, z)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work, (x, y) = self.work, self.wrap(contents)
        slope = self.wrap_like(self.results[0], take_gradient(results[0]))
        if operands[0] is not None:
            inputs = *self.left, *self.right, y, *self.places, slope, self.alpha, operands[0]
            work.launch(_multiply_left, self.left[0].size - 1, *inputs)
        if operands[1] is not None:
            index = self.index()
            pattern = index.starts, index.rows, index.order
            inputs = *pattern, x, *self.right, *self.places, slope, self.alpha, operands[1]
            work.launch(_multiply_right, self.right[0].size - 1, *inputs)


@kernel(enable_backward=False)
def _clear(z: array(dtype=Any)):
    k = tid()
    z[k] = z.dtype()


# ----- public -------------------------------------------------------------------------------------


class bsr_mm_work_arrays:
    """Taken for programs written for Warp: products keep no memory."""


@operator("matrix product")
def bsr_mm(
    x: Any, y: Any, z: BsrMatrix | None = None, alpha: float = 1.0, beta: float = 0.0, masked: bool = False,
    work_arrays: Any = None, reuse_topology: bool = False, tile_size: int = 0, max_new_nnz: int | None = None,
    topology: str | None = None,
) -> BsrMatrix:  # fmt: skip
    """The product z = alpha x y + beta z of sparse matrices; differentiable in the blocks of all.

    x, y: matrices or expressions, with blocks r x m and m x c; z: a `BsrMatrix` of blocks r x c, by default a new one.
    masked: z keeps its pattern, and products elsewhere are left out; topology="masked" says the same. reuse_topology:
    the same, for a z that has the pattern of this product already: that is not sought anew, which takes most of the
    time. work_arrays, tile_size and max_new_nnz are taken for programs written for Warp.

    Returns z. Raises `ArgumentTypeError` for other types and blocks, `ArrayError` for extents and devices that do not
    fit, `LaunchError` while a graph is captured, which cannot know how large z becomes, unless z keeps its pattern.
    """
    first, second = terms_of(x, "x"), terms_of(y, "y")
    t = _product_type(first, second)
    keeps = keeps_pattern(topology, masked) or reuse_topology
    if z is None:
        z = matrix_of((first.nrow, second.ncol), *_no_pattern(first), empty(0, t, first.device))
        keeps, beta = False, 0.0
    _check_result(z, t, first, second, sized=keeps or beta != 0.0)
    alpha = first.times(alpha).scale * second.scale
    left, right = _factors(first, second)
    shape = int(left.nrow), int(right.ncol)
    place = z.snapshot()
    if not keeps:
        if current_graph() is not None:
            raise LaunchError(
                "the pattern of a product is not known while a graph is captured\nhelp: multiply once before, and then "
                "with reuse_topology=True"
            )
        offsets, columns = product_pattern(left, right)
        place = matrix_of(shape, offsets, columns, empty(columns.size, t, left.device))
        if beta != 0.0 and int(z.nnz):
            offsets, columns, _, _ = union_of(place, z)
            place = matrix_of(shape, offsets, columns, empty(columns.size, t, left.device))
    grad = left.requires_grad or right.requires_grad
    values = empty(int(place.nnz), t, left.device, requires_grad=grad)
    run_step(MatrixProduct(left, right, place, alpha, values))
    product = matrix_of(shape, place.offsets, place.columns, values)
    if beta != 0.0:
        values = combine(places_in(product, product), 1.0, product, places_in(product, z), beta, z)
    if keeps:
        put_values(z, values)
    else:
        fill(z, shape, place.offsets, place.columns, values)
    return z


def _factors(x: Expression, y: Expression) -> list[BsrMatrix]:
    """The matrices that are multiplied; both have matrices for blocks if one has."""
    factors = [evaluate(e.unscaled(), copied=False) for e in (x, y)]
    if len({scalars.is_scalar(m.dtype) for m in factors}) == 1:
        return factors
    return [
        matrix_of((int(m.nrow), int(m.ncol)), m.offsets, m.columns, as_matrices(m.values))
        if scalars.is_scalar(m.dtype) else m
        for m in factors
    ]  # fmt: skip


def _no_pattern(x: Expression) -> tuple[array, array]:
    """Offsets and columns of a matrix without blocks."""
    return zeros(x.nrow + 1, int32, x.device), empty(0, int32, x.device)


def _product_type(x: Expression, y: Expression) -> Any:
    """The type of the blocks of a product; raises for matrices that have none."""
    check_same_device(x, y, "x", "y")
    if x.scalar_type is not y.scalar_type:
        types = type_name(y.scalar_type), type_name(x.scalar_type)
        raise ArgumentTypeError(f"y has numbers of {types[0]}\nexpected: {types[1]}, as x")
    if x.block_shape[1] != y.block_shape[0]:
        raise ArgumentTypeError(
            f"y has blocks of {y.block_shape[0]} x {y.block_shape[1]}\nexpected: {x.block_shape[1]} rows, as many as "
            "blocks of x have columns"
        )
    if x.ncol != y.nrow:
        raise ArrayError(f"y has {y.nrow} rows of blocks\nexpected: {x.ncol}, as many as x has columns")
    like = y.matrix.dtype if scalars.is_scalar(x.matrix.dtype) else x.matrix.dtype
    return block_type((x.block_shape[0], y.block_shape[1]), x.scalar_type, like)


def _check_result(z: BsrMatrix, t: Any, x: Expression, y: Expression, sized: bool) -> None:
    """Raise unless a matrix can hold a product. sized: whether it has to have its extents."""
    check_matrix(z, "z", used=sized)
    check_same_device(x, z, "x", "z")
    if z.dtype is not t:
        raise ArgumentTypeError(f"z has blocks of {type_name(z.dtype)}\nexpected: {type_name(t)}, as the product")
    if sized and (int(z.nrow), int(z.ncol)) != (x.nrow, y.ncol):
        raise ArrayError(f"z has {int(z.nrow)} x {int(z.ncol)} blocks\nexpected: {x.nrow} x {y.ncol}, as the product")

"""Products of sparse matrices and vectors: `bsr_mv`, by rows, and by columns for the transpose.

Every element of a product is summed by one thread in the order of a row, so that it has the same bits for any number
of threads. The adjoint is made of the same sums: with g the gradient of z = A x, that of x is A^T g, by columns, and
that of a block the dyad of the elements of g and x at its row and column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.language import array, clone, empty, int32, kernel, launch, tid
from ..core.runtime.algorithms.cuda.work import Now
from ..core.runtime.arrays.saved_contents import active
from ..core.runtime.devices.capture import current_graph
from ..core.runtime.devices.memory_range import overlap
from ..core.runtime.steps.operation import Contents
from ..core.runtime.tape.array_step import run_step
from ..core.runtime.tape.host_gradients import take_gradient
from .blocks import as_vectors, column_type, dyad, factor_of, row_type, turned
from .expression import operator, terms_of
from .queries import row_begin, row_end
from .step import MatrixStep

if TYPE_CHECKING:
    from .matrix import BsrMatrix


@kernel(enable_backward=False)
def _multiply_rows(
    offsets: array(dtype=int32),
    columns: array(dtype=int32),
    values: array(dtype=Any),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
    alpha: Any,
    beta: Any,
):
    """z = alpha A x + beta y."""
    i = tid()
    total = z.dtype()
    for k in range(row_begin(offsets, i), row_end(offsets, columns, i)):
        j = columns[k]
        if j >= 0 and j < x.shape[0]:
            total += values[k] * x[j]
    total = alpha * total
    if beta != beta - beta:
        total += beta * y[i]
    z[i] = total


@kernel(enable_backward=False)
def _multiply_columns(
    starts: array(dtype=int32),
    rows: array(dtype=int32),
    order: array(dtype=int32),
    values: array(dtype=Any),
    x: array(dtype=Any),
    y: array(dtype=Any),
    z: array(dtype=Any),
    alpha: Any,
    beta: Any,
):
    """z = alpha A^T x + beta y."""
    j = tid()
    total = z.dtype()
    for t in range(starts[j], starts[j + 1]):
        total += turned(values[order[t]]) * x[rows[t]]
    total = alpha * total
    if beta != beta - beta:
        total += beta * y[j]
    z[j] = total


@kernel(enable_backward=False)
def _add_dyads(
    offsets: array(dtype=int32),
    columns: array(dtype=int32),
    u: array(dtype=Any),
    w: array(dtype=Any),
    alpha: Any,
    values: array(dtype=Any),
):
    """Add alpha u w^T to the blocks that are there."""
    i = tid()
    for k in range(row_begin(offsets, i), row_end(offsets, columns, i)):
        j = columns[k]
        if j >= 0 and j < w.shape[0]:
            values[k] = values[k] + alpha * dyad(u[i], w[j])


@kernel
def _add_multiple(x: array(dtype=Any), beta: Any, y: array(dtype=Any), z: array(dtype=Any)):
    i = tid()
    z[i] = x[i] + beta * y[i]


class VectorProduct(MatrixStep):
    """z = alpha A x, or with the transpose of A; operands: the blocks of A, and x."""

    name = "bsr_mv"

    def __init__(self, matrix: BsrMatrix, turned: bool, alpha: float, x: array, z: array):
        super().__init__([z], [matrix.values, x], matrix.device)
        self.offsets, self.columns = matrix.offsets, matrix.columns
        self.turned, self.alpha = turned, factor_of(alpha, matrix.scalar_type)
        self.index = self.index_of(matrix)

    def multiply(self, work: Now, turned: bool, values: array, x: array, y: array, z: array, beta: float) -> None:
        """z = alpha A x + beta y, or with the transpose."""
        numbers = self.alpha, type(self.alpha)(beta)
        if turned:
            index = self.index()
            pattern = index.starts, index.rows, index.order
            work.launch(_multiply_columns, z.size, *pattern, values, x, y, z, *numbers)
        else:
            work.launch(_multiply_rows, z.size, self.offsets, self.columns, values, x, y, z, *numbers)

    def build(self, work: Now) -> None:
        (values, x), (z,) = self.operands, self.results
        self.multiply(work, self.turned, values, x, z, z, 0.0)

    def push(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        """Leibniz' rule."""
        work, (values, x), (z,) = self.work, self.wrap(contents), results
        z.zero_()
        for factors in ((operands[0], x), (values, operands[1])):
            if None not in factors:
                self.multiply(work, self.turned, *factors, z, z, 1.0)

    def pull(self, results: list[Any], operands: list[Any], contents: Contents) -> None:
        work, (values, x) = self.work, self.wrap(contents)
        slope = self.wrap_like(self.results[0], take_gradient(results[0]))
        if operands[0] is not None:
            left, right = (x, slope) if self.turned else (slope, x)
            inputs = self.offsets, self.columns, left, right, self.alpha, operands[0]
            work.launch(_add_dyads, self.offsets.size - 1, *inputs)
        if operands[1] is not None:
            self.multiply(work, not self.turned, values, slope, operands[1], operands[1], 1.0)


def multiply(
    matrix: BsrMatrix, turned: bool, x: array, y: array, z: array, alpha: float = 1.0, beta: float = 0.0
) -> None:
    """z = alpha A x + beta y, for arrays that fit and of which z is not x; recorded by tapes."""
    if not active() and current_graph() is None:
        factors = [factor_of(number, matrix.scalar_type) for number in (alpha, beta)]
        if turned:
            index = matrix.transposed_index
            inputs = [index.starts, index.rows, index.order, matrix.values, x, y, z, *factors]
        else:
            inputs = [matrix.offsets, matrix.columns, matrix.values, x, y, z, *factors]
        launch(_multiply_columns if turned else _multiply_rows, z.size, inputs, device=matrix.device)
    elif beta == 0.0:
        run_step(VectorProduct(matrix, turned, alpha, x, z))
    else:
        product = empty(z.size, z.dtype, z.device, requires_grad=x.requires_grad or matrix.requires_grad)
        run_step(VectorProduct(matrix, turned, alpha, x, product))
        launch(_add_multiple, z.size, [product, factor_of(beta, matrix.scalar_type), y, z], device=z.device)


@operator("vector product")
def bsr_mv(
    A: Any, x: array, y: array | None = None, alpha: float = 1.0, beta: float = 0.0, transpose: bool = False,
    work_buffer: array | None = None, tile_size: int = 0,
) -> array:  # fmt: skip
    """The product y = alpha A x + beta y of a sparse matrix, or its transpose, and a vector; differentiable in all.

    A: a `BsrMatrix` of blocks of r rows and c columns, or an expression of one. x: ncol vectors of c numbers, or these
    numbers in shape (ncol, c) or (ncol c,); y: nrow vectors of r numbers in the same ways, by default a new array of
    vectors. With `transpose` it is the other way round. work_buffer and tile_size are taken for programs written for
    Warp: no memory is needed beside y.

    Returns y. Raises `ArgumentTypeError` for other types, `ArrayError` for sizes and devices that do not fit.
    """
    terms = terms_of(A, "A")
    matrix, flipped = terms.matrix, terms.turned != bool(transpose)
    domain, image = column_type(matrix.dtype), row_type(matrix.dtype)
    width, height = int(matrix.ncol), int(matrix.nrow)
    if flipped:
        domain, image, width, height = image, domain, height, width
    x = as_vectors(x, domain, width, "x", matrix.device)
    if y is None:
        y = empty(height, image, matrix.device, requires_grad=x.requires_grad or matrix.requires_grad)
        beta = 0.0
    z = as_vectors(y, image, height, "y", matrix.device)
    source = clone(x) if overlap(x, z) else x
    multiply(matrix, flipped, source, z, z, terms.times(alpha).scale, beta)
    return y

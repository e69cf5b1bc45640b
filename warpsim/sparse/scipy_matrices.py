"""Sparse matrices of SciPy: `bsr_from_scipy`, `bsr_to_scipy`; memory is shared where it fits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.language import array, get_device, int32
from ..core.types import scalars
from ..core.types.arrays import type_name
from ..core.types.scalars import canonical
from ..errors import ArgumentTypeError, ArrayError
from .blocks import block_shape, block_type
from .expression import terms_of
from .matrix import BsrMatrix, matrix_of
from .transposition import evaluate


def bsr_from_scipy(matrix: Any, device: Any = None, requires_grad: bool = False, copy: bool = False) -> BsrMatrix:
    """A `BsrMatrix` of a SciPy sparse matrix or array of any format: of blocks if that is BSR, else of numbers.

    On a device of the host it shares the memory of a matrix in CSR or BSR whose indices are int32, sorted and each
    once, unless `copy`: what is written to one is then seen in the other. Else it is a copy.

    Raises `ArgumentTypeError` for what is no sparse matrix, and for numbers that kernels do not know.
    """
    if not hasattr(matrix, "tocsr") or getattr(matrix, "ndim", 2) != 2:
        raise ArgumentTypeError(f"matrix is {type(matrix).__name__}\nexpected: a sparse matrix of SciPy")
    source = matrix if matrix.format in ("csr", "bsr") else matrix.tocsr()
    if not _in_order(source):
        source = source.copy()
        source.sum_duplicates()
        source.sort_indices()
    scalar = canonical(source.dtype)
    if not scalars.is_number(scalar):
        raise ArgumentTypeError(f"matrix has numbers of {source.dtype}\nexpected: integers or floats that kernels know")
    shape = source.data.shape[1:] or (1, 1)
    extents = tuple(extent // size for extent, size in zip(source.shape, shape, strict=True))
    if source.nnz // math.prod(shape) >= 2**31:
        raise ArrayError(f"matrix has {source.nnz} numbers\nexpected: fewer than 2**31 blocks")
    t = block_type(shape, scalar)
    data = source.data.reshape(-1) if scalars.is_scalar(t) else source.data
    place, fresh = get_device(device), copy and source is matrix
    parts = [(source.indptr, int32), (source.indices, int32), (data, t)]
    offsets, columns, values = (
        array(np.ascontiguousarray(part, int32 if kind is int32 else None), dtype=kind, device=place, copy=fresh)
        for part, kind in parts
    )
    values.requires_grad = requires_grad
    return matrix_of((extents[0], extents[1]), offsets, columns, values)


def _in_order(matrix: Any) -> bool:
    """Whether columns rise along every row of a matrix in CSR or BSR."""
    rising = np.ones(matrix.indices.size, bool)
    rising[1:] = matrix.indices[1:] > matrix.indices[:-1]
    starts = matrix.indptr[:-1]
    rising[starts[starts < rising.size]] = True
    return bool(rising.all())


def bsr_to_scipy(A: Any, copy: bool = False) -> Any:
    """A SciPy `bsr_matrix` of a sparse matrix or of what an expression stands for; of numbers a `csr_matrix`.

    On a device of the host it shares the memory of the matrix, unless `copy`. Raises `ArgumentTypeError` for numbers of
    16 bits, which SciPy does not take.
    """
    import scipy.sparse  # noqa: PLC0415 - it takes longer to load than warpsim

    matrix = evaluate(terms_of(A, "A"), copied=copy)
    if matrix.scalar_type is scalars.float16:
        raise ArgumentTypeError(
            f"A has blocks of {type_name(matrix.dtype)}\nexpected: numbers that SciPy takes, not float16\n"
            "help: wp.sparse.bsr_copy(A, scalar_type=float)"
        )
    count, shape = int(matrix.nnz), block_shape(matrix.dtype)
    indices = matrix.columns.numpy()[:count], matrix.offsets.numpy()
    data = matrix.values.numpy()[:count]
    if scalars.is_scalar(matrix.dtype):
        return scipy.sparse.csr_matrix((data, *indices), shape=matrix.shape)
    return scipy.sparse.bsr_matrix((data, *indices), shape=matrix.shape, blocksize=shape)

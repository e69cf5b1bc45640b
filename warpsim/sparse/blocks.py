"""Blocks: the numbers or matrices that sparse matrices are made of, and the arrays of numbers and vectors beside them.

A block is a number or a matrix of r rows and c columns; a matrix of such blocks maps arrays of vectors of c numbers to
arrays of vectors of r. Numbers are blocks of one row and one column to all functions here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

from ..core.language import Float, Mat, Scalar, Vec, array, func, matrix_type, outer, transpose, vector_type
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..core.types.scalars import canonical
from ..core.types.signatures import C, R
from ..errors import ArgumentTypeError, ArrayError, shown


@func
def turned(a: Scalar) -> Scalar:
    """The transpose of a block."""
    return a


@func
def turned(a: Mat[R, C, Float]):  # noqa: F811
    return transpose(a)


@func
def dyad(u: Scalar, w: Scalar) -> Scalar:
    """The block u w^T of two vectors, or the product of two numbers."""
    return u * w


@func
def dyad(u: Vec[R, Float], w: Vec[C, Float]):  # noqa: F811
    return outer(u, w)


# ----- types --------------------------------------------------------------------------------------


def checked_block_type(block_type: Any) -> Any:
    """The type of a block; raises `ArgumentTypeError` for what is neither a number nor a matrix."""
    t = canonical(block_type) if isinstance(block_type, Hashable) else None
    if not scalars.is_number(t) and compounds.kind_of(t) != "matrix":
        name = type_name(t) if isinstance(t, type) else shown(block_type)
        raise ArgumentTypeError(f"blocks of {name}\nexpected: a scalar type, or a matrix type like wp.mat33")
    return t


def checked_scalar_type(scalar_type: Any) -> Any:
    """The type of the numbers in blocks; raises `ArgumentTypeError` for another one."""
    t = canonical(scalar_type) if isinstance(scalar_type, Hashable) else None
    if not scalars.is_number(t):
        raise ArgumentTypeError(f"scalar_type is {shown(scalar_type)}\nexpected: a scalar type, like wp.float64")
    return t


def checked_block_shape(shape: Any) -> tuple[int, int]:
    """Rows and columns of a block; raises `ArgumentTypeError` for what are none."""
    pair = shape if isinstance(shape, Sequence) and len(shape) == 2 else (None, None)
    if not all(isinstance(extent, Integral) and extent > 0 for extent in pair):
        raise ArgumentTypeError(f"block_shape is {shown(shape)}\nexpected: two positive integers, rows and columns")
    return int(pair[0]), int(pair[1])


def factor_of(value: Any, scalar: Any) -> Any:
    """A factor as a number of a type; raises `ArgumentTypeError` for one that this type does not have."""
    number = scalar(value)
    if not scalars.is_float(scalar) and number != value:
        raise ArgumentTypeError(
            f"a factor is {value}\nexpected: an integer, for blocks of {type_name(scalar)}\n"
            "help: wp.sparse.bsr_copy(A, scalar_type=float)"
        )
    return number


def block_shape(t: Any) -> tuple[int, int]:
    """Rows and columns of a block."""
    return (1, 1) if scalars.is_scalar(t) else t.shape


def block_type(shape: tuple[int, int], scalar: Any, like: Any = None) -> Any:
    """The type of blocks of a shape: numbers for (1, 1), unless `like` is a matrix type."""
    if tuple(shape) == (1, 1) and (like is None or scalars.is_scalar(like)):
        return scalar
    return matrix_type(tuple(shape), scalar)


def row_type(t: Any) -> Any:
    """The elements of the arrays that a matrix of such blocks maps to."""
    return t if scalars.is_scalar(t) else vector_type(t.shape[0], t.dtype)


def column_type(t: Any) -> Any:
    """The elements of the arrays that a matrix of such blocks is applied to."""
    return t if scalars.is_scalar(t) else vector_type(t.shape[1], t.dtype)


# ----- arrays -------------------------------------------------------------------------------------


def check_index(a: Any, name: str, device: Any) -> array:
    """The array, if it is one of int32, of rank 1, on a device; else `ArgumentTypeError` or `ArrayError`."""
    if not isinstance(a, array) or a.dtype is not scalars.int32 or a.ndim != 1:
        raise ArgumentTypeError(f"{name} is {shown(a)}\nexpected: an array of int32 of rank 1")
    return check_device(a, name, device)


def check_device(a: array, name: str, device: Any) -> array:
    """The array, if it is on a device; else `ArrayError`."""
    if a.device is not device:
        raise ArrayError(f"{name} is on {a.device}\nexpected: {device}, as the matrix")
    return a


def as_vectors(a: Any, element: Any, count: int, name: str, device: Any) -> array:
    """An array as one of `count` vectors or numbers: over the same memory, with the same gradient.

    It holds such elements, or their numbers in shape (count, n) or (count * n,). Raises `ArgumentTypeError` for
    another type, `ArrayError` for another size or device, and for numbers that are not contiguous.
    """
    scalar, parts = compounds.scalar_of(element), compounds.size_of(element)
    if not isinstance(a, array) or compounds.scalar_of(a.dtype) is not scalar:
        what = f"an array of {type_name(a.dtype)}" if isinstance(a, array) else shown(a)
        raise ArgumentTypeError(f"{name} is {what}\nexpected: an array of {type_name(element)}")
    check_device(a, name, device)
    if a.size * compounds.size_of(a.dtype) != count * parts:
        raise ArrayError(
            f"{name} has shape {a.shape} of {type_name(a.dtype)}\nexpected: {count} elements of {type_name(element)}"
        )
    if a.dtype is element and a.ndim == 1:
        return a
    if not a.is_contiguous:
        raise ArrayError(
            f"{name} has strides {a.strides}\nexpected: a contiguous array, unless it is one of {type_name(element)}\n"
            f"help: {name}.contiguous() makes a copy"
        )
    return a.view(scalar).reshape((count,) if parts == 1 else (count, parts)).view(element)


def as_blocks(a: Any, t: Any, name: str, device: Any) -> array:
    """An array as one of blocks: it holds such blocks, or their numbers in shape (n, rows, columns).

    Raises as `as_vectors` does.
    """
    rows, columns = block_shape(t)
    if isinstance(a, array) and a.dtype is t and a.ndim == 1:
        return check_device(a, name, device)
    wanted_type = type_name(t) + (f", or of {type_name(t.dtype)} and shape (n, {rows}, {columns})" if rows else "")
    if not isinstance(a, array) or a.dtype is not compounds.scalar_of(t) or a.shape[1:] != (rows, columns):
        what = f"an array of {type_name(a.dtype)} of shape {a.shape}" if isinstance(a, array) else shown(a)
        raise ArgumentTypeError(f"{name} is {what}\nexpected: an array of {wanted_type}")
    check_device(a, name, device)
    return a[:, 0, 0].view(t) if (rows, columns) == (1, 1) else a.view(t)


def block_type_of(values: Any) -> Any:
    """The type of the blocks that an array holds, or whose numbers it holds in shape (n, rows, columns)."""
    if not isinstance(values, array) or values.ndim not in (1, 3):
        what = f"an array of rank {values.ndim}" if isinstance(values, array) else shown(values)
        raise ArgumentTypeError(f"values are {what}\nexpected: an array of blocks, or numbers (n, rows, columns)")
    if values.ndim == 3:
        return checked_block_type(block_type(values.shape[1:], values.dtype))
    return checked_block_type(values.dtype)


def numbers_of(values: array) -> array:
    """Blocks as their numbers, of shape (n, rows, columns): over the same memory, but for single ones with gaps."""
    numbers = values.view(compounds.scalar_of(values.dtype))
    return numbers if numbers.ndim == 3 else numbers.contiguous().reshape((values.size, 1, 1))


def as_matrices(numbers: array) -> array:
    """Numbers as matrices of one row and one column, over the same memory."""
    return numbers.view(matrix_type((1, 1), numbers.dtype))

"""Linear algebra of tiles: products, Cholesky factors, substitution, all by the one lane of a block.

Factors are made column by column, solutions row by row (Golub and Van Loan 2013, Matrix Computations, 3.1 and 4.2). A
pivot that is not positive becomes NaN, and with it all that follows from it.
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import KernelTypeError
from ..frontend.rules.constructors import call_type
from ..frontend.rules.operators import binary
from ..frontend.rules.tile_elements import (
    Tile,
    common_shape,
    copied,
    each,
    filled,
    folded,
    new_tile,
    read_element,
    tile_operand,
    tile_shape,
    tile_type,
    update_tile,
    view_of,
    write_element,
)
from ..frontend.tiles.arguments import static_choice
from ..frontend.tiles.builtin import tile_builtin
from ..frontend.translate.scope import describe, is_number, typed_value
from ..frontend.translate.translator import Translator
from ..ir.nodes import Value
from ..ops.registry import TABLE
from ..types import compounds, scalars
from ..types.arrays import type_name
from ..language import func, int32, sqrt, where

FILL_MODES = ("lower", "upper")


# ----- products -------------------------------------------------------------------------------


@tile_builtin
def tile_matmul(
    tr: Translator, a: Any, b: Any, out: Any = None, alpha: Any = 1.0, beta: Any = 1.0, precision: Any = "default"
) -> Value | None:
    """The product of two matrices, `alpha * a @ b` as a new tile; with `out`, `out = beta * out + alpha * a @ b`.

    a: a tile of shape (rows, k); b: of shape (k, columns); out: of shape (rows, columns), may be a view. Products are
    summed in the type of `out`. `precision` has no effect. Raises `KernelTypeError` for other shapes and types.
    """
    if not isinstance(precision, str):
        raise KernelTypeError(f"precision is {describe(precision)}", expected="text, as 'default'")
    if is_number(out) or (isinstance(out, Value) and scalars.is_number(out.type)):
        if not is_one(alpha):
            raise KernelTypeError("the product has two factors alpha", expected="tile_matmul(a, b, alpha)")
        alpha, out = out, None  # tile_matmul(a, b, alpha)
    left, right = matrix(tr, "a", a), matrix(tr, "b", b)
    (rows, inner), (height, columns) = tile_shape(left), tile_shape(right)
    if inner != height:
        raise KernelTypeError(f"the product of tiles of shapes {(rows, inner)} and {(height, columns)}")
    target = None if out is None else matrix(tr, "out", out)
    if target is not None and tile_shape(target) != (rows, columns):
        raise KernelTypeError(f"out is of shape {tile_shape(target)}", expected=str((rows, columns)))
    t = tile_type(left if target is None else target).dtype
    for operand in (left, right):
        if target is None and tile_type(operand).dtype is not t:
            shown = type_name(tile_type(operand).dtype)
            raise KernelTypeError(f"the product of a tile of {type_name(t)} and one of {shown}", help="wp.tile_astype")
    product = filled(tr, (rows, columns), lambda at: product_at(tr, left, right, at, t))
    if not is_one(alpha):
        update_tile(tr, lambda x, s: binary(tr, ast.Mult, x, s), product, factor_of(tr, "alpha", alpha, t))
    if target is None:
        return product
    if not is_one(beta):
        update_tile(tr, lambda x, s: binary(tr, ast.Mult, x, s), target, factor_of(tr, "beta", beta, t))
    update_tile(tr, lambda x, y: binary(tr, ast.Add, x, y), target, product)
    return None


def product_at(tr: Translator, left: Tile, right: Tile, at: list[Value], t: Any) -> Any:
    """Row times column."""

    def term(k: list[Value]) -> Any:
        x, y = read_element(tr, left, [at[0], *k]), read_element(tr, right, [*k, at[1]])
        return tr.emit(TABLE["mul"], *(call_type(tr, t, [v], {}) for v in (x, y)))

    return folded(tr, lambda x, y: tr.emit(TABLE["add"], x, y), (tile_shape(left)[1],), term)


def matrix(tr: Translator, name: str, operand: Any) -> Tile:
    tile = tile_operand(name, operand)
    if len(tile_shape(tile)) != 2 or not scalars.is_number(tile_type(tile).dtype):
        raise KernelTypeError(f"{name} is {tile_type(tile)!r}", expected="a tile of numbers of two dimensions")
    return tile


def is_one(factor: object) -> bool:
    return is_number(factor) and factor == 1


def factor_of(tr: Translator, name: str, factor: Any, t: Any) -> Value:
    """A factor of all elements as their scalar type."""
    value = typed_value(factor, t)
    if value.type is not t:
        raise KernelTypeError(f"{name} is {describe(factor)}", expected=type_name(t))
    return value


@tile_builtin
def tile_dot(tr: Translator, a: Any, b: Any) -> Value:
    """The sum of the products of all elements of two tiles of one shape, as a tile of one element.

    Elements are numbers, vectors, whose products are dot products, or matrices: all of their entries.
    """
    left, right = tile_operand("a", a), tile_operand("b", b)
    shape, t = common_shape([left, right]), tile_type(left).dtype
    if t is not tile_type(right).dtype or not (scalars.is_number(t) or compounds.is_compound(t)):
        shown = f"{type_name(t)} and {type_name(tile_type(right).dtype)}"
        raise KernelTypeError(
            f"the dot product of tiles of {shown}", expected="numbers, vectors or matrices of one type"
        )
    name = "mul" if scalars.is_number(t) else "ddot" if t.kind == "matrix" else "dot"

    def term(at: list[Value]) -> Any:
        return tr.emit(TABLE[name], read_element(tr, left, at), read_element(tr, right, at))

    total = folded(tr, lambda x, y: tr.emit(TABLE["add"], x, y), shape, term)
    return filled(tr, (1,), lambda at: total)


@tile_builtin
def tile_axpy(tr: Translator, alpha: Any, src: Any, dest: Any) -> None:
    """`dest += alpha * src`, in place, of tiles of one shape; alpha is a number of their scalar type."""
    source, target = tile_operand("src", src), tile_operand("dest", dest)
    factor = factor_of(tr, "alpha", alpha, compounds.scalar_of(tile_type(source).dtype))
    update_tile(tr, lambda x, y: tr.emit(TABLE["add"], x, tr.emit(TABLE["mul"], factor, y)), target, source)


@tile_builtin
def tile_diag_add(tr: Translator, a: Any, d: Any) -> Value:
    """A new tile: a square matrix with the elements of a tile of one dimension added to its diagonal."""
    tile, diagonal = tile_operand("a", a), tile_operand("d", d)
    shape, t = tile_shape(tile), tile_type(tile).dtype
    if len(shape) != 2 or shape[0] != shape[1] or tile_shape(diagonal) != shape[:1]:
        raise KernelTypeError(f"a diagonal of shape {tile_shape(diagonal)} for a matrix of shape {shape}")
    if tile_type(diagonal).dtype is not t:
        raise KernelTypeError(f"a diagonal of {type_name(tile_type(diagonal).dtype)} for a matrix of {type_name(t)}")
    out = copied(tr, tile)

    def add(at: list[Value]) -> None:
        place = [at[0], at[0]]
        total = binary(tr, ast.Add, read_element(tr, out, place), read_element(tr, diagonal, at))
        write_element(tr, out, place, total)

    each(tr, shape[:1], add)
    return out


# ----- Cholesky factors -----------------------------------------------------------------------


@func
def cholesky_columns(A: Any, L: Any):
    """The lower factor L of A = L L^T, which may be the memory of A. Reads and writes the lower triangles."""
    n = A.shape[0]
    for j in range(n):
        square = A[j, j]
        for k in range(j):
            square -= L[j, k] * L[j, k]
        is_positive = square > A.dtype(0.0)
        pivot = where(is_positive, sqrt(where(is_positive, square, A.dtype(1.0))), A.dtype("nan"))
        L[j, j] = pivot
        for i in range(j + 1, n):
            rest = A[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / pivot


@func
def clear_upper(L: Any):
    """Zeros above the diagonal."""
    n = L.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            L[i, j] = L.dtype(0.0)


@func
def forward_substitution(L: Any, x: Any):
    """z of L z = x for each column of x, in the memory of x. Reads the lower triangle of L."""
    for c in range(x.shape[1]):
        for i in range(L.shape[0]):
            rest = x[i, c]
            for j in range(i):
                rest -= L[i, j] * x[j, c]
            x[i, c] = rest / L[i, i]


@func
def backward_substitution(U: Any, x: Any):
    """z of U z = x for each column of x, in the memory of x. Reads the upper triangle of U."""
    n = int32(U.shape[0])
    for c in range(x.shape[1]):
        for back in range(n):
            i = n - 1 - back
            rest = x[i, c]
            for j in range(i + 1, n):
                rest -= U[i, j] * x[j, c]
            x[i, c] = rest / U[i, i]


@tile_builtin
def tile_cholesky(tr: Translator, A: Any, fill_mode: Any = "lower") -> Value:
    """The Cholesky factor of a symmetric, positive definite matrix, as a new tile with zeros in its other triangle.

    With `fill_mode` "lower" L of A = L L^T, and only the lower triangle of A is read; with "upper" U of A = U^T U, of
    the upper triangle. The gradient is that of the triangle. A pivot that is not positive gives NaN.
    """
    tile = square_matrix(tr, "A", A)
    out = new_tile(tr, tile_shape(tile), tile_type(tile).dtype)
    mode = static_choice("fill_mode", fill_mode, FILL_MODES)
    cholesky_columns.call(tr, [lower(tr, tile, mode), lower(tr, out, mode)], {})
    return out


@tile_builtin
def tile_cholesky_inplace(tr: Translator, A: Any, fill_mode: Any = "lower") -> None:
    """The factor of `tile_cholesky` in the memory of the matrix, with zeros in its other triangle."""
    mode = static_choice("fill_mode", fill_mode, FILL_MODES)
    factor = lower(tr, square_matrix(tr, "A", A), mode)
    cholesky_columns.call(tr, [factor, factor], {})
    clear_upper.call(tr, [factor], {})


@tile_builtin
def tile_cholesky_solve(tr: Translator, L: Any, y: Any, fill_mode: Any = "lower") -> Value:
    """x of A x = y as a new tile, where `L` holds the factor of A that `tile_cholesky` makes with this `fill_mode`.

    y: a tile of shape (n,), or (n, m) for m right-hand sides at once, of the type of the factor.
    """
    x = copied(tr, tile_operand("y", y))
    solve_factored(tr, L, x, fill_mode)
    return x


@tile_builtin
def tile_cholesky_solve_inplace(tr: Translator, L: Any, y: Any, fill_mode: Any = "lower") -> None:
    """x of A x = y in the memory of `y`. Arguments as those of `tile_cholesky_solve`."""
    solve_factored(tr, L, tile_operand("y", y), fill_mode)


def solve_factored(tr: Translator, L: Any, x: Tile, fill_mode: Any) -> None:
    mode = static_choice("fill_mode", fill_mode, FILL_MODES)
    tile = square_matrix(tr, "L", L)
    columns = right_hand_sides(tr, tile, x)
    factor = lower(tr, tile, mode)
    forward_substitution.call(tr, [factor, columns], {})
    backward_substitution.call(tr, [transposed(tr, factor), columns], {})


# ----- triangular matrices --------------------------------------------------------------------


@tile_builtin
def tile_lower_solve(tr: Translator, L: Any, y: Any) -> Value:
    """z of L z = y as a new tile, for a lower triangular matrix; what lies above its diagonal is not read.

    y: a tile of shape (n,), or (n, m) for m right-hand sides at once, of the type of the matrix.
    """
    x = copied(tr, tile_operand("y", y))
    solve_triangular(tr, forward_substitution, "L", L, x)
    return x


@tile_builtin
def tile_lower_solve_inplace(tr: Translator, L: Any, y: Any) -> None:
    """z of L z = y in the memory of `y`. Arguments as those of `tile_lower_solve`."""
    solve_triangular(tr, forward_substitution, "L", L, tile_operand("y", y))


@tile_builtin
def tile_upper_solve(tr: Translator, U: Any, z: Any) -> Value:
    """x of U x = z as a new tile, for an upper triangular matrix; what lies below its diagonal is not read."""
    x = copied(tr, tile_operand("z", z))
    solve_triangular(tr, backward_substitution, "U", U, x)
    return x


@tile_builtin
def tile_upper_solve_inplace(tr: Translator, U: Any, z: Any) -> None:
    """x of U x = z in the memory of `z`. Arguments as those of `tile_upper_solve`."""
    solve_triangular(tr, backward_substitution, "U", U, tile_operand("z", z))


def solve_triangular(tr: Translator, substitution: Any, name: str, operand: Any, x: Tile) -> None:
    tile = square_matrix(tr, name, operand)
    substitution.call(tr, [tile, right_hand_sides(tr, tile, x)], {})


def square_matrix(tr: Translator, name: str, operand: Any) -> Tile:
    tile = matrix(tr, name, operand)
    rows, columns = tile_shape(tile)
    if rows != columns or not scalars.is_float(tile_type(tile).dtype):
        raise KernelTypeError(f"{name} is {tile_type(tile)!r}", expected="a square matrix of floats")
    return tile


def right_hand_sides(tr: Translator, A: Tile, x: Tile) -> Tile:
    """The right-hand sides of a system as columns."""
    shape = tile_shape(x)
    if len(shape) > 2 or shape[0] != tile_shape(A)[0] or tile_type(x).dtype is not tile_type(A).dtype:
        expected = f"{type_name(tile_type(A).dtype)} of shape ({tile_shape(A)[0]},), or with columns"
        raise KernelTypeError(f"the right-hand side is {tile_type(x)!r}", expected=expected)
    return x if len(shape) == 2 else view_of(tr, x, (shape[0], 1), lambda at: [at[0]])


def transposed(tr: Translator, tile: Tile) -> Tile:
    rows, columns = tile_shape(tile)
    return view_of(tr, tile, (columns, rows), lambda at: [at[1], at[0]])


def lower(tr: Translator, tile: Tile, fill_mode: str) -> Tile:
    """A matrix, or for the other mode its transpose, so that the triangle that counts is the lower one."""
    return tile if fill_mode == "lower" else transposed(tr, tile)

"""Rows on matrices: products, transposes, determinants, inverses.

Products sum in order of the inner index. Determinants and inverses up to 4x4 are written out by
cofactors; a singular matrix has the zero matrix as its inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import OPERATORS
from ..ir.nodes import Call, Value
from ..types import compounds
from ..types.signatures import C, Float, K, Mat, N, R, Scalar, Vec
from .arith import mul
from .choice import where
from .construct import construct, rebuild, zero
from .lanes import for_lanes
from .registry import Numeric, expansion, op
from .target import Target
from .values import instr
from .vectors import ordered_sum


def _as_matrix(t: Any, row: bool) -> tuple[int, int]:
    if t.kind == "matrix":
        return t.shape
    return (1, t.size) if row else (t.size, 1)


@for_lanes
def _product(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    left = _as_matrix(call.args[0].type, row=True)
    right = _as_matrix(call.args[1].type, row=False)
    t = call.args[0].type.dtype
    multiply, plus = instr("fmul", "mul"), instr("fadd", "add")
    out = []
    for i in range(left[0]):
        for j in range(right[1]):
            total = None
            for k in range(left[1]):
                term = multiply(target, t, args[0][i * left[1] + k], args[1][k * right[1] + j])
                total = term if total is None else plus(target, t, total, term)
            out.append(total)
    return out


def _product_oracle(a: Numeric, b: Numeric) -> Any:
    left = a if a.ndim == 2 else a[None, :]
    right = b if b.ndim == 2 else b[:, None]
    return ordered_sum([left[:, k, None] * right[None, k, :] for k in range(left.shape[1])])


@op(_product, numpy=_product_oracle, name="mul")
def _mul_matrices(a: Mat[R, K, Scalar], b: Mat[K, C, Scalar]) -> Mat[R, C, Scalar]:
    """Matrix product."""


@mul.adjoint
def _(a, b, out, dout):
    return dout * transpose(b), transpose(a) * dout


@op(_product, numpy=_product_oracle, name="mul")
def _mul_matrix_vector(a: Mat[R, K, Scalar], v: Vec[K, Scalar]) -> Vec[R, Scalar]:
    """Matrix times column vector."""


@mul.adjoint
def _(a, v, out, dout):
    return outer(dout, v), transpose(a) * dout


@op(_product, numpy=_product_oracle, name="mul")
def _mul_vector_matrix(v: Vec[K, Scalar], a: Mat[K, C, Scalar]) -> Vec[C, Scalar]:
    """Row vector times matrix."""


@mul.adjoint
def _(v, a, out, dout):
    return dout * transpose(a), outer(v, dout)


@for_lanes
def _transpose(target: Target, call: Call, args: list[list[Any]]) -> list[Any]:
    rows, columns = call.args[0].type.shape
    return [args[0][i * columns + j] for j in range(columns) for i in range(rows)]


@op(_transpose, numpy=np.transpose)
def transpose(a: Mat[R, C, Scalar]) -> Mat[C, R, Scalar]:
    """The transposed matrix."""


@transpose.adjoint
def _(a, out, dout):
    return (transpose(dout),)


@expansion(numpy=np.outer)
def outer(a: Vec[R, Scalar], b: Vec[C, Scalar]) -> Mat[R, C, Scalar]:
    """The matrix of products a[i] * b[j]."""
    parts = [a[i] * b[j] for i in range(a.type.size) for j in range(b.type.size)]
    return construct(*parts, to=compounds.matrix((a.type.size, b.type.size), a.type.dtype))


@expansion(numpy=lambda a: ordered_sum([a[i, i] for i in range(len(a))]))
def trace(a: Mat[N, N, Scalar]) -> Scalar:
    """Sum of the diagonal."""
    return ordered_sum([a[i, i] for i in range(a.type.shape[0])])


@expansion(numpy=np.diag)
def diag(vec: Vec[N, Scalar]) -> Mat[N, N, Scalar]:
    """The matrix with `vec` on its diagonal and zeros elsewhere."""
    n = vec.type.size
    nothing = zero(vec[0])
    parts = [vec[i] if i == j else nothing for i in range(n) for j in range(n)]
    return construct(*parts, to=compounds.matrix((n, n), vec.type.dtype))


@expansion(numpy=np.diag)
def get_diag(mat: Mat[N, N, Scalar]) -> Vec[N, Scalar]:
    """The diagonal as a vector."""
    n = mat.type.shape[0]
    return construct(*[mat[i, i] for i in range(n)], to=compounds.vector(n, mat.type.dtype))


def _skew_oracle(v: np.ndarray) -> Any:
    x, y, z = v
    nothing = x.dtype.type(0)
    return np.array([[nothing, -z, y], [z, nothing, -x], [-y, x, nothing]])


@expansion(numpy=_skew_oracle)
def skew(vec: Vec[3, Scalar]) -> Mat[3, 3, Scalar]:
    """The matrix whose product with u is cross(v, u)."""
    nothing = zero(vec[0])
    parts = [nothing, -vec[2], vec[1], vec[2], nothing, -vec[0], -vec[1], vec[0], nothing]
    return construct(*parts, to=compounds.matrix((3, 3), vec.type.dtype))


# ----- determinant and inverse ----------------------------------------------------------------


def _minor(a: Value, rows: list[int], columns: list[int]) -> Value:
    """Determinant of the chosen rows and columns, by expansion along the first row."""
    if len(rows) == 1:
        return a[rows[0], columns[0]]
    if len(rows) == 2:
        return a[rows[0], columns[0]] * a[rows[1], columns[1]] - a[rows[0], columns[1]] * a[rows[1], columns[0]]
    terms = [a[rows[0], c] * _minor(a, rows[1:], columns[:k] + columns[k + 1 :]) for k, c in enumerate(columns)]
    total = terms[0]
    for k, term in enumerate(terms[1:], 1):
        total = total - term if k % 2 else total + term
    return total


def _determinant(a: Value) -> Value:
    everything = list(range(a.type.shape[0]))
    return _minor(a, everything, everything)


def _inverse(a: Value) -> Value:
    n = a.type.shape[0]
    everything = list(range(n))
    det = _determinant(a)
    singular = OPERATORS["=="](det, 0.0)
    scale = where(singular, 0.0, 1.0 / where(singular, 1.0, det))
    parts = []
    for i in range(n):
        for j in range(n):
            rows, columns = everything[:j] + everything[j + 1 :], everything[:i] + everything[i + 1 :]
            cofactor = _minor(a, rows, columns)
            parts.append((-cofactor if (i + j) % 2 else cofactor) * scale)
    return rebuild(a, parts)


def _inverse_oracle(a: Numeric) -> Any:
    wide = a.astype(np.float64)
    return np.linalg.inv(wide) if np.linalg.det(wide) != 0 else np.zeros_like(wide)


def _determinant_oracle(a: Numeric) -> Any:
    return np.linalg.det(a.astype(np.float64))


@expansion(numpy=_determinant_oracle, ulps=64)
def determinant(a: Mat[2, 2, Float]) -> Float:
    """Determinant."""
    return _determinant(a)


@expansion(numpy=_determinant_oracle, name="determinant", ulps=256)
def _determinant3(a: Mat[3, 3, Float]) -> Float:
    """Determinant."""
    return _determinant(a)


@expansion(numpy=_determinant_oracle, name="determinant", ulps=1024)
def _determinant4(a: Mat[4, 4, Float]) -> Float:
    """Determinant."""
    return _determinant(a)


@expansion(numpy=_inverse_oracle, ulps=1024)
def inverse(a: Mat[2, 2, Float]) -> Mat[2, 2, Float]:
    """Inverse; zero for a singular matrix."""
    return _inverse(a)


@expansion(numpy=_inverse_oracle, name="inverse", ulps=4096)
def _inverse3(a: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """Inverse; zero for a singular matrix."""
    return _inverse(a)


@expansion(numpy=_inverse_oracle, name="inverse", ulps=65536)
def _inverse4(a: Mat[4, 4, Float]) -> Mat[4, 4, Float]:
    """Inverse; zero for a singular matrix."""
    return _inverse(a)

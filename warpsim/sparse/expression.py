"""Expressions of sparse matrices: a matrix times a number, or transposed, that is computed only where it is used.

`A @ x`, `A + B` and their kin are computed at once; `2.0 * A` and `A.transpose()` are expressions, which products, sums
and copies take in the place of a matrix: no product with either makes another matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.language import array
from ..errors import ArgumentTypeError, shown
from .blocks import block_type

if TYPE_CHECKING:
    from .matrix import BsrMatrix

_meanings: dict[str, Callable[..., Any]] = {}


def operator(name: str) -> Callable[[Any], Any]:
    """Enter a function as what an operator does; the modules that compute products and sums do so."""

    def enter(function: Any) -> Any:
        _meanings[name] = function
        return function

    return enter


class Operators:
    """What Python's operators do with a sparse matrix or an expression of one."""

    __array_ufunc__ = None  # numbers of NumPy leave products to this class

    def terms(self) -> Expression:
        """This operand as an expression."""
        raise NotImplementedError

    def transpose(self) -> Expression:
        """The transpose, to be used in products and sums, or copied by `bsr_copy`."""
        return self.terms().turn()

    @property
    def T(self) -> Expression:
        """The transpose, as `transpose()`."""
        return self.transpose()

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Operators):
            return _meanings["matrix product"](self, other)
        return _meanings["vector product"](self, other) if isinstance(other, array) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        if isinstance(other, array):  # x A is A^T x
            return _meanings["vector product"](self.transpose(), other)
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return _meanings["sum"](self, other) if isinstance(other, Operators) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return _meanings["sum"](self, -other) if isinstance(other, Operators) else NotImplemented

    def __mul__(self, factor: Any) -> Any:
        return self.terms().times(factor) if is_number(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Any:
        return self.terms().times(1.0 / factor) if is_number(factor) else NotImplemented

    def __neg__(self) -> Expression:
        return self.terms().times(-1.0)


class Expression(Operators):
    """scale * matrix, of which `turned` takes the transpose."""

    def __init__(self, matrix: BsrMatrix, scale: float = 1.0, turned: bool = False):
        self.matrix, self.scale, self.turned = matrix, scale, turned

    def terms(self) -> Expression:
        return self

    def turn(self) -> Expression:
        """The transpose."""
        return Expression(self.matrix, self.scale, not self.turned)

    def times(self, factor: Any) -> Expression:
        """A multiple; raises `ArgumentTypeError` for what is no number."""
        if not is_number(factor):
            raise ArgumentTypeError(f"a factor is {shown(factor)}\nexpected: a number")
        return Expression(self.matrix, self.scale * factor, self.turned)

    def eval(self) -> BsrMatrix:
        """A new matrix of what this stands for; differentiable."""
        matrix: BsrMatrix = _meanings["matrix"](self)
        return matrix

    def unscaled(self) -> Expression:
        """The same times 1."""
        return Expression(self.matrix, 1.0, self.turned)

    @property
    def nrow(self) -> int:
        """Rows, in blocks."""
        return int(self.matrix.ncol if self.turned else self.matrix.nrow)

    @property
    def ncol(self) -> int:
        """Columns, in blocks."""
        return int(self.matrix.nrow if self.turned else self.matrix.ncol)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, in numbers."""
        return self.matrix.shape[::-1] if self.turned else self.matrix.shape

    @property
    def block_shape(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self.matrix.block_shape[::-1] if self.turned else self.matrix.block_shape

    @property
    def dtype(self) -> Any:
        """The type of the blocks."""
        return block_type(self.block_shape, self.scalar_type, self.matrix.dtype)

    @property
    def scalar_type(self) -> Any:
        """The type of the numbers in the blocks."""
        return self.matrix.scalar_type

    @property
    def device(self) -> Any:
        """Where the matrix is."""
        return self.matrix.device

    def __repr__(self) -> str:
        return f"{self.scale} * {self.matrix!r}" + (".transpose()" if self.turned else "")


def terms_of(x: Any, name: str) -> Expression:
    """An operand as an expression; raises `ArgumentTypeError` for what is no sparse matrix."""
    if not isinstance(x, Operators):
        raise ArgumentTypeError(f"{name} is {shown(x)}\nexpected: a BsrMatrix, or one times a number, or transposed")
    return x.terms()


def is_number(x: Any) -> bool:
    """Whether `x` is a real number."""
    return isinstance(x, Real | np.number) and not isinstance(x, bool | np.bool_)

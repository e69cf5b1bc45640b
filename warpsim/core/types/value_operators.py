"""Operators of vectors, matrices, quaternions and transforms on the host, which mean what they mean in kernels.

A value goes with values of its scalar type and with numbers. An array of NumPy on the left, and on either side of `@`,
makes the operator NumPy's own; on the right it is refused, where nobody could tell a product from one of components.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from ...errors import OperandError
from . import scalars


def _or_its_own(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator of values that leaves what is no number, such as an array of `wp.array`, to the operator it has."""
    reflected = operator.__name__.replace("__", "__r", 1)

    @wraps(operator)
    def choose(self: Any, other: object) -> Any:
        if not isinstance(other, Operators) and not hasattr(other, "__float__") and hasattr(other, reflected):
            return NotImplemented
        return operator(self, other)

    return choose


def _or_numpys(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A reflected operator of values that is NumPy's where an array stands on the left."""
    name = operator.__name__.replace("__r", "__", 1)

    @wraps(operator)
    def choose(self: Any, other: object) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return getattr(other, name)(self._data)
        return operator(self, other)

    return choose


class Operators:
    """The half of `Compound` that calculates."""

    kind: ClassVar[str]
    shape: ClassVar[tuple[int, ...]]
    dtype: ClassVar[type]
    __slots__ = ()
    __array_priority__ = 1000.0  # so that `np.float32(2) * v` asks the vector, not the array

    _data: np.ndarray
    wrap: Any
    _of_kind: Any

    def _operand_error(self, other: object, symbol: str, left: bool = False) -> OperandError:
        """The error for operands that kernels refuse as well; left: whether `other` stands on the left."""
        sides = (type(other).__name__, type(self).__name__)
        one, two = sides if left else sides[::-1]
        return OperandError(
            f"{one} {symbol} {two}\nexpected: values of one scalar type whose shapes fit, or a number"
            "\nhelp: wp.cw_mul and wp.cw_div go by components, wp.dot is the dot product, wp.vec3(x) converts"
        )

    def _number(self, other: Any, symbol: str, left: bool = False) -> Any:
        """A number of this scalar type; `OperandError` for all else, and for fractions where there are integers."""
        if type(other) is float and scalars.is_float(self.dtype):
            return self.dtype(other)
        is_number = hasattr(other, "__float__") and not isinstance(other, (bool, np.bool_)) and not np.ndim(other)
        if is_number and (scalars.is_float(self.dtype) or scalars.is_whole(other)):
            return self.dtype(other)
        raise self._operand_error(other, symbol, left)

    def _same(self, other: object, symbol: str, left: bool = False) -> Any:
        """The other side of a sum: a value of the same type, or a number that goes with every component."""
        if type(other) is type(self):
            return other._data
        return self._number(other, symbol, left)

    def _beside(self, other: object, result: np.ndarray) -> Any:
        """What arithmetic with `other` gives: a quaternion or a transform beside a number is no rotation any more."""
        if type(other) is type(self) or self.kind in ("vector", "matrix"):
            return self.wrap(result)
        return self._of_kind(self.shape).wrap(result)

    @_or_its_own
    def __add__(self, other: object) -> Any:
        return self._beside(other, self._data + self._same(other, "+"))

    @_or_its_own
    def __sub__(self, other: object) -> Any:
        return self._beside(other, self._data - self._same(other, "-"))

    @_or_its_own
    def __mod__(self, other: object) -> Any:
        """Remainders with the sign of the dividend, as in kernels."""
        return self._beside(other, _remainders(self._data, self._same(other, "%")))

    @_or_numpys
    def __radd__(self, other: object) -> Any:
        return self._beside(other, self._data + self._same(other, "+", left=True))

    @_or_numpys
    def __rsub__(self, other: object) -> Any:
        return self._beside(other, self._same(other, "-", left=True) - self._data)

    @_or_numpys
    def __rmod__(self, other: object) -> Any:
        return self._beside(other, _remainders(self._same(other, "%", left=True), self._data))

    def __neg__(self) -> Any:
        return self.wrap(-self._data)

    def __pos__(self) -> Any:
        return self.wrap(self._data)

    @_or_its_own
    def __mul__(self, other: object) -> Any:
        product = self._product(other) if isinstance(other, Operators) and other.dtype is self.dtype else None
        return self.wrap(self._data * self._number(other, "*")) if product is None else product

    def _product(self, other: Operators) -> Any:
        """The product of the kinds, of rotations, poses, or a matrix with what fits; None where there is none."""
        if self.kind == "quaternion" and type(other) is type(self):
            return self.wrap(hamilton_product(self._data, other._data))
        if self.kind == "transform" and type(other) is type(self):
            return self.wrap(compose(self._data, other._data))
        fit = self.shape[-1] == other.shape[0]
        if fit and "matrix" in (self.kind, other.kind) and {self.kind, other.kind} <= {"vector", "matrix"}:
            product = self._data @ other._data
            return self._of_kind(product.shape).wrap(product)
        return None

    @_or_numpys
    def __rmul__(self, other: object) -> Any:
        return self.wrap(self._data * self._number(other, "*", left=True))

    @_or_its_own
    def __matmul__(self, other: object) -> Any:
        return self._data @ other if isinstance(other, np.ndarray) and other.ndim else self * other

    @_or_numpys
    def __rmatmul__(self, other: object) -> Any:
        return self.__rmul__(other)

    @_or_its_own
    def __truediv__(self, other: object) -> Any:
        return self.wrap(_quotients(self._data, self._number(other, "/")))

    @_or_numpys
    def __rtruediv__(self, other: object) -> Any:
        return self.wrap(_quotients(self._number(other, "/", left=True), self._data))

    @_or_numpys
    def __rfloordiv__(self, other: object) -> Any:
        raise self._operand_error(other, "//", left=True)


def _quotients(x: Any, y: Any) -> Any:
    """x / y as in kernels: of integers towards zero, and 0 for a divisor of zero."""
    if not np.issubdtype(np.asarray(x).dtype, np.integer):
        return np.divide(x, y)
    divisors = np.where(y == 0, np.ones_like(y), y)
    with np.errstate(over="ignore"):  # the least integer by -1 wraps
        return np.where(y == 0, np.zeros_like(y), (x - np.fmod(x, divisors)) // divisors)


def _remainders(x: Any, y: Any) -> Any:
    """x % y as in kernels: with the sign of x; of integers x for a divisor of zero."""
    if not np.issubdtype(np.asarray(x).dtype, np.integer):
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, np.ones_like(y), y)))


def hamilton_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two quaternions (x, y, z, w)."""
    x1, y1, z1, w1 = a
    x2, y2, z2, w2 = b
    return np.array(
        [
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        ],
        dtype=a.dtype,
    )


def compose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The transform that applies `b`, then `a`."""
    q, u, w, v = a[3:], a[3:6], a[6], b[:3]
    moved = (2 * w * w - 1) * v + 2 * w * np.cross(u, v) + 2 * (u @ v) * u
    return np.concatenate([a[:3] + moved, hamilton_product(q, b[3:])])

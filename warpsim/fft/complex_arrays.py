"""Complex numbers as pairs of floats: to NumPy and back, and the frequencies that belong to a transform."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..arguments import checked
from ..core.language import array, float32, float64, func, standard_names
from ..core.runtime.algorithms.operands import check
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError

vec2f, vec2d = standard_names()["vec2f"], standard_names()["vec2d"]

COMPLEX_OF = {float32: vec2f, float64: vec2d}
REAL_OF = {vec2f: float32, vec2d: float64}
_PAIRS = {np.dtype(np.complex64): vec2f, np.dtype(np.complex128): vec2d}


def check_complex(a: Any, name: str) -> None:
    """Raise `ArgumentTypeError` unless `a` is an array of `vec2` or `vec2d`."""
    check(a, name)
    if a.dtype not in REAL_OF:
        help_ = "\nhelp: wp.fft.rfft and rfft2 transform real numbers" if a.dtype in COMPLEX_OF else ""
        raise ArgumentTypeError(
            f"{name} has dtype {type_name(a.dtype)}\nexpected: vec2f or vec2d, complex numbers as pairs{help_}"
        )


def check_real(a: Any, name: str) -> None:
    """Raise `ArgumentTypeError` unless `a` is an array of float32 or float64."""
    check(a, name)
    if a.dtype not in COMPLEX_OF:
        help_ = "\nhelp: wp.fft.fft and fft2 transform complex numbers" if a.dtype in REAL_OF else ""
        raise ArgumentTypeError(f"{name} has dtype {type_name(a.dtype)}\nexpected: float32 or float64{help_}")


def from_complex(values: Any, device: Any = None, requires_grad: bool = False) -> array:
    """An array of `vec2` with a copy of complex numbers: complex64 becomes vec2f, complex128 vec2d.

    values: anything that `np.asarray` takes. Raises `ArgumentTypeError` for numbers that are not complex.
    """
    numbers = np.ascontiguousarray(values)
    if numbers.dtype not in _PAIRS:
        raise ArgumentTypeError(f"values have dtype {numbers.dtype}\nexpected: complex64 or complex128")
    pairs = numbers.view(numbers.real.dtype).reshape((*np.shape(values), 2))
    return array(pairs, dtype=_PAIRS[numbers.dtype], device=device, requires_grad=requires_grad)


def to_complex(a: array) -> np.ndarray:
    """A NumPy array of complex64 (vec2f) or complex128 (vec2d), which shares the memory of an array on the host."""
    check_complex(a, "a")
    return as_complex(a.numpy())


def as_complex(pairs: np.ndarray) -> np.ndarray:
    """The same memory as complex numbers: (..., 2) floats become (...)."""
    if not pairs.size:
        return np.empty(pairs.shape[:-1], np.result_type(pairs.dtype, np.complex64))
    return pairs.view(np.complex64 if pairs.dtype == np.float32 else np.complex128)[..., 0]


@func
def fft_index(i: int, n: int) -> int:
    """The signed frequency of element i of n: 0, 1, ..., then the negative ones, as `fftfreq` times n."""
    return i if 2 * i < n else i - n


@checked
def fftfreq(n: int, d: float = 1.0, dtype: Any = float32, device: Any = None) -> array:
    """Frequencies (n,) of the elements of `fft`, in cycles per unit of the sample spacing `d`."""
    return _frequencies(np.fft.fftfreq, n, d, dtype, device)


@checked
def rfftfreq(n: int, d: float = 1.0, dtype: Any = float32, device: Any = None) -> array:
    """Frequencies (n // 2 + 1,) of the elements of `rfft` of n samples, in cycles per unit of the spacing `d`."""
    return _frequencies(np.fft.rfftfreq, n, d, dtype, device)


def _frequencies(of: Any, n: int, d: float, dtype: Any, device: Any) -> array:
    if operator.index(n) < 1 or not d > 0.0:
        raise ArrayError(f"n is {n}, d is {d}\nexpected: at least one sample, and a spacing above zero")
    return array(of(n, d), dtype=dtype, device=device)

"""The transforms themselves: arguments checked, results made, and the step run where the arrays are.

Every function raises `ArgumentTypeError` for something that is no array or has the wrong dtype, `ArrayError` for
shapes that do not fit, `OutOfBoundsError` for an axis that is not there, `DeviceError` for arrays on several devices,
and `ReadOnlyError` for an `out` in read-only memory. axis, axes: which to transform, the last by default; all others
are batches. norm: where the factor 1/n is: "backward" (in the inverse), "forward", or "ortho" (its root in both). out:
an array for the result, which may be the operand where both have one dtype (complex transforms then take half the
time); a new one by default, which has a gradient if the operand has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..core.language import array, empty
from ..core.runtime.algorithms.operands import check_output, checked_axis, remote_device
from ..core.runtime.tape.array_step import run_step
from ..errors import ArgumentTypeError, ArrayError, counted
from .complex_arrays import COMPLEX_OF, REAL_OF, check_complex, check_real
from .steps import NORMS, ComplexTransform, InverseRealTransform, RealTransform, Transform

# ----- complex ------------------------------------------------------------------------------------


def fft(x: array, out: array | None = None, axis: int = -1, norm: str = "backward") -> array:
    """The discrete Fourier transform: X[k] = sum over j of x[j] exp(-2 pi i j k / n). x, result: complex, one shape."""
    return _complex("fft", x, out, (axis,), norm, inverse=False)


def ifft(x: array, out: array | None = None, axis: int = -1, norm: str = "backward") -> array:
    """The inverse of `fft`: x[j] = 1/n sum over k of X[k] exp(2 pi i j k / n). x, result: complex, one shape."""
    return _complex("ifft", x, out, (axis,), norm, inverse=True)


def fft2(x: array, out: array | None = None, axes: tuple[int, int] = (-2, -1), norm: str = "backward") -> array:
    """The discrete Fourier transform along two axes. x, result: complex, one shape."""
    return _complex("fft2", x, out, _pair(axes), norm, inverse=False)


def ifft2(x: array, out: array | None = None, axes: tuple[int, int] = (-2, -1), norm: str = "backward") -> array:
    """The inverse of `fft2`. x, result: complex, one shape."""
    return _complex("ifft2", x, out, _pair(axes), norm, inverse=True)


def _complex(name: str, x: array, out: array | None, axes: Sequence[int], norm: str, inverse: bool) -> array:
    check_complex(x, "x")
    along = _check_axes(x, axes, norm)
    return _run(partial(ComplexTransform, inverse=inverse), name, x, out, (x.shape, x.dtype), along, norm)


# ----- real ---------------------------------------------------------------------------------------


def rfft(x: array, out: array | None = None, axis: int = -1, norm: str = "backward") -> array:
    """The transform of real numbers: the first n // 2 + 1 elements of `fft`; the others are their conjugates."""
    return _real("rfft", x, out, (axis,), norm)


def rfft2(x: array, out: array | None = None, axes: tuple[int, int] = (-2, -1), norm: str = "backward") -> array:
    """The transform of real numbers along two axes: the second of them keeps n // 2 + 1 elements."""
    return _real("rfft2", x, out, _pair(axes), norm)


def irfft(x: array, n: int | None = None, out: array | None = None, axis: int = -1, norm: str = "backward") -> array:
    """The inverse of `rfft`: n real numbers (default: that of `out`, else the even number 2 (m - 1)) of m complex ones.

    The imaginary parts of the first element, and for even n of the last, belong to no real signal: they count nothing.
    """
    return _inverse_real("irfft", x, n, out, (axis,), norm)


def irfft2(
    x: array, n: int | None = None, out: array | None = None, axes: tuple[int, int] = (-2, -1), norm: str = "backward"
) -> array:
    """The inverse of `rfft2`; n: the extent of the result along the second axis, as in `irfft`."""
    return _inverse_real("irfft2", x, n, out, _pair(axes), norm)


def _real(name: str, x: array, out: array | None, axes: Sequence[int], norm: str) -> array:
    check_real(x, "x")
    along = _check_axes(x, axes, norm)
    shape = _with_extent(x.shape, along[-1], x.shape[along[-1]] // 2 + 1)
    return _run(RealTransform, name, x, out, (shape, COMPLEX_OF[x.dtype]), along, norm)


def _inverse_real(name: str, x: array, n: int | None, out: array | None, axes: Sequence[int], norm: str) -> array:
    check_complex(x, "x")
    along = _check_axes(x, axes, norm)
    last, present = along[-1], x.shape[along[-1]]
    fitting = 2 * (present - 1) if out is None or not isinstance(out, array) or out.ndim != x.ndim else out.shape[last]
    length = fitting if n is None else _whole(n, "n")
    if length < 1 or length // 2 + 1 != present:
        raise ArrayError(
            f"n is {length}, and x has {counted(present, 'element')} along axis {last}\n"
            f"expected: n = {max(1, 2 * present - 2)} or {2 * present - 1}, which rfft makes {present} elements of"
        )
    result = (_with_extent(x.shape, last, length), REAL_OF[x.dtype])
    return _run(InverseRealTransform, name, x, out, result, along, norm)


# ----- arguments ----------------------------------------------------------------------------------


def _whole(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{name} is {value!r}\nexpected: an integer") from None


def _pair(axes: Any) -> tuple[int, int]:
    try:
        first, second = map(operator.index, axes)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"axes are {axes!r}\nexpected: two integers") from None
    return first, second


def _check_axes(x: array, axes: Sequence[int], norm: str) -> tuple[int, ...]:
    """The axes, counted from 0."""
    if norm not in NORMS:
        raise ArrayError(f"norm is {norm!r}\nexpected: one of {', '.join(map(repr, NORMS))}")
    along = tuple(checked_axis(_whole(axis, "axis"), x) for axis in axes)
    if len(set(along)) < len(along):
        raise ArrayError(f"axes are {tuple(axes)}, twice the same\nexpected: two axes of {x.ndim}")
    if any(x.shape[k] == 0 for k in along):
        raise ArrayError(f"x has shape {x.shape}\nexpected: at least one element along axis {along}")
    return along


def _with_extent(shape: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _run(
    kind: Callable[..., Transform],
    name: str,
    x: array,
    out: array | None,
    result: tuple[tuple[int, ...], Any],
    axes: tuple[int, ...],
    norm: str,
) -> array:
    """Transform into `out`, or a new array. result: the shape and the dtype that it has."""
    shape, dtype = result
    target = empty(shape, dtype, x.device, requires_grad=x.requires_grad) if out is None else out
    check_output(target, "out", dtype)
    if target.shape != shape:
        raise ArrayError(f"out has shape {target.shape}\nexpected: {shape}")
    step = kind([target], [x], axes, norm, remote_device(x=x, out=target))
    step.name = name
    if target.size:
        run_step(step)
    return target

"""Arrays as long vectors of numbers: flat views, linear combinations and inner products.

Guarantees: views share memory with the array they show; inner products are summed in float64, in blocks of fixed size
and in one order, so that they do not depend on the number of threads. On a CUDA device that order is another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..core.language import array, empty, float64, kernel, launch, tid, zeros
from ..core.runtime.algorithms.cuda import primitives as on_device
from ..core.runtime.devices.capture import current_graph
from ..core.types import compounds, scalars
from ..core.types.arrays import type_name
from ..errors import ArgumentTypeError, ArrayError, ArrayTypeError, GradientError, LaunchError

BLOCK = 2048  # elements that one thread sums: long enough to amortise it, short enough for many threads


def run(kernel: Any, dim: Any, inputs: list[Any], device: Any) -> None:
    """A launch that no tape records: what is done here has its own derivative, or none."""
    launch(kernel, dim, inputs, device=device, record_tape=False)


def check_not_captured(what: str) -> None:
    """Raise `LaunchError` while a graph is captured: the host looks at numbers that are not there yet."""
    if current_graph() is not None:
        raise LaunchError(
            f"{what} while a graph is captured: the host looks at numbers that are not computed yet\n"
            "help: do it before the capture, or between launches of graphs"
        )


# ----- views ------------------------------------------------------------------------------------


def components(a: array) -> array:
    """All components of a contiguous array in order, as a 1-D array of scalars over the same memory."""
    return array._wrap(a._data.reshape(-1), compounds.scalar_of(a.dtype), a.device, owner=a)


def check_floats(a: Any, name: str) -> None:
    """Raise unless `a` is a contiguous array of floats, or of vectors or matrices of floats."""
    if not isinstance(a, array):
        raise ArgumentTypeError(f"{name} is {type(a).__name__}\nexpected: a warpsim array\nhelp: wp.array(...)")
    if not scalars.is_float(compounds.scalar_of(a.dtype)):
        raise ArgumentTypeError(
            f"{name} has dtype {type_name(a.dtype)}\nexpected: floats, or vectors or matrices of floats"
        )
    if not a.is_contiguous:
        raise ArrayError(
            f"{name} has strides {a.strides}\nexpected: a contiguous array\nhelp: {name}.contiguous() makes a copy"
        )


def check_alike(a: Any, like: array, name: str, of: str) -> None:
    """Raise unless `a` is a float array with the shape, dtype and device of `like`, which is called `of`."""
    check_floats(a, name)
    if a.shape != like.shape or a.dtype is not like.dtype:
        raise (ArrayError if a.dtype is like.dtype else ArrayTypeError)(
            f"{name} has shape {a.shape} and dtype {type_name(a.dtype)}\n"
            f"expected: shape {like.shape} and dtype {type_name(like.dtype)}, those of {of}"
        )
    if a.device is not like.device:
        raise ArrayError(f"{name} is on {a.device}\nexpected: {like.device}, as {of}")


def as_list(arrays: Any, name: str) -> list[array]:
    """Checked arrays as a list; one array is a list of one."""
    checked = [arrays] if isinstance(arrays, array) else list(arrays) if isinstance(arrays, Iterable) else None
    if checked is None:
        raise ArgumentTypeError(f"{name} is {type(arrays).__name__}\nexpected: a list of arrays")
    for k, a in enumerate(checked):
        check_floats(a, f"{name}[{k}]")
    return checked


def gradient_of(x: array) -> array:
    """The gradient of an array; raises `GradientError` if it has none."""
    if x.grad is None:
        raise GradientError(f"an array of shape {x.shape} has no gradient\nhelp: make it with requires_grad=True")
    return x.grad


# ----- sums ---------------------------------------------------------------------------------------


@kernel
def _combine(a: Any, x: array(dtype=Any), b: Any, y: array(dtype=Any), out: array(dtype=Any)):
    i = tid()
    out[i] = a * x[i] + b * y[i]


def combine(out: array, a: float, x: array, b: float = 0.0, y: array | None = None) -> None:
    """out = a x + b y, for flat arrays of one dtype; `out` may be `x` or `y`."""
    kind = out.dtype
    run(_combine, out.size, [kind(a), x, kind(b), x if y is None else y, out], out.device)


@kernel
def _inner(x: array(dtype=Any), y: array(dtype=Any), size: int, block: int, partial: array(dtype=float64)):
    k = tid()
    # Four sums side by side: additions of one sum wait for each other.
    s0 = float64(0.0)
    s1 = float64(0.0)
    s2 = float64(0.0)
    s3 = float64(0.0)
    begin = k * block
    end = begin + block
    if end > size:
        end = size
    whole = begin + (end - begin) // 4 * 4
    for i in range(begin, whole, 4):
        s0 = s0 + float64(x[i]) * float64(y[i])
        s1 = s1 + float64(x[i + 1]) * float64(y[i + 1])
        s2 = s2 + float64(x[i + 2]) * float64(y[i + 2])
        s3 = s3 + float64(x[i + 3]) * float64(y[i + 3])
    for i in range(whole, end):
        s0 = s0 + float64(x[i]) * float64(y[i])
    partial[k] = (s0 + s1) + (s2 + s3)


def inner(x: array, y: array) -> float:
    """The inner product of two flat arrays, summed in float64."""
    if not x.device.shares_host_memory:
        return on_device.inner_product(x, y)
    partial = empty(max(1, math.ceil(x.size / BLOCK)), float64, x.device)
    run(_inner, partial.size, [x, y, x.size, BLOCK, partial], x.device)
    return float(partial._data.sum())


def norm(x: array) -> float:
    """The Euclidean norm of a flat array."""
    return math.sqrt(inner(x, x))


@kernel
def _largest(x: array(dtype=Any), size: int, block: int, partial: array(dtype=float64)):
    k = tid()
    extreme = float64(0.0)
    end = (k + 1) * block
    if end > size:
        end = size
    for i in range(k * block, end):
        here = float64(x[i])
        # Written so that a NaN is found: no comparison with it holds.
        if not -extreme <= here <= extreme:
            extreme = here
            if here < float64(0.0):
                extreme = -here
            if here != here:
                partial[k] = here
                return
    partial[k] = extreme


def largest(x: array) -> float:
    """The largest magnitude in a flat array; NaN if it has one."""
    if not x.device.shares_host_memory:
        return on_device.largest(x)
    partial = empty(max(1, math.ceil(x.size / BLOCK)), float64, x.device)
    run(_largest, partial.size, [x, x.size, BLOCK, partial], x.device)
    return float(partial._data.max())


@kernel
def _convert(x: array(dtype=Any), out: array(dtype=Any)):
    i = tid()
    out[i] = out.dtype(x[i])


def convert(x: array, out: array) -> None:
    """Copy flat `x` into flat `out`, rounding to its dtype."""
    run(_convert, out.size, [x, out], out.device)


class Vector(NamedTuple):
    """An array and its components: one memory, seen as operators want it and as sums want it."""

    typed: array
    flat: array


def vector(a: array) -> Vector:
    """A contiguous array with its components."""
    return Vector(a, components(a))


def vector_like(a: array) -> Vector:
    """A new vector of zeros with the shape and dtype of `a`."""
    return vector(zeros(a.shape, a.dtype, a.device))

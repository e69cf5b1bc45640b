"""Smoothing kernels: cubic spline, Wendland C2 and C4, quintic spline, in a plane and in space.

J. Monaghan and J. Lattanzio 1985 (cubic), H. Wendland 1995, J. Morris 1996 (quintic). h is the smoothing length; the
support ends at 2 h, that of the quintic spline at 3 h. `slope` is the derivative by the distance r, divided by r: it is
finite at r = 0, and the gradient at an offset d is slope(|d|, h) d.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from ...core.language import Float, func, max


@func
def cubic(q: Float) -> Float:
    """Cubic B-spline of q = r / h, without its factor."""
    outer = max(2.0 - q, q.dtype(0.0))
    inner = max(1.0 - q, q.dtype(0.0))
    return 0.25 * outer * outer * outer - inner * inner * inner


@func
def cubic_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    if q < 1.0:
        return 2.25 * q - 3.0
    outer = max(2.0 - q, q.dtype(0.0))
    return -0.75 * outer * outer / q


@func
def wendland2(q: Float) -> Float:
    """Wendland's function of smoothness C2."""
    s = max(1.0 - 0.5 * q, q.dtype(0.0))
    square = s * s
    return square * square * (2.0 * q + 1.0)


@func
def wendland2_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    s = max(1.0 - 0.5 * q, q.dtype(0.0))
    return -5.0 * s * s * s


@func
def wendland4(q: Float) -> Float:
    """Wendland's function of smoothness C4."""
    s = max(1.0 - 0.5 * q, q.dtype(0.0))
    cube = s * s * s
    return cube * cube * ((q.dtype(35.0 / 12.0) * q + 3.0) * q + 1.0)


@func
def wendland4_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    s = max(1.0 - 0.5 * q, q.dtype(0.0))
    square = s * s
    return square * square * s * (5.0 * q + 2.0) * q.dtype(-7.0 / 3.0)


@func
def fourth(x: Float) -> Float:
    """x^4."""
    return (x * x) * (x * x)


@func
def quintic(q: Float) -> Float:
    """Quintic B-spline."""
    a = max(3.0 - q, q.dtype(0.0))
    b = max(2.0 - q, q.dtype(0.0))
    c = max(1.0 - q, q.dtype(0.0))
    return a * fourth(a) - 6.0 * b * fourth(b) + 15.0 * c * fourth(c)


@func
def quintic_slope(q: Float) -> Float:
    """Derivative by q, divided by q."""
    if q < 1.0:
        return (120.0 - 50.0 * q) * q * q - 120.0
    a = max(3.0 - q, q.dtype(0.0))
    b = max(2.0 - q, q.dtype(0.0))
    return (30.0 * fourth(b) - 5.0 * fourth(a)) / q


@dataclass(frozen=True)
class Smoothing:
    """A kernel in 2 or 3 dimensions. value(r, h) [1/m^dim], slope(r, h) [1/m^(dim + 2)]: kernel functions.

    support: where it ends, in h.
    """

    value: Any
    slope: Any
    support: float


_SHAPES: dict[str, tuple[Any, Any, float, dict[int, float]]] = {
    "cubic": (cubic, cubic_slope, 2.0, {2: 10.0 / (7.0 * math.pi), 3: 1.0 / math.pi}),
    "wendland2": (wendland2, wendland2_slope, 2.0, {2: 7.0 / (4.0 * math.pi), 3: 21.0 / (16.0 * math.pi)}),
    "wendland4": (wendland4, wendland4_slope, 2.0, {2: 9.0 / (4.0 * math.pi), 3: 495.0 / (256.0 * math.pi)}),
    "quintic": (quintic, quintic_slope, 3.0, {2: 7.0 / (478.0 * math.pi), 3: 1.0 / (120.0 * math.pi)}),
}

KERNELS = tuple(_SHAPES)


@functools.cache
def smoothing(name: str, dim: int) -> Smoothing:
    """The kernel of a name in 2 or 3 dimensions; each is made once."""
    shape, shape_slope, support, factors = _SHAPES[name]
    factor, space = factors[dim], dim == 3

    @func
    def value(r: Float, h: Float) -> Float:
        scale = r.dtype(factor) / (h * h)
        if space:
            scale = scale / h
        return scale * shape(r * (1.0 / h))

    @func
    def slope(r: Float, h: Float) -> Float:
        square = h * h
        scale = r.dtype(factor) / (square * square)
        if space:
            scale = scale / h
        return scale * shape_slope(r * (1.0 / h))

    return Smoothing(value, slope, support)
